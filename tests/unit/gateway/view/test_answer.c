/* SPDX-License-Identifier: MIT */
/* What a viewer makes of profiles, without its confinement. */
#include "client/gateway/view/answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/gateway/http/credentials.h"
#include "client/gateway/view/view_protocol.h"
#include "common/clock.h"
#include "common/helper/memory_file.h"
#include "common/memory_text.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"
#include "common/profile/sample_times.h"
#include "common/utf8.h"

#define NOW    (UINT64_C(1795262400) * NS_PER_S)
#define BUCKET (UINT64_C(17952618000)) /* the first one of the profile */

struct fixture {
	struct profile *p;
	char *text; /* of the last answer */
	size_t length;
	struct answer_message message;
	enum view_task task;
	/* Of the source that is with the question: */
	enum view_source source;
	const char *code;
	int64_t code_changed_s;
};

static uint32_t text_of(struct fixture *f, const char *text)
{
	uint32_t string;

	assert_int_equal(profile_add_text(f->p, text, &string), 0);
	return string;
}

static void new_profile(struct fixture *f)
{
	profile_free(f->p);
	assert_int_equal(profile_new(&f->p), 0);
	assert_int_equal(profile_add_sample_type(f->p, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(f->p, "cpu", "nanoseconds"), 0);
	f->p->time_ns = (int64_t)(NOW - 600 * NS_PER_S);
	f->p->duration_ns = 60 * (int64_t)NS_PER_S;
}

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){0};
	new_profile(&f);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	profile_free(f->p);
	free(f->text);
	return 0;
}

static uint32_t location_of(struct fixture *f, const char *function, int64_t line)
{
	const struct profile_function wanted = {.name = text_of(f, function),
						.filename = text_of(f, "/src/a.c")};
	struct profile_line at = {.line = line};
	uint32_t location;

	assert_int_equal(profile_add_function(f->p, &wanted, &at.function), 0);
	assert_int_equal(
		profile_add_location(f->p, PROFILE_NONE, (uint64_t)line, &at, 1, &location), 0);
	return location;
}

/* A stack of one function, whose first line is @first. */
static void add_line(struct fixture *f, const char *function, int64_t first, int64_t line)
{
	const struct profile_function wanted = {.name = text_of(f, function),
						.filename = text_of(f, "/src/a.c"),
						.start_line = first};
	struct profile_label pid = {.key = text_of(f, "pid"), .num = 1};
	struct profile_line at = {.line = line};
	const int64_t values[2] = {1, 10};
	uint32_t location;

	assert_int_equal(profile_add_function(f->p, &wanted, &at.function), 0);
	assert_int_equal(profile_add_location(f->p, PROFILE_NONE, 1, &at, 1, &location), 0);
	assert_int_equal(profile_add_sample(f->p, &location, 1, values, &pid, 1), 0);
}

/* @stack: functions, the root first, with ";"; @comm: a label, or NULL. */
static void add_stack(struct fixture *f, const char *stack, int64_t n, const char *comm,
		      int64_t pid)
{
	char *copy = strdup(stack), *rest = copy, *name;
	uint32_t frames[16], n_frames = 0;
	struct profile_label labels[2] = {{.key = text_of(f, "pid"), .num = pid}};
	const int64_t values[2] = {n, n * 10};

	while ((name = strsep(&rest, ";"))) {
		memmove(frames + 1, frames, n_frames++ * sizeof(*frames));
		frames[0] = location_of(f, name, (int64_t)strlen(name) * 10);
	}
	if (comm)
		labels[1] = (struct profile_label){.key = text_of(f, "comm"),
						   .str = text_of(f, comm)};
	assert_int_equal(profile_add_sample(f->p, frames, n_frames, values, labels, comm ? 2 : 1),
			 0);
	free(copy);
}

static int file_of(const struct profile *p)
{
	uint8_t *data;
	size_t length;
	int fd;

	assert_int_equal(pprof_write(p, 1, &data, &length), 0);
	fd = memory_file_of("test", data, length);
	assert_true(fd >= 0);
	free(data);
	return fd;
}

static int source_of(const struct fixture *f)
{
	int fd = memfd_create("source", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, f->code, strlen(f->code)), strlen(f->code));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* Of the profile, and of @base or NULL. */
