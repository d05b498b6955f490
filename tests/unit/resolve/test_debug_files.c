/* SPDX-License-Identifier: MIT */
/* Debug files below a root: where they are looked for, and what is not opened. */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/cleanup.h"
#include "common/worker/debug_files.h"
#include "tests/support/temp_dir.h"

static struct worker_image image_of(const char *link, const char *alternate)
{
	struct worker_image image = {.elf = {.build_id_length = 3, .build_id = {0xab, 0xcd, 0x0f}},
				     .alternate_id_length = 2,
				     .alternate_id = {0x12, 0x34}};

	strcpy(image.debuglink, link);
	strcpy(image.alternate, alternate);
	return image;
}

static void expect_paths(const char *path, const struct worker_image *image, bool is_alternate,
			 const char *const *expected)
{
	char made[PATH_MAX];
	int r;

	for (unsigned n = 0;; n++) {
		r = is_alternate ? debug_files_alternate_path(path, image, n, made)
				 : debug_files_path(path, image, n, made);
		if (r == 0)
			break;
		if (r < 0)
			continue;
		assert_non_null(*expected);
		assert_string_equal(made, *expected++);
	}
	assert_null(*expected);
}

static void test_paths(void **state)
{
	struct worker_image image = image_of("prog.debug", ""), none = {0};

	(void)state;
	expect_paths("/usr/bin/prog", &image, false,
		     (const char *const[]){"/usr/lib/debug/.build-id/ab/cd0f.debug",
					   "/usr/bin/prog.debug", "/usr/bin/.debug/prog.debug",
					   "/usr/lib/debug/usr/bin/prog.debug", NULL});
	expect_paths("/prog", &image, false,
		     (const char *const[]){"/usr/lib/debug/.build-id/ab/cd0f.debug", "/prog.debug",
					   "/.debug/prog.debug", "/usr/lib/debug/prog.debug",
					   NULL});
	expect_paths("/usr/bin/prog", &none, false, (const char *const[]){NULL});
	/* What has no directory has no files beside it. */
	expect_paths("memfd:x", &image, false,
		     (const char *const[]){"/usr/lib/debug/.build-id/ab/cd0f.debug", NULL});
	image.elf.build_id_length = 1;
	strcpy(image.debuglink, "prog");
	expect_paths("/usr/bin/prog", &image, false,
		     (const char *const[]){"/usr/bin/.debug/prog", "/usr/lib/debug/usr/bin/prog",
					   NULL});
}

static void test_links_that_are_paths(void **state)
{
	static const char *const links[] = {
		"../../etc/shadow", "/etc/shadow", "a/b", ".", "..", ""};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		struct worker_image image = image_of(links[i], "");

		image.elf.build_id_length = 0;
		expect_paths("/usr/bin/prog", &image, false, (const char *const[]){NULL});
	}
}

static void test_alternate_paths(void **state)
{
	struct worker_image absolute = image_of("", "/usr/lib/debug/.dwz/x86_64/p.debug");
	struct worker_image relative = image_of("", "../../.dwz/x86_64/p.debug");
	struct worker_image plain = image_of("", "p.debug"), none = image_of("", "");

	(void)state;
	expect_paths("/usr/lib/debug/.build-id/ab/cd.debug", &absolute, true,
		     (const char *const[]){"/usr/lib/debug/.dwz/x86_64/p.debug",
					   "/usr/lib/debug/.build-id/12/34.debug", NULL});
	expect_paths("/usr/lib/debug/.build-id/ab/cd.debug", &relative, true,
		     (const char *const[]){"/usr/lib/debug/.build-id/ab/../../.dwz/x86_64/p.debug",
					   "/usr/lib/debug/.dwz/x86_64/p.debug",
					   "/usr/lib/debug/.build-id/12/34.debug", NULL});
	expect_paths("/opt/p", &plain, true,
		     (const char *const[]){"/opt/p.debug", "/usr/lib/debug/.dwz/p.debug",
					   "/usr/lib/debug/.build-id/12/34.debug", NULL});
	expect_paths("/opt/p", &none, true, (const char *const[]){NULL});
}

static void test_paths_that_are_too_long(void **state)
{
	struct worker_image image = image_of("prog.debug", "p.debug");
	char path[PATH_MAX + 100], made[PATH_MAX];

	(void)state;
	for (size_t length = PATH_MAX - 64; length < sizeof(path) - 1; length++) {
		memset(path, 'a', length);
		path[0] = '/';
		memcpy(path + length - 5, "/prog", 6);
		for (unsigned n = 1; n < 4; n++)
			if (debug_files_path(path, &image, n, made) > 0)
				assert_non_null(memchr(made, '\0', PATH_MAX));
		debug_files_alternate_path(path, &image, 0, made);
	}
	assert_int_equal(debug_files_path(path, &image, 1, made), -1);
}

