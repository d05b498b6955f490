/* SPDX-License-Identifier: MIT */
#ifndef PROFD_DAEMON_WORKER_RUNTIME_PYTHON_THREAD_H
#define PROFD_DAEMON_WORKER_RUNTIME_PYTHON_THREAD_H

#include <stddef.h>
#include <stdint.h>

/*
 * Where a function that returns a thread-local word, @code at @address of x86-64, finds that word:
 * in a program at *ret_at from the thread's control block, with *ret_index 0; in a library in
 * the memory that the two words at *ret_index stand for (the argument of __tls_get_addr, "ELF
 * Handling For Thread-Local Storage", 3.4.6), *ret_at bytes on. Both 0: it is another function.
 * Pure: the code is untrusted.
 */
void python_find_thread(const uint8_t *code, size_t n, uint64_t address, uint64_t *ret_index,
			int32_t *ret_at);

#endif
