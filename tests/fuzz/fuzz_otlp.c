/* SPDX-License-Identifier: MIT */
/*
 * Whatever profile.proto there is becomes an OTLP message that is one (tests/support/otlp_seen.h)
 * and has the profile's sums. (fuzz_export has what a server answers, and sends it twice.)
 */
#undef NDEBUG /* the assertions are what this program is for */
#include <assert.h>

#include "client/export/otlp.h"
#include "client/export/target.h"
#include "common/cleanup.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"
#include "tests/support/otlp_seen.h"

#define MAX_BYTES ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_message(const struct profile *p, const uint8_t *bytes, size_t length)
{
	struct otlp_seen seen = otlp_see(bytes, length);

	/* Sums of several types, and sums beyond the range, are not those of one. */
	if (p->n_sample_types == 1 && seen.sum != INT64_MAX && seen.sum != INT64_MIN)
		assert(seen.sum == profile_total(p, 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct export_scope scopes[] = {
		{0},
		{.service = "s",
		 .host = "h",
		 .labels = "a=b,service.name=t,a=,b",
		 .keep = "pid, thread"},
	};
	cleanup(profile_freep) struct profile *p = NULL;
	struct profile_message message;

	if (pprof_read(data, size, MAX_BYTES, &p, &message))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++) {
		cleanup(freep) uint8_t *bytes = NULL;
		size_t length;

		assert(!otlp_write(p, 0, SIZE_MAX, &scopes[i], &bytes, &length));
		check_message(p, bytes, length);
	}
	return 0;
}
