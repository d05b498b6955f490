/* SPDX-License-Identifier: MIT */
/*
 * The two views hold mappings and text; slots, images and words only grow. What is gone from a view
 * is kept as lines until the profile's file is made of all of them.
 */
#include "client/shim/core/images.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/maps.h"
#include "common/partition_point.h"
#include "common/read_end.h"
#include "common/unwind/cfi.h"
#include "common/unwind/eh_frame.h"
#include "common/unwind/table.h"

#define IMAGES_MAX   2048
#define MAPPINGS_MAX 16384
#define WORDS_MAX    (16u << 20)
#define PAST_BYTES   (256u << 10)
#define MAPS_MAX     (64u << 20)
#define ENTER_TRIES  8
#define ROWS_MAX     (16u << 20) /* of an image's unwind rules */

struct images_view {
	_Atomic unsigned n_readers;
	uint32_t number;
	unsigned n;
	struct unwind_mapping mappings[MAPPINGS_MAX];
	uint32_t line_at[MAPPINGS_MAX + 1]; /* in text: of mapping i up to that of the next one */
	char *text;                         /* whole lines; owned */
};

struct images_entry {
	uint64_t device, inode;
};

struct images {
	_Atomic int current; /* index into views plus 1; 0: none yet */
	uint32_t n_views;    /* that were ever made */
	struct images_view views[2];
	unsigned n_images;
	struct images_entry images[IMAGES_MAX]; /* by slot */
	struct table_slot slots[IMAGES_MAX];
	size_t n_words;
	size_t n_past;
	char past[PAST_BYTES]; /* whole lines of mappings that are gone, the last first */
	uint64_t words[WORDS_MAX];
};

int images_new(struct images **ret)
{
	struct images *images = mmap(NULL, sizeof(*images), PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (images == MAP_FAILED)
		return error_origin(-ENOMEM);
	/* The program's core files are not to be larger for us. */
	madvise(images, sizeof(*images), MADV_DONTDUMP);
	*ret = images;
	return 0;
}

/*
 * The file at the mapping's path, if it is the one that is mapped: device numbers of the two differ
 * on some filesystems, so the inode's must do.
 */
static int open_mapped_image(const struct maps_line *line)
{
	cleanup(closep) int fd = -1;
	char path[PATH_MAX];
	struct stat st;

	if (line->path_length >= sizeof(path))
		return -1;
	memcpy(path, line->path, line->path_length);
	path[line->path_length] = '\0';
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_ino != line->inode)
		return -1;
	return steal_fd(&fd);
}

/* Returns the slot's state. */
static unsigned image_table_compile(struct images *images, const struct eh_frame *frame,
				    struct table_slot *ret)
{
	const struct cfi_limits limits = {.max_rows = ROWS_MAX, .max_rules = TABLE_RULES_MAX};
	cleanup(cfi_rows_freep) struct cfi_rows *rows = NULL;
	cleanup(freep) uint64_t *packed = NULL;
	struct table_slot slot;
	size_t n;
	int r = cfi_compile(&rows, &frame->input, &limits);

	if (r)
		return r == CFI_E_NONE ? TABLE_NO_CFI : TABLE_REFUSED;
	if (table_pack(rows, WORDS_MAX - images->n_words, &slot, &packed, &n))
		return TABLE_REFUSED;
	memcpy(images->words + images->n_words, packed, n * sizeof(*packed));
	slot.first = (uint32_t)images->n_words;
	images->n_words += n;
	*ret = slot;
	return TABLE_LOADED;
}

/*
 * Compiles the file that @line maps, or the image at @vdso unless that is NULL, behind the words
 * that are there. *ret says what came of it; only a table that is loaded raises n_words. Nothing
 * but memory and the file's own make it fail: frame pointers remain.
 */
static void image_table_make(struct images *images, const struct maps_line *line, const void *vdso,
			     struct table_slot *ret)
{
	cleanup(closep) int fd = vdso ? -1 : open_mapped_image(line);
	cleanup(eh_frame_deinit) struct eh_frame frame = {0};
	int r = vdso     ? eh_frame_parse(vdso, line->end - line->start, &frame)
		: fd < 0 ? EH_FRAME_E_UNREADABLE
			 : eh_frame_read(fd, &frame);

