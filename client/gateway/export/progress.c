/* SPDX-License-Identifier: MIT */
/*
 * Services in a hash, by the names of their directories, each with the last window that is done and
 * the parts of the next one; what is held in another, in the order in which it was. The file is a
 * journal:
 *
 *	since SECONDS        done WINDOW        part NUMBER DIGEST WINDOW        held WINDOW
 *
 * A change is applied as its line is when it is read. A file that has grown is written anew as what
 * is known, beside the old one, which it replaces.
 */
#include "client/gateway/export/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HASH_NONFATAL_OOM      1
#define uthash_nonfatal_oom(e) ((e)->is_lost = true)
#include <uthash.h>

#include "client/gateway/export/place.h"
#include "common/error.h"
#include "common/order.h"
#include "common/room.h"
#include "common/text_print.h"
#include "common/units.h"

#define PART_LINE   "part %" PRIu64 " %" PRIu64 " %s\n"
#define REWRITE_MIN ((size_t)1 << 20) /* bytes, twice what the last one had at least */

struct progress_service {
	UT_hash_handle hh;
	bool is_lost;
	char *done, *partial; /* windows, or NULL */
	uint64_t n_parts, digest;
	char name[];
};

struct progress_held {
	UT_hash_handle hh;
	bool is_lost;
	uint64_t n_parts, digest; /* of those that are there already */
	char window[];
};

struct progress {
	char *path; /* NULL: no file */
	int fd;
	size_t bytes, rewrite_at;
	bool is_torn; /* the last line was not written whole */
	uint64_t since_s;
	struct progress_service *services;
	unsigned n_services;
	struct progress_held *held;
};

/*
 * Whether @at is behind what is done of its service. Of those with one end, what was rolled up is
 * no more than the windows that it is made of: each is done with the other.
 */
static bool progress_is_behind(const struct place *at, const struct progress_service *s)
{
	struct place done;

	if (!s || !s->done || !place_parse(s->done, &done))
		return true;
	if (at->end_s == done.end_s &&
	    (names_is_rolled_up(at->window.start_s, at->window.seconds) ||
	     names_is_rolled_up(done.window.start_s, done.window.seconds)))
		return false;
	return order_of(at->end_s, done.end_s) > 0 ||
	       (at->end_s == done.end_s && (order_of(at->window.start_s, done.window.start_s)
						    ?: strcmp(at->file, done.file)) > 0);
}

static void progress_drop(struct progress *p, struct progress_service *s)
{
	HASH_DEL(p->services, s);
	p->n_services--;
	free(s->done);
	free(s->partial);
	free(s);
}

static void progress_release(struct progress *p, struct progress_held *h)
{
	HASH_DEL(p->held, h);
	free(h);
}

void progress_free(struct progress *p)
{
	struct progress_service *s, *next;

	if (!p)
		return;
	HASH_ITER (hh, p->services, s, next)
		progress_drop(p, s);
	while (p->held)
		progress_release(p, p->held);
	free(p->path);
	closep(&p->fd);
	free(p);
}

static struct progress_service *progress_find(const struct progress *p, const struct place *at)
{
	struct progress_service *s;

	HASH_FIND(hh, p->services, at->service, at->service_length, s);
	return s;
}

/* *ret: NULL if there are too many. */
static int progress_make(struct progress *p, const struct place *at, struct progress_service **ret)
{
	struct progress_service *s = progress_find(p, at);

	*ret = s;
	if (s || p->n_services == PROGRESS_SERVICES_MAX)
		return 0;
	s = calloc(1, sizeof(*s) + at->service_length + 1);
	if (!s)
		return error_origin(-ENOMEM);
	memcpy(s->name, at->service, at->service_length);
	HASH_ADD_KEYPTR(hh, p->services, s->name, at->service_length, s);
	if (s->is_lost) {
		free(s);
		return error_origin(-ENOMEM);
	}
	p->n_services++;
	*ret = s;
	return 0;
}

/* --- what lines do ------------------------------------------------------------------------------
 */

static int progress_set(char **field, const char *window)
{
	char *copy = window ? strdup(window) : NULL;

	if (window && !copy)
		return error_origin(-ENOMEM);
	free(*field);
	*field = copy;
	return 0;
}

static int progress_apply_done(struct progress *p, const char *window)
{
	struct progress_service *s;
	struct progress_held *held;
	struct place at;
	int r;

	if (!place_parse(window, &at))
		return 0;
	HASH_FIND_STR(p->held, window, held);
	if (held)
		progress_release(p, held);
	r = progress_make(p, &at, &s);
	if (r || !s)
		return r;
	if (s->partial && strcmp(s->partial, window) == 0)
		r = progress_set(&s->partial, NULL);
	return !r && progress_is_behind(&at, s) ? progress_set(&s->done, window) : r;
}

