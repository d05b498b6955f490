/* SPDX-License-Identifier: MIT */
/* The whole of profctl against a daemon that answers what the test says: outputs, exit statuses. */
#include "client/profctl/profctl.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "client/profctl/table.h"
#include "common/cleanup.h"
#include "common/packet.h"
#include "common/unixsock.h"
#include "control.pb-c.h"
#include "tests/support/words.h"

struct world {
	char dir[32], socket[48];
	pid_t daemon;
	char *out, *err; /* of the last run */
	size_t out_size, err_size;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	strcpy(w->dir, "/tmp/test-profctl-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->socket, sizeof(w->socket), "%s/socket", w->dir);
	*state = w;
	return 0;
}

static void stop_daemon(struct world *w)
{
	if (!w->daemon)
		return;
	kill(w->daemon, SIGKILL);
	waitpid(w->daemon, NULL, 0);
	w->daemon = 0;
	unlink(w->socket);
}

static int teardown(void **state)
{
	struct world *w = *state;

	stop_daemon(w);
	assert_int_equal(rmdir(w->dir), 0);
	free(w->out);
	free(w->err);
	free(w);
	return 0;
}

/* A list of "nothing", which is empty whatever else is listed. */
static bool is_about_nothing(const uint8_t *data, size_t size)
{
	Profd__Control__Request *request = profd__control__request__unpack(NULL, size, data);
	bool is = request && request->verb_case == PROFD__CONTROL__REQUEST__VERB_LIST &&
		  strcmp(request->list->service, "nothing") == 0;

	profd__control__request__free_unpacked(request, NULL);
	return is;
}

/* A list of all services where something else is answered, too. */
static bool is_about_all(const Profd__Control__Response *answer, const uint8_t *data, size_t size)
{
	Profd__Control__Request *request = profd__control__request__unpack(NULL, size, data);
	bool is = request && request->verb_case == PROFD__CONTROL__REQUEST__VERB_LIST &&
		  answer->result_case != PROFD__CONTROL__RESPONSE__RESULT_LISTING;

	profd__control__request__free_unpacked(request, NULL);
	return is;
}

/* Answers each request with @answer; NULL: closes the connection instead. */
static void serve(int listening, const Profd__Control__Response *answer)
{
	static const uint8_t empty[] = {0x2a, 0}; /* a listing without rows */
	static const uint8_t one[] = {0x2a, 9, 0xa, 7, 0xa, 5, 'n', 'g', 'i', 'n', 'x'};
	uint8_t data[8192];
	size_t size = answer ? profd__control__response__pack(answer, data) : 0;

	for (;;) {
		cleanup(freep) uint8_t *request = NULL;
		cleanup(closep) int fd = accept(listening, NULL, NULL);
		size_t request_size;

		if (fd < 0)
			continue;
		if (unixsock_receive(fd, PACKET_REQUEST_MAX, 5000, &request, &request_size) ||
		    !answer)
			continue;
		if (is_about_nothing(request, request_size)) {
			unixsock_send(fd, empty, sizeof(empty), 5000);
			continue;
		}
		if (is_about_all(answer, request, request_size)) {
			unixsock_send(fd, one, sizeof(one), 5000);
			continue;
		}
		unixsock_send(fd, data, size, 5000);
		if (answer->result_case == PROFD__CONTROL__RESPONSE__RESULT_PATHS &&
		    answer->paths->bytes) {
			unixsock_send(fd, (const uint8_t *)"/c\0/", 4, 5000);
			unixsock_send(fd, (const uint8_t *)"d", answer->paths->bytes - 4, 5000);
		}
	}
}

static void start_daemon(struct world *w, const Profd__Control__Response *answer)
{
	cleanup(closep) int fd = -1;

	stop_daemon(w);
	assert_int_equal(unixsock_listen(w->socket, 0600, (gid_t)-1, &fd), UNIXSOCK_E_OK);
	w->daemon = fork();
	assert_true(w->daemon >= 0);
	if (w->daemon == 0) {
		alarm(60);
		serve(fd, answer);
	}
}

/* Runs `profctl --socket SOCKET LINE`. */
static int run(struct world *w, const char *line)
{
	struct environment environment = {0};
	struct words words;
	int status;
	FILE *out, *err;

	words_split(&words, "profctl --socket");
	words_add(&words, w->socket);
	words_add(&words, line);
	free(w->out);
	free(w->err);
	out = open_memstream(&w->out, &w->out_size);
	err = open_memstream(&w->err, &w->err_size);
	status = profctl_main(words.argc, words.argv, &environment, out, err);
	fclose(out);
	fclose(err);
	/* One line for what is wrong; none when nothing is. */
	if (status && status != STATUS_FAILED)
		assert_ptr_equal(strchr(w->err, '\n'), w->err + w->err_size - 1);
	return status;
}

static void test_answers(void **state)
{
	Profd__Control__Response text = PROFD__CONTROL__RESPONSE__INIT, paths = text, ok = text,
				 listing = text, vacuum = text;
	Profd__Control__Paths p = PROFD__CONTROL__PATHS__INIT;
	Profd__Control__Empty empty = PROFD__CONTROL__EMPTY__INIT;
	Profd__Control__Vacuumed freed = PROFD__CONTROL__VACUUMED__INIT;
	Profd__Control__Listing l = PROFD__CONTROL__LISTING__INIT;
	Profd__Control__ListingRow row = PROFD__CONTROL__LISTING_ROW__INIT, *rows[] = {&row};
	char *names[] = {(char[]){"/a"}, (char[]){"/b\"c\x9b"}};
	struct world *w = *state;

	text.result_case = PROFD__CONTROL__RESPONSE__RESULT_TEXT;
	text.text = (char[]){"s7"};
	start_daemon(w, &text);
	assert_int_equal(run(w, "start 1 2"), 0);
	assert_string_equal(w->out, "s7\ns7\n");
	assert_int_equal(run(w, "start --all --json"), 0);
	assert_string_equal(w->out, "{\n  \"id\": \"s7\"\n}\n");
	assert_int_equal(run(w, "start 1 2 --json"), 0);
	assert_string_equal(w->out,
			    "[\n  {\n    \"id\": \"s7\"\n  },\n  {\n    \"id\": \"s7\"\n  }\n]\n");
	assert_int_equal(run(w, "epoch"), 0);
	assert_string_equal(w->out, "s7\n");
	assert_string_equal(w->err, "");
	text.text = (char[]){"\x1b]0;\ta\n"};
	start_daemon(w, &text);
	assert_int_equal(run(w, "start 1"), 0);
	assert_string_equal(w->out, "?]0;?a?\n");
	assert_int_equal(run(w, "config"), 0);
	assert_string_equal(w->out, "?]0;\ta\n");
	paths.result_case = PROFD__CONTROL__RESPONSE__RESULT_PATHS;
	paths.paths = &p;
	p.paths = names;
	p.n_paths = 2;
	start_daemon(w, &paths);
	assert_int_equal(run(w, "stop s1"), 0);
	assert_string_equal(w->out, "/a\n/b\"c?\n");
	assert_int_equal(run(w, "flush --json"), 0);
	assert_string_equal(w->out,
			    "{\n  \"files\": [\n    \"/a\",\n    \"/b\\\"c\\ufffd\"\n  ]\n}\n");
	/* More of them follow, in pieces; the last one's end may be missing. */
	p.n_paths = 0;
	p.bytes = 6;
	start_daemon(w, &paths);
	assert_int_equal(run(w, "stop --all"), 0);
	assert_string_equal(w->out, "/c\n/d\n");
	p.bytes = 5;
	start_daemon(w, &paths);
	assert_int_equal(run(w, "stop s1 --json"), 0);
	assert_string_equal(w->out, "{\n  \"files\": [\n    \"/c\",\n    \"/d\"\n  ]\n}\n");
	p.bytes = 0;
	start_daemon(w, &paths);
	assert_int_equal(run(w, "stop s1"), 0);
	assert_string_equal(w->err, "profctl stop: no files: the session has no samples\n");
	ok.result_case = PROFD__CONTROL__RESPONSE__RESULT_OK;
	ok.ok = &empty;
	start_daemon(w, &ok);
	assert_int_equal(run(w, "pause"), 0);
	assert_int_equal(run(w, "resume"), 0);
	assert_string_equal(w->out, "");
	vacuum.result_case = PROFD__CONTROL__RESPONSE__RESULT_VACUUMED;
	vacuum.vacuumed = &freed;
	freed.files = 1;
	start_daemon(w, &vacuum);
	assert_int_equal(run(w, "vacuum"), 0);
	assert_string_equal(w->out, "freed 0 B: 1 file\n");
	listing.result_case = PROFD__CONTROL__RESPONSE__RESULT_LISTING;
	listing.listing = &l;
	l.n_rows = 1;
	l.rows = rows;
	row.service = (char[]){"cron.service"};
	row.file = (char[]){"services/x"};
	row.samples = 31;
	row.start_ns = UINT64_C(1795262400000000000);
	row.end_ns = row.start_ns + UINT64_C(60000000000);
	start_daemon(w, &listing);
	assert_int_equal(run(w, "list"), 0);
	assert_non_null(strstr(w->out, "cron.service"));
	assert_int_equal(run(w, "list -s cron.service --json"), 0);
	assert_non_null(strstr(w->out, "\"samples\": 31"));
	assert_non_null(strstr(w->out, "\"duration_seconds\": 60,"));
	assert_non_null(strstr(w->out, "\"started\": \"2026-11-21T12:00:00Z\""));
	assert_int_equal(run(w, "list -s nothing"), STATUS_FAILED);
	assert_string_equal(w->err, "profctl list: there are no samples of a service 'nothing'\n");
	l.n_rows = 0;
	start_daemon(w, &listing);
	assert_int_equal(run(w, "list --json"), 0);
	assert_string_equal(w->out, "[]\n");
	assert_string_equal(w->err, "");
	assert_int_equal(run(w, "list"), 0);
	assert_string_equal(w->out, "");
	assert_string_equal(w->err, "profctl list: the store has no windows\n");
	assert_int_equal(run(w, "list -s cron.service --since -10m"), 0);
	assert_string_equal(w->out, "");
	assert_string_equal(w->err, "profctl list: no windows for cron.service in this range; see "
				    "profctl list\n");
	assert_int_equal(run(w, "list -s ,"), STATUS_USAGE);
	assert_string_equal(w->err, "profctl list: an empty name in -s ,\n");
}

/* A service that is not there is told from the others before there are files of any. */
static void test_report_of_no_service(void **state)
{
	Profd__Control__Response response = PROFD__CONTROL__RESPONSE__INIT;
	Profd__Control__Status status = PROFD__CONTROL__STATUS__INIT;
	Profd__Control__Store store = PROFD__CONTROL__STORE__INIT;
	struct world *w = *state;

	response.result_case = PROFD__CONTROL__RESPONSE__RESULT_STATUS;
	response.status = &status;
	status.store = &store;
	store.path = w->dir;
	start_daemon(w, &response);
	assert_int_equal(run(w, "report -s ngnix --top"), STATUS_FAILED);
	assert_string_equal(w->err, "profctl report: there are no samples of a service 'ngnix'; "
				    "did you mean nginx?\n");
	assert_int_equal(run(w, "report -s nginx,httpd --top"), STATUS_FAILED);
	assert_non_null(strstr(w->err, "there are no samples of a service 'httpd'\n"));
	assert_int_equal(run(w, "collect -s nginx,httpd -o /dev/null"), STATUS_FAILED);
	assert_non_null(strstr(w->err, "there are no samples of a service 'httpd'\n"));
	assert_int_equal(run(w, "report -s nginx, --top"), STATUS_USAGE);
	assert_int_equal(run(w, "collect -s ,nginx -o /dev/null"), STATUS_USAGE);
	assert_string_equal(w->err, "profctl collect: an empty name in -s ,nginx\n");
}

/* It may come yet: there is a session of it, and a remark. */
static void test_start_of_no_service(void **state)
{
	Profd__Control__Response response = PROFD__CONTROL__RESPONSE__INIT;
	struct world *w = *state;

	response.result_case = PROFD__CONTROL__RESPONSE__RESULT_TEXT;
	response.text = (char[]){"s1"};
	start_daemon(w, &response);
	assert_int_equal(run(w, "start -s ngnix"), STATUS_DONE);
	assert_string_equal(w->out, "s1\n");
	assert_non_null(strstr(w->err, "profctl start: no process runs in a service 'ngnix'; "
				       "did you mean nginx"));
	assert_int_equal(run(w, "start 1"), STATUS_DONE);
	assert_string_equal(w->err, "");
}

/* Files of one process each are one line a window. */
static void test_windows(void **state)
{
	static const struct {
		const char *file, *format;
		uint64_t minute;
	} files[] = {
		{"a/1-60s.c-8.prof", "legacy", 0}, {"a/1-60s.d.e-9.prof", "legacy", 0},
		{"a/1-60s.pb.gz", "pprof", 0},     {"a/2-60s.x.y-3.prof", "legacy", 1},
		{"a/2-60s.pb.gz", "pprof", 1},
	};
	Profd__Control__Response listing = PROFD__CONTROL__RESPONSE__INIT;
	Profd__Control__Listing l = PROFD__CONTROL__LISTING__INIT;
	Profd__Control__ListingRow rows[ARRAY_SIZE(files)], *all[ARRAY_SIZE(files)];
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		profd__control__listing_row__init(&rows[i]);
		rows[i].file = (char *)(uintptr_t)files[i].file;
		rows[i].format = (char *)(uintptr_t)files[i].format;
		rows[i].start_ns = files[i].minute * UINT64_C(60000000000);
		rows[i].end_ns = rows[i].start_ns + UINT64_C(60000000000);
		rows[i].samples = 31;
		rows[i].bytes = 4096;
		all[i] = &rows[i];
	}
	listing.result_case = PROFD__CONTROL__RESPONSE__RESULT_LISTING;
	listing.listing = &l;
	l.n_rows = ARRAY_SIZE(files);
	l.rows = all;
	start_daemon(w, &listing);
	assert_int_equal(run(w, "list -s cron.service"), 0);
	assert_non_null(strstr(w->out, "pprof        31  4.0 KiB      1  a/1-60s.pb.gz\n"));
	assert_non_null(strstr(w->out, "legacy       62  8.0 KiB      2  a/1-60s.*.prof\n"));
	assert_non_null(strstr(w->out, "legacy       31  4.0 KiB      1  a/2-60s.x.y-3.prof\n"));
	assert_null(strstr(w->out, "d.e-9"));
}

