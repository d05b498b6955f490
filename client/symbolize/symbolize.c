/* SPDX-License-Identifier: MIT */
/*
 * The locations that want names are put in order by the file of their mapping; each file is opened
 * once, for all of them, and asked about addresses in ascending order, as many at a time as a
 * question holds.
 */
#include "client/symbolize/symbolize.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/symbolize/asker.h"
#include "client/symbolize/debug_package.h"
#include "client/symbolize/debug_server.h"
#include "client/symbolize/files.h"
#include "client/symbolize/kernel.h"
#include "client/symbolize/namer.h"
#include "client/symbolize/object.h"
#include "common/error.h"
#include "common/order.h"

struct wanted {
	uint64_t address; /* link-time, once its file is known */
	uint32_t location;
};

struct symbolize_work {
	struct profile *p;
	const struct symbolize_options *options;
	struct symbolize_result *result;
	struct namer *namer;
	struct object_source source;
	size_t n_unidentified;    /* files that were used for want of something better */
	const char *unidentified; /* the first of them */
	size_t n_nameless;        /* files that have nothing of what was asked for */
	const char *nameless;     /* of them, the one that most locations are in */
	size_t nameless_locations;
};

static void symbolize_work_deinit(struct symbolize_work *w)
{
	namer_free(w->namer);
	object_source_deinit(&w->source);
}

static int symbolize_work_init(struct symbolize_work *w)
{
	const struct symbolize_options *o = w->options;

	w->source = (struct object_source){
		.notes = &w->result->notes,
		.want_lines = o->want_lines,
		.fetch = o->fetch,
		.context = o->context,
	};
	return object_source_init(&w->source, o->root_fd, o->worker_path, o->deadline_ns)
		       ?: namer_new(&w->namer, w->p);
}

static const struct profile_mapping *symbolize_mapping_of(const struct profile *p,
							  uint32_t location)
{
	return &p->mappings[p->locations[location].mapping];
}

static const char *symbolize_path_of(const struct profile *p, uint32_t location)
{
	return profile_string(p, symbolize_mapping_of(p, location)->path);
}

bool symbolize_is_file(const char *path)
{
	return path[0] == '/' && path[1] != '/';
}

static int perf_map_of(const struct symbolize_work *w, uint32_t location)
{
	uint32_t mapping = w->p->locations[location].mapping;

	return w->options->perf_map ? w->options->perf_map(w->options->context, mapping) : -1;
}

bool symbolize_has_line(const struct profile *p, const struct profile_location *l)
{
	for (uint32_t i = 0; i < l->n_lines; i++)
		if (p->lines[l->first_line + i].line)
			return true;
	return false;
}

static bool symbolize_is_wanted(const struct symbolize_work *w, const struct profile_location *l)
{
	const struct profile_mapping *m;
	const char *path;

	if (l->mapping == PROFILE_NONE)
		return false;
	m = &w->p->mappings[l->mapping];
	path = profile_string(w->p, m->path);
	if (!profile_location_has_name(w->p, l))
		return symbolize_is_file(path) || kernel_is_mapping(m, path) ||
		       perf_map_of(w, (uint32_t)(l - w->p->locations)) >= 0;
	/* One of several names for the address: no file can say which (an interpreter's loop). */
	return symbolize_is_file(path) && !l->is_folded &&
	       (w->options->is_forced || (w->options->want_lines && !symbolize_has_line(w->p, l)));
}

/* 0: in the same file. */
static int wanted_compare_mapping(const struct profile *p, const struct wanted *a,
				  const struct wanted *b)
{
	const struct profile_mapping *m = symbolize_mapping_of(p, a->location),
				     *n = symbolize_mapping_of(p, b->location);

	return order_of(m->path, n->path) ?: order_of(m->build_id, n->build_id);
}

/* By file, then by location: the order must not depend on addresses that are not known yet. */
static int wanted_compare_file(const void *a, const void *b, void *context)
{
	const struct wanted *x = a, *y = b;

	return wanted_compare_mapping(context, x, y) ?: order_of(x->location, y->location);
}

DEFINE_ORDER(wanted_compare_address, struct wanted,
	     order_of(x->address, y->address) ?: order_of(x->location, y->location))

/* --- the kernel ------------------------------------------------------------------------------- */

