/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <linux/perf_event.h>
#include <stdlib.h>

#include "daemon/ingest/perf_record.h"

/* Builds one record, word by word. */
struct builder {
	uint8_t bytes[16384];
	size_t length;
};

static void put_u32(struct builder *b, uint32_t value)
{
	memcpy(b->bytes + b->length, &value, 4);
	b->length += 4;
}

static void put_u64(struct builder *b, uint64_t value)
{
	memcpy(b->bytes + b->length, &value, 8);
	b->length += 8;
}

static void put_text(struct builder *b, const char *text)
{
	size_t padded = (strlen(text) + 8) & ~(size_t)7;

	memset(b->bytes + b->length, 0, padded);
	memcpy(b->bytes + b->length, text, strlen(text));
	b->length += padded;
}

static void begin(struct builder *b, uint32_t type, uint16_t misc)
{
	b->length = 0;
	put_u32(b, type);
	put_u32(b, misc); /* misc, and a size of 0 */
}

static void finish(struct builder *b)
{
	uint16_t size = (uint16_t)b->length;

	memcpy(b->bytes + 6, &size, sizeof(size));
}

static void finish_with_id(struct builder *b, uint64_t time)
{
	put_u32(b, 1234);
	put_u32(b, 1235);
	put_u64(b, time);
	put_u32(b, 3);
	put_u32(b, 0);
	finish(b);
}

/* Decodes from memory of exactly that size, so that a sanitizer sees each byte too far. */
static int decode(const struct builder *b, size_t length, struct process_event *ret)
{
	uint8_t *exact = malloc(length ? length : 1);
	int r;

	assert_non_null(exact);
	memcpy(exact, b->bytes, length);
	r = perf_record_process_event(exact, length, ret);
	if (r == PERF_RECORD_E_OK && ret->kind == PROCESS_EVENT_MMAP)
		ret->map.path = (const char *)b->bytes + (ret->map.path - (const char *)exact);
	free(exact);
	return r;
}

static void build_mmap(struct builder *b, uint16_t misc, const char *path)
{
	begin(b, PERF_RECORD_MMAP2, misc);
	put_u32(b, 100);
	put_u32(b, 101);
	put_u64(b, 0x7f0000001000);
	put_u64(b, 0x5000);
	put_u64(b, 0x2000);
	put_u32(b, 8);
	put_u32(b, 1);
	put_u64(b, 4711);
	put_u64(b, 42);
	put_u32(b, 5);
	put_u32(b, 2);
	put_text(b, path);
	finish_with_id(b, 777);
}

static void test_mmap(void **state)
{
	struct process_event e;
	struct builder b;

	(void)state;
	build_mmap(&b, 0, "/usr/lib/libc.so.6");
	assert_int_equal(decode(&b, b.length, &e), PERF_RECORD_E_OK);
	assert_int_equal(e.kind, PROCESS_EVENT_MMAP);
	assert_int_equal(e.time_ns, 777);
	assert_int_equal(e.pid, 100);
	assert_int_equal(e.tid, 101);
	assert_int_equal(e.map.start, 0x7f0000001000);
	assert_int_equal(e.map.length, 0x5000);
	assert_int_equal(e.map.offset, 0x2000);
	assert_int_equal(e.map.device_major, 8);
	assert_int_equal(e.map.device_minor, 1);
	assert_int_equal(e.map.inode, 4711);
	assert_int_equal(e.map.inode_generation, 42);
	assert_int_equal(e.map.prot, 5);
	assert_int_equal(e.map.flags, 2);
	assert_string_equal(e.map.path, "/usr/lib/libc.so.6");
}

