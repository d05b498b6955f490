/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_ANALYSIS_LABEL_UNITS_H
#define PROFD_CLIENT_ANALYSIS_LABEL_UNITS_H

/*
 * The units of number labels, one a key, as pprof has them: the first unit that a label of the key
 * names in the profile, whatever filters make of its sample; without any, "bytes" for what
 * allocators tell, else the key is the unit.
 */
#include <stddef.h>
#include <stdint.h>

#include "client/analysis/intern.h"

struct profile;
struct profile_label;

/* All zero knows none. */
struct label_units {
	struct label_unit *all; /* by key */
	struct intern in;
};

void label_units_deinit(struct label_units *u);
/* Learns from the labels of a sample. 0 or negative errno. */
int label_units_learn(struct label_units *u, const struct profile_label *labels, size_t n);
/* The unit of @key (a string of @p); the profile's, or static. @u NULL knows none. */
const char *label_units_of(const struct label_units *u, const struct profile *p, uint32_t key);

#endif
