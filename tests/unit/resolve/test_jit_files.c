/* SPDX-License-Identifier: MIT */
/* Which files name a process's generated code, and which others lie there to be found. */
#include <errno.h>
#include <sys/inotify.h>
#include <time.h>

#include "daemon/resolve/jit_files.h"
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
	struct jit_files *files;
	struct process p;
	uint64_t now_ns; /* of the next look */
	unsigned n_open; /* descriptors of ours before anything was opened */
};

static void write_status(struct fixture *f, pid_t pid, uid_t uid)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "%d/status", pid);
	snprintf(text, sizeof(text),
		 "Name:\tjit\nPid:\t%d\nUid:\t1\t%u\t1\t1\nGid:\t0\t0\t0\t0\nNSpid:\t%d\t%d\n", pid,
		 uid, pid, INNER);
	write_text(f->world.proc.fd, path, text);
}

static void write_stat(struct fixture *f, pid_t pid)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "%d/stat", pid);
	snprintf(text, sizeof(text), "%d (jit) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0 0\n",
		 pid);
	write_text(f->world.proc.fd, path, text);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->n_open = count_fds();
	world_make(&f->world);
	write_status(f, PID, getuid());
	write_stat(f, PID);
	assert_int_equal(mkdirat(f->world.proc.fd, "7/root/tmp", 0777), 0);
	assert_int_equal(jit_files_new(&f->files, f->world.proc.fd), 0);
	f->p.pid = PID;
	assert_int_equal(mappings_new(&f->p.mappings), 0);
	f->now_ns = 100 * NS;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	jit_process_free(f->p.jit);
	mappings_unref(f->p.mappings);
	jit_files_free(f->files);
	world_remove(&f->world);
	assert_int_equal(count_fds(), f->n_open);
	free(f);
	return 0;
}

/* What is found when a window ends: the process was sampled, and it is time to look. */
static struct jit_file *look(struct fixture *f)
{
	assert_int_equal(jit_files_see(f->files, &f->p, f->now_ns), 0);
	f->now_ns += NS;
	assert_int_equal(jit_files_complete(f->files, &f->p, f->now_ns), 0);
	f->now_ns += NS;
	return f->p.jit->perf_map;
}

static void says(struct jit_file *file, const char *text)
{
	char data[64] = "";
	int fd;

	assert_non_null(file);
	fd = jit_file_borrow(file);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_true(pread(fd, data, sizeof(data) - 1, 0) >= 0);
	assert_string_equal(data, text);
	jit_file_return(file, fd);
}

static void test_the_pid_inside_counts(void **state)
{
	struct fixture *f = *state;

	write_text(f->world.proc.fd, "7/root/tmp/perf-7.map", "of somebody else");
	assert_null(look(f));
	write_text(f->world.proc.fd, MAP, "own");
	says(look(f), "own");
	assert_false(f->p.jit->perf_map->is_jitdump);
	assert_string_equal(f->p.jit->perf_map->path, "/tmp/perf-3.map");
	assert_int_equal(jit_files_count(f->files), 1);
}

static void test_status(void **state)
{
	static const char text[] = "Name:\tUid:\nUmask:\t0022\nPid:\t700\nPPid:\t1\n"
				   "Uid:\t1\t1000\t0\t0\nGid:\t5\t5\t5\t5\n";
	static const char inside[] = "Uid:\t0\t0\t0\t0\nPid:\t700\nNSpid:\t700\t30\t2\n";
	struct jit_file_owner owner;

	(void)state;
	assert_true(jit_file_owner_parse(text, sizeof(text) - 1, &owner));
	assert_int_equal(owner.uid, 1000);
	assert_int_equal(owner.inner_pid, 700);
	assert_true(jit_file_owner_parse(inside, sizeof(inside) - 1, &owner));
	assert_int_equal(owner.uid, 0);
	assert_int_equal(owner.inner_pid, 2);
	assert_false(jit_file_owner_parse("Uid:\t1\t1\nPid:\t0\n", 16, &owner));
	assert_false(jit_file_owner_parse("Uid:\t1\nPid:\t5\n", 14, &owner));
	assert_false(jit_file_owner_parse("Uid:\t1\t99999999999\nPid:\t5\n", 26, &owner));
	assert_false(jit_file_owner_parse("Uid:\t1\t1\nNSpid:\t4294967295\n", 27, &owner));
	/* No text is long enough to be read beyond its end. */
	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		char *copy = malloc(n + !n);

		assert_non_null(copy);
		memcpy(copy, text, n);
		(void)jit_file_owner_parse(copy, n, &owner);
		free(copy);
	}
}

