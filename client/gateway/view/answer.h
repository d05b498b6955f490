/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_VIEW_ANSWER_H
#define PROFD_CLIENT_GATEWAY_VIEW_ANSWER_H

/* What a viewer makes of profiles: one JSON object. */
#include <stdio.h>

struct view_class;

struct answer_message {
	char text[200]; /* one line */
};

struct view_request;

/*
 * @files: the profile and, where the question has a base, that of the base; the source. 0; a status
 * of HTTP other than 200, with the message; or negative errno.
 */
int answer_write(const struct view_request *request, const int *files, FILE *out,
		 struct answer_message *message);

/*
 * Views (view.h) that write their part of the object, `"name":value,...`, the first of which is
 * `"truncated":`. Of options, `pattern` is the function that was asked for, `nodecount` how many
 * rows there may be, `max_bytes` how long the part may be.
 */
extern const struct view_class view_part_flame;
extern const struct view_class view_part_sandwich;
extern const struct view_class view_part_top;
extern const struct view_class view_part_source;
extern const struct view_class view_part_source_name;
extern const struct view_class view_part_labels;

#endif