static int ask_view(struct fixture *f, enum question_view view, const char *query,
		    const struct profile *base)
{
	int files[VIEW_FILES_MAX] = {file_of(f->p), base ? file_of(base) : -1};
	struct view_request request = {.n_files = base ? 2 : 1, .n_windows = 3, .task = f->task};
	struct memory_text text = {0};
	struct http_message message;
	static struct http_target target;
	char raw[2100];
	int r;

	snprintf(raw, sizeof(raw), "/api/x?since=-1h&%s", query);
	assert_int_equal(http_target_parse(raw, strlen(raw), &target), HTTP_TARGET_E_OK);
	assert_int_equal(question_parse(&target, view, NOW, &request.question, &message), 0);
	assert_int_equal(memory_text_open(&text), 0);
	f->message.text[0] = '\0';
	request.source = f->source;
	request.source_changed_s = f->code_changed_s;
	snprintf(request.source_why, sizeof(request.source_why), "%s", "no such file here");
	if (f->source == VIEW_SOURCE_OPEN)
		files[request.n_files++] = source_of(f);
	r = answer_write(&request, files, text.out, &f->message);
	assert_int_equal(memory_text_close(&text), 0);
	free(f->text);
	f->text = text.text;
	f->length = text.length;
	for (size_t i = 0; i < request.n_files; i++)
		close(files[i]);
	return r;
}

static void expect(const struct fixture *f, const char *part)
{
	if (!strstr(f->text, part))
		fail_msg("\"%.2000s\" does not have \"%s\"", f->text, part);
}

static void test_head(void **state)
{
	struct fixture *f = *state;

	add_stack(f, "main;work", 3, "a", 1);
	assert_int_equal(ask_view(f, QUESTION_TOP, "", NULL), 0);
	expect(f, "{\"since_ms\":1795261800000,\"until_ms\":1795261860000,\"total\":30,"
		  "\"base_total\":0,\"unit\":\"nanoseconds\",\"type\":\"cpu\","
		  "\"types\":[\"samples\",\"cpu\"],\"samples\":3,\"complete_share\":1.000000,"
		  "\"guessed_share\":0.000000,"
		  "\"command\":\"profctl report --text ");
	expect(f, "\"windows\":3,\"truncated\":false,");
	assert_int_equal(ask_view(f, QUESTION_TOP, "type=samples", NULL), 0);
	expect(f, "\"total\":3,");
	assert_int_equal(ask_view(f, QUESTION_TOP, "type=bytes", NULL), 400);
	assert_int_equal(ask_view(f, QUESTION_TOP, "focus=(", NULL), 400);
}

/* Of thread @tid; @n ns, as so many samples. */
static void add_wait(struct fixture *f, const char *stack, int64_t n, const char *wait, int64_t tid)
{
	char *copy = strdup(stack), *rest = copy, *name;
	uint32_t frames[16], n_frames = 0;
	const struct profile_label labels[] = {
		{.key = text_of(f, "tid"), .num = tid},
		{.key = text_of(f, "state"), .str = text_of(f, "sleep")},
		{.key = text_of(f, "wait"), .str = text_of(f, wait)},
	};
	const int64_t values[3] = {n, 0, n};

	while ((name = strsep(&rest, ";"))) {
		memmove(frames + 1, frames, n_frames++ * sizeof(*frames));
		frames[0] = location_of(f, name, 10);
	}
	assert_int_equal(profile_add_sample(f->p, frames, n_frames, values, labels, 3), 0);
	free(copy);
}