static void test_others_are_not_believed(void **state)
{
	struct fixture *f = *state;

	write_text(f->world.proc.fd, MAP, "a lie");
	if (getuid() == 0)
		assert_int_equal(fchownat(f->world.proc.fd, MAP, OTHER, OTHER, 0), 0);
	write_status(f, PID, ANOTHER);
	assert_null(look(f));
	write_status(f, PID, getuid() ? getuid() : OTHER);
	says(look(f), "a lie");
}

static void test_root_is_believed(void **state)
{
	struct fixture *f = *state;

	write_text(f->world.proc.fd, MAP, "own");
	write_status(f, PID, ANOTHER);
	/* Root's files can be made by root alone: to others, this one is a stranger's. */
	assert_int_equal(look(f) != NULL, getuid() == 0);
}

static void test_nobody_else_may_write(void **state)
{
	struct fixture *f = *state;

	write_text(f->world.proc.fd, MAP, "own");
	assert_int_equal(fchmodat(f->world.proc.fd, MAP, 0664, 0), 0);
	assert_null(look(f));
	assert_int_equal(fchmodat(f->world.proc.fd, MAP, 0646, 0), 0);
	assert_null(look(f));
	assert_int_equal(fchmodat(f->world.proc.fd, MAP, 0600, 0), 0);
	says(look(f), "own");
}

/* It may be a file that its other name's owner does not want to be read. */
static void test_one_name_only(void **state)
{
	struct fixture *f = *state;

	write_text(f->world.proc.fd, "7/root/secret", "secret");
	assert_int_equal(linkat(f->world.proc.fd, "7/root/secret", f->world.proc.fd, MAP, 0), 0);
	assert_null(look(f));
	assert_int_equal(unlinkat(f->world.proc.fd, "7/root/secret", 0), 0);
	says(look(f), "secret");
}

/* Opening what is no file can do things by itself: it is not even tried. */
static void test_regular_files_only(void **state)
{
	struct fixture *f = *state;
	int proc = f->world.proc.fd, watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	struct inotify_event event;
	char path[256];

	assert_int_equal(mkfifoat(proc, MAP, 0600), 0);
	snprintf(path, sizeof(path), "%s/" MAP, f->world.proc.path);
	assert_true(inotify_add_watch(watch, path, IN_OPEN) >= 0);
	assert_null(look(f));
	assert_int_equal(read(watch, &event, sizeof(event)), -1);
	assert_int_equal(errno, EAGAIN);
	close(watch);
	assert_int_equal(unlinkat(proc, MAP, 0), 0);
	assert_int_equal(mkdirat(proc, MAP, 0700), 0);
	assert_null(look(f));
	assert_int_equal(unlinkat(proc, MAP, AT_REMOVEDIR), 0);
	write_text(proc, "7/root/tmp/there", "linked");
	assert_int_equal(symlinkat("there", proc, MAP), 0);
	assert_null(look(f));
}

/* An absolute link below /proc/PID/root would lead to ours. */
static void test_tmp_is_the_process_s(void **state)
{
	struct fixture *f = *state;
	int proc = f->world.proc.fd;
	char outside[256], inside[512];

	snprintf(outside, sizeof(outside), "%s/outside", f->world.proc.path);
	snprintf(inside, sizeof(inside), "7/root%s/perf-3.map", outside);
	write_text(proc, "outside/perf-3.map", "the host's");
	assert_int_equal(unlinkat(proc, "7/root/tmp", AT_REMOVEDIR), 0);
	assert_int_equal(symlinkat(outside, proc, "7/root/tmp"), 0);
	assert_null(look(f));
	assert_int_equal(unlinkat(proc, "7/root/tmp", 0), 0);
	assert_int_equal(symlinkat("../../../elsewhere", proc, "7/root/tmp"), 0);
	write_text(proc, "7/root/elsewhere/perf-3.map", "own");
	says(look(f), "own");
}

