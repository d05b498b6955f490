/* SPDX-License-Identifier: MIT */
/*
 * profctl images: what DCPI's tools did, on a folder of image profiles. Reads the profiles of the
 * epochs that were asked for into sets of images (client/images), and hands them to what prints.
 */
#include "client/profctl/images.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/images/database.h"
#include "client/profctl/arguments.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/units.h"

enum {
	OPTION_DB = OPTION_OWN,
	OPTION_EPOCH,
	OPTION_EVENT,
	OPTION_LIST,
	OPTION_TOP,
	OPTION_CAT,
	OPTION_DIFF,
	OPTION_INTEL,
	OPTION_SOURCE,
	OPTION_TRIM,
};

static int parse_images_top(const char *text, uint64_t *ret, struct usage_message *message)
{
	if (units_parse_number(text, ret) || !*ret || *ret > IMAGES_TOP_MAX)
		return usage_error(message, "--top takes a number from 1 to %d, not '%s'",
				   IMAGES_TOP_MAX, text);
	return 0;
}

static int parse_images_option(int id, const char *argument, struct images_arguments *a,
			       struct usage_message *message)
{
	const char **const texts[] = {
		[OPTION_DB] = &a->db,
		[OPTION_EPOCH] = &a->epoch,
		[OPTION_EVENT] = &a->event,
		[OPTION_LIST] = &a->list,
		[OPTION_CAT] = &a->cat,
		[OPTION_DIFF] = &a->diff,
		[OPTION_SOURCE] = &a->source_path,
		[OPTION_TRIM] = &a->trim_path,
	};

	switch (id) {
	case OPTION_JSON:
		a->json = true;
		return 0;
	case OPTION_INTEL:
		a->intel = true;
		return 0;
	case OPTION_TOP:
		return parse_images_top(argument, &a->top, message);
	case OPTIONS_OPERAND:
		if (a->image)
			return usage_error(message,
					   "only one IMAGE can be given; '%s' is the second",
					   argument);
		a->image = argument;
		return *argument ? 0 : usage_error(message, "the image's name is empty");
	default:
		if (id < 0)
			return id;
		if (!*argument)
			return usage_error(message, "empty option argument");
		*texts[id] = argument;
		return 0;
	}
}

static int images_check_arguments(const struct images_arguments *a, struct usage_message *message)
{
	bool is_all = a->epoch && strcmp(a->epoch, "all") == 0;

	if ((a->list != NULL) + (a->cat != NULL) + (a->diff != NULL) + (a->top > 0) > 1)
		return usage_error(message, "only one of --list, --top, --cat and --diff");
	if (a->cat && (a->image || a->json || a->db || a->epoch || a->event || a->intel ||
		       a->source_path || a->trim_path))
		return usage_error(message, "--cat FILE cannot be combined with other options");
	if (a->list && !a->image)
		return usage_error(message, "--list needs an IMAGE");
	if (a->epoch && !is_all && !database_is_epoch_name(a->epoch))
		return usage_error(message, "--epoch takes YYMMDDHHMM or all, not '%s'", a->epoch);
	if (a->diff && !database_is_epoch_name(a->diff))
		return usage_error(message, "--diff takes an epoch, YYMMDDHHMM, not '%s'", a->diff);
	if (a->diff && is_all)
		return usage_error(message, "--diff compares two epochs, not all");
	return 0;
}

int images_parse(int argc, char *const *argv, struct images_arguments *ret,
		 struct usage_message *message)
{
	static const struct option_spec specs[] = {
		COMMON_OPTIONS,
		{OPTION_DB, 0, "db", true},
		{OPTION_EPOCH, 0, "epoch", true},
		{OPTION_EVENT, 'e', "event", true},
		{OPTION_LIST, 0, "list", true},
		{OPTION_TOP, 0, "top", true},
		{OPTION_CAT, 0, "cat", true},
		{OPTION_DIFF, 0, "diff", true},
		{OPTION_INTEL, 0, "intel_syntax", false},
		{OPTION_SOURCE, 0, "source_path", true},
		{OPTION_TRIM, 0, "trim_path", true},
	};
	struct options o = OPTIONS_OF(argc, argv, specs, message);
	struct images_arguments arguments = {0};
	const char *argument;
	int id, r = 0;

