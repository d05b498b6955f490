/* SPDX-License-Identifier: MIT */
/*
 * Before the merge: where each mapping of each fetched profile was, and in whose process. After it:
 * the same file's mapping there tells by how much addresses were moved, so that each location
 * without a name becomes a question to one server. Questions are sorted by server, and asked once.
 */
#include "client/report/remote_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/analysis/memory_text.h"
#include "client/fetch/fetcher.h"
#include "client/report/binaries.h"
#include "client/report/symbol_answer.h"
#include "client/report/symbolize_mode.h"
#include "client/symbolize/namer.h"
#include "common/error.h"
#include "common/partition_point.h"
#include "common/read_end.h"
#include "common/room.h"
#include "common/utf8.h"

#define ANSWER_MAX  ((size_t)64 << 20) /* bytes of names */
#define COMMAND_MAX ((size_t)64 << 10)
#define ASKED_MAX   ((size_t)1 << 18) /* addresses, of all servers */
#define PAGE        4096              /* what merge.h lets sizes of one mapping differ by */

enum { STATUS_OK = 200 };

/* A mapping of a fetched profile. */
struct remote_names_place {
	const struct source *source;
	char *file; /* its build id, else its path */
	uint64_t start, offset, n_pages;
	size_t number; /* in the order that they were noted */
};

/* The same of a mapping of the merged profile. */
struct mapping_source {
	const struct source *source; /* NULL: none */
	uint64_t moved;              /* what the process's addresses are more than the profile's */
};

/* What is asked for. */
struct remote_names_question {
	const struct source *source;
	uint64_t address; /* the process's */
	uint32_t location;
	const char *name; /* answered, or NULL */
	size_t length;
};

struct remote_names {
	const struct load_options *options;
	struct symbolize_mode mode;
	struct remote_names_place *places;
	size_t n_places, places_size;
	struct mapping_source *mappings;
	size_t n_mappings;
	const struct source *legacy; /* the first one of a legacy profile */

	struct remote_names_question *questions;
	size_t n_questions, questions_size, n_too_many;
};

int remote_names_new(struct remote_names **ret, const struct load_options *options)
{
	struct remote_names *n = calloc(1, sizeof(*n));

	if (!n)
		return error_origin(-ENOMEM);
	n->options = options;
	n->mode = symbolize_mode_of(options->inputs->symbolize);
	*ret = n;
	return 0;
}

void remote_names_free(struct remote_names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->n_places; i++)
		free(n->places[i].file);
	free(n->places);
	free(n->mappings);
	free(n->questions);
	free(n);
}

/* --- what has no names ------------------------------------------------------------------------ */

static bool remote_names_is_wanted(const struct profile *p, const struct profile_location *l,
				   const struct symbolize_mode *mode)
{
	const struct profile_mapping *m;
	const char *path;

	if (l->n_lines || !l->address)
		return false;
	if (l->mapping == PROFILE_NONE)
		return !p->n_mappings;
	m = &p->mappings[l->mapping];
	path = profile_string(p, m->path);
	/* What the kernel put there, or a device, no server knows. */
	return (mode->is_forced || !m->has_functions) && *basename(path) != '[' &&
	       strncmp(basename(path), "linux-vdso", 10) != 0 && strncmp(path, "/dev/dri/", 9) != 0;
}

/* --- before and after the merge --------------------------------------------------------------- */

static uint64_t remote_names_mapping_pages(const struct profile_mapping *m)
{
	uint64_t size = m->limit - m->start;

	return size / PAGE + (size % PAGE != 0);
}

static const char *remote_names_mapping_file(const struct profile *p,
					     const struct profile_mapping *m)
{
	return profile_string(p, m->build_id ? m->build_id : m->path);
}

static int remote_names_add_place(struct remote_names *n, const struct profile *p,
				  const struct profile_mapping *m, const struct source *source)
{
	struct remote_names_place *place;
	int r = room_make(&n->places, &n->places_size, n->n_places + 1, sizeof(*place));

	if (r)
		return r;
	place = &n->places[n->n_places];
	*place = (struct remote_names_place){
		.source = source,
		.file = strdup(remote_names_mapping_file(p, m)),
		.start = m->start,
		.offset = m->offset,
		.n_pages = remote_names_mapping_pages(m),
		.number = n->n_places,
	};
	if (!place->file)
		return error_origin(-ENOMEM);
	n->n_places++;
	return 0;
}

int remote_names_record(struct remote_names *n, struct input *in, const struct source *source)
{
	struct profile *p = input_profile(in);
	int r = 0;

	if (!source->url || !n->mode.is_remote)
		return 0;
	if (!n->legacy && input_format(in) == ANY_CPUPROFILE)
		n->legacy = source;
	if (!p->n_mappings)
		r = binaries_add_whole_mapping(p);
	for (size_t i = 0; i < p->n_mappings && !r; i++) {
		struct profile_mapping *m = &p->mappings[i];

		if (!*remote_names_mapping_file(p, m))
			r = profile_add_text(p, source->url->shown, &m->path);
		if (!r)
			r = remote_names_add_place(n, p, m, source);
	}
	return r;
}