static int progress_apply_part(struct progress *p, const char *window, uint64_t n_parts,
			       uint64_t digest)
{
	struct progress_service *s;
	struct progress_held *held;
	struct place at;
	int r;

	if (!place_parse(window, &at))
		return 0;
	HASH_FIND_STR(p->held, window, held);
	if (held) {
		held->n_parts = n_parts;
		held->digest = digest;
		return 0;
	}
	r = progress_make(p, &at, &s);
	if (r || !s)
		return r;
	s->n_parts = n_parts;
	s->digest = digest;
	return progress_set(&s->partial, window);
}

static int progress_apply_held(struct progress *p, const char *window)
{
	size_t size = strlen(window) + 1;
	uint64_t digest = 0, n_parts = progress_parts(p, window, &digest);
	int r = progress_apply_done(p, window);
	struct progress_held *h;
	struct place at;

	if (r || !place_parse(window, &at))
		return r;
	if (HASH_COUNT(p->held) == PROGRESS_HELD_MAX)
		progress_release(p, p->held);
	h = calloc(1, sizeof(*h) + size);
	if (!h)
		return error_origin(-ENOMEM);
	memcpy(h->window, window, size);
	h->n_parts = n_parts;
	h->digest = digest;
	HASH_ADD_STR(p->held, window, h);
	if (!h->is_lost)
		return 0;
	free(h);
	return error_origin(-ENOMEM);
}

/* Services of which nothing is known that this does not say are forgotten. */
static void progress_apply_since(struct progress *p, uint64_t since_s)
{
	struct progress_service *s, *next;
	struct place at;

	if (since_s <= p->since_s)
		return;
	p->since_s = since_s;
	HASH_ITER (hh, p->services, s, next) {
		if (!s->partial && s->done && place_parse(s->done, &at) && at.end_s <= since_s)
			progress_drop(p, s);
	}
}

/* --- the file -----------------------------------------------------------------------------------
 */

static int progress_apply_line(struct progress *p, char *line)
{
	const char *verb = strsep(&line, " "), *number, *digest;
	uint64_t n, hash;

	if (!line)
		return 0;
	if (strcmp(verb, "done") == 0)
		return progress_apply_done(p, line);
	if (strcmp(verb, "held") == 0)
		return progress_apply_held(p, line);
	if (strcmp(verb, "since") == 0 && !units_parse_number(line, &n)) {
		progress_apply_since(p, n);
		return 0;
	}
	number = strsep(&line, " ");
	digest = strsep(&line, " ");
	return strcmp(verb, "part") == 0 && line && !units_parse_number(number, &n) &&
			       !units_parse_number(digest, &hash)
		       ? progress_apply_part(p, line, n, hash)
		       : 0;
}

int progress_parse(struct progress **ret, const char *text, size_t length)
{
	cleanup(progress_freep) struct progress *p = calloc(1, sizeof(*p));
	cleanup(freep) char *copy = strndup(text, length);
	char *rest = copy, *line;
	int r = 0;

	if (!p || !copy) {
		if (p)
			p->fd = -1;
		return error_origin(-ENOMEM);
	}
	p->fd = -1;
	/* The last line may have been cut when the machine stopped. */
	while (!r && (line = strsep(&rest, "\n")) && rest)
		r = progress_apply_line(p, line);
	if (!r)
		*ret = steal_ptr(&p);
	return r;
}

static int progress_print(const struct progress *p, FILE *out)
{
	const struct progress_service *s, *next;
	const struct progress_held *h, *next_held;

	fprintf(out, "since %" PRIu64 "\n", p->since_s);
	HASH_ITER (hh, p->services, s, next) {
		if (s->done)
			fprintf(out, "done %s\n", s->done);
		if (s->partial)
			fprintf(out, PART_LINE, s->n_parts, s->digest, s->partial);
	}
	HASH_ITER (hh, p->held, h, next_held) {
		fprintf(out, "held %s\n", h->window);
		if (h->n_parts)
			fprintf(out, PART_LINE, h->n_parts, h->digest, h->window);
	}
	return ferror(out) ? error_origin(-EIO) : 0;
}

/* In place of the file; p->fd is that of the new one then. */
static int progress_rewrite(struct progress *p)
{
	cleanup(freep) char *temporary = NULL;
	FILE *out;
	long size;
	int r = text_print(&temporary, "%s.new", p->path), fd;

	if (r)
		return r;
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
		  0600);
	out = fd < 0 ? NULL : fdopen(fd, "a");
	if (!out) {
		r = error_origin(-errno);
		closep(&fd);
		return r;
	}
	r = progress_print(p, out);
	if (!r && (fflush(out) || fsync(fd) || rename(temporary, p->path)))
		r = error_origin(-errno);
	if (!r) {
		size = ftell(out);
		closep(&p->fd);
		p->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		p->bytes = size > 0 ? (size_t)size : 0;
		p->is_torn = false;
		p->rewrite_at = 2 * p->bytes > REWRITE_MIN ? 2 * p->bytes : REWRITE_MIN;
		r = p->fd < 0 ? error_origin(-errno) : 0;
	}
	fclose(out);
	return r;
}