/* Waiting time has a column where any is known. */
static void test_services_that_wait(void **state)
{
	Profd__Control__Response listing = PROFD__CONTROL__RESPONSE__INIT;
	Profd__Control__Listing l = PROFD__CONTROL__LISTING__INIT;
	Profd__Control__ListingRow rows[2], *all[2] = {&rows[0], &rows[1]};
	struct world *w = *state;

	for (size_t i = 0; i < 2; i++) {
		profd__control__listing_row__init(&rows[i]);
		rows[i].service = (char *)(uintptr_t)(i ? "b.service" : "a.service");
		rows[i].cpu_ns = (i ? 30 : 10) * UINT64_C(1000000000);
		rows[i].off_cpu_ns = i ? 0 : UINT64_C(12340000000);
	}
	listing.result_case = PROFD__CONTROL__RESPONSE__RESULT_LISTING;
	listing.listing = &l;
	l.n_rows = 2;
	l.rows = all;
	start_daemon(w, &listing);
	assert_int_equal(run(w, "list"), 0);
	assert_non_null(strstr(w->out, "SERVICE    CPU s  SHARE  OFF-CPU s"));
	assert_non_null(strstr(w->out, "\na.service   10.0  25.0%       12.3  "));
	assert_non_null(strstr(w->out, "\nb.service   30.0  75.0%        0.0  "));
	assert_true(strstr(w->out, "a.service") > strstr(w->out, "b.service"));
	assert_int_equal(run(w, "list --sort off-cpu"), 0);
	assert_true(strstr(w->out, "a.service") < strstr(w->out, "b.service"));
	assert_int_equal(run(w, "list --json"), 0);
	assert_non_null(strstr(w->out, "\"off_cpu_seconds\": 12.34,"));
	assert_string_equal(w->err, "");
}

