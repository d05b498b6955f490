/* SPDX-License-Identifier: MIT */
/*
 * Requests are sent first, all of them, and then received one after the other: each has a process
 * of its own that fetches, so they are of the same time. What fails is left out while others are
 * left.
 */
#include "client/report/remote.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/analysis/node_name.h"
#include "client/fetch/fetcher.h"
#include "client/report/input.h"
#include "common/cleanup.h"
#include "common/profile/pprof.h"

#define FILES_MAX  10000 /* that are kept of one program and its types */
#define WORDS_MAX  120   /* bytes of a file's name, but for its number and suffix */
#define AT_ONCE    32    /* each is a process while it lasts */
#define LINE_SHOWN 120   /* bytes of what a server says */

enum { STATUS_OK = 200, STATUS_UNAUTHORIZED = 401, STATUS_FORBIDDEN = 403 };

/* Pages for browsers say nothing in their first line. */
static bool is_readable(const char *line)
{
	if (!*line || *line == '<')
		return false;
	for (; *line; line++)
		if (!isprint((unsigned char)*line) && *line != '\t')
			return false;
	return true;
}

void remote_describe(unsigned status, int fd, char *ret, size_t size)
{
	char line[LINE_SHOWN + 1];
	ssize_t n = pread(fd, line, LINE_SHOWN, 0);

	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
	snprintf(ret, size, "the server answers with status %u%s%s", status,
		 is_readable(line) ? ": " : "", is_readable(line) ? line : "");
}

/* --- one ------------------------------------------------------------------------------------- */

struct remote_fetch {
	struct source *source;
	struct fetcher *http;
	bool is_alone; /* its report is of nothing else */
};

static void remote_announce_fetch(const struct load_options *o, const struct source_url *url)
{
	size_t length = strcspn(url->shown, "?");
	char how_long[64] = "";

	if (url->seconds)
		snprintf(how_long, sizeof(how_long), " (%u s)", url->seconds);
	else if (length > 8 && memcmp(url->shown + length - 8, "/profile", 8) == 0)
		snprintf(how_long, sizeof(how_long), " (the server says how long, often 30 s)");
	listener_note(&o->listener, "fetching profile from %.400s%s", url->shown, how_long);
}

static int remote_refuse(const struct remote_fetch *f, int outcome, const char *why,
			 struct profile_message *message)
{
	return profile_refuse(message, outcome, "%.90s: %.150s", f->source->url->shown, why);
}

static int remote_send_request(struct remote_fetch *f, const struct load_options *o,
			       struct profile_message *message)
{
	const struct report_inputs *in = o->inputs;
	const struct source_url *url = f->source->url;
	const struct http_request request = {
		.url = url->request,
		.timeout_ms = url->timeout_ms,
		.max_bytes = INPUT_BYTES_MAX,
		.certificate = in->tls_cert,
		.key = in->tls_key,
		.authorities = in->tls_ca,
		.is_insecure = url->is_insecure,
	};
	struct fetcher_message why;
	int r = f->http ? 0 : fetcher_new(&f->http, &(struct fetcher_options){.is_http = true});

	if (r)
		return r;
	remote_announce_fetch(o, url);
	r = http_send(f->http, &request, &why);
	return r > 0 ? remote_refuse(f, REPORT_E_BAD, why.text, message) : r;
}

static int remote_receive_answer(struct remote_fetch *f, struct profile_message *message)
{
	struct http_answer answer = {.fd = -1};
	struct fetcher_message why;
	char text[160];
	int r = http_receive(f->http, &answer, &why);

	if (r)
		return r < 0 ? r : remote_refuse(f, REPORT_E_BAD, why.text, message);
	if (answer.status == STATUS_OK) {
		f->source->fd = answer.fd;
		return REPORT_E_OK;
	}
	remote_describe(answer.status, answer.fd, text, sizeof(text));
	close(answer.fd);
	return remote_refuse(f,
			     answer.status == STATUS_UNAUTHORIZED ||
					     answer.status == STATUS_FORBIDDEN
				     ? REPORT_E_DENIED
				     : REPORT_E_BAD,
			     text, message);
}

/* --- all ------------------------------------------------------------------------------------- */

struct fetches {
	struct remote_fetch all[AT_ONCE];
	size_t n;
	const struct load_options *options;
	int outcome; /* of those that failed: denied, if all were */
};

static void fetches_deinit(struct fetches *fetches)
{
	for (size_t i = 0; i < fetches->n; i++)
		fetcher_free(fetches->all[i].http);
	fetches->n = 0;
}

/* What becomes of @r, the outcome of one: where there are others, they may do. */
static int remote_handle_outcome(struct fetches *fetches, struct remote_fetch *f, int r,
				 struct profile_message *message)
{
	if (r <= 0 || f->is_alone)
		return r;
	listener_note(&fetches->options->listener, "%s", message->text);
	f->source->is_missing = true;
	fetches->outcome = !fetches->outcome || r == REPORT_E_BAD ? r : fetches->outcome;
	return REPORT_E_OK;
}

