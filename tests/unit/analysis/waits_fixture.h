/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_ANALYSIS_WAITS_FIXTURE_H
#define PROFD_TESTS_UNIT_ANALYSIS_WAITS_FIXTURE_H

/* Profiles with waiting time, by hand. Include after cmocka.h. */
#include <string.h>

#include "common/profile/pprof.h"
#include "common/profile/profile.h"

struct waiting {
	const char *stack; /* "leaf;caller;root"; "k:" in front: of the kernel */
	int64_t cpu, off;
	const char *thread, *state, *wait; /* labels, or NULL */
	int64_t pid, tid;
};

static inline struct profile *waits_profile_of(const char *const *types)
{
	struct profile *p;

	assert_int_equal(profile_new(&p), 0);
	for (; *types; types++)
		assert_int_equal(profile_add_sample_type(
					 p, *types,
					 strcmp(*types, "samples") == 0 ? "count" : "nanoseconds"),
				 0);
	return p;
}

static inline struct profile *waits_profile(void)
{
	static const char *const types[] = {"samples", "cpu", "off_cpu", NULL};

	return waits_profile_of(types);
}

static inline uint32_t waits_location(struct profile *p, const char *name)
{
	const bool is_kernel = strncmp(name, "k:", 2) == 0;
	struct profile_function f = {0};
	struct profile_line line = {0};
	uint32_t location;

	assert_int_equal(profile_add_text(p, name + 2 * is_kernel, &f.name), 0);
	assert_int_equal(profile_add_function(p, &f, &line.function), 0);
	assert_int_equal(profile_add_location(p, PROFILE_NONE,
					      (is_kernel ? PROFILE_KERNEL_HALF : 0) + f.name, &line,
					      1, &location),
			 0);
	return location;
}

static inline void waits_label(struct profile *p, struct profile_label *labels, uint32_t *n,
			       const char *key, const char *text, int64_t number)
{
	struct profile_label *l = &labels[*n];

	if (!text && !number)
		return;
	*l = (struct profile_label){.num = number};
	assert_int_equal(profile_add_text(p, key, &l->key), 0);
	if (text)
		assert_int_equal(profile_add_text(p, text, &l->str), 0);
	++*n;
}

/* A sample of the profile's types, of which the first is how many samples it is. */
static inline void waits_add(struct profile *p, const struct waiting *w)
{
	int64_t values[PROFILE_TYPES_MAX] = {1};
	struct profile_label labels[8];
	uint32_t locations[64], n = 0, n_labels = 0;
	char text[512], *rest = text, *name;
	unsigned type;

	assert_true(strlen(w->stack) < sizeof(text));
	strcpy(text, w->stack);
	while ((name = strsep(&rest, ";")))
		locations[n++] = waits_location(p, name);
	if (profile_find_type(p, "cpu", &type))
		values[type] = w->cpu;
	if (profile_find_type(p, "off_cpu", &type))
		values[type] = w->off;
	waits_label(p, labels, &n_labels, "pid", NULL, w->pid);
	waits_label(p, labels, &n_labels, "tid", NULL, w->tid);
	waits_label(p, labels, &n_labels, "thread", w->thread, 0);
	waits_label(p, labels, &n_labels, "state", w->state, 0);
	waits_label(p, labels, &n_labels, "wait", w->wait, 0);
	assert_int_equal(profile_append_sample(p, locations, n, values, labels, n_labels), 0);
}

#endif