/* Whose CPU time it was, the most first. */
static void test_services(void **state)
{
	static const struct {
		const char *service;
		uint64_t cpu_s, samples;
	} services[] = {{"a.service", 10, 990}, {"b.service", 30, 2970}, {"c.service", 0, 0}};
	Profd__Control__Response listing = PROFD__CONTROL__RESPONSE__INIT;
	Profd__Control__Listing l = PROFD__CONTROL__LISTING__INIT;
	Profd__Control__ListingRow rows[ARRAY_SIZE(services)], *all[ARRAY_SIZE(services)];
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(services); i++) {
		profd__control__listing_row__init(&rows[i]);
		rows[i].service = (char *)(uintptr_t)services[i].service;
		rows[i].cpu_ns = services[i].cpu_s * UINT64_C(1000000000);
		rows[i].samples = services[i].samples;
		rows[i].bytes = 1024 << i;
		all[i] = &rows[i];
	}
	listing.result_case = PROFD__CONTROL__RESPONSE__RESULT_LISTING;
	listing.listing = &l;
	l.n_rows = ARRAY_SIZE(services);
	l.rows = all;
	start_daemon(w, &listing);
	assert_int_equal(run(w, "list --since -1h"), 0);
	assert_non_null(strstr(w->out, "SERVICE    CPU s  SHARE"));
	assert_non_null(strstr(w->out, "\nb.service   30.0  75.0%  "));
	assert_non_null(strstr(w->out, "\na.service   10.0  25.0%  "));
	assert_true(strstr(w->out, "b.service") < strstr(w->out, "a.service"));
	assert_int_equal(run(w, "list --sort name"), 0);
	assert_true(strstr(w->out, "a.service") < strstr(w->out, "b.service"));
	assert_int_equal(run(w, "list --sort size"), 0);
	assert_true(strstr(w->out, "c.service") < strstr(w->out, "b.service"));
	assert_int_equal(run(w, "list --json"), 0);
	assert_non_null(strstr(w->out, "\"cpu_seconds\": 30,\n    \"share\": 0.75,"));
	assert_string_equal(w->err, "");
	assert_null(strstr(w->out, "OFF-CPU"));
	/* Several are listed as all are, with shares of all. */
	assert_int_equal(run(w, "list -s a,c"), 0);
	assert_non_null(strstr(w->out, "\na.service   10.0  25.0%  "));
	assert_null(strstr(w->out, "b.service"));
	assert_int_equal(run(w, "list -s b* --json"), 0);
	assert_non_null(strstr(w->out, "\"share\": 0.75,"));
	assert_null(strstr(w->out, "a.service"));
	assert_int_equal(run(w, "list -s x*"), STATUS_FAILED);
	assert_string_equal(w->err, "profctl list: there are no samples of a service 'x*'\n");
	assert_int_equal(run(w, "list -s a,d.service"), STATUS_FAILED); /* each of them */
	assert_string_equal(w->out, "");
	assert_non_null(strstr(w->err, "of a service 'd.service'; did you mean a.service"));
	/* Of events that are not time: shares of samples. Not all may have been counted. */
	rows[0].cpu_ns = rows[1].cpu_ns = 0;
	l.unread_files = 7;
	start_daemon(w, &listing);
	assert_int_equal(run(w, "list"), 0);
	assert_non_null(strstr(w->out, "\nb.service      -  75.0%  "));
	assert_non_null(strstr(w->err, "7 files were not counted yet"));
}

