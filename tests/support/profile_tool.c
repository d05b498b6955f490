/* SPDX-License-Identifier: MIT */
/*
 * Makes and converts profile files for the tests that compare what other readers make of them.
 * Chains come as text on standard input, one a line: a count, then lookup addresses in hex, leaf
 * first.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/profile/cpuprofile.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"
#include "tests/support/files.h"

#define MAX_BYTES ((size_t)2 << 30)

static const char usage[] =
	"usage: profile_tool legacy OUT SLOT_BYTES PERIOD_US MAPS_FILE < CHAINS\n"
	"       profile_tool pprof OUT PATH START LIMIT OFFSET < CHAINS\n"
	"       profile_tool pprof2legacy IN OUT SLOT_BYTES MAPS_FILE\n"
	"       profile_tool legacy2pprof IN OUT\n"
	"       profile_tool pprof2pprof IN OUT\n"
	"       profile_tool dump IN\n"
	"       profile_tool summary IN\n";

struct chains {
	struct cpuprofile_record *records;
	uint64_t **owned; /* the addresses of each */
	size_t n, max;
};

static void chains_deinit(struct chains *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->owned[i]);
	free(c->owned);
	free(c->records);
}

static void *check(void *memory)
{
	if (!memory) {
		fprintf(stderr, "profile_tool: out of memory\n");
		abort();
	}
	return memory;
}

/* Takes over @addresses. */
static void chains_add(struct chains *c, uint64_t count, uint64_t *addresses, uint32_t n)
{
	if (c->n == c->max) {
		c->max = c->max ? c->max * 2 : 64;
		c->records = check(reallocarray(c->records, c->max, sizeof(*c->records)));
		c->owned = check(reallocarray(c->owned, c->max, sizeof(*c->owned)));
	}
	c->owned[c->n] = addresses;
	c->records[c->n++] = (struct cpuprofile_record){.count = count,
							.addresses = addresses,
							.n_addresses = n};
}

static void chains_read(struct chains *c, FILE *f)
{
	cleanup(freep) char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, f) > 0) {
		uint64_t *addresses = check(calloc(strlen(line) + 1, sizeof(*addresses)));
		char *at = line, *end;
		uint64_t count = strtoull(at, &end, 10);
		uint32_t n = 0;

		for (at = end;; at = end) {
			addresses[n] = strtoull(at, &end, 16);
			if (end == at)
				break;
			n++;
		}
		chains_add(c, count, addresses, n);
	}
}

static int write_file(const char *path, const uint8_t *data, size_t length)
{
	cleanup(fclosep) FILE *f = fopen(path, "we");

	if (!f || fwrite(data, 1, length, f) != length || fflush(f)) {
		fprintf(stderr, "profile_tool: %s: %m\n", path);
		return 1;
	}
	return 0;
}

static int write_legacy(const char *path, const struct chains *chains, const char *slot_bytes,
			uint64_t period_us, const char *maps_path)
{
	cleanup(freep) uint8_t *maps = NULL, *out = NULL;
	struct cpuprofile c = {.records = chains->records, .n_records = chains->n};
	size_t length;
	int r;

	maps = read_file(maps_path, &length);
	c.maps = (const char *)maps;
	c.slot_bytes = (unsigned)strtoul(slot_bytes, NULL, 10);
	c.period_us = period_us;
	r = cpuprofile_write(&c, &out, &length);
	if (r) {
		fprintf(stderr, "profile_tool: cannot write a legacy profile: %s\n", strerror(-r));
		return 1;
	}
	return write_file(path, out, length);
}

static int write_pprof(const char *path, const struct profile *p)
{
	cleanup(freep) uint8_t *out = NULL;
	size_t length;
	int r = pprof_write(p, 6, &out, &length);

	if (r) {
		fprintf(stderr, "profile_tool: cannot write: %s\n", strerror(-r));
		return 1;
	}
	return write_file(path, out, length);
}

static int read_any(const char *path, struct profile **ret)
{
	cleanup(freep) uint8_t *data = NULL;
	struct profile_message message = {"out of memory"};
	size_t length;
	int r;

	data = read_file(path, &length);
	if (!data) {
		fprintf(stderr, "profile_tool: %s: %m\n", path);
		return 1;
	}
	r = length && !data[0] ? cpuprofile_read(data, length, ret, &message)
			       : pprof_read(data, length, MAX_BYTES, ret, &message);
	if (r)
		fprintf(stderr, "profile_tool: %s: %s\n", path, message.text);
	return r != 0;
}