static int progress_read(const char *path, char **ret, size_t *ret_length)
{
	cleanup(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	cleanup(freep) char *text = NULL;
	size_t length = 0;
	struct stat st;

	*ret_length = 0;
	if (fd < 0)
		return errno == ENOENT ? 0 : error_origin(-errno);
	if (fstat(fd, &st) < 0)
		return error_origin(-errno);
	if (!S_ISREG(st.st_mode) || st.st_size > (off_t)PROGRESS_FILE_MAX)
		return error_origin(-EFBIG);
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return error_origin(-ENOMEM);
	while (length < (size_t)st.st_size) {
		ssize_t n = read(fd, text + length, (size_t)st.st_size - length);

		if (n < 0)
			return error_origin(-errno);
		if (!n)
			break;
		length += (size_t)n;
	}
	*ret = steal_ptr(&text);
	*ret_length = length;
	return 0;
}

int progress_open(struct progress **ret, const char *path, uint64_t now_s)
{
	cleanup(progress_freep) struct progress *p = NULL;
	cleanup(freep) char *text = NULL;
	size_t length;
	int r = progress_read(path, &text, &length) ?: progress_parse(&p, text ? text : "", length);

	if (r)
		return r;
	p->path = strdup(path);
	if (!p->path)
		return error_origin(-ENOMEM);
	if (!p->since_s)
		p->since_s = now_s;
	r = progress_rewrite(p);
	if (!r)
		*ret = steal_ptr(&p);
	return r;
}

static int progress_write(struct progress *p, const char *line, int r)
{
	size_t length = strlen(line);
	ssize_t n;

	if (r || !p->path)
		return r;
	if (p->bytes + length > p->rewrite_at)
		return progress_rewrite(p);
	if (p->is_torn)
		return progress_rewrite(p);
	n = write(p->fd, line, length);
	if (n >= 0)
		p->bytes += (size_t)n;
	p->is_torn = n > 0 && n < (ssize_t)length;
	return n < 0 ? error_origin(-errno) : p->is_torn ? progress_rewrite(p) : 0;
}

/* --- from outside -------------------------------------------------------------------------------
 */

uint64_t progress_since(const struct progress *p)
{
	return p->since_s;
}

bool progress_lacks(const struct progress *p, const char *window)
{
	struct place at;

	return place_parse(window, &at) && at.end_s > p->since_s &&
	       progress_is_behind(&at, progress_find(p, &at));
}

uint64_t progress_until(const struct progress *p, const char *window)
{
	const struct progress_service *s;
	struct place at, done;

	if (!place_parse(window, &at))
		return 0;
	s = progress_find(p, &at);
	return s && s->done && place_parse(s->done, &done) && done.end_s > p->since_s ? done.end_s
										      : p->since_s;
}

static const struct progress_service *progress_service_of(const struct progress *p,
							  const char *window)
{
	struct place at;

	return place_parse(window, &at) ? progress_find(p, &at) : NULL;
}

uint64_t progress_parts(const struct progress *p, const char *window, uint64_t *ret_digest)
{
	const struct progress_service *s = progress_service_of(p, window);
	const struct progress_held *held;

	HASH_FIND_STR(p->held, window, held);
	if (held && held->n_parts)
		*ret_digest = held->digest;
	if (held)
		return held->n_parts;
	if (!s || !s->partial || strcmp(s->partial, window) != 0)
		return 0;
	*ret_digest = s->digest;
	return s->n_parts;
}

const char *progress_begun(const struct progress *p, const char *window)
{
	const struct progress_service *s = progress_service_of(p, window);

	return s && s->partial && progress_lacks(p, s->partial) ? s->partial : NULL;
}

const char *progress_held(const struct progress *p)
{
	return p->held ? p->held->window : NULL;
}

size_t progress_count_held(const struct progress *p)
{
	return HASH_COUNT(p->held);
}

int progress_mark_part(struct progress *p, const char *window, uint64_t n_parts, uint64_t digest)
{
	char line[PLACE_PATH_MAX + 64];

	snprintf(line, sizeof(line), PART_LINE, n_parts, digest, window);
	return progress_write(p, line, progress_apply_part(p, window, n_parts, digest));
}

int progress_mark_done(struct progress *p, const char *window)
{
	char line[PLACE_PATH_MAX + 64];

	snprintf(line, sizeof(line), "done %s\n", window);
	return progress_write(p, line, progress_apply_done(p, window));
}

int progress_hold(struct progress *p, const char *window)
{
	char line[PLACE_PATH_MAX + 64];

	snprintf(line, sizeof(line), "held %s\n", window);
	return progress_write(p, line, progress_apply_held(p, window));
}

int progress_move(struct progress *p, uint64_t since_s)
{
	char line[64];

	snprintf(line, sizeof(line), "since %" PRIu64 "\n", since_s);
	progress_apply_since(p, since_s);
	return progress_write(p, line, 0);
}
