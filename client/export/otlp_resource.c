/* SPDX-License-Identifier: MIT */
#include "client/export/otlp_resource.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/export/labels.h"
#include "client/export/otlp_dictionary.h"
#include "client/export/otlp_names.h"
#include "client/export/target.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/room.h"
#include "common/span.h"

struct otlp_pair {
	struct span name, value; /* borrowed */
};

struct otlp_pairs {
	struct otlp_pair *all;
	size_t n, max;
};

static void otlp_pairs_deinit(struct otlp_pairs *pairs)
{
	free(pairs->all);
}

static int otlp_set_pair(struct otlp_pairs *pairs, struct span name, struct span value)
{
	for (size_t i = 0; i < pairs->n; i++) {
		const struct span known = pairs->all[i].name;

		if (known.length != name.length || memcmp(known.at, name.at, name.length) != 0)
			continue;
		pairs->all[i].value = value;
		return 0;
	}
	return room_append(&pairs->all, &pairs->max, &pairs->n, (struct otlp_pair){name, value});
}

static int otlp_set_text(struct otlp_pairs *pairs, const char *name, const char *value)
{
	return otlp_set_pair(pairs, (struct span){name, strlen(name)},
			     (struct span){value, strlen(value)});
}

/* What is configured replaces what is known. */
static int otlp_set_labels(struct otlp_pairs *pairs, const char *labels)
{
	struct span rest = {labels, strlen(labels)}, value, name;
	int r = 0;

	while (!r && span_cut(&rest, ',', &value)) {
		span_cut(&value, '=', &name);
		name = span_trim(name);
		value = span_trim(value);
		if (name.length && value.length)
			r = otlp_set_pair(pairs, name, value);
	}
	return r;
}

/* KeyValue, with AnyValue: 1 string_value. */
static int otlp_put_pair(struct proto_out *out, uint32_t number, const struct otlp_pair *pair)
{
	cleanup(freep) char *name = export_text_fit(pair->name, SIZE_MAX);
	cleanup(freep) char *value = export_text_fit(pair->value, SIZE_MAX);
	const size_t begin = proto_begin(out);

	if (!name || !value)
		return error_origin(-ENOMEM);
	proto_put_text(out, 1, name);
	otlp_put_text_value(out, 2, value);
	proto_end(out, number, begin);
	return 0;
}

int otlp_put_resource(struct proto_out *out, uint32_t number, const struct export_scope *scope,
		      const char *service, const char *version)
{
	cleanup(otlp_pairs_deinit) struct otlp_pairs pairs = {0};
	const size_t begin = proto_begin(out);
	int r = otlp_set_text(&pairs, OTLP_SERVICE_NAME, *service ? service : OTLP_SERVICE_UNKNOWN);

	if (!r && *version)
		r = otlp_set_text(&pairs, OTLP_SERVICE_VERSION, version);
	if (!r && *scope->host)
		r = otlp_set_text(&pairs, OTLP_HOST_NAME, scope->host);
	if (!r)
		r = otlp_set_labels(&pairs, scope->labels);
	for (size_t i = 0; i < pairs.n && !r; i++)
		r = otlp_put_pair(out, 1, &pairs.all[i]);
	proto_end(out, number, begin);
	return r;
}

void otlp_put_instrumentation(struct proto_out *out, uint32_t number)
{
	const size_t begin = proto_begin(out);

	proto_put_text(out, 1, "profd");
	proto_put_text(out, 2, PROFD_VERSION);
	proto_end(out, number, begin);
}
