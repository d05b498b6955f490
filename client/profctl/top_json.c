/* SPDX-License-Identifier: MIT */
#include "client/profctl/top_json.h"

#include "client/profctl/json.h"

static void top_json_function(struct json *j, const struct top_function *f)
{
	json_begin_object(j, NULL);
	json_text(j, "name", f->name);
	json_number(j, "flat", (uint64_t)f->interval.flat);
	json_number(j, "cum", (uint64_t)f->interval.cum);
	json_number(j, "all_flat", (uint64_t)f->all.flat);
	json_number(j, "all_cum", (uint64_t)f->all.cum);
	json_end_object(j);
}

void top_json(const struct top_table *t, size_t max, bool compact, FILE *out)
{
	const struct top_facts *facts = t->facts;
	const struct top_sums *sums = &facts->sums;
	struct json j = {.out = out, .compact = compact};

	json_begin_object(&j, NULL);
	json_text(&j, "target", facts->target);
	json_text(&j, "unit", facts->is_time ? "cpu_ns" : "events");
	json_real(&j, "interval_seconds", (double)facts->interval_ns / 1e9);
	json_number(&j, "samples", (uint64_t)sums->samples);
	json_number(&j, "value", (uint64_t)sums->value);
	json_number(&j, "all_samples", (uint64_t)sums->all_samples);
	json_number(&j, "all_value", (uint64_t)sums->all_value);
	json_number(&j, "lost_samples", facts->n_lost);
	json_begin_array(&j, "functions");
	for (size_t i = 0; i < t->n && i < max && t->functions[i]->interval.cum; i++)
		top_json_function(&j, t->functions[i]);
	json_end_array(&j);
	json_end_object(&j);
	json_end(&j);
}
