/* SPDX-License-Identifier: MIT */
/* The cache: entries by image, and what is missing in them when somebody needs it. */
#include "daemon/output/symbols.h"

#include <errno.h>
#include <string.h>

#include "common/error.h"
#include "daemon/output/symbols_private.h"
#include "daemon/resolve/vdso.h"

#define DEADLINE_NS UINT64_C(5000000000)
/* What the worker keeps of files that are asked for again. */
#define KEEP_MIN ((size_t)8 << 20)
/* Past this and the bound, one image gets no more names in one go. */
#define ENTRY_BYTES_MAX ((size_t)64 << 20)

int symbols_new(struct symbols **ret, const struct symbols_options *options)
{
	const struct worker_options worker = {
		.path = options->worker_path,
		.name = "symbols",
		.keep_bytes = options->max_bytes > KEEP_MIN ? options->max_bytes : KEEP_MIN,
		.deadline_ns = options->deadline_ns ? options->deadline_ns : DEADLINE_NS,
	};
	cleanup(symbols_freep) struct symbols *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return error_origin(-ENOMEM);
	s->kernel = options->kernel;
	s->max_bytes = options->max_bytes;
	s->window = 1;
	s->fetched_fd = -1;
	s->fetched_path = options->fetched_path;
	s->opener = options->opener;
	if (vdso_open(&s->vdso_fd) != VDSO_E_OK)
		s->vdso_fd = -1;
	r = worker_new(&s->worker, &worker);
	if (r)
		return r;
	*ret = steal_ptr(&s);
	return 0;
}

static void symbols_drop_entry(struct symbols *s, struct symbols_entry *e)
{
	HASH_DEL(s->entries, e);
	s->bytes -= e->bytes;
	symbols_close_debug(s, e);
	for (unsigned i = 0; i < N_SYMBOLS_DEPTHS; i++)
		symbols_names_free(e->names[i]);
	symtab_free(e->symtab);
	free(e->facts);
	free(e);
}

/* Drops the oldest until the bound is kept, @keep excepted. */
static void symbols_shrink(struct symbols *s, const struct symbols_entry *keep)
{
	struct symbols_entry *e, *next;

	HASH_ITER (hh, s->entries, e, next) {
		if (s->bytes <= s->max_bytes)
			return;
		if (e != keep)
			symbols_drop_entry(s, e);
	}
}

void symbols_free(struct symbols *s)
{
	struct symbols_entry *e, *next;

	if (!s)
		return;
	HASH_ITER (hh, s->entries, e, next)
		symbols_drop_entry(s, e);
	worker_free(s->worker);
	closep(&s->vdso_fd);
	closep(&s->fetched_fd);
	free(s);
}

void symbols_set_max(struct symbols *s, size_t max_bytes)
{
	s->max_bytes = max_bytes;
	symbols_shrink(s, NULL);
}

size_t symbols_bytes(const struct symbols *s)
{
	return s->bytes;
}

void symbols_get_stats(const struct symbols *s, struct symbols_stats *ret)
{
	struct worker_stats worker;

	worker_get_stats(s->worker, &worker);
	*ret = s->stats;
	ret->workers_died = worker.died;
	ret->worker = worker_pid(s->worker);
}

void symbols_begin_window(struct symbols *s)
{
	s->window++;
	s->lost_ns = 0;
	/* It may have been made since, or made anew. */
	closep(&s->fetched_fd);
	s->fetched_fd = -1;
}

/* What is known of @e's image is to be found out anew: it may have a debug file now. */
static void symbols_reset_entry(struct symbols *s, struct symbols_entry *e)
{
	symbols_close_debug(s, e);
	for (unsigned i = 0; i < N_SYMBOLS_DEPTHS; i++) {
		symbols_names_free(e->names[i]);
		e->names[i] = NULL;
	}
	e->is_nameless = false;
	e->wanted.length = 0;
	e->given_up = 0;
}

void symbols_set_fetched(struct symbols *s, const char *path)
{
	bool is_same = path == s->fetched_path ||
		       (path && s->fetched_path && strcmp(path, s->fetched_path) == 0);

	s->fetched_path = path;
	if (is_same)
		return;
	/* What was looked for in vain may be wanted, and found, now. */
	for (struct symbols_entry *e = s->entries; e; e = e->hh.next)
		if (e->key.domain == SYMBOLS_IMAGE)
			symbols_reset_entry(s, e);
}

/* The entry of @key as the newest, made if need be. */
static int symbols_get_entry(struct symbols *s, const struct symbols_key *key,
			     struct symbols_entry **ret)
{
	struct symbols_entry *e;

