/* SPDX-License-Identifier: MIT */
#ifndef PROFD_CLIENT_GATEWAY_VIEW_QUESTION_H
#define PROFD_CLIENT_GATEWAY_VIEW_QUESTION_H

/*
 * What a request of the API asks: of which samples, which of them, and what to make of them. It has
 * no pointers, so it can be sent to a viewer (view_protocol.h). Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/gateway/http/target.h"

struct http_message;

#define QUESTION_FILTERS_MAX HTTP_PARAMS_MAX
#define QUESTION_STEPS_MAX   600u
#define QUESTION_USAGE_MAX   60u   /* services, by name */
#define QUESTION_ROWS_MAX    2000u /* of a table */

enum question_view {
	QUESTION_FLAME,
	QUESTION_TOP,
	QUESTION_SANDWICH,
	QUESTION_SOURCE,
	QUESTION_LABELS,
	QUESTION_HEAT,
	QUESTION_USAGE, /* not of a profile */
	N_QUESTION_VIEWS,
};

enum question_scope { QUESTION_MACHINE, QUESTION_SERVICE, QUESTION_PID };

enum question_filter_kind {
	QUESTION_TAG,   /* the label that the text names, KEY:VALUE */
	QUESTION_FOCUS, /* stacks with a frame that matches */
	QUESTION_HIDE,  /* frames that match are left out */
};

struct question_filter {
	uint16_t kind, text;
};

/* Unix time. */
struct question_range {
	uint64_t since_ns, until_ns;
};

/* Texts are offsets, see question_text(); 0: not given. */
struct question {
	uint32_t view;  /* enum question_view */
	uint32_t scope; /* enum question_scope */
	int64_t pid;
	struct question_range range, base;
	uint32_t has_base;
	uint32_t steps, limit;
	uint32_t idle;                  /* with the waiting time of idle threads */
	uint16_t service, base_service; /* the latter also where it is that of the former */
	uint16_t function, type, search;
	uint16_t n_filters;
	struct question_filter filters[QUESTION_FILTERS_MAX];
	uint32_t length;
	char texts[HTTP_TARGET_MAX + 1]; /* the first one is "" */
};

/*
 * Ranges up to this length are cut to the samples' own times, which are kept by 100 ms; longer ones
 * are of whole windows. A heat map is of no longer one.
 */
#define QUESTION_TIMED_NS (UINT64_C(3600) * 1000000000)

static inline bool question_range_is_timed(const struct question_range *range)
{
	return range->until_ns - range->since_ns <= QUESTION_TIMED_NS;
}

enum {
	QUESTION_E_OK,
	QUESTION_E_BAD, /* see the message */
};

/*
 * Without a range: the hour before @now_ns. Parameters that the API does not have are refused.
 * QUESTION_E_*.
 */
int question_parse(const struct http_target *target, enum question_view view, uint64_t now_ns,
		   struct question *ret, struct http_message *message);

static inline const char *question_text(const struct question *q, uint16_t text)
{
	return q->texts + text;
}

/* The first one of a kind from *@i on; NULL: no more. */
const char *question_next_filter(const struct question *q, enum question_filter_kind kind,
				 size_t *i);

#endif