	while (!r && (id = options_next(&o, &argument)) != OPTIONS_END) {
		if (id == OPTION_HELP)
			return VERB_HELP;
		r = parse_images_option(id, argument, &arguments, message);
	}
	if (!r)
		r = images_check_arguments(&arguments, message);
	if (r)
		return r;
	*ret = arguments;
	return 0;
}

/* Of what the database refuses. */
static int images_exit_status(int r)
{
	return r == DATABASE_E_DENIED ? STATUS_DENIED : STATUS_FAILED;
}

/* --- --cat ------------------------------------------------------------------------------------ */

static int images_cat_file(struct context *context, const char *path)
{
	cleanup(image_profile_freep) struct image_profile *p = NULL;
	struct profile_message message;
	int r = database_read_file(path, &p, &message);

	if (!r)
		r = images_cat(p, context->out);
	if (r < 0)
		return profctl_complain(context, STATUS_FAILED, "%s: %s", path, error_describe(r));
	return r ? profctl_complain(context, images_exit_status(r), "%s: %s", path, message.text)
		 : STATUS_DONE;
}

/* --- the database ----------------------------------------------------------------------------- */

static int images_complain(const struct context *context, int r,
			   const struct profile_message *message)
{
	return profctl_complain(context, images_exit_status(r), "%s",
				r < 0 ? error_describe(r) : message->text);
}

/* One epoch's images, or all's (@epoch "all"). Returns an exit status. */
static int read_set(const struct images_job *job, const struct database *db, const char *epoch,
		    bool keep_counts, struct image_set *ret)
{
	cleanup(image_gather_freep) struct image_gather *g = NULL;
	const char *const *epochs = &epoch;
	struct profile_message message;
	bool is_all = strcmp(epoch, "all") == 0;
	size_t n = 1;
	int r = image_gather_new(&g, job->arguments->event, keep_counts);

	if (is_all)
		epochs = database_epochs(db, &n);
	for (size_t i = 0; !r && i < n; i++) {
		r = database_read(db, epochs[i], g, job->notes, &message);
		/* profd has deleted it meanwhile. */
		if (r == DATABASE_E_GONE && is_all)
			r = 0;
	}
	if (!r)
		r = image_gather_finish(g, ret, &message);
	if (r)
		return images_complain(job->context, r, &message);
	if (ret->n)
		return STATUS_DONE;
	return profctl_complain(job->context, STATUS_FAILED, "no samples%s%s in epoch %s",
				job->arguments->event ? " of " : "",
				job->arguments->event ? job->arguments->event : "", epoch);
}

static int open_db(const struct context *context, const struct images_arguments *a,
		   struct database **ret, const char **ret_epoch)
{
	cleanup(freep) char *in_store = NULL;
	struct profile_message message;
	const char *path = a->db;
	int r = 0;

	if (!path && asprintf(&in_store, "%s/images", context->store) < 0) {
		in_store = NULL;
		r = error_origin(-ENOMEM);
	}
	path = path ? path : in_store;
	if (!r)
		r = database_open(ret, path, &message);
	if (r)
		return images_complain(context, r, &message);
	*ret_epoch = a->epoch ? a->epoch : database_newest(*ret, context->now_ns / NS_PER_S);
	if (!*ret_epoch)
		return profctl_complain(context, STATUS_FAILED, "no image profiles in %s", path);
	return STATUS_DONE;
}

/* --- the verb --------------------------------------------------------------------------------- */

