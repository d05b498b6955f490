/* SPDX-License-Identifier: MIT */
#include "daemon/output/cpuprofile_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/error.h"

/* Opens a path of a stranger's choice without touching devices or waiting for a FIFO's writer. */
static int open_regular(const char *path)
{
	cleanup(closep) int fd = open(path, O_PATH | O_CLOEXEC);
	char again[32];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
	return open(again, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

static bool holds_same_build(struct symbols *symbols, const struct image *image)
{
	const struct elf_summary *mapped = image_elf(image);
	cleanup(closep) int fd = -1;
	struct symbols_build_id id;

	if (!mapped || !mapped->build_id_length)
		return false;
	fd = open_regular(image->path);
	return fd >= 0 && symbols_build_id(symbols, fd, image->path, &id) &&
	       id.length == mapped->build_id_length &&
	       memcmp(id.bytes, mapped->build_id, id.length) == 0;
}

static bool mapped_file_is_deleted(struct symbols *symbols, const struct image *image)
{
	struct stat st;
	bool gone;
	int fd;

	if (image->kind != IMAGE_FILE)
		return false;
	fd = image_borrow_file(image);
	gone = fd >= 0 && fstat(fd, &st) == 0 && st.st_nlink == 0;
	image_return_file(image, fd);
	return gone && !holds_same_build(symbols, image);
}

/* seq_file_path() in the kernel: a newline in a path is written \012. */
static void maps_put_path(FILE *out, const char *path)
{
	for (; *path; path++) {
		if (*path == '\n')
			fputs("\\012", out);
		else
			fputc(*path, out);
	}
}

static void maps_put_line(FILE *out, struct symbols *symbols, const struct mapping *m)
{
	const struct image *image = m->image;
	bool is_file = image->kind == IMAGE_FILE;
	int n = fprintf(out, "%08" PRIx64 "-%08" PRIx64 " r%cxp %08" PRIx64 " %02x:%02x %" PRIu64,
			m->start, m->end, m->writable ? 'w' : '-',
			image->kind == IMAGE_ANON ? 0 : m->offset,
			is_file ? image->device_major : 0, is_file ? image->device_minor : 0,
			is_file ? image->inode : 0);

	/* The kernel pads to this column; readers split at blanks. */
	fprintf(out, "%*s", n < 72 ? 73 - n : 1, "");
	maps_put_path(out, image->path);
	fprintf(out, "%s\n", mapped_file_is_deleted(symbols, image) ? " (deleted)" : "");
}

static bool mapping_in_generation(const struct mapping *m, uint32_t generation)
{
	return m->from <= generation && generation < m->until;
}

static int maps_compare_start(const void *a, const void *b)
{
	const struct mapping *x = *(const struct mapping *const *)a;
	const struct mapping *y = *(const struct mapping *const *)b;

	return x->start < y->start ? -1 : x->start > y->start;
}

int cpuprofile_maps(struct symbols *symbols, const struct snapshot_process *p, uint32_t generation,
		    char **ret)
{
	cleanup(freep) const struct mapping **lines = NULL;
	const struct mapping *all = NULL;
	size_t n_all = 0, n = 0, size;
	char *text = NULL;
	FILE *out;

	if (p->mappings)
		all = mappings_all(p->mappings, &n_all);
	lines = calloc(n_all + 1, sizeof(*lines));
	if (!lines)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < n_all; i++)
		if (mapping_in_generation(&all[i], generation))
			lines[n++] = &all[i];
	if (n)
		qsort(lines, n, sizeof(*lines), maps_compare_start);

	out = open_memstream(&text, &size);
	if (!out)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < n; i++)
		if (lines[i]->image == p->program)
			maps_put_line(out, symbols, lines[i]);
	for (size_t i = 0; i < n; i++)
		if (lines[i]->image != p->program)
			maps_put_line(out, symbols, lines[i]);
	if (fclose(out) != 0) {
		free(text);
		return error_origin(-ENOMEM);
	}
	*ret = text;
	return 0;
}

/* 0: it has none that says. */
static int image_slot_bytes(struct symbols *symbols, struct image *image, unsigned *ret)
{
	int r = symbols_headers(symbols, image);

	*ret = image_elf(image) ? image_elf(image)->pointer_bytes : 0;
	return r;
}

int cpuprofile_slot_bytes(struct symbols *symbols, const struct snapshot_process *p, unsigned *ret)
{
	const struct mapping *all = NULL;
	unsigned bytes = 0;
	size_t n = 0;
	int r = 0;

	if (p->program)
		r = image_slot_bytes(symbols, p->program, &bytes);
	if (p->mappings)
		all = mappings_all(p->mappings, &n);
	for (size_t i = 0; i < n && !bytes && !r; i++)
		r = image_slot_bytes(symbols, all[i].image, &bytes);
	*ret = bytes ? bytes : 8;
	return r;
}
