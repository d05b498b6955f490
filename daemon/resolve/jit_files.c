/* SPDX-License-Identifier: MIT */
/*
 * A process's struct jit_process refers to its perf map and its jitdump; children have those of
 * their parent until they have their own. All open files are in one list, which bounds their
 * number. They are looked for when samples are in generated code, at growing intervals.
 */
#include "daemon/resolve/jit_files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/fair_share.h"
#include "common/mounts.h"
#include "common/worker/debug_files.h"
#include "daemon/resolve/lent_fd.h"
#include "daemon/resolve/mount_root.h"
#include "daemon/resolve/proc.h"
#include "daemon/resolve/process.h"

/* File systems round times, and clocks are set. */
#define TIME_SLACK_S 2

struct jit_files {
	int proc_fd;
	uint64_t next_id, n_looks, n_refused;
	struct mount_roots *roots;
	struct jit_file *held[JIT_FILES_MAX]; /* references */
	size_t n;
};

DEFINE_REF(jit_file)

void jit_file_unref(struct jit_file *file)
{
	if (!file || atomic_fetch_sub(&file->n_references, 1) != 1)
		return;
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	free(file);
}

bool jit_file_is_for(const struct image *image)
{
	static const char *const prefixes[] = {"/memfd:", "/dev/shm/", "/dev/zero", "/SYSV"};

	if (image->kind == IMAGE_ANON)
		return true;
	if (image->kind != IMAGE_FILE || image_elf(image))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (strncmp(image->path, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

int jit_files_new(struct jit_files **ret, int proc_fd, struct mount_roots *roots)
{
	struct jit_files *f = calloc(1, sizeof(*f));

	if (!f)
		return error_origin(-ENOMEM);
	f->proc_fd = proc_fd;
	f->roots = roots;
	f->next_id = 1;
	*ret = f;
	return 0;
}

/* Processes that refer to it still find it closed. */
static void jit_files_remove(struct jit_files *f, size_t i)
{
	struct jit_file *file = f->held[i];

	f->held[i] = f->held[--f->n];
	lent_fd_give_up(&file->fd);
	jit_file_unref(file);
}

void jit_files_free(struct jit_files *f)
{
	if (!f)
		return;
	while (f->n)
		jit_files_remove(f, f->n - 1);
	free(f);
}

void jit_files_sweep(struct jit_files *f)
{
	for (size_t i = f->n; i-- > 0;)
		if (atomic_load(&f->held[i]->n_references) == 1)
			jit_files_remove(f, i);
}

uint64_t jit_files_refused(const struct jit_files *f)
{
	return f->n_refused;
}

void jit_process_free(struct jit_process *jit)
{
	if (!jit)
		return;
	jit_file_unref(jit->perf_map);
	jit_file_unref(jit->jitdump);
	mount_root_unref(jit->root);
	free(jit);
}

static void jit_files_make_room(struct jit_files *f)
{
	struct fair_holder holders[JIT_FILES_MAX];

	if (f->n < JIT_FILES_MAX)
		return;
	jit_files_sweep(f);
	if (f->n < JIT_FILES_MAX)
		return;
	for (size_t i = 0; i < f->n; i++)
		holders[i] = (struct fair_holder){f->held[i]->uid, f->held[i]->used};
	jit_files_remove(f, fair_share_find_oldest(holders, f->n));
}

/*
 * The temporary directory below the process's root: root->tmp_fd becomes what /tmp is there
 * now, if that is known not to be on FUSE, which cannot change while it is open. False: there is
 * one that cannot be reached without asking FUSE, as far as can be told.
 */
static bool look_at_tmp(const struct jit_files *f, pid_t pid, struct mount_root *root)
{
	cleanup(closep) int fd = -1;
	struct mounts_mount mount;
	struct statx stx;
	bool is_refused;

	fd = mount_root_open_path(f->proc_fd, pid, root->fd, "/tmp", O_DIRECTORY, &is_refused);
	if (fd < 0)
		return !is_refused;
	if (!mount_root_stat(fd, &stx) || !(stx.stx_mask & STATX_MNT_ID))
		return false;
	if (root->tmp_fd >= 0 && root->tmp_mount == stx.stx_mnt_id &&
	    root->tmp_inode == stx.stx_ino)
		return true;
	if (!mount_root_find_mount(f->proc_fd, pid, stx.stx_mnt_id, &mount) || mount.is_fuse)
		return false;
	closep(&root->tmp_fd);
	root->tmp_fd = steal_fd(&fd);
	root->tmp_mount = stx.stx_mnt_id;
	root->tmp_inode = stx.stx_ino;
	return true;
}

/* --- which files are believed ----------------------------------------------------------------- */

/*
 * Whether the file was written during the program's life, as far as that is known. start_ns counts
 * what the machine slept, born_ns and died_ns do not: they are taken as if it had slept after the
 * birth and before the death, so that no good file is refused. Nothing is added to the file's time,
 * which its owner may have set to any.
 */
static bool is_within_lifetime(const struct process *p, const struct timespec *written)
{
	int64_t booted_ns = (int64_t)(clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME));
	int64_t slept_ns = (int64_t)(clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC));
	int64_t born_ns = (int64_t)p->born_ns, died_ns = (int64_t)p->died_ns;

	/* In a time namespace CLOCK_MONOTONIC may be ahead, which no sleep makes it. */
	if (born_ns && slept_ns < 0)
		born_ns += slept_ns;
	if (born_ns < (int64_t)p->start_ns)
		born_ns = (int64_t)p->start_ns;
	if (born_ns && written->tv_sec < (booted_ns + born_ns) / (int64_t)NS_PER_S - TIME_SLACK_S)
		return false;
	return !died_ns || written->tv_sec <= (booted_ns + slept_ns + died_ns) / (int64_t)NS_PER_S +
						      TIME_SLACK_S;
}

/*
 * Other names: whoever may link to a file that he cannot read (protected_hardlinks is a choice of
 * the host) would have it read to him.
 */
static bool jit_file_is_accepted(const struct process *p, const struct stat *st)
{
	const mode_t others = S_IWGRP | S_IWOTH;

	return S_ISREG(st->st_mode) && !(st->st_mode & others) && st->st_nlink <= 1 &&
	       (st->st_uid == p->jit->uid || st->st_uid == 0) &&
	       is_within_lifetime(p, &st->st_mtim);
}

static void jit_files_note_refused(struct jit_files *f, bool *refused)
{
	f->n_refused += !*refused;
	*refused = true;
}

/* --- what was found --------------------------------------------------------------------------- */

/* One that had to make room is closed. */
static bool is_held(const struct jit_file *file)
{
	return file && file->fd >= 0;
}

/* Whether @known is that file; then it was used just now. */
static bool is_known_jit_file(struct jit_files *f, struct jit_file *known, uint64_t device,
			      uint64_t inode)
{
	if (!is_held(known) || known->device != device || known->inode != inode)
		return false;
	known->used = f->n_looks;
	return true;
}

/*
 * Takes @fd over if all goes well, and puts the file in the place of *to. What was inherited names
 * none of the code that is run now, then.
 */
static int jit_files_add(struct jit_files *f, struct process *p, int *fd, const struct stat *st,
			 const char *path, struct jit_file **to)
{
	struct jit_file *file = calloc(1, sizeof(*file));

	if (!file)
		return error_origin(-ENOMEM);
	file->n_references = 1;
	file->fd = -1;
	file->path = strdup(path);
	if (!file->path) {
		jit_file_unref(file);
		return error_origin(-ENOMEM);
	}
	jit_files_make_room(f);
	file->id = f->next_id++;
	file->is_jitdump = to == &p->jit->jitdump;
	file->device = st->st_dev;
	file->inode = st->st_ino;
	file->fd = steal_fd(fd);
	file->uid = p->jit->uid;
	file->used = f->n_looks;
	f->held[f->n++] = file;
	if (p->jit->is_inherited) {
		jit_file_unref(steal_ptr(&p->jit->perf_map));
		jit_file_unref(steal_ptr(&p->jit->jitdump));
		p->jit->is_inherited = false;
	}
	jit_file_unref(*to);
	*to = jit_file_ref(file);
	return 0;
}

/* --- perf maps -------------------------------------------------------------------------------- */

/*
 * In the directory itself, neither a link nor a mount; first named, without asking anything of its
 * file system.
 */
static int look_for_perf_map(struct jit_files *f, struct process *p)
{
	const uint64_t resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
	struct jit_process *jit = p->jit;
	cleanup(closep) int named = -1;
	cleanup(closep) int fd = -1;
	struct statx stx = {};
	struct stat st;
	char path[64];

	if (!jit->root || jit->root->tmp_fd < 0)
		return 0;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", jit->inner_pid);
	named = mount_root_open_below(jit->root->tmp_fd, path + strlen("/tmp/"), O_NOFOLLOW,
				      resolve);
	if (named < 0 && errno == ENOENT)
		return 0;
	if (named >= 0 && mount_root_stat(named, &stx) &&
	    is_known_jit_file(f, jit->perf_map, makedev(stx.stx_dev_major, stx.stx_dev_minor),
			      stx.stx_ino))
		return 0;
	if (S_ISREG(stx.stx_mode))
		fd = debug_files_reopen(named);
	if (fd >= 0 && fstat(fd, &st) == 0 && jit_file_is_accepted(p, &st))
		return jit_files_add(f, p, &fd, &st, path, &jit->perf_map);
	jit_files_note_refused(f, &jit->map_refused);
	return 0;
}

/* --- jitdumps --------------------------------------------------------------------------------- */

/* The pid may be the one inside or, from a program that asks its host, the one outside. */
static bool has_jitdump_name(const struct process *p, const struct image *image)
{
	const char *slash = strrchr(image->path, '/');
	char name[32], outer_name[32];

	if (image->kind != IMAGE_FILE || !slash)
		return false;
	snprintf(name, sizeof(name), "jit-%d.dump", p->jit->inner_pid);
	snprintf(outer_name, sizeof(outer_name), "jit-%d.dump", p->pid);
	return strcmp(slash + 1, name) == 0 || strcmp(slash + 1, outer_name) == 0;
}

/*
 * The image's file was opened with care already (image_table.h), or refused and counted there: it
 * is the one that is mapped.
 */
static int accept_jitdump(struct jit_files *f, struct process *p, struct image *image)
{
	struct jit_process *jit = p->jit;
	cleanup(closep) int fd = -1;
	struct stat st;

	if (image->fd < 0 || fstat(image->fd, &st) < 0 ||
	    is_known_jit_file(f, jit->jitdump, st.st_dev, st.st_ino))
		return 0;
	if (jit_file_is_accepted(p, &st))
		fd = fcntl(image->fd, F_DUPFD_CLOEXEC, 0);
	if (fd >= 0)
		return jit_files_add(f, p, &fd, &st, image->path, &jit->jitdump);
	jit_files_note_refused(f, &jit->dump_refused);
	return 0;
}

static int look_for_jitdump(struct jit_files *f, struct process *p)
{
	uint32_t version = mappings_version(p->mappings) + 1;
	const struct mapping *all;
	size_t n;
	int r = 0;

	if (p->jit->version == version && (!p->jit->jitdump || is_held(p->jit->jitdump)))
		return 0;
	p->jit->version = version;
	all = mappings_get_open(p->mappings, &n);
	for (size_t i = 0; i < n && !r; i++)
		if (has_jitdump_name(p, all[i].image))
			r = accept_jitdump(f, p, all[i].image);
	return r;
}

/* --- processes -------------------------------------------------------------------------------- */

/*
 * Whether the process still lives is asked last: its number was no other's before, then. One that
 * is gone keeps what was known of it.
 */
static int look_at_proc(struct jit_files *f, struct process *p)
{
	cleanup(mount_root_unrefp) struct mount_root *root = NULL;
	struct jit_process *jit = p->jit;
	struct proc_status status;
	int r = mount_roots_get(f->roots, p->pid, &root)
			?: proc_read_status(f->proc_fd, p->pid, &status);

	if (r)
		return r < 0 ? r : 0;
	if (!status.has_uids || status.inner_pid <= 0 ||
	    !proc_is_process(f->proc_fd, p->pid, p->start_ns))
		return 0;
	jit->inner_pid = status.inner_pid;
	jit->uid = status.uids[1];
	if (!root)
		return 0; /* a jitdump needs none */
	if (!look_at_tmp(f, p->pid, root))
		jit_files_note_refused(f, &jit->map_refused);
	mount_root_unref(jit->root);
	jit->root = steal_ptr(&root);
	return 0;
}

static bool has_files(const struct jit_process *jit)
{
	return jit && !jit->is_inherited && (jit->perf_map || jit->jitdump);
}

static int find_jit_files_now(struct jit_files *f, struct process *p, uint64_t now_ns)
{
	struct jit_process *jit = p->jit;
	int r = 0;

	if (f->proc_fd < 0)
		return 0;
	f->n_looks++;
	if (!p->died_ns)
		r = look_at_proc(f, p);
	if (!r && jit->inner_pid)
		r = look_for_perf_map(f, p);
	if (!r && jit->inner_pid)
		r = look_for_jitdump(f, p);
	jit->looked_ns = now_ns;
	if (!jit->pause_ns || has_files(jit))
		jit->pause_ns = JIT_LOOK_NS;
	else if (jit->pause_ns < JIT_LOOK_MAX_NS)
		jit->pause_ns *= 2;
	return r;
}

int jit_files_see_sample(struct jit_files *f, struct process *p, uint64_t now_ns)
{
	if (!p->jit)
		p->jit = calloc(1, sizeof(*p->jit));
	if (!p->jit)
		return error_origin(-ENOMEM);
	p->jit->is_wanted = true;
	if (has_files(p->jit) ||
	    (p->jit->looked_ns && now_ns < p->jit->looked_ns + p->jit->pause_ns))
		return 0;
	return find_jit_files_now(f, p, now_ns);
}

int jit_files_complete(struct jit_files *f, struct process *p, uint64_t now_ns)
{
	struct jit_process *jit = p->jit;

	if (!jit || !jit->is_wanted || now_ns < jit->looked_ns + JIT_LOOK_END_NS)
		return 0;
	jit->is_wanted = false;
	return find_jit_files_now(f, p, now_ns);
}

int jit_files_inherit(struct process *p, const struct process *parent)
{
	const struct jit_process *from = parent->jit;

	if (!from || (!from->perf_map && !from->jitdump))
		return 0;
	p->jit = calloc(1, sizeof(*p->jit));
	if (!p->jit)
		return error_origin(-ENOMEM);
	p->jit->perf_map = jit_file_ref(from->perf_map);
	p->jit->jitdump = jit_file_ref(from->jitdump);
	p->jit->is_inherited = true;
	return 0;
}
