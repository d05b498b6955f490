/* SPDX-License-Identifier: MIT */
/* A profile says what identifies the files that its samples are in, so that mappings find it. */
#include "tests/unit/output/fixture.h"

#include "common/profile/file_ids.h"

#define FILE_A DAY_A "20261121T090000Z-60s.pb.gz"
#define FILE_B DAY_B "20261121T090000Z-60s.pb.gz"
#define HASH   "000102030405060708090a0b0c0d0e0f"
#define GO_ID  "aaaa/bbbb/cccc/dddd"

static void set_release(struct image *image, const struct elf_release *release)
{
	const struct elf_summary elf = *image_elf(image);

	free(atomic_exchange(&image->headers, NULL));
	assert_int_equal(image_set_headers(image, &elf, NULL, release), 0);
}

static unsigned count_ids(const struct profile *p)
{
	unsigned n = 0;

	for (size_t i = 0; i < p->n_comments; i++)
		n += strncmp(profile_string(p, p->comments[i]), FILE_IDS_LINE,
			     strlen(FILE_IDS_LINE)) == 0;
	return n;
}

/* Of the mapping of @path. */
static const struct file_ids *find_of(const struct file_ids_table *t, const struct profile *p,
				      const char *path)
{
	for (uint32_t i = 0; i < p->n_mappings; i++)
		if (strcmp(profile_string(p, p->mappings[i].path), path) == 0)
			return file_ids_find(t, p, &p->mappings[i]);
	return NULL;
}

static void test_files(void **state)
{
	struct elf_release release = {.go_id = GO_ID};
	struct fixture *f = *state;
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	cleanup(file_ids_deinit) struct file_ids_table t = {0};
	cleanup(profile_freep) struct profile *a = NULL, *b = NULL;
	struct snapshot *s = everything_at(f, T0);
	const struct file_ids *ids;

	for (uint8_t i = 0; i < sizeof(release.htlhash); i++)
		release.htlhash[i] = i;
	set_release(f->library, &release);
	s->formats = FORMAT_PPROF;
	write_quietly(w, s, T0 + 60);
	a = read_pprof(path_of(f, FILE_A));
	assert_int_equal(count_ids(a), 1);
	assert_int_equal(file_ids_read(&t, a), 0);
	ids = find_of(&t, a, f->library->path);
	assert_non_null(ids);
	assert_string_equal(ids->htlhash, HASH);
	assert_string_equal(ids->go, GO_ID);
	assert_int_equal(strlen(ids->gnu), 40);
	b = read_pprof(path_of(f, FILE_B));
	assert_int_equal(count_ids(b), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_files, fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests_name("pprof_file_ids", tests, NULL, NULL);
}