/* All of @fetches at once. */
static int remote_fetch_batch(struct fetches *fetches, struct profile_message *message)
{
	const struct load_options *o = fetches->options;
	int r = 0;

	for (size_t i = 0; i < fetches->n && !r; i++) {
		struct remote_fetch *f = &fetches->all[i];

		r = remote_handle_outcome(fetches, f, remote_send_request(f, o, message), message);
	}
	for (size_t i = 0; i < fetches->n && !r; i++) {
		struct remote_fetch *f = &fetches->all[i];

		if (!f->source->is_missing)
			r = remote_handle_outcome(fetches, f, remote_receive_answer(f, message),
						  message);
	}
	fetches_deinit(fetches);
	return r;
}

int remote_fetch(struct sources *sources, struct sources *more, const struct load_options *o,
		 struct profile_message *message)
{
	cleanup(fetches_deinit) struct fetches fetches = {.options = o};
	struct sources *const both[] = {sources, more};
	int r = 0;

	for (size_t k = 0; k < ARRAY_SIZE(both); k++) {
		for (size_t i = 0; i < both[k]->n && !r; i++) {
			struct source *source = &both[k]->all[i];

			if (!source->url)
				continue;
			source->is_found = both[k]->n > 1;
			fetches.all[fetches.n++] = (struct remote_fetch){
				.source = source, .is_alone = both[k]->n == 1};
			if (fetches.n == AT_ONCE)
				r = remote_fetch_batch(&fetches, message);
		}
	}
	if (!r)
		r = remote_fetch_batch(&fetches, message);
	/* Goes on with what is there. */
	for (size_t k = 0; k < ARRAY_SIZE(both) && !r; k++) {
		size_t n = both[k]->n, n_missing = sources_drop_missing(both[k]);

		if (n_missing && !both[k]->n)
			return profile_refuse(message, fetches.outcome,
					      "none of the %zu profiles could be fetched", n);
		if (n_missing)
			listener_note(&o->listener, "%zu of %zu profiles could not be fetched",
				      n_missing, n);
	}
	return r;
}

/* --- what is kept ---------------------------------------------------------------------------- */

/* A stranger's text as part of a file's name. */
static size_t remote_add_word(char *name, size_t length, const char *text)
{
	for (; *text && length < WORDS_MAX; text++)
		name[length++] = isalnum((unsigned char)*text) || strchr("-_.", *text) ? *text
										       : '_';
	if (length < WORDS_MAX)
		name[length++] = '.';
	name[length] = '\0';
	return length;
}

/* "pprof.PROGRAM.TYPE.TYPE." */
static void remote_make_file_name(const struct profile *p, char ret[WORDS_MAX + 1])
{
	const char *program = node_name_program(p);
	size_t length = remote_add_word(ret, 0, "pprof");

	if (*program)
		length = remote_add_word(ret, length, program);
	for (uint32_t i = 0; i < p->n_sample_types; i++)
		length = remote_add_word(ret, length, profile_string(p, p->sample_types[i].type));
}

/* To a new file in @dir, which is made if need be. Returns 0 or negative errno. */
static int remote_save_in_directory(const char *dir, const char *name, const uint8_t *data,
				    size_t length, char ret_path[PATH_MAX])
{
	FILE *out = NULL;
	bool is_whole;
	int r;

	if (mkdir(dir, 0777) < 0 && errno != EEXIST)
		return -errno;
	for (unsigned i = 1; !out && i < FILES_MAX; i++) {
		if (snprintf(ret_path, PATH_MAX, "%s/%s%03u.pb.gz", dir, name, i) >= PATH_MAX)
			return -ENAMETOOLONG;
		out = fopen(ret_path, "wxe");
		if (!out && errno != EEXIST)
			return -errno;
	}
	if (!out)
		return -EEXIST;
	is_whole = fwrite(data, 1, length, out) == length;
	r = is_whole ? 0 : -errno;
	/* A file system may tell only now that it is full (close(2)). */
	if (fclose(out) != 0 && is_whole)
		r = -errno;
	if (r)
		unlink(ret_path);
	return r;
}

int remote_save_profile(const struct profile *p, const struct listener *listener)
{
	const char *asked = getenv("PPROF_TMPDIR"), *home = getenv("HOME");
	char name[WORDS_MAX + 1], dir[PATH_MAX], path[PATH_MAX];
	cleanup(freep) uint8_t *data = NULL;
	size_t length;
	int r = any_write(p, ANY_PPROF, &data, &length), why = -ENOENT;

	if (r)
		return r;
	remote_make_file_name(p, name);
	if (asked && *asked)
		why = remote_save_in_directory(asked, name, data, length, path);
	if (why && home && *home && snprintf(dir, sizeof(dir), "%s/pprof", home) < (int)sizeof(dir))
		why = remote_save_in_directory(dir, name, data, length, path);
	if (!why)
		listener_note(listener, "saved profile in %.400s", path);
	else
		listener_note(listener, "the profile is not kept in $PPROF_TMPDIR or ~/pprof: %s",
			      strerrordesc_np(-why));
	return 0;
}
