/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/profile/image_profile.h"
#include "tests/support/says.h"

#define HEADER                                                                                 \
	"version pdb-0.07\nimage 0aF1\nepoch 2611210900\nplatform host one\nevent cpu-clock\n" \
	"period 10101010\ntstart 4010f0\ntsize 8192\ncpuspeed 2400\n"

static struct image_profile *new_profile(void)
{
	struct image_profile *p = NULL;

	assert_int_equal(image_profile_new(&p), 0);
	p->image = strdup("0aF1");
	p->epoch = strdup("2611210900");
	p->platform = strdup("host one");
	p->event = strdup("cpu-clock");
	p->period = 10101010;
	p->tstart = 0x4010f0;
	p->tsize = 8192;
	p->cpuspeed_mhz = 2400;
	return p;
}

struct file {
	uint8_t data[4096];
	size_t n;
};

static struct file file_of(const char *header, const uint32_t *words, size_t n)
{
	struct file f = {.n = strlen(header)};

	memcpy(f.data, header, f.n);
	for (size_t i = 0; i < n; i++) {
		for (unsigned k = 0; k < 4; k++)
			f.data[f.n++] = (uint8_t)(words[i] >> (8 * k));
	}
	return f;
}

#define FILE_OF(header, ...)                             \
	file_of(header, (const uint32_t[]){__VA_ARGS__}, \
		sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void assert_refused(struct file f, const char *part)
{
	struct profile_message message = {""};
	struct image_profile *p = NULL;

	assert_int_equal(image_profile_read(f.data, f.n, &p, &message), IMAGE_PROFILE_E_MALFORMED);
	assert_null(p);
	assert_says(message.text, part);
	assert_memory_equal(message.text, "byte ", 5); /* where */
}

static struct image_profile *accepted(struct file f)
{
	struct profile_message message = {""};
	struct image_profile *p = NULL;
	int r = image_profile_read(f.data, f.n, &p, &message);

	assert_string_equal(message.text, "");
	assert_int_equal(r, IMAGE_PROFILE_E_OK);
	return p;
}

static void test_layout(void **state)
{
	static const struct image_profile_count counts[] = {
		{0, 5}, {1, 6}, {4, 7}, {8, 1}, {UINT32_MAX, 9},
	};
	/* A gap of two addresses costs no more than a chunk, one of three does. */
	struct file expected = FILE_OF(HEADER "samples  \n", 0, 5, 5, 6, 0, 0, 7, 8, 1, 1,
				       UINT32_MAX, 1, 9, 5, 28);
	cleanup(image_profile_freep) struct image_profile *p = new_profile();
	cleanup(freep) uint8_t *data = NULL;
	size_t n;

	(void)state;
	assert_int_equal(image_profile_add(p, counts, 5), IMAGE_PROFILE_E_OK);
	assert_int_equal(image_profile_write(p, &data, &n), 0);
	assert_int_equal(n, expected.n);
	assert_memory_equal(data, expected.data, n);
}

/* However long the header is, the counts begin at a multiple of 4. */
static void test_padding(void **state)
{
	cleanup(image_profile_freep) struct image_profile *p = new_profile();
	char name[] = "hhhhhhhh";

	(void)state;
	for (size_t length = sizeof(name) - 1; length; length--) {
		cleanup(image_profile_freep) struct image_profile *q = NULL;
		cleanup(freep) uint8_t *data = NULL;
		struct profile_message message;
		size_t n;

		name[length] = '\0';
		free(p->platform);
		p->platform = strdup(name);
		assert_int_equal(image_profile_write(p, &data, &n), 0);
		assert_int_equal(n % 4, 0);
		assert_null(memmem(data, n, "samples    ", 11));
		assert_int_equal(image_profile_read(data, n, &q, &message), 0);
		assert_string_equal(q->platform, name);
		assert_int_equal(q->n_counts, 0);
	}
}

static void test_header_survives(void **state)
{
	struct file f = FILE_OF(HEADER "cpuamask  fF\nperiod 7\npath /a\nfoo \t bar  \npath /b c\n"
				       "ledger seen=5\ncpucount 4\nzoo 1\nsamples\n",
				0, 0);
	cleanup(image_profile_freep) struct image_profile *p = accepted(f), *q = NULL;
	cleanup(freep) uint8_t *data = NULL;
	struct profile_message message;
	size_t n;

	(void)state;
	for (unsigned round = 0; round < 2; round++) {
		assert_string_equal(p->image, "0aF1");
		assert_string_equal(p->path, "/a\n/b c");
		assert_string_equal(p->unknown, "cpuamask  fF\nfoo \t bar  \nzoo 1\n");
		assert_string_equal(p->ledger, "seen=5");
		assert_int_equal(p->period, 10101010);
		assert_int_equal(p->tstart, 0x4010f0);
		assert_int_equal(p->cpucount, 4);
		assert_int_equal(image_profile_write(p, &data, &n), 0);
		assert_int_equal(image_profile_read(data, n, &q, &message), 0);
		free(steal_ptr(&data));
		image_profile_free(p);
		p = steal_ptr(&q);
	}
}

static void test_add(void **state)
{
	static const struct image_profile_count first[] = {{4, 1}, {8, 2}, {9, 3}};
	static const struct image_profile_count second[] = {{0, 10}, {8, 20}, {9, 0}, {100, 30}};
	static const struct image_profile_count merged[] = {
		{0, 10}, {4, 1}, {8, 22}, {9, 3}, {100, 30}};
	static const struct image_profile_count unordered[] = {{4, 1}, {4, 1}};
	cleanup(image_profile_freep) struct image_profile *p = new_profile(), *q = new_profile();
	struct image_profile_count big = {8, UINT32_MAX - 22};

	(void)state;
	assert_int_equal(image_profile_add(p, first, 3), IMAGE_PROFILE_E_OK);
	assert_int_equal(image_profile_add(p, second, 4), IMAGE_PROFILE_E_OK);
	assert_int_equal(p->n_counts, 5);
	assert_memory_equal(p->counts, merged, sizeof(merged));
	assert_int_equal(p->total, 66);
	assert_int_equal(image_profile_add(p, unordered, 2), -EINVAL);
	assert_int_equal(image_profile_add(p, &big, 1), IMAGE_PROFILE_E_OVERFLOW);
	big.offset = 7;
	big.count = UINT32_MAX - 65;
	assert_int_equal(image_profile_add(p, &big, 1), IMAGE_PROFILE_E_OVERFLOW);
	assert_memory_equal(p->counts, merged, sizeof(merged));
	assert_int_equal(p->total, 66);
	big.count--;
	assert_int_equal(image_profile_add(p, &big, 1), IMAGE_PROFILE_E_OK);
	assert_true(p->total == UINT32_MAX);
	assert_int_equal(image_profile_add(q, p->counts, p->n_counts), IMAGE_PROFILE_E_OK);
	assert_int_equal(q->n_counts, 6);
	assert_int_equal(image_profile_add(q, p->counts, p->n_counts), IMAGE_PROFILE_E_OVERFLOW);
}

static void test_write_refusals(void **state)
{
	cleanup(image_profile_freep) struct image_profile *p = new_profile();
	struct image_profile_count counts[] = {{5, 1}, {5, 1}};
	cleanup(freep) uint8_t *data = NULL;
	char *good, texts[][4] = {"", " x", "a\nb"}, no_hex[] = "xyz";
	size_t n;

	(void)state;
	good = p->platform;
	for (size_t i = 0; i < 3; i++) {
		p->platform = texts[i];
		assert_int_equal(image_profile_write(p, &data, &n), -EINVAL);
	}
	p->platform = good;
	good = p->image;
	p->image = no_hex;
	assert_int_equal(image_profile_write(p, &data, &n), -EINVAL);
	p->image = good;
	p->unknown = strdup("one\n");
	assert_int_equal(image_profile_write(p, &data, &n), -EINVAL);
	free(p->unknown);
	p->unknown = strdup("one two");
	assert_int_equal(image_profile_write(p, &data, &n), -EINVAL);
	free(steal_ptr(&p->unknown));
	p->counts = counts;
	p->n_counts = 2;
	p->total = 2;
	assert_int_equal(image_profile_write(p, &data, &n), -EINVAL);
	counts[1].offset = 6;
	p->total = 3;
	assert_int_equal(image_profile_write(p, &data, &n), -EINVAL);
	p->total = 2;
	assert_int_equal(image_profile_write(p, &data, &n), 0);
	p->counts = NULL;
	p->n_counts = 0;
}

static void test_header_refusals(void **state)
{
	static const char *const lines[] = {
		"image 0aF1\n",      "epoch 2611210900\n", "platform host one\n",
		"event cpu-clock\n", "period 10101010\n",  "tstart 4010f0\n",
		"tsize 8192\n",      "cpuspeed 2400\n",
	};
	char header[1024];

	(void)state;
	for (size_t i = 0; i < 8; i++) {
		const char *at = strstr(HEADER, lines[i]);

		snprintf(header, sizeof(header), "%.*s%ssamples\n", (int)(at - HEADER), HEADER,
			 at + strlen(lines[i]));
		assert_refused(FILE_OF(header, 0, 0), "ends without a line");
		snprintf(header, sizeof(header), "%s%ssamples\n", HEADER, lines[i]);
		if (i != 4)
			assert_refused(FILE_OF(header, 0, 0), "a second line");
	}
	assert_refused(file_of("", NULL, 0), "empty");
	assert_refused(file_of("image 0\n", NULL, 0), "first line is not version");
	assert_refused(file_of("version pdb-1.01\n", NULL, 0), "pdb-1.1 is not known");
	assert_refused(file_of("version pdb-0.7x\n", NULL, 0), "not pdb-");
	assert_refused(file_of(HEADER, NULL, 0), "without end");
	assert_refused(file_of(HEADER "\nsamples\n", NULL, 0), "not a header line");
	assert_refused(file_of(HEADER "word\nsamples\n", NULL, 0), "not a header line");
	assert_refused(file_of(HEADER "cpucount 4294967296\nsamples\n", NULL, 0), "too big");
	assert_refused(file_of(HEADER "cpucount 0x4\nsamples\n", NULL, 0), "not a number");
	assert_refused(file_of("version pdb-0.07\nimage xyz\n", NULL, 0), "hexadecimal");
	assert_refused(file_of("version pdb-0.07\nepoch 26112109\n", NULL, 0), "8 digits");
}

static void test_binary_refusals(void **state)
{
	(void)state;
	image_profile_free(accepted(FILE_OF(HEADER "samples\t\n", 4, 2, 0, 9, 6, 1, 1, 2, 10)));
	assert_refused(FILE_OF(HEADER "samples\n", 0), "4 bytes of counts");
	assert_refused(FILE_OF(HEADER "samples\n", 4, 2, 8, 9, 5, 1, 1, 3, 18), "overlaps");
	assert_refused(FILE_OF(HEADER "samples\n", 4, 1, 8, 0, 1, 1, 2, 9), "precedes");
	assert_refused(FILE_OF(HEADER "samples\n", 4, 3, 8, 9, 2, 17), "reaches into the footer");
	assert_refused(FILE_OF(HEADER "samples\n", 4, 1, 8, 9, 1, 8, 8), "footer");
	assert_refused(FILE_OF(HEADER "samples\n", 4, 0, 0, 0), "no addresses");
	assert_refused(FILE_OF(HEADER "samples\n", 4, 1, 8, 2, 8), "says 2 addresses");
	assert_refused(FILE_OF(HEADER "samples\n", 4, 1, 8, 1, 9), "says 9 samples");
	assert_refused(FILE_OF(HEADER "samples\n", UINT32_MAX, 2, 8, 9, 2, 17), "2^32");
	assert_refused(FILE_OF(HEADER "samples\n", 4, 2, UINT32_MAX, 2, 2, 1), "says 1 samples");
}

static void test_epochs(void **state)
{
	char header[] = "version pdb-0.06\nimage 0\nepoch 26112109000000\nplatform h\nevent e\n"
			"period 1\ntstart 0\ntsize 1\ncpuspeed 0\nsamples\n";
	cleanup(image_profile_freep) struct image_profile *p = accepted(FILE_OF(header, 0, 0));

	(void)state;
	assert_string_equal(p->epoch, "26112109000000");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout),          cmocka_unit_test(test_padding),
		cmocka_unit_test(test_header_survives), cmocka_unit_test(test_add),
		cmocka_unit_test(test_write_refusals),  cmocka_unit_test(test_header_refusals),
		cmocka_unit_test(test_binary_refusals), cmocka_unit_test(test_epochs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
