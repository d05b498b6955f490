/* SPDX-License-Identifier: MIT */
#include "daemon/output/context.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/memory_text.h"
#include "daemon/output/snapshot.h"

#define PREFIX "# profd "

int context_describe(const struct context *c, const struct snapshot *s, char **ret)
{
	const char *ledger = s->ledger;
	cleanup(memory_text_deinit) struct memory_text text = {0};
	int r = memory_text_open(&text);
	FILE *out = text.out;

	if (r)
		return r;
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
	r = memory_text_close(&text);
	*ret = r ? NULL : steal_ptr(&text.text);
	return r;
}