/* What does not fit is cut, and says so. */
static void test_table(void **state)
{
	cleanup(table_deinit) struct table t = TABLE_OF("~NAME", ">N", "~FILE");
	struct world *w = *state;
	FILE *out;

	table_cell(&t, "h\xc3\xa9llo-world");
	table_cell(&t, "7");
	table_cell(&t, "a/b/c");
	t.max = 16;
	free(w->out);
	out = open_memstream(&w->out, &w->out_size);
	assert_int_equal(table_print(&t, out), 0);
	t.max = 12;
	assert_int_equal(table_print(&t, out), 0);
	t.max = 0;
	assert_int_equal(table_print(&t, out), 0);
	fclose(out);
	assert_string_equal(w->out, "NAME    N  FILE\n"
				    "h\xc3\xa9llo~  7  a/b/c\n"
				    "NAME  N  FILE\n"
				    "h\xc3\xa9l~  7  ~b/c\n"
				    "NAME         N  FILE\n"
				    "h\xc3\xa9llo-world  7  a/b/c\n");
}

/* Columns that do not fit are left out, the last first, but for two: no line is broken. */
static void test_table_on_narrow_terminals(void **state)
{
	static const struct {
		size_t max;
		const char *text;
	} cases[] = {
		{42, "NAME                 CPU  FROM        SIZE\n"
		     "a-rather-long-na~    7.0  11-28 05:4     9\n"},
		{40, "NAME                  CPU  FROM      \n"
		     "a-rather-long-name    7.0  11-28 05:4\n"},
		{24, "NAME                 CPU\na-rather-long-na~    7.0\n"},
		{10, "NAME    CPU\na-r~    7.0\n"},
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup(table_deinit) struct table t = TABLE_OF("~NAME", ">  CPU", "FROM", ">SIZE");
		FILE *out;

		table_cell(&t, "a-rather-long-name");
		table_cell(&t, "7.0");
		table_cell(&t, "11-28 05:4");
		table_cell(&t, "9");
		t.max = cases[i].max;
		free(w->out);
		out = open_memstream(&w->out, &w->out_size);
		assert_int_equal(table_print(&t, out), 0);
		fclose(out);
		assert_string_equal(w->out, cases[i].text);
	}
}

