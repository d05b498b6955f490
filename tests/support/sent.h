/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_SENT_H
#define PROFD_TESTS_SENT_H

/*
 * A server of pprof's format in place of Pyroscope and Parca: takes bodies apart, and asserts every
 * rule that those have for them.
 */
#undef NDEBUG /* the assertions are what this is for */
#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "client/export/target.h"
#include "common/cleanup.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"
#include "common/utf8.h"
#include "common/wire.h"

#define SENT_LABELS_MAX    30
#define SENT_UNPACKED_MAX  ((size_t)8 << 20)
#define SENT_PYROSCOPE_MAX ((size_t)2 << 20)

struct sent_part {
	char *names[SENT_LABELS_MAX], *values[SENT_LABELS_MAX];
	size_t n_labels;
	size_t body;     /* which one has it */
	size_t unpacked; /* bytes */
	struct profile *p;
};

/* All zero is empty. */
struct sent {
	struct sent_part *all;
	size_t n;
};

static inline void sent_deinit(struct sent *s)
{
	for (size_t i = 0; i < s->n; i++) {
		for (size_t j = 0; j < s->all[i].n_labels; j++) {
			free(s->all[i].names[j]);
			free(s->all[i].values[j]);
		}
		profile_free(s->all[i].p);
	}
	free(s->all);
	*s = (struct sent){0};
}

static inline const char *sent_label(const struct sent_part *part, const char *name)
{
	for (size_t i = 0; i < part->n_labels; i++)
		if (strcmp(part->names[i], name) == 0)
			return part->values[i];
	return NULL;
}

static inline void sent_check_label(const struct sent_part *part, size_t i)
{
	const char *name = part->names[i], *value = part->values[i];

	assert(*name && !isdigit((unsigned char)*name));
	for (const char *c = name; *c; c++)
		assert(isalnum((unsigned char)*c) || *c == '_');
	assert(*value && strlen(value) <= 2048 && utf8_is_valid(value));
	assert(!i || strcmp(part->names[i - 1], name) < 0);
}

/* Both are owned from here on. */
static inline void sent_add_label(struct sent_part *part, char *name, char *value)
{
	assert(part->n_labels < SENT_LABELS_MAX);
	part->names[part->n_labels] = name;
	part->values[part->n_labels++] = value;
	sent_check_label(part, part->n_labels - 1);
}

/* --- the profile ------------------------------------------------------------------------------ */

static inline uint8_t *sent_unpack(const uint8_t *data, size_t length, size_t *ret_length)
{
	uint8_t *plain = malloc(SENT_UNPACKED_MAX);
	z_stream z = {.next_in = (z_const Bytef *)(uintptr_t)data,
		      .avail_in = (uInt)length,
		      .next_out = plain,
		      .avail_out = (uInt)SENT_UNPACKED_MAX};

	assert(plain && inflateInit2(&z, 15 + 16) == Z_OK);
	assert(inflate(&z, Z_FINISH) == Z_STREAM_END && !z.avail_in);
	*ret_length = SENT_UNPACKED_MAX - z.avail_out;
	inflateEnd(&z);
	return plain;
}

/* Parca takes a thing's place in its table for its id. */
static inline void sent_check_ids(const uint8_t *plain, size_t length)
{
	struct wire wire = {plain, plain + length};
	uint64_t n[6] = {0}, n_strings = 0;
	struct wire_field field, id;

	while (wire_next(&wire, &field)) {
		if (field.number == 6) {
			assert(n_strings++ || field.bytes.at == field.bytes.end);
		} else if (field.number >= 3 && field.number <= 5) {
			assert(wire_next(&field.bytes, &id) && id.number == 1);
			assert(id.value == ++n[field.number]);
		}
	}
	assert(wire.at == wire.end);
}

