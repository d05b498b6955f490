/* SPDX-License-Identifier: MIT */
/* Versions by a dpkg database below the root that programs were seen in, with the real worker. */
#include "daemon/output/symbols.h"
#include "daemon/resolve/file_opener.h"
#include "daemon/resolve/mount_root.h"
#include "tests/unit/output/fixture.h"
#include "tests/unit/resolve/keeper_fixture.h"

#define INFO   "var/lib/dpkg/info/"
#define STATUS "var/lib/dpkg/status"
#define MANY   100

struct machine {
	struct fixture *f;
	struct mount_root root, host; /* the machine's: nowhere, unless a test says so */
	struct file_opener *opener;
	struct symbols *symbols;
};

static void machine_set_up(struct machine *m, struct fixture *f, uint64_t wait_ns)
{
	struct symbols_options options = {.max_bytes = 8 << 20, .deadline_ns = 60 * NS};

	m->f = f;
	memset(&m->root, 0, sizeof(m->root));
	m->root.n_references = 1000;
	m->root.fd = f->dir.fd;
	m->root.is_ours = true;
	m->host = m->root;
	m->host.fd = -1;
	options.host_root = &m->host;
	assert_int_equal(file_opener_new(&m->opener, wait_ns), 0);
	options.opener = m->opener;
	assert_int_equal(symbols_new(&m->symbols, &options), 0);
	symbols_begin_window(m->symbols);
}

static void machine_tear_down(struct machine *m)
{
	symbols_free(m->symbols);
	file_opener_free(m->opener);
}

static void put_text(struct machine *m, const char *path, const char *text)
{
	write_file(m->f->dir.fd, path, text, strlen(text));
}

static void put_status(struct machine *m)
{
	put_text(m, STATUS,
		 "Package: one\nStatus: install ok installed\nVersion: 1.0-1\n\n"
		 "Package: two\nStatus: install ok installed\nArchitecture: amd64\n"
		 "Version: 2:2.0\n");
}

/* A program at @path, which begins with a slash. */
static struct image *put_program(struct machine *m, uint64_t id, const char *path)
{
	struct image *image = make_image(id, IMAGE_FILE, path, 0x11);

	put_text(m, path + 1, path);
	image->fd = openat(m->f->dir.fd, path + 1, O_RDONLY | O_CLOEXEC);
	assert_true(image->fd >= 0);
	image->root = &m->root;
	return image;
}

static const char *version_of(struct machine *m, struct image *program)
{
	static struct symbols_package p;

	p = (struct symbols_package){.program = program};
	assert_int_equal(symbols_find_packages(m->symbols, &p, 1), 0);
	return p.is_known ? p.version : NULL;
}

static void test_paths(void **state)
{
	static const struct {
		const char *path, *version;
	} rows[] = {
		{"/usr/bin/one", "1.0-1"}, {"/usr/sbin/two", "2:2.0"}, {"/usr/bin/none", ""},
		{"/usr/bin/gone", ""},     {"/sbin/three", "2:2.0"},   {"/opt/x/two", "2:2.0"},
	};
	struct machine m;

	machine_set_up(&m, *state, 0);
	put_status(&m);
	put_text(&m, INFO "one.list", "/.\n/usr\n/usr/bin/one\n");
	put_text(&m, INFO "two:amd64.list", "/sbin/two\n/opt/x/two\n/usr/sbin/three\n");
	put_text(&m, INFO "gone.list", "/usr/bin/gone\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup(image_unrefp) struct image *p = put_program(&m, 10 + i, rows[i].path);

		assert_string_equal(version_of(&m, p), rows[i].version);
	}
	machine_tear_down(&m);
}

/* What was replaced or deleted is not what the database has by now. */
static void test_replaced(void **state)
{
	struct machine m; /* goes after the images of its root */
	cleanup(image_unrefp) struct image *old = NULL, *new = NULL, *deleted = NULL;
	int dir;

	machine_set_up(&m, *state, 0);
	dir = m.f->dir.fd;
	put_status(&m);
	put_text(&m, INFO "one.list", "/usr/bin/one\n/usr/bin/deleted\n");
	old = put_program(&m, 10, "/usr/bin/one");
	assert_int_equal(renameat(dir, "usr/bin/one", dir, "usr/bin/one.dpkg-old"), 0);
	new = put_program(&m, 11, "/usr/bin/one");
	deleted = put_program(&m, 12, "/usr/bin/deleted");
	assert_int_equal(unlinkat(dir, "usr/bin/deleted", 0), 0);
	assert_string_equal(version_of(&m, old), "");
	assert_string_equal(version_of(&m, new), "1.0-1");
	assert_string_equal(version_of(&m, deleted), "");
	machine_tear_down(&m);
}

/* Of nothing, of half of it, and of a root that is closed or nowhere. */
static void test_no_database(void **state)
{
	struct machine m; /* goes after the images of its root */
	cleanup(image_unrefp) struct image *p = NULL;

	machine_set_up(&m, *state, 0);
	p = put_program(&m, 10, "/usr/bin/one");
	assert_string_equal(version_of(&m, p), "");
	put_text(&m, INFO "one.list", "/usr/bin/one\n");
	assert_string_equal(version_of(&m, p), "");
	put_status(&m);
	m.root.fd = -1;
	assert_string_equal(version_of(&m, p), "");
	p->root = NULL;
	assert_string_equal(version_of(&m, p), "");
	p->root = &m.root;
	m.root.fd = m.f->dir.fd;
	/* Where anybody may have mounted FUSE, nobody looks. */
	m.root.is_ours = false;
	m.root.may_have_fuse = true;
	assert_string_equal(version_of(&m, p), "");
	m.root.may_have_fuse = false;
	m.root.is_ours = true;
	assert_string_equal(version_of(&m, p), "1.0-1");
	machine_tear_down(&m);
}

