/* SPDX-License-Identifier: MIT */
/*
 * Each location without a name becomes a question. They are sorted by address, asked in one
 * request, and looked up in the answer's order.
 */
#include "client/report/remote_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/fetch/fetcher.h"
#include "client/report/binaries.h"
#include "client/report/remote.h"
#include "client/symbolize/namer.h"
#include "common/memory_text.h"
#include "common/order.h"
#include "common/partition_point.h"
#include "common/read_end.h"
#include "common/utf8.h"

#define ANSWER_MAX  ((size_t)64 << 20) /* bytes of names */
#define COMMAND_MAX ((size_t)64 << 10)
#define ASKED_MAX   ((size_t)1 << 18) /* addresses */

enum { STATUS_OK = 200 };

/* What is asked for. */
struct remote_names_question {
	uint64_t address;
	uint32_t location;
	const char *name; /* answered, or NULL */
	size_t length;
};

struct remote_names {
	struct profile *p;
	const struct source_url *url;
	const struct load_options *options;
	struct remote_names_question *questions;
	size_t n, max, n_too_many;
};

/* --- the answer ------------------------------------------------------------------------------- */

bool symbol_answer_next(struct symbol_answer *a, struct symbol_line *ret)
{
	struct text_line line;

	while (text_next(&a->lines, &line)) {
		struct text_span name = line.text, word = text_word(&name);
		const char *nul;

		name = text_trim(name);
		a->has_none |= text_is(word, "num_symbols:") && text_is(name, "0");
		if (text_length(word) < 3 || memcmp(word.at, "0x", 2) != 0 ||
		    !text_hex(word, &ret->address))
			continue;
		nul = memchr(name.at, '\0', text_length(name));
		ret->name = name.at;
		ret->length = nul ? (size_t)(nul - name.at) : text_length(name);
		if (ret->length > SYMBOL_ANSWER_NAME_MAX)
			ret->length = SYMBOL_ANSWER_NAME_MAX;
		if (ret->length)
			return true;
	}
	return false;
}

/*
 * What the server says to @request: malloc'ed; *ret NULL: nothing of use, and @why says why.
 * Returns 0 or negative errno.
 */
static int remote_names_query(const struct remote_names *n, struct http_request request,
			      uint8_t **ret, size_t *ret_length, struct fetcher_message *why)
{
	const struct report_inputs *in = n->options->inputs;
	cleanup(fetcher_freep) struct fetcher *http = NULL;
	struct http_answer answer;
	int r = fetcher_new(&http, &(struct fetcher_options){.is_http = true});

	request.timeout_ms = n->url->names_ms;
	request.certificate = in->tls_cert;
	request.key = in->tls_key;
	request.authorities = in->tls_ca;
	request.is_insecure = n->url->is_insecure;
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
	return r > 0 ? error_origin(-r) : r;
}

/* --- the questions ---------------------------------------------------------------------------- */

static bool remote_names_is_wanted(const struct profile *p, const struct profile_location *l,
				   bool is_forced)
{
	const struct profile_mapping *m;
	const char *path;

	if (profile_location_has_name(p, l) || !l->address || l->mapping == PROFILE_NONE)
		return false;
	m = &p->mappings[l->mapping];
	path = profile_string(p, m->path);
	/* What the kernel put there, or a device, no server knows. */
	return (is_forced || !m->has_functions) && *basename(path) != '[' &&
	       strncmp(basename(path), "linux-vdso", 10) != 0 && strncmp(path, "/dev/dri/", 9) != 0;
}

DEFINE_ORDER(compare_questions, struct remote_names_question, order_of(x->address, y->address))

static int remote_names_collect(struct remote_names *n, bool is_forced)
{
	int r = 0;

	for (uint32_t i = 0; i < n->p->n_locations && !r; i++) {
		const struct profile_location *l = &n->p->locations[i];
		const struct remote_names_question question = {.address = l->address,
							       .location = i};

		if (!remote_names_is_wanted(n->p, l, is_forced))
			continue;
		if (n->n < ASKED_MAX)
			r = room_append(&n->questions, &n->max, &n->n, question);
		else
			n->n_too_many++;
	}
	if (n->n)
		qsort(n->questions, n->n, sizeof(*n->questions), compare_questions);
	return r;
}

