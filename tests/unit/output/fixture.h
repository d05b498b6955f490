/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_UNIT_OUTPUT_FIXTURE_H
#define PROFD_TESTS_UNIT_OUTPUT_FIXTURE_H

/*
 * A small world for the tests of this directory: a temporary directory with a store, a /proc and a
 * /sys in it, images that exist in memory only, and snapshots made from a table of samples.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/profile/cpuprofile.h"
#include "common/profile/image_profile.h"
#include "common/profile/profile.h"
#include "common/reasons.h"
#include "daemon/output/output.h"
#include "daemon/output/snapshot.h"
#include "daemon/output/store.h"
#include "daemon/output/writer.h"
#include "tests/support/temp_dir.h"

#define NS       UINT64_C(1000000000)
#define T0       UINT64_C(1795251600) /* 2026-11-21T09:00:00Z */
#define DAY      UINT64_C(86400)
#define STEXT    UINT64_C(0xffffffff81000000)
#define ETEXT    UINT64_C(0xffffffff82000000)
#define EXT4     UINT64_C(0xffffffffc0100000)
#define BPF_CODE UINT64_C(0xffffffffc0800000) /* in no image */

/* What a window that begins at T0 is written to. */
#define DAY_A    "services/a.service/20261121/"
#define DAY_B    "services/b%2Fx/20261121/"
#define DAY_K    "services/kernel/20261121/"
#define IMAGES_1 "images/2611210900/host%2F1/"

struct fixture {
	struct temp_dir dir;
	const char *path; /* the directory's */
	int store_fd, proc_fd, sys_fd;
	char store_path[PATH_MAX];
	struct image *program, *other, *library, *plain, *anon, *vdso;
};

/* As if the image had had these headers from the beginning. @go: NULL for no Go program. */
static inline void change_facts(struct image *image, const struct elf_summary *elf,
				const struct go_build *go)
{
	free(atomic_exchange(&image->headers, NULL));
	assert_int_equal(image_set_headers(image, elf, go, NULL), 0);
}

static inline void change_headers(struct image *image, const struct elf_summary *elf)
{
	change_facts(image, elf, NULL);
}

/* @build_id: each of its bytes; 0: a file without ELF headers. */
static inline struct image *make_image(uint64_t id, enum image_kind kind, const char *path,
				       uint8_t build_id)
{
	struct image *image = calloc(1, sizeof(*image));
	struct elf_summary elf = {.pointer_bytes = 8, .n_segments = 2};

	assert_non_null(image);
	image->n_references = 1;
	image->id = id;
	image->kind = kind;
	image->path = strdup(path);
	image->inode = id;
	image->fd = -1;
	if (kind != IMAGE_FILE)
		return image;
	image->size = 4096 * id;
	if (!build_id) {
		assert_int_equal(image_set_headers(image, NULL, NULL, NULL), 0);
		return image;
	}
	elf.segments[0] = (struct elf_segment){
		.vaddr = 0, .offset = 0, .file_size = 0x1000, .memory_size = 0x1000};
	elf.segments[1] = (struct elf_segment){.vaddr = 0x1040,
					       .offset = 0x1040,
					       .file_size = 0x2f00,
					       .memory_size = 0x2f00,
					       .executable = true};
	elf.build_id_length = 20;
	memset(elf.build_id, build_id, 20);
	assert_int_equal(image_set_headers(image, &elf, NULL, NULL), 0);
	return image;
}

/* An ELF note with a GNU build id of 20 bytes @byte. */
static inline void write_note(int dir, const char *name, uint8_t byte)
{
	uint8_t note[16 + 20] = {4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0};

	memset(note + 16, byte, 20);
	write_file(dir, name, note, sizeof(note));
}

