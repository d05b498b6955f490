/* SPDX-License-Identifier: MIT */
/*
 * profctl images: what DCPI's tools did, on a directory of image profiles. Reads the profiles of
 * the epochs that were asked for into sets of images (client/images), and hands them to what
 * prints.
 */
#include "client/profctl/images.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/images/database.h"
#include "client/profctl/table.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/units.h"
#include "common/utf8.h"

static int option_images_top(const char *name, const char *text, void *to,
			     struct usage_message *message)
{
	uint64_t *top = to;

	(void)name;
	if (units_parse_number(text, top) || !*top || *top > IMAGES_TOP_MAX)
		return usage_error(message, "--top takes a number from 1 to %d, not '%s'",
				   IMAGES_TOP_MAX, text);
	return 0;
}

static int images_check_arguments(const struct images_arguments *a, struct usage_message *message)
{
	bool is_all = a->epoch && strcmp(a->epoch, DATABASE_ALL) == 0;

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
	const struct option_row rows[] = {
		{0, "json", option_flag, &ret->json, NULL},
		{0, "db", option_text, &ret->db, NULL},
		{0, "epoch", option_text, &ret->epoch, NULL},
		{'e', "event", option_text, &ret->event, NULL},
		{0, "list", option_text, &ret->list, NULL},
		{0, "top", option_images_top, &ret->top, NULL},
		{0, "cat", option_text, &ret->cat, NULL},
		{0, "diff", option_text, &ret->diff, NULL},
		{0, "intel_syntax", option_flag, &ret->intel, NULL},
		{0, "source_path", option_text, &ret->source_path, NULL},
		{0, "trim_path", option_text, &ret->trim_path, NULL},
		{0, NULL, option_text, &ret->image, "only one IMAGE can be given"},
		{0},
	};
	int r;

	*ret = (struct images_arguments){0};
	r = options_parse(rows, argc, argv, message);
	return r ? r : images_check_arguments(ret, message);
}

/* Of what the database refuses; @path: "", or the file that it is of. Returns the exit status. */
static int images_complain(const struct context *context, const char *path, int r,
			   const struct profile_message *message)
{
	return profctl_complain(context, r == DATABASE_E_DENIED ? STATUS_DENIED : STATUS_FAILED,
				"%s%s%s", path, *path ? ": " : "",
				r < 0 ? error_describe(r) : message->text);
}

/* --- --cat ------------------------------------------------------------------------------------ */

static void images_cat_line(FILE *out, const char *key, const char *text)
{
	fprintf(out, "%s ", key);
	print_safely(out, text);
	fputc('\n', out);
}

/* The header's lines, then "0xPC count" for each address. Returns 0 or negative errno. */
static int images_cat(const struct image_profile *p, FILE *out)
{
	images_cat_line(out, "image", p->image);
	images_cat_line(out, "epoch", p->epoch);
	images_cat_line(out, "platform", p->platform);
	images_cat_line(out, "event", p->event);
	fprintf(out,
		"period %" PRIu64 "\ntstart %" PRIx64 "\ntsize %" PRIu64 "\ncpuspeed %" PRIu32 "\n",
		p->period, p->tstart, p->tsize, p->cpuspeed_mhz);
	if (p->cpucount)
		fprintf(out, "cpucount %" PRIu32 "\n", p->cpucount);
	for (const char *paths = p->path; paths && *paths;) {
		size_t n = strcspn(paths, "\n");
		cleanup(freep) char *path = strndup(paths, n);

		if (!path)
			return error_origin(-ENOMEM);
		images_cat_line(out, "path", path);
		paths += n + (paths[n] == '\n');
	}
	if (p->ledger)
		images_cat_line(out, "ledger", p->ledger);
	if (p->unknown)
		utf8_write_harmless(out, p->unknown, "\n");
	fprintf(out, "addresses %zu\nsamples %" PRIu64 "\n", p->n_counts, p->total);
	for (size_t i = 0; i < p->n_counts; i++)
		fprintf(out, "0x%" PRIx64 " %" PRIu32 "\n", p->tstart + p->counts[i].offset,
			p->counts[i].count);
	return 0;
}

