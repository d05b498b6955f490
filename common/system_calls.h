/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_SYSTEM_CALLS_H
#define PROFD_COMMON_SYSTEM_CALLS_H

/*
 * The names of system calls by their numbers, of the architecture that profd is built for: those
 * that the compiler's <asm/unistd.h> has (system_calls.cmake). Pure.
 */
#include <stddef.h>

#define SYSTEM_CALL_NAME_SIZE 40

/* "futex"; "syscall N" where the headers were older than the kernel. */
void system_call_name(unsigned number, char ret[SYSTEM_CALL_NAME_SIZE]);

/* The table, generated: by number, NULL between them. */
extern const char *const system_call_names[];
extern const size_t n_system_call_names;

#endif
