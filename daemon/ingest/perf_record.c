/* SPDX-License-Identifier: MIT */
/*
 * One function for each record type reads its fields in order from a reader that, once it has run
 * out of bytes, returns zeros and remembers it; it is checked at the end.
 */
#include "daemon/ingest/perf_record.h"

#include <asm/perf_regs.h>
#include <linux/perf_event.h>
#include <string.h>

/* What follows each non-sample record: { u32 pid, tid; u64 time; u32 cpu, res; }. */
#define SAMPLE_ID_BYTES 24
#define SAMPLE_ID_TIME  8

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are copied as they are");

struct perf_record_reader {
	const uint8_t *data;
	size_t left;
	bool failed;
};

static uint64_t perf_record_read_uint(struct perf_record_reader *r, size_t bytes)
{
	uint64_t value = 0;

	if (r->left < bytes) {
		r->failed = true;
		return 0;
	}
	memcpy(&value, r->data, bytes); /* the lower bytes come first, here as there */
	r->data += bytes;
	r->left -= bytes;
	return value;
}

static uint32_t perf_record_read_u32(struct perf_record_reader *r)
{
	return (uint32_t)perf_record_read_uint(r, 4);
}

static uint64_t perf_record_read_u64(struct perf_record_reader *r)
{
	return perf_record_read_uint(r, 8);
}

/* A NUL-terminated text up to the end, padded with NULs; fails if it has no end. */
static const char *perf_record_tail_text(struct perf_record_reader *r)
{
	if (!r->failed && memchr(r->data, '\0', r->left))
		return (const char *)r->data;
	r->failed = true;
	return "";
}

static bool open_record(const uint8_t *record, size_t length, struct perf_event_header *ret_header,
			struct perf_record_reader *ret)
{
	if (length < sizeof(*ret_header))
		return false;
	memcpy(ret_header, record, sizeof(*ret_header));
	if (ret_header->size != length)
		return false;
	*ret = (struct perf_record_reader){record + sizeof(*ret_header),
					   length - sizeof(*ret_header), false};
	return true;
}

int perf_record_time(const uint8_t *record, size_t length, uint64_t *ret)
{
	struct perf_event_header header;
	struct perf_record_reader r;

	if (!open_record(record, length, &header, &r) || r.left < SAMPLE_ID_BYTES)
		return PERF_RECORD_E_MALFORMED;
	r.data += r.left - SAMPLE_ID_BYTES + SAMPLE_ID_TIME;
	r.left = 8;
	*ret = perf_record_read_u64(&r);
	return PERF_RECORD_E_OK;
}

/* { u32 pid, tid; u64 addr, len, pgoff; u32 maj, min; u64 ino, gen; u32 prot, flags; path } */
static void decode_mmap(struct perf_record_reader *r, struct process_event *e)
{
	e->kind = PROCESS_EVENT_MMAP;
	e->pid = (pid_t)perf_record_read_u32(r);
	e->tid = (pid_t)perf_record_read_u32(r);
	e->map.start = perf_record_read_u64(r);
	e->map.length = perf_record_read_u64(r);
	e->map.offset = perf_record_read_u64(r);
	e->map.device_major = perf_record_read_u32(r);
	e->map.device_minor = perf_record_read_u32(r);
	e->map.inode = perf_record_read_u64(r);
	e->map.inode_generation = perf_record_read_u64(r);
	e->map.prot = perf_record_read_u32(r);
	e->map.flags = perf_record_read_u32(r);
	e->map.path = perf_record_tail_text(r);
}

/* { u32 pid, tid; char comm[]; } */
static void decode_comm(struct perf_record_reader *r, bool is_exec, struct process_event *e)
{
	const char *comm;

	e->kind = is_exec ? PROCESS_EVENT_EXEC : PROCESS_EVENT_COMM;
	e->pid = (pid_t)perf_record_read_u32(r);
	e->tid = (pid_t)perf_record_read_u32(r);
	comm = perf_record_tail_text(r);
	memcpy(e->comm, comm, strnlen(comm, sizeof(e->comm) - 1));
}

