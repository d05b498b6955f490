/* SPDX-License-Identifier: MIT */
/* The real worker: what it says of this very program, and of files that are none. */
#include "common/sanitized.h"
#include "tests/unit/worker/worker_fixture.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/unwind/table.h"
#include "common/worker/answer.h"
#include "common/worker/code_object.h"
#include "daemon/worker/sandbox.h"

extern const char __executable_start; /* the linker's */

/* What is looked up: a function of our own that nobody else has. */
void worker_probe_function(void);

__attribute__((noinline)) void worker_probe_function(void)
{
	__asm__ volatile("");
}

static uint64_t offset_in_file(const void *code)
{
	return (uint64_t)((uintptr_t)code - (uintptr_t)&__executable_start);
}

static void inspect(struct worker *w, struct worker_image *ret)
{
	struct worker_request request = worker_request_of(WORKER_INSPECT,
							  open_file("/proc/self/exe"));
	struct worker_reply reply;

	assert_int_equal(worker_query(w, &request, &reply), WORKER_E_OK);
	assert_int_equal(reply.outcome, WORKER_DONE);
	assert_true(answer_image(reply.data, reply.length, ret));
	close(request.files[WORKER_FILE_IMAGE]);
}

static uint64_t probe_address(struct worker *w)
{
	struct worker_image image;

	inspect(w, &image);
	/* The first segment is mapped where the program begins. */
	return image.elf.segments[0].vaddr + offset_in_file((void *)worker_probe_function);
}

static void test_inspect(void **state)
{
	struct worker *w = new_worker();
	struct worker_image image;

	(void)state;
	inspect(w, &image);
	assert_int_equal(image.elf.pointer_bytes, 8);
	assert_int_equal(image.has_symtab, 1);
	assert_true(image.elf.n_segments > 0);
	worker_free(w);
}

static void test_table(void **state)
{
	struct worker *w = new_worker();
	struct worker_request request = worker_request_of(WORKER_TABLE,
							  open_file("/proc/self/exe"));
	struct worker_reply reply;
	struct worker_table table;
	struct table_slot slot;
	const uint64_t *words;
	uint64_t rule;

	(void)state;
	request.max_words = 1 << 20;
	assert_int_equal(worker_query(w, &request, &reply), WORKER_E_OK);
	assert_int_equal(reply.outcome, WORKER_DONE);
	assert_true(answer_table(reply.data, reply.length, request.max_words, &table, &words));
	assert_int_equal(table.state, TABLE_LOADED);
	assert_int_equal(table.elf.pointer_bytes, 8);
	assert_true(table.counters.fdes > 0);
	slot = table.slot;
	slot.state = TABLE_LOADED;
	rule = table_search(words, (size_t)table.n_words, &slot,
			    (uint32_t)offset_in_file((void *)worker_probe_function));
	assert_int_equal(RULE_KIND(rule), RULE_CFA);
	/* Less room than it takes. */
	request.max_words = 4;
	assert_int_equal(worker_query(w, &request, &reply), WORKER_E_OK);
	assert_true(answer_table(reply.data, reply.length, request.max_words, &table, &words));
	assert_int_equal(table.state, TABLE_REFUSED);
	close(request.files[WORKER_FILE_IMAGE]);
	worker_free(w);
}

static void assert_probe(struct worker *w, const struct worker_request *request)
{
	const uint64_t *addresses = request->payload;
	size_t n = request->payload_length / sizeof(*addresses);
	struct answer_names names;
	struct worker_reply reply;
	const struct worker_location *l;

	assert_int_equal(worker_query(w, request, &reply), WORKER_E_OK);
	assert_int_equal(reply.outcome, WORKER_DONE);
	assert_true(answer_names(reply.data, reply.length, addresses, n, &names));
	l = &names.locations[n - 1];
	assert_true(l->n_frames > 0);
	assert_string_equal(names.text + names.frames[l->first_frame].name,
			    "worker_probe_function");
	assert_int_equal(names.locations[0].n_frames, 0);
}

