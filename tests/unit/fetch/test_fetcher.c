/* SPDX-License-Identifier: MIT */
/* What a fetcher makes of whatever its gateway answers: it leaves no fd and no process behind. */
#include "tests/unit/fetch/fake_gateway.h"

#include <sys/stat.h>

#include "client/fetch/fetcher.h"
#include "tests/support/leftovers.h"
#include "tests/support/says.h"

static const uint8_t id[] = {0xab, 0xcd, 0xef};

static struct fetcher *new_fetcher(const char *mode, const char *dir)
{
	char urls[64];
	const struct fetcher_options options = {
		.path = "/proc/self/exe",
		.urls = urls,
		.cache_directory = dir,
	};
	struct fetcher *f = NULL;

	snprintf(urls, sizeof(urls), "http://%s", mode);
	assert_int_equal(fetcher_new(&f, &options), 0);
	assert_int_equal(fetcher_pid(f), 0);
	return f;
}

static int get_file(struct fetcher *f, const uint8_t *build_id, size_t length, int *ret_fd,
		    struct fetcher_message *message)
{
	int r = fetcher_send(f, build_id, length, message);

	return r ? r : fetcher_receive(f, ret_fd, message);
}

static void assert_get(const char *mode, int outcome, const char *says)
{
	struct fetcher *f = new_fetcher(mode, NULL);
	struct fetcher_message message = {{0}};
	int fd = -1, r;

	r = get_file(f, id, sizeof(id), &fd, &message);
	if (r != outcome)
		fail_msg("%s: %d, %s", mode, r, message.text);
	assert_int_equal(fd, -1);
	if (says)
		assert_says(message.text, says);
	fetcher_free(f);
}

static void test_file(void **state)
{
	struct fetcher *f = new_fetcher("file", NULL);
	struct fetcher_message message;
	char text[sizeof(FAKE_ELF)] = "";
	int fd = -1, pid;

	(void)state;
	assert_int_equal(get_file(f, id, sizeof(id), &fd, &message), FETCH_DONE);
	assert_int_equal(pread(fd, text, sizeof(text), 0), strlen(FAKE_ELF));
	assert_string_equal(text, FAKE_ELF);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	close(fd);
	/* The same process answers the next one. */
	pid = fetcher_pid(f);
	assert_int_equal(get_file(f, id, sizeof(id), &fd, &message), FETCH_DONE);
	assert_int_equal(fetcher_pid(f), pid);
	close(fd);
	fetcher_free(f);
}

static void test_other_outcomes(void **state)
{
	(void)state;
	assert_get("none", FETCH_NONE, NULL);
	assert_get("failed", FETCH_FAILED, "no answer");
	assert_get("refused", FETCH_REFUSED, "too large");
	assert_get("garbage", FETCH_REFUSED, "no ELF file");
	assert_get("empty", FETCH_REFUSED, "no ELF file");
	assert_get("large", FETCH_REFUSED, "larger than");
}

static void test_nonsense(void **state)
{
	(void)state;
	assert_get("short", FETCH_FAILED, "malformed answer");
	assert_get("magic", FETCH_FAILED, "malformed answer");
	assert_get("outcome", FETCH_FAILED, "malformed answer");
	assert_get("no file", FETCH_FAILED, "no file");
	assert_get("two", FETCH_FAILED, "no file");
	assert_get("writable", FETCH_FAILED, "no file");
	assert_get("folder", FETCH_FAILED, "no file");
	assert_get("text", FETCH_FAILED, "a?[1m?bxxx");
}

static void test_death(void **state)
{
	struct fetcher *f = new_fetcher("exit", NULL);
	struct fetcher_message message;
	int fd = -1;

	(void)state;
	assert_get("killed", FETCH_FAILED, "killed by signal 9");
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(get_file(f, id, sizeof(id), &fd, &message), FETCH_FAILED);
		assert_says(message.text, "status 7");
		assert_int_equal(fetcher_pid(f), 0);
	}
	fetcher_free(f);
}