static void test_errors(void **state)
{
	static const struct {
		Profd__Control__ErrorCode code;
		int status;
	} cases[] = {{PROFD__CONTROL__ERROR_CODE__FAILED, 1},
		     {PROFD__CONTROL__ERROR_CODE__USAGE, 2},
		     {PROFD__CONTROL__ERROR_CODE__DENIED, 4},
		     {(Profd__Control__ErrorCode)77, 1}};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		Profd__Control__Response response = PROFD__CONTROL__RESPONSE__INIT;
		Profd__Control__Error error = PROFD__CONTROL__ERROR__INIT;

		error.code = cases[i].code;
		error.message = (char[]){"why\x1b[2J not"};
		response.result_case = PROFD__CONTROL__RESPONSE__RESULT_ERROR;
		response.error = &error;
		start_daemon(w, &response);
		assert_int_equal(run(w, "status"), cases[i].status);
		assert_string_equal(w->err, "profctl status: why?[2J not\n");
		assert_string_equal(w->out, "");
	}
}

/* Whatever profd sends: nothing of it acts on a terminal. JSON has the same texts, escaped. */
static void test_texts_that_write_to_terminals(void **state)
{
	Profd__Control__Response response = PROFD__CONTROL__RESPONSE__INIT;
	Profd__Control__Listing listing = PROFD__CONTROL__LISTING__INIT;
	Profd__Control__ListingRow row = PROFD__CONTROL__LISTING_ROW__INIT, *rows[] = {&row};
	Profd__Control__Paths paths = PROFD__CONTROL__PATHS__INIT;
	char *path = (char[]){"/a\x1b[2J\nb\xc2\x9b\xe2\x80\xae"
			      "c"};
	struct world *w = *state;

	response.result_case = PROFD__CONTROL__RESPONSE__RESULT_PATHS;
	response.paths = &paths;
	paths.paths = &path;
	paths.n_paths = 1;
	start_daemon(w, &response);
	assert_int_equal(run(w, "flush"), 0);
	assert_string_equal(w->out, "/a?[2J?b??c\n");
	response.result_case = PROFD__CONTROL__RESPONSE__RESULT_TEXT;
	response.text = (char[]){"[store]\n\tgroup = \x1b]0;x\x07\n"};
	start_daemon(w, &response);
	assert_int_equal(run(w, "config"), 0);
	assert_string_equal(w->out, "[store]\n\tgroup = ?]0;x?\n");
	response.result_case = PROFD__CONTROL__RESPONSE__RESULT_LISTING;
	response.listing = &listing;
	listing.rows = rows;
	listing.n_rows = 1;
	row.service = (char[]){"s\x1b[2J"};
	start_daemon(w, &response);
	assert_int_equal(run(w, "list"), 0);
	assert_non_null(strstr(w->out, "s?[2J"));
	start_daemon(w, &response);
	assert_int_equal(run(w, "list --json"), 0);
	assert_non_null(strstr(w->out, "s\\u001b[2J"));
}

