/* SPDX-License-Identifier: MIT */
/*
 * A configuration: what is refused has a line that says why, and what is accepted keeps what its
 * header promises, and comes out of its own print again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool condition)
{
	if (!condition)
		abort();
}

static void check_export(const struct config_export *e)
{
	check(*e->name && strlen(e->name) <= CONFIG_EXPORT_NAME_MAX && !strpbrk(e->name, "/. ]"));
	check(*e->type && *e->services && !strpbrk(e->url, " @?#\n"));
	check(strncasecmp(e->url, "http", 4) == 0);
	check(!*e->header_file || *e->header_file == '/');
	check(!*e->ca_file || *e->ca_file == '/');
	check(!*e->labels || strchr(e->labels, '='));
	check(!strstr(e->labels, ",,") && !strstr(e->services, ",,"));
}

static char *config_to_text(const struct config *c)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	check(out && config_print(c, out) == 0);
	fclose(out);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup(freep) char *text = strndup((const char *)data, size), *first = NULL,
			    *second = NULL;
	cleanup(config_freep) struct config *c = NULL, *again = NULL;
	static struct config_message message;

	check(text);
	if (config_parse(&c, text, "fuzz", &message)) {
		check(!c && message.n && *message.text);
		return 0;
	}
	check(c->n_exports <= CONFIG_EXPORTS_MAX);
	for (size_t i = 0; i < c->n_exports; i++)
		check_export(&c->exports[i]);
	first = config_to_text(c);
	check(config_parse(&again, first, "again", &message) == 0);
	second = config_to_text(again);
	check(strcmp(first, second) == 0);
	return 0;
}
