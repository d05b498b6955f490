/* SPDX-License-Identifier: MIT */
/*
 * Each sample becomes a stack and attributes of the dictionary, and these, in the encoding of a
 * Sample, an entry of a table, which is where its values are added up.
 */
#include "client/export/otlp_samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/export/labels.h"
#include "client/export/otlp_names.h"
#include "client/export/otlp_types.h"
#include "common/clamped.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/order.h"
#include "common/profile/windows.h"
#include "common/room.h"
#include "common/span.h"

/* For what the table of samples has by now, of which only the last may be of that service. */
static int otlp_reserve_entries(struct otlp_samples *s, uint32_t service)
{
	int r = 0;

	for (uint32_t sample = (uint32_t)s->n_entries; sample < s->samples.n && !r; sample++)
		r = room_append(&s->entries, &s->max_entries, &s->n_entries,
				(struct otlp_entry){service, sample});
	while (s->n_values < s->n_entries * s->p->n_sample_types && !r)
		r = room_append(&s->values, &s->max_values, &s->n_values, 0);
	return r;
}

int otlp_samples_init(struct otlp_samples *s, const struct profile *p,
		      const struct export_scope *scope)
{
	uint32_t service;

	s->p = p;
	s->scope = (struct export_scope){
		.service = scope->service ?: "",
		.host = scope->host ?: "",
		.labels = scope->labels ?: "",
		.keep = scope->keep ?: "",
	};
	otlp_choose_types(p, s->is_sent);
	return otlp_dictionary_init(&s->dictionary, p) ?:
	       otlp_table_init(&s->services) ?:
	       otlp_table_init(&s->samples) ?:
	       otlp_table_add(&s->services, s->scope.service, strlen(s->scope.service), &service) ?:
	       otlp_reserve_entries(s, 0);
}

void otlp_samples_deinit(struct otlp_samples *s)
{
	otlp_dictionary_deinit(&s->dictionary);
	otlp_table_deinit(&s->services);
	otlp_table_deinit(&s->samples);
	free(s->versions);
	free(s->entries);
	free(s->values);
	free(s->labels);
	free(s->attributes);
	proto_out_deinit(&s->sample);
}

/* --- attributes ------------------------------------------------------------------------------- */

/* Whether the list "a,b" has @key, or nothing; which window a sample is of is profd's own. */
static bool otlp_keeps_label(const char *list, const char *key)
{
	struct span rest = {list, strlen(list)}, name;
	bool any = false;

	if (strcmp(key, WINDOWS_LABEL) == 0)
		return false;
	while (span_cut(&rest, ',', &name)) {
		if (span_is(span_trim(name), key))
			return true;
		any |= span_trim(name).length > 0;
	}
	return !any;
}

static int otlp_add_label(struct otlp_samples *s, const char *key, struct otlp_value value)
{
	return otlp_add_text(&s->dictionary, key, &value.key)
		       ?: room_append(&s->labels, &s->max_labels, &s->n_labels, value);
}

static bool otlp_has_label(const struct profile *p, const struct profile_sample *sample,
			   const char *key)
{
	for (uint32_t i = 0; i < sample->n_labels; i++)
		if (strcmp(profile_string(p, p->sample_labels[sample->first_label + i].key), key) ==
		    0)
			return true;
	return false;
}

/* All labels of @sample; its service, or "", comes last. */
static int otlp_add_labels(struct otlp_samples *s, const struct profile_sample *sample,
			   const char **ret_service)
{
	const struct profile *p = s->p;
	const bool is_pod = otlp_has_label(p, sample, "pod");
	int r = 0;

	*ret_service = s->scope.service;
	s->n_labels = 0;
	for (uint32_t i = 0; i < sample->n_labels && !r; i++) {
		const struct profile_label *l = &p->sample_labels[sample->first_label + i];
		const char *key = profile_string(p, l->key), *text = profile_string(p, l->str);
		const char *name = otlp_name_of_label(key, text, is_pod);

		if (strcmp(name, OTLP_SERVICE_NAME) == 0) {
			if (!**ret_service)
				*ret_service = text;
			continue;
		}
		if (otlp_keeps_label(s->scope.keep, key))
			r = otlp_add_label(s, name,
					   (struct otlp_value){.unit = l->num_unit,
							       .text = l->str ? text : NULL,
							       .number = l->num});
	}
	if (!**ret_service || r)
		return r;
	return otlp_add_label(s, OTLP_SERVICE_NAME, (struct otlp_value){.text = *ret_service});
}

