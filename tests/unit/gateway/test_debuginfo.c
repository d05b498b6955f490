/* SPDX-License-Identifier: MIT */
/*
 * What profd wants comes, one file at a time, whatever the fetcher does. This program is the
 * fetcher as well (fake_gateway.h); what that was asked for lies in the file "asked".
 */
#include "tests/unit/fetch/fake_gateway.h"
#include "tests/unit/gateway/fake_profd.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <systemd/sd-event.h>

#include "client/gateway/debug_cache.h"
#include "client/gateway/debuginfo.h"

#define MS          UINT64_C(1000)
#define INTERVAL_NS UINT64_C(20000000)
#define PATIENCE_US UINT64_C(20000000) /* a test that waits longer fails */

struct world {
	char dir[40];
	sd_event *loop;
	struct debug_cache *cache;
	struct debuginfo *debuginfo;
	struct fake_profd *profd;
};

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	strcpy(w->dir, "/tmp/profd-debuginfo-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	assert_int_equal(debug_cache_open(&w->cache, w->dir, DEBUG_CACHE_MAX_BYTES), 0);
	assert_true(sd_event_new(&w->loop) >= 0);
	w->profd = fake_profd_new();
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;
	char command[64];

	debuginfo_free(w->debuginfo);
	sd_event_unref(w->loop);
	debug_cache_close(w->cache);
	fake_profd_free(w->profd);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	snprintf(command, sizeof(command), "rm -rf '%s'", w->dir);
	assert_int_equal(system(command), 0);
	free(w);
	return 0;
}

static void begin(struct world *w, const char *mode, const char *socket)
{
	char urls[64];
	const struct debuginfo_options options = {
		.cache_directory = w->dir,
		.socket = socket ? socket : w->profd->path,
		.urls = urls,
		.interval_ns = INTERVAL_NS,
	};

	snprintf(urls, sizeof(urls), "http://%s", mode);
	assert_int_equal(debuginfo_new(&w->debuginfo, w->loop, w->cache, &options), 0);
}

static void want(struct world *w, uint8_t first)
{
	const uint8_t id[] = {first, 0x01};

	fake_profd_want(w->profd, id, sizeof(id));
}

static bool has(struct world *w, uint8_t first)
{
	const uint8_t id[] = {first, 0x01};

	return debug_cache_has(w->cache, id, sizeof(id));
}

/* The build ids that were asked for, "0a01 0b01 ". */
static void read_asked(struct world *w, char *ret, size_t size)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/asked", w->dir);
	ret[0] = '\0';
	f = fopen(path, "re");
	if (!f)
		return;
	ret[fread(ret, 1, size - 1, f)] = '\0';
	fclose(f);
	for (char *c = ret; *c; c++)
		if (*c == '\n')
			*c = ' ';
}

static bool was_asked(struct world *w, const char *ids)
{
	char asked[1024];

	read_asked(w, asked, sizeof(asked));
	return strcmp(asked, ids) == 0;
}

static void assert_asked(struct world *w, const char *ids)
{
	char asked[1024];

	read_asked(w, asked, sizeof(asked));
	assert_string_equal(asked, ids);
}