	memset(ret, 0, sizeof(*ret));
	if (!vdso) {
		frame.input.read_code = eh_frame_read_code;
		frame.input.read_code_userdata = &fd;
	}
	if (r)
		ret->state = r == EH_FRAME_E_NONE ? TABLE_NO_CFI : TABLE_REFUSED;
	else
		ret->state = image_table_compile(images, &frame, ret);
}

/* The table's slot of the image that @line maps, compiled unless it is there already. */
static uint32_t images_find_slot(struct images *images, const struct maps_line *line)
{
	struct table_slot *slot = &images->slots[images->n_images];
	bool is_vdso = line->path_length == 6 && !memcmp(line->path, "[vdso]", 6);
	const void *vdso = is_vdso ? (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR) : NULL;

	if (!is_vdso && (!line->path_length || line->path[0] != '/' || !line->inode))
		return SLOT_NONE;
	for (unsigned i = 0; i < images->n_images; i++)
		if (images->images[i].inode == line->inode &&
		    images->images[i].device == line->device)
			return i;
	if (images->n_images == IMAGES_MAX)
		return SLOT_NONE;
	image_table_make(images, line, vdso, slot);
	images->images[images->n_images] = (struct images_entry){line->device, line->inode};
	return images->n_images++;
}

/* The line of a mapping without a name gets one: readers join it to its neighbour otherwise. */
static void images_view_add_line(struct images_view *view, const struct maps_line *line,
				 const char *text, size_t *at)
{
	view->line_at[view->n] = (uint32_t)*at;
	memcpy(view->text + *at, text, line->length);
	*at += line->length;
	if (!line->path_length) {
		memcpy(view->text + *at, "[anon]", 6);
		*at += 6;
	}
	view->text[(*at)++] = '\n';
}

/* Fills in @view. False: there is no memory, it has no mappings then. */
static bool images_view_fill(struct images *images, struct images_view *view, const char *maps,
			     size_t length)
{
	const char *end = maps + length;
	struct maps_line line;
	size_t at = 0;

	free(view->text);
	view->n = 0;
	/* Six more bytes a line, which is longer than that. */
	view->text = malloc(2 * length + 1);
	if (!view->text)
		return false;
	for (const char *text = maps; text < end; text += line.length + 1) {
		bool good = maps_parse(text, end, &line);

		if (!good || !(line.prot & PROT_EXEC) || view->n == MAPPINGS_MAX)
			continue;
		images_view_add_line(view, &line, text, &at);
		view->mappings[view->n++] = (struct unwind_mapping){
			.start = line.start,
			.end = line.end,
			.offset = line.offset,
			.slot = images_find_slot(images, &line),
		};
	}
	view->line_at[view->n] = (uint32_t)at;
	return true;
}

static size_t line_length(const struct images_view *view, unsigned i)
{
	return view->line_at[i + 1] - view->line_at[i];
}

static bool images_view_has_line(const struct images_view *view, uint64_t start, const char *text,
				 size_t length)
{
	unsigned at = (unsigned)partition_point(view->n, i, view->mappings[i].start < start);

	return at < view->n && line_length(view, at) == length &&
	       !memcmp(view->text + view->line_at[at], text, length);
}

/* Keeps the lines of @before that @now has not. Those of compilers' code leave room for files'. */
static void keep_past(struct images *images, const struct images_view *before,
		      const struct images_view *now)
{
	for (unsigned i = 0; i < before->n; i++) {
		const struct unwind_mapping *mapping = &before->mappings[i];
		const char *text = before->text + before->line_at[i];
		size_t length = line_length(before, i);
		size_t most = mapping->slot == SLOT_NONE ? PAST_BYTES / 2 : PAST_BYTES;

		if (images_view_has_line(now, mapping->start, text, length) ||
		    memmem(images->past, images->n_past, text, length) ||
		    images->n_past + length > most)
			continue;
		memmove(images->past + length, images->past, images->n_past);
		memcpy(images->past, text, length);
		images->n_past += length;
	}
}

