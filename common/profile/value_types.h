/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_VALUE_TYPES_H
#define PROFD_COMMON_PROFILE_VALUE_TYPES_H

/*
 * What the values of samples are: the types that profd itself writes, a row each, and how the types
 * of two profiles are brought together, by their names and by units of one kind (measure.h), as
 * pprof does it for profiles that are merged or compared. Pure.
 */
#include <stdint.h>

#include "common/profile/message.h"
#include "common/profile/profile.h"

struct value_type {
	const char *name, *unit;
	const char *events[2]; /* as perf names what is measured; NULL: none */
};

/* The type whose events include @event, modifiers (":u") aside; NULL: it is counted by its name. */
const struct value_type *value_type_of_event(const char *event);
/*
 * Gives @p, which has no types yet, samples and what @event measures, its period as well. 0 or
 * negative errno.
 */
int value_types_add(struct profile *p, const char *event);

enum {
	VALUE_TYPES_E_OK,
	VALUE_TYPES_E_MISMATCH, /* see the message */
};

/*
 * The types, by name, that both have, in @a's order: returns how many, and their indices among the
 * types of each.
 */
uint32_t value_types_common(const struct profile *a, const struct profile *b,
			    uint32_t ret_a[PROFILE_TYPES_MAX], uint32_t ret_b[PROFILE_TYPES_MAX]);
/*
 * Reduces @p to these @types of its, if it has others or another order; its default is then one of
 * them. 0 or negative errno, after which samples are lost.
 */
int value_types_reduce(struct profile *p, const uint32_t *types, uint32_t n);
/*
 * Gives @p the finer one of each two units, its own and @from's, and scales its values.
 * @from_types: which of @from's types belongs to each of @p's; NULL: all of them, in order.
 * @ret_ratios: what @from's values are to be multiplied by, then, one per type of @p, and last its
 * period. VALUE_TYPES_E_* or negative errno.
 */
int value_types_agree(struct profile *p, const struct profile *from, const uint32_t *from_types,
		      double ret_ratios[PROFILE_TYPES_MAX + 1], struct profile_message *message);
/*
 * Reduces both to the types that both have, and to the finer units. VALUE_TYPES_E_* (on a mismatch
 * both are as they were, or reduced) or negative errno.
 */
int value_types_share(struct profile *a, struct profile *b, struct profile_message *message);

#endif
