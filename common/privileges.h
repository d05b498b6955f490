/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PRIVILEGES_H
#define PROFD_COMMON_PRIVILEGES_H

/*
 * Giving up what a program was started with, for good: what reads strangers' files, and what speaks
 * to strangers, does so before anything else. For programs of one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PRIVILEGES_NOBODY 65534

enum {
	PRIVILEGES_E_OK,
	/*
	 * All of it, but uid 0 stays: there is no CAP_SETUID, or the user namespace has no such
	 * uid. No capability is left, but what root owns can still be opened.
	 */
	PRIVILEGES_E_ROOT,
};

struct privileges_user {
	uid_t uid;
	gid_t gid;
	const gid_t *groups; /* others that it is in */
	size_t n_groups;
};

/* A user that owns nothing and is in no group. */
extern const struct privileges_user privileges_nobody;

/*
 * Whose real, effective or saved uid is 0 becomes @user; any other user stays. No capability is
 * left, and none is to be had from execve(2): no_new_privs. Returns PRIVILEGES_E_* or negative
 * errno; then it must not go on.
 */
int privileges_drop(const struct privileges_user *user);
/*
 * Of the capabilities that are permitted, @kept (bit CAP_* each) stay and are in effect; no other
 * can be had again, nor by a program that is started. uid 0 stays what it is. Async-signal-safe.
 * Returns 0 or negative errno, not marked.
 */
int privileges_keep(uint64_t kept);
/* Whether this one, CAP_*, is in effect. */
bool privileges_have(unsigned capability);
/* Whether the kernel says so: no capability that is permitted, effective, inheritable, ambient. */
bool privileges_are_dropped(void);

#endif
