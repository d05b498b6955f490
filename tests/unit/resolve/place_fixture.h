/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_RESOLVE_PLACE_FIXTURE_H
#define PROFD_TESTS_UNIT_RESOLVE_PLACE_FIXTURE_H

/* Processes, and a /proc that the test writes. */
#include "common/clock.h"
#include "tests/support/temp_dir.h"

#include "daemon/resolve/process.h"

#define MS     UINT64_C(1000000)
#define SECOND (1000 * MS)
/* A sample of then comes after whatever the test did up to now, and soon. */
#define LATER   (9 * SECOND)
#define SOON    (5 * SECOND)
#define EXITING 4

struct world {
	struct temp_dir proc;
	struct process_table *table;
	unsigned changed;
};

static inline void count_changed(void *userdata, struct process *p)
{
	(void)p;
	((struct world *)userdata)->changed++;
}

static inline struct world begin(void)
{
	struct world w = {};

	temp_dir_make(&w.proc);
	assert_int_equal(process_table_new(&w.table, w.proc.fd, 1 << 20), 0);
	return w;
}

static inline void end(struct world *w)
{
	process_table_free(w->table);
	temp_dir_remove(&w->proc);
}

/* Its real and its effective user. */
static inline void say_users(struct world *w, pid_t pid, unsigned uid, unsigned euid)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "%d/status", pid);
	snprintf(text, sizeof(text),
		 "Name:\tx\nUid:\t%u\t%u\t%u\t%u\nGid:\t1\t1\t1\t1\nCapPrm:\t0\n", uid, euid, euid,
		 euid);
	write_text(w->proc.fd, path, text);
	snprintf(path, sizeof(path), "%d/ns", pid);
	mkdirat(w->proc.fd, path, 0700);
	snprintf(path, sizeof(path), "%d/ns/user", pid);
	(void)!symlinkat("/proc/self/ns/user", w->proc.fd, path);
}

/* /proc says this of @pid; with NULL that it is gone. */
static inline void say(struct world *w, pid_t pid, const char *cgroup, unsigned uid, unsigned flags)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "%d/cgroup", pid);
	if (!cgroup) {
		assert_int_equal(unlinkat(w->proc.fd, path, 0), 0);
		return;
	}
	write_text(w->proc.fd, path, cgroup);
	say_users(w, pid, uid, uid);
	snprintf(path, sizeof(path), "%d/stat", pid);
	snprintf(text, sizeof(text), "%d (x) S 1 1 1 0 -1 %u 0 0 0 0 0 0 0 0 0 0 1 0 1\n", pid,
		 flags);
	write_text(w->proc.fd, path, text);
	snprintf(path, sizeof(path), "%d/maps", pid);
	write_text(w->proc.fd, path, "");
}

static inline void happen(struct world *w, enum process_event_kind kind, pid_t pid, pid_t parent,
			  uint64_t time_ns)
{
	assert_int_equal(process_table_apply(w->table, &(struct process_event){.kind = kind,
									       .time_ns = time_ns,
									       .pid = pid,
									       .tid = pid,
									       .parent = parent}),
			 0);
}

static inline struct process *sampled(struct world *w, pid_t pid, uint64_t group, uint64_t time_ns)
{
	const struct sample sample = {.pid = pid,
				      .tid = pid,
				      .start_ns = 10 * MS,
				      .time_ns = time_ns,
				      .cgroup_id = group,
				      .comm = "c"};
	struct process *p = NULL;

	assert_int_equal(process_table_find(w->table, &sample, &p), 0);
	return p;
}

#endif
