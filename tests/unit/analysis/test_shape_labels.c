/* SPDX-License-Identifier: MIT */
/* Labels: samples that they choose, and frames that they become. */
#include "tests/unit/analysis/shape_fixture.h"

static struct fixture with_labels(void)
{
	struct fixture f = begin();
	uint32_t x = place(&f, f.mapping_a, 0x1010, "x");
	struct profile_label labels[3];

	labels[0] = text_label(&f, "user", "io");
	labels[1] = text_label(&f, "user", "a,b");
	labels[2] = number_label(&f, "size", 2048, "bytes");
	sample(&f, 1, labels, 3, 1, x);
	labels[0] = text_label(&f, "user", "net");
	labels[1] = number_label(&f, "pid", 7, "");
	labels[2] = number_label(&f, "size", 3, ""); /* the other sample says of what */
	sample(&f, 2, labels, 3, 1, x);
	labels[0] = number_label(&f, "size", 1 << 20, "bytes");
	labels[1] = number_label(&f, "size", 5, "");
	sample(&f, 4, labels, 2, 1, x);
	labels[0] = number_label(&f, "pid", 0, ""); /* which is none */
	sample(&f, 8, labels, 1, 1, x);
	return f;
}

#define ALL "x=1 user user size\nx=2 user pid size\nx=4 size size\nx=8 pid\n"

static void test_tagfocus(void **state)
{
	struct fixture f = with_labels();

	(void)state;
	CHECK(&f, "x=1 user user size\n", .tagfocus = "io");
	CHECK(&f, "x=1 user user size\n", .tagfocus = "^user:io$");
	CHECK(&f, "x=1 user user size\n", .tagfocus = "io,user"); /* both */
	CHECK(&f, "TagFocus expression matched no samples\n", .tagfocus = "io,net");
	CHECK(&f, "x=1 user user size\nx=2 user pid size\n", .tagfocus = "user=io,net"); /* any */
	CHECK(&f, "TagFocus expression matched no samples\n", .tagfocus = "pid=io");
	CHECK(&f, "x=2 user pid size\nx=4 size size\nx=8 pid\n", .tagignore = "io");
	CHECK(&f, ALL "TagIgnore expression matched no samples\n", .tagignore = "nobody");
	end(&f);
}

#define RANGE(option, text) option ":Interpreted '" text "' as range, not regexp\n"

static void test_ranges(void **state)
{
	struct fixture f = with_labels();

	(void)state;
	CHECK(&f, "x=1 user user size\n" RANGE("tagfocus", "2kb"), .tagfocus = "2kb");
	/* The number of a label that is in no unit is taken for one in any: pid 7. */
	CHECK(&f,
	      "x=1 user user size\nx=2 user pid size\nx=4 size size\n" RANGE("tagfocus", "1kb:"),
	      .tagfocus = "1kb:");
	CHECK(&f, "x=2 user pid size\nx=4 size size\n" RANGE("tagfocus", ":5b"),
	      .tagfocus = "size=:5b");
	CHECK(&f, "x=1 user user size\n" RANGE("tagfocus", "1kb:512kb"),
	      .tagfocus = "size=1kb:512kb");
	CHECK(&f, "x=2 user pid size\n" RANGE("tagfocus", "7"), .tagfocus = "pid=7");
	CHECK(&f, "x=2 user pid size\n" RANGE("tagfocus", "-1:+7"), .tagfocus = "pid=-1:+7");
	CHECK(&f, ALL RANGE("tagignore", "2s") "TagIgnore expression matched no samples\n",
	      .tagignore = "2s");
	/* Bounds of two kinds are an expression. */
	CHECK(&f, "TagFocus expression matched no samples\n", .tagfocus = "1:2kb");
	CHECK(&f, "TagFocus expression matched no samples\n", .tagfocus = "1kb:2kb:3kb");
	end(&f);
}

static void test_tagshow_and_taghide(void **state)
{
	struct fixture f = with_labels();

	(void)state;
	CHECK(&f, "x=1 user user\nx=2 user\nx=4\nx=8\n", .tagshow = "user");
	CHECK(&f, "x=1 size\nx=2 pid size\nx=4 size size\nx=8\n", .taghide = "user");
	CHECK(&f, "x=1\nx=2 pid\nx=4\nx=8\n", .taghide = "u", .tagshow = "^(user|pid)$");
	CHECK(&f, "x=1\nx=2\nx=4\nx=8\nTagShow expression matched no samples\n", .tagshow = "none");
	CHECK(&f,
	      "x=1 user user size\nx=2 user pid size\nx=4 size size\nx=8\n"
	      "TagHide expression matched no samples\n",
	      .taghide = "none");
	/* Filters by labels come before. */
	CHECK(&f, "x=1 size\n", .tagfocus = "io", .taghide = "user");
	end(&f);
}

static void test_labels_as_frames(void **state)
{
	struct fixture f = with_labels();

	(void)state;
	CHECK(&f, "x io,a,b=1 user user size\nx net=2 user pid size\nx =4 size size\nx =8 pid\n",
	      .tagroot = "user");
	CHECK(&f,
	      "2kB@size x @pid io,a,b@user=1 user user size\n"
	      "3@size x 7@pid net@user=2 user pid size\n"
	      "1MB,5@size x @pid @user=4 size size\n"
	      "@size x @pid @user=8 pid\n",
	      .tagroot = "user,,pid", .tagleaf = "size", .granularity = SHAPE_FILEFUNCTIONS);
	CHECK(&f,
	      "2048B x=1 user user size\n3 x=2 user pid size\n1048576B,5B x=4 size size\n"
	      " x=8 pid\n",
	      .tagleaf = "size", .unit = "B");
	/* Filters see these frames, too. */
	CHECK(&f, "x net=2 user pid size\n", .tagroot = "user", .focus = "net");
	CHECK(&f, "io,a,b=1 user user size\nnet=2 user pid size\n", .tagroot = "user",
	      .show = "io|net");
	CHECK(&f,
	      "x =1 user user size\nx =2 user pid size\nx =4 size size\nx =8 pid\n"
	      "TagRoot expression matched no samples\n",
	      .tagroot = "none");
	end(&f);
}

/* A key is the file of its frames: it tells them apart, filters match it, and it is cleaned. */
static void test_keys_as_files(void **state)
{
	struct fixture f = begin();
	uint32_t x = place(&f, f.mapping_a, 0x1010, "x");
	struct profile_label labels[2];

	(void)state;
	labels[0] = text_label(&f, "./a//key", "same");
	labels[1] = text_label(&f, "b", "same");
	sample(&f, 1, labels, 2, 1, x);
	labels[0] = number_label(&f, "zero", 0, "");
	sample(&f, 2, labels, 1, 1, x);
	CHECK(&f, "x same@b same@a/key=1 ./a//key b\nx @b @a/key=2 zero\n", .tagroot = "./a//key,b",
	      .granularity = SHAPE_FILEFUNCTIONS);
	CHECK(&f, "x same=1 ./a//key b\nx =2 zero\n", .tagroot = "b", .focus = "^b$");
	CHECK(&f, "x =1 ./a//key b\nx =2 zero\nTagRoot expression matched no samples\n",
	      .tagroot = "zero");
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tagfocus),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_tagshow_and_taghide),
		cmocka_unit_test(test_labels_as_frames),
		cmocka_unit_test(test_keys_as_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
