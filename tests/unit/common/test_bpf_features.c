/* SPDX-License-Identifier: MIT */
/* The features of kernels whose BTF the test makes up: names and what is between them. */
#include "common/bpf_features.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/temp_dir.h"

/* In the order of the enumerations. */
static const char v5_10[] = "\0BPF_MAP_TYPE_RINGBUF\0BPF_FUNC_probe_read_user\0"
			    "BPF_FUNC_get_task_stack\0BPF_FUNC_ringbuf_output";
static const char v5_15[] = "\0BPF_MAP_TYPE_RINGBUF\0BPF_FUNC_get_current_task_btf\0"
			    "BPF_FUNC_get_attach_cookie\0BPF_FUNC_task_pt_regs";
static const char v5_17[] =
	"\0BPF_MAP_TYPE_RINGBUF\0BPF_FUNC_get_current_task_btf\0BPF_FUNC_get_attach_cookie\0"
	"BPF_FUNC_task_pt_regs\0BPF_FUNC_get_branch_snapshot\0BPF_FUNC_loop";

static void expect(const char *btf, size_t size, const char *missing)
{
	char text[BPF_FEATURES_TEXT_MAX];

	bpf_features_list_missing(BPF_FEATURES_SAMPLES, btf, size, text);
	assert_string_equal(text, missing);
}

static void test_kernels(void **state)
{
	(void)state;
	expect(v5_10, sizeof(v5_10),
	       "bpf_get_current_task_btf (5.11), attach cookies (5.15), bpf_task_pt_regs (5.15), "
	       "bpf_loop (5.17)");
	expect(v5_15, sizeof(v5_15), "bpf_loop (5.17)");
	expect(v5_17, sizeof(v5_17), "");
}

static void test_waits(void **state)
{
	static const char all[] = "\0btf_trace_sched_switch\0btf_trace_" BPF_FEATURES_INTERRUPT
				  "\0last_queued\0runnable_weight";
	static const char without[] = "\0btf_trace_sched_switch\0last_queued\0runnable_weight";
	char text[BPF_FEATURES_TEXT_MAX];

	(void)state;
	bpf_features_list_missing(BPF_FEATURES_WAITS, all, sizeof(all), text);
	assert_string_equal(text, "");
	bpf_features_list_missing(BPF_FEATURES_WAITS, without, sizeof(without), text);
	assert_string_equal(text, "the tracepoint " BPF_FEATURES_INTERRUPT);
	bpf_features_list_missing(BPF_FEATURES_WAITS, v5_17, sizeof(v5_17), text);
	assert_non_null(strstr(text, "CONFIG_SCHED_INFO, CONFIG_FAIR_GROUP_SCHED"));
}

static bool has_loop(const char *btf, size_t size)
{
	char text[BPF_FEATURES_TEXT_MAX];

	bpf_features_list_missing(BPF_FEATURES_SAMPLES, btf, size, text);
	assert_non_null(strstr(text, "ring buffers (5.8), "));
	return !strstr(text, "bpf_loop");
}

/* A name is whole: neither the beginning nor the end of another one, nor cut off. */
static void test_whole_names(void **state)
{
	static const char longer[] = "\0BPF_FUNC_loop_more", tail[] = "\0xBPF_FUNC_loop";
	static const char whole[] = "\0BPF_FUNC_loop";

	(void)state;
	assert_false(has_loop(longer, sizeof(longer)));
	assert_false(has_loop(tail, sizeof(tail)));
	assert_false(has_loop(whole, sizeof(whole) - 1));
	assert_true(has_loop(whole, sizeof(whole)));
	assert_false(has_loop("", 0));
}

/* Wherever in a large file the names are, also across the pieces in which it is read. */
static void test_files(void **state)
{
	struct temp_dir dir;
	char text[BPF_FEATURES_TEXT_MAX];

	(void)state;
	temp_dir_make(&dir);
	assert_int_equal(bpf_features_read_missing(BPF_FEATURES_SAMPLES, dir.fd, text), ENOENT);
	for (size_t at = (1 << 16) - sizeof(v5_17) - 2; at < (1 << 16) + 70; at++) {
		static uint8_t btf[3 << 16];

		memset(btf, 'x', sizeof(btf));
		memcpy(btf + at, v5_17, sizeof(v5_17));
		write_file(dir.fd, "kernel/btf/vmlinux", btf, sizeof(btf));
		assert_int_equal(bpf_features_read_missing(BPF_FEATURES_SAMPLES, dir.fd, text), 0);
		assert_string_equal(text, "");
	}
	write_text(dir.fd, "kernel/btf/vmlinux", "");
	assert_int_equal(bpf_features_read_missing(BPF_FEATURES_SAMPLES, dir.fd, text), 0);
	assert_string_not_equal(text, "");
	temp_dir_remove(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernels),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_whole_names),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
