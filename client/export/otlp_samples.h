/* SPDX-License-Identifier: MIT */
#ifndef PROFD_EXPORT_OTLP_SAMPLES_H
#define PROFD_EXPORT_OTLP_SAMPLES_H

/*
 * The samples of an OTLP message: those of a profile that are equal in stack and attributes are
 * one, whose values add up; each is of a service.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/export/otlp_dictionary.h"
#include "client/export/otlp_table.h"
#include "client/export/proto_out.h"
#include "client/export/target.h"
#include "common/profile/profile.h"

/* Numbers in the two tables. */
struct otlp_entry {
	uint32_t service, sample;
};

struct otlp_samples {
	const struct profile *p;         /* borrowed, as the texts of: */
	struct export_scope scope;       /* without NULLs */
	bool is_sent[PROFILE_TYPES_MAX]; /* types of values (otlp_types.h) */
	struct otlp_dictionary dictionary;
	struct otlp_table services; /* names; 0: not known */
	uint32_t *versions;         /* strings, by service: of its samples; 0: several, or none */
	size_t n_versions, max_versions;
	struct otlp_table samples;  /* fields 1 and 2 of Sample */
	struct otlp_entry *entries; /* by sample, until they are arranged */
	size_t n_entries, max_entries;
	int64_t *values; /* as many of each sample as the profile has types */
	size_t n_values, max_values;
	/* Of the sample that is being added: its labels, and the attributes that these are. */
	struct otlp_value *labels;
	size_t n_labels, max_labels;
	uint32_t *attributes;
	size_t n_attributes, max_attributes;
	struct proto_out sample;
};

/* @s: all zero. 0 or negative errno, as of those below. */
int otlp_samples_init(struct otlp_samples *s, const struct profile *p,
		      const struct export_scope *scope);
void otlp_samples_deinit(struct otlp_samples *s);
/* Adds sample @i of the profile. */
int otlp_samples_add(struct otlp_samples *s, size_t i);
/* All were added: entries are put into the order of their services, those of 0 are dropped. */
void otlp_samples_arrange(struct otlp_samples *s);
/* The version that all samples of @service have; "": there is none. */
const char *otlp_samples_version(const struct otlp_samples *s, uint32_t service);
int64_t otlp_samples_value(const struct otlp_samples *s, size_t entry, uint32_t type);

#endif