static void test_waits(void **state)
{
	struct fixture *f = *state;
	const int64_t cpu[3] = {3, 30, 0};
	uint32_t work;

	assert_int_equal(profile_add_sample_type(f->p, "off_cpu", "nanoseconds"), 0);
	assert_int_equal(profile_add_text(f->p, "cpu", &f->p->default_sample_type), 0);
	work = location_of(f, "work", 10);
	assert_int_equal(profile_add_sample(f->p, &work, 1, cpu, NULL, 0), 0);
	add_wait(f, "main;get;read", 5, "read", 1);
	add_wait(f, "main;loop;epoll_wait", 200, "epoll_wait", 2);

	assert_int_equal(ask_view(f, QUESTION_TOP, "", NULL), 0);
	expect(f, "\"total\":30,\"base_total\":0,\"unit\":\"nanoseconds\",\"type\":\"cpu\","
		  "\"types\":[\"samples\",\"cpu\",\"off_cpu\",\"wall\"],"
		  "\"idle\":{\"ns\":0,\"threads\":0,\"at_least\":false},");
	expect(f, "\"samples\":3,"); /* of CPU time: waits are none of them */
	expect(f, "\"n_rows\":1,");
	assert_int_equal(ask_view(f, QUESTION_TOP, "type=wall", NULL), 0);
	expect(f, "\"samples\":8,");
	expect(f, "\"total\":35,");
	expect(f, "\"type\":\"wall\"");
	expect(f, "\"idle\":{\"ns\":200,\"threads\":1,\"at_least\":false},");
	expect(f, "--sample_index=wall");
	assert_null(strstr(f->text, "epoll_wait"));
	assert_int_equal(ask_view(f, QUESTION_TOP, "type=wall&idle=true", NULL), 0);
	expect(f, "\"total\":235,");
	expect(f, "--sample_index=wall --idle");
	expect(f, "{\"function\":\"epoll_wait\"");
	assert_int_equal(ask_view(f, QUESTION_TOP, "type=off_cpu&tag=tid:1", NULL), 0);
	expect(f, "\"total\":5,");
	expect(f, "\"samples\":5,");
	/* A flame graph has all values, or of one what of it is waiting. */
	assert_int_equal(ask_view(f, QUESTION_FLAME, "", NULL), 0);
	expect(f, "\"type\":\"off_cpu\",\"unit\":\"nanoseconds\",\"total\":5,");
	expect(f, "\"type\":\"wall\",\"unit\":\"nanoseconds\",\"total\":35,");
	assert_null(strstr(f->text, "is_part"));
	assert_int_equal(ask_view(f, QUESTION_FLAME, "type=wall", NULL), 0);
	expect(f, "\"type\":\"off_cpu\",\"unit\":\"nanoseconds\",\"total\":0,\"is_part\":true,");
	assert_int_equal(ask_view(f, QUESTION_SANDWICH, "type=wall&function=get", NULL), 0);
	expect(f, "\"is_part\":true,");
	/* Others have neither. */
	new_profile(f);
	add_stack(f, "main;work", 3, "a", 1);
	assert_int_equal(ask_view(f, QUESTION_TOP, "type=wall", NULL), 400);
	assert_int_equal(ask_view(f, QUESTION_TOP, "", NULL), 0);
	assert_null(strstr(f->text, "idle"));
}

static void test_top(void **state)
{
	struct fixture *f = *state;

	add_stack(f, "main;work", 3, "a", 1);
	add_stack(f, "main;rest;work;work", 2, "a", 1);
	add_stack(f, "main", 4, "b", 2);
	assert_int_equal(ask_view(f, QUESTION_TOP, "", NULL), 0);
	expect(f, "\"rows\":[{\"function\":\"work\",\"file\":\"/src/a.c\",\"module\":\"\","
		  "\"kind\":\"native\",\"self\":50,\"cum\":50},{\"function\":\"main\",\"file\":"
		  "\"/src/a.c\",\"module\":\"\",\"kind\":\"native\",\"self\":40,\"cum\":90},"
		  "{\"function\":\"rest\",");
	/* By what they cost with what they call. */
	assert_int_equal(ask_view(f, QUESTION_TOP, "limit=1", NULL), 0);
	expect(f, "\"truncated\":true,\"n_rows\":3,\"rows\":[{\"function\":\"main\",");
}

static void test_filters(void **state)
{
	struct fixture *f = *state;

	add_stack(f, "main;work", 3, "a", 1);
	add_stack(f, "main;rest", 2, "b", 2);
	add_stack(f, "main;rest", 4, "c", 3);
	assert_int_equal(ask_view(f, QUESTION_TOP, "tag=comm:a", NULL), 0);
	expect(f, "\"total\":30,");
	assert_int_equal(ask_view(f, QUESTION_TOP, "tag=comm:a&tag=comm:b", NULL), 0);
	expect(f, "\"total\":50,");
	assert_int_equal(ask_view(f, QUESTION_TOP, "tag=comm:a&tag=pid:2", NULL), 0);
	expect(f, "\"total\":0,");
	assert_int_equal(ask_view(f, QUESTION_TOP, "tag=pid:2", NULL), 0);
	expect(f, "\"total\":20,");
	assert_int_equal(ask_view(f, QUESTION_TOP, "focus=work&focus=nothing", NULL), 0);
	expect(f, "\"samples\":3,");
	assert_int_equal(ask_view(f, QUESTION_TOP, "hide=work&hide=rest", NULL), 0);
	expect(f, "\"n_rows\":1,\"rows\":[{\"function\":\"main\",\"file\":\"/src/a.c\","
		  "\"module\":\"\",\"kind\":\"native\",\"self\":90");
}