/* { u32 pid, ppid, tid, ptid; u64 time; } */
static void decode_task(struct perf_record_reader *r, bool is_fork, struct process_event *e)
{
	e->kind = is_fork ? PROCESS_EVENT_FORK : PROCESS_EVENT_EXIT;
	e->pid = (pid_t)perf_record_read_u32(r);
	e->parent = (pid_t)perf_record_read_u32(r);
	e->tid = (pid_t)perf_record_read_u32(r);
	e->parent_tid = (pid_t)perf_record_read_u32(r);
	perf_record_read_u64(r);
	if (!is_fork)
		e->parent = e->parent_tid = 0;
}

/* { u64 id, lost; } */
static void decode_lost(struct perf_record_reader *r, struct process_event *e)
{
	e->kind = PROCESS_EVENT_LOST;
	perf_record_read_u64(r);
	e->lost = perf_record_read_u64(r);
}

int perf_record_process_event(const uint8_t *record, size_t length, struct process_event *ret)
{
	struct process_event e = {0};
	struct perf_event_header header;
	struct perf_record_reader r;

	if (!open_record(record, length, &header, &r))
		return PERF_RECORD_E_MALFORMED;
	if (perf_record_time(record, length, &e.time_ns) != PERF_RECORD_E_OK)
		return PERF_RECORD_E_MALFORMED;
	r.left -= SAMPLE_ID_BYTES;
	switch (header.type) {
	case PERF_RECORD_MMAP2:
		decode_mmap(&r, &e);
		break;
	case PERF_RECORD_COMM:
		decode_comm(&r, header.misc & PERF_RECORD_MISC_COMM_EXEC, &e);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		decode_task(&r, header.type == PERF_RECORD_FORK, &e);
		break;
	case PERF_RECORD_LOST:
		decode_lost(&r, &e);
		break;
	default:
		return PERF_RECORD_E_OTHER;
	}
	if (r.failed)
		return PERF_RECORD_E_MALFORMED;
	*ret = e;
	return PERF_RECORD_E_OK;
}

/* A callchain is addresses, with markers between that say whose the following ones are. */
static bool decode_callchain(struct perf_record_reader *r, struct perf_sample *s)
{
	uint64_t n = perf_record_read_u64(r), frame;
	bool in_kernel = false, is_leaf = true;

	if (r->failed || n > r->left / 8)
		return false;
	for (uint64_t i = 0; i < n; i++) {
		frame = perf_record_read_u64(r);
		if (frame >= (uint64_t)PERF_CONTEXT_MAX) {
			in_kernel = frame == (uint64_t)PERF_CONTEXT_KERNEL;
			is_leaf = true;
			continue;
		}
		if (!in_kernel)
			continue;
		if (s->n_kernel == SAMPLE_FRAMES_MAX)
			return false;
		s->kernel[s->n_kernel++] = is_leaf ? frame : frame - 1;
		is_leaf = false;
	}
	return true;
}

#if defined(__x86_64__)
#define REGISTERS_END (PERF_REG_X86_R15 + 1)

/* AX, BX, CX, DX, SI, DI, BP, SP, IP, FLAGS, R8 to R15 */
const uint64_t perf_record_registers = UINT64_C(0xff03ff);
const bool perf_record_tells_calls = true;

static void fill_registers(const uint64_t *values, bool user_mode, struct unwind_registers *ret)
{
	const uint64_t others[UNWIND_OTHERS] = {
		values[PERF_REG_X86_AX],  values[PERF_REG_X86_BX],  values[PERF_REG_X86_CX],
		values[PERF_REG_X86_DX],  values[PERF_REG_X86_R10], values[PERF_REG_X86_R11],
		values[PERF_REG_X86_DI],  values[PERF_REG_X86_SI],  values[PERF_REG_X86_R8],
		values[PERF_REG_X86_R9],  values[PERF_REG_X86_R12], values[PERF_REG_X86_R13],
		values[PERF_REG_X86_R14], values[PERF_REG_X86_R15],
	};

	ret->pc = values[PERF_REG_X86_IP];
	ret->sp = values[PERF_REG_X86_SP];
	ret->fp = values[PERF_REG_X86_BP];
	ret->known = UNWIND_KNOWN_FP;
	if (ret->compat)
		return;
	memcpy(ret->others, others, sizeof(others));
	ret->known |= (1u << UNWIND_OTHERS) - 1;
	/* In the kernel these are not what they were (arch/x86/kernel/perf_regs.c); nor is R12, by
	 * which a leaf is recognized. */
	if (!user_mode)
		ret->known &= ~(UNWIND_KNOWN(RULE_BASE_BX) | UNWIND_KNOWN(RULE_BASE_R13) |
				UNWIND_KNOWN(RULE_BASE_R14) | UNWIND_KNOWN(RULE_BASE_R15));
	ret->is_return = !user_mode && ret->pc == values[PERF_REG_X86_CX] &&
			 values[PERF_REG_X86_FLAGS] == values[PERF_REG_X86_R11];
}
#elif defined(__aarch64__)
#define REGISTERS_END (PERF_REG_ARM64_PC + 1)

