/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TOP_FUNCTIONS_H
#define PROFD_TOP_FUNCTIONS_H

/*
 * What functions have cost, in the last interval and since the beginning: profiles, folded to
 * functions as `report` does it (shape.h). Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/profile/profile.h"

struct top_cost {
	int64_t flat, cum; /* in it, and in it or what it called */
	int64_t wait;      /* of cum, waiting */
};

#define TOP_WHO_SIZE 32

/* One of a name and a module; the same name in another module is another one. */
struct top_function {
	char *name;         /* as reports have it (node_name.h) */
	const char *module; /* the name of its file; "": not known. In the same memory */
	struct top_cost interval, all;
	uint64_t stack; /* that counted it last */
	/*
	 * Who most of the interval's stacks with it were of, cut if need be: a service, or where
	 * that is no unit, or all are of one, a command. "": not known.
	 */
	char who[TOP_WHO_SIZE];
	int64_t who_lead; /* over all others together, or what is left of it */
	bool has_others;
};

struct top_functions;

/* Values are those that reports show, profile_default_type(); sums stay in int64_t's range. */
struct top_sums {
	int64_t samples, value; /* of the interval */
	int64_t all_samples, all_value;
	int64_t wait, all_wait; /* of the values, waiting */
	int64_t idle;           /* of the interval: not in any other sum, see idle.h */
	size_t n_idle;          /* threads, or more */
	uint64_t n_forgotten;   /* functions, see below */
};

/* What is counted. */
struct top_what {
	bool of_one; /* all samples are going to be of one service */
	bool wall;   /* wall-clock time (wall.h), if profiles have it */
	bool idle;   /* also that of idle threads */
};

/* Functions that are kept. Past that, those that cost nothing now are forgotten, cheapest first. */
#define TOP_FUNCTIONS_MAX 50000

int top_functions_new(struct top_functions **ret, const struct top_what *what);
void top_functions_free(struct top_functions *f);
DEFINE_CLEANUP(struct top_functions *, top_functions_free)

/* A new interval begins. */
void top_functions_next(struct top_functions *f);
/* @p is of the interval; one of several, maybe. Strings may be added to it. 0 or negative errno. */
int top_functions_add(struct top_functions *f, struct profile *p);
void top_functions_sums(const struct top_functions *f, struct top_sums *ret);

enum top_order { TOP_BY_FLAT, TOP_BY_CUM, TOP_BY_WAIT };

/*
 * Those whose names @filter means (name_filter_matches(); "": all), dearest in the interval first,
 * then since the beginning, then by name. Borrowed until the next call of anything here. 0 or
 * negative errno.
 */
int top_functions_sort(struct top_functions *f, enum top_order order, const char *filter,
		       const struct top_function *const **ret, size_t *ret_n);

#endif
