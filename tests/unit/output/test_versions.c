/* SPDX-License-Identifier: MIT */
/* Which of the things that are known of a program is its version, and where profiles have it. */
#include "tests/unit/output/fixture.h"

#include "daemon/output/versions.h"

static const struct elf_summary elf = {.build_id_length = 20,
				       .build_id = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd}};

static const char *choose(const struct go_build *go, const struct elf_release *release)
{
	static char version[VERSION_SIZE];

	version_choose(&(struct version_facts){&elf, go, release, NULL}, version);
	return version;
}

static void test_the_first_of_them(void **state)
{
	const struct elf_release packaged = {.version = "5.2-3", .go_id = "0123456789ab"};
	const struct elf_release bare = {.go_id = "0123456789ab"};
	struct go_build go = {.go = "go1.26.8",
			      .version = "v1.2.3",
			      .revision = "fedcba9876543210fedcba9876543210fedcba98"};
	const struct elf_summary no_id = {0};
	char version[VERSION_SIZE];

	(void)state;
	assert_string_equal(choose(&go, &packaged), "5.2-3");
	assert_string_equal(choose(&go, &bare), "v1.2.3");
	strcpy(go.version, "(devel)");
	assert_string_equal(choose(&go, &bare), "fedcba987654");
	go.is_modified = 1;
	assert_string_equal(choose(&go, &bare), "fedcba987654+dirty");
	go.version[0] = go.revision[0] = '\0';
	assert_string_equal(choose(&go, &bare), "0123456789ab");
	version_choose(&(struct version_facts){&elf, &go, &bare, "1:2-3"}, version);
	assert_string_equal(version, "1:2-3");
	assert_string_equal(choose(NULL, NULL), "0123456789ab");
	version_choose(
		&(struct version_facts){&no_id, &go,
					&(struct elf_release){.go_id = "a/b/c/dEf-_6789012zz"}, ""},
		version);
	assert_string_equal(version, "dEf-_6789012");
	version_choose(&(struct version_facts){0}, version);
	assert_string_equal(version, "");
}

/* Nothing of them is longer than a version may be, or cut within a character. */
static void test_long_ones(void **state)
{
	struct go_build go = {.go = "go1.26.8"};

	(void)state;
	for (size_t i = 0; i + 3 < sizeof(go.version); i += 3)
		strcpy(go.version + i, "\xe2\x82\xac");
	assert_int_equal(strlen(choose(&go, NULL)), 63);
}

static int64_t count_version(const struct profile *p, const char *version)
{
	int64_t n = 0;

	for (size_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *s = &p->samples[i];

		for (uint32_t j = 0; j < s->n_labels; j++) {
			const struct profile_label *l = &p->sample_labels[s->first_label + j];

			if (strcmp(profile_string(p, l->key), "version") == 0 &&
			    strcmp(profile_string(p, l->str), version) == 0)
				n++;
		}
	}
	return n;
}

static struct profile *write_with(struct fixture *f, unsigned labels, uint64_t second)
{
	cleanup(writer_freep) struct writer *w = open_writer(f, NULL, NULL, T0);
	struct snapshot *s = everything_at(f, T0 + second);
	char name[64];

	s->formats = FORMAT_PPROF;
	s->labels = labels;
	write_quietly(w, s, T0 + second + 60);
	snprintf(name, sizeof(name), DAY_A "20261121T090%u00Z-60s.pb.gz", (unsigned)second / 60);
	return read_pprof(path_of(f, name));
}

static void test_profiles(void **state)
{
	struct fixture *f = *state;
	cleanup(profile_freep) struct profile *p = NULL, *q = NULL;

	p = write_with(f, LABEL_VERSION, 0);
	assert_true(count_version(p, "111111111111") > 0);
	q = write_with(f, 0, 60);
	assert_int_equal(count_version(q, "111111111111"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_of_them),
		cmocka_unit_test(test_long_ones),
		cmocka_unit_test_setup_teardown(test_profiles, fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
