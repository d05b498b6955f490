/* SPDX-License-Identifier: MIT */
/*
 * The loader's worker is this program itself: one that answers, dies or lies as the file says that
 * it gets.
 */
#include "tests/unit/resolve/table_loader_fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/socket.h>

#include "common/worker/protocol.h"
#include "tests/support/temp_dir.h"

#define WORKER "PROFD_IMAGE_WORKER"

/* --- the worker that this program can be -------------------------------------------------------
 */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void send_answer(const struct worker_answer_header *answer)
{
	if (send(WORKER_SOCKET_FD, answer, sizeof(*answer), MSG_NOSIGNAL) < 0)
		_exit(9);
}

static void say_table(struct worker_answer_header *answer, const struct worker_table *table)
{
	answer->payload_length = sizeof(*table);
	if (pwrite(WORKER_ANSWER_FD, table, sizeof(*table), 0) != sizeof(*table))
		_exit(9);
	send_answer(answer);
}

/* The next request's id, and the beginning of its file. */
static uint64_t listen_to(char ret_text[8])
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control;
	struct worker_request_header request;
	struct iovec data = {.iov_base = &request, .iov_len = sizeof(request)};
	struct msghdr message = {.msg_iov = &data,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	int fd;

	if (recvmsg(WORKER_SOCKET_FD, &message, 0) != sizeof(request) || request.payload_length ||
	    request.kind != WORKER_TABLE || request.files != 1u << WORKER_FILE_IMAGE)
		_exit(0);
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	memset(ret_text, 0, 8);
	if (pread(fd, ret_text, 4, 0) < 0)
		_exit(9);
	close(fd);
	return request.id;
}

static _Noreturn void be_worker(const char *mode)
{
	struct worker_answer_header answer = {.magic = WORKER_MAGIC};

	if (strcmp(mode, "dies-at-once") == 0)
		_exit(3);
	send_answer(&answer);
	for (;;) {
		struct worker_table table;
		char text[8];

		memset(&table, 0, sizeof(table));
		table.state = TABLE_NO_CFI;
		answer = (struct worker_answer_header){.magic = WORKER_MAGIC,
						       .id = listen_to(text)};
		if (strcmp(text, "dies") == 0 || strcmp(mode, "dies-of-all") == 0)
			abort();
		if (strcmp(text, "lies") == 0)
			table.n_words = 1;
		if (strcmp(text, "bad!") == 0)
			answer.outcome = WORKER_MALFORMED;
		else if (strcmp(text, "big!") == 0)
			answer.outcome = WORKER_NO_MEMORY;
		else if (strcmp(text, "none") == 0)
			answer.outcome = WORKER_NOT_ELF;
		if (answer.outcome)
			send_answer(&answer);
		else
			say_table(&answer, &table);
		if (strcmp(text, "ends") == 0)
			_exit(5);
	}
}

/* Loaders that are made from now on have this program as their worker, by the name @mode. */
static void use_own_worker(struct temp_dir *dir, const char *mode)
{
	char path[256];

	temp_dir_make(dir);
	snprintf(path, sizeof(path), "%s/%s", dir->path, mode);
	assert_int_equal(symlink("/proc/self/exe", path), 0);
	assert_int_equal(setenv(WORKER, path, 1), 0);
}

static void use_real_worker(struct temp_dir *dir, const char *before)
{
	temp_dir_remove(dir);
	if (before)
		setenv(WORKER, before, 1);
	else
		unsetenv(WORKER);
}

/* --- the tests ---------------------------------------------------------------------------------
 */

struct fixture {
	struct temp_dir dir;
	char *before;
	struct table_loader *loader;
	struct table_loader_stats stats;
};

static void set_up(struct fixture *f, const char *mode)
{
	const char *before = getenv(WORKER);

	f->before = before ? strdup(before) : NULL;
	use_own_worker(&f->dir, mode);
	assert_int_equal(table_loader_new(&f->loader, MAX_WORDS, NULL), 0);
}

static void tear_down(struct fixture *f)
{
	table_loader_free(f->loader);
	use_real_worker(&f->dir, f->before);
	free(f->before);
}

static void request(struct fixture *f, struct image *image)
{
	assert_int_equal(table_loader_request(f->loader, image), 0);
}

/* The next result is @image's. */
static void assert_next(struct fixture *f, const struct image *image, enum table_state wanted)
{
	cleanup(table_result_freep) struct table_result *result = wait_result(f->loader);

	assert_ptr_equal(result->image, image);
	assert_int_equal(result->slot.state, wanted);
	assert_null(result->words);
	table_loader_get_stats(f->loader, &f->stats);
}

/*
 * Until the first table_loader_receive() the worker is at its probe, so all of these wait together:
 * small ones pass the large one, but those that came later than 10 others do not.
 */
