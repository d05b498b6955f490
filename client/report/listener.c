/* SPDX-License-Identifier: MIT */
#include "client/report/listener.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include "common/units.h"

void listener_note(const struct listener *l, const char *format, ...)
{
	char text[PATH_MAX + 256];
	va_list args;

	if (!l->note)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	l->note(l->context, text);
}

void reading_begin(struct reading *r, size_t n_files, const struct listener *listener)
{
	*r = (struct reading){.listener = listener->progress ? listener : NULL, .n_files = n_files};
}

/* Pipes have no size that would be known. */
void reading_file(struct reading *r, int fd)
{
	struct stat st;

	r->size = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
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
	double done = 0;

	if (!r->listener)
		return;
	/* A file that grows meanwhile is as large as it was. */
	bytes = bytes < r->size ? bytes : r->size;
	bytes = r->round * (r->size - r->size / 2) + bytes / 2;
	if (r->size)
		done = (double)bytes / (double)r->size;
	if (r->n_files > 1)
		snprintf(text, sizeof(text), "read %zu of %zu files", r->n, r->n_files);
	else
		snprintf(text, sizeof(text), "read %s of %s",
			 units_print_size_short(read, sizeof(read), bytes),
			 units_print_size_short(all, sizeof(all), r->size));
	r->listener->progress(r->listener->context, ((double)r->n + done) / (double)r->n_files,
			      text);
}

void reading_file_end(struct reading *r)
{
	r->n++;
}

void reading_end(struct reading *r)
{
	if (r->listener)
		r->listener->progress(r->listener->context, 1, NULL);
	r->listener = NULL;
}
