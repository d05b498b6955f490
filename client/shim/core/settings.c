/* SPDX-License-Identifier: MIT */
/*
 * As libprofiler reads its variables: what is no number counts as not set, what is no signal is
 * reported. CPUPROFILE is marked for child processes as it is read.
 */
#include "client/shim/core/settings.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHILD_BIT  0x80
#define SIGNAL_MAX 64

/* A whole number; false for anything else. */
static bool settings_parse_number(const char *text, int base, long *ret)
{
	char *end;

	errno = 0;
	*ret = strtol(text, &end, base);
	return end != text && !*end && !errno;
}

static unsigned frequency_of(const char *text)
{
	long n;

	if (!text || !settings_parse_number(text, 10, &n) || n < 1)
		return SETTINGS_FREQUENCY_DEFAULT;
	return n < SETTINGS_FREQUENCY_MAX ? (unsigned)n : SETTINGS_FREQUENCY_MAX;
}

/* @otherwise, where there is no such variable. */
static int signal_of(const char *text, int base, int otherwise, bool *ret_bad)
{
	long n;

	if (!text)
		return otherwise;
	if (settings_parse_number(text, base, &n) && n >= 1 && n <= SIGNAL_MAX && n != SIGKILL &&
	    n != SIGSTOP)
		return (int)n;
	*ret_bad = true;
	return otherwise;
}

static void settings_set_path(struct settings *s, char *text, bool wants_pid, int pid)
{
	bool is_child = (unsigned char)text[0] & CHILD_BIT;
	char suffix[16] = "";
	int n;

	if (is_child || wants_pid)
		snprintf(suffix, sizeof(suffix), "_%d", pid);
	n = snprintf(s->path, sizeof(s->path), "%c%s%s", text[0] & ~CHILD_BIT, text + 1, suffix);
	if (n < 0 || (size_t)n >= sizeof(s->path))
		s->path[0] = '\0';
	text[0] = (char)(text[0] | CHILD_BIT);
}

/* @text: a path; 1 for that of the system, or the one that profctl is told to ask. */
static const char *socket_of(const char *text, const char *chosen)
{
	if (!text || !*text || !strcmp(text, "0"))
		return NULL;
	if (strcmp(text, "1") != 0)
		return text;
	return chosen && *chosen ? chosen : SETTINGS_SOCKET_DEFAULT;
}

void settings_read(struct settings *ret, char *(*get)(const char *name), int pid)
{
	const char *use_pid;
	char *path;

	memset(ret, 0, sizeof(*ret));
	ret->frequency = SETTINGS_FREQUENCY_DEFAULT;
	ret->tick_signal = SIGPROF;
	if (!get)
		return;
	ret->frequency = frequency_of(get("CPUPROFILE_FREQUENCY"));
	ret->is_realtime = get("CPUPROFILE_REALTIME") != NULL;
	ret->is_per_thread = get("CPUPROFILE_PER_THREAD_TIMERS") || get("CPUPROFILE_TIMER_SIGNAL");
	ret->tick_signal = signal_of(get("CPUPROFILE_TIMER_SIGNAL"), 0, SIGPROF,
				     &ret->is_bad_signal);
	ret->socket = socket_of(get("PROFD_CONNECT"), get("PROFD_SOCKET"));
	path = get("CPUPROFILE");
	if (!path || !*path)
		return;
	ret->switch_signal = signal_of(get("CPUPROFILESIGNAL"), 10, 0, &ret->is_bad_signal);
	if (ret->switch_signal == ret->tick_signal)
		ret->is_bad_signal = true;
	/* "", "0" and what begins like a no are no. */
	use_pid = get("CPUPROFILE_USE_PID");
	settings_set_path(ret, path, use_pid && *use_pid && !strchr("0fFnN", *use_pid), pid);
}

bool settings_name(char ret[PATH_MAX], const char *dir, const char *path, const char *suffix)
{
	bool is_absolute = path[0] == '/' || !dir;
	int n = snprintf(ret, PATH_MAX, "%s%s%s%s", is_absolute ? "" : dir, is_absolute ? "" : "/",
			 path, suffix);

	return n >= 0 && n < PATH_MAX;
}

bool settings_child_name(char ret[PATH_MAX], const char *base, int parent_pid, int pid)
{
	size_t length = strlen(base), n;
	char suffix[16];
	int r;

	n = (size_t)snprintf(suffix, sizeof(suffix), "_%d", parent_pid);
	if (n < length && !strcmp(base + length - n, suffix))
		length -= n;
	r = snprintf(ret, PATH_MAX, "%.*s_%d", (int)length, base, pid);
	return r >= 0 && r < PATH_MAX;
}
