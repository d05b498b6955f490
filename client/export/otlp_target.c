/* SPDX-License-Identifier: MIT */
/*
 * OTLP over HTTP: POST of messages (otlp.h), gzip'ed, each within what collectors, and Pyroscope
 * behind them, take by default. What is too long is cut in halves, whose samples add up.
 */
#include <errno.h>
#include <string.h>

#include "client/export/cut.h"
#include "client/export/frames.h"
#include "client/export/kinds.h"
#include "client/export/otlp.h"
#include "client/formats/gzip.h"
#include "common/cleanup.h"
#include "common/profile/profile.h"
#include "common/wire.h"

#define BYTES_MAX   ((uint64_t)2 << 20) /* before compression */
#define BYTES_MIN   EXPORT_CUT_MIN
#define SAMPLES_MAX ((size_t)16000)

static int otlp_add_body(const uint8_t *message, size_t length, struct export_bodies *ret)
{
	uint8_t *packed;
	size_t packed_length;

	return gzip_pack(message, length, &packed, &packed_length)
		       ?: export_bodies_add(ret, packed, packed_length);
}

/* A sample that is too long by itself is sent, for the server to refuse and us to count. */
static int otlp_add_part(const struct profile *window, size_t first, size_t n,
			 const struct export_scope *scope, struct export_bodies *ret)
{
	const uint64_t wanted = scope->max_part ?: BYTES_MAX;
	const uint64_t max = wanted < BYTES_MIN   ? BYTES_MIN
			     : wanted < BYTES_MAX ? wanted
						  : BYTES_MAX;
	cleanup(freep) uint8_t *message = NULL;
	size_t length;
	int r = otlp_write(window, first, n, scope, &message, &length);

	if (r)
		return r;
	if (length <= max || n == 1)
		return otlp_add_body(message, length, ret);
	free(steal_ptr(&message));
	return otlp_add_part(window, first, n / 2, scope, ret)
		       ?: otlp_add_part(window, first + n / 2, n - n / 2, scope, ret);
}

static int otlp_encode(struct profile *window, const struct export_scope *scope,
		       struct export_bodies *ret)
{
	int r = export_frames_fit(window) ?: profile_drop_zeroes(window);

	for (size_t first = 0, n; first < window->n_samples && !r; first += n) {
		n = window->n_samples - first < SAMPLES_MAX ? window->n_samples - first
							    : SAMPLES_MAX;
		r = otlp_add_part(window, first, n, scope, ret);
	}
	return r;
}

/* ExportProfilesServiceResponse: 1 partial_success, of which 1 is rejected_profiles. */
static bool otlp_is_rejected(const char *body, size_t length)
{
	struct wire message = {(const uint8_t *)body, (const uint8_t *)body + length};
	struct wire_field field;

	while (wire_next(&message, &field)) {
		struct wire partial = field.bytes;
		bool is_partial = field.number == 1 && field.type == WIRE_BYTES;

		while (is_partial && wire_next(&partial, &field))
			if (field.number == 1 && field.type == WIRE_VARINT && field.value)
				return true;
	}
	return false;
}

/* Of errors, those of a Pyroscope that is the receiver are among a collector's. */
static enum export_verdict otlp_judge(unsigned status, const char *body, size_t length)
{
	if (status == 200 && otlp_is_rejected(body, length))
		return EXPORT_REFUSED;
	return export_pyroscope.judge(status, body, length);
}

const struct export_target export_otlp = {
	.name = "otlp",
	.path = "/v1development/profiles",
	.content_type = "application/x-protobuf",
	.content_encoding = "gzip",
	.encode = otlp_encode,
	.judge = otlp_judge,
};