/* The second time from what was kept: the file that comes then is another, and is not looked at. */
static void test_symbols(void **state)
{
	struct worker *w = new_worker();
	uint64_t addresses[] = {1, probe_address(w)};
	struct worker_request request = worker_request_of(WORKER_SYMBOLS,
							  open_file("/proc/self/exe"));
	int other = memfd_create("other", MFD_CLOEXEC);
	struct worker_reply reply;

	(void)state;
	request.payload = addresses;
	request.payload_length = sizeof(addresses);
	assert_probe(w, &request);
	request.key = 17;
	assert_probe(w, &request);
	close(request.files[WORKER_FILE_IMAGE]);
	request.files[WORKER_FILE_IMAGE] = other;
	assert_probe(w, &request);
	request.key = 18;
	assert_int_equal(worker_query(w, &request, &reply), WORKER_E_OK);
	assert_int_equal(reply.outcome, WORKER_NOT_ELF);
	request.key = 0;
	assert_int_equal(worker_query(w, &request, &reply), WORKER_E_OK);
	assert_int_equal(reply.outcome, WORKER_NOT_ELF);
	close(other);
	worker_free(w);
}

static void test_lines(void **state)
{
	struct worker *w = new_worker();
	uint64_t addresses[] = {1, probe_address(w)};
	struct worker_request request = worker_request_of(WORKER_SYMBOLS,
							  open_file("/proc/self/exe"));

	(void)state;
	request.payload = addresses;
	request.payload_length = sizeof(addresses);
	request.flags = WORKER_WANT_LINES;
	request.key = 1;
	assert_probe(w, &request);
	assert_probe(w, &request);
	close(request.files[WORKER_FILE_IMAGE]);
	worker_free(w);
}

/* As many addresses as a request can have. */
static void test_many(void **state)
{
	struct worker *w = new_worker();
	uint64_t probe = probe_address(w),
		 *addresses = calloc(WORKER_ADDRESSES_MAX, sizeof(uint64_t));
	struct worker_request request = worker_request_of(WORKER_SYMBOLS,
							  open_file("/proc/self/exe"));

	(void)state;
	assert_non_null(addresses);
	addresses[WORKER_ADDRESSES_MAX - 1] = probe;
	request.payload = addresses;
	request.payload_length = WORKER_ADDRESSES_MAX * sizeof(*addresses);
	assert_probe(w, &request);
	free(addresses);
	close(request.files[WORKER_FILE_IMAGE]);
	worker_free(w);
}

