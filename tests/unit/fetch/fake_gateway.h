/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_FETCH_FAKE_GATEWAY_H
#define PROFD_TESTS_UNIT_FETCH_FAKE_GATEWAY_H

/*
 * A test that stands in for profd-gateway: it is started again by the fetcher, with --fetch, and
 * does what the "server" is named after. With a cache directory it works there; what it was asked
 * for is noted there, too, a line each.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/fetch/fetch_protocol.h"
#include "common/helper/fd_packet.h"

#define FAKE_ELF "\177ELF, more or less: longer than its magic number"

static inline int fake_file(const char *dir, const char *text, int flags)
{
	char path[256];
	int fd, again;

	snprintf(path, sizeof(path), "%s/.fetch-XXXXXX", dir ? dir : "/tmp");
	fd = mkstemp(path);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		_exit(90);
	again = open(path, flags | O_CLOEXEC);
	close(fd);
	if (!dir)
		unlink(path);
	return again;
}

static inline void fake_send(const void *answer, size_t size, const int *fds, size_t n_fds)
{
	if (fd_packet_send(FETCH_SOCKET_FD, answer, size, fds, n_fds, 0))
		_exit(91);
}

static inline void fake_note(const char *dir, const struct fetch_request *request)
{
	char path[256];
	FILE *f;

	if (!dir)
		return;
	snprintf(path, sizeof(path), "%s/asked", dir);
	f = fopen(path, "ae");
	if (!f)
		_exit(92);
	for (uint32_t i = 0; i < request->length; i++)
		fprintf(f, "%02x", request->id[i]);
	fprintf(f, "\n");
	fclose(f);
}

/* Outcomes without a file, and what is no answer at all. True: it was one of them. */
static inline int fake_simple(const char *mode, struct fetch_answer *answer)
{
	if (strcmp(mode, "none") == 0) {
		answer->outcome = FETCH_NONE;
	} else if (strcmp(mode, "refused") == 0) {
		answer->outcome = FETCH_REFUSED;
		strcpy(answer->text, "too large");
	} else if (strcmp(mode, "failed") == 0) {
		answer->outcome = FETCH_FAILED;
		strcpy(answer->text, "no answer");
	} else if (strcmp(mode, "text") == 0) {
		answer->outcome = FETCH_FAILED;
		memset(answer->text, 'x', sizeof(answer->text));
		memcpy(answer->text, "a\033[1m\nb", 7);
	} else if (strcmp(mode, "environment") == 0) {
		const char *value = getenv("FAKE_VARIABLE");

		answer->outcome = FETCH_FAILED;
		snprintf(answer->text, sizeof(answer->text), "%s", value ? value : "unset");
	} else if (strcmp(mode, "outcome") == 0) {
		answer->outcome = N_FETCH_OUTCOMES;
	} else if (strcmp(mode, "magic") == 0) {
		answer->magic++;
	} else if (strcmp(mode, "no file") == 0) {
		answer->outcome = FETCH_DONE;
	} else {
		return 0;
	}
	fake_send(answer, sizeof(*answer), NULL, 0);
	return 1;
}

static inline void fake_files(const char *mode, const char *dir, struct fetch_answer *answer)
{
	int fds[2] = {-1, -1};
	size_t n = 1;

	answer->outcome = FETCH_DONE;
	if (strcmp(mode, "writable") == 0)
		fds[0] = fake_file(dir, FAKE_ELF, O_RDWR);
	else if (strcmp(mode, "garbage") == 0)
		fds[0] = fake_file(dir, "<html>", O_RDONLY);
	else if (strcmp(mode, "empty") == 0)
		fds[0] = fake_file(dir, "", O_RDONLY);
	else if (strcmp(mode, "folder") == 0)
		fds[0] = open("/", O_RDONLY | O_DIRECTORY);
	else
		fds[0] = fake_file(dir, FAKE_ELF, O_RDONLY);
	if (strcmp(mode, "large") == 0) {
		char path[32];
		int fd;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
		fd = open(path, O_WRONLY);
		if (fd < 0 || ftruncate(fd, (off_t)FETCH_FILE_MAX + 1) < 0)
			_exit(93);
		close(fd);
	}
	if (strcmp(mode, "two") == 0) {
		fds[1] = dup(fds[0]);
		n = 2;
	}
	fake_send(answer, sizeof(*answer), fds, n);
	close(fds[0]);
	if (n > 1)
		close(fds[1]);
}

/* "even": a file for build ids that begin with an even byte. */
static inline void fake_answer(const char *mode, const char *dir,
			       const struct fetch_request *request)
{
	struct fetch_answer answer = {.magic = FETCH_MAGIC};

	if (strcmp(mode, "exit") == 0)
		_exit(7);
	if (strcmp(mode, "killed") == 0)
		raise(SIGKILL);
	if (strcmp(mode, "hang") == 0) {
		while (recv(FETCH_SOCKET_FD, &answer, 1, 0) > 0)
			;
		_exit(0);
	}
	if (strcmp(mode, "short") == 0) {
		fake_send(&answer, 5, NULL, 0);
		return;
	}
	if (strcmp(mode, "even") == 0)
		mode = request->id[0] % 2 ? "none" : "file";
	if (!fake_simple(mode, &answer))
		fake_files(mode, dir, &answer);
	if (strcmp(mode, "once") == 0)
		_exit(0);
}

/* To be called first in main(). Returns if this is not the fetcher's process. */
static inline void fake_gateway(int argc, char **argv)
{
	const char *url = getenv("DEBUGINFOD_URLS");
	const char *dir = argc > 3 && strcmp(argv[2], "--cache-directory") == 0 ? argv[3] : NULL;
	struct fetch_request request;

	if (argc < 2 || strcmp(argv[1], "--fetch") != 0)
		return;
	if (!url || strncmp(url, "http://", 7) != 0)
		_exit(94);
	while (recv(FETCH_SOCKET_FD, &request, sizeof(request), 0) == sizeof(request)) {
		fake_note(dir, &request);
		fake_answer(url + 7, dir, &request);
	}
	_exit(0);
}

#endif