struct fixture {
	struct temp_dir dir;
	int root_fd;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	temp_dir_make(&f->dir);
	assert_int_equal(mkdirat(f->dir.fd, "root", 0755), 0);
	f->root_fd = openat(f->dir.fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->root_fd >= 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	close(f->root_fd);
	temp_dir_remove(&f->dir);
	free(f);
	return 0;
}

/* The next of the paths at which there is a file, and what is in it. */
static void expect_next(struct fixture *f, const char *path, const struct worker_image *image,
			bool is_alternate, unsigned *n, const char *text)
{
	char candidate[PATH_MAX], found[64] = "";
	int fd = -1, r = 1;

	while (fd < 0 && r) {
		r = is_alternate ? debug_files_alternate_path(path, image, (*n)++, candidate)
				 : debug_files_path(path, image, (*n)++, candidate);
		if (r > 0)
			fd = debug_files_open(f->root_fd, false, candidate);
	}
	assert_int_equal(fd >= 0, !!text);
	if (fd < 0)
		return;
	assert_true(read(fd, found, sizeof(found) - 1) > 0);
	assert_string_equal(found, text);
	close(fd);
}

static void test_one_after_the_other(void **state)
{
	struct fixture *f = *state;
	struct worker_image image = image_of("prog.debug", "../../.dwz/p.debug");
	unsigned n = 0;

	write_text(f->root_fd, "usr/lib/debug/.build-id/ab/cd0f.debug", "by id");
	write_text(f->root_fd, "bin/.debug/prog.debug", "in the folder");
	write_text(f->root_fd, "usr/lib/debug/bin/prog.debug", "below");
	expect_next(f, "/bin/prog", &image, false, &n, "by id");
	expect_next(f, "/bin/prog", &image, false, &n, "in the folder");
	expect_next(f, "/bin/prog", &image, false, &n, "below");
	expect_next(f, "/bin/prog", &image, false, &n, NULL);
	expect_next(f, "/bin/prog", &image, false, &n, NULL);

	write_text(f->root_fd, "usr/lib/debug/.dwz/p.debug", "alternate");
	n = 0;
	expect_next(f, "/usr/lib/debug/.build-id/ab/cd0f.debug", &image, true, &n, "alternate");
}

static void expect_open(struct fixture *f, const char *path, const char *text)
{
	cleanup(closep) int fd = debug_files_open(f->root_fd, false, path);
	char found[64] = "";

	assert_int_equal(fd >= 0, !!text);
	if (!text)
		return;
	assert_true(read(fd, found, sizeof(found) - 1) > 0);
	assert_string_equal(found, text);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
}

static void link_to(struct fixture *f, const char *target, const char *path)
{
	assert_int_equal(symlinkat(target, f->root_fd, path), 0);
}

static void test_nothing_leads_out_of_the_root(void **state)
{
	struct fixture *f = *state;
	char outside[PATH_MAX];

	write_text(f->dir.fd, "secret", "secret");
	write_text(f->root_fd, "inside", "inside");
	snprintf(outside, sizeof(outside), "%s/secret", f->dir.path);
	link_to(f, outside, "absolute");
	link_to(f, "../secret", "relative");
	link_to(f, "/proc/self/root/etc/passwd", "magic");
	link_to(f, "/inside", "good");
	link_to(f, "loop", "loop");
	expect_open(f, "/absolute", NULL);
	expect_open(f, "/relative", NULL);
	expect_open(f, "/magic", NULL);
	expect_open(f, "/loop", NULL);
	expect_open(f, "../secret", NULL);
	expect_open(f, "/../../../secret", NULL);
	expect_open(f, outside, NULL);
	expect_open(f, "/good", "inside");
	expect_open(f, "/../good", "inside");
}

static void test_only_regular_files(void **state)
{
	struct fixture *f = *state;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	cleanup(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cleanup(closep) int version = -1;
	cleanup(closep) int host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(mkfifoat(f->root_fd, "fifo", 0644), 0);
	assert_int_equal(mkdirat(f->root_fd, "folder", 0755), 0);
	assert_in_range(snprintf(address.sun_path, sizeof(address.sun_path), "%s/root/socket",
				 f->dir.path),
			1, sizeof(address.sun_path) - 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	expect_open(f, "/fifo", NULL);
	expect_open(f, "/folder", NULL);
	expect_open(f, "/socket", NULL);
	expect_open(f, "/", NULL);
	/* Devices, on the machine's own root; and magic links there. */
	assert_int_equal(debug_files_open(host, true, "/dev/null"), -1);
	assert_int_equal(debug_files_open(host, true, "/proc/self/exe"), -1);
	/* Another file system: /proc is one everywhere. */
	assert_int_equal(debug_files_open(host, false, "/proc/version"), -1);
	version = debug_files_open(host, true, "/proc/version");
	assert_true(version >= 0);
}

struct swapper {
	int dir;
	atomic_bool stop;
};

static void *swap(void *userdata)
{
	static const char *const names[] = {"fifo", "link", "folder"};
	struct swapper *s = userdata;

	for (unsigned i = 0; !s->stop; i++)
		renameat2(s->dir, "prog", s->dir, names[i % 3], RENAME_EXCHANGE);
	return NULL;
}

static void test_a_file_that_is_swapped_all_the_time(void **state)
{
	struct fixture *f = *state;
	struct swapper swapper = {.dir = f->root_fd};
	unsigned n_good = 0, n_tries;
	pthread_t thread;

	write_text(f->dir.fd, "secret", "secret");
	write_text(f->root_fd, "prog", "prog");
	assert_int_equal(mkdirat(f->root_fd, "folder", 0755), 0);
	assert_int_equal(mkfifoat(f->root_fd, "fifo", 0644), 0);
	link_to(f, "../secret", "link");
	assert_int_equal(pthread_create(&thread, NULL, swap, &swapper), 0);
	for (n_tries = 0; n_tries < 5000 || (n_good == 0 && n_tries < 1000000); n_tries++) {
		cleanup(closep) int fd = debug_files_open(f->root_fd, false, "/prog");
		char text[8] = "";

		if (fd < 0)
			continue;
		n_good++;
		assert_int_equal(read(fd, text, sizeof(text)), 4);
		assert_string_equal(text, "prog");
	}
	swapper.stop = true;
	pthread_join(thread, NULL);
	assert_true(n_good > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_links_that_are_paths),
		cmocka_unit_test(test_alternate_paths),
		cmocka_unit_test(test_paths_that_are_too_long),
		TEST(test_one_after_the_other),
		TEST(test_nothing_leads_out_of_the_root),
		TEST(test_only_regular_files),
		TEST(test_a_file_that_is_swapped_all_the_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