static inline int dir_at(int parent, const char *name)
{
	mkdirat(parent, name, 0755);
	return openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static inline void make_host(struct fixture *f)
{
	write_text(f->proc_fd, "kallsyms",
		   "ffffffff81000000 T _stext\n"
		   "ffffffff81000000 T _text\n"
		   "ffffffff81001000 T do_work\n"
		   "ffffffff81002000 t idle\n"
		   "ffffffff81003000 T try_to_wake_up\n"
		   "ffffffff82000000 T _etext\n"
		   "ffffffffc0100000 t ext4_read\t[ext4]\n"
		   "ffffffffc0100100 t ext4_write\t[ext4]\n");
	write_text(f->proc_fd, "modules",
		   "ext4 4096 1 - Live 0xffffffffc0100000\n"
		   "jbd2 8192 1 ext4, Live 0xffffffffc0200000 (E)\n");
	write_text(f->proc_fd, "stat", "cpu 1 2\nbtime 1700000000\n");
	write_text(f->proc_fd, "cpuinfo", "processor : 0\ncpu MHz\t\t: 2400.112\n");
	write_note(f->sys_fd, "kernel/notes", 0x77);
	write_note(f->sys_fd, "module/ext4/notes/.note.gnu.build-id", 0x55);
}

static inline int fixture_setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	temp_dir_make(&f->dir);
	f->path = f->dir.path;
	f->store_fd = dir_at(f->dir.fd, "store");
	f->proc_fd = dir_at(f->dir.fd, "proc");
	f->sys_fd = dir_at(f->dir.fd, "sys");
	assert_true(f->store_fd >= 0 && f->proc_fd >= 0 && f->sys_fd >= 0);
	snprintf(f->store_path, sizeof(f->store_path), "%s/store", f->path);
	make_host(f);
	f->program = make_image(1, IMAGE_FILE, "/usr/bin/worker", 0x11);
	f->other = make_image(2, IMAGE_FILE, "/usr/bin/ot her", 0x22);
	f->library = make_image(3, IMAGE_FILE, "/lib/libx.so.1", 0x33);
	f->plain = make_image(4, IMAGE_FILE, "/opt/no headers", 0);
	f->anon = make_image(5, IMAGE_ANON, "[anon]", 0);
	f->vdso = make_image(6, IMAGE_VDSO, "[vdso]", 0);
	*state = f;
	return 0;
}

static inline int fixture_teardown(void **state)
{
	struct fixture *f = *state;

	close(f->store_fd);
	close(f->proc_fd);
	close(f->sys_fd);
	image_unref(f->program);
	image_unref(f->other);
	image_unref(f->library);
	image_unref(f->plain);
	image_unref(f->anon);
	image_unref(f->vdso);
	temp_dir_remove(&f->dir);
	free(f);
	return 0;
}

static inline struct output_options default_options(const struct fixture *f)
{
	return (struct output_options){
		.store_fd = f->store_fd,
		.store_path = f->store_path,
		.limits.keep_windows = 3,
		.legacy_max_processes = 64,
		.symbol_cache_bytes = 8 << 20,
	};
}

static inline struct writer *open_writer(const struct fixture *f, const struct output_options *o,
					 const struct file_ops *ops, uint64_t now_s)
{
	const struct writer_world world = {
		.host = "host/1", .proc_fd = f->proc_fd, .sys_fd = f->sys_fd, .ops = ops};
	struct output_options options = o ? *o : default_options(f);
	struct writer *w = NULL;

	assert_int_equal(writer_new(&w, &options, &world, now_s * NS), 0);
	return w;
}

/* One sample of a scenario, @count times; frames end with 0. */
struct script {
	uint64_t process;
	uint32_t generation;
	const char *thread;
	uint64_t kernel[4], user[6];
	uint8_t quality, reason;
	uint64_t count;
};

#define PROGRAM_AT UINT64_C(0x555500001000) /* of process 1; process 2: another place */
#define PROGRAM_2  UINT64_C(0x560000001000)
#define LIBRARY_AT UINT64_C(0x7f0000001000)
#define ANON_AT    UINT64_C(0x7e0000000000)
#define PLAIN_AT   UINT64_C(0x7d0000000000)
#define VDSO_AT    UINT64_C(0x7ffff7fc0000)

static inline void map(struct mappings **m, struct image *image, uint64_t start, uint64_t offset,
		       uint64_t time_ns)
{
	const struct mapping mapping = {
		.start = start, .end = start + 0x3000, .offset = offset, .image = image};

	assert_int_equal(mappings_add(m, &mapping, time_ns, false), 0);
}

/*
 * Processes: 1 and 2 run the program (service a.service, different layouts; 1 has a second
 * generation in which the other program replaced the library), 3 the other one (service b), 4 is
 * a kernel thread.
 */
