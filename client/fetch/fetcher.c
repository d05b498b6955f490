/* SPDX-License-Identifier: MIT */
#include "client/fetch/fetcher.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "client/fetch/fetch_packet.h"
#include "client/fetch/fetch_protocol.h"
#include "client/fetch/fetcher_process.h"
#include "common/error.h"
#include "common/program_path.h"
#include "common/utf8.h"

struct fetcher {
	char *path, *urls, *cache_directory;
	struct fetcher_process process;
	bool is_asked;
};

_Static_assert(sizeof(((struct fetcher_message *)NULL)->text) == FETCH_TEXT_MAX, "message");

static void fetcher_set_message(struct fetcher_message *message, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void fetcher_set_message(struct fetcher_message *message, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(message->text, sizeof(message->text), format, args);
	va_end(args);
}

static int fetcher_copy_text(char **ret, const char *text)
{
	if (!text)
		return 0;
	*ret = strdup(text);
	return *ret ? 0 : error_origin(-ENOMEM);
}

int fetcher_new(struct fetcher **ret, const struct fetcher_options *options)
{
	cleanup(fetcher_freep) struct fetcher *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return error_origin(-ENOMEM);
	f->process.socket = -1;
	r = fetcher_copy_text(&f->urls, options->urls);
	if (!r)
		r = fetcher_copy_text(&f->cache_directory, options->cache_directory);
	if (!r && options->path)
		r = fetcher_copy_text(&f->path, options->path);
	else if (!r)
		r = program_path("PROFD_GATEWAY", "profd-gateway", &f->path);
	if (r)
		return r;
	*ret = steal_ptr(&f);
	return 0;
}

void fetcher_free(struct fetcher *f)
{
	if (!f)
		return;
	fetcher_stop(f);
	free(f->path);
	free(f->urls);
	free(f->cache_directory);
	free(f);
}

void fetcher_stop(struct fetcher *f)
{
	(void)!fetcher_process_end(&f->process);
	f->is_asked = false;
}

int fetcher_fd(const struct fetcher *f)
{
	return f->is_asked ? f->process.socket : -1;
}

int fetcher_pid(const struct fetcher *f)
{
	return (int)f->process.pid;
}

/* It ended, or is no use any more. */
static int fetcher_give_up(struct fetcher *f, const char *what, struct fetcher_message *message)
{
	int status = fetcher_process_end(&f->process);

	f->is_asked = false;
	if (status != -1 && WIFSIGNALED(status))
		fetcher_set_message(message, "profd-gateway was killed by signal %d",
				    WTERMSIG(status));
	else if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status))
		fetcher_set_message(message, "profd-gateway ended with status %d",
				    WEXITSTATUS(status));
	else
		fetcher_set_message(message, "profd-gateway %s", what);
	return FETCHER_E_FAILED;
}

static int fetcher_start(struct fetcher *f, struct fetcher_message *message)
{
	const struct fetcher_options options = {
		.urls = f->urls,
		.cache_directory = f->cache_directory,
	};
	int r = fetcher_process_start(&f->process, f->path, "--fetch", &options);

	if (r == -ENOMEM)
		return error_origin(r);
	if (!r)
		return FETCHER_E_OK;
	fetcher_set_message(message, "cannot start %s: %s", f->path, strerrordesc_np(-r));
	return FETCHER_E_FAILED;
}

/* One that ended since the last answer is replaced, once. */
int fetcher_send(struct fetcher *f, const uint8_t *id, size_t length,
		 struct fetcher_message *message)
{
	struct fetch_request request = {.magic = FETCH_MAGIC, .length = (uint32_t)length};
	int r;

	if (f->is_asked)
		return error_origin(-EBUSY);
	if (!length || length > FETCH_ID_MAX) {
		fetcher_set_message(message, "there are no build ids of %zu bytes", length);
		return FETCHER_E_FAILED;
	}
	memcpy(request.id, id, length);
	for (unsigned attempt = 0; attempt < 2; attempt++) {
		if (!f->process.pid) {
			r = fetcher_start(f, message);
			if (r)
				return r;
		}
		if (!fetch_packet_send(f->process.socket, &request, sizeof(request), NULL, 0,
				       MSG_DONTWAIT)) {
			f->is_asked = true;
			return FETCHER_E_OK;
		}
		r = fetcher_give_up(f, "does not take a question", message);
	}
	return r;
}