/* The same address is asked for once. */
static int remote_names_write_question(const struct remote_names *n, struct memory_text *ret)
{
	const struct remote_names_question *q = n->questions;
	int r = memory_text_open(ret);

	if (r)
		return r;
	for (size_t i = 0; i < n->n; i++)
		if (!i || q[i].address != q[i - 1].address)
			fprintf(ret->out, "%s0x%" PRIx64, i ? "+" : "", q[i].address);
	return memory_text_close(ret);
}

/*
 * Of several names for an address, the last one, as in pprof. The first question about it gets the
 * name: a server that repeats itself must not cost more than its lines.
 */
static void remote_names_parse_answer(struct remote_names *n, const uint8_t *data, size_t length)
{
	struct symbol_answer answer = {.lines = text_lines_of(data, length)};
	struct remote_names_question *q = n->questions;
	struct symbol_line line;

	while (symbol_answer_next(&answer, &line)) {
		size_t i = partition_point(n->n, k, q[k].address < line.address);

		if (i < n->n && q[i].address == line.address) {
			q[i].name = line.name;
			q[i].length = line.length;
		}
	}
	if (answer.has_none)
		listener_note(&n->options->listener,
			      "no names from %.200s: the program has no symbols", n->url->shown);
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

static int remote_names_set_names(struct remote_names *n)
{
	cleanup(namer_freep) struct namer *namer = NULL;
	int r = namer_new(&namer, n->p);
	size_t n_named = 0;

	for (size_t i = 0; i < n->n && !r; i++) {
		struct remote_names_question *q = &n->questions[i];

		if (i && q->address == q[-1].address)
			*q = (struct remote_names_question){q->address, q->location, q[-1].name,
							    q[-1].length};
		if (!q->name)
			continue;
		r = remote_names_set_name(namer, q);
		n_named++;
	}
	if (!n_named)
		listener_note(&n->options->listener,
			      "the server at %.200s knows none of %zu addresses", n->url->shown,
			      n->n);
	return r ?: namer_finish(namer);
}

static int remote_names_query_all(struct remote_names *n)
{
	cleanup(freep) uint8_t *data = NULL;
	cleanup(memory_text_deinit) struct memory_text body = {0};
	struct http_request request = {.url = n->url->symbols, .max_bytes = ANSWER_MAX};
	struct fetcher_message why;
	size_t length;
	int r = remote_names_write_question(n, &body);

	request.body = (uint8_t *)body.text;
	request.length = body.length;
	if (!r)
		r = remote_names_query(n, request, &data, &length, &why);
	if (n->n_too_many)
		listener_note(&n->options->listener,
			      "%zu addresses stay without names: too many to ask for",
			      n->n_too_many);
	if (!r && !data)
		listener_note(&n->options->listener, "no names from %.200s: %s", n->url->shown,
			      why.text);
	if (r || !data)
		return r;
	remote_names_parse_answer(n, data, length);
	return remote_names_set_names(n);
}

/* A legacy profile may tell no program; the server does. */
static int name_program(const struct remote_names *n)
{
	const struct http_request request = {.url = n->url->command, .max_bytes = COMMAND_MAX};
	cleanup(freep) uint8_t *data = NULL;
	struct fetcher_message why;
	size_t length;
	int r;

	if (!n->url->command || !n->p->n_mappings || n->p->mappings[0].path)
		return 0;
	r = remote_names_query(n, request, &data, &length, &why);
	if (r || !data)
		return r;
	data[strcspn((char *)data, "\r\n")] = '\0';
	return utf8_is_valid((char *)data)
		       ? profile_add_text(n->p, (char *)data, &n->p->mappings[0].path)
		       : 0;
}

int remote_names_fetch(struct profile *p, bool is_legacy, const struct source *source,
		       const struct load_options *options)
{
	struct remote_names n = {.p = p, .url = source->url, .options = options};
	const struct symbolize_mode mode = options->inputs->mode;
	int r = 0;

	if (!source->url || !mode.is_remote)
		return 0;
	if (!p->n_mappings)
		r = binaries_add_whole_mapping(p);
	if (!r)
		r = remote_names_collect(&n, mode.is_forced);
	if (!r && n.n)
		r = remote_names_query_all(&n);
	free(n.questions);
	return r || !is_legacy ? r : name_program(&n);
}
