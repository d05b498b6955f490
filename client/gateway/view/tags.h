/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_VIEW_TAGS_H
#define PROFD_CLIENT_GATEWAY_VIEW_TAGS_H

/*
 * Which samples have the labels that were asked for: of each key that filters name, one of the
 * values that they name. Labels are compared, not searched.
 */
#include <stdbool.h>
#include <stddef.h>

#include "client/gateway/view/question.h"
#include "common/cleanup.h"

struct profile;
struct tags;

/* May add strings to @p. 0 or negative errno. */
int tags_new(struct tags **ret, const struct question *q, struct profile *p);
void tags_free(struct tags *t);
DEFINE_CLEANUP(struct tags *, tags_free)
/* For view_feed.is_left_out: @userdata are struct tags. */
bool tags_leave_out(void *userdata, const struct profile *p, size_t sample);

/* A filter KEY:VALUE taken apart. */
struct tag {
	const char *key; /* not ended */
	size_t key_length;
	const char *value;
	bool is_number; /* it may be one, too */
	int64_t number;
};

struct tag tag_parse(const char *text);

#endif