	HASH_FIND(hh, s->entries, key, sizeof(*key), e);
	if (e && e->hh.next) {
		HASH_DEL(s->entries, e);
		HASH_ADD(hh, s->entries, key, sizeof(e->key), e);
	}
	if (!e) {
		e = calloc(1, sizeof(*e));
		if (!e)
			return error_origin(-ENOMEM);
		e->key = *key;
		e->debug.debug = e->debug.alternate = -1;
		HASH_ADD(hh, s->entries, key, sizeof(e->key), e);
	}
	*ret = e;
	return 0;
}

static struct symbols_key symbols_image_key(const struct image *image)
{
	if (image->kind == IMAGE_VDSO)
		return (struct symbols_key){.domain = SYMBOLS_VDSO};
	return (struct symbols_key){.id = image->id, .domain = SYMBOLS_IMAGE};
}

/* @e has changed: counts it anew, and keeps the bound. */
static void symbols_recount_entry(struct symbols *s, struct symbols_entry *e)
{
	s->bytes -= e->bytes;
	e->bytes = sizeof(*e) + (e->facts ? sizeof(*e->facts) : 0) +
		   (e->symtab ? symtab_bytes(e->symtab) : 0);
	for (unsigned i = 0; i < N_SYMBOLS_DEPTHS; i++)
		e->bytes += e->names[i] ? symbols_names_bytes(e->names[i]) : 0;
	s->bytes += e->bytes;
	symbols_shrink(s, e);
}

/* Headers to the image, the rest to the entry. Returns 0 or negative errno. */
static int symbols_read_headers(struct symbols *s, struct symbols_entry *e, struct image *image,
				int fd)
{
	cleanup(freep) struct worker_image *facts = malloc(sizeof(*facts));
	enum worker_outcome outcome;
	int r;

	if (!facts)
		return error_origin(-ENOMEM);
	r = symbols_inspect(s, image, fd, facts, &outcome);
	if (r)
		return r < 0 ? r : 0;
	if (outcome == WORKER_NOT_ELF || outcome == WORKER_MALFORMED) {
		e->is_nameless = true;
		return image_set_headers(image, NULL, NULL);
	}
	if (outcome != WORKER_DONE)
		return 0;
	r = image_set_headers(image, &facts->elf, &facts->go);
	if (!r && !e->facts)
		e->facts = steal_ptr(&facts);
	return r;
}

int symbols_headers(struct symbols *s, struct image *image)
{
	const struct symbols_key key = symbols_image_key(image);
	struct symbols_entry *e;
	int fd, r;

	if (image->kind != IMAGE_FILE || image_has_headers(image) || atomic_load(&image->is_bad))
		return 0;
	r = symbols_get_entry(s, &key, &e);
	if (r || e->window == s->window)
		return r;
	e->window = s->window;
	fd = image_borrow_file(image);
	if (fd >= 0)
		r = symbols_read_headers(s, e, image, fd);
	image_return_file(image, fd);
	symbols_recount_entry(s, e);
	return r;
}

/* Whom to ask, and how much is wanted; all borrowed. */
struct question {
	struct symbols_entry *e;
	struct image *image;
	int fd; /* open on it */
	unsigned depth;
};

/* One request for @addresses. Returns ASK_* or negative errno. */
static int request_image_names(struct symbols *s, const struct question *q,
			       const uint64_t *addresses, size_t n)
{
	struct worker_request request = worker_request_of(WORKER_SYMBOLS, q->fd);
	const bool wants_lines = q->depth == SYMBOLS_LINES;
	struct symbols_entry *e = q->e;
	struct answer_names answer;
	enum worker_outcome outcome;
	int r;

	request.key = q->image->id;
	request.flags = (wants_lines ? WORKER_WANT_LINES : 0) |
			(e->debug.check_crc ? WORKER_CHECK_CRC : 0);
	request.files[WORKER_FILE_DEBUG] = e->debug.debug;
	request.files[WORKER_FILE_ALTERNATE] = e->debug.alternate;
	r = symbols_request_names(s, &request, addresses, n, &outcome, &answer);
	if (r == ASK_DIED)
		symbols_mark_bad_image(s, q->image);
	if (r)
		return r;
	e->is_nameless = outcome != WORKER_DONE;
	if (e->is_nameless)
		return ASK_OK;
	return symbols_names_add(e->names[q->depth], addresses, &answer, wants_lines);
}

