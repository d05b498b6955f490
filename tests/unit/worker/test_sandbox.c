/* SPDX-License-Identifier: MIT */
/* From inside the sandbox nothing is reached; and a worker that lives is in it. */
#include "tests/unit/worker/worker_fixture.h"

#include <spawn.h>

#include "daemon/worker/sandbox.h"

static void run_tries(const char *first, const char *second)
{
	char *const argv[] = {(char *)(uintptr_t) "sandbox_try", (char *)(uintptr_t)first,
			      (char *)(uintptr_t)second, NULL};
	int status = -1;
	pid_t pid;

	assert_int_equal(posix_spawn(&pid, TEST_PROGRAMS "/sandbox_try", NULL, NULL, argv, environ),
			 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_as_we_are(void **state)
{
	(void)state;
	run_tries(NULL, NULL);
}

static void test_as_nobody(void **state)
{
	(void)state;
	run_tries("--nobody", NULL);
}

static void test_without_filter(void **state)
{
	(void)state;
	run_tries("--unfiltered", NULL);
	run_tries("--unfiltered", "--nobody");
}

/* Only root can give itself another user's ambient capabilities. */
static void test_drops_capabilities(void **state)
{
	(void)state;
	if (geteuid() != 0)
		return;
	run_tries("--capable", NULL);
	run_tries("--capable", "--unfiltered");
}

/* The value of @field in the status of process @pid, as text. */
static void read_status(int pid, const char *field, char *ret, size_t size)
{
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	assert_non_null(f);
	snprintf(ret, size, "there is none");
	while (fgets(line, sizeof(line), f)) {
		size_t n = strlen(field);

		if (strncmp(line, field, n) == 0 && line[n] == ':') {
			snprintf(ret, size, "%s", line + n + 1 + strspn(line + n + 1, " \t"));
			ret[strcspn(ret, "\n")] = '\0';
		}
	}
	fclose(f);
}

static void assert_status(int pid, const char *field, const char *expected)
{
	char value[128];

	read_status(pid, field, value, sizeof(value));
	print_message("%s: %s\n", field, value);
	assert_string_equal(value, expected);
}

static void test_status(void **state)
{
	static const char *const sets[] = {"CapInh", "CapPrm", "CapEff", "CapAmb"};
	struct worker *w = new_worker();
	struct worker_request request = worker_request_of(WORKER_INSPECT, -1);
	struct worker_reply reply;
	char value[128];
	int pid;

	(void)state;
	request.files[WORKER_FILE_IMAGE] = open_file("/proc/self/exe");
	assert_int_equal(worker_query(w, &request, &reply), WORKER_E_OK);
	close(request.files[WORKER_FILE_IMAGE]);
	pid = worker_pid(w);
	assert_status(pid, "NoNewPrivs", "1");
	assert_status(pid, "Seccomp", "2");
	assert_status(pid, "Threads", "1");
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		assert_status(pid, sets[i], "0000000000000000");
	/* Others cannot empty their bounding set (sandbox.c), and do not change their ids. */
	if (geteuid() == 0) {
		assert_status(pid, "CapBnd", "0000000000000000");
		assert_status(pid, "Uid", "65534\t65534\t65534\t65534");
		assert_status(pid, "Gid", "65534\t65534\t65534\t65534");
		read_status(pid, "Groups", value, sizeof(value));
		assert_string_equal(value, "");
	}
	worker_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LEFTOVERS_TEST(test_as_we_are),      LEFTOVERS_TEST(test_as_nobody),
		LEFTOVERS_TEST(test_without_filter), LEFTOVERS_TEST(test_drops_capabilities),
		LEFTOVERS_TEST(test_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
