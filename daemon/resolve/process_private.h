/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_PROCESS_PRIVATE_H
#define PROFD_RESOLVE_PROCESS_PRIVATE_H

/* What the parts of the table of processes, process*.c, share. */
#include <uthash.h>

#include "daemon/resolve/image_table.h"
#include "daemon/resolve/process.h"
#include "daemon/resolve/unit.h"
#include "daemon/resolve/user_room.h"

struct slot {
	pid_t pid;
	struct process *newest;
	uint64_t scanned_ns; /* time of the last scan that saw it */
	UT_hash_handle hh;
};

/* A group of version 2: process_groups.c. */
struct group {
	uint64_t id;
	char *path;                /* owned; NULL: not known */
	struct process_unit *unit; /* owned reference, of all that are in it; NULL: not known */
	UT_hash_handle hh;
};

struct process_table {
	int proc_fd;
	uint64_t next_serial;
	struct slot *slots;
	struct group *groups;
	struct containers *containers;
	process_group_path_fn group_path; /* or NULL */
	void *group_path_userdata;
	struct image_table *images;
	struct jit_files *jit_files;
	struct process_observer observer;
	struct process_table_stats stats;
	struct process *ended; /* the first to end first; but those that went from here */
	size_t n_ended;
	uint64_t n_drains;         /* process_table_drained() */
	struct user_room room;     /* counted at the last sweep, and what came since */
	struct process_scan *scan; /* that is not done; or NULL */
	bool wants_scan;
	bool lives_told;    /* EXIT means the end of a process, MOVED and BEGUN come */
	bool groups_decide; /* groups of version 2, as there is no other hierarchy */
	uid_t only_uid;     /* whose processes are scanned; (uid_t)-1: everybody's */
	int error;          /* of an event that came from /proc */
};

void process_scan_free(struct process_scan *scan);

/* The last program that is known of @pid, even if it has ended; or NULL. */
struct process *process_newest(struct process_table *t, pid_t pid);
void process_copy_comm(char to[SAMPLE_COMM_SIZE], const char *from);
/* @p is over at @time_ns, as its process has ended or runs another program. */
void process_end(struct process_table *t, struct process *p, uint64_t time_ns);
/* The process of @p has ended at @time_ns: tells the observer as well. */
void process_die(struct process_table *t, struct process *p, uint64_t time_ns);
/* @p has @sample: asks where it belongs, if it is time to. Returns 0 or negative errno. */
int process_place(struct process_table *t, struct process *p, const struct sample *sample);
/* The kernel says whose @p is. His name may be its unit's. */
void process_place_by_owner(struct process_table *t, struct process *p, uid_t uid, bool only_uid);
/* @p came into another group, @cgroup_id in version 2 (0: unknown). Returns 0 or -ENOMEM. */
int process_change_cgroup(struct process_table *t, struct process *p, uint64_t cgroup_id);
/* Asks /proc what @p has mapped, if it says. Returns 0 or negative errno. */
int process_read_mappings(struct process_table *t, struct process *p);

/* The unit that @unit describes, with the container that its group is of. Returns 0 or -ENOMEM. */
int process_make_unit(struct process_table *t, const struct unit *unit, struct process_unit **ret);

/* What is known of the group @id; asks for it once. *ret: NULL if it is nothing. 0 or -ENOMEM. */
int process_find_group(struct process_table *t, uint64_t id, const struct group **ret);
/* All that are in the group @id are of @unit. Returns 0 or -ENOMEM. */
int process_remember_group(struct process_table *t, uint64_t id, struct process_unit *unit);
void process_forget_groups(struct process_table *t);

#endif