/* A user may show the host's programs in a root with a database of his own. */
static void test_owners(void **state)
{
	struct machine m; /* goes after the images of its root */
	cleanup(image_unrefp) struct image *p = NULL;

	if (getuid())
		skip();
	machine_set_up(&m, *state, 0);
	p = put_program(&m, 10, "/usr/bin/one");
	put_text(&m, INFO "one.list", "/usr/bin/one\n");
	put_status(&m);
	assert_int_equal(fchownat(m.f->dir.fd, STATUS, 12345, 12345, 0), 0);
	assert_string_equal(version_of(&m, p), "");
	assert_int_equal(fchownat(m.f->dir.fd, "usr/bin/one", 12345, 12345, 0), 0);
	assert_string_equal(version_of(&m, p), "1.0-1");
	machine_tear_down(&m);
}

/* The machine's programs are its own, wherever they were seen; others have the versions there. */
static void test_host(void **state)
{
	struct machine m; /* goes after the images of its root */
	cleanup(image_unrefp) struct image *host = NULL, *guest = NULL;

	machine_set_up(&m, *state, 0);
	put_status(&m);
	put_text(&m, INFO "one.list", "/usr/bin/one\n/usr/bin/guest\n");
	host = put_program(&m, 10, "/usr/bin/one");
	put_text(&m, "usr/bin/guest", "another one");
	put_text(&m, "seen/" INFO "two.list", "/usr/bin/one\n/usr/bin/guest\n");
	put_text(&m, "seen/" STATUS, "Package: two\nStatus: install ok installed\nVersion: 3\n");
	m.host.fd = m.f->dir.fd;
	m.root.fd = openat(m.f->dir.fd, "seen", O_PATH | O_CLOEXEC);
	assert_string_equal(version_of(&m, host), "1.0-1");
	host->root = NULL;
	assert_string_equal(version_of(&m, host), "1.0-1");
	guest = make_image(11, IMAGE_FILE, "/usr/bin/guest", 0x11);
	put_text(&m, "seen/usr/bin/guest", "guest");
	guest->fd = openat(m.root.fd, "usr/bin/guest", O_RDONLY | O_CLOEXEC);
	guest->root = &m.root;
	assert_string_equal(version_of(&m, guest), "3");
	/* What the machine cannot say now, their own root may know. */
	m.host.slow_until_ns[MOUNT_ROOT_PACKAGES] = UINT64_MAX;
	assert_string_equal(version_of(&m, guest), "3");
	host->root = &m.root;
	assert_null(version_of(&m, host));
	close(m.root.fd);
	machine_tear_down(&m);
}

/* More than one search has room for, of two roots. */
static void test_many(void **state)
{
	struct symbols_package all[MANY] = {0};
	struct mount_root other;
	char list[MANY * 32] = "", path[32];
	size_t n[2] = {0};
	struct machine m;

	machine_set_up(&m, *state, 0);
	other = m.root;
	put_status(&m);
	for (size_t i = 0; i < MANY; i++) {
		snprintf(path, sizeof(path), "/usr/bin/p%zu", i);
		all[i].program = put_program(&m, 10 + i, path);
		all[i].program->root = i % 2 ? &m.root : &other;
		if (i % 3)
			strcat(strcat(list, path), "\n");
	}
	put_text(&m, INFO "two.list", list);
	assert_int_equal(symbols_find_packages(m.symbols, all, MANY), 0);
	for (size_t i = 0; i < MANY; i++) {
		const bool is_listed = (all[i].program->id - 10) % 3;

		assert_true(all[i].is_known);
		assert_string_equal(all[i].version, is_listed ? "2:2.0" : "");
		n[is_listed]++;
		image_unref(all[i].program);
	}
	assert_int_equal(n[0], 34);
	machine_tear_down(&m);
}

/* What takes too long is not known yet, and is left alone for a while. */
static void test_slow(void **state)
{
	struct machine m; /* goes after the images of its root */
	cleanup(image_unrefp) struct image *p = NULL;
	pid_t servant;

	machine_set_up(&m, *state, NS);
	p = put_program(&m, 10, "/usr/bin/one");
	put_text(&m, INFO "one.list", "/usr/bin/one\n");
	put_status(&m);
	servant = servant_of(child_of(getpid(), 0), 0);
	make(servant, SIGSTOP, 'T');
	assert_null(version_of(&m, p));
	await_end(servant);
	assert_null(version_of(&m, p));
	m.root.slow_until_ns[MOUNT_ROOT_PACKAGES] = 0;
	symbols_begin_window(m.symbols);
	assert_string_equal(version_of(&m, p), "1.0-1");
	machine_tear_down(&m);
}

static void test_places(void **state)
{
	static const char *const packaged[] = {"/usr/bin/x", "/bin/x", "/usr/lib/x/y", "/opt/x/y",
					       "/lib64/x"};
	static const char *const others[] = {
		"/usr/local/bin/x",       "/home/a/x", "/tmp/x", "x", "", "/usr/bin/a\nb",
		"(unreachable)/usr/bin/x"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(packaged); i++)
		assert_true(symbols_may_be_packaged(packaged[i]));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(symbols_may_be_packaged(others[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_paths, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_replaced, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_no_database, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_owners, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_host, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_many, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_slow, fixture_setup, fixture_teardown),
		cmocka_unit_test(test_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
