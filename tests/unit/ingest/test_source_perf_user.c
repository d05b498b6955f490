/* SPDX-License-Identifier: MIT */
/* Over a /proc of our own, in which there is a file per thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/ingest/source_perf_stack.h"
#include "tests/support/temp_dir.h"

#define KTHREAD   0x00200040u
#define IO_WORKER 0x00004050u
#define ORDINARY  0x00400000u

struct fixture {
	struct temp_dir proc;
	struct perf_tasks tasks;
	struct perf_sample p;
	struct sample sample;
	struct sample_rest rest;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	temp_dir_make(&f->proc);
	f->tasks.proc_fd = f->proc.fd;
	*state = f;
	return 0;
}

static void remove_stat(struct fixture *f, pid_t tid)
{
	char path[32];

	snprintf(path, sizeof(path), "%d/stat", (int)tid);
	unlinkat(f->tasks.proc_fd, path, 0);
	snprintf(path, sizeof(path), "%d", (int)tid);
	unlinkat(f->tasks.proc_fd, path, AT_REMOVEDIR);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	temp_dir_remove(&f->proc);
	free(f);
	return 0;
}

static void write_stat(struct fixture *f, pid_t tid, const char *comm, unsigned flags)
{
	char path[32], text[256];

	snprintf(path, sizeof(path), "%d/stat", (int)tid);
	snprintf(text, sizeof(text), "%d (%s) S 2 0 0 0 -1 %u 0 0 0 0 0 0 0 0 20 0 1 0 1\n",
		 (int)tid, comm, flags);
	write_text(f->proc.fd, path, text);
}

static void judge(struct fixture *f, bool copies)
{
	f->sample.rest = &f->rest;
	perf_tasks_judge(&f->tasks, &f->p, copies, &f->sample, &f->rest);
}

static void test_without_user(void **state)
{
	struct fixture *f = *state;

	write_stat(f, 5, "a) S 1 (b", KTHREAD);
	write_stat(f, 6, "ordinary", ORDINARY);
	write_stat(f, 7, "iou-wrk", IO_WORKER);
	f->p = (struct perf_sample){.pid = 5, .tid = 5};
	judge(f, true);
	assert_int_equal(f->sample.quality, STACK_COMPLETE);
	assert_true(f->sample.kernel_thread);
	assert_null(f->sample.rest);
	f->p.tid = 6;
	judge(f, true);
	assert_int_equal(f->sample.quality, STACK_NO_USER);
	assert_false(f->sample.kernel_thread);
	f->p.tid = 7;
	judge(f, true);
	assert_int_equal(f->sample.quality, STACK_COMPLETE);
	assert_false(f->sample.kernel_thread);
	f->p.tid = 8; /* gone */
	judge(f, true);
	assert_int_equal(f->sample.quality, STACK_NO_USER);
}

/* Read once, until another thread gets the number. */
static void test_cache(void **state)
{
	struct fixture *f = *state;

	f->p = (struct perf_sample){.pid = 5, .tid = 5};
	write_stat(f, 5, "k", KTHREAD);
	judge(f, true);
	remove_stat(f, 5);
	judge(f, true);
	assert_true(f->sample.kernel_thread);
	perf_tasks_forget(&f->tasks, 5 + PERF_TASK_SLOTS);
	judge(f, true);
	assert_false(f->sample.kernel_thread);
	write_stat(f, 5, "k", KTHREAD);
	f->p.tid = 5 + PERF_TASK_SLOTS;
	judge(f, true);
	assert_false(f->sample.kernel_thread);
	f->p.tid = 5;
	judge(f, true);
	assert_true(f->sample.kernel_thread);
}

static void test_rest(void **state)
{
	static const uint8_t stack[64];
	struct fixture *f = *state;

	f->p = (struct perf_sample){
		.has_user = true,
		.registers = {.pc = 0x401000, .sp = 0x7ffc0000, .fp = 7, .known = UNWIND_KNOWN_FP},
		.stack = stack,
		.stack_length = 40,
	};
	judge(f, true);
	assert_int_equal(f->sample.quality, STACK_BROKEN);
	assert_int_equal(f->sample.reason, BROKEN_UNKNOWN);
	assert_ptr_equal(f->sample.rest, &f->rest);
	assert_memory_equal(&f->rest.registers, &f->p.registers, sizeof(f->rest.registers));
	assert_int_equal(f->rest.stack_address, 0x7ffc0000);
	assert_int_equal(f->rest.stack_length, 40);
	assert_ptr_equal(f->rest.stack, stack);
	assert_false(f->rest.pushed || f->rest.is_witness || f->rest.start_stack);
}

/* Registers, but nothing of the stack. */
static void test_without_stack(void **state)
{
	struct fixture *f = *state;

	f->p = (struct perf_sample){.has_user = true, .registers = {.pc = 0x401000, .sp = 8}};
	f->p.registers.is_return = 1;
	judge(f, true); /* in a system call: exiting or in exec */
	assert_int_equal(f->sample.quality, STACK_NO_USER);
	assert_null(f->sample.rest);
	judge(f, false); /* no copies: who knows */
	assert_int_equal(f->sample.quality, STACK_BROKEN);
	assert_int_equal(f->sample.reason, BROKEN_NO_COPY);
	assert_non_null(f->sample.rest);
	f->p.user_mode = true;
	judge(f, true);
	assert_int_equal(f->sample.quality, STACK_BROKEN);
	assert_int_equal(f->sample.reason, BROKEN_UNREADABLE);
	assert_non_null(f->sample.rest);
	f->p.user_mode = false;
	f->p.registers.is_return = 0;
	judge(f, true); /* a fault in the stack's next page */
	assert_int_equal(f->sample.quality, perf_record_tells_calls ? STACK_BROKEN : STACK_NO_USER);
	f->p.registers = (struct unwind_registers){0}; /* a worker of the kernel's */
	f->p.user_mode = false;
	judge(f, true);
	assert_int_equal(f->sample.quality, STACK_COMPLETE);
	assert_null(f->sample.rest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_without_user, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cache, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rest, setup, teardown),
		cmocka_unit_test_setup_teardown(test_without_stack, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