/* Returns bytes, 0 at the end, or negative errno. Where more than one fd comes, none is taken. */
static ssize_t fetcher_receive_packet(int socket, struct fetch_answer *ret, int *ret_fd)
{
	cleanup(fetch_packet_fds_deinit) struct fetch_packet_fds fds;
	ssize_t n = fetch_packet_receive(socket, ret, sizeof(*ret), &fds);

	*ret_fd = fds.n == 1 ? steal_fd(&fds.all[0]) : -1;
	return n;
}

/* What servers say is nothing for somebody's terminal. */
static void fetcher_copy_answer_text(struct fetch_answer *answer, struct fetcher_message *message)
{
	answer->text[sizeof(answer->text) - 1] = '\0';
	utf8_make_harmless(answer->text);
	fetcher_set_message(message, "%s", answer->text);
}

/* Returns FETCHER_E_OK, _REFUSED, or _FAILED: it is not even what a gateway would send. */
static int fetcher_check_file(int fd, struct fetcher_message *message)
{
	unsigned char magic[SELFMAG];
	int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);
	struct stat st;

	if (flags < 0 || (flags & O_ACCMODE) != O_RDONLY || (flags & O_PATH) ||
	    fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return FETCHER_E_FAILED;
	if ((uint64_t)st.st_size > FETCH_FILE_MAX) {
		fetcher_set_message(message, "it is larger than %llu bytes",
				    (unsigned long long)FETCH_FILE_MAX);
		return FETCHER_E_REFUSED;
	}
	if (pread(fd, magic, sizeof(magic), 0) != sizeof(magic) ||
	    memcmp(magic, ELFMAG, sizeof(magic)) != 0) {
		fetcher_set_message(message, "what the server sent is no ELF file");
		return FETCHER_E_REFUSED;
	}
	return FETCHER_E_OK;
}

int fetcher_receive(struct fetcher *f, int *ret_fd, struct fetcher_message *message)
{
	cleanup(closep) int fd = -1;
	struct fetch_answer answer;
	ssize_t n;
	int r;

	if (!f->is_asked) {
		fetcher_set_message(message, "nothing was asked");
		return FETCHER_E_FAILED;
	}
	n = fetcher_receive_packet(f->process.socket, &answer, &fd);
	if (n <= 0)
		return fetcher_give_up(f, "ended without an answer", message);
	if (n != sizeof(answer) || answer.magic != FETCH_MAGIC ||
	    answer.outcome >= N_FETCH_OUTCOMES)
		return fetcher_give_up(f, "answers what nobody understands", message);
	f->is_asked = false;
	switch ((enum fetch_outcome)answer.outcome) {
	case FETCH_FILE:
		r = fetcher_check_file(fd, message);
		if (r == FETCHER_E_FAILED)
			return fetcher_give_up(f, "sends no file where it should", message);
		if (r == FETCHER_E_OK)
			*ret_fd = steal_fd(&fd);
		return r;
	case FETCH_NONE:
		return FETCHER_E_NONE;
	case FETCH_REFUSED:
		fetcher_copy_answer_text(&answer, message);
		return FETCHER_E_REFUSED;
	case FETCH_FAILED:
	case N_FETCH_OUTCOMES:
		break;
	}
	fetcher_copy_answer_text(&answer, message);
	return FETCHER_E_FAILED;
}

int fetcher_get(struct fetcher *f, const uint8_t *id, size_t length, int *ret_fd,
		struct fetcher_message *message)
{
	int r = fetcher_send(f, id, length, message);

	if (r)
		return r;
	r = fetcher_receive(f, ret_fd, message);
	return r == FETCHER_E_REFUSED ? FETCHER_E_FAILED : r;
}
