/* SPDX-License-Identifier: MIT */
#include "daemon/output/context.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "daemon/output/snapshot.h"

void context_build_id(const uint8_t *build_id, size_t length, char ret[BUILD_ID_HEX_SIZE])
{
	ret[0] = '\0';
	for (size_t i = 0; i < length && i < ELF_BUILD_ID_MAX; i++)
		snprintf(ret + 2 * i, 3, "%02x", build_id[i]);
}

int context_describe(const struct context *c, const struct snapshot *s, const char *prefix,
		     char **ret)
{
	const char *ledger = s->ledger;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return error_origin(-ENOMEM);
	fprintf(out, "%sprofd %s\n", prefix, PROFD_VERSION);
	fprintf(out, "%shost: %s\n", prefix, c->host);
	fprintf(out, "%skernel: %s\n", prefix, c->release);
	fprintf(out, "%sevent: %s\n", prefix, s->event);
	if (s->frequency)
		fprintf(out, "%sfrequency: %" PRIu64 " Hz\n", prefix, s->frequency);
	else
		fprintf(out, "%speriod: %" PRIu64 "\n", prefix, s->period);
	while (ledger && *ledger) {
		size_t length = strcspn(ledger, "\n");

		fprintf(out, "%sledger: %.*s\n", prefix, (int)length, ledger);
		ledger += length + (ledger[length] == '\n');
	}
	if (fclose(out) != 0) {
		free(text);
		return error_origin(-ENOMEM);
	}
	*ret = text;
	return 0;
}