DEFINE_ORDER(otlp_compare_values, struct otlp_value,
	     order_of(x->key, y->key) ?: strcmp(x->text ?: "", y->text ?: "")
		     ?: order_of(x->number, y->number) ?: order_of(x->unit, y->unit))

/* The labels as attributes: in one order for all samples, each key once. */
static int otlp_add_attributes(struct otlp_samples *s)
{
	int r = 0;

	s->n_attributes = 0;
	if (s->n_labels)
		qsort(s->labels, s->n_labels, sizeof(*s->labels), otlp_compare_values);
	for (size_t i = 0, end; i < s->n_labels && !r; i = end) {
		uint32_t attribute;

		for (end = i + 1; end < s->n_labels && s->labels[end].key == s->labels[i].key;
		     end++)
			;
		r = otlp_add_attribute(&s->dictionary, &s->labels[i], end - i, &attribute)
			    ?: room_append(&s->attributes, &s->max_attributes, &s->n_attributes,
					   attribute);
	}
	return r;
}

/* --- samples ---------------------------------------------------------------------------------- */

/* The values number @i of @all, in what is sent of them. */
static bool otlp_is_zero(const struct otlp_samples *s, const int64_t *all, size_t i)
{
	const uint32_t n = s->p->n_sample_types;

	for (uint32_t type = 0; type < n; type++)
		if (s->is_sent[type] && all[i * n + type])
			return false;
	return true;
}

/* Of @service, whose first samples may be this one, in s->versions. */
static int otlp_note_version(struct otlp_samples *s, const struct profile_sample *sample,
			     uint32_t service)
{
	uint32_t version = 0;
	int r = 0;

	for (uint32_t i = 0; i < sample->n_labels; i++) {
		const struct profile_label *l = &s->p->sample_labels[sample->first_label + i];

		if (strcmp(profile_string(s->p, l->key), EXPORT_VERSION) == 0)
			version = l->str;
	}
	while (s->n_versions <= service && !r)
		r = room_append(&s->versions, &s->max_versions, &s->n_versions, PROFILE_NONE);
	if (!r && s->versions[service] == PROFILE_NONE)
		s->versions[service] = version;
	else if (!r && s->versions[service] != version)
		s->versions[service] = 0;
	return r;
}

const char *otlp_samples_version(const struct otlp_samples *s, uint32_t service)
{
	return service < s->n_versions && s->versions[service] != PROFILE_NONE
		       ? profile_string(s->p, s->versions[service])
		       : "";
}

/* *ret: the entry of the table. */
static int otlp_find_entry(struct otlp_samples *s, const struct profile_sample *sample,
			   uint32_t *ret)
{
	const char *name;
	uint32_t stack, service;
	int r = otlp_add_stack(&s->dictionary, sample, &stack) ?:
		otlp_add_labels(s, sample, &name) ?:
		otlp_add_attributes(s) ?:
		otlp_table_add(&s->services, name, strlen(name), &service) ?:
		otlp_note_version(s, sample, service);

	if (r)
		return r;
	s->sample.n = 0;
	proto_put_numbers(&s->sample, 1, (uint64_t[]){stack}, 1);
	proto_put_list(&s->sample, 2, s->attributes, s->n_attributes);
	if (s->sample.is_short)
		return error_origin(-ENOMEM);
	return otlp_table_add(&s->samples, s->sample.bytes, s->sample.n, ret)
		       ?: otlp_reserve_entries(s, service);
}

int otlp_samples_add(struct otlp_samples *s, size_t i)
{
	const uint32_t n = s->p->n_sample_types;
	uint32_t entry;
	int r;

	if (otlp_is_zero(s, s->p->sample_values, i))
		return 0;
	r = otlp_find_entry(s, &s->p->samples[i], &entry);
	for (uint32_t type = 0; type < n && !r; type++) {
		int64_t *sum = &s->values[(size_t)entry * n + type];

		*sum = clamped_add(*sum, s->p->sample_values[i * n + type]);
	}
	return r;
}

int64_t otlp_samples_value(const struct otlp_samples *s, size_t entry, uint32_t type)
{
	return s->values[(size_t)s->entries[entry].sample * s->p->n_sample_types + type];
}

DEFINE_ORDER(otlp_compare_entries, struct otlp_entry,
	     order_of(x->service, y->service) ?: order_of(x->sample, y->sample))

void otlp_samples_arrange(struct otlp_samples *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_entries; i++)
		if (!otlp_is_zero(s, s->values, s->entries[i].sample))
			s->entries[n++] = s->entries[i];
	s->n_entries = n;
	if (n)
		qsort(s->entries, n, sizeof(*s->entries), otlp_compare_entries);
}
