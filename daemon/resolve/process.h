/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_PROCESS_H
#define PROFD_RESOLVE_PROCESS_H

/*
 * The processes of the machine as the kernel's records tell them: born by FORK with all that the
 * parent has, a new program at EXEC, mappings by MMAP, dead by EXIT. /proc is read once at the
 * start, once for a process that no record announced, and for the unit of a process: when it is
 * first sampled or first forks, again when samples show that it moved, and now and then. A process
 * that BEGUN and MOVED report is not asked for its owner and its group.
 *
 * A struct process is one program in one process: an exec begins another one. It is found by pid,
 * start time and moment, never by a bare pid, and lives on after its death as long as somebody
 * holds a reference (an open window that counts its samples).
 *
 * Main thread only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/cleanup.h"
#include "daemon/ingest/sample.h"
#include "daemon/ingest/source.h"
#include "daemon/resolve/containers.h"
#include "daemon/resolve/mappings.h"

/*
 * The unit that a process belongs to, as unit.h finds it; its texts never change. A child shares
 * its parent's, and what counted samples in one keeps it when the process moves to another.
 */
struct process_unit {
	unsigned n_references;
	struct container *in;  /* owned reference, or NULL: its names may come later */
	uint64_t asked_ns;     /* CLOCK_MONOTONIC, when /proc put one of its processes here last */
	const char *service;   /* the unit's name, unescaped; never NULL */
	const char *cgroup;    /* or NULL */
	const char *container; /* id, or NULL */
	char texts[];
};

/* Texts are copied; "" stands for none, which @service is not. Returns 0 or -ENOMEM. */
int process_unit_new(struct process_unit **ret, const char *service, const char *cgroup,
		     const char *container);
/* The service that it is counted as: the container's, if that has a name. Until then, the unit's.
 */
const char *process_unit_service(const struct process_unit *unit);
struct process_unit *process_unit_ref(struct process_unit *unit);
/* Takes NULL. */
void process_unit_unref(struct process_unit *unit);
DEFINE_CLEANUP(struct process_unit *, process_unit_unref)

/* Whether these texts are its own. */
bool process_unit_is(const struct process_unit *unit, const char *service, const char *cgroup,
		     const char *container);

struct process {
	uint64_t serial; /* never reused */
	uint64_t life;   /* serial of the first program of this process */
	uint64_t stay; /* serial; another number, from the same series, whenever its unit changed */
	pid_t pid;
	uint64_t start_ns; /* CLOCK_BOOTTIME, of the process; 0: not known yet */
	uint64_t born_ns;  /* CLOCK_MONOTONIC, of this program; 0: before profd looked */
	uint64_t died_ns;  /* 0: alive */
	uint64_t swept_ns; /* when a sweep found it dead first; 0: not yet */
	bool kernel_thread;
	/* By /proc, when it was asked last, by the group, or by a parent's where moves are
	 * reported. */
	bool unit_told;
	bool unit_is_of_group, group_known; /* of its group of version 2: process_place.c */
	bool uid_known;                     /* and told the uid: not merely inherited */
	bool only_uid;                      /* runs as uid alone, who may look into it (proc.h) */
	bool leader_gone;                   /* the first thread has ended, others may run */
	bool mappings_known;                /* all of them were announced or read */
	bool mappings_refused;              /* others left no room for some of them */
	bool may_generate;                  /* it has memory for code that it generates */
	uid_t uid;
	char comm[SAMPLE_COMM_SIZE];
	uint64_t asked_ns;         /* CLOCK_MONOTONIC, when /proc was asked last; 0: never */
	uint64_t cgroup_id;        /* of the group that unit was told for; 0: not known */
	uint64_t root_id;          /* of image_key */
	struct process_unit *unit; /* owned reference, never NULL */
	struct image *program;     /* owned reference, or NULL */
	struct mappings *mappings;
	struct jit_process *jit; /* where that code's names are: jit_files.h; owned, or NULL */

	unsigned n_references;
	struct process *older; /* the previous program or process of this pid */
	/* Of those that have ended: process_end.c. */
	bool is_in_ended;
	uint64_t end_drain;
	struct process *ended_before, *ended_after;
};

void process_unref(struct process *process);
struct process *process_ref(struct process *process);

enum {
	PROCESS_E_OK,
	PROCESS_E_GONE, /* there is no such process any more */
	PROCESS_E_MORE, /* there is more to do */
};

struct process_table;

struct process_table_stats {
	size_t n_processes; /* alive */
	size_t n_images;
	size_t bytes;
	uint64_t rescans;
	uint64_t unknown;           /* samples of processes that no record had announced */
	uint64_t avoided_files;     /* images that were not opened: image_table.h */
	uint64_t refused_jit_files; /* that name generated code: jit_files.h */
	uint64_t refused_mappings;  /* beyond what one process, or all of them, may have */
};

/*
 * @proc_fd: a directory fd of /proc, borrowed; -1: /proc is not read (a replay). Mappings beyond
 * @max_bytes in all, or what their user may have of it (user_room.h), are refused, and counted.
 */
