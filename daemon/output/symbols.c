/* SPDX-License-Identifier: MIT */
/*
 * The cache: entries by image, kernel image or file of generated code, and what is missing in them
 * when it is needed. Names of images and of generated code are asked for in the same way
 * (asker.c), one request for so many addresses; an image's separate debug files go along
 * (symbols_debug.c). The kernel's are made here (kernel_names.c).
 *
 * Files of generated code grow, and code takes the place of other code: when one has changed, all
 * that is needed of it is asked for anew.
 */
#include "daemon/output/symbols.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <uthash.h>

#include "common/error.h"
#include "common/worker/memory.h"
#include "daemon/output/symbols_private.h"
#include "daemon/resolve/lent_fd.h"

#define DEADLINE_NS    UINT64_C(5000000000)
#define DEBUG_OPEN_MAX 32 /* images with open debug files */
/* What the worker keeps of files that are asked for again. */
#define KEEP_MIN ((size_t)8 << 20)
/* Past the bound, or for generated code a part of it, one entry gets no more names in one go. */
#define ENTRY_BYTES_MIN ((size_t)1 << 20)
#define JIT_PART        8
/* Of the bound, what is left of the names while memory is short. */
#define SHORT_PART 2
/* What there was no memory for is asked for in smaller pieces, and then so many windows later. */
#define PIECE_MIN         64
#define NO_MEMORY_WINDOWS 16 /* at most; 1 at first, then twice as many each time */

enum symbols_domain { SYMBOLS_IMAGE, SYMBOLS_KERNEL, SYMBOLS_VDSO, SYMBOLS_JIT };

struct symbols_key {
	uint64_t id;
	uint64_t domain; /* enum symbols_domain; as wide as id, so that there is no padding */
};

struct file_version {
	off_t size;
	struct timespec mtime;
};

/* An image. */
struct symbols_entry {
	struct symbols_key key;
	struct symbols_names *names[N_SYMBOLS_DEPTHS]; /* NULL: nothing was asked for yet */
	bool is_nameless;                              /* no file that names could be read from */
	uint64_t again;   /* the window before which nothing is asked: there was no memory for it */
	uint64_t waited;  /* windows, the last time */
	uint64_t window;  /* in which its headers were asked for last */
	uint64_t counted; /* the window in which it counted as asked for */
	struct image_debug debug; /* images */
	struct symtab *symtab;    /* kernel images; NULL also: no symbols */
	bool has_read;            /* kernel images: symtab is what there is */
	struct file_version file; /* generated code: as it was when it was read */
	size_t bytes;
	UT_hash_handle hh; /* in order of use: the first is the oldest */
};

struct symbols {
	struct asker asker;
	struct debug_finder finder;
	struct kernel_images *kernel;
	struct symbols_entry *entries;
	size_t bytes, max_bytes;
	struct memory_budget *budget;
	bool is_short; /* and something had no memory in this window */
};

int symbols_new(struct symbols **ret, const struct symbols_options *options)
{
	const struct worker_options worker = {
		.path = options->worker_path,
		.name = "symbols",
		.keep_bytes = options->max_bytes > KEEP_MIN ? options->max_bytes : KEEP_MIN,
		.budget = options->budget,
		.number = MEMORY_SYMBOLS,
		.deadline_ns = options->deadline_ns ? options->deadline_ns : DEADLINE_NS,
	};
	cleanup(symbols_freep) struct symbols *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return error_origin(-ENOMEM);
	s->asker.vdso_fd = s->finder.fetched_fd = -1;
	s->kernel = options->kernel;
	s->max_bytes = options->max_bytes;
	s->budget = options->budget;
	s->finder.window = 1;
	s->finder.asker = &s->asker;
	s->finder.fetched_path = options->fetched_path;
	s->finder.opener = options->opener;
	s->finder.copier = options->copier;
	if (options->host_root)
		s->finder.host = mount_root_ref(options->host_root);
	r = asker_init(&s->asker, &worker);
	if (r)
		return r;
	*ret = steal_ptr(&s);
	return 0;
}

static void symbols_forget_names(struct symbols *s, struct symbols_entry *e)
{
	debug_finder_close(&s->finder, &e->debug);
	for (unsigned i = 0; i < N_SYMBOLS_DEPTHS; i++)
		symbols_names_free(steal_ptr(&e->names[i]));
}