/* X29, LR, SP, PC */
const uint64_t perf_record_registers = UINT64_C(0x1e0000000);
const bool perf_record_tells_calls = false;

/* 32-bit ARM code has no one frame layout: its stacks end at the leaf. */
static void fill_registers(const uint64_t *values, bool user_mode, struct unwind_registers *ret)
{
	(void)user_mode;
	ret->pc = values[PERF_REG_ARM64_PC];
	ret->sp = values[PERF_REG_ARM64_SP];
	if (ret->compat)
		return;
	ret->fp = values[PERF_REG_ARM64_X29];
	ret->others[RULE_BASE_LR - RULE_BASE_OTHER] = values[PERF_REG_ARM64_LR];
	ret->known = UNWIND_KNOWN_FP | UNWIND_KNOWN(RULE_BASE_LR);
}
#else
#error "no user registers for this architecture"
#endif

/* { u64 abi; u64 registers[], if abi is not NONE } */
static bool decode_registers(struct perf_record_reader *r, struct perf_sample *s)
{
	uint64_t abi = perf_record_read_u64(r), values[REGISTERS_END] = {0};

	s->has_user = false;
	s->registers = (struct unwind_registers){0};
	if (abi == PERF_SAMPLE_REGS_ABI_NONE)
		return !r->failed;
	if (abi != PERF_SAMPLE_REGS_ABI_32 && abi != PERF_SAMPLE_REGS_ABI_64)
		return false;
	for (unsigned i = 0; i < REGISTERS_END; i++)
		if (perf_record_registers >> i & 1)
			values[i] = perf_record_read_u64(r);
	s->has_user = true;
	s->registers.compat = abi == PERF_SAMPLE_REGS_ABI_32;
	fill_registers(values, s->user_mode, &s->registers);
	return !r->failed;
}

/* { u64 size; u8 data[size]; u64 filled, if size is not 0 } */
static bool decode_stack(struct perf_record_reader *r, struct perf_sample *s)
{
	uint64_t size = perf_record_read_u64(r), filled;

	if (r->failed || size > r->left)
		return false;
	if (!size)
		return true;
	s->stack = r->data;
	r->data += size;
	r->left -= size;
	filled = perf_record_read_u64(r);
	if (r->failed || filled > size)
		return false;
	s->stack_length = filled;
	return true;
}

int perf_record_sample(const uint8_t *record, size_t length, uint64_t sample_type,
		       struct perf_sample *ret)
{
	struct perf_event_header header;
	struct perf_record_reader r;

	if (!open_record(record, length, &header, &r))
		return PERF_RECORD_E_MALFORMED;
	if (header.type != PERF_RECORD_SAMPLE)
		return PERF_RECORD_E_OTHER;
	ret->user_mode = (header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER;
	ret->n_kernel = 0;
	ret->stack = NULL;
	ret->stack_length = 0;
	perf_record_read_u64(&r); /* ip: the callchain begins with it */
	ret->pid = (pid_t)perf_record_read_u32(&r);
	ret->tid = (pid_t)perf_record_read_u32(&r);
	ret->time_ns = perf_record_read_u64(&r);
	ret->id = sample_type & PERF_SAMPLE_ID ? perf_record_read_u64(&r) : 0;
	ret->cpu = perf_record_read_u32(&r);
	perf_record_read_u32(&r);
	ret->period = perf_record_read_u64(&r);
	if (!decode_callchain(&r, ret) || !decode_registers(&r, ret) ||
	    (sample_type & PERF_SAMPLE_STACK_USER && !decode_stack(&r, ret)) || r.failed)
		return PERF_RECORD_E_MALFORMED;
	return PERF_RECORD_E_OK;
}
