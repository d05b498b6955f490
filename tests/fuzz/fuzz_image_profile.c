/* SPDX-License-Identifier: MIT */
/* What the reader accepts must come back from writing and reading again with nothing changed. */
#undef NDEBUG /* the assertions are what this program is for */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/profile/image_profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void assert_same(const char *a, const char *b)
{
	assert(!a == !b);
	assert(!a || !strcmp(a, b));
}

static void compare(const struct image_profile *p, const struct image_profile *q)
{
	assert_same(p->image, q->image);
	assert_same(p->epoch, q->epoch);
	assert_same(p->platform, q->platform);
	assert_same(p->event, q->event);
	assert_same(p->path, q->path);
	assert_same(p->ledger, q->ledger);
	assert_same(p->unknown, q->unknown);
	assert(p->period == q->period && p->tstart == q->tstart && p->tsize == q->tsize);
	assert(p->cpuspeed_mhz == q->cpuspeed_mhz && p->cpucount == q->cpucount);
	assert(p->n_counts == q->n_counts && p->total == q->total);
	assert(!p->n_counts || !memcmp(p->counts, q->counts, p->n_counts * sizeof(*p->counts)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup(image_profile_freep) struct image_profile *p = NULL, *q = NULL;
	struct profile_message message = {""};
	cleanup(freep) uint8_t *out = NULL;
	size_t n;
	int r;

	r = image_profile_read(data, size, &p, &message);
	assert(r >= 0);
	assert((r == 0) == !message.text[0]);
	if (r)
		return 0;
	assert(!image_profile_write(p, &out, &n));
	assert(n % 4 == 0);
	assert(!image_profile_read(out, n, &q, &message));
	compare(p, q);
	r = image_profile_add(q, p->counts, p->n_counts);
	assert(r == IMAGE_PROFILE_E_OVERFLOW || q->total == 2 * p->total);
	assert(r != IMAGE_PROFILE_E_OVERFLOW || q->total == p->total);
	return 0;
}
