/* SPDX-License-Identifier: MIT */
/* The socket itself: whose it is, and what stands in its place. */
#include "tests/unit/control/listener_fixture.h"

static void test_second_listener(void **state)
{
	struct world *w = *state;
	struct listener_options options = options_of(w);
	struct listener *second;

	assert_int_equal(listener_new(&second, w->loop, &options), UNIXSOCK_E_IN_USE);
	expect_serving(w);
	options.path = "";
	assert_int_equal(listener_new(&second, w->loop, &options), UNIXSOCK_E_BAD_PATH);
	options.path = "/nonexistent-folder/x";
	assert_int_equal(listener_new(&second, w->loop, &options), -ENOENT);
}

/* A socket that nobody listens on is replaced; a file that is no socket never is. */
static void test_stale_socket(void **state)
{
	struct world *w = *state;
	struct listener_options options;
	struct listener *other = NULL;
	char path[64];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/stale", w->dir);
	assert_int_equal(unixsock_listen(path, 0600, (gid_t)-1, &fd), UNIXSOCK_E_OK);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	close(fd);
	options = options_of(w);
	options.path = path;
	options.mode = 0640;
	assert_int_equal(listener_new(&other, w->loop, &options), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	listener_free(other);
	assert_int_equal(access(path, F_OK), -1);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	close(fd);
	assert_int_equal(listener_new(&other, w->loop, &options), UNIXSOCK_E_IN_USE);
	assert_int_equal(unlink(path), 0);
}

static void test_passed_socket(void **state)
{
	struct world *w = *state;
	struct listener_options options = options_of(w);
	struct listener *passed;
	char path[64];
	int fd, connected;

	snprintf(path, sizeof(path), "%s/passed", w->dir);
	assert_int_equal(unixsock_listen(path, 0600, (gid_t)-1, &fd), UNIXSOCK_E_OK);
	options.fd = fd;
	assert_int_equal(listener_new(&passed, w->loop, &options), 0);
	assert_int_equal(unixsock_connect(path, &connected), UNIXSOCK_E_OK);
	expect_answer(w, connected);
	close(connected);
	listener_free(passed);
	/* It is the giver's: neither closed nor removed. */
	assert_true(fcntl(fd, F_GETFD) >= 0);
	assert_int_equal(access(path, F_OK), 0);
	close(fd);
	assert_int_equal(unlink(path), 0);
}

static void test_handed_over(void **state)
{
	struct world *w = *state;
	struct listener_options options = options_of(w);
	cleanup(closep) int before = -1, after = -1;
	struct listener *passed;
	char path[64], byte;
	int fd;

	snprintf(path, sizeof(path), "%s/passed", w->dir);
	assert_int_equal(unixsock_listen(path, 0600, (gid_t)-1, &fd), UNIXSOCK_E_OK);
	options.fd = fd;
	assert_int_equal(listener_new(&passed, w->loop, &options), 0);
	assert_int_equal(unixsock_connect(path, &before), UNIXSOCK_E_OK);
	expect_answer(w, before);
	assert_int_equal(listener_hand_over(passed), 0);
	assert_int_equal(unixsock_connect(path, &after), UNIXSOCK_E_OK);
	send_verb(after, PROFD__CONTROL__REQUEST__VERB_EPOCH);
	run(w, 5);
	expect_answer(w, before);
	assert_int_equal(recv(after, &byte, 1, MSG_PEEK | MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	listener_free(passed);
	assert_int_equal(listener_new(&passed, w->loop, &options), 0);
	run(w, 5);
	expect_text(after, "2611211200");
	listener_free(passed);
	close(fd);
	assert_int_equal(unlink(path), 0);
}

/* Its own socket ends with the listener: nobody would come for who waits there. */
static void test_nobody_to_hand_over_to(void **state)
{
	struct world *w = *state;

	assert_int_equal(listener_hand_over(w->listener), 0);
	expect_serving(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_second_listener),        TEST(test_stale_socket),
		TEST(test_passed_socket),          TEST(test_handed_over),
		TEST(test_nobody_to_hand_over_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
