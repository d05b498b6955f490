/* SPDX-License-Identifier: MIT */
#include "daemon/output/context.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/memory_text.h"
#include "common/read_end.h"
#include "daemon/output/snapshot.h"

#define PREFIX        "# profd "
#define PROC_TEXT_MAX ((size_t)16 << 20)

/* The first number behind @key in a text file of /proc; 0 if there is none. */
static double context_read_number(int proc_fd, const char *file, const char *key)
{
	cleanup(freep) char *text = NULL;
	size_t length;

	if (read_end_text(proc_fd, file, PROC_TEXT_MAX, &text, &length))
		return 0;
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, strlen(key)) == 0)
			return strtod(line + strlen(key) + strspn(line + strlen(key), " \t:"),
				      NULL);
	}
	return 0;
}

int context_read_host(struct context *c, const char *host, int proc_fd)
{
	struct utsname names;
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	double mhz = context_read_number(proc_fd, "cpuinfo", "cpu MHz");

	if (uname(&names) < 0)
		return error_origin(-errno);
	c->host = strdup(host ? host : names.nodename[0] ? names.nodename : "localhost");
	if (!c->host)
		return error_origin(-ENOMEM);
	names_escape(c->host, NAMES_ESCAPED_MAX, c->host_dir);
	snprintf(c->release, sizeof(c->release), "%s", names.release);
	c->cpucount = n > 0 ? (uint32_t)n : 0;
	c->boot_s = (uint64_t)context_read_number(proc_fd, "stat", "btime");
	c->cpuspeed_mhz = mhz > 0 && mhz < 1e6 ? (uint32_t)mhz : 0;
	return 0;
}

int context_describe(const struct context *c, const struct snapshot *s, char **ret)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};
	int r = memory_text_open(&text);
	FILE *out = text.out;

	if (r)
		return r;
	fprintf(out, PREFIX "version: %s\n", PROFD_VERSION);
	fprintf(out, PREFIX "host: %s\n", c->host);
	fprintf(out, PREFIX "kernel: %s\n", c->release);
	if (c->cpucount)
		fprintf(out, PREFIX "cpus: %" PRIu32 "\n", c->cpucount);
	fprintf(out, PREFIX "event: %s\n", s->event);
	if (s->frequency)
		fprintf(out, PREFIX "frequency: %" PRIu64 " Hz\n", s->frequency);
	else
		fprintf(out, PREFIX "period: %" PRIu64 "\n", s->period);
	if (s->off_cpu_frequency)
		fprintf(out, PREFIX "off_cpu frequency: %" PRIu64 " Hz\n", s->off_cpu_frequency);
	else if (s->off_cpu_period)
		fprintf(out, PREFIX "off_cpu period: %" PRIu64 "\n", s->off_cpu_period);
	/* In one line: ledgers of windows are summed word by word, whatever they are of. */
	if (s->ledger)
		fprintf(out, PREFIX "ledger: %s%s%s\n", s->ledger, s->off_cpu_ledger ? " " : "",
			s->off_cpu_ledger ? s->off_cpu_ledger : "");
	r = memory_text_close(&text);
	*ret = r ? NULL : steal_ptr(&text.text);
	return r;
}
