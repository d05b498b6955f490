/* SPDX-License-Identifier: MIT */
/* When files that name generated code are looked for, for whom, and how many stay open. */
#include "tests/unit/resolve/jit_files_fixture.h"

static void test_when_it_is_looked_for(void **state)
{
	struct fixture *f = *state;
	uint64_t now = f->now_ns;
	struct jit_file *old;
	int fd;

	/* Nobody has sampled it. */
	assert_int_equal(jit_files_complete(f->files, &f->p, now), 0);
	assert_null(f->p.jit);
	assert_int_equal(jit_files_see_sample(f->files, &f->p, now), 0);
	write_text(f->world.proc.fd, MAP, "1");
	assert_int_equal(jit_files_see_sample(f->files, &f->p, now + JIT_LOOK_NS - 1), 0);
	assert_int_equal(jit_files_complete(f->files, &f->p, now + JIT_LOOK_END_NS - 1), 0);
	assert_null(f->p.jit->perf_map);
	assert_int_equal(jit_files_see_sample(f->files, &f->p, now + JIT_LOOK_NS), 0);
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
	fd = old->fd;
	jit_file_unref(old);
	jit_files_sweep(f->files);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	says(f->p.jit->perf_map, "3");
}

/* While there is nothing, samples make us look less and less often; the end of a window does not
 * wait for that. */
static void test_looks_become_rare(void **state)
{
	struct fixture *f = *state;
	unsigned n_looks = 0;
	uint64_t looked = 0;

	for (uint64_t now = NS; now < 60 * NS; now += NS / 100) {
		assert_int_equal(jit_files_see_sample(f->files, &f->p, now), 0);
		n_looks += f->p.jit->looked_ns != looked;
		looked = f->p.jit->looked_ns;
	}
	assert_in_range(n_looks, 5, 25);
	write_text(f->world.proc.fd, MAP, "own");
	assert_int_equal(jit_files_see_sample(f->files, &f->p, looked + JIT_LOOK_END_NS), 0);
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
	assert_int_equal(jit_files_see_sample(f->files, &child, f->now_ns), 0);
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
	int fd;

	assert_non_null(all);
	for (size_t i = 0; i < n; i++) {
		make_process(f, &all[i], (pid_t)(100 + i));
		assert_int_equal(jit_files_see_sample(f->files, &all[i], f->now_ns), 0);
		assert_non_null(all[i].jit->perf_map);
	}
	assert_in_range(count_fds(), 1, f->n_open + JIT_FILES_MAX + 2 * MOUNT_ROOTS_MAX + 4);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(all[i].jit->perf_map->fd >= 0, i >= 3);
	assert_int_equal(lent_fd_borrow(&all[0].jit->perf_map->fd), -1);
	id = all[0].jit->perf_map->id;
	assert_int_equal(jit_files_complete(f->files, &all[0], f->now_ns + NS), 0);
	says(all[0].jit->perf_map, "100/root/tmp/perf-3.map");
	assert_true(all[0].jit->perf_map->id != id);

	fd = all[n - 1].jit->perf_map->fd;
	for (size_t i = 0; i < n; i++) {
		jit_process_free(all[i].jit);
		mappings_unref(all[i].mappings);
	}
	jit_files_sweep(f->files);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	free(all);
}

/* Who has many loses his own, not what others had before. */
static void test_users_lose_their_own(void **state)
{
	const size_t n = JIT_FILES_MAX + 3;
	struct fixture *f = *state;
	struct process *all = calloc(n, sizeof(*all));

	if (geteuid())
		skip(); /* the files are root's, which all believe */
	assert_non_null(all);
	for (size_t i = 0; i < n; i++) {
		make_process(f, &all[i], (pid_t)(100 + i));
		write_status(f, (pid_t)(100 + i), i < 2 ? OTHER : ANOTHER);
		assert_int_equal(jit_files_see_sample(f->files, &all[i], f->now_ns), 0);
		assert_non_null(all[i].jit->perf_map);
	}
	for (size_t i = 0; i < n; i++)
		assert_int_equal(all[i].jit->perf_map->fd >= 0, i < 2 || i >= 5);
	for (size_t i = 0; i < n; i++) {
		jit_process_free(all[i].jit);
		mappings_unref(all[i].mappings);
	}
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
	assert_int_equal(image_set_headers(library, &elf, NULL, NULL), 0);
	assert_false(jit_file_is_for(library));
	image_unref(library);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_generated_code),
		TEST(test_when_it_is_looked_for),
		TEST(test_looks_become_rare),
		TEST(test_jitdump),
		TEST(test_forked),
		TEST(test_so_many_are_open),
		TEST(test_users_lose_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