static void test_fuse_is_left_alone(void **state)
{
	struct fixture *f = *state;

	write_text(f->world.proc.fd, MAP, "own");
	write_mounts(&f->world, PID, "fuse.evil", MINOR);
	assert_null(look(f));
	assert_null(f->p.jit->folder);
	/* A mount that is in no table may be anything. */
	f->world.mount++;
	write_mounts(&f->world, PID, "ext4", MINOR);
	assert_null(look(f));
	f->world.mount--;
	write_mounts(&f->world, PID, "ext4", MINOR);
	says(look(f), "own");
}

/* What is found and not taken counts, once a process, until something else is in its place. */
static void test_refused_files_count(void **state)
{
	struct fixture *f = *state;
	int proc = f->world.proc.fd;
	uint64_t n = 0;

	assert_null(look(f)); /* there is none */
	assert_int_equal(jit_files_refused(f->files), n);
	write_text(proc, MAP, "own");
	assert_int_equal(fchmodat(proc, MAP, 0666, 0), 0);
	assert_null(look(f));
	assert_int_equal(jit_files_refused(f->files), ++n);
	assert_null(look(f));
	assert_int_equal(jit_files_refused(f->files), n);
	write_text(proc, "7/root/tmp/next", "own");
	assert_int_equal(fchmodat(proc, "7/root/tmp/next", 0666, 0), 0);
	assert_int_equal(renameat(proc, "7/root/tmp/next", proc, MAP), 0);
	assert_null(look(f));
	assert_int_equal(jit_files_refused(f->files), ++n);

	/* What was there is kept, as the number of a file that is deleted may come again. */
	assert_int_equal(renameat(proc, MAP, proc, "7/root/tmp/next"), 0);
	assert_int_equal(symlinkat("next", proc, MAP), 0);
	assert_null(look(f));
	assert_int_equal(jit_files_refused(f->files), ++n);
	assert_null(look(f));
	assert_int_equal(jit_files_refused(f->files), n);
	assert_int_equal(renameat(proc, MAP, proc, "7/root/tmp/link"), 0);
	assert_int_equal(mkdirat(proc, MAP, 0700), 0);
	assert_null(look(f));
	assert_int_equal(jit_files_refused(f->files), ++n);
	assert_int_equal(unlinkat(proc, MAP, AT_REMOVEDIR), 0);

	/* One that is taken does not. */
	write_text(proc, MAP, "own");
	says(look(f), "own");
	says(look(f), "own");
	assert_int_equal(jit_files_refused(f->files), n);
}

/* Nobody knows what is in a folder that is not entered: it counts in the place of its files. */
static void test_refused_folders_count(void **state)
{
	struct fixture *f = *state;
	int proc = f->world.proc.fd;

	/* Having none is no reason. */
	assert_int_equal(renameat(proc, "7/root/tmp", proc, "7/root/elsewhere"), 0);
	assert_null(look(f));
	assert_int_equal(jit_files_refused(f->files), 0);
	assert_int_equal(renameat(proc, "7/root/elsewhere", proc, "7/root/tmp"), 0);
	write_text(proc, MAP, "own");
	write_mounts(&f->world, PID, "fuse.evil", MINOR);
	assert_null(look(f));
	assert_null(look(f));
	assert_int_equal(jit_files_refused(f->files), 1);
	write_mounts(&f->world, PID, "ext4", MINOR);
	says(look(f), "own");
	assert_int_equal(jit_files_refused(f->files), 1);
}

static uint64_t clock_now(clockid_t clock)
{
	struct timespec ts;

	assert_int_equal(clock_gettime(clock, &ts), 0);
	return (uint64_t)ts.tv_sec * NS + (uint64_t)ts.tv_nsec;
}

/* Seconds from now. */
static void set_written(struct fixture *f, int seconds)
{
	struct timespec times[2];

	assert_int_equal(clock_gettime(CLOCK_REALTIME, &times[1]), 0);
	times[1].tv_sec += seconds;
	times[0] = times[1];
	assert_int_equal(utimensat(f->world.proc.fd, MAP, times, 0), 0);
}

/* Pids are used again, and maps stay. */
static void test_of_an_earlier_process(void **state)
{
	struct fixture *f = *state;

	write_text(f->world.proc.fd, MAP, "own");
	f->p.born_ns = clock_now(CLOCK_MONOTONIC);
	set_written(f, -60);
	assert_null(look(f));
	set_written(f, 0);
	says(look(f), "own");
}

