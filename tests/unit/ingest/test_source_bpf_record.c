/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/abi.h"
#include "daemon/ingest/source_bpf_record.h"

/* A record of exactly its length, so that a sanitizer sees what reads beyond. */
struct record {
	uint8_t *bytes;
	size_t length;
	struct abi_sample *head;
};

static struct record make(unsigned n_kernel, unsigned n_user, unsigned rest, uint32_t copy)
{
	size_t n = n_kernel + n_user;
	size_t length = sizeof(struct abi_sample) + n * 8;
	struct record r;
	uint64_t *frames;

	if (rest & ABI_REST)
		length += sizeof(struct unwind_registers) + copy;
	r = (struct record){.bytes = calloc(1, length), .length = length};
	assert_non_null(r.bytes);
	r.head = (struct abi_sample *)r.bytes;
	*r.head = (struct abi_sample){
		.time_ns = 1,
		.period = 2,
		.start_ns = 3,
		.cgroup_id = 4,
		.walked_until_ns = 5,
		.start_stack = 6,
		.copy_address = 7,
		.copy_bytes = copy,
		.pid = 8,
		.tid = 9,
		.cpu = 10,
		.n_kernel = (uint16_t)n_kernel,
		.n_user = (uint16_t)n_user,
		.sampler = 11,
		.quality = STACK_BROKEN,
		.reason = BROKEN_UNMAPPED,
		.rest = (uint8_t)rest,
		.comm = "0123456789abcde",
	};
	frames = (uint64_t *)(r.head + 1);
	for (size_t i = 0; i < n; i++)
		frames[i] = 1000 + i;
	for (size_t i = sizeof(*r.head) + n * 8; i < length; i++)
		r.bytes[i] = (uint8_t)i;
	return r;
}

static bool decode(const struct record *r, struct sample *ret)
{
	static uint64_t frames[SAMPLE_FRAMES_MAX];
	static struct sample_rest rest;

	memset(&rest, 0xff, sizeof(rest));
	return source_bpf_decode(r->bytes, r->length, frames, &rest, ret);
}

static void test_plain(void **state)
{
	struct record r = make(3, 2, 0, 0);
	struct sample s;

	(void)state;
	memset(r.head->comm, 'x', sizeof(r.head->comm));
	assert_true(decode(&r, &s));
	assert_int_equal(s.time_ns, 1);
	assert_int_equal(s.weight, 2);
	assert_int_equal(s.start_ns, 3);
	assert_int_equal(s.cgroup_id, 4);
	assert_int_equal(s.walked_until_ns, 5);
	assert_int_equal(s.pid, 8);
	assert_int_equal(s.tid, 9);
	assert_int_equal(s.cpu, 10);
	assert_int_equal(s.sampler, 11);
	assert_int_equal(s.quality, STACK_BROKEN);
	assert_int_equal(s.reason, BROKEN_UNMAPPED);
	assert_null(s.rest);
	assert_int_equal(s.n_kernel, 3);
	assert_int_equal(s.n_frames, 5);
	/* The kernel's callers become addresses inside of the call; users' are that already. */
	assert_int_equal(s.frames[0], 1000);
	assert_int_equal(s.frames[1], 1000);
	assert_int_equal(s.frames[2], 1001);
	assert_int_equal(s.frames[3], 1003);
	assert_int_equal(s.frames[4], 1004);
	assert_string_equal(s.comm, "xxxxxxxxxxxxxxx");
	free(r.bytes);
}

static void test_rest(void **state)
{
	struct record r = make(1, 2, ABI_REST | ABI_PUSHED, 64);
	const uint8_t *behind = r.bytes + sizeof(struct abi_sample) + 24;
	struct sample s;

	(void)state;
	assert_true(decode(&r, &s));
	assert_non_null(s.rest);
	assert_true(s.rest->pushed);
	assert_false(s.rest->is_witness);
	assert_int_equal(s.rest->start_stack, 6);
	assert_int_equal(s.rest->stack_address, 7);
	assert_int_equal(s.rest->stack_length, 64);
	assert_memory_equal(&s.rest->registers, behind, sizeof(s.rest->registers));
	assert_ptr_equal(s.rest->stack, behind + sizeof(s.rest->registers));
	free(r.bytes);
	/* Without a copy the registers are there all the same. */
	r = make(0, 0, ABI_REST | ABI_WITNESS, 0);
	assert_true(decode(&r, &s));
	assert_true(s.rest->is_witness);
	assert_false(s.rest->pushed);
	assert_int_equal(s.rest->stack_length, 0);
	free(r.bytes);
}

static void test_lengths(void **state)
{
	struct record r = make(2, 3, ABI_REST, 128);
	size_t whole = r.length;
	struct sample s;

	(void)state;
	for (r.length = 0; r.length < whole; r.length++)
		assert_false(decode(&r, &s));
	r.length = whole;
	assert_true(decode(&r, &s));
	r.head->copy_bytes = 136;
	assert_false(decode(&r, &s));
	r.head->copy_bytes = UINT32_MAX;
	assert_false(decode(&r, &s));
	r.head->copy_bytes = 128;
	r.head->n_user = 4;
	assert_false(decode(&r, &s));
	r.head->n_user = UINT16_MAX;
	assert_false(decode(&r, &s));
	r.head->n_user = 3;
	r.head->rest = 0;
	assert_false(decode(&r, &s));
	free(r.bytes);
}

static void test_limits(void **state)
{
	struct record r = make(ABI_KERNEL_FRAMES_MAX, ABI_USER_FRAMES_MAX, ABI_REST, ABI_COPY_MAX);
	struct sample s;

	(void)state;
	assert_true(decode(&r, &s));
	r.head->sampler = SAMPLERS_MAX;
	assert_false(decode(&r, &s));
	r.head->sampler = 0;
	r.head->quality = N_STACK_QUALITY;
	assert_false(decode(&r, &s));
	free(r.bytes);
	r = make(ABI_KERNEL_FRAMES_MAX + 1, ABI_USER_FRAMES_MAX, 0, 0);
	assert_false(decode(&r, &s));
	free(r.bytes);
	r = make(1, 1, ABI_REST, ABI_COPY_MAX + 8);
	assert_false(decode(&r, &s));
	free(r.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_rest),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
