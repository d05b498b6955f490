/* SPDX-License-Identifier: MIT */
#include "common/helper/descendants.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/proc.h"

static void descendants_add_children(struct descendants *d, pid_t pid, pid_t tid)
{
	cleanup(fclosep) FILE *f = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, tid);
	f = fopen(path, "re");
	while (f && d->n < DESCENDANTS_MAX && fscanf(f, "%d", &d->pids[d->n]) == 1)
		d->n++;
}

/* Children are listed with the thread that forked them. */
static void descendants_add_own(struct descendants *d)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			descendants_add_children(d, getpid(), atoi(entry->d_name));
	if (dir)
		closedir(dir);
}

void descendants_find(struct descendants *ret, pid_t pid)
{
	size_t next = 0;

	*ret = (struct descendants){.pids = {pid}, .n = 1};
	if (pid == getpid()) {
		descendants_add_own(ret);
		next = 1;
	}
	for (; next < ret->n; next++)
		descendants_add_children(ret, ret->pids[next], ret->pids[next]);
}

uint64_t descendants_ended_ns(pid_t pid)
{
	cleanup(fclosep) FILE *f = NULL;
	struct proc_stat stat;
	char path[64], text[1024];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f || !fgets(text, sizeof(text), f) || proc_parse_stat(text, &stat) != PROC_E_OK)
		return 0;
	return stat.ended_ticks * NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
}