static void test_comm(void **state)
{
	struct process_event e;
	struct builder b;

	(void)state;
	begin(&b, PERF_RECORD_COMM, 0);
	put_u32(&b, 7);
	put_u32(&b, 8);
	put_text(&b, "a-name-of-fifteen-and-more");
	finish_with_id(&b, 1);
	assert_int_equal(decode(&b, b.length, &e), PERF_RECORD_E_OK);
	assert_int_equal(e.kind, PROCESS_EVENT_COMM);
	assert_string_equal(e.comm, "a-name-of-fifte");
	begin(&b, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	put_u32(&b, 7);
	put_u32(&b, 7);
	put_text(&b, "sh");
	finish_with_id(&b, 2);
	assert_int_equal(decode(&b, b.length, &e), PERF_RECORD_E_OK);
	assert_int_equal(e.kind, PROCESS_EVENT_EXEC);
	assert_string_equal(e.comm, "sh");
}

static void test_task_and_lost(void **state)
{
	struct process_event e;
	struct builder b;

	(void)state;
	for (uint32_t type = PERF_RECORD_EXIT; type <= PERF_RECORD_FORK;
	     type += PERF_RECORD_FORK - PERF_RECORD_EXIT) {
		begin(&b, type, 0);
		put_u32(&b, 20);
		put_u32(&b, 10);
		put_u32(&b, 21);
		put_u32(&b, 11);
		put_u64(&b, 555);
		finish_with_id(&b, 556);
		assert_int_equal(decode(&b, b.length, &e), PERF_RECORD_E_OK);
		assert_int_equal(e.kind, type == PERF_RECORD_FORK ? PROCESS_EVENT_FORK
								  : PROCESS_EVENT_EXIT);
		assert_int_equal(e.pid, 20);
		assert_int_equal(e.tid, 21);
		assert_int_equal(e.parent, type == PERF_RECORD_FORK ? 10 : 0);
		assert_int_equal(e.parent_tid, type == PERF_RECORD_FORK ? 11 : 0);
		assert_int_equal(e.time_ns, 556);
	}
	begin(&b, PERF_RECORD_LOST, 0);
	put_u64(&b, 99);
	put_u64(&b, 12);
	finish_with_id(&b, 3);
	assert_int_equal(decode(&b, b.length, &e), PERF_RECORD_E_OK);
	assert_int_equal(e.kind, PROCESS_EVENT_LOST);
	assert_int_equal(e.lost, 12);
	begin(&b, PERF_RECORD_THROTTLE, 0);
	put_u64(&b, 0);
	put_u64(&b, 0);
	put_u64(&b, 0);
	finish_with_id(&b, 3);
	assert_int_equal(decode(&b, b.length, &e), PERF_RECORD_E_OTHER);
}

/* Cut anywhere, whether or not the header knows of it, a record is malformed. */
static void test_cut(void **state)
{
	struct process_event e;
	struct builder b;

	(void)state;
	build_mmap(&b, 0, "/bin/true");
	for (size_t length = 0; length < b.length; length++) {
		assert_int_equal(decode(&b, length, &e), PERF_RECORD_E_MALFORMED);
		if (length >= 8) {
			struct builder cut = b;

			cut.length = length;
			finish(&cut);
			/* The last 24 bytes are taken for the id, so the path lacks its end. */
			assert_int_not_equal(decode(&cut, length, &e), PERF_RECORD_E_OTHER);
			if (length < b.length - 8)
				assert_int_equal(decode(&cut, length, &e), PERF_RECORD_E_MALFORMED);
		}
	}
}

#define WITH_STACK (PERF_RECORD_SAMPLE_TYPE | PERF_SAMPLE_STACK_USER)
#define ABI_NONE   0
#define ABI_32     1
#define ABI_64     2

static void begin_sample(struct builder *b, uint16_t misc)
{
	begin(b, PERF_RECORD_SAMPLE, misc);
	put_u64(b, 0xffffffff81000010);
	put_u32(b, 50);
	put_u32(b, 51);
	put_u64(b, 888);
	put_u32(b, 1);
	put_u32(b, 0);
	put_u64(b, 1000000);
}

static void put_chain(struct builder *b, const uint64_t *frames, size_t n)
{
	put_u64(b, n);
	for (size_t i = 0; i < n; i++)
		put_u64(b, frames[i]);
}

/* One value per bit of perf_record_registers: the register's own number, but for some. */
struct registers {
	uint64_t pc, cx, flags, r11;
};

#if defined(__x86_64__)
#define REGISTER_PC 8
#define REGISTER_SP 7
#define REGISTER_FP 6
#else
#define REGISTER_PC 32
#define REGISTER_SP 31
#define REGISTER_FP 29
#endif

static void put_registers(struct builder *b, uint64_t abi, const struct registers *r)
{
	put_u64(b, abi);
	for (unsigned i = 0; abi != ABI_NONE && i < 64; i++) {
		if (!(perf_record_registers >> i & 1))
			continue;
		if (i == REGISTER_PC)
			put_u64(b, r->pc);
#if defined(__x86_64__)
		else if (i == 2)
			put_u64(b, r->cx);
		else if (i == 9)
			put_u64(b, r->flags);
		else if (i == 19)
			put_u64(b, r->r11);
#endif
		else
			put_u64(b, 0x1000 + i);
	}
}

static void put_stack(struct builder *b, uint64_t size, uint64_t filled)
{
	put_u64(b, size);
	for (uint64_t i = 0; i < size / 8; i++)
		put_u64(b, 0x5000 + i);
	if (size)
		put_u64(b, filled);
}

/* From memory of exactly that size; what the sample points to is not to be looked at. */
static int decode_exact(const struct builder *b, size_t length, uint64_t type,
			struct perf_sample *ret)
{
	uint8_t *exact = malloc(length ? length : 1);
	int r;

	assert_non_null(exact);
	memcpy(exact, b->bytes, length);
	r = perf_record_sample(exact, length, type, ret);
	if (r == PERF_RECORD_E_OK && ret->stack_length)
		assert_true(ret->stack >= exact &&
			    ret->stack + ret->stack_length <= exact + length);
	free(exact);
	return r;
}

/* PERF_SAMPLE_ID stands between time and CPU. */
static void test_sample_id(void **state)
{
	const struct registers registers = {.pc = 0x401000};
	struct perf_sample s;
	struct builder b;

	(void)state;
	begin(&b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	put_u64(&b, 0x401000);
	put_u32(&b, 50);
	put_u32(&b, 51);
	put_u64(&b, 888);
	put_u64(&b, 4711);
	put_u32(&b, 1);
	put_u32(&b, 0);
	put_u64(&b, 1000000);
	put_chain(&b, NULL, 0);
	put_registers(&b, ABI_64, &registers);
	finish(&b);
	assert_int_equal(decode_exact(&b, b.length, PERF_RECORD_SAMPLE_TYPE | PERF_SAMPLE_ID, &s),
			 PERF_RECORD_E_OK);
	assert_int_equal(s.id, 4711);
	assert_int_equal(s.cpu, 1);
	assert_int_equal(s.period, 1000000);
	assert_int_equal(s.registers.pc, 0x401000);
}

static const uint64_t kernel_chain[] = {
	(uint64_t)PERF_CONTEXT_KERNEL,
	0xffffffff81000010,
	0xffffffff81000020,
	0xffffffff81000030,
};

static void test_sample(void **state)
{
	const struct registers registers = {.pc = 0x401000, .cx = 0x1002};
	struct perf_sample s;
	struct builder b;
	uint64_t word;

	(void)state;
	begin_sample(&b, PERF_RECORD_MISC_KERNEL);
	put_chain(&b, kernel_chain, 4);
	put_registers(&b, ABI_64, &registers);
	put_stack(&b, 64, 40);
	finish(&b);
	assert_int_equal(perf_record_sample(b.bytes, b.length, WITH_STACK, &s), PERF_RECORD_E_OK);
	assert_int_equal(s.pid, 50);
	assert_int_equal(s.tid, 51);
	assert_int_equal(s.time_ns, 888);
	assert_int_equal(s.cpu, 1);
	assert_int_equal(s.period, 1000000);
	assert_true(s.has_user && !s.user_mode);
	assert_int_equal(s.n_kernel, 3);
	assert_int_equal(s.kernel[0], 0xffffffff81000010);
	assert_int_equal(s.kernel[1], 0xffffffff8100001f);
	assert_int_equal(s.kernel[2], 0xffffffff8100002f);
	assert_int_equal(s.registers.pc, 0x401000);
	assert_int_equal(s.registers.sp, 0x1000 + REGISTER_SP);
	assert_int_equal(s.registers.fp, 0x1000 + REGISTER_FP);
	assert_true(s.registers.known & UNWIND_KNOWN_FP);
	assert_false(s.registers.is_return || s.registers.compat || s.registers.above_signal);
#if defined(__x86_64__)
	assert_int_equal(s.registers.others[RULE_BASE_AX - RULE_BASE_OTHER], 0x1000);
	assert_int_equal(s.registers.others[RULE_BASE_BX - RULE_BASE_OTHER], 0x1001);
	assert_int_equal(s.registers.others[RULE_BASE_CX - RULE_BASE_OTHER], 0x1002);
	assert_int_equal(s.registers.others[RULE_BASE_DX - RULE_BASE_OTHER], 0x1003);
	assert_int_equal(s.registers.others[RULE_BASE_R10 - RULE_BASE_OTHER], 0x1000 + 18);
	assert_int_equal(s.registers.others[RULE_BASE_R11 - RULE_BASE_OTHER], 0);
	assert_true(s.registers.known & UNWIND_KNOWN(RULE_BASE_R11));
	assert_int_equal(s.registers.others[RULE_BASE_SI - RULE_BASE_OTHER], 0x1000 + 4);
	assert_int_equal(s.registers.others[RULE_BASE_R8 - RULE_BASE_OTHER], 0x1000 + 16);
	assert_int_equal(s.registers.others[RULE_BASE_R9 - RULE_BASE_OTHER], 0x1000 + 17);
	assert_int_equal(s.registers.others[RULE_BASE_R15 - RULE_BASE_OTHER], 0x1000 + 23);
	/* In the kernel not what they were; a leaf it is all the same. */
	assert_false(s.registers.known &
		     (UNWIND_KNOWN(RULE_BASE_BX) | UNWIND_KNOWN(RULE_BASE_R13) |
		      UNWIND_KNOWN(RULE_BASE_R14) | UNWIND_KNOWN(RULE_BASE_R15)));
	assert_true(s.registers.known & UNWIND_KNOWN(RULE_BASE_R12));
#else
	assert_int_equal(s.registers.others[RULE_BASE_LR - RULE_BASE_OTHER], 0x1000 + 30);
#endif
	assert_int_equal(s.stack_length, 40);
	memcpy(&word, s.stack + 32, 8);
	assert_int_equal(word, 0x5004);
	for (size_t cut = 0; cut < b.length; cut++) {
		struct builder shorter = b;

		assert_int_equal(decode_exact(&b, cut, WITH_STACK, &s), PERF_RECORD_E_MALFORMED);
		shorter.length = cut;
		if (cut >= 8) {
			finish(&shorter);
			assert_int_equal(decode_exact(&shorter, cut, WITH_STACK, &s),
					 PERF_RECORD_E_MALFORMED);
		}
	}
}

/* Without a stack where none was asked for; of kernel threads nothing at all. */
static void test_sample_without(void **state)
{
	const struct registers registers = {.pc = 0x401000};
	struct perf_sample s = {.has_user = true, .stack_length = 1};
	struct builder b;

	(void)state;
	begin_sample(&b, PERF_RECORD_MISC_USER);
	put_chain(&b, NULL, 0);
	put_registers(&b, ABI_64, &registers);
	finish(&b);
	assert_int_equal(decode_exact(&b, b.length, PERF_RECORD_SAMPLE_TYPE, &s), PERF_RECORD_E_OK);
	assert_true(s.user_mode && s.has_user);
#if defined(__x86_64__)
	assert_int_equal(s.registers.known, UNWIND_KNOWN_FP | ((1u << UNWIND_OTHERS) - 1));
#endif
	assert_int_equal(s.stack_length, 0);
	assert_int_equal(s.n_kernel, 0);
	assert_int_equal(decode_exact(&b, b.length, WITH_STACK, &s), PERF_RECORD_E_MALFORMED);
	begin_sample(&b, PERF_RECORD_MISC_KERNEL);
	put_chain(&b, kernel_chain, 4);
	put_registers(&b, ABI_NONE, NULL);
	put_stack(&b, 0, 0);
	finish(&b);
	s = (struct perf_sample){.has_user = true, .stack_length = 1, .registers.pc = 7};
	assert_int_equal(decode_exact(&b, b.length, WITH_STACK, &s), PERF_RECORD_E_OK);
	assert_false(s.has_user);
	assert_int_equal(s.stack_length, 0);
	assert_int_equal(s.registers.pc, 0);
	assert_int_equal(s.n_kernel, 3);
}

static void decode_registers_of(uint16_t misc, uint64_t abi, const struct registers *r,
				struct perf_sample *ret)
{
	struct builder b;

	begin_sample(&b, misc);
	put_chain(&b, NULL, 0);
	put_registers(&b, abi, r);
	finish(&b);
	assert_int_equal(decode_exact(&b, b.length, PERF_RECORD_SAMPLE_TYPE, ret),
			 PERF_RECORD_E_OK);
}

/* Inside a system call the user pc is where it returns to. */
static void test_is_return(void **state)
{
#if defined(__x86_64__)
	const struct registers call = {0x401002, 0x401002, 0x246, 0x246};
	const struct registers fault = {0x401002, 0x401003, 0x246, 0x246};
	const struct registers flags = {0x401002, 0x401002, 0x246, 0x247};
	struct perf_sample s;

	(void)state;
	decode_registers_of(PERF_RECORD_MISC_KERNEL, ABI_64, &call, &s);
	assert_true(s.registers.is_return);
	decode_registers_of(PERF_RECORD_MISC_KERNEL, ABI_64, &fault, &s);
	assert_false(s.registers.is_return);
	decode_registers_of(PERF_RECORD_MISC_KERNEL, ABI_64, &flags, &s);
	assert_false(s.registers.is_return);
	/* Right behind a system call, in user mode. */
	decode_registers_of(PERF_RECORD_MISC_USER, ABI_64, &call, &s);
	assert_false(s.registers.is_return);
	decode_registers_of(PERF_RECORD_MISC_KERNEL, ABI_32, &call, &s);
	assert_false(s.registers.is_return);
	assert_true(s.registers.compat);
	assert_int_equal(s.registers.known, UNWIND_KNOWN_FP);
#else
	struct perf_sample s;

	(void)state;
	decode_registers_of(PERF_RECORD_MISC_KERNEL, ABI_32, &(struct registers){0}, &s);
	assert_true(s.registers.compat);
	assert_int_equal(s.registers.known, 0);
#endif
}

static void test_sample_bounds(void **state)
{
	const struct registers registers = {.pc = 0x401000};
	static const uint64_t mixed[] = {
		0x401000,           (uint64_t)PERF_CONTEXT_KERNEL,
		0xffffffff81000010, (uint64_t)PERF_CONTEXT_USER,
		0x402000,
	};
	struct perf_sample s;
	struct builder b;

	(void)state;
	begin_sample(&b, PERF_RECORD_MISC_USER);
	put_u64(&b, UINT64_MAX / 8); /* more frames than there are bytes */
	put_u64(&b, 0x1000);
	finish(&b);
	assert_int_equal(decode_exact(&b, b.length, WITH_STACK, &s), PERF_RECORD_E_MALFORMED);
	begin_sample(&b, PERF_RECORD_MISC_KERNEL);
	put_u64(&b, SAMPLE_FRAMES_MAX + 2);
	put_u64(&b, (uint64_t)PERF_CONTEXT_KERNEL);
	for (unsigned i = 0; i <= SAMPLE_FRAMES_MAX; i++)
		put_u64(&b, 0xffffffff81000000 + i);
	put_registers(&b, ABI_NONE, NULL);
	put_stack(&b, 0, 0);
	finish(&b);
	assert_int_equal(decode_exact(&b, b.length, WITH_STACK, &s), PERF_RECORD_E_MALFORMED);
	/* Only the kernel's frames count. */
	begin_sample(&b, PERF_RECORD_MISC_KERNEL);
	put_chain(&b, mixed, sizeof(mixed) / 8);
	put_registers(&b, ABI_NONE, NULL);
	put_stack(&b, 0, 0);
	finish(&b);
	assert_int_equal(decode_exact(&b, b.length, WITH_STACK, &s), PERF_RECORD_E_OK);
	assert_int_equal(s.n_kernel, 1);
	begin_sample(&b, PERF_RECORD_MISC_USER);
	put_chain(&b, NULL, 0);
	put_registers(&b, 3, &registers); /* no such abi */
	put_stack(&b, 64, 8);
	finish(&b);
	assert_int_equal(decode_exact(&b, b.length, WITH_STACK, &s), PERF_RECORD_E_MALFORMED);
	begin_sample(&b, PERF_RECORD_MISC_USER);
	put_chain(&b, NULL, 0);
	put_registers(&b, ABI_64, &registers);
	put_stack(&b, 64, 65); /* more than there is */
	finish(&b);
	assert_int_equal(decode_exact(&b, b.length, WITH_STACK, &s), PERF_RECORD_E_MALFORMED);
	begin_sample(&b, PERF_RECORD_MISC_USER);
	put_chain(&b, NULL, 0);
	put_registers(&b, ABI_64, &registers);
	put_u64(&b, UINT64_MAX - 7);
	put_u64(&b, 8);
	finish(&b);
	assert_int_equal(decode_exact(&b, b.length, WITH_STACK, &s), PERF_RECORD_E_MALFORMED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mmap),           cmocka_unit_test(test_comm),
		cmocka_unit_test(test_task_and_lost),  cmocka_unit_test(test_cut),
		cmocka_unit_test(test_sample),         cmocka_unit_test(test_sample_bounds),
		cmocka_unit_test(test_sample_without), cmocka_unit_test(test_sample_id),
		cmocka_unit_test(test_is_return),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
