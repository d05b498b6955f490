/* SPDX-License-Identifier: MIT */
/*
 * Event names, and what they are to perf_event_open(2). A name is that of the table, or rNNNN, a
 * raw event of the CPU in hexadecimal; ":u" or ":k" behind it restricts it to user or kernel
 * mode. "auto" is cycles where the CPU has a performance monitoring unit that we can use.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/privileges.h"
#include "daemon/ingest/perf_admin.h"
#include "daemon/ingest/sources.h"

struct event_name {
	const char *name;
	uint32_t type;
	uint64_t config;
	bool is_clock;
	enum sample_cause cause;
};

static const struct event_name event_names[] = {
	{"cpu-clock", .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK,
	 .is_clock = true},
	{"task-clock", .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK,
	 .is_clock = true},
	{"off-cpu", .is_clock = true, .cause = CAUSE_SCHEDULER},
	{"page-faults", .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS},
	{"context-switches", .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CONTEXT_SWITCHES},
	{"cycles", .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES},
	{"instructions", .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS},
	{"cache-misses", .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CACHE_MISSES},
	{"branch-misses", .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_BRANCH_MISSES},
};

/* Tried on this thread alone and in user mode, which needs the least privilege. */
static bool cycles_work(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.sample_period = 1000000,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = perf_admin_open(&attr, 0, -1);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/* rNNNN: up to 16 hexadecimal digits, lower or upper case. */
static bool parse_raw(const char *base, struct event *ret)
{
	uint64_t config = 0;
	size_t n = strspn(base + 1, "0123456789abcdefABCDEF");

	if (base[0] != 'r' || n == 0 || n > 16 || base[1 + n])
		return false;
	sscanf(base + 1, "%" SCNx64, &config);
	ret->type = PERF_TYPE_RAW;
	ret->config = config;
	snprintf(ret->name, sizeof(ret->name), "r%04" PRIx64, config);
	return true;
}

static bool parse_base(const char *base, struct event *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(event_names); i++) {
		const struct event_name *known = &event_names[i];

		if (strcmp(base, known->name) != 0)
			continue;
		ret->type = known->type;
		ret->config = known->config;
		ret->is_clock = known->is_clock;
		ret->cause = known->cause;
		snprintf(ret->name, sizeof(ret->name), "%s", known->name);
		return true;
	}
	return parse_raw(base, ret);
}

int event_parse(const char *name, struct event *ret, struct source_message *message)
{
	struct event event = {0};
	const char *colon = strchr(name, ':');
	size_t length = colon ? (size_t)(colon - name) : strlen(name);
	char base[sizeof(event.name)];

	message->text[0] = '\0';
	if (length >= sizeof(base) - 2 ||
	    (colon && strcmp(colon, ":u") != 0 && strcmp(colon, ":k") != 0))
		goto unknown;
	memcpy(base, name, length);
	base[length] = '\0';
	if (strcmp(base, "auto") == 0) {
		bool cycles = cycles_work();

		strcpy(base, cycles ? "cycles" : "cpu-clock");
		if (!cycles)
			snprintf(message->text, sizeof(message->text),
				 "this machine has no usable cycle counter: sampling with "
				 "cpu-clock");
	}
	/* A thread waits in the kernel, always. */
	if (!parse_base(base, &event) || (colon && event.cause == CAUSE_SCHEDULER))
		goto unknown;
	if (colon) {
		event.exclude_user = colon[1] == 'k';
		event.exclude_kernel = colon[1] == 'u';
		strcat(event.name, colon);
	}
	*ret = event;
	return SOURCE_E_OK;
unknown:
	return source_refuse(
		message, SOURCE_E_UNSUPPORTED,
		"unknown event \"%.60s\": use auto, cpu-clock, task-clock, off-cpu, cycles, "
		"instructions, cache-misses, branch-misses, page-faults, context-switches or "
		"rNNNN, with :u or "
		":k for one mode only",
		name);
}

bool event_excludes_by_source(const struct event *event)
{
	return event->is_clock;
}

void event_attr(const struct sampler_spec *spec, struct perf_event_attr *ret)
{
	bool by_source = event_excludes_by_source(&spec->event);
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = spec->event.type,
		.config = spec->event.config,
		.disabled = 1,
		.exclude_user = spec->event.exclude_user && !by_source,
		.exclude_kernel = spec->event.exclude_kernel && !by_source,
	};

	if (spec->is_period) {
		attr.sample_period = spec->rate;
	} else {
		attr.freq = 1;
		attr.sample_freq = spec->rate;
	}
	*ret = attr;
}

uint64_t event_ticks_per_second(const struct sampler_spec *spec)
{
	if (!spec->is_period)
		return spec->rate;
	if (spec->event.is_clock && spec->rate)
		return NS_PER_S / spec->rate;
	return 1000; /* nobody knows how often a counter will overflow */
}

int event_paranoid_level(void)
{
	cleanup(fclosep) FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int level = 0;

	return f && fscanf(f, "%d", &level) == 1 ? level : 0;
}

static const char *event_denial(void)
{
	if (event_paranoid_level() > 2)
		return "it needs CAP_PERFMON, and CAP_SYS_ADMIN while kernel.perf_event_paranoid "
		       "is above 2";
	if (privileges_have(CAP_PERFMON))
		return "it has CAP_PERFMON, but a seccomp profile or security module denies "
		       "perf_event_open(2)";
	return "it needs CAP_PERFMON";
}

int event_explain(int err, const struct sampler_spec *spec, struct source_message *message)
{
	const char *name = spec->event.name;

	switch (-err) {
	case EACCES:
	case EPERM:
		return source_refuse(message, SOURCE_E_DENIED,
				     "the kernel does not let profd sample %s: %s", name,
				     event_denial());
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		return source_refuse(message, SOURCE_E_UNSUPPORTED,
				     "this machine cannot sample %s: use cpu-clock", name);
	case EINVAL:
		return source_refuse(message, SOURCE_E_UNSUPPORTED,
				     "the kernel rejects %s with %s %" PRIu64
				     ": kernel.perf_event_max_sample_rate limits the rate",
				     name, spec->is_period ? "period" : "frequency", spec->rate);
	default:
		return err;
	}
}