static void write_all(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void assert_jit(struct worker *w, const struct worker_request *request, const char *name)
{
	struct answer_names names;
	struct worker_reply reply;

	assert_int_equal(worker_query(w, request, &reply), WORKER_E_OK);
	assert_int_equal(reply.outcome, WORKER_DONE);
	assert_true(answer_names(reply.data, reply.length, request->payload, 1, &names));
	assert_int_equal(names.locations[0].n_frames, name ? 1 : 0);
	if (name)
		assert_string_equal(names.text + names.frames[0].name, name);
}

/* A perf map that grows is read again. */
static void test_perf_map(void **state)
{
	struct worker *w = new_worker();
	uint64_t address = 0x1010;
	struct worker_request request = worker_request_of(WORKER_JIT, -1);
	int map = memfd_create("map", MFD_CLOEXEC);

	(void)state;
	request.files[WORKER_FILE_PERF_MAP] = map;
	request.payload = &address;
	request.payload_length = sizeof(address);
	request.key = 5;
	write_all(map, "1000 20 first\n");
	assert_jit(w, &request, "first");
	address = 0x2000;
	assert_jit(w, &request, NULL);
	write_all(map, "2000 1 second\n");
	assert_jit(w, &request, "second");
	close(map);
	worker_free(w);
}

static void test_demangle(void **state)
{
	static const char names[] = "_ZN3foo3barEv\0main\0\0_R\x01\xff";
	static const char expected[] = "foo::bar()\0main\0\0_R\xef\xbf\xbd\xef\xbf\xbd";
	struct worker *w = new_worker();
	struct worker_request request = worker_request_of(WORKER_DEMANGLE, -1);
	struct worker_reply reply;

	(void)state;
	request.payload = names;
	request.payload_length = sizeof(names);
	assert_int_equal(worker_query(w, &request, &reply), WORKER_E_OK);
	assert_int_equal(reply.outcome, WORKER_DONE);
	assert_true(answer_texts(reply.data, reply.length, 4));
	assert_int_equal(reply.length, sizeof(expected));
	assert_memory_equal(reply.data, expected, sizeof(expected));
	worker_free(w);
}

static void test_functions(void **state)
{
	static const uint32_t offsets[] = {0, 16, 400};
	static const uint8_t table[] = {0x80 | 11 << 3 | 7, 0, 1, 0x80 | 12 << 3 | 1, 0, 1};
	const struct code_object object = {
		.code = {.version = 0x030b,
			 .first_line = 10,
			 .name = {(const uint8_t *)"f\n\xe4", 3, 1},
			 .file = {(const uint8_t *)"/a.py", 5, 1},
			 .table = table,
			 .table_bytes = sizeof(table)},
		.offsets = offsets,
		.n_offsets = ARRAY_SIZE(offsets),
	};
	struct worker *w = new_worker();
	struct worker_request request = worker_request_of(WORKER_FUNCTIONS, -1);
	cleanup(freep) uint8_t *payload = malloc(2 * code_object_bytes(&object));
	struct answer_functions functions;
	struct worker_reply reply;

	(void)state;
	assert_non_null(payload);
	code_object_put(&object, payload);
	code_object_put(&object, payload + code_object_bytes(&object));
	request.payload = payload;
	request.payload_length = 2 * code_object_bytes(&object);
	assert_int_equal(worker_query(w, &request, &reply), WORKER_E_OK);
	assert_int_equal(reply.outcome, WORKER_DONE);
	assert_true(answer_functions(reply.data, reply.length, 2, 6, &functions));
	for (unsigned i = 0; i < 2; i++) {
		assert_string_equal(functions.text + functions.functions[i].name, "f?\xc3\xa4");
		assert_string_equal(functions.text + functions.functions[i].file, "/a.py");
		assert_int_equal(functions.lines[3 * i], 11);
		assert_int_equal(functions.lines[3 * i + 1], 13);
		assert_int_equal(functions.lines[3 * i + 2], 0);
	}
	worker_free(w);
}

static int make_truncated(void)
{
	int from = open_file("/proc/self/exe"), fd = memfd_create("truncated", MFD_CLOEXEC);
	char bytes[5000];

	assert_int_equal(read(from, bytes, sizeof(bytes)), sizeof(bytes));
	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	close(from);
	return fd;
}

/* Whatever it is, there is an answer, and the same worker gives the next one. */
static void test_strange_files(void **state)
{
	struct worker *w = new_worker();
	uint64_t address = 0x1000;
	struct worker_reply reply;
	int pipes[2], files[6], pid;

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	files[0] = open_file("/");
	files[1] = pipes[0];
	files[2] = open_file("/dev/null");
	files[3] = open_file("/dev/zero");
	files[4] = make_truncated();
	files[5] = memfd_create("empty", MFD_CLOEXEC);
	probe_address(w);
	pid = worker_pid(w);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		for (unsigned kind = WORKER_INSPECT; kind <= WORKER_SYMBOLS; kind++) {
			struct worker_request request = worker_request_of(kind, files[i]);

			if (kind == WORKER_SYMBOLS) {
				request.payload = &address;
				request.payload_length = sizeof(address);
			}
			request.max_words = 1 << 20;
			assert_int_equal(worker_query(w, &request, &reply), WORKER_E_OK);
			print_message("%zu %u: %d\n", i, kind, reply.outcome);
			if (i < 4)
				assert_int_equal(reply.outcome, WORKER_UNREADABLE);
			else if (i == 5 && kind != WORKER_TABLE)
				assert_int_equal(reply.outcome, WORKER_NOT_ELF);
			else
				assert_true(reply.outcome != WORKER_BAD_REQUEST);
		}
	probe_address(w);
	assert_int_equal(worker_pid(w), pid);
	close(pipes[1]);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		close(files[i]);
	worker_free(w);
}

/* What is no request is answered as such. */
static void test_bad_requests(void **state)
{
	struct worker *w = new_worker();
	struct worker_request request = worker_request_of(WORKER_TABLE, -1);
	struct worker_reply reply;

	(void)state;
	assert_int_equal(worker_query(w, &request, &reply), WORKER_E_OK);
	assert_int_equal(reply.outcome, WORKER_BAD_REQUEST);
	request = worker_request_of(WORKER_DEMANGLE, -1);
	request.payload = "abc";
	request.payload_length = 3; /* without its NUL */
	assert_int_equal(worker_query(w, &request, &reply), WORKER_E_OK);
	assert_int_equal(reply.outcome, WORKER_BAD_REQUEST);
	probe_address(w);
	worker_free(w);
}

/* Signals that a service manager or a terminal sends to everybody do not end it. */
static void test_ignores_signals(void **state)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1};
	struct worker *w = new_worker();
	int pid;

	(void)state;
	probe_address(w);
	pid = worker_pid(w);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		assert_int_equal(kill(pid, signals[i]), 0);
	probe_address(w);
	assert_int_equal(worker_pid(w), pid);
	worker_free(w);
}