static void test_no_daemon(void **state)
{
	Profd__Control__Response wrong = PROFD__CONTROL__RESPONSE__INIT;
	Profd__Control__Empty empty = PROFD__CONTROL__EMPTY__INIT;
	struct world *w = *state;
	int fd;

	assert_int_equal(run(w, "status"), 3);
	assert_non_null(strstr(w->err, "no profd answers at"));
	/* A socket that a dead daemon left. */
	assert_int_equal(unixsock_listen(w->socket, 0600, (gid_t)-1, &fd), UNIXSOCK_E_OK);
	close(fd);
	assert_int_equal(run(w, "stop --all"), 3);
	unlink(w->socket);
	/* One that hangs up, one that answers something else. */
	start_daemon(w, NULL);
	assert_int_equal(run(w, "epoch"), 3);
	assert_non_null(strstr(w->err, "closed the connection"));
	wrong.result_case = PROFD__CONTROL__RESPONSE__RESULT_OK;
	wrong.ok = &empty;
	start_daemon(w, &wrong);
	assert_int_equal(run(w, "epoch"), 1);
	assert_non_null(strstr(w->err, "malformed reply"));
}

static void test_without_a_verb(void **state)
{
	struct world *w = *state;

	assert_int_equal(run(w, "--focus=main x.prof"), 2);
	assert_string_equal(w->err, "profctl: unknown option --focus; see profctl help\n");
	assert_int_equal(run(w, "--socket"), 2);
	assert_string_equal(w->err, "profctl: --socket needs an argument; see profctl help\n");
	assert_int_equal(run(w, "/ x.prof"), 2);
	assert_non_null(strstr(w->err, "no verb '/' in profctl"));
	assert_int_equal(run(w, "recrod"), 2);
	assert_string_equal(w->err, "profctl: there is no verb 'recrod'; try: profctl record\n");
	assert_int_equal(run(w, "help reprot"), 2);
	assert_non_null(strstr(w->err, "try: profctl report"));
	assert_int_equal(run(w, "li"), 2);
	assert_non_null(strstr(w->err, "no verb 'li' in profctl"));
}

