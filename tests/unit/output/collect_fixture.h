/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_OUTPUT_COLLECT_FIXTURE_H
#define PROFD_TESTS_UNIT_OUTPUT_COLLECT_FIXTURE_H

/* A store of some minutes of several services, and what collections from it say in words. */
#include "client/formats/text_formats.h"
#include "common/profile/merge.h"
#include "common/profile/pprof.h"
#include "tests/unit/output/fixture.h"

#define HOUR      3600u
#define N_MINUTES 12

static inline struct output_options rolling(const struct fixture *f)
{
	struct output_options o = default_options(f);

	o.limits.rollup_after_s = HOUR;
	o.background_bytes = 8 << 20;
	return o;
}

/* Minute @i: everything, and i + 1 times another sample of service a. */
static inline struct snapshot *minute_at(const struct fixture *f, unsigned i)
{
	struct script script[ARRAY_SIZE(everything) + 1];
	struct snapshot *s;

	memcpy(script, everything, sizeof(everything));
	script[ARRAY_SIZE(everything)] = (struct script){1, 0, NULL, {0}, {PROGRAM_AT + 0x180 + i},
							 0, 0, i + 1};
	s = make_snapshot(f, T0 + i * 60, script, ARRAY_SIZE(script));
	s->formats = FORMAT_PPROF;
	return s;
}

static inline struct writer *open_store(const struct fixture *f)
{
	const struct output_options o = rolling(f);
	struct writer *w = open_writer(f, &o, NULL, T0);

	for (unsigned i = 0; i < N_MINUTES; i++)
		write_quietly(w, minute_at(f, i), T0 + i * 60 + 60);
	return w;
}

static inline int run(struct writer *w, const struct collect_options *options,
		      const struct snapshot *open, struct collected **ret)
{
	cleanup(collect_freep) struct collect *c = NULL;
	struct collect_options o = *options;
	int r;

	if (!o.max_bytes)
		o.max_bytes = 8 << 20;
	if (!o.max_result)
		o.max_result = 8 << 20;
	r = writer_collect(w, &o, open, &c);
	while (r == COLLECT_E_OK)
		r = collect_step(c);
	*ret = c ? collect_take_result(c) : NULL;
	return r;
}

static inline struct profile *read_collected(const struct collected *c)
{
	cleanup(freep) uint8_t *data = malloc(c->bytes + 1);
	struct profile_message message;
	struct profile *p = NULL;

	assert_non_null(data);
	assert_int_equal(pread(c->fd, data, c->bytes + 1, 0), c->bytes);
	assert_int_equal(pprof_read(data, c->bytes, 64 << 20, &p, &message), 0);
	assert_int_equal(profile_total(p, 0), c->samples);
	return p;
}

/* What a collection says in words; NULL: nothing was there. */
static inline char *say(struct writer *w, const struct collect_options *options,
			uint64_t *ret_samples)
{
	cleanup(collected_freep) struct collected *c = NULL;
	cleanup(profile_freep) struct profile *p = NULL;
	cleanup(freep) char *stacks = NULL;
	char *text = NULL;
	size_t length;

	assert_int_equal(run(w, options, NULL, &c), COLLECT_E_DONE);
	*ret_samples = c->samples;
	if (c->fd < 0)
		return NULL;
	p = read_collected(c);
	assert_int_equal(collapsed_write(p, &stacks, &length), 0);
	assert_true(asprintf(&text, "%s%ld %ld %s %zu", stacks, (long)p->time_ns,
			     (long)p->duration_ns,
			     profile_string(p, p->comments[p->n_comments - 1]),
			     (size_t)c->n_windows) > 0);
	return text;
}

static inline struct collect_options range(const char *service, unsigned first, unsigned end)
{
	return (struct collect_options){
		.service = service,
		.select = {.since_ns = (T0 + first * 60) * NS + 1,
			   .until_ns = (T0 + end * 60) * NS},
	};
}

#endif