static void test_comparison(void **state)
{
	struct fixture *f = *state, base = {0};

	new_profile(&base);
	base.p->time_ns -= 3600 * (int64_t)NS_PER_S;
	add_stack(&base, "main;work", 5, "a", 1);
	add_stack(f, "main;work", 3, "a", 1);
	add_stack(f, "main;rest", 2, "a", 1);
	assert_int_equal(ask_view(f, QUESTION_TOP, "base_since=-2h", base.p), 0);
	/* When and how many: without the base. */
	expect(f, "{\"since_ms\":1795261800000,\"until_ms\":1795261860000,");
	expect(f, "\"samples\":5,");
	expect(f, "\"total\":50,\"base_total\":50,");
	expect(f, "{\"function\":\"work\",\"file\":\"/src/a.c\",\"module\":\"\",\"kind\":"
		  "\"native\",\"self\":30,\"cum\":30,\"base_self\":50,\"base_cum\":50}");
	assert_int_equal(ask_view(f, QUESTION_FLAME, "base_since=-2h", base.p), 0);
	expect(f, "\"base\":[");
	profile_free(base.p);
}

static void test_sandwich(void **state)
{
	struct fixture *f = *state;

	add_stack(f, "main;x;f;leaf", 3, NULL, 1);
	add_stack(f, "main;y;f;f;leaf", 2, NULL, 1);
	add_stack(f, "main;y", 1, NULL, 1);
	assert_int_equal(ask_view(f, QUESTION_SANDWICH, "function=f", NULL), 0);
	/* From f up: f, x, main, y, main; from f down: f, leaf, f, leaf. */
	expect(f, "\"depth\":[0,1,2,1,2]");
	expect(f, "\"depth\":[0,1,1,2]");
	expect(f, "\"self\":[0,0,30,0,20]");
	expect(f, "\"self\":[0,30,0,20]");
	assert_int_equal(ask_view(f, QUESTION_SANDWICH, "function=nothing", NULL), 0);
	expect(f, "\"depth\":[]");
}

static void test_source(void **state)
{
	struct fixture *f = *state;

	add_stack(f, "main;f", 3, NULL, 1);
	add_stack(f, "main;f;f", 2, NULL, 1);
	assert_int_equal(ask_view(f, QUESTION_SOURCE, "function=f", NULL), 0);
	expect(f, "\"file\":\"/src/a.c\"");
	expect(f, "\"lines\":[{\"n\":10,\"text\":null,\"self\":50,\"cum\":50}]");
	assert_int_equal(ask_view(f, QUESTION_SOURCE, "function=g", NULL), 0);
	expect(f, "\"reason\":\"no samples of this function\",\"remark\":null,\"lines\":[]");
}

