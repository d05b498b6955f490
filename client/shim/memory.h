/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_SHIM_MEMORY_H
#define PROFD_CLIENT_SHIM_MEMORY_H

/*
 * The shared object's malloc(3): the linker's --wrap leads all its calls here. The program's own
 * may be locked by whoever the switching signal interrupted, not be there yet, or be what is
 * profiled.
 *
 * Each piece is a mapping of its own. There are a few for an image, and a few for a file, none for
 * a sample. Async-signal-safe.
 */
#include <stddef.h>

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_reallocarray(void *memory, size_t n, size_t size);
void __wrap_free(void *memory);

#endif
