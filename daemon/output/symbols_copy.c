/* SPDX-License-Identifier: MIT */
/*
 * Whoever serves FUSE decides how long a question takes, and a child that was given up may be stuck
 * for good. So a user costs a window no more than SPENT_MAX_NS, and profd's life no more than
 * WAITS_MAX children. FUSE in our own user namespace may be anybody's: all of it is one user's.
 */
#include <linux/nsfs.h>
#include <sys/ioctl.h>

#include "common/clock.h"
#include "daemon/output/symbols_private.h"
#include "daemon/resolve/file_opener.h"
#include "daemon/resolve/lent_fd.h"
#include "daemon/resolve/mount_root.h"

#define SPENT_MAX_NS (2 * NS_PER_S)
#define WAITS_MAX    3

/* NULL: he is not asked now. Who never made us wait gives way to others. */
static struct copy_user *copy_user_find(struct debug_finder *f, uid_t uid)
{
	struct copy_user *user = NULL;

	for (unsigned i = 0; i < COPY_USERS_MAX; i++) {
		struct copy_user *u = &f->copy_users[i];

		if (u->n_asked && u->uid == uid) {
			user = u;
			break;
		}
		if (!u->n_asked || (!u->n_waits && u->window != f->window))
			user = u;
	}
	if (!user)
		return NULL;
	if (!user->n_asked || user->uid != uid)
		*user = (struct copy_user){.uid = uid};
	if (user->window != f->window)
		user->spent_ns = 0;
	user->window = f->window;
	return user->n_waits < WAITS_MAX && user->spent_ns < SPENT_MAX_NS ? user : NULL;
}

int debug_finder_copy_image(struct debug_finder *f, const struct image *image)
{
	struct mount_root *root = image->root;
	cleanup(closep) int root_fd = -1, user_ns = -1;
	uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC), spent_ns;
	struct copy_user *user;
	uid_t uid = (uid_t)-1;
	int fd = -1, r;

	if (!image->is_avoided || !root || !f->opener || !asker_has_time(f->asker))
		return -1;
	root_fd = lent_fd_borrow(&root->fd);
	user_ns = lent_fd_borrow(&root->user_ns_fd);
	if (root_fd < 0 ||
	    (!root->is_ours && (user_ns < 0 || ioctl(user_ns, NS_GET_OWNER_UID, &uid) < 0)))
		return -1;
	user = copy_user_find(f, uid);
	if (!user)
		return -1;
	r = file_opener_copy(f->opener,
			     &(struct file_opener_image){.root_fd = root_fd,
							 .user_ns_fd = user_ns,
							 .path = image->path,
							 .inode = image->inode,
							 .device_major = image->device_major,
							 .device_minor = image->device_minor},
			     &fd);
	spent_ns = clock_ns(CLOCK_MONOTONIC) - begin_ns;
	user->n_asked++;
	user->n_waits += r == FILE_OPENER_E_SLOW;
	user->spent_ns += spent_ns;
	f->asker->lost_ns += r == FILE_OPENER_E_SLOW ? spent_ns : 0;
	f->asker->stats.openers_lost += r == FILE_OPENER_E_LOST;
	return fd;
}