static void test_of_a_later_process(void **state)
{
	struct fixture *f = *state;

	assert_null(look(f));
	assert_non_null(f->p.jit->folder);
	write_text(f->world.proc.fd, MAP, "own");
	f->p.born_ns = 1;
	f->p.died_ns = clock_now(CLOCK_MONOTONIC);
	/* What the machine slept may have been before the death: it counts as if it was after. */
	set_written(f, 60 + (int)((clock_now(CLOCK_BOOTTIME) - clock_now(CLOCK_MONOTONIC)) / NS));
	assert_null(look(f));
	set_written(f, -1);
	says(look(f), "own");
}

/* The year 2446 is what an ext4 can have; as nanoseconds it would be one long before 1970. */
static void test_of_no_time_at_all(void **state)
{
	const struct timespec late[] = {{.tv_sec = INT64_C(15032385535)},
					{.tv_sec = INT64_C(15032385535)}};
	struct fixture *f = *state;

	assert_null(look(f));
	write_text(f->world.proc.fd, MAP, "own");
	f->p.died_ns = clock_now(CLOCK_MONOTONIC);
	assert_int_equal(utimensat(f->world.proc.fd, MAP, late, 0), 0);
	assert_null(look(f));
	set_written(f, -1);
	says(look(f), "own");
}

static void test_a_process_that_has_ended(void **state)
{
	struct fixture *f = *state;

	assert_null(look(f));
	write_text(f->world.proc.fd, MAP, "own");
	f->p.born_ns = 1;
	f->p.died_ns = clock_now(CLOCK_MONOTONIC);
	assert_int_equal(renameat(f->world.proc.fd, "7", f->world.proc.fd, "gone"), 0);
	says(look(f), "own");
}

/* The pid is another process's by now: nothing of that one is ours. */
static void test_a_pid_that_is_used_again(void **state)
{
	struct fixture *f = *state;

	write_text(f->world.proc.fd, MAP, "not ours");
	f->p.start_ns = 5 * NS; /* and stat says that the process began after 1 s */
	assert_null(look(f));
	assert_false(f->p.jit->has_owner);
	f->p.start_ns = 1 * NS;
	says(look(f), "not ours");
}

static void test_when_it_is_looked_for(void **state)
{
	struct fixture *f = *state;
	uint64_t now = f->now_ns;
	struct jit_file *old;

	/* Nobody has sampled it. */
	assert_int_equal(jit_files_complete(f->files, &f->p, now), 0);
	assert_null(f->p.jit);
	assert_int_equal(jit_files_see(f->files, &f->p, now), 0);
	write_text(f->world.proc.fd, MAP, "1");
	assert_int_equal(jit_files_see(f->files, &f->p, now + JIT_LOOK_NS - 1), 0);
	assert_int_equal(jit_files_complete(f->files, &f->p, now + JIT_LOOK_END_NS - 1), 0);
	assert_null(f->p.jit->perf_map);
	assert_int_equal(jit_files_see(f->files, &f->p, now + JIT_LOOK_NS), 0);
	says(f->p.jit->perf_map, "1");

	/* It grew: it is the same file. */
	write_text(f->world.proc.fd, MAP, "1 and 2");
	old = jit_file_ref(f->p.jit->perf_map);
	assert_ptr_equal(look(f), old);
	says(old, "1 and 2");
	/* Another one took its place; who has the old one may still read it. */
	write_text(f->world.proc.fd, "7/root/tmp/new", "3");
	assert_int_equal(renameat(f->world.proc.fd, "7/root/tmp/new", f->world.proc.fd, MAP), 0);
	says(look(f), "3");
	assert_true(f->p.jit->perf_map->id != old->id);
	says(old, "1 and 2");
	/* It went away: what it said still holds. */
	assert_int_equal(unlinkat(f->world.proc.fd, MAP, 0), 0);
	says(look(f), "3");
	jit_file_unref(old);
	jit_files_sweep(f->files);
	assert_int_equal(jit_files_count(f->files), 1);
}

/* While there is nothing, samples make us look less and less often; the end of a window does not
 * wait for that. */
