/* SPDX-License-Identifier: MIT */
/*
 * The samples are read (otlp_samples.h); then, for each service, a resource is written, with a
 * profile of each type of values, and the dictionary behind them. Numbers of fields:
 * opentelemetry/proto/profiles/v1development/profiles.proto.
 */
#include "client/export/otlp.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "client/export/otlp_resource.h"
#include "client/export/otlp_samples.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/fnv.h"
#include "common/profile/profile.h"
#include "common/profile/value_types.h"

struct otlp {
	struct otlp_samples samples;
	struct proto_out out;
};

static void otlp_deinit(struct otlp *o)
{
	otlp_samples_deinit(&o->samples);
	proto_out_deinit(&o->out);
}

/* The entries of one service. */
struct otlp_range {
	size_t begin, end;
};

/* --- a profile -------------------------------------------------------------------------------- */

static bool otlp_has_samples(const struct otlp *o, struct otlp_range range, uint32_t type)
{
	for (size_t i = range.begin; i < range.end; i++)
		if (otlp_samples_value(&o->samples, i, type))
			return true;
	return false;
}

static void otlp_put_samples(struct otlp *o, uint32_t number, struct otlp_range range,
			     uint32_t type)
{
	for (size_t i = range.begin; i < range.end; i++) {
		const int64_t value = otlp_samples_value(&o->samples, i, type);
		size_t length, begin, list;
		const uint8_t *bytes;

		if (!value)
			continue;
		bytes = otlp_table_get(&o->samples.samples, o->samples.entries[i].sample, &length);
		begin = proto_begin(&o->out);
		proto_append_bytes(&o->out, bytes, length);
		list = proto_begin(&o->out);
		proto_append_varint(&o->out, (uint64_t)value);
		proto_end(&o->out, 4, list);
		proto_end(&o->out, number, begin);
	}
}

static int otlp_put_type(struct otlp *o, uint32_t number, const struct profile_value_type *t)
{
	struct otlp_dictionary *d = &o->samples.dictionary;
	uint32_t type, unit;
	int r = otlp_add_text(d, profile_string(d->p, t->type), &type)
			?: otlp_add_text(d, profile_string(d->p, t->unit), &unit);

	if (!r)
		proto_put_message(&o->out, number, (uint64_t[]){type, unit}, 2);
	return r;
}

/* Of what was written from @begin on: equal profiles have equal ids, so that repeats can be told.
 */
static void otlp_put_profile_id(struct proto_out *out, uint32_t number, size_t begin)
{
	uint64_t halves[2];

	if (out->is_short)
		return;
	halves[0] = fnv_hash(out->bytes + begin, out->n - begin, FNV_INIT);
	halves[1] = fnv_hash(out->bytes + begin, out->n - begin, halves[0]);
	proto_put_bytes(out, number, halves, sizeof(halves));
}

static int otlp_put_profile(struct otlp *o, uint32_t number, struct otlp_range range, uint32_t type)
{
	const struct profile *p = o->samples.p;
	const size_t begin = proto_begin(&o->out), content = o->out.n;
	uint32_t waits;
	/* Waits are no ticks of the CPU's clock. */
	const bool is_wait = value_types_find_waits(p, &waits) && type == waits;
	/* The first one of a profile without types has neither name nor unit. */
	int r = otlp_put_type(o, 1, &p->sample_types[type]);

	otlp_put_samples(o, 2, range, type);
	if (p->time_ns > 0)
		proto_put_fixed64(&o->out, 3, (uint64_t)p->time_ns);
	if (p->duration_ns > 0)
		proto_put_chosen(&o->out, 4, (uint64_t)p->duration_ns);
	if (!r)
		r = otlp_put_type(o, 5, is_wait ? &p->sample_types[type] : &p->period_type);
	proto_put_numbers(&o->out, 6, (uint64_t[]){(uint64_t)p->period}, 1);
	otlp_put_profile_id(&o->out, 7, content);
	proto_end(&o->out, number, begin);
	return r;
}

/* Of the types of which there are samples; where there are none, of the first. */
static int otlp_put_profiles(struct otlp *o, uint32_t number, struct otlp_range range)
{
	const uint32_t n = o->samples.p->n_sample_types;
	uint32_t first = 0;
	bool any = false;
	int r = 0;

	while (first < n && !o->samples.is_sent[first])
		first++;
	for (uint32_t type = first; type < n && !r; type++) {
		if (!o->samples.is_sent[type] || !otlp_has_samples(o, range, type))
			continue;
		r = otlp_put_profile(o, number, range, type);
		any = true;
	}
	return any ? r : otlp_put_profile(o, number, range, first);
}

/* --- the message ------------------------------------------------------------------------------ */

static int otlp_put_service(struct otlp *o, uint32_t number, uint32_t service,
			    struct otlp_range range)
{
	const size_t begin = proto_begin(&o->out);
	size_t scope, length;
	const uint8_t *bytes = otlp_table_get(&o->samples.services, service, &length);
	cleanup(freep) char *name = strndup((const char *)bytes, length);
	int r = name ? otlp_put_resource(&o->out, 1, &o->samples.scope, name,
					 otlp_samples_version(&o->samples, service))
		     : error_origin(-ENOMEM);

	scope = proto_begin(&o->out);
	otlp_put_instrumentation(&o->out, 1);
	r = r ?: otlp_put_profiles(o, 2, range);
	proto_end(&o->out, 2, scope);
	proto_end(&o->out, number, begin);
	return r;
}

static int otlp_put_services(struct otlp *o, uint32_t number)
{
	const struct otlp_samples *s = &o->samples;
	int r = 0;

	/* There is always one: the last is the one that is known, if any. */
	if (!s->n_entries)
		return otlp_put_service(o, number, (uint32_t)s->services.n - 1,
					(struct otlp_range){0});
	for (size_t i = 0, end; i < s->n_entries && !r; i = end) {
		for (end = i + 1;
		     end < s->n_entries && s->entries[end].service == s->entries[i].service; end++)
			;
		r = otlp_put_service(o, number, s->entries[i].service, (struct otlp_range){i, end});
	}
	return r;
}

int otlp_write(const struct profile *p, size_t first, size_t n, const struct export_scope *scope,
	       uint8_t **ret, size_t *ret_length)
{
	const size_t end = n < p->n_samples - first ? first + n : p->n_samples;
	cleanup(otlp_deinit) struct otlp o = {0};
	int r = otlp_samples_init(&o.samples, p, scope);

	for (size_t i = first; i < end && !r; i++)
		r = otlp_samples_add(&o.samples, i);
	if (r)
		return r;
	otlp_samples_arrange(&o.samples);
	r = otlp_put_services(&o, 1);
	otlp_put_dictionary(&o.out, 2, &o.samples.dictionary);
	if (r || o.out.is_short)
		return r ?: error_origin(-ENOMEM);
	*ret = steal_ptr(&o.out.bytes);
	*ret_length = o.out.n;
	return 0;
}