/* Runs the loop until something is so. */
#define RUN_UNTIL(w, condition)                                                            \
	do {                                                                               \
		uint64_t left_us = PATIENCE_US;                                            \
		while (!(condition)) {                                                     \
			if (!left_us)                                                      \
				fail_msg("it never came to " #condition);                  \
			assert_true(sd_event_run((w)->loop, 10 * MS) >= 0);                \
			assert_int_equal(sd_event_get_state((w)->loop), SD_EVENT_INITIAL); \
			left_us -= left_us < 10 * MS ? left_us : 10 * MS;                  \
		}                                                                          \
	} while (0)

/* Some more questions to profd, and whatever follows from its answers. */
static void run_on(struct world *w)
{
	unsigned n = fake_profd_asked(w->profd) + 3;

	RUN_UNTIL(w, fake_profd_asked(w->profd) >= n);
}

static void test_files(void **state)
{
	static const uint8_t odd[64] = {0x0d};
	struct world *w = *state;

	/* No build ids of anybody's. */
	fake_profd_want(w->profd, odd, 0);
	fake_profd_want(w->profd, odd, 1);
	fake_profd_want(w->profd, odd, sizeof(odd));
	want(w, 0x0a);
	want(w, 0x0b);
	want(w, 0x0c);
	begin(w, "even", NULL);
	RUN_UNTIL(w, has(w, 0x0a) && has(w, 0x0c));
	assert_false(has(w, 0x0b));
	run_on(w);
	/* The fetcher ends when there is nothing to fetch. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	/* Once each; what comes up later is asked for then. */
	assert_asked(w, "0a01 0b01 0c01 ");
	want(w, 0x0e);
	RUN_UNTIL(w, has(w, 0x0e));
	run_on(w);
	assert_asked(w, "0a01 0b01 0c01 0e01 ");
}

/* What is there need not be fetched, even if nobody remembers that it was. */
static void test_is_there(void **state)
{
	struct world *w = *state;

	want(w, 0x0a);
	begin(w, "file", NULL);
	RUN_UNTIL(w, has(w, 0x0a));
	debuginfo_free(w->debuginfo);
	want(w, 0x0b);
	begin(w, "file", NULL);
	RUN_UNTIL(w, has(w, 0x0b));
	assert_asked(w, "0a01 0b01 ");
}

/* The one is remembered, the others are asked for. */
static void test_refused(void **state)
{
	static const char *const modes[] = {"garbage", "refused", "none"};

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct world *w;

		(void)state;
		set_up((void **)&w);
		want(w, 0x0a);
		want(w, 0x0b);
		begin(w, modes[i], NULL);
		RUN_UNTIL(w, was_asked(w, "0a01 0b01 "));
		run_on(w);
		assert_asked(w, "0a01 0b01 ");
		assert_false(has(w, 0x0a) || has(w, 0x0b));
		tear_down((void **)&w);
	}
}

/* Servers that do not answer rest, and profd is not asked meanwhile, either. */
static void test_failed(void **state)
{
	static const char *const modes[] = {"failed", "exit", "killed", "short", "writable"};

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct world *w;
		unsigned n;

		(void)state;
		set_up((void **)&w);
		want(w, 0x0a);
		want(w, 0x0b);
		begin(w, modes[i], NULL);
		RUN_UNTIL(w, was_asked(w, "0a01 "));
		for (unsigned k = 0; k < 20; k++)
			assert_true(sd_event_run(w->loop, INTERVAL_NS / 1000) >= 0);
		n = fake_profd_asked(w->profd);
		assert_int_equal(n, 1);
		assert_asked(w, "0a01 ");
		tear_down((void **)&w);
	}
}

/* While a server hangs the loop turns, and the end does not wait for it. */
static void test_hang(void **state)
{
	struct world *w = *state;

	want(w, 0x0a);
	begin(w, "hang", NULL);
	RUN_UNTIL(w, was_asked(w, "0a01 "));
	for (unsigned k = 0; k < 5; k++)
		assert_true(sd_event_run(w->loop, INTERVAL_NS / 1000) >= 0);
	assert_asked(w, "0a01 ");
}

static void test_profd_away(void **state)
{
	struct world *w = *state;

	want(w, 0x0a);
	fake_profd_set(w->profd, FAKE_CLOSE);
	begin(w, "file", NULL);
	run_on(w);
	fake_profd_set(w->profd, FAKE_ERROR);
	run_on(w);
	assert_asked(w, "");
	fake_profd_set(w->profd, FAKE_IDS);
	RUN_UNTIL(w, has(w, 0x0a));
	debuginfo_free(w->debuginfo);
	w->debuginfo = NULL;
	begin(w, "file", "/nowhere/control.sock");
	for (unsigned k = 0; k < 5; k++)
		assert_true(sd_event_run(w->loop, INTERVAL_NS / 1000) >= 0);
}

#define DEBUGINFO_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		DEBUGINFO_TEST(test_files),     DEBUGINFO_TEST(test_is_there),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_failed),
		DEBUGINFO_TEST(test_hang),      DEBUGINFO_TEST(test_profd_away),
	};

	fake_gateway(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
