/* SPDX-License-Identifier: MIT */
/* An image profile as text. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "client/profctl/images.h"
#include "client/profctl/table.h"
#include "common/error.h"
#include "common/utf8.h"

static void print_text(FILE *out, const char *key, const char *text)
{
	fprintf(out, "%s ", key);
	print_safely(out, text);
	fputc('\n', out);
}

static int images_cat_paths(FILE *out, const char *paths)
{
	while (paths && *paths) {
		size_t n = strcspn(paths, "\n");
		cleanup(freep) char *path = strndup(paths, n);

		if (!path)
			return error_origin(-ENOMEM);
		print_text(out, "path", path);
		paths += n + (paths[n] == '\n');
	}
	return 0;
}

int images_cat(const struct image_profile *p, FILE *out)
{
	int r;

	print_text(out, "image", p->image);
	print_text(out, "epoch", p->epoch);
	print_text(out, "platform", p->platform);
	print_text(out, "event", p->event);
	fprintf(out,
		"period %" PRIu64 "\ntstart %" PRIx64 "\ntsize %" PRIu64 "\ncpuspeed %" PRIu32 "\n",
		p->period, p->tstart, p->tsize, p->cpuspeed_mhz);
	if (p->cpucount)
		fprintf(out, "cpucount %" PRIu32 "\n", p->cpucount);
	r = images_cat_paths(out, p->path);
	if (r)
		return r;
	if (p->ledger)
		print_text(out, "ledger", p->ledger);
	if (p->unknown)
		utf8_write_harmless(out, p->unknown, "\n");
	fprintf(out, "addresses %zu\nsamples %" PRIu64 "\n", p->n_counts, p->total);
	for (size_t i = 0; i < p->n_counts; i++)
		fprintf(out, "0x%" PRIx64 " %" PRIu32 "\n", p->tstart + p->counts[i].offset,
			p->counts[i].count);
	return 0;
}
