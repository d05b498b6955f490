/* SPDX-License-Identifier: MIT */
/*
 * shape_tool [--OPTION=VALUE ...] FILE: what struct shape makes of a profile.proto, for
 * integration/shape-pprof, which has go tool pprof do the same. Options are called as pprof's;
 * --granularity=functions|filefunctions|lines|files|addresses, --type=N is the number of the sample
 * type, --mean, --base=FILE, --diff_base=FILE, --normalize; --proto=OUT writes the profile that is
 * left, --time says how long shaping took; --print=UNIT prints values in this unit ("minimum": the
 * report's choice) and percentages as texts. Prints `total N`, then a line for each frame whose
 * values are not both 0: flat, cum and name as pprof has them. Warnings go to standard error.
 */
#include <getopt.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/analysis/shape.h"
#include "common/profile/measure.h"
#include "common/profile/merge.h"
#include "common/profile/pprof.h"
#include "common/profile/value_types.h"

#define FILE_MAX ((size_t)2 << 30)

struct settings {
	struct shape_options shape;
	const char *base, *proto, *print_unit;
	unsigned type;
	bool diff_base, normalize, is_mean, is_timed, is_relative;
};

struct node {
	int64_t flat, cum, flat_divisor, cum_divisor;
	size_t seen; /* number of the last stack that counted it, from 1 */
};

struct graph {
	struct node *nodes;
	size_t n_nodes, n_stacks;
	struct compare_total total;
};

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "shape_tool: %s: %s\n", what, why);
	exit(1);
}

static void check(int r, const char *what)
{
	if (r)
		fail(what, r < 0 ? strerror(-r) : "refused");
}

static struct profile *read_profile(const char *path)
{
	struct profile_message message = {""};
	struct profile *p = NULL;
	FILE *in = fopen(path, "re");
	uint8_t *data = NULL;
	size_t n = 0, size = 0;

	if (!in)
		fail(path, "cannot be opened");
	while (!feof(in) && !ferror(in)) {
		if (n == size) {
			size = size ? size * 2 : (size_t)1 << 20;
			data = realloc(data, size);
			if (!data)
				fail(path, "no memory");
		}
		n += fread(data + n, 1, size - n, in);
	}
	fclose(in);
	if (pprof_read(data, n, FILE_MAX, &p, &message))
		fail(path, message.text);
	free(data);
	return p;
}

/* The profiles of @source and @base as one, the way that compare.h says; one alone stays so. */
static struct profile *join(const struct settings *o, struct profile *source, struct profile *base)
{
	double ratios[PROFILE_TYPES_MAX], base_ratios[PROFILE_TYPES_MAX];
	struct profile_message message = {""};
	struct profile *p;
	struct merge *m;

	if (!base)
		return source;
	if (value_types_share(source, base, &message))
		fail("types", message.text);
	check(merge_new(&m, MERGE_WINDOWS_KEPT), "merge");
	for (uint32_t i = 0; i < base->n_sample_types; i++)
		base_ratios[i] = -1;
	compare_normalize(source, base, ratios);
	if (o->normalize)
		compare_scale(source, ratios);
	if (o->diff_base)
		check(compare_label_base(base), "label");
	compare_scale(base, base_ratios);
	if (merge_add(m, source, NULL, NULL, &message) || merge_add(m, base, NULL, NULL, &message))
		fail("merge", message.text);
	check(merge_finish(m), "merge");
	check(profile_drop_zeroes(merge_profile(m)), "zeroes");
	p = merge_steal_profile(m);
	merge_free(m);
	profile_free(source);
	profile_free(base);
	return p;
}

/* --- folding ---------------------------------------------------------------------------------- */

static void make_nodes(struct graph *g, const struct shape *s)
{
	size_t n;

	shape_frames(s, &n);
	if (n <= g->n_nodes)
		return;
	n *= 2;
	g->nodes = reallocarray(g->nodes, n, sizeof(*g->nodes));
	if (!g->nodes)
		fail("nodes", "no memory");
	memset(g->nodes + g->n_nodes, 0, (n - g->n_nodes) * sizeof(*g->nodes));
	g->n_nodes = n;
}

