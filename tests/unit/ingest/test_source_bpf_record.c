/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "bpf/abi.h"
#include "daemon/ingest/source_bpf_record.h"

#define ROOM  65536 /* for the longest record */
#define GUARD 65536 /* a page, whatever its size */

/* A record to be changed, and where it is decoded: what reads beyond its end dies there. */
struct record {
	uint8_t *bytes;
	size_t length;
	struct abi_sample *head;
	uint8_t *pages;
	const uint8_t *data; /* what was decoded last */
};

static struct record make(unsigned n_kernel, unsigned n_user, unsigned rest, uint32_t copy)
{
	size_t n = n_kernel + n_user;
	size_t length = sizeof(struct abi_sample) + n * 8;
	struct record r;
	uint64_t *frames;

	if (rest & ABI_REST)
		length += sizeof(struct unwind_registers) + copy;
	assert_true(length <= ROOM);
	r = (struct record){.bytes = calloc(1, length), .length = length};
	assert_non_null(r.bytes);
	r.pages = mmap(NULL, ROOM + GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(r.pages, MAP_FAILED);
	assert_int_equal(mprotect(r.pages, ROOM, PROT_READ | PROT_WRITE), 0);
	r.head = (struct abi_sample *)r.bytes;
	*r.head = (struct abi_sample){
		.time_ns = 1,
		.period = 2,
		.start_ns = 3,
		.cgroup_id = 4,
		.walked_until_ns = 5,
		.start_stack = 6,
		.start_code = 13,
		.end_code = 14,
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

static void destroy(struct record *r)
{
	munmap(r->pages, ROOM + GUARD);
	free(r->bytes);
}

static bool decode_rest(struct record *r, struct sample_rest *rest, struct sample *ret)
{
	static uint64_t frames[SAMPLE_FRAMES_MAX];
	static struct source_bpf_parts parts = {.frames = frames};
	uint8_t *data = r->pages + ROOM - r->length;
	bool is_record;

	memcpy(data, r->bytes, r->length);
	r->data = data;
	parts.rest = *rest;
	is_record = source_bpf_decode(data, r->length, &parts, ret);
	*rest = parts.rest;
	if (is_record && ret->rest)
		ret->rest = rest;
	return is_record;
}

static bool decode(struct record *r, struct sample *ret)
{
	static struct sample_rest rest;

	memset(&rest, 0xff, sizeof(rest));
	memset(ret, 0xff, sizeof(*ret));
	return decode_rest(r, &rest, ret);
}

static void assert_refused(struct record *r)
{
	struct sample_rest rest, rest_before;
	struct sample s, before;

	memset(&rest, 0xa5, sizeof(rest));
	memset(&s, 0xa5, sizeof(s));
	memcpy(&rest_before, &rest, sizeof(rest));
	memcpy(&before, &s, sizeof(s));
	assert_false(decode_rest(r, &rest, &s));
	assert_memory_equal(&rest, &rest_before, sizeof(rest));
	assert_memory_equal(&s, &before, sizeof(s));
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
	assert_false(s.kernel_thread);
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
	destroy(&r);
}

static void test_rest(void **state)
{
	struct record r = make(1, 2, ABI_REST | ABI_PUSHED, 64);
	const uint8_t *behind;
	struct sample s;

	(void)state;
	assert_true(decode(&r, &s));
	assert_non_null(s.rest);
	behind = r.data + sizeof(struct abi_sample) + 24;
	assert_true(s.rest->pushed);
	assert_false(s.rest->is_witness);
	assert_int_equal(s.rest->start_stack, 6);
	assert_int_equal(s.rest->start_code, 13);
	assert_int_equal(s.rest->end_code, 14);
	assert_int_equal(s.rest->stack_address, 7);
	assert_int_equal(s.rest->stack_length, 64);
	assert_memory_equal(&s.rest->registers, behind, sizeof(s.rest->registers));
	assert_ptr_equal(s.rest->stack, behind + sizeof(s.rest->registers));
	destroy(&r);
	/* Without a copy the registers are there all the same. */
	r = make(0, 0, ABI_REST | ABI_WITNESS, 0);
	assert_true(decode(&r, &s));
	assert_true(s.rest->is_witness);
	assert_false(s.rest->pushed);
	assert_int_equal(s.rest->stack_length, 0);
	destroy(&r);
}

/* Flags that are nothing without ABI_REST announce no bytes and make no rest. */
static void test_no_rest(void **state)
{
	struct record r = make(0, 0, 0, 0);
	struct sample s;

	(void)state;
	r.head->rest |= ABI_KERNEL_THREAD;
	assert_true(decode(&r, &s));
	assert_int_equal(s.n_frames, 0);
	assert_true(s.kernel_thread);
	assert_null(s.rest);
	destroy(&r);
	r = make(1, 1, ABI_PUSHED | ABI_WITNESS, 0);
	assert_true(decode(&r, &s));
	assert_int_equal(s.n_frames, 2);
	assert_null(s.rest);
	r.head->copy_bytes = 8;
	assert_refused(&r);
	destroy(&r);
	r = make(1, 1, 0, 0);
	r.head->copy_bytes = 8;
	assert_refused(&r);
	destroy(&r);
}

/* Of a thread that waits all kernel frames are callers; what it weighs is beside it. */
static void test_wait(void **state)
{
	struct record r = make(3, 2, 0, 0);
	struct source_bpf_parts parts = {.frames = malloc(SAMPLE_FRAMES_MAX * sizeof(uint64_t))};
	struct sample s;

	(void)state;
	assert_non_null(parts.frames);
	r.head->period = 10000000;
	r.head->wait = WAIT_DISK;
	r.head->call = 17;
	assert_refused(&r); /* a wait without ticks */
	r.head->n_blocked = 3;
	r.head->n_runnable = 400;
	assert_true(source_bpf_decode(r.bytes, r.length, &parts, &s));
	assert_int_equal(s.wait, WAIT_DISK);
	assert_int_equal(s.call, 17);
	assert_int_equal(parts.wait.blocked_ns, 30000000);
	assert_int_equal(parts.wait.runnable_ns, 4000000000);
	assert_int_equal(s.frames[0], 999);
	assert_int_equal(s.frames[1], 1000);
	assert_int_equal(s.frames[3], 1003);
	r.head->wait = N_WAIT_STATES;
	assert_refused(&r);
	r.head->wait = WAIT_NONE; /* ticks of no wait */
	assert_refused(&r);
	free(parts.frames);
	destroy(&r);
}

static void test_what_a_wait_was(void **state)
{
	struct record r = make(3, 2, 0, 0);
	struct source_bpf_parts parts = {.frames = malloc(SAMPLE_FRAMES_MAX * sizeof(uint64_t)),
					 .places = {.all = {{990, 1000, WAIT_RUNNABLE},
							    {1000, 1010, WAIT_STOPPED}},
						    .n = 2,
						    .beginnings = {1005}}};
	struct sample s;

	(void)state;
	assert_non_null(parts.frames);
	r.head->period = 10;
	r.head->wait = WAIT_SLEEP;
	r.head->call = 17;
	r.head->n_blocked = 3;
	r.head->n_runnable = 4;
	/* It returns to where one of them ends: the call was in it. */
	assert_true(source_bpf_decode(r.bytes, r.length, &parts, &s));
	assert_int_equal(parts.wait.blocked_ns, 0);
	assert_int_equal(parts.wait.runnable_ns, 70);
	assert_true(parts.wait.is_merged);
	r.head->n_runnable = 0;
	assert_true(source_bpf_decode(r.bytes, r.length, &parts, &s));
	assert_int_equal(parts.wait.runnable_ns, 30);
	assert_false(parts.wait.is_merged);
	/* A new thread has called nothing. */
	((uint64_t *)(r.head + 1))[0] = 1005;
	assert_true(source_bpf_decode(r.bytes, r.length, &parts, &s));
	assert_int_equal(s.wait, WAIT_STOPPED);
	assert_int_equal(s.frames[0], 1005);
	assert_int_equal(parts.wait.blocked_ns, 30);
	/* In no system call nobody sleeps, but for kernel threads, and for a disk. */
	parts.places.n = 0;
	r.head->call = WAIT_NO_CALL;
	assert_true(source_bpf_decode(r.bytes, r.length, &parts, &s));
	assert_int_equal(parts.wait.runnable_ns, 30);
	r.head->rest = ABI_KERNEL_THREAD;
	assert_true(source_bpf_decode(r.bytes, r.length, &parts, &s));
	assert_int_equal(parts.wait.blocked_ns, 30);
	r.head->rest = 0;
	r.head->wait = WAIT_DISK;
	assert_true(source_bpf_decode(r.bytes, r.length, &parts, &s));
	assert_int_equal(parts.wait.blocked_ns, 30);
	/* Without kernel frames. */
	parts.without_kernel = 1u << 11;
	assert_true(source_bpf_decode(r.bytes, r.length, &parts, &s));
	assert_int_equal(s.n_kernel, 0);
	assert_int_equal(s.n_frames, 2);
	assert_int_equal(s.frames[0], 1003);
	free(parts.frames);
	destroy(&r);
}

static void assert_part(const struct sample *part, uint8_t wait, uint64_t weight, uint64_t until_ns,
			uint64_t waker)
{
	assert_int_equal(part->wait, wait);
	assert_int_equal(part->weight, weight);
	assert_int_equal(part->time_ns, until_ns);
	assert_int_equal(part->waker, waker);
	assert_int_equal(part->tid, 3);
}

/* A sleep ends where the queue begins, and halves of one in the middle. */
static void test_parts_of_a_wait(void **state)
{
	const struct sample whole = {.time_ns = 1000, .tid = 3, .wait = WAIT_DISK, .waker = 7};
	struct sample parts[SOURCE_BPF_WAIT_PARTS];
	struct source_bpf_wait wait = {.blocked_ns = 50};

	(void)state;
	assert_int_equal(source_bpf_wait_parts(&wait, &whole, parts), 1);
	assert_part(&parts[0], WAIT_DISK, 50, 1000, 7);
	wait.runnable_ns = 30;
	assert_int_equal(source_bpf_wait_parts(&wait, &whole, parts), 2);
	assert_part(&parts[0], WAIT_DISK, 50, 970, 7);
	assert_part(&parts[1], WAIT_RUNNABLE, 30, 1000, 0);
	wait = (struct source_bpf_wait){.runnable_ns = 30};
	assert_int_equal(source_bpf_wait_parts(&wait, &whole, parts), 1);
	assert_part(&parts[0], WAIT_RUNNABLE, 30, 1000, 0);
	wait = (struct source_bpf_wait){.runnable_ns = 31, .is_merged = true};
	assert_int_equal(source_bpf_wait_parts(&wait, &whole, parts), 2);
	assert_part(&parts[0], WAIT_RUNNABLE, 15, 984, 0);
	assert_part(&parts[1], WAIT_RUNNABLE, 16, 1000, 0);
}

/* Of a thread that wakes another one, the user's frames; of an interrupt, and of a thread of the
 * kernel's, those of the kernel. It is no sample, and its walk is never to be finished. */
static void test_waker(void **state)
{
	struct record r = make(3, 2, ABI_REST | ABI_WAKER, 64);
	struct source_bpf_parts parts = {.frames = malloc(SAMPLE_FRAMES_MAX * sizeof(uint64_t)),
					 .places = {.all = {{5000, 5010, WAIT_PLACE_INTERRUPT}},
						    .n = 1}};
	uint64_t *frames = (uint64_t *)(r.head + 1);
	struct sample s;

	(void)state;
	assert_non_null(parts.frames);
	r.head->waker = 77;
	assert_true(source_bpf_decode(r.bytes, r.length, &parts, &s));
	assert_true(s.is_waker);
	assert_false(s.by_interrupt);
	assert_int_equal(s.waker, 77);
	assert_null(s.rest);
	assert_int_equal(s.n_kernel, 0);
	assert_int_equal(s.n_frames, 2);
	assert_int_equal(s.frames[0], 1003);
	/* It returns into the entry of interrupts, or is in it. */
	for (uint64_t at = 5001; at <= 5010; at += 9) {
		frames[2] = at;
		assert_true(source_bpf_decode(r.bytes, r.length, &parts, &s));
		assert_true(s.by_interrupt);
		assert_int_equal(s.n_frames, 2);
		assert_int_equal(s.n_kernel, 2);
		assert_int_equal(s.frames[1], 1000);
	}
	frames[2] = 5011;
	assert_true(source_bpf_decode(r.bytes, r.length, &parts, &s));
	assert_false(s.by_interrupt);
	r.head->rest |= ABI_KERNEL_THREAD;
	assert_true(source_bpf_decode(r.bytes, r.length, &parts, &s));
	assert_false(s.by_interrupt);
	assert_int_equal(s.n_kernel, 3);
	assert_int_equal(s.n_frames, 3);
	r.head->rest &= ~ABI_KERNEL_THREAD;
	/* While no thread runs; in a namespace without the kernel's threads these have no number.
	 */
	r.head->tid = 0;
	assert_true(source_bpf_decode(r.bytes, r.length, &parts, &s));
	assert_false(s.by_interrupt);
	r.head->rest |= ABI_IDLE;
	assert_true(source_bpf_decode(r.bytes, r.length, &parts, &s));
	assert_true(s.by_interrupt);
	assert_int_equal(s.n_frames, 3);
	/* Not both. */
	r.head->wait = WAIT_SLEEP;
	r.head->n_blocked = 1;
	assert_refused(&r);
	r.head->rest &= ~ABI_WAKER;
	assert_true(source_bpf_decode(r.bytes, r.length, &parts, &s));
	assert_false(s.is_waker);
	assert_int_equal(s.waker, 77);
	free(parts.frames);
	destroy(&r);
}

static void test_lengths(void **state)
{
	struct record r = make(2, 3, ABI_REST, 128);
	size_t whole = r.length;
	struct sample s;

	(void)state;
	for (r.length = 0; r.length < whole; r.length++)
		assert_refused(&r);
	r.length = whole;
	assert_true(decode(&r, &s));
	r.head->copy_bytes = 120;
	assert_refused(&r);
	r.head->copy_bytes = 136;
	assert_refused(&r);
	r.head->copy_bytes = UINT32_MAX;
	assert_refused(&r);
	r.head->copy_bytes = 128;
	r.head->n_user = 4;
	assert_refused(&r);
	r.head->n_user = UINT16_MAX;
	assert_refused(&r);
	/* As many as there are, if 16 bits could hold their sum. */
	r.head->n_kernel = UINT16_MAX;
	r.head->n_user = 6;
	assert_refused(&r);
	r.head->n_kernel = 2;
	r.head->n_user = 2;
	assert_refused(&r);
	r.head->n_user = 3;
	r.head->rest = 0;
	assert_refused(&r);
	destroy(&r);
}

static void test_limits(void **state)
{
	struct record r = make(ABI_KERNEL_FRAMES_MAX, ABI_USER_FRAMES_MAX, ABI_REST, ABI_COPY_MAX);
	struct sample s;

	(void)state;
	assert_true(decode(&r, &s));
	r.head->sampler = SAMPLERS_MAX - 1;
	assert_true(decode(&r, &s));
	assert_int_equal(s.sampler, SAMPLERS_MAX - 1);
	r.head->sampler = SAMPLERS_MAX;
	assert_refused(&r);
	r.head->sampler = 0;
	r.head->quality = N_STACK_QUALITY - 1;
	assert_true(decode(&r, &s));
	r.head->quality = N_STACK_QUALITY;
	assert_refused(&r);
	destroy(&r);
	r = make(ABI_KERNEL_FRAMES_MAX + 1, ABI_USER_FRAMES_MAX, 0, 0);
	assert_refused(&r);
	destroy(&r);
	r = make(1, 1, ABI_REST, ABI_COPY_MAX + 8);
	assert_refused(&r);
	destroy(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),           cmocka_unit_test(test_rest),
		cmocka_unit_test(test_no_rest),         cmocka_unit_test(test_wait),
		cmocka_unit_test(test_parts_of_a_wait), cmocka_unit_test(test_waker),
		cmocka_unit_test(test_what_a_wait_was), cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