/* What makes two of them the same file's. */
static int compare_files(const struct remote_names_place *a, const struct remote_names_place *b)
{
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	if (a->n_pages != b->n_pages)
		return a->n_pages < b->n_pages ? -1 : 1;
	return strcmp(a->file, b->file);
}

/* Of equal ones the first that was noted is the first. */
static int compare_places(const void *a, const void *b)
{
	const struct remote_names_place *x = a, *y = b;
	int r = compare_files(x, y);

	return r ? r : x->number < y->number ? -1 : x->number > y->number;
}

/* Servers decide how many there are: they are sorted. */
static const struct remote_names_place *
find_place(const struct remote_names *n, const struct profile *p, const struct profile_mapping *m)
{
	const struct remote_names_place wanted = {
		.file = (char *)(uintptr_t)remote_names_mapping_file(p, m),
		.offset = m->offset,
		.n_pages = remote_names_mapping_pages(m),
	};
	size_t at = partition_point(n->n_places, i, compare_files(&n->places[i], &wanted) < 0);

	return at < n->n_places && compare_files(&n->places[at], &wanted) == 0 ? &n->places[at]
									       : NULL;
}

int remote_names_look_up(struct remote_names *n, const struct profile *p)
{
	if (!n->n_places)
		return 0;
	n->mappings = calloc(p->n_mappings + 1, sizeof(*n->mappings));
	if (!n->mappings)
		return error_origin(-ENOMEM);
	n->n_mappings = p->n_mappings;
	qsort(n->places, n->n_places, sizeof(*n->places), compare_places);
	for (size_t i = 0; i < p->n_mappings; i++) {
		const struct remote_names_place *place = find_place(n, p, &p->mappings[i]);

		if (place)
			n->mappings[i] = (struct mapping_source){
				place->source, place->start - p->mappings[i].start};
	}
	return 0;
}

/* --- one server ------------------------------------------------------------------------------- */

/*
 * What the server says at @url: malloc'ed, up to @max bytes; *ret NULL: nothing of use, and @why
 * says why.
 */
static int remote_names_http_get(const struct remote_names *n, const struct source *source,
				 struct http_request request, uint8_t **ret, size_t *ret_length,
				 struct fetcher_message *why)
{
	const struct report_inputs *in = n->options->inputs;
	cleanup(fetcher_freep) struct fetcher *http = NULL;
	struct http_answer answer;
	int r = fetcher_new(&http, &(struct fetcher_options){.is_http = true});

	request.timeout_ms = source->url->names_ms;
	request.certificate = in->tls_cert;
	request.key = in->tls_key;
	request.authorities = in->tls_ca;
	request.is_insecure = source->url->is_insecure;
	if (!r)
		r = http_send(http, &request, why);
	if (!r)
		r = http_receive(http, &answer, why);
	if (r)
		return r < 0 ? r : 0;
	if (answer.status == STATUS_OK)
		r = read_end(answer.fd, request.max_bytes, ret, ret_length);
	else
		remote_describe(answer.status, answer.fd, why->text, sizeof(why->text));
	close(answer.fd);
	return r ? error_origin(r) : 0;
}

/* Its questions are sorted by address; the same one is asked once. */
static int write_question(const struct remote_names_question *q, size_t n, struct memory_text *ret)
{
	int r = memory_text_open(ret);

	if (r)
		return r;
	for (size_t i = 0; i < n; i++)
		if (!i || q[i].address != q[i - 1].address)
			fprintf(ret->out, "%s0x%" PRIx64, i ? "+" : "", q[i].address);
	return memory_text_close(ret);
}

/* Of several names for an address, the last one, as in pprof. */
static bool remote_names_parse_answer(struct remote_names_question *q, size_t n,
				      const uint8_t *data, size_t length)
{
	struct symbol_answer answer;
	struct symbol_line line;

	symbol_answer_init(&answer, data, length);
	while (symbol_answer_next(&answer, &line)) {
		size_t i = partition_point(n, k, q[k].address < line.address);

		for (; i < n && q[i].address == line.address; i++) {
			q[i].name = line.name;
			q[i].length = line.length;
		}
	}
	return !answer.has_none;
}

static int remote_names_set_name(struct namer *namer, const struct remote_names_question *q)
{
	cleanup(freep) char *name = strndup(q->name, q->length);

	if (name && !utf8_is_valid(name)) {
		char *repaired = utf8_repair(name);

		free(name);
		name = repaired;
	}
	return name ? namer_set_function(namer, q->location, name, name) : error_origin(-ENOMEM);
}

