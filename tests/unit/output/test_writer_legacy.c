/* SPDX-License-Identifier: MIT */
/* The legacy profile of a process: its text, its slots, and how many there are. */
#include "tests/unit/output/fixture.h"

static void test_legacy_limit(void **state)
{
	struct fixture *f = *state;
	struct output_options o = default_options(f);
	cleanup(writer_freep) struct writer *w = NULL;
	struct output_result *r;

	o.legacy_max_processes = 1;
	w = open_writer(f, &o, NULL, T0);
	r = write_ok(w, everything_at(f, T0), T0 + 60);
	output_result_free(r);
	assert_false(exists(f, DAY_A "20261121T090000Z-60s.work%2Fer-101.prof"));
	assert_true(exists(f, DAY_A "20261121T090000Z-60s.worker-100.prof"));
	assert_int_equal(take_census(f).legacy, EVERYTHING_USER - 11); /* process 2 of a.service */
}

static void test_legacy_text(void **state)
{
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	cleanup(freep) char *data = NULL;
	size_t length;
	char *maps;

	write_quietly(w, everything_at(f, T0), T0 + 60);
	data = slurp(path_of(f, DAY_A "20261121T090000Z-60s.worker-100.prof"), &length);
	data[length] = '\0';
	maps = memmem(data, length, "555500001000-555500004000 r-xp 00001000 00:00 0 ", 48);
	assert_non_null(maps);
	assert_non_null(strstr(maps, "/usr/bin/worker\n"));
	assert_non_null(strstr(maps, "/lib/libx.so.1\n"));  /* generation 0 */
	assert_non_null(strstr(maps, "/usr/bin/ot her\n")); /* 1 */
	assert_non_null(strstr(maps, " [anon]\n"));
	assert_non_null(strstr(maps, "# profd ledger: expected=10 seen=9 source=bpf\n"));
	assert_non_null(strstr(maps, "# profd process: pid=100\n"));
	assert_non_null(strstr(maps, "without_user_frames=0\n"));
}

/* A 32-bit program has slots of four bytes. */
static void test_legacy_32(void **state)
{
	static const struct script script[] = {{1, 0, NULL, {0}, {0x8049100, 0x8049200}, 0, 0, 3}};
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	cleanup(freep) uint8_t *data = NULL;
	struct elf_summary elf = *image_elf(f->program);
	uint32_t header[5];
	size_t length;

	elf.pointer_bytes = 4;
	change_headers(f->program, &elf);
	write_quietly(w, make_snapshot(f, T0, script, 1), T0 + 60);
	data = slurp(path_of(f, DAY_A "20261121T090000Z-60s.worker-100.prof"), &length);
	assert_true(length > sizeof(header));
	memcpy(header, data, sizeof(header));
	assert_int_equal(header[1], 3);
	assert_int_equal(header[3], 10000);
	assert_int_equal(read_legacy(path_of(f, DAY_A "20261121T090000Z-60s.worker-100.prof")), 3);
}

#define T(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_legacy_limit),
		T(test_legacy_text),
		T(test_legacy_32),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
