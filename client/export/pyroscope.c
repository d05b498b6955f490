/* SPDX-License-Identifier: MIT */
/*
 * Pyroscope: PushRequest (github.com/grafana/pyroscope, api/push/v1/push.proto) of one series with
 * one profile, because one of several that is refused does not keep the others from being stored.
 * It refuses, whatever its limits are set to, what is over 2 MiB before compression.
 */
#include <errno.h>
#include <string.h>

#include "client/export/judge.h"
#include "client/export/kinds.h"
#include "client/export/parts.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/wire.h"

#define LABELS_BYTES 0x11000u /* what labels may take of the 2 MiB */

static const struct export_limits pyroscope_limits = {
	.host_label = "hostname",
	.max_bytes = ((uint64_t)2 << 20) - LABELS_BYTES,
	.max_samples = 16000,
};

static uint8_t *pyroscope_put_bytes(uint8_t *to, uint32_t field, const void *data, size_t length)
{
	uint8_t *begin = to + WIRE_FIELD_MAX;

	memcpy(begin, data, length);
	return wire_close(to, field, begin + length);
}

/* LabelPair: 1 name, 2 value. */
static uint8_t *pyroscope_put_label(uint8_t *to, const struct export_label *label)
{
	uint8_t *end = to + WIRE_FIELD_MAX;

	end = pyroscope_put_bytes(end, 1, label->name, strlen(label->name));
	end = pyroscope_put_bytes(end, 2, label->value, strlen(label->value));
	return wire_close(to, 1, end);
}

/* RawProfileSeries: 1 labels, 2 samples. RawSample: 1 raw_profile. */
static uint8_t *pyroscope_put_series(uint8_t *to, const struct export_part *part)
{
	uint8_t *end = to + WIRE_FIELD_MAX, *sample;

	for (size_t i = 0; i < part->labels.n; i++)
		end = pyroscope_put_label(end, &part->labels.all[i]);
	sample = end;
	end = pyroscope_put_bytes(sample + WIRE_FIELD_MAX, 1, part->data, part->length);
	end = wire_close(sample, 2, end);
	return wire_close(to, 1, end);
}

static size_t pyroscope_size(const struct export_part *part)
{
	size_t size = 3 * WIRE_FIELD_MAX + part->length;

	for (size_t i = 0; i < part->labels.n; i++)
		size += 3 * WIRE_FIELD_MAX + strlen(part->labels.all[i].name) +
			strlen(part->labels.all[i].value);
	return size;
}

static int pyroscope_add_body(const struct export_part *part, struct export_bodies *ret)
{
	uint8_t *body = malloc(pyroscope_size(part));
	const uint8_t *end;

	if (!body)
		return error_origin(-ENOMEM);
	end = pyroscope_put_series(body, part);
	return export_bodies_add(ret, body, (size_t)(end - body));
}

static int pyroscope_encode(struct profile *window, const struct export_scope *scope,
			    struct export_bodies *ret)
{
	cleanup(export_parts_deinit) struct export_parts parts = {0};
	int r = export_parts_make(window, scope, &pyroscope_limits, &parts);

	for (size_t i = 0; i < parts.n && !r; i++)
		r = pyroscope_add_body(&parts.all[i], ret);
	return r;
}

/*
 * "... is outside of ingestion window (profile timestamp: 2026-11-29 10:00:00 ..., the ingestion
 * window starts at 2026-11-29 11:00:00 ... and ends at ...": a profile after the window is one of a
 * clock that is ahead.
 */
static bool pyroscope_is_early(const char *body, size_t length)
{
	static const char profile[] = "profile timestamp: ", start[] = "window starts at ",
			  end[] = "window ends at ", time[] = "2026-11-29 10:00:00";
	size_t rest, rest_start;
	const char *at = export_find_text(body, length, profile, &rest);
	const char *from = export_find_text(body, length, start, &rest_start);

	if (export_find_text(body, length, end, &(size_t){0}))
		return true;
	if (!at || !from || rest < sizeof(profile) + sizeof(time) ||
	    rest_start < sizeof(start) + sizeof(time))
		return false;
	return memcmp(at + sizeof(profile) - 1, from + sizeof(start) - 1, sizeof(time) - 1) > 0;
}

static enum export_verdict pyroscope_judge(unsigned status, const char *body, size_t length)
{
	static const struct export_rule rules[] = {
		{400, "outside of ingestion window", EXPORT_TOO_OLD},
		{500, "Unavailable", EXPORT_LATER},
		{500, "unavailable", EXPORT_LATER},
	};
	enum export_verdict v = export_judge(rules, ARRAY_SIZE(rules), status, body, length);

	return v == EXPORT_TOO_OLD && pyroscope_is_early(body, length) ? EXPORT_LATER : v;
}

const struct export_target export_pyroscope = {
	.name = "pyroscope",
	.path = "/push.v1.PusherService/Push",
	.content_type = "application/proto",
	.encode = pyroscope_encode,
	.judge = pyroscope_judge,
};