/* Pages that a process has; 0: it is gone. */
static unsigned long resident_pages(int pid)
{
	unsigned long pages = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%*s %lu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages;
}

/* What a worker has left when it has read this program under 60 keys, as if it were 60. */
static unsigned long pages_after_images(uint64_t keep_bytes)
{
	const struct worker_options options = {.name = "test", .keep_bytes = keep_bytes};
	struct worker_request request = worker_request_of(WORKER_SYMBOLS,
							  open_file("/proc/self/exe"));
	const uint64_t address = 0x10000;
	struct worker_stats stats;
	struct worker_reply reply;
	unsigned long pages;
	struct worker *w;

	assert_int_equal(worker_new(&w, &options), 0);
	request.payload = &address;
	request.payload_length = sizeof(address);
	for (request.key = 1; request.key <= 60; request.key++) {
		assert_int_equal(worker_query(w, &request, &reply), WORKER_E_OK);
		assert_int_equal(reply.outcome, WORKER_DONE);
	}
	worker_get_stats(w, &stats);
	assert_int_equal(stats.died, 0);
	assert_int_equal(stats.answered, 60);
	pages = resident_pages(worker_pid(w));
	worker_free(w);
	close(request.files[WORKER_FILE_IMAGE]);
	return pages;
}

static void test_keeps_no_more_than_it_may(void **state)
{
	unsigned long much = pages_after_images(UINT64_C(256) << 20);
	unsigned long little = pages_after_images(UINT64_C(1) << 20);

	(void)state;
	print_message("%lu and %lu pages\n", much, little);
	/* Sanitizers keep what was freed for a while. */
	assert_true(IS_SANITIZED || little + 100 < much);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LEFTOVERS_TEST(test_inspect),
		LEFTOVERS_TEST(test_table),
		LEFTOVERS_TEST(test_symbols),
		LEFTOVERS_TEST(test_lines),
		LEFTOVERS_TEST(test_many),
		LEFTOVERS_TEST(test_perf_map),
		LEFTOVERS_TEST(test_demangle),
		LEFTOVERS_TEST(test_functions),
		LEFTOVERS_TEST(test_strange_files),
		LEFTOVERS_TEST(test_bad_requests),
		LEFTOVERS_TEST(test_ignores_signals),
		LEFTOVERS_TEST(test_keeps_no_more_than_it_may),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
