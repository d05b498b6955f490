/* SPDX-License-Identifier: MIT */
/*
 * Profiles are added to the image of their name, id and start, which are a text with the image's
 * number; in the end counts of one offset are added up, and images sorted.
 */
#include "client/images/image_set.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "common/error.h"
#include "common/order.h"
#include "common/partition_point.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"
#include "common/room.h"
#include "common/text_print.h"

#define ID_PREFIX_MIN 8
#define ID_DIGITS     12 /* in messages */
/* Of an image, and of a set; a header has room for a hundred thousand. */
#define PATHS_MAX     64
#define PLATFORMS_MAX 1000

void image_set_deinit(struct image_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		struct image *image = &set->images[i];

		free(image->name);
		free(image->id);
		free(image->paths);
		free(image->title);
		free(image->counts);
	}
	profile_free(set->keys);
	free(set->images);
	free(set->event);
	free(set->other_event);
	free(set->platforms);
	*set = (struct image_set){0};
}

/* Whether @text, of @length bytes, ends in ".@end"; then *length is what stands before. */
static void image_name_cut_suffix(const char *text, size_t *length, const char *end)
{
	size_t n = strlen(end);

	if (*length > n + 1 && text[*length - n - 1] == '.' &&
	    memcmp(text + *length - n, end, n) == 0)
		*length -= n + 1;
}

/* The image's name from the file's: NAME.ID.EVENT, or NAME.EVENT of what has no id. */
static char *image_name(const char *file, const struct image_profile *p)
{
	size_t length = strlen(file);

	image_name_cut_suffix(file, &length, p->event);
	image_name_cut_suffix(file, &length, p->image);
	return strndup(file, length);
}

static int add_paths(struct image *image, const char *paths)
{
	int r = 0;

	while (!r && paths && *paths) {
		size_t n = strcspn(paths, "\n");

		r = image_profile_add_line(&image->paths, paths, n, PATHS_MAX);
		paths += n + (paths[n] == '\n');
	}
	return r;
}

static int image_set_get_image(struct image_set *set, const char *file,
			       const struct image_profile *p, struct image **ret)
{
	cleanup(freep) char *name = image_name(file, p), *key = NULL;
	struct image new = {.tstart = p->tstart};
	uint32_t number;
	int r = set->keys ? 0 : profile_new(&set->keys);

	if (!name || text_print(&key, "%s/%s/%llx", name, p->image, (unsigned long long)p->tstart))
		return error_origin(-ENOMEM);
	r = r ?: profile_add_text(set->keys, key, &number);
	if (!r && number > set->n) {
		r = text_copy(&new.id, p->image)
			    ?: room_append(&set->images, &set->n_allocated, &set->n, new);
		if (r)
			free(new.id);
		else
			set->images[number - 1].name = steal_ptr(&name);
	}
	*ret = r ? NULL : &set->images[number - 1];
	return r;
}

static int add_counts(struct image *image, const struct image_profile *p)
{
	int r = room_make(&image->counts, &image->n_counts_allocated, image->n_counts + p->n_counts,
			  sizeof(*image->counts));

	for (size_t i = 0; i < p->n_counts && !r; i++)
		image->counts[image->n_counts++] = (struct image_count){
			.offset = p->counts[i].offset,
			.count = p->counts[i].count,
		};
	return r;
}

/* Takes what holds for all profiles. *ret: whether this one counts. */
static int add_header(struct image_set *set, const struct image_profile *p, bool *ret)
{
	*ret = false;
	if (set->wanted_event && strcmp(p->event, set->wanted_event) != 0)
		return 0;
	if (!set->event) {
		set->event = strdup(p->event);
		set->period = p->period;
	} else if (strcmp(set->event, p->event) != 0) {
		if (!set->other_event)
			set->other_event = strdup(p->event);
		return set->other_event ? 0 : error_origin(-ENOMEM);
	}
	if (!set->event)
		return error_origin(-ENOMEM);
	set->has_other_periods |= p->period != set->period;
	*ret = true;
	return image_profile_add_line(&set->platforms, p->platform, strlen(p->platform),
				      PLATFORMS_MAX);
}