/* Lines 5 to 15 are around the only one with samples, 10. */
static void test_source_text(void **state)
{
	struct fixture *f = *state;
	char code[4000];

	add_stack(f, "main;f", 3, NULL, 1);
	f->task = VIEW_SOURCE;
	assert_int_equal(ask_view(f, QUESTION_SOURCE, "function=f", NULL), 0);
	assert_string_equal(f->text, "/src/a.c");
	assert_int_equal(ask_view(f, QUESTION_SOURCE, "function=g", NULL), 0);
	assert_string_equal(f->text, "");
	f->task = VIEW_QUESTION;
	f->source = VIEW_SOURCE_OPEN;
	f->code = "1\n2\n3\n4\n5\n6\n7\n8\n9\n\t<b>\n11\n12\n";
	assert_int_equal(ask_view(f, QUESTION_SOURCE, "function=f", NULL), 0);
	expect(f, "\"truncated\":false,\"file\":\"/src/a.c\",\"reason\":null,\"remark\":null,"
		  "\"lines\":[{\"n\":5,\"text\":\"5\",\"self\":0,\"cum\":0},");
	expect(f, "{\"n\":10,\"text\":\"\\t\\u003cb>\",\"self\":30,\"cum\":30},");
	expect(f, "{\"n\":12,\"text\":\"12\",\"self\":0,\"cum\":0}]");
	/* Compared, it is the last one of three files. */
	assert_int_equal(ask_view(f, QUESTION_SOURCE, "function=f&base_since=-2h", f->p), 0);
	expect(f, "{\"n\":10,\"text\":\"\\t\\u003cb>\",\"self\":30,\"cum\":30},");
	f->code_changed_s = (int64_t)(NOW / NS_PER_S);
	assert_int_equal(ask_view(f, QUESTION_SOURCE, "function=f", NULL), 0);
	expect(f, "\"remark\":\"the file was changed after this profile");
	f->code = "1\n2\n";
	assert_int_equal(ask_view(f, QUESTION_SOURCE, "function=f", NULL), 0);
	expect(f, "\"remark\":\"the file has fewer lines");
	expect(f, "\"lines\":[{\"n\":10,\"text\":null,\"self\":30,\"cum\":30}]");
	memset(code, '\n', 9);
	memset(code + 9, 'x', sizeof(code) - 10);
	code[sizeof(code) - 1] = '\0';
	f->code = code;
	assert_int_equal(ask_view(f, QUESTION_SOURCE, "function=f", NULL), 0);
	expect(f, "xxx…\",\"self\":30");
	assert_true(f->length < 2500);
	f->source = VIEW_SOURCE_MISSING;
	assert_int_equal(ask_view(f, QUESTION_SOURCE, "function=f", NULL), 0);
	expect(f, "\"reason\":\"no such file "
		  "here\",\"remark\":null,\"lines\":[{\"n\":10,\"text\":null,");
	f->source = VIEW_SOURCE_CLOSED;
	assert_int_equal(ask_view(f, QUESTION_SOURCE, "function=f", NULL), 0);
	expect(f, "\"reason\":\"profd-gateway opens no source files");
}

static void test_source_too_large(void **state)
{
	cleanup(freep) char *code = calloc(1, VIEW_SOURCE_MAX + 2);
	struct fixture *f = *state;

	assert_non_null(code);
	memset(code, 'x', VIEW_SOURCE_MAX + 1);
	add_stack(f, "main;f", 3, NULL, 1);
	f->source = VIEW_SOURCE_OPEN;
	f->code = code;
	assert_int_equal(ask_view(f, QUESTION_SOURCE, "function=f", NULL), 0);
	expect(f, "\"reason\":\"too large for a source file\"");
	/* All lines, as many as there is room for. */
	memset(code, '\n', VIEW_SOURCE_MAX);
	for (size_t i = 0; i + 80 <= VIEW_SOURCE_MAX; i += 80)
		memset(code + i, '"', 79);
	code[VIEW_SOURCE_MAX] = '\0';
	new_profile(f);
	add_line(f, "f", 1, 20000);
	assert_int_equal(ask_view(f, QUESTION_SOURCE, "function=f", NULL), 0);
	expect(f, "\"truncated\":true");
	assert_true(f->length < VIEW_ANSWER_MAX);
}

/* Of the labels that were asked for; what has no times is counted as such. */
static void test_heat(void **state)
{
	struct fixture *f = *state;

	add_stack(f, "main", 3, "a", 1);
	assert_int_equal(profile_add_time(f->p, profile_last_sample(f->p), BUCKET + 3, 0, 3), 0);
	add_stack(f, "main", 2, "b", 2);
	assert_int_equal(profile_add_time(f->p, profile_last_sample(f->p), BUCKET + 4, 0, 2), 0);
	add_stack(f, "main;x", 7, "b", 3);
	assert_int_equal(ask_view(f, QUESTION_HEAT, "", NULL), 0);
	expect(f, "0,0,0,3,2,0");
	expect(f, "\"samples\":5,\"untimed\":7");
	assert_int_equal(ask_view(f, QUESTION_HEAT, "tag=comm:b", NULL), 0);
	expect(f, "0,0,0,0,2,0");
	expect(f, "\"samples\":2,\"untimed\":7");
	assert_int_equal(ask_view(f, QUESTION_HEAT, "tag=comm:b&tag=pid:1&tag=pid:2", NULL), 0);
	expect(f, "\"samples\":2,\"untimed\":0");
	assert_int_equal(ask_view(f, QUESTION_HEAT, "tag=comm:c", NULL), 0);
	expect(f, "\"samples\":0,\"untimed\":0");
}

