/* SPDX-License-Identifier: MIT */
#ifndef PROFD_RUN_FAMILY_PRIVATE_H
#define PROFD_RUN_FAMILY_PRIVATE_H

/*
 * What the parts of a family share: family.c (its command, its socket and its loop),
 * family_connections.c (who asks for a ring) and family_members.c (who has one).
 */
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "client/run/family.h"
#include "client/run/run_folder.h"

struct member;
struct connection;

struct family {
	struct gather *gather;
	uint32_t frequency;
	struct run_folder folder;
	char socket[96];
	sd_event *loop;
	int listener;
	struct member *members;
	struct connection *connections;
	size_t n_connections;
	pid_t pid;
	int status;
	struct family_totals totals;
};

/*
 * @pid, open as @pidfd, which is taken over, gets a ring, through its @connection. A program of it
 * that had one before is finished. Returns 0 or negative errno.
 */
int family_add_member(struct family *f, pid_t pid, int pidfd, int connection);
/* Reads a part of each ring. True: there may be more. */
bool family_drain_members(struct family *f);
/* Reads all of them to their ends: nobody is sampled any more. Returns 0 or negative errno. */
int family_finish_members(struct family *f);
/* Forgets them, and what they have not told yet. */
void family_drop_members(struct family *f);

/* sd_event_io_handler_t for the socket; @userdata is the family. */
int family_on_connect(sd_event_source *source, int fd, uint32_t events, void *userdata);
/* Drops those that have not said in time what they want. */
void family_age_connections(struct family *f);
void family_drop_connections(struct family *f);

#endif