int image_set_add(struct image_set *set, const char *name, const struct image_profile *p)
{
	struct image *image = NULL;
	bool counts;
	int r;

	r = add_header(set, p, &counts);
	if (r || !counts)
		return r;
	r = image_set_get_image(set, name, p, &image) ?: add_paths(image, p->path);
	if (!r && set->keeps_counts)
		r = add_counts(image, p);
	if (r)
		return r;
	if (p->tsize > image->tsize)
		image->tsize = p->tsize;
	image->total += p->total;
	set->total += p->total;
	return 0;
}

DEFINE_ORDER(image_compare_offsets, struct image_count, order_of(x->offset, y->offset))

static void fold_counts(struct image *image)
{
	size_t kept = 0;

	if (!image->n_counts)
		return;
	qsort(image->counts, image->n_counts, sizeof(*image->counts), image_compare_offsets);
	for (size_t i = 1; i < image->n_counts; i++) {
		if (image->counts[i].offset == image->counts[kept].offset)
			image->counts[kept].count += image->counts[i].count;
		else
			image->counts[++kept] = image->counts[i];
	}
	image->n_counts = kept + 1;
}

DEFINE_ORDER(image_compare_totals, struct image, order_of(y->total, x->total)
		?: strcmp(x->name, y->name)
		?: strcmp(x->id, y->id))

int image_set_finish(struct image_set *set, struct profile_message *message)
{
	if (set->other_event)
		return profile_refuse(message, IMAGE_SET_E_EVENTS,
				      "profiles of %s and of %s: choose with --event", set->event,
				      set->other_event);
	for (size_t i = 0; i < set->n; i++) {
		struct image *image = &set->images[i];
		const char *title = image->paths ? image->paths : image->name;

		fold_counts(image);
		image->title = strndup(title, strcspn(title, "\n"));
		if (!image->title)
			return error_origin(-ENOMEM);
	}
	if (set->n)
		qsort(set->images, set->n, sizeof(*set->images), image_compare_totals);
	for (char *at = set->platforms; at && (at = strchr(at, '\n'));)
		*at = ' ';
	return IMAGE_SET_E_OK;
}

size_t image_first_count(const struct image *image, uint64_t address)
{
	return partition_point(image->n_counts, i, image_address(image, i) < address);
}

/* Whether @what is one of the image's paths, or the end of one behind a slash. */
static bool image_has_path(const struct image *image, const char *what)
{
	size_t length = strlen(what);

	for (const char *at = image->paths; at && *at;) {
		size_t n = strcspn(at, "\n");

		if (n >= length && memcmp(at + n - length, what, length) == 0 &&
		    (n == length || (what[0] != '/' && at[n - length - 1] == '/')))
			return true;
		at += n + (at[n] == '\n');
	}
	return false;
}

static bool image_has_id(const struct image *image, const char *what)
{
	size_t length = strlen(what);

	return length >= ID_PREFIX_MIN && strncasecmp(image->id, what, length) == 0;
}

int image_set_find(const struct image_set *set, const char *what, const struct image **ret,
		   struct profile_message *message)
{
	const struct image *found = NULL;

	for (size_t i = 0; i < set->n; i++) {
		const struct image *image = &set->images[i];

		if (strcmp(image->name, what) != 0 && !image_has_path(image, what) &&
		    !image_has_id(image, what))
			continue;
		if (found)
			return profile_refuse(message, IMAGE_SET_E_NONE,
					      "'%s' is more than one image: %s (%.*s), %s (%.*s)",
					      what, found->title, ID_DIGITS, found->id,
					      image->title, ID_DIGITS, image->id);
		found = image;
	}
	if (!found)
		return profile_refuse(message, IMAGE_SET_E_NONE, "no image '%s' has samples", what);
	*ret = found;
	return IMAGE_SET_E_OK;
}