static void add_stack(struct graph *g, const struct settings *o, const struct stack *stack)
{
	int64_t value = stack->values[o->type], divisor = o->is_mean ? stack->values[0] : 0;

	g->n_stacks++;
	if (stack->n_frames) {
		g->nodes[stack->frames[0]].flat += value;
		g->nodes[stack->frames[0]].flat_divisor += divisor;
	}
	for (uint32_t i = 0; i < stack->n_frames; i++) {
		struct node *node = &g->nodes[stack->frames[i]];

		if (node->seen == g->n_stacks)
			continue;
		node->seen = g->n_stacks;
		node->cum += value;
		node->cum_divisor += divisor;
	}
}

static void fold(struct graph *g, const struct settings *o, struct shape *s, struct profile *p,
		 struct shape_profile *to)
{
	for (size_t i = 0; i < p->n_samples; i++) {
		struct stack stack;
		int r = shape_stack(s, p, i, &stack);

		if (!o->is_relative)
			compare_total_add(&g->total, p, i, o->type, o->is_mean);
		if (r == SHAPE_E_DROPPED)
			continue;
		check(r, "stack");
		if (o->is_relative)
			compare_total_add(&g->total, p, i, o->type, o->is_mean);
		make_nodes(g, s);
		add_stack(g, o, &stack);
		if (to)
			check(shape_profile_add(to, &stack), "profile");
	}
}

/* --- printing --------------------------------------------------------------------------------- */

static void print_name(const struct profile *p, const struct frame *f)
{
	if (f->address)
		printf("%016" PRIx64 " ", f->address);
	if (f->name)
		printf("%s ", profile_string(p, f->name));
	if (f->line)
		printf("%s:%" PRId64, profile_string(p, f->filename), f->line);
	else if (f->filename)
		fputs(profile_string(p, f->filename), stdout);
	else if (!f->name && f->object) {
		char *copy = strdup(profile_string(p, f->object));

		if (!copy)
			fail("name", "no memory");
		printf("[%s]", basename(copy));
		free(copy);
	} else if (!f->name)
		fputs("<unknown>", stdout);
	putchar('\n');
}

static int64_t magnitude(int64_t value)
{
	return value < 0 ? -value : value;
}

/* The unit for a report of these nodes, as pprof chooses it. */
static const char *choose_unit(const struct graph *g, size_t n, const char *unit)
{
	int64_t smallest = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t value = magnitude(g->nodes[i].flat ? g->nodes[i].flat : g->nodes[i].cum);

		if (value && (!smallest || value < smallest))
			smallest = value;
	}
	return measure_choose_unit(smallest, compare_total(&g->total), unit);
}

struct printing {
	int64_t total;
	const char *from, *to; /* units; to NULL: numbers */
};

static void print_values(const struct printing *o, int64_t flat, int64_t cum)
{
	char text[MEASURE_TEXT_MAX];

	if (!o->to) {
		printf("%" PRId64 " %" PRId64 " ", flat, cum);
		return;
	}
	printf("%s ", measure_print(text, sizeof(text), flat, o->from, o->to));
	printf("%s ", measure_print_percentage(text, sizeof(text), flat, o->total));
	printf("%s ", measure_print(text, sizeof(text), cum, o->from, o->to));
	printf("%s ", measure_print_percentage(text, sizeof(text), cum, o->total));
}

