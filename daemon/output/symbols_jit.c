/* SPDX-License-Identifier: MIT */
/*
 * Names of generated code. The files that tell them grow, and code takes the place of other code:
 * when one has changed, all that is needed of it is asked for anew.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "common/error.h"
#include "daemon/output/symbols_private.h"

/* Past this, one file gets no more names. */
#define NAMES_BYTES_MAX ((size_t)64 << 20)

/* Whom to ask, and what to add the answer to; all borrowed. */
struct question {
	struct symbols_entry *e;
	struct jit_file *file;
	int fd; /* open on it */
	struct symbols_names *names;
};

/* One request. Returns ASK_* or negative errno. */
static int request_jit_names(struct symbols *s, const struct question *q, const uint64_t *addresses,
			     size_t n)
{
	struct jit_file *file = q->file;
	struct worker_request request = worker_request_of(WORKER_JIT, -1);
	struct answer_names answer;
	enum worker_outcome outcome;
	int r;

	request.key = file->id;
	request.files[file->is_jitdump ? WORKER_FILE_JITDUMP : WORKER_FILE_PERF_MAP] = q->fd;
	r = symbols_request_names(s, &request, addresses, n, &outcome, &answer);
	if (r == ASK_DIED)
		symbols_mark_bad_jit(s, file);
	if (r)
		return r;
	q->e->is_nameless = outcome != WORKER_DONE;
	if (q->e->is_nameless)
		return ASK_OK;
	/* A jitdump has lines, which differ within one range of code. */
	return symbols_names_add(q->names, addresses, &answer, file->is_jitdump);
}

static int request_all_jit_names(struct symbols *s, const struct question *q,
				 const uint64_t *addresses, size_t n)
{
	struct symbols_entry *e = q->e;
	int r = ASK_OK;

	if (e->counted != s->window)
		s->stats.images_asked++;
	e->counted = s->window;
	for (size_t at = 0; at < n && !r && !e->is_nameless; at += WORKER_ADDRESSES_MAX) {
		size_t now = n - at < WORKER_ADDRESSES_MAX ? n - at : WORKER_ADDRESSES_MAX;

		if (symbols_names_bytes(q->names) > NAMES_BYTES_MAX)
			break;
		r = request_jit_names(s, q, addresses + at, now);
	}
	return r;
}

/* The file is what it was: asks for what is not known of it. */
static int add_missing_jit_names(struct symbols *s, const struct question *q,
				 const uint64_t *addresses, size_t n)
{
	cleanup(freep) uint64_t *missing = calloc(n + 1, sizeof(*missing));
	const struct symbols_frame *ignored;
	uint32_t n_ignored;
	size_t n_missing = 0;

	if (!missing)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < n; i++)
		if (!symbols_names_find(q->names, addresses[i], &ignored, &n_ignored))
			missing[n_missing++] = addresses[i];
	return n_missing ? request_all_jit_names(s, q, missing, n_missing) : ASK_OK;
}

/* What was known stays if there is no answer now. */
static int reread_jit_names(struct symbols *s, struct question *q, const struct stat *st,
			    const uint64_t *addresses, size_t n)
{
	struct symbols_entry *e = q->e;
	cleanup(symbols_names_freep) struct symbols_names *names = NULL;
	int r = symbols_names_new(&names);

	if (r)
		return r;
	q->names = names;
	e->is_nameless = false;
	r = request_all_jit_names(s, q, addresses, n);
	if (r)
		return r;
	e->file_size = st->st_size;
	e->file_mtime = st->st_mtim;
	symbols_names_free(e->names[SYMBOLS_FUNCTIONS]);
	e->names[SYMBOLS_FUNCTIONS] = steal_ptr(&names);
	return ASK_OK;
}

static bool jit_file_has_changed(const struct symbols_entry *e, const struct stat *st)
{
	return e->file_size != st->st_size || e->file_mtime.tv_sec != st->st_mtim.tv_sec ||
	       e->file_mtime.tv_nsec != st->st_mtim.tv_nsec;
}

int symbols_add_jit(struct symbols *s, struct symbols_entry *e, struct jit_file *file,
		    const uint64_t *addresses, size_t n)
{
	struct question q = {.e = e, .file = file};
	bool is_new = !e->names[SYMBOLS_FUNCTIONS];
	int r = 0;
	struct stat st;

	if (is_new)
		r = symbols_names_new(&e->names[SYMBOLS_FUNCTIONS]);
	if (r || !n || atomic_load(&file->is_bad))
		return r;
	q.names = e->names[SYMBOLS_FUNCTIONS];
	q.fd = jit_file_borrow(file);
	/* Looked at before it is read: what comes meanwhile is found the next time. */
	if (q.fd >= 0 && fstat(q.fd, &st) == 0) {
		if (is_new || jit_file_has_changed(e, &st))
			r = reread_jit_names(s, &q, &st, addresses, n);
		else if (!e->is_nameless)
			r = add_missing_jit_names(s, &q, addresses, n);
	}
	jit_file_return(file, q.fd);
	return r < 0 ? r : 0;
}
