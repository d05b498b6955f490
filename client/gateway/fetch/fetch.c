/* SPDX-License-Identifier: MIT */
/*
 * One request after the other: libdebuginfod looks into its cache, asks the servers, and returns
 * an open file of the cache, which is reopened read-only and sent. A thread watches the socket
 * meanwhile, since a fetch may take minutes: when the other end is closed, the process exits.
 */
#include "client/gateway/fetch/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <elfutils/debuginfod.h>

#include "client/gateway/fetch/reach.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/helper/fd_packet.h"
#include "common/text_print.h"

#define CACHE_VARIABLE "DEBUGINFOD_CACHE_PATH"
#define N_OPEN_DIRS    8 /* nftw(3) */
#define N_SWEEPS       8
/* Longer than libdebuginfod takes to call while bytes come, shorter than who asked has patience. */
#define LEAVE_MS 1500

struct fetch {
	debuginfod_client *client;
	int socket;
	bool is_durable;
	char *temporary;    /* our cache; NULL: the user's */
	unsigned n_dirs;    /* made in there: one a question */
	uint64_t max_bytes; /* of the file that is asked for now */
	bool is_too_large;
	atomic_bool is_alone; /* nobody is at the other end of the socket */
};

/* For what libdebuginfod does, this long at most. Where the user decides, the user has decided. */
static const struct {
	const char *variable, *value;
} settings[] = {
	{"DEBUGINFOD_TIMEOUT", "30"},    /* seconds without 100 KB: a server hangs */
	{"DEBUGINFOD_MAXTIME", "600"},   /* seconds in all */
	{"DEBUGINFOD_RETRY_LIMIT", "0"}, /* who asks comes back by itself */
};

static int fetch_remove_path(const char *path, const struct stat *st, int flag, struct FTW *at)
{
	(void)st;
	(void)flag;
	(void)at;
	return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

static void remove_tree(const char *path)
{
	(void)!nftw(path, fetch_remove_path, N_OPEN_DIRS, FTW_DEPTH | FTW_PHYS);
}

/* A directory of its own for a question: nothing that another one left answers it. */
static int fetch_prepare_dir(struct fetch *f)
{
	char path[PATH_MAX];

	if (!f->temporary)
		return 0;
	snprintf(path, sizeof(path), "%s/%u", f->temporary, f->n_dirs);
	remove_tree(path);
	snprintf(path, sizeof(path), "%s/%u", f->temporary, ++f->n_dirs);
	return setenv(CACHE_VARIABLE, path, 1) < 0 ? error_origin(-ENOMEM) : 0;
}

/* Never so much that the file system is full afterwards. */
static uint64_t fetch_max_bytes(const struct fetch *f)
{
	struct statvfs st;
	uint64_t half;

	if (!f->temporary || statvfs(f->temporary, &st) < 0)
		return FETCH_FILE_MAX;
	half = (uint64_t)st.f_bavail * st.f_frsize / 2;
	return half < FETCH_FILE_MAX ? half : FETCH_FILE_MAX;
}

/*
 * libdebuginfod calls it while bytes come, and some releases while a server says nothing (0.188
 * does, 0.192 does not); not 0: it gives up. @done: bytes so far, or a count of calls before there
 * are any; @total: bytes in all, 0 if the server did not say.
 */
static int watch_size(debuginfod_client *client, long done, long total)
{
	struct fetch *f = debuginfod_get_user_data(client);
	long larger = done > total ? done : total;

	f->is_too_large = larger > 0 && (uint64_t)larger > f->max_bytes;
	return f->is_too_large || atomic_load(&f->is_alone);
}

/*
 * A thread: libdebuginfod may wait for a server for long after nobody waits for us any more. In the
 * user's cache it is given the time to remove what is half there; our own goes with us, and what is
 * written into it just then may come back once.
 */
static void *exit_when_abandoned(void *userdata)
{
	struct fetch *f = userdata;
	struct pollfd other_end = {.fd = f->socket, .events = POLLRDHUP};
	int n;

	do
		n = poll(&other_end, 1, -1);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return NULL;
	atomic_store(&f->is_alone, true);
	if (!f->temporary)
		(void)!poll(NULL, 0, LEAVE_MS);
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	for (unsigned i = 0; f->temporary && i < N_SWEEPS && access(f->temporary, F_OK) == 0; i++)
		remove_tree(f->temporary);
	_exit(0);
}

void fetch_answer_set(struct fetch_answer *answer, enum fetch_outcome outcome, const char *format,
		      ...)
{
	va_list args;

	answer->outcome = outcome;
	va_start(args, format);
	vsnprintf(answer->text, sizeof(answer->text), format, args);
	va_end(args);
}

/* What debuginfod_find_debuginfo(3) returns, for people. */
static void fetch_answer_failure(struct fetch *f, struct fetch_answer *answer, int r)
{
	if (f->is_too_large || r == -EFBIG)
		fetch_answer_set(answer, FETCH_REFUSED, "it is larger than %llu bytes",
				 (unsigned long long)f->max_bytes);
	else if (r == -ENOENT)
		answer->outcome = FETCH_NONE;
	else if (r == -ENOSYS)
		fetch_answer_set(answer, FETCH_FAILED, "no debuginfod server is named");
	else
		fetch_answer_set(answer, FETCH_FAILED, "the debuginfod server does not answer: %s",
				 strerrordesc_np(-r) ? strerrordesc_np(-r) : "an unknown error");
}

/* Returns the fd for an answer with FETCH_DONE, else -1. */
static int fetch_find_debuginfo(struct fetch *f, const struct fetch_request *request,
				struct fetch_answer *answer)
{
	cleanup(freep) char *path = NULL;
	cleanup(closep) int found = -1, fd = -1;
	int r;

	r = fetch_prepare_dir(f);
	if (r) {
		fetch_answer_set(answer, FETCH_FAILED, "%s", strerrordesc_np(-r));
		return -1;
	}
	f->max_bytes = fetch_max_bytes(f);
	f->is_too_large = false;
	r = debuginfod_find_debuginfo(f->client, request->id, (int)request->length, &path);
	if (r < 0) {
		fetch_answer_failure(f, answer, r);
		return -1;
	}
	found = r;
	/* That may be open for writing. What is to last is on the disk before it is sent. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || (f->is_durable && fsync(found) < 0)) {
		fetch_answer_set(answer, FETCH_FAILED, "%s: %s", path, strerrordesc_np(errno));
		return -1;
	}
	answer->outcome = FETCH_DONE;
	return steal_fd(&fd);
}

/* Returns 0, 1: the other end is closed, or negative errno. */
static int fetch_serve_one(struct fetch *f)
{
	cleanup(fd_packet_deinit) struct fd_packet packet;
	struct fetch_answer answer = {.magic = FETCH_MAGIC};
	cleanup(closep) int fd = -1;
	struct fetch_request request;
	int r = fd_packet_receive(f->socket, &request, sizeof(request), 0, &packet);

	if (r)
		return r < 0 ? error_origin(r) : r;
	if (packet.length != sizeof(request) || request.magic != FETCH_MAGIC || !request.length ||
	    request.length > FETCH_ID_MAX)
		return error_origin(-EPROTO);
	fd = fetch_find_debuginfo(f, &request, &answer);
	if (atomic_load(&f->is_alone))
		return 1;
	r = fd_packet_send(f->socket, &answer, sizeof(answer), &fd, fd >= 0, 0);
	return r < 0 ? error_origin(r) : r;
}

/*
 * Where the directory is somebody's who starts us (client/gateway/debuginfo.h), nothing else than
 * our settings is in the environment.
 */
static int fetch_prepare(struct fetch *f, const char *dir, bool has_cache)
{
	const struct rlimit largest = {.rlim_cur = FETCH_FILE_MAX, .rlim_max = FETCH_FILE_MAX};

	/* What is larger fails to be written, by EFBIG, before anybody has looked. */
	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &largest) < 0 && errno != EPERM)
		return error_origin(-errno);
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		if (dir && setenv(settings[i].variable, settings[i].value, 1) < 0)
			return error_origin(-ENOMEM);
	if (dir || !has_cache) {
		cleanup(freep) char *path = NULL;

		if (text_print(&path, "%s/.fetch-XXXXXX", dir ? dir : FETCH_TEMPORARY))
			return -ENOMEM;
		if (!mkdtemp(path))
			return error_origin(-errno);
		f->temporary = steal_ptr(&path);
	}
	reach_restrict();
	f->client = debuginfod_begin();
	if (!f->client)
		return error_origin(-ENOMEM);
	debuginfod_set_user_data(f->client, f);
	debuginfod_set_progressfn(f->client, watch_size);
	return 0;
}