static int images_cat_file(struct context *context, const char *path)
{
	cleanup(image_profile_freep) struct image_profile *p = NULL;
	struct profile_message message;
	int r = database_read_file(path, &p, &message) ?: images_cat(p, context->out);

	return r ? images_complain(context, path, r, &message) : STATUS_DONE;
}

/* --- the database ----------------------------------------------------------------------------- */

/* One epoch's images, or all's. Returns an exit status. */
static int read_set(const struct images_job *job, const struct database *db, const char *epoch,
		    bool keep_counts, struct image_set *ret)
{
	const char *event = job->arguments->event;
	struct profile_message message;
	int r;

	*ret = (struct image_set){.wanted_event = event, .keeps_counts = keep_counts};
	r = database_read(db, epoch, ret, job->source->notes, &message)
		    ?: image_set_finish(ret, &message);
	if (r)
		return images_complain(job->context, "", r, &message);
	if (ret->n)
		return STATUS_DONE;
	return profctl_complain(job->context, STATUS_FAILED, "no samples%s%s in epoch %s",
				event ? " of " : "", event ? event : "", epoch);
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
		return images_complain(context, "", r, &message);
	*ret_epoch = a->epoch ? a->epoch : database_newest(*ret, context->now_ns / NS_PER_S);
	if (!*ret_epoch)
		return profctl_complain(context, STATUS_FAILED, "no image profiles in %s", path);
	return STATUS_DONE;
}

/* --- the verb --------------------------------------------------------------------------------- */

/* In the other epoch: the image there of the same name, which may be a rebuilt one. */
static const struct image *find_base_image(const struct images_job *job, const struct image *image)
{
	const struct image *found = NULL, *same = NULL;

	for (size_t i = 0; i < job->base->n; i++) {
		const struct image *other = &job->base->images[i];

		if (strcmp(other->title, image->title) != 0)
			continue;
		if (strcmp(other->id, image->id) == 0)
			same = other;
		found = found ? found : other;
	}
	return same ? same : found;
}

/* Returns 0, OBJECT_E_* or negative errno. */
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

static int images_job_status(const struct images_job *job, int r)
{
	if (r < 0)
		return profctl_complain(job->context, STATUS_FAILED, "%s", error_describe(r));
	if (r == OBJECT_E_NO_WORKER)
		return profctl_complain(
			job->context, STATUS_FAILED,
			"profd-image-worker, which reads programs, cannot be run: %s",
			asker_error_text(job->source->asker));
	return r ? STATUS_FAILED : STATUS_DONE;
}

static int images_run_job(struct images_job *job, const struct database *db)
{
	const struct images_arguments *a = job->arguments;
	cleanup(image_set_deinit) struct image_set set = {0}, base = {0};
	bool keep_counts = a->image || a->top;
	const struct image *image = NULL;
	struct profile_message message;
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
	if (!status && a->image && image_set_find(&set, a->image, &image, &message))
		status = profctl_complain(job->context, STATUS_FAILED, "%s in epoch %s",
					  message.text, job->epoch);
	return status ? status : images_job_status(job, images_print(job, image));
}

int images_run(struct context *context, int argc, char **argv)
{
	cleanup(closep) int root_fd = -1;
	cleanup(notes_deinit) struct notes notes = {0};
	cleanup(object_source_deinit) struct object_source source = {.notes = &notes,
								     .want_lines = true};
	cleanup(database_freep) struct database *db = NULL;
	struct images_arguments arguments;
	struct images_job job = {.context = context, .arguments = &arguments, .source = &source};
	struct usage_message message;
	int status, r = images_parse(argc, argv, &arguments, &message);

	if (r)
		return parse_ended(context, r, &message);
	if (arguments.cat)
		return images_cat_file(context, arguments.cat);
	status = open_db(context, &arguments, &db, &job.epoch);
	if (status)
		return status;
	root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = object_source_init(&source, root_fd, NULL, 0);
	status = r ? images_job_status(&job, r) : images_run_job(&job, db);
	for (size_t i = 0; i < notes.n; i++)
		profctl_complain(context, 0, "%s", notes.lines[i]);
	if (notes.n_more)
		profctl_complain(context, 0, "%zu more like these", notes.n_more);
	return status;
}