/* Asks for @addresses, none of which is known. Returns 0 or negative errno. */
static int request_missing_names(struct symbols *s, const struct question *q,
				 const uint64_t *addresses, size_t n)
{
	size_t most = s->max_bytes > ENTRY_BYTES_MAX ? s->max_bytes : ENTRY_BYTES_MAX;
	int r = symbols_open_debug(s, q->e, q->image, q->fd, q->depth);
	struct symbols_entry *e = q->e;

	if (e->counted != s->window)
		s->stats.images_asked++;
	e->counted = s->window;
	for (size_t at = 0; at < n && !r && !e->is_nameless; at += WORKER_ADDRESSES_MAX) {
		size_t now = n - at < WORKER_ADDRESSES_MAX ? n - at : WORKER_ADDRESSES_MAX;

		if (symbols_names_bytes(e->names[q->depth]) > most)
			break;
		r = request_image_names(s, q, addresses + at, now);
	}
	return r < 0 ? r : 0;
}

/* Makes the names of @e at @depth, if need be. *ret: malloc'ed, those that are not known. */
static int symbols_find_missing(struct symbols_entry *e, unsigned depth, const uint64_t *addresses,
				size_t n, uint64_t **ret, size_t *ret_n)
{
	cleanup(freep) uint64_t *missing = calloc(n + 1, sizeof(*missing));
	const struct symbols_frame *ignored;
	uint32_t n_ignored;
	int r;

	if (!missing)
		return error_origin(-ENOMEM);
	if (!e->names[depth]) {
		r = symbols_names_new(&e->names[depth]);
		if (r)
			return r;
	}
	*ret_n = 0;
	for (size_t i = 0; i < n; i++)
		if (!symbols_names_find(e->names[depth], addresses[i], &ignored, &n_ignored))
			missing[(*ret_n)++] = addresses[i];
	*ret = steal_ptr(&missing);
	return 0;
}

static int symbols_borrow_file(const struct symbols *s, const struct image *image)
{
	return image->kind == IMAGE_VDSO ? s->vdso_fd : image_borrow_file(image);
}

static void symbols_return_file(const struct image *image, int fd)
{
	if (image->kind != IMAGE_VDSO)
		image_return_file(image, fd);
}

int symbols_prepare(struct symbols *s, struct image *image, const uint64_t *addresses, size_t n,
		    bool want_lines, const struct symbols_names **ret)
{
	const struct symbols_key key = symbols_image_key(image);
	unsigned depth = want_lines ? SYMBOLS_LINES : SYMBOLS_FUNCTIONS;
	cleanup(freep) uint64_t *missing = NULL;
	struct symbols_entry *e;
	size_t n_missing;
	int fd, r;

	symbols_shrink(s, NULL);
	r = symbols_get_entry(s, &key, &e);
	if (!r && (symbols_wanted_arrived(s, e) || symbols_may_retry_debug(s, e, image)))
		symbols_reset_entry(s, e);
	if (!r)
		r = symbols_find_missing(e, depth, addresses, n, &missing, &n_missing);
	if (r)
		return r;
	if (n_missing && !e->is_nameless && !atomic_load(&image->is_bad)) {
		fd = symbols_borrow_file(s, image);
		if (fd >= 0)
			r = request_missing_names(s, &(struct question){e, image, fd, depth},
						  missing, n_missing);
		symbols_return_file(image, fd);
	}
	symbols_recount_entry(s, e);
	*ret = e->names[depth];
	return r;
}

int symbols_prepare_kernel(struct symbols *s, const struct kernel_image *image,
			   const uint64_t *addresses, size_t n, const struct symbols_names **ret)
{
	const struct symbols_key key = {.id = image->id, .domain = SYMBOLS_KERNEL};
	cleanup(freep) uint64_t *missing = NULL;
	struct symbols_entry *e;
	size_t n_missing;
	int r;

	symbols_shrink(s, NULL);
	r = symbols_get_entry(s, &key, &e);
	if (!r)
		r = symbols_find_missing(e, SYMBOLS_FUNCTIONS, addresses, n, &missing, &n_missing);
	if (r)
		return r;
	if (n_missing)
		r = symbols_add_kernel(s, e, image, missing, n_missing);
	symbols_recount_entry(s, e);
	*ret = e->names[SYMBOLS_FUNCTIONS];
	return r;
}

int symbols_prepare_jit(struct symbols *s, struct jit_file *file, const uint64_t *addresses,
			size_t n, const struct symbols_names **ret)
{
	const struct symbols_key key = {.id = file->id, .domain = SYMBOLS_JIT};
	struct symbols_entry *e;
	int r;

	symbols_shrink(s, NULL);
	r = symbols_get_entry(s, &key, &e);
	if (!r)
		r = symbols_add_jit(s, e, file, addresses, n);
	if (r)
		return r;
	symbols_recount_entry(s, e);
	*ret = e->names[SYMBOLS_FUNCTIONS];
	return 0;
}