int fetch_serve(int socket, const char *dir, bool has_cache)
{
	struct fetch f = {.socket = socket, .is_durable = dir};
	bool is_watched = false;
	pthread_t watcher;
	int r = fetch_prepare(&f, dir, has_cache);

	if (!r) {
		r = pthread_create(&watcher, NULL, exit_when_abandoned, &f);
		is_watched = !r;
		if (r)
			r = error_origin(-r);
	}
	while (!r)
		r = fetch_serve_one(&f);
	if (is_watched) {
		(void)pthread_cancel(watcher);
		(void)pthread_join(watcher, NULL);
	}
	if (f.client)
		debuginfod_end(f.client);
	if (f.temporary)
		remove_tree(f.temporary);
	free(f.temporary);
	return r < 0 ? r : 0;
}

/* --- the user's cache ------------------------------------------------------------------------- */

static const char *getenv_nonempty(const char *variable)
{
	const char *value = getenv(variable);

	return value && value[0] ? value : NULL;
}

static bool is_usable_dir(const char *path)
{
	struct stat st;

	return (mkdir(path, 0700) == 0 || errno == EEXIST) && stat(path, &st) == 0 &&
	       S_ISDIR(st.st_mode) && access(path, W_OK | X_OK) == 0;
}

static bool is_usable_subdir(const char *parent, const char *name)
{
	cleanup(freep) char *path = NULL;

	return !text_print(&path, "%s/%s", parent, name) && is_usable_dir(path);
}

bool user_cache_is_usable(void)
{
	const char *chosen = getenv_nonempty("DEBUGINFOD_CACHE_PATH");
	const char *xdg = getenv_nonempty("XDG_CACHE_HOME"), *home = getenv_nonempty("HOME");
	cleanup(freep) char *old = NULL, *standard = NULL;

	if (chosen)
		return is_usable_dir(chosen);
	if (home && !text_print(&old, "%s/.debuginfod_client_cache", home) &&
	    access(old, F_OK) == 0)
		return is_usable_dir(old);
	if (xdg)
		return is_usable_dir(xdg) && is_usable_subdir(xdg, "debuginfod_client");
	return home && !text_print(&standard, "%s/.cache", home) && is_usable_dir(standard) &&
	       is_usable_subdir(standard, "debuginfod_client");
}