static void symbols_drop_entry(struct symbols *s, struct symbols_entry *e)
{
	HASH_DEL(s->entries, e);
	s->bytes -= e->bytes;
	symbols_forget_names(s, e);
	symtab_free(e->symtab);
	free(e->debug.facts);
	free(e);
}

/* Drops the oldest until there are @max_bytes, @keep excepted. */
static void symbols_shrink(struct symbols *s, size_t max_bytes, const struct symbols_entry *keep)
{
	struct symbols_entry *e, *next;

	HASH_ITER (hh, s->entries, e, next) {
		if (s->bytes <= max_bytes)
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
	asker_deinit(&s->asker);
	closep(&s->finder.fetched_fd);
	mount_root_unref(s->finder.host);
	debug_finder_forget_left(&s->finder);
	free(s);
}

void symbols_note_cut(struct symbols *s, size_t n)
{
	s->asker.stats.cut += n;
}

void symbols_set_max(struct symbols *s, size_t max_bytes)
{
	s->max_bytes = max_bytes;
	symbols_shrink(s, s->max_bytes, NULL);
}

size_t symbols_bytes(const struct symbols *s)
{
	return s->bytes;
}

void symbols_get_stats(const struct symbols *s, struct symbols_stats *ret)
{
	struct worker_stats worker;

	worker_get_stats(s->asker.worker, &worker);
	*ret = s->asker.stats;
	ret->workers_died = worker.died;
}

const char *symbols_trouble(const struct symbols *s)
{
	return s->asker.stats.trouble;
}

struct asker *symbols_asker(struct symbols *s)
{
	return &s->asker;
}

int symbols_find_packages(struct symbols *s, struct symbols_package *all, size_t n)
{
	return debug_finder_find_packages(&s->finder, all, n);
}

const struct elf_summary *symbols_vdso(struct symbols *s)
{
	return asker_vdso(&s->asker);
}

void symbols_begin_window(struct symbols *s)
{
	s->finder.window++;
	s->asker.lost_ns = 0;
	debug_finder_reap_left(&s->finder);
	if (s->is_short || (s->budget && memory_budget_is_short(s->budget)))
		symbols_shrink(s, s->max_bytes / SHORT_PART, NULL);
	s->is_short = false;
	/* It may have been made since, or made anew. */
	closep(&s->finder.fetched_fd);
	s->finder.fetched_fd = -1;
}

/* What is known of @e's image is to be found out anew: it may have a debug file now. */
static void symbols_reset_entry(struct symbols *s, struct symbols_entry *e)
{
	symbols_forget_names(s, e);
	e->is_nameless = false;
	e->again = e->waited = 0;
	e->debug.wanted.length = 0;
	e->debug.given_up = 0;
}

void symbols_set_fetched(struct symbols *s, const char *path)
{
	const char *before = s->finder.fetched_path;
	bool is_same = path == before || (path && before && strcmp(path, before) == 0);

	s->finder.fetched_path = path;
	if (is_same)
		return;
	/* What was looked for in vain may be wanted, and found, now. */
	for (struct symbols_entry *e = s->entries; e; e = e->hh.next)
		if (e->key.domain == SYMBOLS_IMAGE)
			symbols_reset_entry(s, e);
}

static bool symbols_wanted_has(const struct symbols_wanted *list, const struct symbols_build_id *id)
{
	for (uint32_t i = 0; i < list->n; i++)
		if (list->ids[i].length == id->length &&
		    memcmp(list->ids[i].bytes, id->bytes, id->length) == 0)
			return true;
	return false;
}

void symbols_get_wanted(const struct symbols *s, struct symbols_wanted *ret)
{
	const struct symbols_entry *e;

	ret->n = 0;
	if (!s->finder.fetched_path || !s->entries)
		return;
	/* In order of use; the last is the newest. */
	e = ELMT_FROM_HH(s->entries->hh.tbl, s->entries->hh.tbl->tail);
	for (; e && ret->n < SYMBOLS_WANTED_MAX; e = e->hh.prev)
		if (e->debug.wanted.length && !symbols_wanted_has(ret, &e->debug.wanted))
			ret->ids[ret->n++] = e->debug.wanted;
}

/* The entry of @key as the newest, made if need be, when the bound is kept. */
static int symbols_get_entry(struct symbols *s, const struct symbols_key *key,
			     struct symbols_entry **ret)
{
	struct symbols_entry *e;

	symbols_shrink(s, s->max_bytes, NULL);
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
		e->debug.choice.debug = e->debug.choice.alternate = -1;
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
	e->bytes = sizeof(*e) + (e->debug.facts ? sizeof(*e->debug.facts) : 0) +
		   (e->symtab ? symtab_bytes(e->symtab) : 0);
	for (unsigned i = 0; i < N_SYMBOLS_DEPTHS; i++)
		e->bytes += e->names[i] ? symbols_names_bytes(e->names[i]) : 0;
	s->bytes += e->bytes;
	symbols_shrink(s, s->max_bytes, e);
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
	r = asker_inspect(&s->asker, fd, &(struct asker_file){&image->is_bad, image->path}, facts,
			  &outcome);
	if (r)
		return r < 0 ? r : 0;
	if (outcome == WORKER_NOT_ELF || outcome == WORKER_MALFORMED) {
		e->is_nameless = true;
		return image_set_headers(image, NULL, NULL, NULL);
	}
	if (outcome != WORKER_DONE)
		return 0;
	r = image_set_headers(image, &facts->elf, &facts->go, &facts->release);
	if (!r && !e->debug.facts)
		e->debug.facts = steal_ptr(&facts);
	return r;
}

static int symbols_borrow_file(struct symbols *s, const struct image *image)
{
	int fd = image_borrow_file(image);

	return fd >= 0 ? fd : debug_finder_copy_image(&s->finder, image);
}

int symbols_headers(struct symbols *s, struct image *image)
{
	const struct symbols_key key = symbols_image_key(image);
	cleanup(closep) int fd = -1;
	struct symbols_entry *e;
	int r;

	if (image->kind != IMAGE_FILE || image_has_headers(image) || atomic_load(&image->is_bad))
		return 0;
	r = symbols_get_entry(s, &key, &e);
	if (r || e->window == s->finder.window)
		return r;
	e->window = s->finder.window;
	fd = symbols_borrow_file(s, image);
	if (fd >= 0)
		r = symbols_read_headers(s, e, image, fd);
	symbols_recount_entry(s, e);
	return r;
}

/* --- asking for names ------------------------------------------------------------------------- */

/* Which names are needed, and how they are asked for; borrowed but for @missing. */
struct symbols_question {
	struct symbols_entry *e;
	struct symbols_names **names; /* the entry's, of the depth that is needed */
	const uint64_t *addresses;
	size_t n;
	uint64_t *missing; /* those that are not known yet; owned */
	size_t n_missing;
	struct worker_request request;
	struct asker_file file;
	size_t max_bytes; /* of the names: past it there are no more */
	bool by_address;  /* as in symbols_names_add() */
};

static void question_deinit(struct symbols_question *q)
{
	free(q->missing);
}

/* An image counts as asked for once a window. */
static void symbols_count_asked(struct symbols *s, struct symbols_entry *e)
{
	s->asker.stats.images_asked += e->counted != s->finder.window;
	e->counted = s->finder.window;
}

static size_t symbols_entry_max(const struct symbols *s, size_t part)
{
	return s->max_bytes / part > ENTRY_BYTES_MIN ? s->max_bytes / part : ENTRY_BYTES_MIN;
}

/* For how many windows what has no memory now waits. */
static uint64_t symbols_wait(struct symbols *s, struct symbols_entry *e)
{
	s->is_short |= s->budget && memory_budget_is_short(s->budget);
	e->waited = e->waited ? 2 * e->waited : 1;
	if (e->waited > NO_MEMORY_WINDOWS)
		e->waited = NO_MEMORY_WINDOWS;
	return e->waited;
}

/* Asks for @addresses, none of which @names knows. Returns ASK_* or negative errno. */
static int symbols_ask(struct symbols *s, struct symbols_question *q, struct symbols_names *names,
		       const uint64_t *addresses, size_t n)
{
	struct symbols_entry *e = q->e;
	size_t piece = WORKER_ADDRESSES_MAX, now;
	enum worker_outcome outcome;
	struct answer_names answer;
	int r;

	symbols_count_asked(s, e);
	for (size_t at = 0; at < n && !e->is_nameless && e->again <= s->finder.window; at += now) {
		if (symbols_names_bytes(names) > q->max_bytes)
			return ASK_OK;
		now = n - at < piece ? n - at : piece;
		r = asker_ask_names(&s->asker, &q->request, &q->file, addresses + at, now, &outcome,
				    &answer);
		if (!r && outcome == WORKER_DONE)
			r = symbols_names_add(names, addresses + at, &answer, q->by_address);
		if (r)
			return r;
		if (outcome != WORKER_NO_MEMORY) {
			e->is_nameless = outcome != WORKER_DONE;
		} else if (now > PIECE_MIN) {
			piece = now / 2;
			now = 0;
		} else {
			e->again = s->finder.window + symbols_wait(s, e);
			symbols_note_cut(s, n - at);
		}
	}
	return ASK_OK;
}

/* The depth's names of q->e, made if need be, and what is missing in them. */
static int question_begin(struct symbols_question *q, unsigned depth)
{
	const struct symbols_frame *ignored;
	uint32_t n_ignored;
	int r;

	q->names = &q->e->names[depth];
	q->missing = calloc(q->n + 1, sizeof(*q->missing));
	if (!q->missing)
		return error_origin(-ENOMEM);
	if (!*q->names) {
		r = symbols_names_new(q->names);
		if (r)
			return r;
	}
	for (size_t i = 0; i < q->n; i++)
		if (!symbols_names_find(*q->names, q->addresses[i], &ignored, &n_ignored))
			q->missing[q->n_missing++] = q->addresses[i];
	return 0;
}

/* @r: what came of asking. */
static int symbols_end(struct symbols *s, const struct symbols_question *q, int r,
		       const struct symbols_names **ret)
{
	symbols_recount_entry(s, q->e);
	*ret = *q->names;
	return r < 0 ? r : 0;
}

/* --- images ----------------------------------------------------------------------------------- */

/* Closes the oldest debug files until no more than what may be are open, those of @keep excepted.
 */
static void symbols_close_oldest_debug(struct symbols *s, const struct symbols_entry *keep)
{
	for (struct symbols_entry *e = s->entries; e && s->finder.n_open > DEBUG_OPEN_MAX;
	     e = e->hh.next)
		if (e != keep && image_debug_is_open(&e->debug))
			debug_finder_close(&s->finder, &e->debug);
}

/* Asks for what is missing. @fd: open on @image. */
static int symbols_ask_image(struct symbols *s, struct symbols_question *q, struct image *image,
			     int fd, unsigned depth)
{
	const struct debug_choice *debug = &q->e->debug.choice;
	bool is_nameless;
	int r;

	symbols_count_asked(s, q->e);
	r = debug_finder_look(&s->finder, &q->e->debug, image, fd, depth, &is_nameless);
	q->e->is_nameless |= is_nameless;
	symbols_close_oldest_debug(s, q->e);
	if (r)
		return r;
	q->request = worker_request_of(WORKER_SYMBOLS, fd);
	q->request.key = image->id;
	q->request.path = image->path;
	q->request.flags = (depth == SYMBOLS_LINES ? WORKER_WANT_LINES : 0) |
			   (debug->check_crc ? WORKER_CHECK_CRC : 0);
	q->request.files[WORKER_FILE_DEBUG] = debug->debug;
	q->request.files[WORKER_FILE_ALTERNATE] = debug->alternate;
	return symbols_ask(s, q, *q->names, q->missing, q->n_missing);
}

int symbols_prepare(struct symbols *s, struct image *image, const uint64_t *addresses, size_t n,
		    bool want_lines, const struct symbols_names **ret)
{
	const struct symbols_key key = symbols_image_key(image);
	const bool is_vdso = image->kind == IMAGE_VDSO;
	unsigned depth = want_lines ? SYMBOLS_LINES : SYMBOLS_FUNCTIONS;
	cleanup(question_deinit) struct symbols_question q = {
		.addresses = addresses,
		.n = n,
		.file = {&image->is_bad, image->path},
		.max_bytes = symbols_entry_max(s, 1),
		.by_address = want_lines,
	};
	int r;

	r = symbols_get_entry(s, &key, &q.e);
	if (r)
		return r;
	if (debug_finder_may_have_more(&s->finder, &q.e->debug, image))
		symbols_reset_entry(s, q.e);
	r = question_begin(&q, depth);
	if (r)
		return r;
	if (q.n_missing && !q.e->is_nameless && !atomic_load(&image->is_bad)) {
		cleanup(closep) int own = is_vdso ? -1 : symbols_borrow_file(s, image);
		int fd = is_vdso ? s->asker.vdso_fd : own;

		if (fd >= 0)
			r = symbols_ask_image(s, &q, image, fd, depth);
	}
	return symbols_end(s, &q, r, ret);
}

/* --- the kernel ------------------------------------------------------------------------------- */

int symbols_prepare_kernel(struct symbols *s, const struct kernel_image *image,
			   const uint64_t *addresses, size_t n, const struct symbols_names **ret)
{
	const struct symbols_key key = {.id = image->id, .domain = SYMBOLS_KERNEL};
	cleanup(question_deinit) struct symbols_question q = {.addresses = addresses, .n = n};
	int r = symbols_get_entry(s, &key, &q.e);

	if (!r)
		r = question_begin(&q, SYMBOLS_FUNCTIONS);
	if (r)
		return r;
	/* kallsyms is read once for each image: a kernel that hides it now does so tomorrow. */
	if (q.n_missing && !q.e->has_read)
		r = kernel_images_symbols(s->kernel, image, &q.e->symtab);
	q.e->has_read |= q.n_missing && r >= 0;
	if (q.n_missing && r >= 0)
		r = kernel_names_add(&s->asker, q.e->symtab, q.missing, q.n_missing, *q.names);
	return symbols_end(s, &q, r, ret);
}

/* --- generated code --------------------------------------------------------------------------- */

/* The file has changed. What was known stays if there is no answer now. */
static int symbols_reread_jit(struct symbols *s, struct symbols_question *q,
			      const struct file_version *version)
{
	cleanup(symbols_names_freep) struct symbols_names *names = NULL;
	int r = symbols_names_new(&names);

	if (r)
		return r;
	q->e->is_nameless = false;
	r = symbols_ask(s, q, names, q->addresses, q->n);
	if (r)
		return r;
	q->e->file = *version;
	symbols_names_free(*q->names);
	*q->names = steal_ptr(&names);
	return ASK_OK;
}

static bool file_version_equal(const struct file_version *a, const struct file_version *b)
{
	return a->size == b->size && a->mtime.tv_sec == b->mtime.tv_sec &&
	       a->mtime.tv_nsec == b->mtime.tv_nsec;
}

/* @fd: open on @file. */
static int symbols_ask_jit(struct symbols *s, struct symbols_question *q,
			   const struct jit_file *file, int fd)
{
	struct file_version version;
	struct stat st;

	/* Looked at before it is read: what comes meanwhile is found the next time. */
	if (fstat(fd, &st) < 0)
		return ASK_OK;
	version = (struct file_version){.size = st.st_size, .mtime = st.st_mtim};
	q->request.files[file->is_jitdump ? WORKER_FILE_JITDUMP : WORKER_FILE_PERF_MAP] = fd;
	if (!file_version_equal(&version, &q->e->file))
		return symbols_reread_jit(s, q, &version);
	return q->n_missing && !q->e->is_nameless
		       ? symbols_ask(s, q, *q->names, q->missing, q->n_missing)
		       : ASK_OK;
}

int symbols_prepare_jit(struct symbols *s, struct jit_file *file, const uint64_t *addresses,
			size_t n, const struct symbols_names **ret)
{
	const struct symbols_key key = {.id = file->id, .domain = SYMBOLS_JIT};
	cleanup(question_deinit) struct symbols_question q = {
		.addresses = addresses,
		.n = n,
		.request = worker_request_of(WORKER_JIT, -1),
		.file = {&file->is_bad, file->path},
		.max_bytes = symbols_entry_max(s, JIT_PART),
		/* A jitdump has lines, which differ within one range of code. */
		.by_address = file->is_jitdump,
	};
	int r = symbols_get_entry(s, &key, &q.e);

	if (!r)
		r = question_begin(&q, SYMBOLS_FUNCTIONS);
	if (r)
		return r;
	if (n && !atomic_load(&file->is_bad)) {
		cleanup(closep) int fd = lent_fd_borrow(&file->fd);

		if (fd >= 0)
			r = symbols_ask_jit(s, &q, file, fd);
	}
	return symbols_end(s, &q, r, ret);
}
