/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_WORKER_GO_PCLNTAB_FIXTURE_H
#define PROFD_TESTS_UNIT_WORKER_GO_PCLNTAB_FIXTURE_H

/* Go's table of functions, of each version, with no more in it than names take. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PCLNTAB_GO_1_2  0xfffffffbu
#define PCLNTAB_GO_1_16 0xfffffffau
#define PCLNTAB_GO_1_18 0xfffffff0u
#define PCLNTAB_GO_1_20 0xfffffff1u

#define PCLNTAB_BYTES_MAX 8192
#define PCLNTAB_MORE      48 /* bytes of what is said of each function */

/* What a walk wants to know of a function; Go 1.18 and later. */
struct pclntab_frame {
	uint8_t flags;
	const uint8_t *steps; /* of depths; NULL: none are told */
	size_t n_steps;
};

struct pclntab_spec {
	uint32_t magic;
	unsigned pointer_size;
	uint64_t text; /* Go 1.18: of the header, and what functions are offsets from */
	const uint64_t *starts;
	const char *const *names;
	size_t n;
	uint64_t end;                       /* of the last one */
	const struct pclntab_frame *frames; /* NULL: nothing of them */
};

struct pclntab_bytes {
	uint8_t data[PCLNTAB_BYTES_MAX];
	size_t length, functions, names;
};

static inline void pclntab_put(uint8_t *at, uint64_t number, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		at[i] = (uint8_t)(number >> 8 * i);
}

static inline void pclntab_make(const struct pclntab_spec *spec, struct pclntab_bytes *ret)
{
	int is_relative = spec->magic == PCLNTAB_GO_1_18 || spec->magic == PCLNTAB_GO_1_20;
	unsigned pointer = spec->pointer_size, size = is_relative ? 4 : pointer;
	unsigned n_fields = spec->magic == PCLNTAB_GO_1_2 ? 1 : is_relative ? 8 : 7;
	uint8_t *field = ret->data + 8;
	size_t name = 1, code_at, more;

	memset(ret, 0, sizeof(*ret));
	pclntab_put(ret->data, spec->magic, 4);
	ret->data[6] = 1;
	ret->data[7] = (uint8_t)pointer;
	ret->functions = 8 + (size_t)n_fields * pointer;
	more = ret->functions + (2 * spec->n + 1) * size;
	ret->names = more + spec->n * PCLNTAB_MORE;
	ret->length = ret->names + 1;
	code_at = spec->magic == PCLNTAB_GO_1_2 ? 0 : ret->functions;
	if (spec->magic == PCLNTAB_GO_1_2)
		name = ret->names + 1; /* offsets are from the beginning */
	pclntab_put(field, spec->n, pointer);
	if (n_fields > 1) {
		if (is_relative)
			pclntab_put(field + (size_t)2 * pointer, spec->text, pointer);
		pclntab_put(field + (size_t)(is_relative ? 3 : 2) * pointer, ret->names, pointer);
		pclntab_put(field + (size_t)(n_fields - 1) * pointer, ret->functions, pointer);
	}
	for (size_t i = 0; i < spec->n; i++) {
		uint8_t *entry = ret->data + ret->functions + 2 * i * size;
		uint64_t start = spec->starts[i] - (is_relative ? spec->text : 0);
		size_t at = more + i * PCLNTAB_MORE, n = strlen(spec->names[i]) + 1;

		pclntab_put(entry, start, size);
		pclntab_put(entry + size, at - code_at, size);
		pclntab_put(ret->data + at, start, size);
		pclntab_put(ret->data + at + size, name, 4);
		if (spec->frames)
			ret->data[at + (spec->magic == PCLNTAB_GO_1_20 ? 41 : 37)] =
				spec->frames[i].flags;
		memcpy(ret->data + ret->length, spec->names[i], n);
		ret->length += n;
		name += n;
	}
	pclntab_put(ret->data + ret->functions + 2 * spec->n * size,
		    spec->end - (is_relative ? spec->text : 0), size);
	if (!spec->frames)
		return;
	/* Offset 0 is that of no steps. */
	pclntab_put(field + (size_t)6 * pointer, ret->length++, pointer);
	for (size_t i = 0, first = ret->length - 1; i < spec->n; i++) {
		const struct pclntab_frame *f = &spec->frames[i];

		if (!f->steps)
			continue;
		pclntab_put(ret->data + more + i * PCLNTAB_MORE + 16, ret->length - first, 4);
		/* Equal ones are there once. */
		if (i && f->steps == spec->frames[i - 1].steps) {
			memcpy(ret->data + more + i * PCLNTAB_MORE + 16,
			       ret->data + more + (i - 1) * PCLNTAB_MORE + 16, 4);
			continue;
		}
		memcpy(ret->data + ret->length, f->steps, f->n_steps);
		ret->length += f->n_steps;
	}
}

#endif
