/* SPDX-License-Identifier: MIT */

/*
 * profile_top [-n ROWS] FILE.pb.gz...: the hottest functions of several profile.proto files
 * together, by the samples they were executing in (flat) and were on the stack of (cum).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/profile/pprof.h"
#include "common/profile/profile.h"
#include "tests/support/files.h"

#define UNPACKED_BYTES_MAX (4ul << 30)

struct row {
	int64_t flat, cum;
	uint64_t seen; /* number of the last sample that counted in cum */
	uint32_t name;
};

struct table {
	struct profile *names; /* used for its strings: the index of a row is that of its name */
	struct row *rows;
	size_t n_rows;
	int64_t total;
	uint64_t n_samples;
};

static void table_deinit(struct table *t)
{
	profile_free(t->names);
	free(t->rows);
}

static struct row *table_row(struct table *t, const char *name)
{
	uint32_t id;

	if (profile_add_text(t->names, name, &id))
		abort();
	if (id >= t->n_rows) {
		size_t n = (size_t)id * 2 + 64;

		t->rows = reallocarray(t->rows, n, sizeof(*t->rows));
		if (!t->rows)
			abort();
		memset(t->rows + t->n_rows, 0, (n - t->n_rows) * sizeof(*t->rows));
		t->n_rows = n;
	}
	t->rows[id].name = id;
	return &t->rows[id];
}

static void count(struct row *row, int64_t value, uint64_t sample, bool is_leaf)
{
	if (is_leaf)
		row->flat += value;
	if (row->seen != sample)
		row->cum += value;
	row->seen = sample;
}

/* An address without a name is shown as its place in the file. */
static void count_address(struct table *t, const struct profile *p,
			  const struct profile_location *location, int64_t value, bool is_leaf)
{
	const struct profile_mapping *m;
	const char *path, *slash;
	char name[512];

	if (location->mapping == PROFILE_NONE) {
		snprintf(name, sizeof(name), "0x%" PRIx64, location->address);
	} else {
		m = &p->mappings[location->mapping];
		path = profile_string(p, m->path);
		slash = strrchr(path, '/');
		snprintf(name, sizeof(name), "%s+0x%" PRIx64, slash ? slash + 1 : path,
			 location->address - m->start + m->offset);
	}
	count(table_row(t, name), value, t->n_samples, is_leaf);
}

static void count_profile(struct table *t, const struct profile *p)
{
	for (size_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		int64_t value = p->sample_values[i * p->n_sample_types];

		t->total += value;
		t->n_samples++;
		for (uint32_t k = 0; k < s->n_locations; k++) {
			const struct profile_location *location =
				&p->locations[p->sample_locations[s->first_location + k]];

			if (location->n_lines == 0)
				count_address(t, p, location, value, k == 0);
			for (uint32_t l = 0; l < location->n_lines; l++) {
				uint32_t f = p->lines[location->first_line + l].function;
				const char *name = profile_string(p, p->functions[f].name);

				count(table_row(t, name), value, t->n_samples, k == 0 && l == 0);
			}
		}
	}
}

static int add_file(struct table *t, const char *path)
{
	cleanup(profile_freep) struct profile *p = NULL;
	struct profile_message message = {"cannot be read"};
	cleanup(freep) uint8_t *data = NULL;
	size_t length;

	data = read_file(path, &length);
	if (!data || pprof_read(data, length, UNPACKED_BYTES_MAX, &p, &message) != PPROF_E_OK ||
	    p->n_sample_types == 0) {
		fprintf(stderr, "profile_top: %s: %s\n", path, message.text);
		return 1;
	}
	count_profile(t, p);
	return 0;
}

static int compare_rows(const void *pa, const void *pb)
{
	const struct row *a = pa, *b = pb;

	if (a->flat != b->flat)
		return a->flat < b->flat ? 1 : -1;
	if (a->cum != b->cum)
		return a->cum < b->cum ? 1 : -1;
	return (a->name > b->name) - (a->name < b->name);
}

static double percent(int64_t part, int64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

static void print(struct table *t, unsigned long n)
{
	printf("%" PRId64 " samples\n%8s %6s %8s %6s  %s\n", t->total, "flat", "flat%", "cum",
	       "cum%", "function");
	qsort(t->rows, t->n_rows, sizeof(*t->rows), compare_rows);
	for (size_t i = 0; i < t->n_rows && i < n && t->rows[i].cum; i++)
		printf("%8" PRId64 " %5.1f%% %8" PRId64 " %5.1f%%  %s\n", t->rows[i].flat,
		       percent(t->rows[i].flat, t->total), t->rows[i].cum,
		       percent(t->rows[i].cum, t->total),
		       profile_string(t->names, t->rows[i].name));
}

int main(int argc, char **argv)
{
	cleanup(table_deinit) struct table t = {0};
	unsigned long n = 20;
	int first = 1, r = 0;

	if (argc > 2 && strcmp(argv[1], "-n") == 0) {
		n = strtoul(argv[2], NULL, 10);
		first = 3;
	}
	if (first >= argc) {
		fprintf(stderr, "usage: profile_top [-n ROWS] FILE.pb.gz...\n");
		return 2;
	}
	if (profile_new(&t.names))
		return 1;
	for (int i = first; i < argc; i++)
		r |= add_file(&t, argv[i]);
	print(&t, n);
	return r;
}