/* One mapping; chains from standard input. */
static int make_pprof(char **argv)
{
	cleanup(chains_deinit) struct chains chains = {0};
	cleanup(profile_freep) struct profile *p = NULL;
	struct profile_mapping m = {0};
	uint32_t mapping, locations[1024];
	int r;

	chains_read(&chains, stdin);
	r = profile_new(&p);
	m.start = strtoull(argv[2], NULL, 16);
	m.limit = strtoull(argv[3], NULL, 16);
	m.offset = strtoull(argv[4], NULL, 16);
	r = r ? r : profile_add_text(p, argv[1], &m.path);
	r = r ? r : profile_add_mapping(p, &m, &mapping);
	r = r ? r : profile_add_sample_type(p, "samples", "count");
	r = r ? r : profile_add_sample_type(p, "cpu", "nanoseconds");
	for (size_t i = 0; i < chains.n && !r; i++) {
		const struct cpuprofile_record *c = &chains.records[i];
		const int64_t values[] = {(int64_t)c->count, (int64_t)c->count * 10000000};

		for (uint32_t k = 0; k < c->n_addresses && k < 1024 && !r; k++)
			r = profile_add_location(p, mapping, c->addresses[k], NULL, 0,
						 &locations[k]);
		r = r ? r : profile_add_sample(p, locations, c->n_addresses, values, NULL, 0);
	}
	if (r)
		return 1;
	p->period_type = p->sample_types[1];
	p->period = 10000000;
	p->time_ns = INT64_C(1700000000000000000);
	p->duration_ns = INT64_C(1000000000);
	return write_pprof(argv[0], p);
}

static int pprof_to_legacy(char **argv)
{
	cleanup(chains_deinit) struct chains chains = {0};
	cleanup(profile_freep) struct profile *p = NULL;

	if (read_any(argv[0], &p))
		return 1;
	for (size_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		uint64_t *addresses = check(calloc(s->n_locations + 1, sizeof(*addresses)));

		for (uint32_t k = 0; k < s->n_locations; k++)
			addresses[k] =
				p->locations[p->sample_locations[s->first_location + k]].address;
		chains_add(&chains, (uint64_t)p->sample_values[i * p->n_sample_types], addresses,
			   s->n_locations);
	}
	return write_legacy(argv[1], &chains, argv[2], (uint64_t)p->period / 1000, argv[3]);
}

static void dump(const struct profile *p)
{
	for (size_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *s = &p->samples[i];

		printf("%" PRId64, p->sample_values[i * p->n_sample_types]);
		for (uint32_t k = 0; k < s->n_locations; k++)
			printf(" %" PRIx64,
			       p->locations[p->sample_locations[s->first_location + k]].address);
		printf("\n");
	}
}

static void summary(const struct profile *p)
{
	printf("samples %zu locations %zu functions %zu mappings %zu strings %zu\n", p->n_samples,
	       p->n_locations, p->n_functions, p->n_mappings, profile_n_strings(p));
	for (uint32_t i = 0; i < p->n_sample_types; i++)
		printf("total %s/%s %" PRId64 "\n", profile_string(p, p->sample_types[i].type),
		       profile_string(p, p->sample_types[i].unit), profile_total(p, i));
}

int main(int argc, char **argv)
{
	cleanup(profile_freep) struct profile *p = NULL;
	cleanup(chains_deinit) struct chains chains = {0};
	const char *verb = argc > 2 ? argv[1] : "";

	if (!strcmp(verb, "legacy") && argc == 6) {
		chains_read(&chains, stdin);
		return write_legacy(argv[2], &chains, argv[3], strtoull(argv[4], NULL, 10),
				    argv[5]);
	}
	if (!strcmp(verb, "pprof") && argc == 7)
		return make_pprof(argv + 2);
	if (!strcmp(verb, "pprof2legacy") && argc == 6)
		return pprof_to_legacy(argv + 2);
	if ((!strcmp(verb, "legacy2pprof") || !strcmp(verb, "pprof2pprof")) && argc == 4)
		return read_any(argv[2], &p) || write_pprof(argv[3], p);
	if ((!strcmp(verb, "dump") || !strcmp(verb, "summary")) && argc == 3) {
		if (read_any(argv[2], &p))
			return 1;
		(*verb == 'd' ? dump : summary)(p);
		return 0;
	}
	fputs(usage, stderr);
	return 2;
}
