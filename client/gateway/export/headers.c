/* SPDX-License-Identifier: MIT */
#include "client/gateway/export/headers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/fetch/http_headers.h"
#include "common/cleanup.h"
#include "common/error.h"

static int headers_refuse(struct headers_message *message, const char *path, const char *why)
{
	snprintf(message->text, sizeof(message->text), "%.300s %s", path, why);
	return HEADERS_E_BAD;
}

static int headers_refuse_errno(struct headers_message *message, const char *path)
{
	snprintf(message->text, sizeof(message->text), "%.300s: %s", path, strerrordesc_np(errno));
	return HEADERS_E_BAD;
}

static int headers_check(const char *path, const char *text, struct headers_message *message)
{
	struct http_headers headers = {.rest = text};
	const char *header;
	char why[128];
	size_t length;

	while (http_headers_next(&headers, &header, &length))
		;
	if (!headers.trouble)
		return HEADERS_E_OK;
	snprintf(why, sizeof(why), "line %u %.90s", headers.line, headers.trouble);
	return headers_refuse(message, path, why);
}

int headers_read(const char *path, char **ret, struct headers_message *message)
{
	cleanup(freep) char *text = calloc(1, HTTP_HEADERS_MAX + 1);
	cleanup(closep) int fd = -1;
	struct stat st;
	ssize_t n = 0;
	int r;

	if (!text)
		return error_origin(-ENOMEM);
	if (*path) {
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0 || fstat(fd, &st) < 0)
			return headers_refuse_errno(message, path);
		if (!S_ISREG(st.st_mode))
			return headers_refuse(message, path, "is no regular file");
		n = read(fd, text, HTTP_HEADERS_MAX + 1);
	}
	if (n < 0)
		return headers_refuse_errno(message, path);
	if ((size_t)n > HTTP_HEADERS_MAX)
		return headers_refuse(message, path, "is too long");
	if (strlen(text) < (size_t)n)
		return headers_refuse(message, path, "has a NUL");
	r = headers_check(path, text, message);
	if (!r)
		*ret = steal_ptr(&text);
	return r;
}
