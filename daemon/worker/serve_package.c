/* SPDX-License-Identifier: MIT */
/* Versions of packages by dpkg's status file, which is read in pieces: it may be of any size. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/read_end.h"
#include "daemon/worker/package/dpkg_status.h"
#include "daemon/worker/serve.h"

#define STATUS_MAX  (64u << 20) /* bytes: of a hundred thousand packages; of more, the first */
#define PIECE_BYTES 65536u

static size_t count_package_names(const struct request *request)
{
	size_t n = 0;

	for (uint64_t i = 0; i < request->header.payload_length; i++)
		n += !request->payload[i];
	return n;
}

bool request_has_package_names(const struct request *request)
{
	const uint64_t length = request->header.payload_length;

	return length && !request->payload[length - 1] &&
	       count_package_names(request) <= WORKER_PACKAGES_MAX;
}

/* Returns enum worker_outcome. */
static int read_status(int fd, struct dpkg_status *status)
{
	char piece[PIECE_BYTES];
	ssize_t n = 1;

	for (uint64_t at = 0; n && at < STATUS_MAX; at += (uint64_t)n) {
		n = read_range(fd, piece, sizeof(piece), at);
		if (n < 0)
			return WORKER_UNREADABLE;
		dpkg_status_read(status, (struct span){piece, (size_t)n});
	}
	dpkg_status_end(status);
	return WORKER_DONE;
}

/* The versions as texts, one behind the other. Returns WORKER_DONE or -ENOMEM. */
static int answer_versions(const struct dpkg_package *wanted, size_t n, struct answer *ret)
{
	char *at = malloc(n * WORKER_PACKAGE_VERSION);

	if (!at)
		return error_origin(-ENOMEM);
	ret->data = (uint8_t *)at;
	for (size_t i = 0; i < n; i++)
		at = stpcpy(at, wanted[i].version) + 1;
	ret->length = (size_t)(at - (char *)ret->data);
	return WORKER_DONE;
}

int serve_package(struct cache *cache, const struct request *request, struct answer *ret)
{
	const size_t n = count_package_names(request);
	cleanup(freep) struct dpkg_package *wanted = calloc(n, sizeof(*wanted));
	struct dpkg_status status;
	const char *name = (const char *)request->payload;
	int r;

	(void)cache;
	if (!wanted)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < n; i++, name += strlen(name) + 1)
		dpkg_package_parse((struct span){name, strlen(name)}, &wanted[i]);
	dpkg_status_begin(&status, wanted, n);
	r = read_status(request->files[WORKER_FILE_PACKAGES], &status);
	return r ?: answer_versions(wanted, n, ret);
}