static inline void sent_check_names(const struct profile *p)
{
	for (size_t i = 0; i < p->n_locations; i++) {
		const struct profile_location *l = &p->locations[i];

		assert(l->n_lines);
		for (uint32_t j = 0; j < l->n_lines; j++)
			assert(p->functions[p->lines[l->first_line + j].function].name);
	}
	for (uint32_t i = 0; i < p->n_sample_types; i++)
		assert(!strpbrk(profile_string(p, p->sample_types[i].type), "-:"));
	for (size_t i = 0; i < profile_n_strings(p); i++)
		assert(utf8_is_valid(profile_string(p, (uint32_t)i)));
}

static inline void sent_check_profile(const struct export_target *target,
				      const struct sent_part *part)
{
	const struct profile *p = part->p;

	sent_check_names(p);
	assert(p->n_samples);
	for (size_t i = 0; i < p->n_samples; i++) {
		assert(p->samples[i].n_locations && p->samples[i].n_locations <= 1000);
		assert(!p->samples[i].n_labels);
	}
	if (strcmp(target->name, "pyroscope") == 0)
		assert(p->n_samples <= 16000 && part->unpacked <= SENT_PYROSCOPE_MAX);
}

static inline void sent_read_profile(const struct export_target *target, const uint8_t *data,
				     size_t length, struct sent_part *part)
{
	cleanup(freep) uint8_t *plain = sent_unpack(data, length, &part->unpacked);
	struct profile_message message;

	sent_check_ids(plain, part->unpacked);
	assert(!pprof_read(data, length, SENT_UNPACKED_MAX, &part->p, &message));
	sent_check_profile(target, part);
	assert(sent_label(part, "__name__"));
}

static inline struct sent_part *sent_add(struct sent *s, size_t body)
{
	s->all = realloc(s->all, (s->n + 1) * sizeof(*s->all));
	assert(s->all);
	s->all[s->n] = (struct sent_part){.body = body};
	return &s->all[s->n++];
}

/* --- Pyroscope -------------------------------------------------------------------------------- */

static inline struct wire sent_field(struct wire *wire, uint32_t number)
{
	struct wire_field field;

	assert(wire_next(wire, &field) && field.number == number && field.type == WIRE_BYTES);
	return field.bytes;
}

static inline char *sent_text(struct wire *wire, uint32_t number)
{
	struct wire bytes = sent_field(wire, number);

	return strndup((const char *)bytes.at, (size_t)(bytes.end - bytes.at));
}

/* One series of one sample. */
static inline void sent_read_push(const struct export_target *target, const struct export_body *b,
				  struct sent_part *part)
{
	struct wire wire = {b->data, b->data + b->length}, series = sent_field(&wire, 1), sample;

	assert(wire.at == wire.end);
	while (series.at < series.end && *series.at == (1 << 3 | WIRE_BYTES)) {
		struct wire label = sent_field(&series, 1);
		char *name = sent_text(&label, 1), *value = sent_text(&label, 2);

		sent_add_label(part, name, value);
	}
	sample = sent_field(&series, 2);
	assert(series.at == series.end);
	sample = sent_field(&sample, 1);
	sent_read_profile(target, sample.at, (size_t)(sample.end - sample.at), part);
}

/* --- Parca ------------------------------------------------------------------------------------ */

static inline bool sent_skip(const char **at, const char *text)
{
	bool is_there = strncmp(*at, text, strlen(text)) == 0;

	*at += is_there ? strlen(text) : 0;
	return is_there;
}

/* What follows a backslash. */
static inline size_t sent_read_escape(const char **at, char *to)
{
	static const char letters[] = "nrtbf\"\\/", meant[] = "\n\r\t\b\f\"\\/";
	char digits[5] = {0};
	const char *letter;

	if (sent_skip(at, "u")) {
		memcpy(digits, *at, 4);
		*at += 4;
		return utf8_write(to, (uint32_t)strtoul(digits, NULL, 16));
	}
	letter = strchr(letters, *(*at)++);
	assert(letter && *letter);
	*to = meant[letter - letters];
	return 1;
}

