/* SPDX-License-Identifier: MIT */
/*
 * A gateway_child that is asked for build ids. What it answers may be a stranger's doing: only a
 * read-only regular file of a bounded size that begins as an ELF file is handed out.
 */
#include "client/fetch/fetcher.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "client/fetch/gateway_child.h"
#include "common/error.h"

struct fetcher {
	struct gateway_child gateway;
};

int fetcher_new(struct fetcher **ret, const struct fetcher_options *options)
{
	cleanup(fetcher_freep) struct fetcher *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return error_origin(-ENOMEM);
	r = gateway_child_init(&f->gateway, "--fetch", options);
	if (!r)
		*ret = steal_ptr(&f);
	return r;
}

void fetcher_free(struct fetcher *f)
{
	if (!f)
		return;
	gateway_child_deinit(&f->gateway);
	free(f);
}

void fetcher_stop(struct fetcher *f)
{
	gateway_child_stop(&f->gateway);
}

int fetcher_fd(const struct fetcher *f)
{
	return f->gateway.is_asked ? f->gateway.socket : -1;
}

int fetcher_pid(const struct fetcher *f)
{
	return (int)f->gateway.child.pid;
}

int fetcher_send(struct fetcher *f, const uint8_t *id, size_t length,
		 struct fetcher_message *message)
{
	struct fetch_request request = {.magic = FETCH_MAGIC, .length = (uint32_t)length};

	if (!length || length > FETCH_ID_MAX) {
		snprintf(message->text, sizeof(message->text),
			 "there are no build ids of %zu bytes", length);
		return FETCHER_E_FAILED;
	}
	memcpy(request.id, id, length);
	return gateway_child_send(&f->gateway, &request, sizeof(request), NULL, 0, message->text);
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
		snprintf(message->text, sizeof(message->text), "it is larger than %llu bytes",
			 (unsigned long long)FETCH_FILE_MAX);
		return FETCHER_E_REFUSED;
	}
	if (pread(fd, magic, sizeof(magic), 0) != sizeof(magic) ||
	    memcmp(magic, ELFMAG, sizeof(magic)) != 0) {
		snprintf(message->text, sizeof(message->text),
			 "what the server sent is no ELF file");
		return FETCHER_E_REFUSED;
	}
	return FETCHER_E_OK;
}

int fetcher_receive(struct fetcher *f, int *ret_fd, struct fetcher_message *message)
{
	cleanup(fd_packet_deinit) struct fd_packet files;
	struct fetch_answer answer;
	int r;

	if (gateway_child_receive(&f->gateway, UINT64_MAX, &answer, &files, message->text))
		return FETCHER_E_FAILED;
	if (answer.outcome == FETCH_NONE)
		return FETCHER_E_NONE;
	if (answer.outcome != FETCH_DONE) {
		memcpy(message->text, answer.text, sizeof(message->text));
		return answer.outcome == FETCH_REFUSED ? FETCHER_E_REFUSED : FETCHER_E_FAILED;
	}
	r = fetcher_check_file(files.n_fds == 1 ? files.fds[0] : -1, message);
	if (r == FETCHER_E_FAILED)
		(void)!gateway_child_fail(&f->gateway, "sends no file where it should",
					  message->text);
	if (r == FETCHER_E_OK)
		*ret_fd = steal_fd(&files.fds[0]);
	return r;
}

int fetcher_get(struct fetcher *f, const uint8_t *id, size_t length, int *ret_fd,
		struct fetcher_message *message)
{
	int r = fetcher_send(f, id, length, message) ?: fetcher_receive(f, ret_fd, message);

	return r == FETCHER_E_REFUSED ? FETCHER_E_FAILED : r;
}
