/* SPDX-License-Identifier: MIT */
/*
 * PCRE2 behind limits: steps and heap of one match, and, because repetitions that never give back
 * take no steps, how far into a long text a match may begin. What reaches one does not match.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "client/analysis/regex.h"

#include <errno.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/profile/pprof.h"

#define PATTERN_MAX  ((size_t)64 << 10)
#define STEPS_MAX    250000
#define HEAP_MAX_KIB 16384
/*
 * Of the bytes of a text, times the places in it where a match may begin: steps do not count what a
 * repetition takes that never gives back, and that may be the whole rest at each of them.
 */
#define BYTES_MAX ((size_t)1 << 28)
/* RE2's $ is the end alone, and it has no \C. */
#define OPTIONS                                                                                 \
	(PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C | \
	 PCRE2_USE_OFFSET_LIMIT)

struct regex {
	pcre2_code *code;
	pcre2_match_context *context;
	pcre2_match_data *data;
	uint64_t n_given_up;
};

void regex_free(struct regex *r)
{
	if (!r)
		return;
	pcre2_match_data_free(r->data);
	pcre2_match_context_free(r->context);
	pcre2_code_free(r->code);
	free(r);
}

static pcre2_code *regex_compile(const char *pattern, int *ret_error, size_t *ret_offset)
{
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	pcre2_code *code;

	if (!context) {
		*ret_error = PCRE2_ERROR_NOMEMORY;
		return NULL;
	}
	pcre2_set_newline(context, PCRE2_NEWLINE_LF);
	pcre2_set_max_pattern_length(context, PATTERN_MAX);
	code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, OPTIONS, ret_error,
			     ret_offset, context);
	pcre2_compile_context_free(context);
	return code;
}

int regex_new(struct regex **ret, const char *what, const char *pattern,
	      struct profile_message *message)
{
	cleanup(regex_freep) struct regex *r = calloc(1, sizeof(*r));
	PCRE2_UCHAR text[100] = "";
	size_t offset = 0;
	int error = 0;

	if (!r)
		return error_origin(-ENOMEM);
	r->code = regex_compile(pattern, &error, &offset);
	if (!r->code && (error == PCRE2_ERROR_NOMEMORY || error == PCRE2_ERROR_HEAP_FAILED))
		return error_origin(-ENOMEM);
	if (!r->code) {
		pcre2_get_error_message(error, text, sizeof(text));
		return profile_refuse(message, REGEX_E_INVALID,
				      "%s: not a regular expression: %s at byte %zu of \"%.50s\"",
				      what, (const char *)text, offset, pattern);
	}
	r->context = pcre2_match_context_create(NULL);
	r->data = pcre2_match_data_create(1, NULL);
	if (!r->context || !r->data)
		return error_origin(-ENOMEM);
	pcre2_set_match_limit(r->context, STEPS_MAX);
	pcre2_set_heap_limit(r->context, HEAP_MAX_KIB);
	*ret = steal_ptr(&r);
	return REGEX_E_OK;
}

bool regex_matches(struct regex *r, const char *text)
{
	size_t length = strlen(text);
	bool is_long = length > BYTES_MAX / (length + 1);
	int n;

	if (r->n_given_up >= REGEX_GIVE_UP_MAX)
		return false;
	pcre2_set_offset_limit(r->context, is_long ? BYTES_MAX / length : PCRE2_UNSET);
	n = pcre2_match(r->code, (PCRE2_SPTR)text, length, 0, 0, r->data, r->context);
	/* Whatever else it says: limits, memory, what it has no name for. */
	if (n < 0 && (n != PCRE2_ERROR_NOMATCH || is_long))
		r->n_given_up++;
	return n >= 0;
}

uint64_t regex_n_given_up(const struct regex *r)
{
	return r->n_given_up;
}
