/* SPDX-License-Identifier: MIT */
/*
 * One table, config_keys[], says for every key where it is written, what values it takes and what
 * it is by default; another one does so for those of [export NAME] (config_export.c). Reading
 * (config_read.c), printing and the defaults go by them.
 */
#include "common/config/config.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/config/config_private.h"
#include "common/error.h"
#include "common/store/contents.h"
#include "common/text_print.h"
#include "common/user_paths.h"

#define DAY      (86400 * NS_PER_S)
#define NO_GROUP "none" /* no name of one */

#define AT(field) offsetof(struct config, field)

#define LABEL_KEY(label, key, is_on)                                            \
	{                                                                       \
		"labels", #key, KIND_LABEL, AT(labels), LABEL_##label, 0, is_on \
	}

#define LIMIT_KEY(key, field, kind, min, max, standard) \
	{"store", key, KIND_##kind, AT(field), min, max, standard},

const struct config_key config_keys[] = {
	{"sampling", "event", KIND_TEXT, AT(event), 1, 31, "auto"},
	{"sampling", "frequency", KIND_U64, AT(frequency), 1, 100000, "99"},
	{"sampling", "off_cpu", KIND_BOOL, AT(off_cpu), 0, 0, "no"},
	{"sampling", "off_cpu_frequency", KIND_U64, AT(off_cpu_frequency), 0, 100000, "0"},
	{"sampling", "latency", KIND_BOOL, AT(latency), 0, 0, "no"},
	{"sampling", "kernel_stacks", KIND_BOOL, AT(kernel_stacks), 0, 0, "yes"},
	{"sampling", "max_depth", KIND_U32, AT(max_depth), 1, 1024, "1024"},
	{"sampling", "exclude_self", KIND_BOOL, AT(exclude_self), 0, 0, "yes"},
	{"sampling", "max_cpu", KIND_SHARE, AT(max_cpu), 0, 0, "3%"},
	{"system", "enabled", KIND_BOOL, AT(system_enabled), 0, 0, "yes"},
	{"system", "exclude_services", KIND_LIST, AT(exclude_services), 0, 0, ""},
	{"system", "exclude_comms", KIND_LIST, AT(exclude_comms), 0, 0, ""},
	{"flush", "interval", KIND_DURATION, AT(interval_ns), NS_PER_S, DAY, "60s"},
	{"flush", "formats", KIND_FORMATS, AT(formats), 0, 0, "pprof,images"},
	{"flush", "symbolize", KIND_SYMBOLIZE, AT(symbolize), 0, 0, "functions"},
	LABELS(LABEL_KEY),
	{"store", "path", KIND_PATH, AT(store_path), 1, 180, "/var/lib/profd"},
	/* clang-format off */
	LIMITS(LIMIT_KEY)
	/* clang-format on */
	{"store", "legacy_max_processes", KIND_U32, AT(store_legacy_max_processes), 0, 1000000,
	 "64"},
	{"store", "group", KIND_TEXT, AT(store_group), 1, 31, "profd"},
	{"memory", "budget", KIND_SIZE, AT(memory_budget), 16 << 20, UINT64_C(1) << 40, "128M"},
	{"control", "socket", KIND_PATH, AT(control_socket), 1, 107, "/run/profd/control.sock"},
	{"control", "socket_mode", KIND_MODE, AT(control_socket_mode), 0, 0777, "0666"},
	{"control", "max_sessions", KIND_U32, AT(control_max_sessions), 1, 1024, "64"},
	{"limits", "per_user_control", KIND_SHARE, AT(per_user_control), 0, 0, "1%"},
	{"limits", "per_user_store", KIND_SHARE, AT(per_user_store), 0, 0, "10%"},
	{"debuginfod", "enabled", KIND_BOOL, AT(debuginfod_enabled), 0, 0, "no"},
	{"debuginfod", "urls", KIND_LIST, AT(debuginfod_urls), 0, 0, ""},
	{"http", "listen", KIND_TEXT, AT(http_listen), 0, 107, ""},
	{"http", "tls_certificate", KIND_TEXT, AT(http_tls_certificate), 0, 4095, ""},
	{"http", "tls_key", KIND_TEXT, AT(http_tls_key), 0, 4095, ""},
	{"http", "credentials_file", KIND_TEXT, AT(http_credentials_file), 0, 4095, ""},
	{"http", "allowed_hosts", KIND_LIST, AT(http_allowed_hosts), 0, 0, ""},
	{"metrics", "functions", KIND_U32, AT(metrics_functions), 0, 1000, "0"},
	{0},
};

int config_set_defaults(void *fields, const struct config_key *keys)
{
	for (const struct config_key *key = keys; key->name; key++) {
		struct config_value v = {.key = key, .text = key->standard};
		int r = config_value_set(fields, &v);

		if (r)
			return r < 0 ? r : error_origin(-EINVAL);
	}
	return 0;
}

int config_new(struct config **ret)
{
	cleanup(config_freep) struct config *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return error_origin(-ENOMEM);
	r = config_set_defaults(c, config_keys);
	if (!r)
		*ret = steal_ptr(&c);
	return r;
}

/* NULL: it stays. */
static int config_replace_text(char **text, const char *with)
{
	char *copy;
	int r = text_copy(&copy, with);

	if (!copy)
		return r;
	free(*text);
	*text = copy;
	return 0;
}

int config_set_paths(struct config *c, const char *store_path, const char *control_socket)
{
	return config_replace_text(&c->store_path, store_path)
		       ?: config_replace_text(&c->control_socket, control_socket);
}

int config_apply_user(struct config *c, const struct user_paths *user)
{
	int r = config_replace_text(&c->store_group, NO_GROUP);

	c->control_socket_mode = 0600;
	return r ?: config_set_paths(c, user->state, user->socket);
}

bool config_swap_restart_only(struct config *a, struct config *b)
{
	static const struct {
		size_t offset, size; /* size 0: a text */
	} fields[] = {
		{AT(store_path), 0},
		{AT(store_group), 0},
		{AT(control_socket), 0},
		{AT(control_socket_mode), sizeof(a->control_socket_mode)},
		{AT(memory_budget), sizeof(a->memory_budget)},
		{AT(exclude_self), sizeof(a->exclude_self)},
	};
	bool differ = false;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		size_t size = fields[i].size ? fields[i].size : sizeof(char *);
		char *x = (char *)a + fields[i].offset, *y = (char *)b + fields[i].offset;
		uint64_t kept;

		differ |= fields[i].size ? memcmp(x, y, size) != 0
					 : strcmp(*(char **)(void *)x, *(char **)(void *)y) != 0;
		memcpy(&kept, x, size);
		memcpy(x, y, size);
		memcpy(y, &kept, size);
	}
	return differ;
}

void config_free(struct config *c)
{
	if (!c)
		return;
	for (size_t i = 0; config_keys[i].name; i++)
		config_value_clear(c, &config_keys[i]);
	for (size_t i = 0; i < c->n_exports; i++)
		config_export_deinit(&c->exports[i]);
	free(c);
}

static void config_print_key(const struct config_key *key, const void *fields, FILE *out)
{
	fprintf(out, "%s = ", key->name);
	config_value_print(key, (const char *)fields + key->offset, out);
	fputc('\n', out);
}

int config_print(const struct config *c, FILE *out)
{
	const char *section = "";

	for (size_t i = 0; config_keys[i].name; i++) {
		if (strcmp(section, config_keys[i].section) != 0)
			fprintf(out, "%s[%s]\n", *section ? "\n" : "", config_keys[i].section);
		section = config_keys[i].section;
		config_print_key(&config_keys[i], c, out);
	}
	for (size_t i = 0; i < c->n_exports; i++) {
		fprintf(out, "\n[export %s]\n", c->exports[i].name);
		for (const struct config_key *key = config_export_keys; key->name; key++)
			config_print_key(key, &c->exports[i], out);
	}
	return fflush(out) == 0 && !ferror(out) ? 0 : error_origin(-EIO);
}