void images_refresh(struct images *images)
{
	int current = atomic_load(&images->current);
	struct images_view *view = &images->views[current == 1];
	cleanup(freep) char *maps = NULL;
	size_t length;

	if (read_end_text(AT_FDCWD, "/proc/self/maps", MAPS_MAX, &maps, &length))
		return;
	while (atomic_load(&view->n_readers))
		sched_yield();
	if (!images_view_fill(images, view, maps, length))
		return;
	if (current)
		keep_past(images, &images->views[current - 1], view);
	view->number = ++images->n_views;
	atomic_store(&images->current, current == 1 ? 2 : 1);
}

struct images_view *images_enter(struct images *images)
{
	/* Once more only if a view was replaced that very moment. */
	for (int i = 0; i < ENTER_TRIES; i++) {
		int current = atomic_load(&images->current);
		struct images_view *view;

		if (!current)
			return NULL;
		view = &images->views[current - 1];
		atomic_fetch_add(&view->n_readers, 1);
		if (atomic_load(&images->current) == current)
			return view;
		atomic_fetch_sub(&view->n_readers, 1);
	}
	return NULL;
}

void images_leave(struct images_view *view)
{
	atomic_fetch_sub(&view->n_readers, 1);
}

void images_wait(struct images *images)
{
	while (atomic_load(&images->views[0].n_readers) || atomic_load(&images->views[1].n_readers))
		sched_yield();
}

void images_after_fork(struct images *images)
{
	atomic_store(&images->views[0].n_readers, 0);
	atomic_store(&images->views[1].n_readers, 0);
}

const struct unwind_mapping *images_find(const struct images_view *view, uint64_t address)
{
	size_t at = partition_point(view->n, i, view->mappings[i].end <= address);

	return at < view->n && view->mappings[at].start <= address ? &view->mappings[at] : NULL;
}

uint32_t images_view_lines(const struct images_view *view, const char **ret, size_t *ret_length)
{
	*ret = view->text;
	*ret_length = view->line_at[view->n];
	return view->number;
}

void images_tables(struct images *images, struct walk_maps *ret)
{
	ret->slots = images->slots;
	ret->n_slots = IMAGES_MAX;
	ret->words = images->words;
	ret->n_words = WORDS_MAX;
}

struct images_lines {
	char *text;
	size_t length;
};

/* Whether a line in @lines is of addresses that @line has, too. */
static bool lines_overlap(const struct images_lines *lines, const struct maps_line *line)
{
	const char *end = lines->text + lines->length;
	struct maps_line other;

	for (const char *at = lines->text; at < end; at += other.length + 1)
		if (maps_parse(at, end, &other) && other.start < line->end &&
		    line->start < other.end)
			return true;
	return false;
}

/* Those whose path is @program, or those whose is not. */
static void put_current(struct images_lines *lines, const struct images_view *view,
			const char *program, bool is_program)
{
	struct maps_line line;

	for (unsigned i = 0; i < view->n; i++) {
		const char *text = view->text + view->line_at[i];
		size_t length = line_length(view, i);
		bool same = maps_parse(text, text + length, &line) &&
			    line.path_length == strlen(program) &&
			    !memcmp(line.path, program, line.path_length);

		if (same != is_program)
			continue;
		memcpy(lines->text + lines->length, text, length);
		lines->length += length;
	}
}

int images_lines(struct images *images, char **ret)
{
	int current = atomic_load(&images->current);
	const struct images_view *view = current ? &images->views[current - 1] : NULL;
	const char *end = images->past + images->n_past;
	struct images_lines lines = {.length = 0};
	char program[4096] = "";
	struct maps_line line;

	lines.text = malloc((view ? view->line_at[view->n] : 0) + images->n_past + 1);
	if (!lines.text)
		return error_origin(-ENOMEM);
	if (readlink("/proc/self/exe", program, sizeof(program) - 1) < 0)
		program[0] = '\0';
	if (view) {
		put_current(&lines, view, program, true);
		put_current(&lines, view, program, false);
	}
	for (const char *at = images->past; at < end; at += line.length + 1) {
		if (!maps_parse(at, end, &line) || lines_overlap(&lines, &line))
			continue;
		memcpy(lines.text + lines.length, at, line.length + 1);
		lines.length += line.length + 1;
	}
	lines.text[lines.length] = '\0';
	*ret = lines.text;
	return 0;
}
