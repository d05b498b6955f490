/* SPDX-License-Identifier: MIT */
/*
 * A thing is encoded when the first sample refers to it: first what it refers to itself, then its
 * own message, whose number is remembered. Numbers of fields are those of the messages in
 * opentelemetry/proto/profiles/v1development/profiles.proto.
 */
#include "client/export/otlp_dictionary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/export/otlp_names.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/profile/profile.h"
#include "common/room.h"

#define OTLP_BUILD_IDS_MAX 3u /* of a mapping: GNU's, Go's, the hash of its file */

static int otlp_new_numbers(uint32_t **ret, size_t n)
{
	*ret = calloc(n + 1, sizeof(**ret));
	return *ret ? 0 : error_origin(-ENOMEM);
}

int otlp_dictionary_init(struct otlp_dictionary *d, const struct profile *p)
{
	int r = otlp_new_numbers(&d->strings, profile_n_strings(p)) ?:
		otlp_new_numbers(&d->mappings, p->n_mappings) ?:
		otlp_new_numbers(&d->functions, p->n_functions) ?:
		otlp_new_numbers(&d->locations, p->n_locations) ?:
		file_ids_read(&d->ids, p);

	d->p = p;
	for (size_t i = OTLP_MAPPINGS; i < OTLP_TABLES_END && !r; i++)
		r = otlp_table_init(&d->tables[i]);
	return r;
}

void otlp_dictionary_deinit(struct otlp_dictionary *d)
{
	for (size_t i = OTLP_MAPPINGS; i < OTLP_TABLES_END; i++)
		otlp_table_deinit(&d->tables[i]);
	free(d->strings);
	free(d->mappings);
	free(d->functions);
	free(d->locations);
	free(d->chain);
	file_ids_deinit(&d->ids);
	proto_out_deinit(&d->entry);
}

/* --- adding ----------------------------------------------------------------------------------- */

/* The entry that was written becomes one of that table. */
static int otlp_add_entry(struct otlp_dictionary *d, enum otlp_table_field field, uint32_t *ret)
{
	int r = d->entry.is_short
			? error_origin(-ENOMEM)
			: otlp_table_add(&d->tables[field], d->entry.bytes, d->entry.n, ret);

	d->entry.n = 0;
	return r;
}

int otlp_add_text(struct otlp_dictionary *d, const char *text, uint32_t *ret)
{
	proto_append_text(&d->entry, text);
	return otlp_add_entry(d, OTLP_STRINGS, ret);
}

/* A string of the profile. */
static int otlp_add_string(struct otlp_dictionary *d, uint32_t string, uint32_t *ret)
{
	int r = d->strings[string]
			? 0
			: otlp_add_text(d, profile_string(d->p, string), &d->strings[string]);

	if (!r)
		*ret = d->strings[string];
	return r;
}

static void otlp_put_value(struct proto_out *out, uint32_t number, const struct otlp_value *v)
{
	size_t begin = proto_begin(out);

	if (v->text)
		proto_put_text(out, 1, v->text);
	else
		proto_put_chosen(out, 3, (uint64_t)v->number);
	proto_end(out, number, begin);
}

void otlp_put_text_value(struct proto_out *out, uint32_t number, const char *value)
{
	otlp_put_value(out, number, &(struct otlp_value){.text = value});
}

static void otlp_put_values(struct proto_out *out, uint32_t number, const struct otlp_value *values,
			    size_t n)
{
	size_t begin = proto_begin(out), array = proto_begin(out);

	for (size_t i = 0; i < n; i++)
		otlp_put_value(out, 1, &values[i]);
	proto_end(out, 5, array);
	proto_end(out, number, begin);
}

int otlp_add_attribute(struct otlp_dictionary *d, const struct otlp_value *values, size_t n,
		       uint32_t *ret)
{
	uint32_t unit;
	int r = otlp_add_string(d, values->unit, &unit);

	if (r)
		return r;
	proto_put_chosen(&d->entry, 1, values->key);
	if (n > 1)
		otlp_put_values(&d->entry, 2, values, n);
	else
		otlp_put_value(&d->entry, 2, values);
	proto_put_numbers(&d->entry, 3, (uint64_t[]){unit}, 1);
	return otlp_add_entry(d, OTLP_ATTRIBUTES, ret);
}

static int otlp_add_text_attribute(struct otlp_dictionary *d, const char *key, const char *value,
				   uint32_t *ret)
{
	struct otlp_value v = {.text = value};

	return otlp_add_text(d, key, &v.key) ?: otlp_add_attribute(d, &v, 1, ret);
}

/* The attributes of a mapping's build ids, each kind once; *ret_n: how many they are. */
static int otlp_add_build_ids(struct otlp_dictionary *d, const struct profile_mapping *m,
			      uint32_t ret[OTLP_BUILD_IDS_MAX], size_t *ret_n)
{
	const struct file_ids *more = file_ids_find(&d->ids, d->p, m);
	const char *own = profile_string(d->p, m->build_id), *key = otlp_name_of_build_id(own);
	const bool is_go = key && strcmp(key, OTLP_BUILD_ID_GO) == 0;
	const struct {
		const char *key, *id;
	} ids[OTLP_BUILD_IDS_MAX] = {
		{key, key ? own : ""},
		{OTLP_BUILD_ID_GO, more && !is_go ? more->go : ""},
		{OTLP_BUILD_ID_HTL, more ? more->htlhash : ""},
	};
	int r = 0;

	*ret_n = 0;
	for (size_t i = 0; i < ARRAY_SIZE(ids) && !r; i++)
		if (*ids[i].id)
			r = otlp_add_text_attribute(d, ids[i].key, ids[i].id, &ret[(*ret_n)++]);
	return r;
}

