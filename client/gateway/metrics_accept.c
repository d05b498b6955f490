/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "client/gateway/metrics.h"
#include "common/span.h"

/* In thousandths. */
static unsigned accept_parse_quality(struct span text)
{
	unsigned quality = 0, unit = 1000;

	for (size_t i = 0; i < text.length && unit; i++) {
		if (text.at[i] == '.')
			continue;
		if (text.at[i] < '0' || text.at[i] > '9')
			return 0;
		quality += unit * (unsigned)(text.at[i] - '0');
		unit /= 10;
	}
	return quality > 1000 ? 1000 : quality;
}

struct accepted {
	unsigned openmetrics, text; /* qualities */
};

static void accept_add(struct accepted *a, struct span range)
{
	unsigned quality = 1000;
	bool is_ours = true;
	struct span type, param, name;

	span_cut(&range, ';', &type);
	type = span_trim(type);
	while (span_cut(&range, ';', &param)) {
		span_cut(&param, '=', &name);
		name = span_trim(name);
		param = span_trim(param);
		if (span_is(name, "q"))
			quality = accept_parse_quality(param);
		else if (span_is(name, "version") && !span_is(param, "1.0.0"))
			is_ours = false;
	}
	if (span_is(type, "application/openmetrics-text")) {
		if (is_ours && quality > a->openmetrics)
			a->openmetrics = quality;
	} else if (span_is(type, "text/plain") && quality > a->text) {
		a->text = quality;
	}
}

bool metrics_wants_openmetrics(const char *accept)
{
	struct span rest = {accept, strlen(accept)}, range;
	struct accepted a = {0};

	while (span_cut(&rest, ',', &range))
		accept_add(&a, range);
	return a.openmetrics && a.openmetrics >= a.text;
}
