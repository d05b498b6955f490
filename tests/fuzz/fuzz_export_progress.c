/* SPDX-License-Identifier: MIT */
/*
 * The files of a target: whatever they say, a window that is done is not lacking, what is held was
 * a window, and requests that were kept are within their file.
 */
#include "client/export/target.h"
#include "client/gateway/export/begun.h"
#include "client/gateway/export/place.h"
#include "client/gateway/export/progress.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_require(int holds)
{
	if (!holds)
		abort();
}

static void fuzz_begun(const uint8_t *data, size_t size)
{
	cleanup(export_bodies_deinit) struct export_bodies bodies = {0};
	size_t length = 0;

	if (!begun_parse(data, size, "w", &bodies))
		return;
	for (size_t i = 0; i < bodies.n; i++)
		length += sizeof(uint64_t) + bodies.all[i].length;
	fuzz_require(length + sizeof("w") + sizeof(uint64_t) == size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char window[] = "services/a.service/20261121/20261121T140300Z-60s.pb.gz";
	struct progress *p = NULL;
	char held[PLACE_PATH_MAX + 1];
	struct place place;
	const char *begun;
	uint64_t digest;

	fuzz_begun(data, size);
	if (progress_parse(&p, (const char *)data, size))
		return 0;
	while (progress_held(p)) {
		snprintf(held, sizeof(held), "%s", progress_held(p));
		fuzz_require(place_parse(held, &place) && !progress_lacks(p, held));
		fuzz_require(!progress_mark_done(p, held) && !progress_lacks(p, held));
	}
	fuzz_require(!progress_count_held(p));
	fuzz_require(!progress_mark_done(p, window) && !progress_lacks(p, window));
	fuzz_require(!progress_parts(p, window, &digest));
	begun = progress_begun(p, window);
	fuzz_require(!begun || (strcmp(begun, window) != 0 && progress_lacks(p, begun)));
	progress_free(p);
	return 0;
}
