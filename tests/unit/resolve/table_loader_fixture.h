/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_RESOLVE_TABLE_LOADER_FIXTURE_H
#define TESTS_UNIT_RESOLVE_TABLE_LOADER_FIXTURE_H

/* Images without an image table, and how to wait for what becomes of them. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/resolve/table_loader.h"

#define MAX_WORDS (1u << 20)

static inline struct image *image_of(int fd, enum image_kind kind)
{
	struct image *image = calloc(1, sizeof(*image));

	image->n_references = 1;
	image->kind = kind;
	image->fd = fd;
	image->path = strdup("x");
	return image;
}

static inline struct image *image_with(const char *text)
{
	int fd = memfd_create("t", MFD_CLOEXEC);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return image_of(fd, IMAGE_FILE);
}

/* What needs no worker, and what waits for one, does not show on the fd. */
static inline struct table_result *wait_result(struct table_loader *l)
{
	struct pollfd fd = {.fd = table_loader_fd(l), .events = POLLIN};
	struct table_result *result = NULL;

	for (unsigned i = 0; i < 3000 && !result; i++) {
		assert_int_equal(table_loader_receive(l, &result), 0);
		if (!result)
			assert_true(poll(&fd, 1, 20) >= 0);
	}
	assert_non_null(result);
	return result;
}

#endif