int process_table_new(struct process_table **ret, int proc_fd, size_t max_bytes);
void process_table_free(struct process_table *t);
DEFINE_CLEANUP(struct process_table *, process_table_free)

/* As group_paths_find(): the path of a group of version 2. Returns GROUP_PATHS_E_*. */
typedef int (*process_group_path_fn)(void *userdata, uint64_t id, char *ret, size_t size);
/* From now on groups are asked for by @path: processes are, as far as those do not tell. */
void process_table_name_groups(struct process_table *t, process_group_path_fn path, void *userdata);

/* As container_files_ask(). From now on containers are asked for by @ask. */
void process_table_name_containers(struct process_table *t, containers_ask_fn ask, void *userdata);
/*
 * Asks for the names of containers that are due, and tells the observer of all that are in one that
 * has got another name of a service. Blocks for about 100 us a container.
 */
void process_table_look_at_containers(struct process_table *t);

/*
 * Reads all processes from /proc and hands them to @sink as process events, which come back
 * through process_table_apply(): so a recording holds them too. Processes that are known already
 * are only completed. Blocks for about 50 us a process. Returns 0 or negative errno.
 */
int process_table_scan(struct process_table *t, const struct source_sink *sink);
/*
 * The same in parts, as the machine may be busy: begins it, or goes on, until it is done or
 * @until_ns (CLOCK_MONOTONIC) is past. What happens between two parts may be told as it happens.
 * Returns 0, PROCESS_E_MORE, or negative errno: then it is over, too.
 */
int process_table_scan_part(struct process_table *t, const struct source_sink *sink,
			    uint64_t until_ns);
/*
 * For processes that no record announces: tells @sink in the same way that @pid runs another
 * program, as the child of its parent if it is new and that one is known, and what it has mapped.
 * *ret_start_ns as in struct sample. Returns 0, PROCESS_E_GONE, or negative errno.
 */
int process_table_begin(struct process_table *t, pid_t pid, const struct source_sink *sink,
			uint64_t *ret_start_ns);
/* Tells @sink what the living process @pid has mapped now, as of @time_ns. 0 or negative errno. */
int process_table_look(struct process_table *t, pid_t pid, uint64_t time_ns,
		       const struct source_sink *sink);
/* The source reports ends, moves and owners of processes: source_tells_lives(). */
void process_table_trust_lives(struct process_table *t);
/* From now on only processes of this user are read. */
void process_table_scan_only(struct process_table *t, uid_t uid);
/* Whether records were lost and a scan is due, or one is not done yet. */
bool process_table_wants_scan(const struct process_table *t);

/* Returns 0 or negative errno. */
int process_table_apply(struct process_table *t, const struct process_event *event);

/*
 * born: a process appeared, with its parent; or a program, with the one before it, whose pid it
 * has; NULL where that is unknown. died: the process has ended (an exec does not end it).
 */
struct process_observer {
	void (*born)(void *userdata, struct process *process, struct process *parent);
	void (*died)(void *userdata, struct process *process);
	/* Its service or uid became known, or changed. */
	void (*changed)(void *userdata, struct process *process);
	void *userdata;
};
void process_table_observe(struct process_table *t, const struct process_observer *observer);

/*
 * The process that @sample belongs to, read from /proc or made up if no record announced it.
 * *ret is borrowed: valid until the next call that changes the table, unless referenced.
 * Returns 0 or negative errno.
 */
int process_table_find(struct process_table *t, const struct sample *sample, struct process **ret);
/* Reads the unit and uid of @p from /proc now, unless that was done before. */
int process_table_confirm(struct process_table *t, struct process *p);
/* The same even if it was: a process may have changed its user or moved since. */
int process_table_confirm_again(struct process_table *t, struct process *p);
/*
 * A sample of @p was counted: if it was in generated code, the files that name it are looked for,
 * before they are gone. Returns 0 or negative errno.
 */
int process_table_see_sample(struct process_table *t, struct process *p,
			     const struct sample *sample);
/* The same, once more, before a window that counts @p is closed. */
int process_table_complete(struct process_table *t, struct process *p);
/* The living process @pid, or NULL. */
struct process *process_table_living(struct process_table *t, pid_t pid);
/* Calls @fn for each living process. */
void process_table_each(struct process_table *t, void (*fn)(void *userdata, struct process *p),
			void *userdata);
/*
 * All samples up to the begin of a drain were handed on, to process_table_find() as well. Of many
 * that have ended, forgets those that are older.
 */
void process_table_drained(struct process_table *t);
/*
 * Forgets unused images, and those that sweeps have found dead for two seconds: not those that died
 * then, as records and samples of both may have waited for longer on a busy machine. Call it once a
 * second; @now_ns: CLOCK_MONOTONIC.
 */
void process_table_sweep(struct process_table *t, uint64_t now_ns);
/* mount_roots_host(), as of the last sweep; borrowed. */
struct mount_root *process_table_host_root(struct process_table *t);
/* Whether windows that count processes that have ended keep most of the room for mappings. */
bool process_table_wants_end(const struct process_table *t);
void process_table_get_stats(struct process_table *t, struct process_table_stats *ret);

#endif