static int name_kernel_address(struct symbolize_work *w, const struct kernel_part *part,
			       uint32_t location)
{
	const struct profile_location *l = &w->p->locations[location];
	const struct profile_mapping *m = symbolize_mapping_of(w->p, location);
	const char *demangled = NULL;
	struct symtab_symbol symbol;
	uint64_t shift;
	int r = kernel_part_place(part, m, &shift);

	if (r)
		notes_add(&w->result->notes, "%s: %s", symbolize_path_of(w->p, location),
			  kernel_error_text(r));
	if (r || l->address < m->start || l->address >= m->limit ||
	    !kernel_part_find(part, l->address + shift, &symbol))
		return 0;
	/* Rust's; a worker that is not to be had matters to nobody else. */
	if (strncmp(symbol.name, "_R", 2) == 0)
		r = asker_demangle(w->source.asker, 0, symbol.name, strlen(symbol.name) + 1, 1,
				   &demangled);
	if (r < 0)
		return r;
	w->result->n_new++;
	return namer_set_function(w->namer, location, demangled ? demangled : symbol.name,
				  symbol.name);
}

/* All of the kernel proper, or of a module. */
static int name_kernel_part(struct symbolize_work *w, const struct wanted *run, size_t n)
{
	const struct profile_mapping *m = symbolize_mapping_of(w->p, run[0].location);
	const char *path = symbolize_path_of(w->p, run[0].location);
	const struct kernel_part *part;
	int r = kernel_get(w->source.kernel, path, profile_string(w->p, m->build_id), &part);

	if (r > 0)
		notes_add(&w->result->notes, "%s: %s", path, kernel_error_text(r));
	if (r)
		return r < 0 ? r : 0;
	for (size_t i = 0; !r && i < n; i++)
		r = name_kernel_address(w, part, run[i].location);
	return r;
}

/* --- files ------------------------------------------------------------------------------------ */

/*
 * Keeps those whose addresses the object has, and puts them in order; what has names gets others
 * only from the very file.
 */
static size_t find_addresses(const struct symbolize_work *w, const struct object *o,
			     struct wanted *run, size_t n)
{
	bool has_names = false;
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		const struct profile_location *l = &w->p->locations[run[i].location];
		struct wanted wanted = run[i];

		bool has_name = profile_location_has_name(w->p, l);

		has_names |= has_name && !w->options->is_forced;
		if ((!has_name || o->is_identified || w->options->is_forced) &&
		    object_vaddr(o, symbolize_mapping_of(w->p, wanted.location), l->address,
				 &wanted.address))
			run[kept++] = wanted;
	}
	if (has_names && !o->is_identified)
		notes_add(&w->result->notes,
			  "%s: names stay as they are, no build id tells whether it is the file",
			  o->path);
	qsort(run, kept, sizeof(*run), wanted_compare_address);
	return kept;
}

static int symbolize_set_names(struct symbolize_work *w, const struct wanted *run, size_t n,
			       const uint64_t *addresses, const struct answer_names *answer)
{
	size_t at = 0;

	namer_begin(w->namer, answer);
	for (size_t i = 0; i < n; i++) {
		bool is_set;
		int r;

		while (addresses[at] != run[i].address)
			at++;
		r = namer_set(w->namer, run[i].location, &answer->locations[at],
			      w->options->is_forced, &is_set);
		if (r)
			return r;
		w->result->n_new += is_set;
	}
	return 0;
}

/* One question about the perf map of @request. OBJECT_E_* or negative errno. */
static int symbolize_query_perf_map(struct symbolize_work *w, struct worker_request *request,
				    const uint64_t *addresses, size_t n, struct answer_names *ret)
{
	enum worker_outcome outcome = WORKER_DONE;
	int r = asker_names(w->source.asker, request, addresses, n, &outcome, ret);

	if (r == ASKER_E_DIED)
		notes_add(&w->result->notes,
			  "a perf map: skipped, the image worker could not read it: %s",
			  asker_error_text(w->source.asker));
	if (r)
		return r < 0 ? r : r == ASKER_E_DIED ? OBJECT_E_NONE : OBJECT_E_NO_WORKER;
	return outcome == WORKER_DONE ? OBJECT_E_OK : OBJECT_E_NONE;
}