static void test_looks_become_rare(void **state)
{
	struct fixture *f = *state;
	unsigned n_looks = 0;
	uint64_t looked = 0;

	for (uint64_t now = NS; now < 60 * NS; now += NS / 100) {
		assert_int_equal(jit_files_see(f->files, &f->p, now), 0);
		n_looks += f->p.jit->looked_ns != looked;
		looked = f->p.jit->looked_ns;
	}
	assert_in_range(n_looks, 5, 25);
	write_text(f->world.proc.fd, MAP, "own");
	assert_int_equal(jit_files_see(f->files, &f->p, looked + JIT_LOOK_END_NS), 0);
	assert_null(f->p.jit->perf_map);
	assert_int_equal(jit_files_complete(f->files, &f->p, looked + JIT_LOOK_END_NS), 0);
	says(f->p.jit->perf_map, "own");
}

/* Maps @path, a file below the process's root, for execution. */
static void map_file(struct fixture *f, const char *path, uint64_t start)
{
	struct image *image = calloc(1, sizeof(*image));
	char below[256];

	assert_non_null(image);
	snprintf(below, sizeof(below), "7/root%s", path);
	*image = (struct image){
		.n_references = 1,
		.kind = IMAGE_FILE,
		.path = strdup(path),
		.fd = openat(f->world.proc.fd, below, O_RDONLY | O_CLOEXEC),
	};
	assert_true(image->fd >= 0);
	assert_int_equal(mappings_add(&f->p.mappings,
				      &(struct mapping){.start = start,
							.end = start + 0x1000,
							.image = image},
				      1, false),
			 0);
	image_unref(image);
}

static void test_jitdump(void **state)
{
	struct fixture *f = *state;

	write_text(f->world.proc.fd, "7/root/cwd/jit-4.dump", "another's");
	write_text(f->world.proc.fd, "7/root/cwd/jit-3.dump.so", "no dump");
	map_file(f, "/cwd/jit-4.dump", 0x10000);
	map_file(f, "/cwd/jit-3.dump.so", 0x20000);
	look(f);
	assert_null(f->p.jit->jitdump);
	write_text(f->world.proc.fd, "7/root/cwd/jit-3.dump", "dump");
	assert_int_equal(fchmodat(f->world.proc.fd, "7/root/cwd/jit-3.dump", 0666, 0), 0);
	map_file(f, "/cwd/jit-3.dump", 0x30000);
	look(f);
	assert_null(f->p.jit->jitdump);
	assert_int_equal(jit_files_refused(f->files), 1);
	/* The very same file, once more. */
	map_file(f, "/cwd/jit-3.dump", 0x50000);
	look(f);
	assert_int_equal(jit_files_refused(f->files), 1);
	assert_int_equal(fchmodat(f->world.proc.fd, "7/root/cwd/jit-3.dump", 0644, 0), 0);
	/* It is searched for again when there are other mappings. */
	map_file(f, "/cwd/jit-4.dump", 0x40000);
	look(f);
	says(f->p.jit->jitdump, "dump");
	assert_true(f->p.jit->jitdump->is_jitdump);
	assert_null(f->p.jit->perf_map);
}

static void test_forked(void **state)
{
	struct fixture *f = *state;
	struct process child = {.pid = 8, .mappings = mappings_ref(f->p.mappings)};
	struct jit_file *parents;

	write_text(f->world.proc.fd, MAP, "parent's");
	parents = look(f);
	assert_int_equal(jit_files_inherit(&child, &f->p), 0);
	assert_ptr_equal(child.jit->perf_map, parents);
	assert_int_equal(jit_files_see(f->files, &child, f->now_ns), 0);
	assert_ptr_equal(child.jit->perf_map, parents);

	write_status(f, 8, getuid());
	write_stat(f, 8);
	write_mounts(&f->world, 8, "ext4", MINOR);
	assert_int_equal(renameat(f->world.proc.fd, "7/mountinfo", f->world.proc.fd, "8/mountinfo"),
			 0);
	write_text(f->world.proc.fd, "8/root/tmp/perf-3.map", "child's");
	assert_int_equal(jit_files_complete(f->files, &child, f->now_ns + NS), 0);
	says(child.jit->perf_map, "child's");
	says(f->p.jit->perf_map, "parent's");
	mappings_unref(child.mappings);
	jit_process_free(child.jit);
}