/* As far as the quote that ends it. */
static inline char *sent_read_string(const char **at)
{
	char *text = malloc(strlen(*at) + 8);
	size_t n = 0;

	assert(text && sent_skip(at, "\""));
	while (!sent_skip(at, "\"")) {
		assert((unsigned char)**at >= ' ');
		if (sent_skip(at, "\\"))
			n += sent_read_escape(at, text + n);
		else
			text[n++] = *(*at)++;
	}
	text[n] = '\0';
	return text;
}

static inline uint8_t *sent_read_base64(const char **at, size_t *ret_length)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *end = strchr(*at, '"');
	size_t length = (size_t)(end - *at), n = 0;
	uint8_t *bytes = malloc(length + 3);

	assert(bytes && end && length % 4 == 0);
	for (; *at < end; *at += 4) {
		uint32_t bits = 0;

		for (int i = 0; i < 4; i++) {
			const char *digit = strchr(digits, (*at)[i]);

			assert(digit || (i > 1 && (*at)[i] == '='));
			bits = bits << 6 | (uint32_t)(digit ? digit - digits : 0);
		}
		bytes[n++] = (uint8_t)(bits >> 16);
		bytes[n++] = (uint8_t)(bits >> 8);
		bytes[n++] = (uint8_t)bits;
	}
	*ret_length = n - (length && end[-1] == '=') - (length && end[-2] == '=');
	assert(sent_skip(at, "\""));
	return bytes;
}

static inline void sent_read_series(const struct export_target *target, const char **at,
				    struct sent_part *part)
{
	cleanup(freep) uint8_t *data = NULL;
	size_t length;

	assert(sent_skip(at, "{\"labels\":{\"labels\":["));
	do {
		char *name, *value;

		assert(sent_skip(at, "{\"name\":"));
		name = sent_read_string(at);
		assert(sent_skip(at, ",\"value\":"));
		value = sent_read_string(at);
		sent_add_label(part, name, value);
		assert(sent_skip(at, "}"));
	} while (sent_skip(at, ","));
	assert(sent_skip(at, "]},\"samples\":[{\"raw_profile\":\""));
	data = sent_read_base64(at, &length);
	assert(sent_skip(at, "}]}"));
	sent_read_profile(target, data, length, part);
}

static inline void sent_read_write_raw(const struct export_target *target,
				       const struct export_body *b, size_t body, struct sent *s)
{
	cleanup(freep) char *text = strndup((const char *)b->data, b->length);
	const char *at = text;

	assert(text && strlen(text) == b->length && utf8_is_valid(text));
	assert(sent_skip(&at, "{\"normalized\":true,\"series\":["));
	do {
		sent_read_series(target, &at, sent_add(s, body));
	} while (sent_skip(&at, ","));
	assert(sent_skip(&at, "]}") && !*at);
}

/* ---------------------------------------------------------------------------------------------- */

/* Whether there is a server of that kind here. */
static inline bool sent_knows(const struct export_target *target)
{
	return strcmp(target->name, "pyroscope") == 0 || strcmp(target->name, "parca") == 0;
}

/* All parts of all bodies, in order. */
static inline void sent_read(const struct export_target *target, const struct export_bodies *bodies,
			     struct sent *s)
{
	for (size_t i = 0; i < bodies->n; i++) {
		if (strcmp(target->name, "pyroscope") == 0)
			sent_read_push(target, &bodies->all[i], sent_add(s, i));
		else
			sent_read_write_raw(target, &bodies->all[i], i, s);
	}
}

/* The value @type of all of them. */
static inline int64_t sent_total(const struct sent *s, uint32_t type)
{
	int64_t total = 0;

	for (size_t i = 0; i < s->n; i++)
		total += profile_total(s->all[i].p, type);
	return total;
}

#endif
