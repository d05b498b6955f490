/* SPDX-License-Identifier: MIT */
/*
 * What the reader accepts must survive writing and reading again: the second generation, written,
 * is the first one byte for byte. (The input itself need not be: it may hold unused or unordered
 * things.)
 */
#undef NDEBUG /* the assertions are what this program is for */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"

#define MAX_BYTES ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup(profile_freep) struct profile *p = NULL, *q = NULL;
	cleanup(freep) uint8_t *first = NULL, *second = NULL;
	struct profile_message message = {""};
	size_t n_first, n_second;
	int r;

	r = pprof_read(data, size, MAX_BYTES, &p, &message);
	assert(r >= 0);
	assert((r == 0) == !message.text[0]);
	if (r)
		return 0;
	assert(!pprof_write(p, 1, &first, &n_first));
	assert(!pprof_read(first, n_first, MAX_BYTES * 64, &q, &message));
	assert(!pprof_write(q, 1, &second, &n_second));
	assert(n_first == n_second && !memcmp(first, second, n_first));
	for (uint32_t i = 0; i < p->n_sample_types; i++)
		assert(profile_total(p, i) == profile_total(q, i));
	return 0;
}
