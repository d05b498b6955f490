/* SPDX-License-Identifier: MIT */
#include "client/record/private_profd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/record/private_dir.h"
#include "common/error.h"
#include "common/program_path.h"
#include "common/unixsock.h"

#define START_MS 60000 /* a busy machine with thousands of processes */
#define ASK_MS   10

#define CONFIG "profd.conf"

/* No limit on its CPU time: it slows down only the user who asked for it. */
static const char config[] = "[sampling]\nmax_cpu = 100%\n"
			     "[system]\nenabled = no\n"
			     "[flush]\nformats = pprof\n"
			     "[store]\nmin_free = 0\ngroup = none\n"
			     "[memory]\nbudget = 256M\n";
/* Files of others are larger than a window is. */
static const char store_config[] = "[system]\nenabled = no\n"
				   "[store]\ngroup = none\n"
				   "[memory]\nbudget = 1G\n";

/* Directories of its own. */
static const char *const names[] = {"state", "run", "cache"};

struct private_profd {
	struct private_dir *dir;
	char socket[96];
};

static int find_program(char **ret)
{
	cleanup(freep) char *path = NULL;
	int r = program_path("PROFD_DAEMON", "profd", &path);

	if (r)
		return r;
	if (access(path, X_OK) < 0) {
		free(path);
		path = strdup(PROFD_SBINDIR "/profd");
	}
	if (!path)
		return error_origin(-ENOMEM);
	*ret = steal_ptr(&path);
	return 0;
}

static int make_directories(struct private_profd *p, const char *text)
{
	const char *dir = private_dir_path(p->dir);
	cleanup(closep) int fd = -1;
	char path[96];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		if (mkdir(path, 0700) < 0)
			return error_origin(-errno);
	}
	snprintf(p->socket, sizeof(p->socket), "%s/run/control.sock", dir);
	fd = private_dir_open(dir, CONFIG, O_WRONLY | O_CREAT | O_EXCL);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return error_origin(fd < 0 ? -errno : -ENOSPC);
	return 0;
}

/* @store: the one that it only reads; NULL: it samples, and has one of its own. */
static int private_profd_start(struct private_profd *p, const char *program, const char *store)
{
	const char *dir = private_dir_path(p->dir);
	char file[96], paths[ARRAY_SIZE(names)][96];
	const char *argv[12] = {"profd",  "-c",
				file,     "--state-directory",
				paths[0], "--runtime-directory",
				paths[1], "--cache-directory",
				paths[2]};
	size_t n = 9;

	snprintf(file, sizeof(file), "%s/" CONFIG, dir);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		snprintf(paths[i], sizeof(paths[i]), "%s/%s", dir, names[i]);
	if (store) {
		argv[4] = store;
		argv[n++] = "--read-only";
	}
	if (geteuid())
		argv[n++] = "--user";
	return private_dir_keep(p->dir, &(struct private_program){program, argv});
}

/* The last line of its log that is not empty, without the program's name. */
static void read_last_log_line(const struct private_profd *p, struct private_profd_message *message)
{
	int fd = private_dir_open(private_dir_path(p->dir), "log", O_RDONLY);
	cleanup(fclosep) FILE *log = fd < 0 ? NULL : fdopen(fd, "r");
	cleanup(freep) char *line = NULL;
	size_t size = 0;

	snprintf(message->text, sizeof(message->text), "its log is empty");
	while (log && getline(&line, &size, log) > 0) {
		const char *said = strncmp(line, "profd: ", 7) ? line : line + 7;

		if (*line != '\n')
			snprintf(message->text, sizeof(message->text), "%.*s",
				 (int)strcspn(said, "\n"), said);
	}
}

static int private_profd_wait_ready(const struct private_profd *p,
				    struct private_profd_message *message)
{
	struct pollfd fd = {.fd = private_dir_life(p->dir), .events = POLLIN};
	int connection;

	for (int ms = 0; ms < START_MS; ms += ASK_MS) {
		if (!unixsock_connect(p->socket, &connection)) {
			close(connection);
			return PRIVATE_PROFD_E_OK;
		}
		if (poll(&fd, 1, ASK_MS) > 0) {
			read_last_log_line(p, message);
			return PRIVATE_PROFD_E_REFUSED;
		}
	}
	snprintf(message->text, sizeof(message->text), "it was not ready within %d s",
		 START_MS / 1000);
	return PRIVATE_PROFD_E_REFUSED;
}

int private_profd_new(struct private_profd **ret, const char *store,
		      struct private_profd_message *message)
{
	cleanup(private_profd_freep) struct private_profd *p = calloc(1, sizeof(*p));
	cleanup(freep) char *program = NULL;
	int r;

	if (!p)
		return error_origin(-ENOMEM);
	r = find_program(&program)
		?: private_dir_new(&p->dir, store ? "store" : "record")
		?: make_directories(p, store ? store_config : config)
		?: private_profd_start(p, program, store)
		?: private_profd_wait_ready(p, message);
	if (r)
		return r;
	*ret = steal_ptr(&p);
	return PRIVATE_PROFD_E_OK;
}

void private_profd_free(struct private_profd *p)
{
	if (!p)
		return;
	private_dir_free(p->dir);
	free(p);
}

const char *private_profd_socket(const struct private_profd *p)
{
	return p->socket;
}

int private_profd_life(const struct private_profd *p)
{
	return private_dir_life(p->dir);
}
