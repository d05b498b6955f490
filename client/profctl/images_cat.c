/* SPDX-License-Identifier: MIT */
/* An image profile as text. */
#include <inttypes.h>
#include <string.h>

#include "client/profctl/images.h"
#include "client/profctl/table.h"

static void print_text(FILE *out, const char *key, const char *text)
{
	fprintf(out, "%s ", key);
	print_safely(out, text);
	fputc('\n', out);
}

/* Lines of @text, each with @key before it if there is one. */
static void print_lines(FILE *out, const char *key, const char *text)
{
	char line[4096];

	while (text && *text) {
		size_t n = strcspn(text, "\n");

		snprintf(line, sizeof(line), "%.*s", (int)(n < sizeof(line) ? n : sizeof(line) - 1),
			 text);
		if (key)
			fprintf(out, "%s ", key);
		print_safely(out, line);
		fputc('\n', out);
		text += n + (text[n] == '\n');
	}
}

void images_cat(const struct image_profile *p, FILE *out)
{
	print_text(out, "image", p->image);
	print_text(out, "epoch", p->epoch);
	print_text(out, "platform", p->platform);
	print_text(out, "event", p->event);
	fprintf(out,
		"period %" PRIu64 "\ntstart %" PRIx64 "\ntsize %" PRIu64 "\ncpuspeed %" PRIu32 "\n",
		p->period, p->tstart, p->tsize, p->cpuspeed_mhz);
	if (p->cpucount)
		fprintf(out, "cpucount %" PRIu32 "\n", p->cpucount);
	print_lines(out, "path", p->path);
	if (p->ledger)
		print_text(out, "ledger", p->ledger);
	print_lines(out, NULL, p->unknown);
	fprintf(out, "addresses %zu\nsamples %" PRIu64 "\n", p->n_counts, p->total);
	for (size_t i = 0; i < p->n_counts; i++)
		fprintf(out, "0x%" PRIx64 " %" PRIu32 "\n", p->tstart + p->counts[i].offset,
			p->counts[i].count);
}
