/* SPDX-License-Identifier: MIT */
#include "client/report/reading.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "common/units.h"

/* Pipes have no size that would be known. @r: what stat() returned. */
static uint64_t reading_file_size(int r, const struct stat *st)
{
	return r < 0 || !S_ISREG(st->st_mode) ? 0 : (uint64_t)st->st_size;
}

void reading_begin(struct reading *r, const struct sources *sources,
		   const struct listener *listener)
{
	struct stat st;

	*r = (struct reading){.listener = listener->progress ? listener : NULL,
			      .n_files = sources->n};
	for (size_t i = 0; r->listener && i < sources->n; i++) {
		const struct source *s = &sources->all[i];

		/* What was fetched is open already. */
		r->bytes += reading_file_size(s->url ? fstat(s->fd, &st) : stat(s->path, &st), &st);
	}
}

void reading_file(struct reading *r, int fd)
{
	struct stat st;

	if (!r->listener)
		return;
	r->size = reading_file_size(fstat(fd, &st), &st);
	r->round = 0;
	reading_report_offset(r, 0);
}

void reading_samples(struct reading *r)
{
	r->round = 1;
}

void reading_report_offset(struct reading *r, uint64_t bytes)
{
	char read[UNITS_TEXT_MAX], all[UNITS_TEXT_MAX], text[160];
	uint64_t done;
	int length;

	if (!r->listener)
		return;
	/* A file that grows meanwhile is as large as it was. */
	bytes = bytes < r->size ? bytes : r->size;
	done = r->before + r->round * (r->size - r->size / 2) + bytes / 2;
	length = snprintf(text, sizeof(text), "read %s of %s",
			  units_print_size_short(read, sizeof(read), done),
			  units_print_size_short(all, sizeof(all), r->bytes));
	if (r->n_files > 1)
		snprintf(text + length, sizeof(text) - (size_t)length, ", %zu of %zu files", r->n,
			 r->n_files);
	r->listener->progress(r->listener->context, r->bytes ? (double)done / (double)r->bytes : 0,
			      text);
}

void reading_file_end(struct reading *r)
{
	r->before += r->size;
	r->size = 0;
	r->n++;
}

void reading_end(struct reading *r)
{
	if (r->listener)
		r->listener->progress(r->listener->context, 1, NULL);
	r->listener = NULL;
}