static void make_process(struct fixture *f, struct process *p, pid_t pid)
{
	char path[64], text[256];

	*p = (struct process){.pid = pid, .mappings = mappings_ref(f->p.mappings)};
	write_status(f, pid, getuid());
	write_stat(f, pid);
	snprintf(path, sizeof(path), "%d/root/tmp/perf-3.map", pid);
	write_text(f->world.proc.fd, path, path);
	snprintf(path, sizeof(path), "%d/mountinfo", pid);
	snprintf(text, sizeof(text), "%llu 1 0:%u / / rw - ext4 x rw\n",
		 (unsigned long long)f->world.mount, MINOR);
	write_text(f->world.proc.fd, path, text);
}

/* The one that was not looked for the longest time has to go; who asks anew gets it anew. */
static void test_so_many_are_open(void **state)
{
	const size_t n = JIT_FILES_MAX + 3;
	struct fixture *f = *state;
	struct process *all = calloc(n, sizeof(*all));
	uint64_t id;

	assert_non_null(all);
	for (size_t i = 0; i < n; i++) {
		make_process(f, &all[i], (pid_t)(100 + i));
		assert_int_equal(jit_files_see(f->files, &all[i], f->now_ns), 0);
		assert_non_null(all[i].jit->perf_map);
	}
	assert_int_equal(jit_files_count(f->files), JIT_FILES_MAX);
	assert_in_range(count_fds(), 1, f->n_open + JIT_FILES_MAX + JIT_FOLDERS_MAX + 4);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(all[i].jit->perf_map->fd >= 0, i >= 3);
	assert_int_equal(jit_file_borrow(all[0].jit->perf_map), -1);
	id = all[0].jit->perf_map->id;
	assert_int_equal(jit_files_complete(f->files, &all[0], f->now_ns + NS), 0);
	says(all[0].jit->perf_map, "100/root/tmp/perf-3.map");
	assert_true(all[0].jit->perf_map->id != id);

	for (size_t i = 0; i < n; i++) {
		jit_process_free(all[i].jit);
		mappings_unref(all[i].mappings);
	}
	jit_files_sweep(f->files);
	assert_int_equal(jit_files_count(f->files), 0);
	free(all);
}

static void test_what_is_generated_code(void **state)
{
	static const struct {
		const char *path;
		bool yes;
	} cases[] = {
		{"/memfd:doublemapper", true},   {"/dev/shm/x", true},    {"/dev/zero", true},
		{"/SYSV00000000", true},         {"/usr/bin/cat", false}, {"/srv/memfd:x", false},
		{"/home/u/dev/shm/libx", false},
	};
	struct image image = {.kind = IMAGE_ANON, .path = "[anon]"};
	struct elf_summary elf = {.pointer_bytes = 8};

	(void)state;
	assert_true(jit_file_is_for(&image));
	image = (struct image){.kind = IMAGE_VDSO, .path = "[vdso]"};
	assert_false(jit_file_is_for(&image));
	image = (struct image){.kind = IMAGE_SPECIAL, .path = "[uprobes]"};
	assert_false(jit_file_is_for(&image));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		image = (struct image){.kind = IMAGE_FILE, .path = cases[i].path};
		assert_int_equal(jit_file_is_for(&image), cases[i].yes);
	}
	/* A library that was loaded from there has names of its own. */
	image = (struct image){
		.n_references = 1, .kind = IMAGE_FILE, .path = strdup("/memfd:lib"), .fd = -1};
	struct image *library = malloc(sizeof(*library));

	assert_non_null(library);
	*library = image;
	assert_int_equal(image_set_headers(library, &elf), 0);
	assert_false(jit_file_is_for(library));
	image_unref(library);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_what_is_generated_code),
		TEST(test_the_pid_inside_counts),
		TEST(test_others_are_not_believed),
		TEST(test_root_is_believed),
		TEST(test_nobody_else_may_write),
		TEST(test_one_name_only),
		TEST(test_regular_files_only),
		TEST(test_tmp_is_the_process_s),
		TEST(test_fuse_is_left_alone),
		TEST(test_refused_files_count),
		TEST(test_refused_folders_count),
		TEST(test_of_an_earlier_process),
		TEST(test_of_a_later_process),
		TEST(test_of_no_time_at_all),
		TEST(test_a_process_that_has_ended),
		TEST(test_a_pid_that_is_used_again),
		TEST(test_when_it_is_looked_for),
		TEST(test_looks_become_rare),
		TEST(test_jitdump),
		TEST(test_forked),
		TEST(test_so_many_are_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