static inline void make_processes(const struct fixture *f, struct snapshot *s)
{
	struct snapshot_process *p = calloc(4, sizeof(*p));

	assert_non_null(p);
	s->processes = p;
	s->n_processes = 4;
	for (unsigned i = 0; i < 4; i++) {
		p[i].serial = i + 1;
		p[i].pid = (pid_t)(100 + i);
		if (i < 3)
			assert_int_equal(mappings_new(&p[i].mappings), 0);
	}
	p[0].service = strdup("a.service");
	p[1].service = strdup("a.service");
	p[2].service = strdup("b/x");
	p[3].service = strdup("kernel");
	p[3].kernel_thread = true;
	memcpy(p[0].comm, "worker", 7);
	memcpy(p[1].comm, "work/er", 8);
	memcpy(p[2].comm, "other", 6);
	memcpy(p[3].comm, "kthreadd", 9);
	p[0].program = image_ref(f->program);
	p[1].program = image_ref(f->program);
	p[2].program = image_ref(f->other);
	p[2].container = strdup("c0ffee");
	map(&p[0].mappings, f->program, PROGRAM_AT, 0x1000, 1);
	map(&p[0].mappings, f->library, LIBRARY_AT, 0x1000, 1);
	map(&p[0].mappings, f->anon, ANON_AT, 0, 1);
	map(&p[0].mappings, f->vdso, VDSO_AT, 0, 1);
	map(&p[0].mappings, f->other, LIBRARY_AT, 0x1000, 5);
	map(&p[1].mappings, f->program, PROGRAM_2, 0x1000, 1);
	map(&p[1].mappings, f->library, LIBRARY_AT + 0x100000, 0x1000, 1);
	map(&p[2].mappings, f->other, PROGRAM_AT, 0x1000, 1);
	map(&p[2].mappings, f->plain, PLAIN_AT, 0, 1);
}

static inline struct snapshot *make_snapshot(const struct fixture *f, uint64_t start_s,
					     const struct script *script, size_t n)
{
	struct snapshot *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->start_ns = start_s * NS;
	s->duration_ns = 60 * NS;
	s->formats = FORMAT_PPROF | FORMAT_LEGACY | FORMAT_IMAGES;
	s->labels = LABEL_PID | LABEL_COMM | LABEL_THREAD | LABEL_SERVICE | LABEL_CONTAINER;
	s->symbolize = SYMBOLIZE_FUNCTIONS;
	snprintf(s->event, sizeof(s->event), "cpu-clock");
	s->is_clock = true;
	s->frequency = 100;
	s->period = 10000000;
	s->ledger = strdup("expected=10 seen=9 source=bpf");
	make_processes(f, s);
	assert_int_equal(aggregate_new(&s->aggregate, 64 << 20), 0);
	for (size_t i = 0; i < n; i++) {
		struct aggregate_key key = {
			.process = script[i].process,
			.generation = script[i].generation,
			.thread_name = script[i].thread ? script[i].thread : "main",
			.stack = {.quality = script[i].quality, .reason = script[i].reason},
		};
		uint64_t frames[10];

		for (const uint64_t *k = script[i].kernel; *k; k++, key.stack.n_kernel++)
			frames[key.stack.n_frames++] = *k;
		for (const uint64_t *u = script[i].user; *u; u++)
			frames[key.stack.n_frames++] = *u;
		key.stack.frames = frames;
		for (uint64_t j = 0; j < script[i].count; j++)
			assert_int_equal(aggregate_add(s->aggregate, &key, 1, 10000000), 0);
	}
	return s;
}

/* Everything that can happen to a sample: 89 of them, 70 with a user frame. */
static const struct script everything[] = {
	{1, 0, "t1", {0}, {PROGRAM_AT + 0x100, PROGRAM_AT + 0x200}, 0, 0, 20},
	{1, 0, "t2", {0}, {PROGRAM_AT + 0x100, PROGRAM_AT + 0x200}, 0, 0, 5},
	{1, 0, NULL, {STEXT + 0x1010}, {LIBRARY_AT + 0x100, PROGRAM_AT + 0x200}, 0, 0, 7},
	{1, 0, NULL, {0}, {LIBRARY_AT + 0x100}, STACK_BROKEN, BROKEN_UNREADABLE, 4},
	{1, 1, NULL, {0}, {LIBRARY_AT + 0x100, PROGRAM_AT + 0x200}, STACK_GUESSED, 0, 6},
	{1, 0, NULL, {0}, {ANON_AT + 0x10, PROGRAM_AT + 0x200}, 0, 0, 3},
	{1, 0, NULL, {0}, {0x1234, PROGRAM_AT + 0x200}, STACK_TRUNCATED, 0, 2},
	{2, 0, NULL, {0}, {PROGRAM_2 + 0x100, PROGRAM_2 + 0x200}, 0, 0, 11},
	{2, 0, NULL, {EXT4 + 0x10, STEXT + 0x1010}, {0}, STACK_NO_USER, 0, 8},
	{3, 0, NULL, {0}, {PROGRAM_AT + 0x300}, 0, 0, 9},
	{3, 0, NULL, {0}, {PLAIN_AT + 0x300, PROGRAM_AT + 0x100}, 0, 0, 2},
	{3, 0, NULL, {BPF_CODE}, {PROGRAM_AT + 0x300}, 0, 0, 1},
	{3, 0, NULL, {0}, {0}, STACK_BROKEN, BROKEN_NO_REGISTERS, 1},
	{4, 0, NULL, {STEXT + 0x2010, STEXT + 0x1010}, {0}, 0, 0, 10},
};
#define EVERYTHING      89
#define EVERYTHING_USER 70

