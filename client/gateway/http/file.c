/* SPDX-License-Identifier: MIT */
#include "client/gateway/http/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/read_end.h"

static int file_complain(struct http_message *message, const char *path, const char *why)
{
	snprintf(message->text, sizeof(message->text), "%.200s %s", path, why);
	return HTTP_FILE_E_BAD;
}

/* NULL, or why others could have changed it, or learnt it. */
static const char *file_find_fault(const struct stat *st, bool is_public)
{
	if (!S_ISREG(st->st_mode))
		return "is no regular file";
	if (st->st_mode & S_IWOTH)
		return "can be written by every user: chmod o= it";
	if (is_public)
		return NULL;
	if (st->st_mode & S_IROTH)
		return "can be read by every user: chmod o= it";
	return st->st_uid && st->st_uid != geteuid() ? "belongs to another user: chown it to root"
						     : NULL;
}

static int file_read(struct http_file **ret, const char *path, bool is_public,
		     struct http_message *message)
{
	cleanup(http_file_freep) struct http_file *f = calloc(1, sizeof(*f));
	cleanup(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const char *fault;
	struct stat st;
	ssize_t n;

	if (!f)
		return error_origin(-ENOMEM);
	if (fd < 0 || fstat(fd, &st) < 0) {
		snprintf(message->text, sizeof(message->text), "%.200s cannot be read: %s", path,
			 strerrordesc_np(errno));
		return HTTP_FILE_E_BAD;
	}
	fault = file_find_fault(&st, is_public);
	if (fault)
		return file_complain(message, path, fault);
	while ((n = read(fd, f->text + f->length, HTTP_FILE_MAX + 1 - f->length)) > 0) {
		f->length += (size_t)n;
		if (f->length > HTTP_FILE_MAX)
			return file_complain(message, path, "is larger than 64 KiB");
	}
	if (n < 0)
		return file_complain(message, path, strerrordesc_np(errno));
	f->text[f->length] = '\0';
	*ret = steal_ptr(&f);
	return HTTP_FILE_E_OK;
}

int http_file_read(struct http_file **ret, const char *path, struct http_message *message)
{
	return file_read(ret, path, false, message);
}

int http_file_read_public(struct http_file **ret, const char *path, struct http_message *message)
{
	return file_read(ret, path, true, message);
}

void http_file_free(struct http_file *f)
{
	if (f)
		explicit_bzero(f, sizeof(*f));
	free(f);
}