static void test_usage_and_help(void **state)
{
	struct world *w = *state;

	assert_int_equal(run(w, "nonsense"), 2);
	assert_non_null(strstr(w->err, "no verb 'nonsense' in profctl " PROFD_VERSION));
	assert_int_equal(run(w, "status now"), 2);
	assert_non_null(strstr(w->err, "profctl help status"));
	assert_int_equal(run(w, "--user status"), 2);
	assert_int_equal(run(w, "help nonsense"), 2);
	assert_int_equal(run(w, "help help"), 0);
	assert_int_equal(run(w, "help --help"), 0);
	assert_non_null(strstr(w->out, "\n  help  "));
	assert_int_equal(run(w, "--version"), 0);
	assert_string_equal(w->out, "profctl " PROFD_VERSION "\n");
	assert_int_equal(run(w, "help"), 0);
	for (const struct verb *verb = verbs; verb->name; verb++) {
		char line[64];

		/* In the list of some task. */
		assert_int_equal(run(w, "help"), 0);
		snprintf(line, sizeof(line), "\n  %-9s  ", verb->name);
		assert_non_null(strstr(w->out, line));
		snprintf(line, sizeof(line), "help %s", verb->name);
		assert_int_equal(run(w, line), 0);
		assert_non_null(strstr(w->out, "\nExample"));
		snprintf(line, sizeof(line), "%s --help", verb->name);
		assert_int_equal(run(w, line), 0);
		assert_non_null(strstr(w->out, verb->name));
	}
}