static void test_labels(void **state)
{
	struct fixture *f = *state;
	char comm[16];

	add_stack(f, "main", 30, "a", 1);
	add_stack(f, "main", 10, "b", 2);
	assert_int_equal(ask_view(f, QUESTION_LABELS, "", NULL), 0);
	expect(f, "{\"key\":\"pid\",\"n\":2,\"values\":[{\"value\":\"1\",\"share\":0.750000},"
		  "{\"value\":\"2\",\"share\":0.250000}]}");
	expect(f, "{\"key\":\"comm\",\"n\":2,\"values\":[{\"value\":\"a\",\"share\":0.750000}");
	for (int i = 0; i < 60; i++) {
		snprintf(comm, sizeof(comm), "x%d", i);
		add_stack(f, "main", 1, comm, 1);
	}
	assert_int_equal(ask_view(f, QUESTION_LABELS, "", NULL), 0);
	expect(f, "\"truncated\":true");
	expect(f, "{\"key\":\"comm\",\"n\":62,");
}

/* Names are text, whatever they hold. */
static void test_hostile_names(void **state)
{
	static const char *const queries[N_QUESTION_VIEWS] = {
		[QUESTION_FLAME] = "",
		[QUESTION_TOP] = "tag=comm:%3C%22",
		[QUESTION_SANDWICH] = "function=%3C/script%3E%22%5C",
		[QUESTION_SOURCE] = "function=%3C/script%3E%22%5C",
		[QUESTION_LABELS] = "service=%22%3Cb%3E%FF",
	};
	struct fixture *f = *state;

	add_stack(f, "main;</script>\"\\", 3, "<\"", 1);
	add_stack(f, "main;\x1b[31m\xff\x01\xe2\x80\xa8", 3, "\xff\x1b", 1);
	for (unsigned i = 0; i < QUESTION_HEAT; i++) {
		assert_int_equal(ask_view(f, i, queries[i], NULL), 0);
		assert_true(utf8_is_valid(f->text));
		assert_null(strchr(f->text, '<'));
		assert_null(strchr(f->text, '\x1b'));
		assert_null(strstr(f->text, "\xe2\x80\xa8"));
	}
	assert_int_equal(ask_view(f, QUESTION_SANDWICH, queries[QUESTION_SANDWICH], NULL), 0);
	expect(f, "\"self\":[30]");
	/* By the name that an answer had. */
	assert_int_equal(
		ask_view(f, QUESTION_SANDWICH, "function=%3f[31m%EF%BF%BD%3f%E2%80%A8", NULL), 0);
	expect(f, "\"self\":[30]");
}

static void test_malformed(void **state)
{
	struct view_request request = {.n_files = 1};
	struct fixture *f = *state;
	int fd = memory_file_of("test", "nothing", 7);

	assert_int_equal(answer_write(&request, &fd, stderr, &f->message), 503);
	assert_true(*f->message.text);
	close(fd);
}

/* Names that are longer than an answer; and so many boxes. */
static void test_bound(void **state)
{
	struct fixture *f = *state;
	char *name = calloc(1, 100001), stack[64];

	for (unsigned i = 0; i < 20; i++) {
		memset(name, 'a' + (int)i, 100000);
		add_stack(f, name, 20 - i, NULL, 1);
	}
	assert_int_equal(ask_view(f, QUESTION_FLAME, "", NULL), 0);
	expect(f, "\"truncated\":true");
	assert_true(f->length <= VIEW_ANSWER_MAX);
	assert_int_equal(ask_view(f, QUESTION_TOP, "", NULL), 0);
	expect(f, "\"truncated\":true");
	assert_true(f->length <= VIEW_ANSWER_MAX);
	new_profile(f);
	for (unsigned i = 0; i < 100000; i++) {
		snprintf(stack, sizeof(stack), "main;%u;%u;%u;%u", i % 10, i / 10 % 100,
			 i / 1000 % 10, i / 10000);
		add_stack(f, stack, 1 + i % 7, NULL, 1);
	}
	assert_int_equal(ask_view(f, QUESTION_FLAME, "", NULL), 0);
	expect(f, "\"truncated\":true");
	assert_in_range(f->length, VIEW_ANSWER_MAX / 2, VIEW_ANSWER_MAX);
	free(name);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_head),      T(test_top),    T(test_filters),       T(test_comparison),
		T(test_sandwich),  T(test_source), T(test_source_text),   T(test_source_too_large),
		T(test_heat),      T(test_labels), T(test_hostile_names), T(test_waits),
		T(test_malformed), T(test_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
