/* SPDX-License-Identifier: MIT */
#include "daemon/output/context.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "daemon/output/snapshot.h"

#define PREFIX "# profd "

int context_describe(const struct context *c, const struct snapshot *s, char **ret)
{
	const char *ledger = s->ledger;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return error_origin(-ENOMEM);
	fprintf(out, PREFIX "version: %s\n", PROFD_VERSION);
	fprintf(out, PREFIX "host: %s\n", c->host);
	fprintf(out, PREFIX "kernel: %s\n", c->release);
	fprintf(out, PREFIX "event: %s\n", s->event);
	if (s->frequency)
		fprintf(out, PREFIX "frequency: %" PRIu64 " Hz\n", s->frequency);
	else
		fprintf(out, PREFIX "period: %" PRIu64 "\n", s->period);
	while (ledger && *ledger) {
		size_t length = strcspn(ledger, "\n");

		fprintf(out, PREFIX "ledger: %.*s\n", (int)length, ledger);
		ledger += length + (ledger[length] == '\n');
	}
	if (fclose(out) != 0) {
		free(text);
		return error_origin(-ENOMEM);
	}
	*ret = text;
	return 0;
}