static void test_ranks(void **state)
{
	cleanup(image_unrefp) struct image *large = image_with("large");
	struct image *small[30];
	struct fixture f;
	unsigned n = 0;

	(void)state;
	set_up(&f, "honest");
	large->size = 10 * 65536 + 65535;
	request(&f, large);
	for (unsigned i = 0; i < ARRAY_SIZE(small); i++) {
		small[i] = image_with("small");
		small[i]->size = i % 2 * 65535;
		request(&f, small[i]);
	}
	while (n < 9)
		assert_next(&f, small[n++], TABLE_NO_CFI);
	assert_next(&f, large, TABLE_NO_CFI);
	while (n < ARRAY_SIZE(small))
		assert_next(&f, small[n++], TABLE_NO_CFI);
	tear_down(&f);
	for (unsigned i = 0; i < ARRAY_SIZE(small); i++)
		image_unref(small[i]);
}

/* Many sizes, in a heap that grows and shrinks: always by rank. */
static void test_random_ranks(void **state)
{
	struct image *images[200];
	uint64_t ranks[200], last = 0;
	struct fixture f;

	(void)state;
	set_up(&f, "honest");
	srand(1);
	for (unsigned i = 0; i < ARRAY_SIZE(images); i++) {
		images[i] = image_with("x");
		images[i]->id = i;
		images[i]->size = (uint64_t)(rand() % 300) * 65536;
		ranks[i] = i + images[i]->size / 65536;
		request(&f, images[i]);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(images); i++) {
		cleanup(table_result_freep) struct table_result *result = wait_result(f.loader);
		uint64_t rank = ranks[result->image->id];

		assert_int_not_equal(rank, UINT64_MAX);
		assert_true(rank >= last);
		last = rank;
		ranks[result->image->id] = UINT64_MAX;
	}
	tear_down(&f);
	for (unsigned i = 0; i < ARRAY_SIZE(images); i++) {
		assert_int_equal(images[i]->n_references, 1);
		image_unref(images[i]);
	}
}

static void test_outcomes(void **state)
{
	cleanup(image_unrefp) struct image *bad = image_with("bad!"), *big = image_with("big!"),
					   *none = image_with("none"), *fine = image_with("fine");
	struct fixture f;

	(void)state;
	set_up(&f, "honest");
	request(&f, bad);
	request(&f, big);
	request(&f, none);
	request(&f, fine);
	assert_next(&f, bad, TABLE_REFUSED);
	assert_next(&f, big, TABLE_REFUSED);
	assert_next(&f, none, TABLE_NO_CFI);
	assert_next(&f, fine, TABLE_NO_CFI);
	assert_true(image_has_headers(bad));
	assert_null(image_elf(bad));
	assert_false(image_has_headers(big)); /* nobody knows */
	assert_true(image_has_headers(none));
	assert_int_equal(f.stats.bad_images, 0);
	assert_int_equal(f.stats.workers_died, 0);
	tear_down(&f);
}

/* The image at which the worker dies is bad, and only that; it is not asked for again. */
static void test_a_crafted_file(const char *text)
{
	cleanup(image_unrefp) struct image *first = image_with("fine"), *bad = image_with(text),
					   *after = image_with("fine"), *last = image_with("fine");
	struct fixture f;

	free((char *)bad->path);
	bad->path = strdup("/evil\n\x1b[31m");
	set_up(&f, "honest");
	request(&f, first);
	request(&f, bad);
	request(&f, after);
	request(&f, last);
	assert_next(&f, first, TABLE_NO_CFI);
	assert_int_equal(f.stats.workers_died, 0);
	assert_next(&f, bad, TABLE_REFUSED);
	assert_true(bad->is_bad);
	assert_int_equal(f.stats.workers_died, 1);
	assert_int_equal(f.stats.bad_images, 1);
	assert_non_null(strstr(f.stats.last_bad_image, "/evil"));
	assert_null(strpbrk(f.stats.last_bad_image, "\n\x1b"));
	assert_next(&f, after, TABLE_NO_CFI);
	assert_next(&f, last, TABLE_NO_CFI);
	request(&f, bad);
	request(&f, first);
	assert_next(&f, bad, TABLE_REFUSED);
	assert_next(&f, first, TABLE_NO_CFI);
	assert_false(first->is_bad || after->is_bad || last->is_bad);
	assert_int_equal(f.stats.workers_died, 1);
	assert_int_equal(f.stats.bad_images, 1);
	assert_string_equal(f.stats.trouble, "");
	tear_down(&f);
}

static void test_the_worker_dies(void **state)
{
	(void)state;
	test_a_crafted_file("dies");
}

static void test_the_worker_lies(void **state)
{
	(void)state;
	test_a_crafted_file("lies");
}