/* The @count questions from @q on are for one server. */
static int remote_names_query_server(struct remote_names *n, struct namer *namer,
				     struct remote_names_question *q, size_t count)
{
	const struct source *source = q->source;
	cleanup(freep) uint8_t *data = NULL;
	cleanup(memory_text_deinit) struct memory_text body = {0};
	struct http_request request = {.url = source->url->symbols, .max_bytes = ANSWER_MAX};
	size_t length, n_named = 0;
	struct fetcher_message why;
	int r = write_question(q, count, &body);

	request.body = (uint8_t *)body.text;
	request.length = body.length;
	if (!r)
		r = remote_names_http_get(n, source, request, &data, &length, &why);
	if (!r && !data)
		listener_note(&n->options->listener, "no names from %.200s: %s", source->url->shown,
			      why.text);
	if (r || !data)
		return r;
	if (!remote_names_parse_answer(q, count, data, length))
		listener_note(&n->options->listener,
			      "no names from %.200s: the program has no symbols",
			      source->url->shown);
	for (size_t i = 0; i < count && !r; i++) {
		if (!q[i].name)
			continue;
		r = remote_names_set_name(namer, &q[i]);
		n_named++;
	}
	if (!r && !n_named)
		listener_note(&n->options->listener,
			      "the server at %.200s knows none of %zu addresses",
			      source->url->shown, count);
	return r;
}

/* --- all -------------------------------------------------------------------------------------- */

static int compare_questions(const void *a, const void *b)
{
	const struct remote_names_question *x = a, *y = b;

	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static int remote_names_collect(struct remote_names *n, const struct profile *p)
{
	for (size_t i = 0; i < p->n_locations; i++) {
		const struct profile_location *l = &p->locations[i];
		const struct mapping_source *from;
		int r;

		if (l->mapping >= n->n_mappings || !remote_names_is_wanted(p, l, &n->mode))
			continue;
		from = &n->mappings[l->mapping];
		if (!from->source)
			continue;
		if (n->n_questions == ASKED_MAX) {
			n->n_too_many++;
			continue;
		}
		r = room_make(&n->questions, &n->questions_size, n->n_questions + 1,
			      sizeof(*n->questions));
		if (r)
			return r;
		n->questions[n->n_questions++] = (struct remote_names_question){
			.source = from->source,
			.address = l->address + from->moved,
			.location = (uint32_t)i,
		};
	}
	return 0;
}

static int remote_names_query_all(struct remote_names *n, struct profile *p)
{
	cleanup(namer_freep) struct namer *namer = NULL;
	int r = namer_new(&namer, p);

	qsort(n->questions, n->n_questions, sizeof(*n->questions), compare_questions);
	for (size_t i = 0, count; i < n->n_questions && !r; i += count) {
		for (count = 1; i + count < n->n_questions &&
				n->questions[i + count].source == n->questions[i].source;)
			count++;
		r = remote_names_query_server(n, namer, &n->questions[i], count);
	}
	if (n->n_too_many)
		listener_note(&n->options->listener,
			      "%zu addresses stay without names: too many to ask for",
			      n->n_too_many);
	return r ? r : namer_finish(namer);
}

/* What was named after its URL is without a name again. */
static void remote_names_remove_urls(const struct remote_names *n, struct profile *p)
{
	for (size_t i = 0; i < p->n_mappings && i < n->n_mappings; i++) {
		const struct source *source = n->mappings[i].source;
		struct profile_mapping *m = &p->mappings[i];

		if (source && strcmp(profile_string(p, m->path), source->url->shown) == 0)
			m->path = 0;
	}
}

/* A legacy profile may tell no program; the server does. */
static int name_program(struct remote_names *n, struct profile *p)
{
	struct http_request request = {.max_bytes = COMMAND_MAX};
	cleanup(freep) uint8_t *data = NULL;
	struct fetcher_message why;
	size_t length;
	int r;

	if (!n->legacy || !n->legacy->url->command || !p->n_mappings || p->mappings[0].path)
		return 0;
	request.url = n->legacy->url->command;
	r = remote_names_http_get(n, n->legacy, request, &data, &length, &why);
	if (r || !data)
		return r;
	data[strcspn((char *)data, "\r\n")] = '\0';
	return utf8_is_valid((char *)data) ? profile_add_text(p, (char *)data, &p->mappings[0].path)
					   : 0;
}

int remote_names_fetch(struct remote_names *n, struct profile *p)
{
	int r = remote_names_collect(n, p);

	if (!r && n->n_questions)
		r = remote_names_query_all(n, p);
	remote_names_remove_urls(n, p);
	return r ? r : name_program(n, p);
}
