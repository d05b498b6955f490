/* SPDX-License-Identifier: MIT */
#ifndef PROFD_INGEST_PERF_RECORD_H
#define PROFD_INGEST_PERF_RECORD_H

/*
 * Records of perf rings, decoded. Pure functions over one whole record: host byte order, every
 * length checked (perf_event_open(2), "mmap layout"; include/uapi/linux/perf_event.h).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/ingest/sample.h"

enum {
	PERF_RECORD_E_OK,
	PERF_RECORD_E_OTHER,     /* a sort of record that this function does not decode */
	PERF_RECORD_E_MALFORMED, /* shorter than it says, or inconsistent */
};

/* The records of an event with sample_id_all and this sample_type. */
#define PERF_RECORD_PROCESS_SAMPLE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

/* MMAP2, COMM, FORK, EXIT and LOST. The path in *ret points into @record. */
int perf_record_process_event(const uint8_t *record, size_t length, struct process_event *ret);
/* Only when it was made, for sorting. */
int perf_record_time(const uint8_t *record, size_t length, uint64_t *ret);

/* Of an event that samples: with PERF_SAMPLE_STACK_USER if it copies stacks, and PERF_SAMPLE_ID. */
#define PERF_RECORD_SAMPLE_TYPE                                                  \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | \
	 PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER)

/*
 * Its sample_regs_user, a bit per register of <asm/perf_regs.h>: what an unwind rule can begin
 * with, and what tells a system call, where anything does: see perf_record_sample().
 */
extern const uint64_t perf_record_registers;
extern const bool perf_record_tells_calls;

struct perf_sample {
	uint64_t time_ns, period;
	uint64_t id; /* of the event, or of the one it was inherited from; 0: was not asked for */
	pid_t pid, tid;
	uint32_t cpu;
	bool user_mode; /* the tick hit user mode */
	bool has_user;  /* there are user registers: of no kernel thread */
	struct unwind_registers registers;
	const uint8_t *stack; /* from registers.sp on; points into the record */
	size_t stack_length;
	uint32_t n_kernel;
	uint64_t kernel[SAMPLE_FRAMES_MAX]; /* lookup addresses, leaf first */
};

/*
 * SAMPLE of an event with @sample_type, perf_record_registers and exclude_callchain_user. Of kernel
 * frames, callers are shifted by one, the leaf is not.
 *
 * Whether the user pc is exact or the return address of a system call, the record does not say: the
 * number of the call (orig_ax) is not among the registers. x86-64: the SYSCALL instruction leaves
 * its return address in rcx and the flags in r11, and the kernel's entry code saves them so; any
 * other entry with these values comes right behind that instruction, and exec clears them. That
 * fails where SYSCALL leaves rcx alone (FRED), and elsewhere nothing tells: then the pc passes for
 * exact, which is wrong only for calls at the very end of a function, which do not return. To
 * shift every pc of a kernel-entered sample would be wrong at the first instruction of each
 * function that faults, and they often do.
 */
int perf_record_sample(const uint8_t *record, size_t length, uint64_t sample_type,
		       struct perf_sample *ret);

#endif
