/* SPDX-License-Identifier: MIT */
/*
 * A server of FUSE decides how long a question takes, and a child that was given up over one sleeps
 * on, killed or not, until the server lets it go. So of these there are LEFT_MAX at most, shared
 * out among users as fair_share.h has it, whose file systems also cost a window no more than
 * SPENT_MAX_NS. A file system that kept a child waiting is not asked as long as that is there, then
 * after AGAIN_NS, and each time later.
 *
 * FUSE in our own user namespace may be anybody's: all of it is one user's.
 */
#include <linux/nsfs.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fair_share.h"
#include "daemon/output/symbols_private.h"
#include "daemon/resolve/file_copier.h"
#include "daemon/resolve/file_opener.h"
#include "daemon/resolve/lent_fd.h"
#include "daemon/resolve/mount_root.h"

#define SPENT_MAX_NS (2 * NS_PER_S)
#define LEFT_MAX     12
#define AGAIN_NS     (60 * NS_PER_S) /* the first time; then eight times as long each time, */
#define AGAIN_TIMES  5               /* so often: two days */

void debug_finder_reap_left(struct debug_finder *f)
{
	struct symbols_stats *stats = &f->asker->stats;

	stats->copiers_left = 0;
	for (unsigned i = 0; i < COPY_CONNECTIONS_MAX; i++) {
		struct copy_connection *c = &f->copies[i];
		struct pollfd ended = {.fd = c->left_fd};

		if (!c->is_left)
			continue;
		c->is_left = poll(&ended, 1, 0) == 0;
		if (!c->is_left) {
			close(c->left_fd);
			continue;
		}
		stats->copiers_left++;
		stats->left_device_major = c->device_major;
		stats->left_device_minor = c->device_minor;
	}
}

void debug_finder_forget_left(struct debug_finder *f)
{
	for (unsigned i = 0; i < COPY_CONNECTIONS_MAX; i++)
		if (f->copies[i].is_left)
			close(f->copies[i].left_fd);
}

static bool copy_connection_is_of(const struct copy_connection *c, uid_t uid,
				  const struct image *image)
{
	return c->n_asked && c->uid == uid && c->device_major == image->device_major &&
	       c->device_minor == image->device_minor;
}

/* The one of @image, or the one that gives way to it: who can be asked first. NULL: none can. */
static struct copy_connection *copy_connection_find(struct debug_finder *f, uid_t uid,
						    const struct image *image)
{
	struct copy_connection *first = NULL;

	for (unsigned i = 0; i < COPY_CONNECTIONS_MAX; i++) {
		struct copy_connection *c = &f->copies[i];

		if (copy_connection_is_of(c, uid, image))
			return c;
		if (!c->is_left && (!c->n_asked || c->window != f->window) &&
		    (!first || c->again_ns < first->again_ns))
			first = c;
	}
	return first;
}

static bool copy_connection_may_ask(const struct debug_finder *f, uid_t uid,
				    const struct image *image, uint64_t now_ns)
{
	struct fair_share left = fair_share_for(uid, LEFT_MAX);
	struct fair_share busy = fair_share_for(uid, COPY_CONNECTIONS_MAX);
	uint64_t spent_ns = 0;
	bool is_known = false;

	for (unsigned i = 0; i < COPY_CONNECTIONS_MAX; i++) {
		const struct copy_connection *c = &f->copies[i];
		bool is_new = c->n_asked && c->window == f->window;

		if (c->is_left)
			fair_share_count(&left, c->uid);
		if (c->is_left || is_new)
			fair_share_count(&busy, c->uid);
		spent_ns += is_new && c->uid == uid ? c->spent_ns : 0;
		if (!copy_connection_is_of(c, uid, image))
			continue;
		if (c->is_left || now_ns < c->again_ns)
			return false;
		is_known = true;
	}
	return fair_share_has_room(&left) && spent_ns < SPENT_MAX_NS &&
	       (is_known || fair_share_has_room(&busy));
}

/* NULL: it is not asked now. */
static struct copy_connection *copy_connection_get(struct debug_finder *f, uid_t uid,
						   const struct image *image, uint64_t now_ns)
{
	struct copy_connection *c;

	debug_finder_reap_left(f);
	if (!copy_connection_may_ask(f, uid, image, now_ns))
		return NULL;
	c = copy_connection_find(f, uid, image);
	if (!c)
		return NULL;
	if (!copy_connection_is_of(c, uid, image))
		*c = (struct copy_connection){
			.uid = uid,
			.device_major = image->device_major,
			.device_minor = image->device_minor,
		};
	if (c->window != f->window)
		c->spent_ns = 0;
	c->window = f->window;
	c->n_asked++;
	return c;
}

static void copy_connection_note_wait(struct copy_connection *c, int left_fd, uint64_t now_ns)
{
	c->left_fd = left_fd;
	c->is_left = true;
	c->again_ns = now_ns + (AGAIN_NS << 3 * c->n_waits);
	c->n_waits += c->n_waits + 1 < AGAIN_TIMES;
}

/* Whose it is, and the namespace to ask from; false: that is not to be had. */
static bool copy_owner_of(struct mount_root *root, uid_t *ret_uid, int *ret_user_ns)
{
	*ret_uid = (uid_t)-1;
	*ret_user_ns = lent_fd_borrow(&root->user_ns_fd);
	return root->is_ours ||
	       (*ret_user_ns >= 0 && ioctl(*ret_user_ns, NS_GET_OWNER_UID, ret_uid) == 0);
}

int debug_finder_copy_image(struct debug_finder *f, const struct image *image)
{
	struct mount_root *root = image->root;
	cleanup(closep) int root_fd = -1, user_ns = -1;
	uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC), end_ns;
	struct copy_connection *c;
	int fd = -1, left = -1, r;
	uid_t uid;

	if (!image->is_avoided || !root || !f->copier || !asker_has_time(f->asker))
		return -1;
	root_fd = lent_fd_borrow(&root->fd);
	if (root_fd < 0 || !copy_owner_of(root, &uid, &user_ns))
		return -1;
	c = copy_connection_get(f, uid, image, begin_ns);
	if (!c)
		return -1;
	r = file_copier_copy(f->copier,
			     &(struct file_copier_image){.root_fd = root_fd,
							 .user_ns_fd = user_ns,
							 .pid = image->pid,
							 .path = image->path,
							 .inode = image->inode,
							 .device_major = image->device_major,
							 .device_minor = image->device_minor},
			     &fd, &left);
	end_ns = clock_ns(CLOCK_MONOTONIC);
	c->spent_ns += end_ns - begin_ns;
	f->asker->stats.openers_lost += r == FILE_OPENER_E_LOST;
	if (r == FILE_OPENER_E_SLOW) {
		copy_connection_note_wait(c, left, end_ns);
		f->asker->lost_ns += end_ns - begin_ns;
		debug_finder_reap_left(f);
	}
	return fd;
}
