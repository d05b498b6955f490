/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_GO_GO_SWITCHES_H
#define PROFD_DAEMON_WORKER_GO_GO_SWITCHES_H

/*
 * Functions of Go's runtime that continue on another stack: those that call on the system stack
 * (systemstack, asmcgocall), those that never return (mcall, gogo, morestack), the way back from C
 * (cgocallback, crosscall2) and those that call the vdso. The table of functions only says that
 * they write the stack pointer; what else a walk needs is in their instructions: where each switch
 * is, and where a g, its m and the saved stack pointer are, which differs between releases. So no
 * release has to be known; one whose code has another shape has no rules.
 *
 * x86-64. Source: src/runtime/asm_amd64.s, sys_linux_amd64.s, runtime2.go of Go 1.17 to 1.26.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/worker/go/pclntab.h"

/* Of one function; the longest, cgocallback, has some 350. */
#define GO_CODE_BYTES_MAX 1024
#define GO_ROWS_MAX       64

enum go_switch {
	GO_SWITCH_NONE,
	GO_SYSTEMSTACK,
	GO_ASMCGOCALL,
	GO_CGOCALLBACK,
	GO_MORESTACK,
	GO_LEAVES,    /* mcall, gogo: nothing called what they continue with */
	GO_CROSSCALL, /* crosscall2: saves C's frame pointer among other registers */
	GO_MOVES_SP,  /* any other that writes the stack pointer */
};

enum go_switch go_switch_of(const struct pclntab_function *f);

/* The instructions of a function. */
struct go_code {
	uint8_t bytes[GO_CODE_BYTES_MAX];
	size_t length; /* 0: not to be had */
};

struct go_row {
	uint32_t at;   /* bytes from the function's start */
	uint64_t rule; /* unwind rule word */
};

struct go_rows {
	struct go_row rows[GO_ROWS_MAX];
	size_t n;
	uint64_t end; /* the last one holds up to here; 0: there is none */
};

struct go_switches;

/* Returns 0 or negative errno. */
int go_switches_new(struct go_switches **ret);
void go_switches_free(struct go_switches *s);
DEFINE_CLEANUP(struct go_switches *, go_switches_free)

/* Learns from these two functions where the runtime keeps what switches need. */
void go_switches_learn(struct go_switches *s, const struct go_code *systemstack,
		       const struct go_code *morestack);
/*
 * The rules of @f, of kind @kind, which has @code. They end where an instruction is not one of
 * those expected, or when *steps, which counts what is read of the table, is used up.
 */
void go_switches_rows(struct go_switches *s, enum go_switch kind, const struct go_code *code,
		      const struct pclntab *t, const struct pclntab_function *f, uint64_t *steps,
		      struct go_rows *ret);

#endif