static inline struct snapshot *everything_at(const struct fixture *f, uint64_t start_s)
{
	return make_snapshot(f, start_s, everything, ARRAY_SIZE(everything));
}

/* Writes @s, which must succeed. The caller frees the result. */
static inline struct output_result *write_ok(struct writer *w, struct snapshot *s, uint64_t now_s)
{
	struct output_result *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	writer_write(w, s, now_s * NS, r);
	assert_int_equal(r->error, 0);
	assert_null(r->unwritten);
	return r;
}

static inline void write_quietly(struct writer *w, struct snapshot *s, uint64_t now_s)
{
	output_result_free(write_ok(w, s, now_s));
}

/* What a walk over the store finds. */
struct census {
	uint64_t n_pprof, n_legacy, n_images, n_temporary, n_other; /* no padding: compared */
	int64_t pprof, legacy, images;                              /* samples */
	uint64_t blocks;
};

static struct census *census_now; /* nftw() hands on nothing */

/* One byte longer than the file, for those who want to end it with a NUL. */
static inline void *slurp(const char *path, size_t *ret_length)
{
	FILE *in = fopen(path, "r");
	struct stat st;
	char *data;

	assert_non_null(in);
	assert_int_equal(fstat(fileno(in), &st), 0);
	data = malloc((size_t)st.st_size + 1);
	assert_non_null(data);
	*ret_length = fread(data, 1, (size_t)st.st_size, in);
	fclose(in);
	return data;
}

static inline struct profile *read_pprof(const char *path)
{
	cleanup(freep) uint8_t *data = NULL;
	struct profile_message message;
	struct profile *p = NULL;
	size_t length;

	data = slurp(path, &length);
	assert_int_equal(pprof_read(data, length, 64 << 20, &p, &message), 0);
	return p;
}

static inline int64_t read_legacy(const char *path)
{
	cleanup(freep) uint8_t *data = NULL;
	cleanup(profile_freep) struct profile *p = NULL;
	struct profile_message message;
	size_t length;

	data = slurp(path, &length);
	assert_int_equal(cpuprofile_read(data, length, &p, &message), 0);
	return profile_total(p, 0);
}

static inline struct output_store_status store_status(const struct writer *w)
{
	struct output_state state;

	writer_get_state(w, &state);
	return state.store;
}

static inline struct image_profile *read_image(const char *path)
{
	cleanup(freep) uint8_t *data = NULL;
	struct image_profile *p = NULL;
	struct profile_message message;
	size_t length;

	data = slurp(path, &length);
	assert_int_equal(image_profile_read(data, length, &p, &message), 0);
	return p;
}

static inline int count_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	const char *name = path + ftw->base;
	struct names_window window;

	if (flag != FTW_F)
		return 0;
	if (strncmp(name, ".tmp-", 5) == 0) {
		census_now->n_temporary++;
		return 0;
	}
	census_now->blocks += (uint64_t)st->st_blocks;
	if (strstr(path, "/images/")) {
		struct image_profile *p = read_image(path);

		census_now->n_images++;
		census_now->images += (int64_t)p->total;
		image_profile_free(p);
	} else if (!names_parse_window(name, &window)) {
		census_now->n_other++;
	} else if (window.format == CONTENTS_LEGACY) {
		census_now->n_legacy++;
		census_now->legacy += read_legacy(path);
	} else {
		struct profile *p = read_pprof(path);

		census_now->n_pprof++;
		census_now->pprof += profile_total(p, 0);
		profile_free(p);
	}
	return 0;
}

/* Reads every file of the store; each must be whole. */
static inline struct census take_census(const struct fixture *f)
{
	struct census census = {0};

	census_now = &census;
	nftw(f->store_path, count_one, 16, FTW_PHYS);
	census_now = NULL;
	return census;
}

/* Of a file in the store; good until the next call. */
static inline char *path_of(const struct fixture *f, const char *name)
{
	static char path[PATH_MAX * 2];

	snprintf(path, sizeof(path), "%s/%s", f->store_path, name);
	return path;
}

static inline bool exists(const struct fixture *f, const char *path)
{
	return faccessat(f->store_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static inline mode_t mode_of(const struct fixture *f, const char *path)
{
	struct stat st;

	assert_int_equal(fstatat(f->store_fd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st.st_mode & 07777;
}

#endif
