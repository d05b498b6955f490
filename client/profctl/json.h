/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_JSON_H
#define PROFD_PROFCTL_JSON_H

/*
 * Writes one JSON value (RFC 8259) to a stream. Texts may hold any bytes: what is no valid UTF-8
 * becomes U+FFFD. Keys are NULL inside arrays and for the outermost value. Write errors stay in
 * the stream (ferror(3)).
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_DEPTH_MAX 16

struct json {
	FILE *out;
	bool compact;                 /* all in one line */
	char closing[JSON_DEPTH_MAX]; /* brackets of the open objects and arrays */
	unsigned depth;
	bool has_items; /* of the innermost of them */
};

void json_begin_object(struct json *j, const char *key);
void json_begin_array(struct json *j, const char *key);
/* Ends the innermost object or array. */
void json_close(struct json *j);
/* NULL: null. */
void json_text(struct json *j, const char *key, const char *text);
void json_number(struct json *j, const char *key, uint64_t number);
/* Not a number and infinity become null. */
void json_real(struct json *j, const char *key, double number);
void json_bool(struct json *j, const char *key, bool value);
/* A moment of Unix time, ns, as RFC 3339 has it; 0: null. */
void json_moment(struct json *j, const char *key, uint64_t ns);
/* Ends all that is open, and the outermost value: a newline. */
void json_end(struct json *j);

/* Writes what config_print() has written as JSON (control_verbs.c). Returns 0 or negative errno. */
int config_text_to_json(const char *text, FILE *out);

#endif
