/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_CONFIG_CONFIG_H
#define PROFD_COMMON_CONFIG_CONFIG_H

/*
 * /etc/profd/profd.conf, then profd.conf.d/ *.conf in order: every key with its default in one
 * table (config.c), those of [export NAME] in another (config_export.c). Unknown keys and bad
 * values are refused, all of them, with file, line and reason; nothing of a refused configuration
 * is used. Knows nothing of what the values do.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/cleanup.h"
#include "common/store/contents.h"

enum {
	CONFIG_E_OK,
	CONFIG_E_INVALID, /* see the message */
};

struct user_paths;

#define CONFIG_ERRORS_MAX 15
#define CONFIG_ERROR_SIZE 512

struct config_message {
	/* "file:line: what is wrong", for each error; a newline between two; how many more. */
	char text[(CONFIG_ERRORS_MAX + 1) * CONFIG_ERROR_SIZE];
	unsigned n;
};

#define CONFIG_EXPORTS_MAX       8
#define CONFIG_EXPORT_NAME_MAX   32
#define CONFIG_EXPORT_NAME_BYTES "abcdefghijklmnopqrstuvwxyz0123456789_-"

/* [export NAME]: a server that windows are sent to. Texts are never NULL; owned. */
struct config_export {
	char name[CONFIG_EXPORT_NAME_MAX + 1];
	char *type; /* "pyroscope", "parca" or "otlp" */
	char *url;  /* http:// or https://, without query, user name and password */
	char *header_file, *ca_file; /* absolute paths, or "" */
	char *services;              /* names and patterns as names_select_service() takes them */
	char *labels;                /* "a=b,c=d", or "" */
	char *keep;                  /* labels of samples, "thread,pid", or "" */
	uint64_t spool_size;         /* bytes of windows that may wait */
	uint64_t max_age_ns;         /* older windows are not sent; 0: however old they are */
	char *place;                 /* "file:line" of its section, for messages */
};

/* Lists are NULL-terminated arrays of texts; texts are never NULL. All owned. */
struct config {
	/* [sampling] */
	char *event;
	uint64_t frequency;         /* Hz */
	bool off_cpu;               /* the system session samples waits, too */
	uint64_t off_cpu_frequency; /* Hz; 0: as frequency */
	bool latency;
	bool kernel_stacks;
	uint32_t max_depth;
	bool exclude_self;
	double max_cpu; /* share of the whole machine, 0 .. 1 */
	/* [system] */
	bool system_enabled;
	char **exclude_services, **exclude_comms; /* comma-separated in the file */
	/* [flush] */
	uint64_t interval_ns;
	unsigned formats; /* FORMAT_* of output/snapshot.h */
	int symbolize;    /* enum symbolize */
	/* [labels] */
	unsigned labels; /* LABEL_* */
	/* [store] */
	char *store_path;
	LIMITS(LIMIT_FIELD) /* bytes, s */
	uint32_t store_legacy_max_processes;
	char *store_group;
	/* [memory] */
	uint64_t memory_budget; /* bytes */
	/* [control] */
	char *control_socket;
	uint32_t control_socket_mode;
	uint32_t control_max_sessions;
	/* [limits] */
	double per_user_control; /* share of one CPU, 0 .. 1 */
	double per_user_store;   /* share of store_max_size, 0 .. 1 */
	/* [debuginfod] */
	bool debuginfod_enabled;
	char **debuginfod_urls; /* comma-separated in the file */
	/* [http] */
	char *http_listen; /* "": nothing is served */
	char *http_tls_certificate, *http_tls_key, *http_credentials_file; /* paths, or "" */
	char **http_allowed_hosts; /* comma-separated in the file */

	uint32_t metrics_functions; /* series; 0: none */

	struct config_export exports[CONFIG_EXPORTS_MAX]; /* in the order of the files */
	size_t n_exports;
};

/*
 * Reads @path (NULL: /etc/profd/profd.conf, which need not exist) and its .d directory. With @user
 * (or NULL), for a user's own profd, that is its file, and other defaults apply: its paths, the
 * socket for its owner alone, the store for no group.
 */
int config_load(struct config **ret, const char *path, const struct user_paths *user,
		struct config_message *message);
/* The same from one text; @name stands in messages. Pure. */
int config_parse(struct config **ret, const char *text, const char *name,
		 struct config_message *message);
/* Where things are, if the command line told (else NULL). Returns 0 or -ENOMEM. */
int config_set_paths(struct config *c, const char *store_path, const char *control_socket);
void config_free(struct config *c);
DEFINE_CLEANUP(struct config *, config_free)

/*
 * What is made once, at the start, and keeps its value until the next one: exchanges that between
 * the two. Returns whether it differed.
 */
bool config_swap_restart_only(struct config *a, struct config *b);

/* Writes the effective configuration as a file that config_load() reads back to the same. */
int config_print(const struct config *c, FILE *out);

#endif
