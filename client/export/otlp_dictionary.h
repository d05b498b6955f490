/* SPDX-License-Identifier: MIT */
#ifndef PROFD_EXPORT_OTLP_DICTIONARY_H
#define PROFD_EXPORT_OTLP_DICTIONARY_H

/*
 * The dictionary of an OTLP profiles message (ProfilesDictionary of opentelemetry-proto,
 * profiles/v1development): what samples refer to, as things of one profile are added to it. It has
 * nothing that nothing refers to, each thing once, and the zero value at number 0 of every table.
 */
#include <stddef.h>
#include <stdint.h>

#include "client/export/otlp_table.h"
#include "client/export/proto_out.h"
#include "common/profile/file_ids.h"

struct profile;
struct profile_sample;

/* The tables, by their field in ProfilesDictionary. */
enum otlp_table_field {
	OTLP_MAPPINGS = 1,
	OTLP_LOCATIONS,
	OTLP_FUNCTIONS,
	OTLP_LINKS,
	OTLP_STRINGS,
	OTLP_ATTRIBUTES,
	OTLP_STACKS,
	OTLP_TABLES_END,
};

struct otlp_dictionary {
	const struct profile *p; /* borrowed */
	struct otlp_table tables[OTLP_TABLES_END];
	/* By index in @p: the number in the table; 0: not added, or the zero value. */
	uint32_t *strings, *mappings, *functions, *locations;
	struct file_ids_table ids;
	struct proto_out entry; /* that is being added */
	uint32_t *chain;        /* of locations, of one stack */
	size_t max_chain;
};

/* A value of an attribute. Texts are borrowed. */
struct otlp_value {
	uint32_t key;     /* a text of the dictionary */
	uint32_t unit;    /* a string of the profile, of a number */
	const char *text; /* NULL: a number */
	int64_t number;
};

/* @d: all zero. 0 or negative errno. */
int otlp_dictionary_init(struct otlp_dictionary *d, const struct profile *p);
void otlp_dictionary_deinit(struct otlp_dictionary *d);

/* These add a thing and return 0 or negative errno. *ret: its number. */
int otlp_add_text(struct otlp_dictionary *d, const char *text, uint32_t *ret);
/* The attribute of that key with these values, which are an array if they are several. */
int otlp_add_attribute(struct otlp_dictionary *d, const struct otlp_value *values, size_t n,
		       uint32_t *ret);
/* The call chain of a sample. */
int otlp_add_stack(struct otlp_dictionary *d, const struct profile_sample *s, uint32_t *ret);

/* An AnyValue that is a text, as field @number. */
void otlp_put_text_value(struct proto_out *out, uint32_t number, const char *value);
/* The dictionary as field @number. */
void otlp_put_dictionary(struct proto_out *out, uint32_t number, const struct otlp_dictionary *d);

#endif