static int otlp_add_mapping(struct otlp_dictionary *d, uint32_t mapping, uint32_t *ret)
{
	const struct profile_mapping *m = &d->p->mappings[mapping];
	const bool is_range = m->start < m->limit; /* else OTLP wants both to be 0 */
	uint64_t numbers[4] = {is_range ? m->start : 0, is_range ? m->limit : 0, m->offset};
	uint32_t path, attributes[OTLP_BUILD_IDS_MAX];
	size_t n_attributes;
	int r;

	if (d->mappings[mapping]) {
		*ret = d->mappings[mapping];
		return 0;
	}
	r = otlp_add_string(d, m->path, &path)
		    ?: otlp_add_build_ids(d, m, attributes, &n_attributes);
	if (r)
		return r;
	numbers[3] = path;
	proto_put_numbers(&d->entry, 1, numbers, ARRAY_SIZE(numbers));
	proto_put_list(&d->entry, 5, attributes, n_attributes);
	r = otlp_add_entry(d, OTLP_MAPPINGS, &d->mappings[mapping]);
	*ret = d->mappings[mapping];
	return r;
}

static uint64_t not_negative(int64_t number)
{
	return number > 0 ? (uint64_t)number : 0;
}

static int otlp_add_function(struct otlp_dictionary *d, uint32_t function)
{
	const struct profile_function *f = &d->p->functions[function];
	uint32_t name, system_name, filename;
	int r;

	if (d->functions[function])
		return 0;
	r = otlp_add_string(d, f->name, &name) ?:
	    otlp_add_string(d, f->system_name, &system_name) ?:
	    otlp_add_string(d, f->filename, &filename);
	if (r)
		return r;
	proto_put_numbers(&d->entry, 1,
			  (uint64_t[]){name, system_name, filename, not_negative(f->start_line)},
			  4);
	return otlp_add_entry(d, OTLP_FUNCTIONS, &d->functions[function]);
}

/* Its function has been added. */
static void otlp_put_line(struct otlp_dictionary *d, uint32_t number, const struct profile_line *l)
{
	proto_put_message(&d->entry, number,
			  (uint64_t[]){d->functions[l->function], not_negative(l->line),
				       not_negative(l->column)},
			  3);
}

static int otlp_add_location(struct otlp_dictionary *d, uint32_t location, uint32_t *ret)
{
	const struct profile_location *l = &d->p->locations[location];
	uint32_t mapping = 0, type;
	int r = 0;

	*ret = d->locations[location];
	if (*ret)
		return 0;
	if (l->mapping != PROFILE_NONE)
		r = otlp_add_mapping(d, l->mapping, &mapping);
	for (uint32_t i = 0; i < l->n_lines && !r; i++)
		r = otlp_add_function(d, d->p->lines[l->first_line + i].function);
	if (!r)
		r = otlp_add_text_attribute(d, OTLP_FRAME_TYPE, otlp_frame_type(d->p, l), &type);
	if (r)
		return r;
	proto_put_numbers(&d->entry, 1, (uint64_t[]){mapping, l->address}, 2);
	for (uint32_t i = 0; i < l->n_lines; i++)
		otlp_put_line(d, 3, &d->p->lines[l->first_line + i]);
	proto_put_list(&d->entry, 4, &type, 1);
	r = otlp_add_entry(d, OTLP_LOCATIONS, &d->locations[location]);
	*ret = d->locations[location];
	return r;
}

int otlp_add_stack(struct otlp_dictionary *d, const struct profile_sample *s, uint32_t *ret)
{
	int r = room_make(&d->chain, &d->max_chain, s->n_locations, sizeof(*d->chain));

	for (uint32_t i = 0; i < s->n_locations && !r; i++)
		r = otlp_add_location(d, d->p->sample_locations[s->first_location + i],
				      &d->chain[i]);
	if (r)
		return r;
	proto_put_list(&d->entry, 1, d->chain, s->n_locations);
	return otlp_add_entry(d, OTLP_STACKS, ret);
}

/* --- writing ---------------------------------------------------------------------------------- */

void otlp_put_dictionary(struct proto_out *out, uint32_t number, const struct otlp_dictionary *d)
{
	size_t begin = proto_begin(out);

	for (uint32_t field = OTLP_MAPPINGS; field < OTLP_TABLES_END; field++)
		for (size_t i = 0; i < d->tables[field].n; i++) {
			size_t length;
			const uint8_t *bytes = otlp_table_get(&d->tables[field], i, &length);

			proto_put_bytes(out, field, bytes, length);
		}
	proto_end(out, number, begin);
}