/* All of @run, about the object, or else the perf map of @request. OBJECT_E_* or negative errno. */
static int symbolize_query_names(struct symbolize_work *w, struct object *o,
				 struct worker_request *request, const struct wanted *run, size_t n)
{
	cleanup(freep) uint64_t *addresses = calloc(WORKER_ADDRESSES_MAX, sizeof(*addresses));
	int r;

	if (!addresses)
		return error_origin(-ENOMEM);
	for (size_t i = 0, end; i < n && !namer_is_full(w->namer); i = end) {
		struct answer_names answer;
		size_t n_addresses = 0;

		/* As many as fill one question; each address once. */
		for (end = i; end < n; end++) {
			if (n_addresses && addresses[n_addresses - 1] == run[end].address)
				continue;
			if (n_addresses == WORKER_ADDRESSES_MAX)
				break;
			addresses[n_addresses++] = run[end].address;
		}
		r = (o ? object_query_names(o, w->options->want_lines, addresses, n_addresses,
					    &answer)
		       : symbolize_query_perf_map(w, request, addresses, n_addresses, &answer))
			    ?: symbolize_set_names(w, run + i, end - i, addresses, &answer);
		if (r)
			return r;
	}
	return 0;
}

/* What was asked for and is nowhere: of a whole machine's profile that is a file in three. */
static void note_nameless(struct symbolize_work *w, const struct object *o,
			  const struct wanted *run, size_t n)
{
	bool want_lines = w->options->want_lines;

	for (size_t i = 0; i < n; i++) {
		const struct profile_location *l = &w->p->locations[run[i].location];

		if (want_lines ? symbolize_has_line(w->p, l) : profile_location_has_name(w->p, l))
			return;
	}
	if (!n || namer_is_full(w->namer))
		return;
	w->n_nameless++;
	if (n > w->nameless_locations) {
		w->nameless = o->path;
		w->nameless_locations = n;
	}
}

static int name_file(struct symbolize_work *w, struct wanted *run, size_t n)
{
	const struct profile_mapping *m = symbolize_mapping_of(w->p, run[0].location);
	cleanup(object_deinit) struct object object = OBJECT_NONE;
	int r = object_init(&object, &w->source, symbolize_path_of(w->p, run[0].location),
			    profile_string(w->p, m->build_id));

	if (r)
		return r;
	n = find_addresses(w, &object, run, n);
	/* What nothing contradicts is used, but for names that are there already. */
	if (!object.is_identified && n && !w->n_unidentified++)
		w->unidentified = object.path;
	r = symbolize_query_names(w, &object, NULL, run, n);
	if (!r)
		note_nameless(w, &object, run, n);
	return r;
}

/* --- generated code --------------------------------------------------------------------------- */

static int wanted_compare_perf_map(const void *a, const void *b, void *context)
{
	const struct wanted *x = a, *y = b;

	return order_of(perf_map_of(context, x->location), perf_map_of(context, y->location))
		       ?: wanted_compare_address(a, b);
}

static int name_generated(struct symbolize_work *w, struct wanted *run, size_t n)
{
	for (size_t i = 0; i < n; i++)
		run[i].address = w->p->locations[run[i].location].address;
	qsort_r(run, n, sizeof(*run), wanted_compare_perf_map, w);
	for (size_t i = 0, end; i < n; i = end) {
		struct worker_request request = worker_request_of(WORKER_JIT, -1);
		int fd = perf_map_of(w, run[i].location), r;

		for (end = i + 1; end < n && perf_map_of(w, run[end].location) == fd;)
			end++;
		request.key = ++w->source.n_keys;
		request.files[WORKER_FILE_PERF_MAP] = fd;
		r = symbolize_query_names(w, NULL, &request, run + i, end - i);
		if (r < 0 || r == OBJECT_E_NO_WORKER)
			return r;
	}
	return 0;
}

/* --- all -------------------------------------------------------------------------------------- */

static int name_all(struct symbolize_work *w, struct wanted *all, size_t n)
{
	for (size_t i = 0, end; i < n; i = end) {
		const struct profile_mapping *m = symbolize_mapping_of(w->p, all[i].location);
		const char *path = profile_string(w->p, m->path);
		char text[160];
		int r;

		for (end = i + 1; end < n && !wanted_compare_mapping(w->p, &all[i], &all[end]);)
			end++;
		snprintf(text, sizeof(text), "%zu of %zu addresses have been looked up: %.60s", i,
			 n, basename(path));
		if (w->options->progress)
			w->options->progress(w->options->context, (double)i / (double)n, text);
		if (kernel_is_mapping(m, path))
			r = name_kernel_part(w, all + i, end - i);
		else if (!symbolize_is_file(path))
			r = name_generated(w, all + i, end - i);
		else
			r = name_file(w, all + i, end - i);
		if (r < 0 || r == OBJECT_E_NO_WORKER)
			return r;
	}
	return 0;
}

