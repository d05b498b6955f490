/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_JIT_FILES_FIXTURE_H
#define PROFD_TESTS_JIT_FILES_FIXTURE_H

/* A process that generates code, and what is found when it was sampled. */
#include <errno.h>

#include "daemon/resolve/jit_files.h"
#include "daemon/resolve/lent_fd.h"
#include "daemon/resolve/process.h"
#include "tests/support/leftovers.h"
#include "tests/unit/resolve/image_fixture.h"

#define INNER   3 /* what PID is called inside of its pid namespace */
#define MAP     "7/root/tmp/perf-3.map"
#define NS      UINT64_C(1000000000)
#define OTHER   4242 /* a user */
#define ANOTHER 4243

struct fixture {
	struct world world;
	struct mount_roots *roots;
	struct jit_files *files;
	struct process p;
	uint64_t now_ns; /* of the next look */
	unsigned n_open; /* descriptors of ours before anything was opened */
};

static inline void write_status(struct fixture *f, pid_t pid, uid_t uid)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "%d/status", pid);
	snprintf(text, sizeof(text),
		 "Name:\tjit\nPid:\t%d\nUid:\t1\t%u\t1\t1\nGid:\t0\t0\t0\t0\nNSpid:\t%d\t%d\n", pid,
		 uid, pid, INNER);
	write_text(f->world.proc.fd, path, text);
}

static inline void write_stat(struct fixture *f, pid_t pid)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "%d/stat", pid);
	snprintf(text, sizeof(text), "%d (jit) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0 0\n",
		 pid);
	write_text(f->world.proc.fd, path, text);
}

static inline int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->n_open = count_fds();
	world_make(&f->world);
	write_status(f, PID, getuid());
	write_stat(f, PID);
	assert_int_equal(mkdirat(f->world.proc.fd, "7/root/tmp", 0777), 0);
	assert_int_equal(mount_roots_new(&f->roots, f->world.proc.fd), 0);
	assert_int_equal(jit_files_new(&f->files, f->world.proc.fd, f->roots), 0);
	f->p.pid = PID;
	assert_int_equal(mappings_new(&f->p.mappings), 0);
	f->now_ns = 100 * NS;
	*state = f;
	return 0;
}

static inline int tear_down(void **state)
{
	struct fixture *f = *state;

	jit_process_free(f->p.jit);
	mappings_unref(f->p.mappings);
	jit_files_free(f->files);
	mount_roots_free(f->roots);
	world_remove(&f->world);
	assert_int_equal(count_fds(), f->n_open);
	free(f);
	return 0;
}

/* What is found when a window ends: the process was sampled, and it is time to look. */
static inline struct jit_file *look(struct fixture *f)
{
	assert_int_equal(jit_files_see_sample(f->files, &f->p, f->now_ns), 0);
	f->now_ns += NS;
	assert_int_equal(jit_files_complete(f->files, &f->p, f->now_ns), 0);
	f->now_ns += NS;
	return f->p.jit->perf_map;
}

static inline void says(struct jit_file *file, const char *text)
{
	char data[64] = "";
	cleanup(closep) int fd = -1;

	assert_non_null(file);
	fd = lent_fd_borrow(&file->fd);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_true(pread(fd, data, sizeof(data) - 1, 0) >= 0);
	assert_string_equal(data, text);
}

#endif
