/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_OUTPUT_SYMBOLS_FIXTURE_H
#define PROFD_TESTS_UNIT_OUTPUT_SYMBOLS_FIXTURE_H

/* Copies of the test program as images, and what is asked of them. */
#include "daemon/output/symbols.h"
#include "tests/support/own_text.h"
#include "tests/unit/output/fixture.h"

/* Long enough for a worker that is well, on a machine that is not. */
#define HOSTILE_DEADLINE (2 * NS)

/* What is looked for: their names are in .symtab alone. */
static __attribute__((noinline, used)) int first_target(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

static __attribute__((noinline, used)) int second_target(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x * 3;
}

/* The link-time address of something in this program. */
static inline uint64_t vaddr_of(int (*function)(int))
{
	assert_int_equal(function(1) > 0, 1);
	return (uint64_t)(uintptr_t)function - own_text_find().bias;
}

static inline struct symbols *open_symbols(const char *worker)
{
	const struct symbols_options options = {
		.max_bytes = 8 << 20,
		.worker_path = worker,
		.deadline_ns = worker ? HOSTILE_DEADLINE : 60 * NS,
	};
	struct symbols *s = NULL;

	assert_int_equal(symbols_new(&s, &options), 0);
	return s;
}

/* A copy of this program as an image. @mark: for picky_worker, or 0. */
static inline struct image *make_copy(struct fixture *f, uint64_t id, char mark)
{
	cleanup(freep) uint8_t *data = NULL;
	const char trailer[] = {'p', 'i', 'c', 'k', 'y', ':', mark};
	struct image *image = make_image(id, IMAGE_FILE, "/bin/copy", 0);
	size_t length;
	char name[32];

	data = slurp("/proc/self/exe", &length);
	data = realloc(data, length + sizeof(trailer));
	assert_non_null(data);
	memcpy(data + length, trailer, sizeof(trailer));
	snprintf(name, sizeof(name), "copy-%u", (unsigned)id);
	write_file(f->dir.fd, name, data, length + (mark ? sizeof(trailer) : 0));
	image->fd = openat(f->dir.fd, name, O_RDONLY | O_CLOEXEC);
	assert_true(image->fd >= 0);
	free(atomic_exchange(&image->headers, NULL));
	return image;
}

/* The name at @address; "" known to have none, NULL unknown. Good until the next call. */
static inline const char *any_name_at(struct symbols *s, struct image *image, uint64_t address)
{
	const struct symbols_names *names;
	const struct symbols_frame *frames;
	uint32_t n;

	assert_int_equal(symbols_prepare(s, image, &address, 1, false, &names), 0);
	if (!symbols_names_find(names, address, &frames, &n))
		return NULL;
	assert_in_range(n, 0, 1);
	return n ? symbols_names_text(names, frames[0].name) : "";
}

/* The same, but what is made of where the function starts is no name. */
static inline const char *name_at(struct symbols *s, struct image *image, uint64_t address)
{
	const char *name = any_name_at(s, image, address);

	return name && strncmp(name, "copy+0x", 7) == 0 ? "" : name;
}

static inline struct symbols_stats stats_of(const struct symbols *s)
{
	struct symbols_stats stats;

	symbols_get_stats(s, &stats);
	return stats;
}

#endif