/* The other worker died of it while it waited here. */
static void test_bad_elsewhere(void **state)
{
	cleanup(image_unrefp) struct image *fine = image_with("fine"), *bad = image_with("dies");
	struct fixture f;

	(void)state;
	set_up(&f, "honest");
	request(&f, bad);
	request(&f, fine);
	atomic_store(&bad->is_bad, true);
	assert_next(&f, bad, TABLE_REFUSED);
	assert_next(&f, fine, TABLE_NO_CFI);
	assert_int_equal(f.stats.workers_died, 0);
	assert_int_equal(f.stats.bad_images, 0);
	tear_down(&f);
}

/* Twenty in a row: if the workers rested after each (worker.h), that would take minutes. */
static void test_many_crafted_files(void **state)
{
	cleanup(image_unrefp) struct image *fine = image_with("fine");
	struct image *bad[20];
	struct fixture f;

	(void)state;
	set_up(&f, "honest");
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		bad[i] = image_with("dies");
		request(&f, bad[i]);
	}
	request(&f, fine);
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		assert_next(&f, bad[i], TABLE_REFUSED);
	assert_next(&f, fine, TABLE_NO_CFI);
	assert_int_equal(f.stats.workers_died, ARRAY_SIZE(bad));
	assert_int_equal(f.stats.bad_images, ARRAY_SIZE(bad));
	tear_down(&f);
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		image_unref(bad[i]);
}

/* Nobody's fault: it ended with nothing to do. */
static void test_an_idle_worker_dies(void **state)
{
	cleanup(image_unrefp) struct image *ends = image_with("ends"), *fine = image_with("fine");
	struct table_result *result;
	struct pollfd ended;
	struct fixture f;

	(void)state;
	set_up(&f, "honest");
	request(&f, ends);
	assert_next(&f, ends, TABLE_NO_CFI);
	ended = (struct pollfd){.fd = table_loader_fd(f.loader), .events = POLLIN};
	assert_int_equal(poll(&ended, 1, 60000), 1);
	while (f.stats.workers_died == 0) {
		assert_int_equal(table_loader_receive(f.loader, &result), 0);
		assert_null(result);
		table_loader_get_stats(f.loader, &f.stats);
	}
	assert_int_equal(poll(&ended, 1, 0), 0);
	request(&f, fine);
	assert_next(&f, fine, TABLE_NO_CFI);
	assert_int_equal(f.stats.bad_images, 0);
	tear_down(&f);
}

/* What waits is there when a worker can be had at last. */
static void assert_waits(struct fixture *f, struct image *image)
{
	struct table_result *result;

	request(f, image);
	f->stats.trouble[0] = '\0';
	for (unsigned i = 0; i < 30000 && !f->stats.trouble[0]; i++) {
		assert_int_equal(table_loader_receive(f->loader, &result), 0);
		assert_null(result);
		table_loader_get_stats(f->loader, &f->stats);
		(void)!poll(NULL, 0, 1);
	}
	assert_string_not_equal(f->stats.trouble, "");
	assert_int_equal(f->stats.bad_images, 0);
	assert_false(image->is_bad);
}

static void test_no_worker(void **state)
{
	cleanup(image_unrefp) struct image *fine = image_with("fine");
	struct fixture f;
	char path[256];

	(void)state;
	set_up(&f, "honest");
	/* The one that it has begun with goes, and there is no other. */
	table_loader_free(f.loader);
	snprintf(path, sizeof(path), "%s/honest", f.dir.path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(table_loader_new(&f.loader, MAX_WORDS, NULL), 0);
	assert_waits(&f, fine);
	assert_int_equal(f.stats.worker, 0);
	assert_int_equal(symlink("/proc/self/exe", path), 0);
	assert_next(&f, fine, TABLE_NO_CFI);
	assert_string_equal(f.stats.trouble, "");
	tear_down(&f);
}

/* A worker that cannot do anything is no file's fault. */
static void test_useless_workers(void **state)
{
	static const char *const modes[] = {"dies-at-once", "dies-of-all"};

	(void)state;
	if (!getauxval(AT_SYSINFO_EHDR))
		return; /* no probe */
	for (unsigned i = 0; i < ARRAY_SIZE(modes); i++) {
		cleanup(image_unrefp) struct image *fine = image_with("fine");
		struct fixture f;

		set_up(&f, modes[i]);
		assert_waits(&f, fine);
		tear_down(&f);
		assert_int_equal(fine->n_references, 1);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranks),
		cmocka_unit_test(test_random_ranks),
		cmocka_unit_test(test_outcomes),
		cmocka_unit_test(test_the_worker_dies),
		cmocka_unit_test(test_the_worker_lies),
		cmocka_unit_test(test_bad_elsewhere),
		cmocka_unit_test(test_many_crafted_files),
		cmocka_unit_test(test_an_idle_worker_dies),
		cmocka_unit_test(test_no_worker),
		cmocka_unit_test(test_useless_workers),
	};

	if (argc > 0 && strncmp(argv[0], "profd-image-worker", 18) == 0)
		be_worker(base_name((const char *)getauxval(AT_EXECFN)));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
