/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RESOLVE_UNIT_H
#define PROFD_RESOLVE_UNIT_H

/*
 * Which service a process belongs to, by the text of its /proc/PID/cgroup (cgroups(7)). systemd
 * puts each unit into a control group whose path names the slices around it and the unit itself,
 * in its own v1 hierarchy ("name=systemd"), in the v2 hierarchy ("0::"), or in both; the paths
 * stay when no systemd runs. Escaping for file names is the store's business, not done here.
 *
 *   /system.slice/system-getty.slice/getty@tty1.service    getty@tty1.service
 *   /user.slice/user-1000.slice/session-2.scope            user-1000
 *   /user.slice/user-1000.slice/user@1000.service/app...   user@1000.service
 *   /system.slice/run-u7.service                           transient
 *   /system.slice/docker-<64 hex digits>.scope             docker-<64 hex digits>.scope
 *   /docker/<64 hex digits>, /                             user-<uid>, or other below uid 1000
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define UNIT_SERVICE_SIZE   256  /* unit names are at most 255 characters (systemd.unit(5)) */
#define UNIT_CGROUP_SIZE    4096 /* the kernel prints paths up to PATH_MAX */
#define UNIT_CONTAINER_SIZE 65

struct unit {
	char service[UNIT_SERVICE_SIZE];     /* never "" */
	char cgroup[UNIT_CGROUP_SIZE];       /* the path the service was read from, or "" */
	char container[UNIT_CONTAINER_SIZE]; /* 64 hex digits, or "" */
	bool is_of_group;                    /* so is everybody in the same group of version 2 */
	bool has_others;                     /* there are hierarchies of version 1, too */
};

/*
 * Pure; always fills @ret. @text need not end in NUL; an empty one stands for "unknown". @uid is
 * the process's user. Kernel threads are the caller's to tell apart.
 */
void unit_parse(const char *text, size_t length, uid_t uid, struct unit *ret);
/* The same by the path of a group of version 2; has_others is false. */
void unit_parse_group(const char *path, uid_t uid, struct unit *ret);

#endif