/* Between two questions it may have ended: another is started. */
static void test_restart(void **state)
{
	struct fetcher *f = new_fetcher("once", NULL);
	struct fetcher_message message;
	siginfo_t info;
	int fd = -1;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(get_file(f, id, sizeof(id), &fd, &message), FETCH_DONE);
		close(fd);
		assert_int_equal(waitid(P_PID, (id_t)fetcher_pid(f), &info, WEXITED | WNOWAIT), 0);
	}
	fetcher_free(f);
}

static void test_no_program(void **state)
{
	const struct fetcher_options options = {.path = "/nowhere/profd-gateway"};
	struct fetcher_message message;
	struct fetcher *f;
	int fd = -1;

	(void)state;
	assert_int_equal(fetcher_new(&f, &options), 0);
	assert_int_equal(get_file(f, id, sizeof(id), &fd, &message), FETCH_FAILED);
	assert_says(message.text, "cannot start /nowhere/profd-gateway");
	assert_int_equal(get_file(f, id, 0, &fd, &message), FETCH_FAILED);
	assert_int_equal(get_file(f, id, FETCH_ID_MAX + 1, &fd, &message), FETCH_FAILED);
	fetcher_free(f);
}

static void test_two_steps(void **state)
{
	struct fetcher *f = new_fetcher("garbage", NULL);
	struct fetcher_message message;
	int fd = -1;

	(void)state;
	assert_int_equal(fetcher_fd(f), -1);
	assert_int_equal(fetcher_receive(f, &fd, &message), FETCH_FAILED);
	assert_int_equal(fetcher_send(f, id, sizeof(id), &message), FETCH_DONE);
	assert_true(fetcher_fd(f) >= 0);
	assert_int_equal(fetcher_send(f, id, sizeof(id), &message), -EBUSY);
	assert_int_equal(fetcher_receive(f, &fd, &message), FETCH_REFUSED);
	assert_int_equal(fetcher_fd(f), -1);
	fetcher_free(f);
	/* One that never answers is stopped. */
	f = new_fetcher("hang", NULL);
	assert_int_equal(fetcher_send(f, id, sizeof(id), &message), FETCH_DONE);
	fetcher_stop(f);
	assert_int_equal(fetcher_fd(f), -1);
	assert_int_equal(fetcher_pid(f), 0);
	assert_int_equal(fetcher_send(f, id, sizeof(id), &message), FETCH_DONE);
	fetcher_free(f);
}

/* The user's environment is for the user's fetches alone; the caller's servers never count. */
static void test_environment(void **state)
{
	char dir[] = "/tmp/profd-fetcher-XXXXXX", path[64];
	struct fetcher_message message;
	struct fetcher *f;
	int fd = -1;

	(void)state;
	assert_non_null(mkdtemp(dir));
	setenv("FAKE_VARIABLE", "is set", 1);
	setenv("DEBUGINFOD_URLS", "http://none", 1);
	assert_get("environment", FETCH_FAILED, "is set");
	f = new_fetcher("environment", dir);
	assert_int_equal(get_file(f, id, sizeof(id), &fd, &message), FETCH_FAILED);
	assert_string_equal(message.text, "unset");
	fetcher_free(f);
	unsetenv("FAKE_VARIABLE");
	unsetenv("DEBUGINFOD_URLS");
	snprintf(path, sizeof(path), "%s/asked", dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		LEFTOVERS_TEST(test_file),      LEFTOVERS_TEST(test_other_outcomes),
		LEFTOVERS_TEST(test_nonsense),  LEFTOVERS_TEST(test_death),
		LEFTOVERS_TEST(test_restart),   LEFTOVERS_TEST(test_no_program),
		LEFTOVERS_TEST(test_two_steps), LEFTOVERS_TEST(test_environment),
	};

	fake_gateway(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
