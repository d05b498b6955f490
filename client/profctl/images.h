/* SPDX-License-Identifier: MIT */
#ifndef PROFD_PROFCTL_IMAGES_H
#define PROFD_PROFCTL_IMAGES_H

/* The command line of `profctl images`, and the parts that the verb consists of. */
#include <stdbool.h>
#include <stdint.h>

#include "client/images/image_code.h"
#include "client/images/image_set.h"
#include "client/profctl/profctl.h"
#include "common/options.h"

#define IMAGES_TOP_MAX 1000000

struct images_arguments {
	const char *image; /* NULL: all */
	const char *db;    /* NULL: the store's */
	const char *epoch; /* NULL: the newest; "all" */
	const char *event; /* NULL: whichever there is */
	const char *list;  /* regular expression of procedures, or NULL */
	const char *cat;   /* file, or NULL */
	const char *diff;  /* epoch, or NULL */
	uint64_t top;      /* 0: not asked for */
	const char *source_path, *trim_path;
	bool intel, json;
};

/* Pure. Returns 0, OPTIONS_BAD with a message, or VERB_HELP. */
int images_parse(int argc, char *const *argv, struct images_arguments *ret,
		 struct usage_message *message);

/* What the parts work on. */
struct images_job {
	struct context *context;
	const struct images_arguments *arguments;
	const char *epoch;            /* as it is to be named */
	struct image_set *set;        /* of that epoch */
	struct image_set *base;       /* of the epoch that it is compared with; NULL: none */
	struct object_source *source; /* what images are read with */
};

/* A percentage. */
static inline double images_share(uint64_t part, uint64_t total)
{
	return total ? 100.0 * (double)part / (double)total : 0;
}

struct json;
struct table;

/*
 * Lines above a table that say what it is of (@image NULL: all of them), or JSON: the object that
 * all is in, and in it the array @key. Then ends the JSON, or prints @t.
 */
void images_begin(const struct images_job *job, struct json *j, const struct image *image,
		  const char *key);
int images_end(const struct images_job *job, struct json *j, const struct table *t);
void images_put_image(struct json *j, const struct image *image);
void images_put_address(struct json *j, uint64_t address);

/* Each prints its part and returns 0, OBJECT_E_* or negative errno. */
int images_print_all(struct images_job *job);
int images_print_procedures(struct images_job *job, const struct image *image);
int images_diff_all(struct images_job *job);
/* @base: the image in the other epoch; NULL: it is not in that. */
int images_diff_procedures(struct images_job *job, const struct image *image,
			   const struct image *base);
int images_print_list(struct images_job *job, const struct image *image);
/* @image: NULL for all. */
int images_print_top(struct images_job *job, const struct image *image);

#endif