/* Returns an exit status; *ret NULL where none was asked for. */
static int find_image(const struct images_job *job, const struct image **ret)
{
	struct profile_message message;
	int r;

	*ret = NULL;
	if (!job->arguments->image)
		return STATUS_DONE;
	r = image_set_find(job->set, job->arguments->image, ret, &message);
	return r ? profctl_complain(job->context, STATUS_FAILED, "%s in epoch %s", message.text,
				    job->epoch)
		 : STATUS_DONE;
}

/* In the other epoch: the image there of the same name, which may be a rebuilt one. */
static const struct image *find_base_image(const struct images_job *job, const struct image *image)
{
	const struct image *found = NULL, *same = NULL;
	size_t n, m;

	for (size_t i = 0; i < job->base->n; i++) {
		const struct image *other = &job->base->images[i];
		const char *a = image_title(image, &n), *b = image_title(other, &m);

		if (n != m || memcmp(a, b, n) != 0)
			continue;
		if (strcmp(other->id, image->id) == 0)
			same = other;
		found = found ? found : other;
	}
	return same ? same : found;
}

/* Returns 0, IMAGE_CODE_E_* or negative errno. */
static int images_print(struct images_job *job, const struct image *image)
{
	const struct images_arguments *a = job->arguments;

	if (a->top)
		return images_print_top(job, image);
	if (a->list)
		return images_print_list(job, image);
	if (a->diff)
		return image ? images_diff_procedures(job, image, find_base_image(job, image))
			     : images_diff_all(job);
	return image ? images_print_procedures(job, image) : images_print_all(job);
}

static void print_notes(const struct images_job *job)
{
	for (size_t i = 0; i < job->notes->n; i++)
		profctl_complain(job->context, 0, "%s", job->notes->lines[i]);
	if (job->notes->n_more)
		profctl_complain(job->context, 0, "%zu more like these", job->notes->n_more);
	job->notes->n_more = 0;
}

static int images_job_status(const struct images_job *job, int r)
{
	if (r < 0)
		return profctl_complain(job->context, STATUS_FAILED, "%s", error_describe(r));
	if (r == IMAGE_CODE_E_NO_WORKER)
		return profctl_complain(
			job->context, STATUS_FAILED,
			"profd-image-worker, which reads programs, cannot be run: %s",
			asker_error_text(job->world->asker));
	return r ? STATUS_FAILED : STATUS_DONE;
}

static int images_run_job(struct images_job *job, const struct database *db)
{
	const struct images_arguments *a = job->arguments;
	cleanup(image_set_deinit) struct image_set set = {0}, base = {0};
	bool keep_counts = a->image || a->top;
	const struct image *image;
	int status = read_set(job, db, job->epoch, keep_counts, &set);

	job->set = &set;
	if (!status && a->diff) {
		job->base = &base;
		status = read_set(job, db, a->diff, keep_counts, &base);
	}
	if (!status && job->base && strcmp(set.event, base.event) != 0)
		status = profctl_complain(job->context, STATUS_FAILED,
					  "epoch %s has %s, epoch %s has %s: choose with --event",
					  a->diff, base.event, job->epoch, set.event);
	if (!status)
		status = find_image(job, &image);
	return status ? status : images_job_status(job, images_print(job, image));
}

static int images_run_database(struct context *context, const struct images_arguments *a)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(image_world_deinit) struct image_world world = {0};
	cleanup(database_freep) struct database *db = NULL;
	cleanup(notes_deinit) struct notes notes = {0};
	struct images_job job = {
		.context = context, .arguments = a, .world = &world, .notes = &notes};
	int r, status = open_db(context, a, &db, &job.epoch);

	if (status)
		return status;
	r = image_world_init(&world, root_fd, &notes);
	status = r ? images_job_status(&job, r) : images_run_job(&job, db);
	print_notes(&job);
	return status;
}

int images_run(struct context *context, int argc, char **argv)
{
	struct images_arguments arguments;
	struct usage_message message;
	int r = images_parse(argc, argv, &arguments, &message);

	if (r)
		return parse_ended(context, r, &message);
	if (arguments.cat)
		return images_cat_file(context, arguments.cat);
	return images_run_database(context, &arguments);
}