static void print(const struct graph *g, const struct settings *o, const struct shape *s,
		  const struct profile *p)
{
	size_t n;
	const struct frame *frames = shape_frames(s, &n);
	struct printing how = {
		.total = compare_total(&g->total),
		.from = profile_string(p, p->sample_types[o->type].unit),
		.to = o->print_unit,
	};

	n = n < g->n_nodes ? n : g->n_nodes;
	if (how.to && strcmp(how.to, "minimum") == 0)
		how.to = choose_unit(g, n, how.from);
	printf("total %" PRId64 "\n", how.total);
	for (size_t i = 0; i < n; i++) {
		const struct node *node = &g->nodes[i];

		if (!node->flat && !node->cum)
			continue;
		print_values(&how,
			     node->flat_divisor ? node->flat / node->flat_divisor : node->flat,
			     node->cum_divisor ? node->cum / node->cum_divisor : node->cum);
		print_name(p, &frames[i]);
	}
}

static void write_profile(struct shape_profile *to, const char *path)
{
	struct profile *left;
	FILE *out = fopen(path, "we");
	uint8_t *data;
	size_t n;

	if (!out)
		fail(path, "cannot be opened");
	check(shape_profile_finish(to, &left), "profile");
	check(pprof_write(left, 1, &data, &n), "profile");
	if (fwrite(data, 1, n, out) != n || fclose(out))
		fail(path, "cannot be written");
	free(data);
	profile_free(left);
}

/* --- options ---------------------------------------------------------------------------------- */

enum {
	O_FOCUS = 1,
	O_IGNORE,
	O_HIDE,
	O_SHOW,
	O_SHOW_FROM,
	O_PRUNE_FROM,
	O_TAGFOCUS,
	O_TAGIGNORE,
	O_TAGSHOW,
	O_TAGHIDE,
	O_TAGROOT,
	O_TAGLEAF,
	O_TRIM_PATH,
	O_SOURCE_PATH,
	O_GRANULARITY,
	O_NOINLINES,
	O_UNIT,
	O_TYPE,
	O_MEAN,
	O_BASE,
	O_DIFF_BASE,
	O_NORMALIZE,
	O_RELATIVE,
	O_PROTO,
	O_PRINT,
	O_TIME,
};

static const struct option options[] = {
	{"focus", required_argument, NULL, O_FOCUS},
	{"ignore", required_argument, NULL, O_IGNORE},
	{"hide", required_argument, NULL, O_HIDE},
	{"show", required_argument, NULL, O_SHOW},
	{"show_from", required_argument, NULL, O_SHOW_FROM},
	{"prune_from", required_argument, NULL, O_PRUNE_FROM},
	{"tagfocus", required_argument, NULL, O_TAGFOCUS},
	{"tagignore", required_argument, NULL, O_TAGIGNORE},
	{"tagshow", required_argument, NULL, O_TAGSHOW},
	{"taghide", required_argument, NULL, O_TAGHIDE},
	{"tagroot", required_argument, NULL, O_TAGROOT},
	{"tagleaf", required_argument, NULL, O_TAGLEAF},
	{"trim_path", required_argument, NULL, O_TRIM_PATH},
	{"source_path", required_argument, NULL, O_SOURCE_PATH},
	{"granularity", required_argument, NULL, O_GRANULARITY},
	{"noinlines", no_argument, NULL, O_NOINLINES},
	{"unit", required_argument, NULL, O_UNIT},
	{"type", required_argument, NULL, O_TYPE},
	{"mean", no_argument, NULL, O_MEAN},
	{"base", required_argument, NULL, O_BASE},
	{"diff_base", required_argument, NULL, O_DIFF_BASE},
	{"normalize", no_argument, NULL, O_NORMALIZE},
	{"relative_percentages", no_argument, NULL, O_RELATIVE},
	{"proto", required_argument, NULL, O_PROTO},
	{"print", required_argument, NULL, O_PRINT},
	{"time", no_argument, NULL, O_TIME},
	{0},
};

static enum shape_granularity granularity(const char *name)
{
	static const char *const names[] = {
		[SHAPE_FUNCTIONS] = "functions", [SHAPE_FILEFUNCTIONS] = "filefunctions",
		[SHAPE_LINES] = "lines",         [SHAPE_FILES] = "files",
		[SHAPE_ADDRESSES] = "addresses",
	};

	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return (enum shape_granularity)i;
	fail(name, "is no granularity");
	return SHAPE_FUNCTIONS;
}

