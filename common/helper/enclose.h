/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_HELPER_ENCLOSE_H
#define PROFD_COMMON_HELPER_ENCLOSE_H

/*
 * What a process that parses strangers' files does to itself before it reads them, besides the
 * system calls that it gives up (confine.h). For programs of one thread.
 */
#include <stddef.h>
#include <stdint.h>

struct enclose_limit {
	int resource; /* RLIMIT_* */
	uint64_t value;
};

/* setrlimit(2) of all @n; never up. 0 or negative errno. */
int enclose_limit_resources(const struct enclose_limit *limits, size_t n);
/* Short of memory, the kernel is to end this process before all others (proc(5)). */
void enclose_offer_to_end(void);
/*
 * No file can be opened any more, as far as the kernel can forbid it: a ruleset of landlock(7) that
 * handles everything and has no rule. 0, also where there is no landlock, or negative errno.
 */
int enclose_deny_files(void);
/*
 * The same of what changes anything: files can still be read. What is open stays so; attributes and
 * times are not landlock's affair. No new privileges are to be had either.
 */
int enclose_deny_changes(void);

#endif