/* What would bring what files lack; theirs who built them may be in no package. */
static void symbolize_print_remedy(const struct symbolize_work *w, char *ret, size_t size)
{
	const struct debug_server *server = debug_server_of_host(w->options->root_fd);
	cleanup(freep) char *package = debug_package_of_file(w->options->root_fd, w->nameless);
	bool is_one = w->n_nameless == 1;
	int n = package ? snprintf(ret, size, "install %.80s%s", package,
				   is_one ? "" : " and the like")
			: snprintf(ret, size, "build %s with -g, install %s %s package%s",
				   is_one ? "it" : "them", is_one ? "its" : "their",
				   server->package, is_one ? "" : "s");

	snprintf(ret + n, size - (size_t)n, ", or use profctl symbolize --debuginfod %s",
		 server->url);
}

/* The files that have nothing, and what would bring it. */
static void symbolize_note_all_nameless(struct symbolize_work *w)
{
	const char *what = w->options->want_lines ? "lines" : "names";
	char text[NOTES_TEXT_MAX], remedy[240] = "; ";

	if (!w->n_nameless)
		return;
	if (w->options->fetch)
		remedy[0] = '\0';
	else
		symbolize_print_remedy(w, remedy + 2, sizeof(remedy) - 2);
	if (w->n_nameless == 1)
		snprintf(text, sizeof(text),
			 "%.240s: no %s in it, and no debug file with such was found%s",
			 w->nameless, what, remedy);
	else
		snprintf(text, sizeof(text),
			 "%.240s and %zu more: no %s in them, and no debug files with such were "
			 "found%s",
			 w->nameless, w->n_nameless - 1, what, remedy);
	/* Of a whole machine's profile many files are gone, each with a note. */
	notes_add_first(&w->result->notes, text);
}

static void symbolize_finish_result(struct symbolize_work *w, int r)
{
	struct notes *notes = &w->result->notes;

	symbolize_note_all_nameless(w);
	if (w->n_unidentified == 1)
		notes_add(notes, "%s: taken for the file that ran, no build id tells",
			  w->unidentified);
	else if (w->n_unidentified)
		notes_add(notes, "%s and %zu more: taken for those that ran, no build id tells",
			  w->unidentified, w->n_unidentified - 1);
	if (namer_is_full(w->namer))
		notes_add(notes, "the names take too much memory, some are left out");
	if (r == OBJECT_E_NO_WORKER)
		snprintf(w->result->trouble, sizeof(w->result->trouble), "%s",
			 asker_error_text(w->source.asker));
	w->result->n_locations = w->p->n_locations;
	for (size_t i = 0; i < w->p->n_locations; i++)
		w->result->n_named += profile_location_has_name(w->p, &w->p->locations[i]);
}

int symbolize_profile(struct profile *p, const struct symbolize_options *options,
		      struct symbolize_result *ret)
{
	cleanup(symbolize_work_deinit) struct symbolize_work w = {.p = p,
								  .options = options,
								  .result = ret};
	cleanup(freep) struct wanted *all = NULL;
	size_t n = 0;
	int r, finish;

	*ret = (struct symbolize_result){0};
	all = calloc(p->n_locations + 1, sizeof(*all));
	r = all ? symbolize_work_init(&w) : error_origin(-ENOMEM);
	if (r)
		return r;
	for (uint32_t i = 0; i < p->n_locations; i++)
		if (symbolize_is_wanted(&w, &p->locations[i]))
			all[n++].location = i;
	qsort_r(all, n, sizeof(*all), wanted_compare_file, p);
	r = name_all(&w, all, n);
	if (r < 0)
		return r;
	symbolize_finish_result(&w, r);
	finish = namer_finish(w.namer);
	return finish ? finish : r == OBJECT_E_NO_WORKER ? SYMBOLIZE_E_NO_WORKER : SYMBOLIZE_E_OK;
}

void symbolize_result_deinit(struct symbolize_result *result)
{
	notes_deinit(&result->notes);
}