static const char **text_option(struct shape_options *o, int option)
{
	const char **const all[] = {
		[O_FOCUS] = &o->focus,         [O_IGNORE] = &o->ignore,
		[O_HIDE] = &o->hide,           [O_SHOW] = &o->show,
		[O_SHOW_FROM] = &o->show_from, [O_PRUNE_FROM] = &o->prune_from,
		[O_TAGFOCUS] = &o->tagfocus,   [O_TAGIGNORE] = &o->tagignore,
		[O_TAGSHOW] = &o->tagshow,     [O_TAGHIDE] = &o->taghide,
		[O_TAGROOT] = &o->tagroot,     [O_TAGLEAF] = &o->tagleaf,
		[O_TRIM_PATH] = &o->trim_path, [O_SOURCE_PATH] = &o->source_path,
		[O_UNIT] = &o->unit,
	};

	return option > 0 && (size_t)option < ARRAY_SIZE(all) ? all[option] : NULL;
}

static void parse(struct settings *o, int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		const char **text = text_option(&o->shape, option);

		if (text)
			*text = optarg;
		else if (option == O_GRANULARITY)
			o->shape.granularity = granularity(optarg);
		else if (option == O_NOINLINES)
			o->shape.no_inlines = true;
		else if (option == O_TYPE)
			o->type = (unsigned)atoi(optarg);
		else if (option == O_MEAN)
			o->is_mean = true;
		else if (option == O_BASE || option == O_DIFF_BASE)
			o->base = optarg, o->diff_base = option == O_DIFF_BASE;
		else if (option == O_NORMALIZE)
			o->normalize = true;
		else if (option == O_RELATIVE)
			o->is_relative = true;
		else if (option == O_PROTO)
			o->proto = optarg;
		else if (option == O_PRINT)
			o->print_unit = optarg;
		else if (option == O_TIME)
			o->is_timed = true;
		else
			exit(2);
	}
	if (optind + 1 != argc)
		fail("usage", "shape_tool [--OPTION=VALUE ...] FILE");
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void time_shaping(struct shape *s, struct profile *p)
{
	double start = cpu_seconds();
	size_t n_frames = 0;
	struct stack stack;

	check(shape_bind(s, p), "bind");
	fprintf(stderr, "bind %.3f s", cpu_seconds() - start);
	start = cpu_seconds();
	for (size_t i = 0; i < p->n_samples; i++)
		if (shape_stack(s, p, i, &stack) == SHAPE_E_OK)
			n_frames += stack.n_frames;
	fprintf(stderr, ", %zu stacks of %zu frames %.3f s, beside the profile's %zu KiB\n",
		p->n_samples, n_frames, cpu_seconds() - start, profile_bytes(p) >> 10);
}

int main(int argc, char **argv)
{
	cleanup(shape_profile_freep) struct shape_profile *to = NULL;
	cleanup(profile_freep) struct profile *p = NULL;
	cleanup(shape_freep) struct shape *s = NULL;
	cleanup(freep) char *warnings = NULL;
	struct profile_message message = {""};
	struct settings o = {0};
	struct graph g = {0};

	parse(&o, argc, argv);
	if (shape_new(&s, &o.shape, &message))
		fail("options", message.text);
	p = read_profile(argv[optind]);
	p = join(&o, p, o.base ? read_profile(o.base) : NULL);
	if (o.type >= p->n_sample_types)
		fail("type", "there is no such sample type");
	if (o.is_timed)
		time_shaping(s, p);
	check(shape_bind(s, p), "bind");
	if (o.proto)
		check(shape_profile_new(&to, s, p), "profile");
	fold(&g, &o, s, p, to);
	print(&g, &o, s, p);
	if (to)
		write_profile(to, o.proto);
	check(shape_warnings(s, &warnings), "warnings");
	fputs(warnings, stderr);
	free(g.nodes);
	return 0;
}