/* Which socket: option, then environment, then the system's; --user for one's own. */
static void test_which_socket(void **state)
{
	struct environment environment = {.socket = "/from-environment"};
	char *plain[] = {(char[]){"profctl"}, (char[]){"epoch"}};
	char *user[] = {(char[]){"profctl"}, (char[]){"--user"}, (char[]){"epoch"}};
	struct world *w = *state;

	for (int i = 0; i < 3; i++) {
		const char *const paths[] = {"/from-environment", SYSTEM_SOCKET,
					     "/run-x/profd/control.sock"};
		FILE *out, *err;

		free(w->out);
		free(w->err);
		out = open_memstream(&w->out, &w->out_size);
		err = open_memstream(&w->err, &w->err_size);
		if (i == 1)
			environment.socket = access(SYSTEM_SOCKET, F_OK) ? "" : "/from-environment";
		environment.user.runtime_dir = "/run-x";
		assert_int_equal(profctl_main(i == 2 ? 3 : 2, i == 2 ? user : plain, &environment,
					      out, err),
				 3);
		fclose(out);
		fclose(err);
		if (i != 1 || !*environment.socket)
			assert_non_null(strstr(w->err, paths[i]));
		assert_true((i == 2) == !!strstr(w->err, "systemctl --user start profd"));
	}
}

static void test_full_disk(void **state)
{
	static const char *const words[] = {"help", "--help", "--version"};
	struct environment environment = {0};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		char *argv[] = {(char[]){"profctl"}, (char *)(uintptr_t)words[i]};
		FILE *out = fopen("/dev/full", "w"), *err;

		assert_non_null(out);
		free(w->err);
		err = open_memstream(&w->err, &w->err_size);
		assert_int_equal(profctl_main(2, argv, &environment, out, err), 1);
		fclose(err);
		fclose(out);
		assert_non_null(strstr(w->err, "cannot be written"));
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_answers),
		TEST(test_windows),
		TEST(test_services),
		TEST(test_services_that_wait),
		TEST(test_report_of_no_service),
		TEST(test_start_of_no_service),
		TEST(test_table),
		TEST(test_table_on_narrow_terminals),
		TEST(test_errors),
		TEST(test_texts_that_write_to_terminals),
		TEST(test_no_daemon),
		TEST(test_usage_and_help),
		TEST(test_which_socket),
		TEST(test_full_disk),
		TEST(test_without_a_verb),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
