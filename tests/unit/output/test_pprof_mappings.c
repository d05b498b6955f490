/* SPDX-License-Identifier: MIT */
/* The mappings that a .pb.gz says its addresses are in, as readers tell them apart. */
#include "tests/unit/output/fixture.h"

#define MAPPED  UINT64_C(0x3000) /* by map() */
#define ANON_2  (ANON_AT + 0x100000)
#define ANON_3  (ANON_AT + 0x200000)
#define SESSION "sessions/s1-x/20261121T090000Z-60s.pb.gz"

static struct profile *write_and_read(struct fixture *f, struct snapshot *s)
{
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);

	s->session = 1;
	s->owner = geteuid();
	s->session_name = strdup("s1-x");
	s->formats = FORMAT_PPROF;
	write_quietly(w, s, T0 + 60);
	return read_pprof(path_of(f, SESSION));
}

/* The one that is there where an address is; its file is @path. */
static const struct profile_mapping *mapping_of(const struct profile *p, uint64_t address,
						const char *path)
{
	for (size_t i = 0; i < p->n_locations; i++) {
		const struct profile_location *l = &p->locations[i];
		const struct profile_mapping *m;

		if (l->address != address)
			continue;
		assert_true(l->mapping < p->n_mappings);
		m = &p->mappings[l->mapping];
		assert_true(m->start <= address && address < m->limit);
		assert_string_equal(profile_string(p, m->path), path);
		return m;
	}
	fail();
	return NULL;
}

/*
 * What go tool pprof takes for one mapping when it merges, with which it also begins to read a
 * single file: the same file (or build id), the same length in pages, the same offset.
 */
static bool are_one_to_readers(const struct profile *p, const struct profile_mapping *a,
			       const struct profile_mapping *b)
{
	return strcmp(profile_string(p, a->path), profile_string(p, b->path)) == 0 &&
	       a->limit - a->start == b->limit - b->start && a->offset == b->offset;
}

static void test_anonymous_memory(void **state)
{
	static const struct script script[] = {
		{1, 0, NULL, {0}, {ANON_AT + 0x10, PROGRAM_AT + 0x100}, 0, 0, 3},
		{1, 0, NULL, {0}, {ANON_2 + 0x10, PROGRAM_AT + 0x100}, 0, 0, 4},
		{1, 0, NULL, {0}, {ANON_2 + 0x20, PROGRAM_AT + 0x100}, 0, 0, 4},
		/* Another process, the same place: it is the same mapping, as it always was. */
		{2, 0, NULL, {0}, {ANON_2 + 0x30, PROGRAM_2 + 0x100}, 0, 0, 5},
		{2, 0, NULL, {0}, {ANON_3 + 0x10, PROGRAM_2 + 0x100}, 0, 0, 6},
	};
	struct fixture *f = *state;
	struct snapshot *s = make_snapshot(f, T0, script, ARRAY_SIZE(script));
	cleanup(profile_freep) struct profile *p = NULL;
	const struct profile_mapping *first, *second, *third;

	map(&s->processes[0].mappings, f->anon, ANON_2, 0, 1);
	map(&s->processes[1].mappings, f->anon, ANON_2, 0, 1);
	map(&s->processes[1].mappings, f->anon, ANON_3, 0, 1);
	p = write_and_read(f, s);
	first = mapping_of(p, ANON_AT + 0x10, "[anon]");
	second = mapping_of(p, ANON_2 + 0x10, "[anon]");
	third = mapping_of(p, ANON_3 + 0x10, "[anon]");
	assert_int_equal(first->start, ANON_AT);
	assert_int_equal(second->start, ANON_2);
	assert_int_equal(second->limit, ANON_2 + MAPPED);
	assert_int_equal(third->start, ANON_3);
	assert_false(are_one_to_readers(p, first, second));
	assert_false(are_one_to_readers(p, first, third));
	assert_false(are_one_to_readers(p, second, third));
	assert_ptr_equal(mapping_of(p, ANON_2 + 0x20, "[anon]"), second);
	assert_ptr_equal(mapping_of(p, ANON_2 + 0x30, "[anon]"), second);
	/* Of a file it is where the segment lies in it. */
	assert_int_equal(mapping_of(p, PROGRAM_AT + 0x100, "/usr/bin/worker")->offset, 0x1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_anonymous_memory, fixture_setup,
						fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
