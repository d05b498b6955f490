/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_WORKER_CODE_OBJECT_H
#define PROFD_COMMON_WORKER_CODE_OBJECT_H

/* Code objects in the payload of WORKER_FUNCTIONS (protocol.h). Pure. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/runtime/code.h"
#include "common/worker/protocol.h"

struct code_object {
	struct runtime_code code;
	const uint32_t *offsets;
	uint32_t n_offsets;
};

/* How many bytes it takes, a multiple of 4. */
size_t code_object_bytes(const struct code_object *object);
/* Writes it there: code_object_bytes() bytes. */
void code_object_put(const struct code_object *object, uint8_t *to);
/*
 * The one at *@at, before @end, and *@at behind it; borrowed from there, which is aligned to 4
 * bytes. False: there is none.
 */
bool code_object_take(const uint8_t **at, const uint8_t *end, struct code_object *ret);

#endif
