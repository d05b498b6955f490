/* SPDX-License-Identifier: MIT */
/*
 * What the sources hand out of stacks: registers, copies, programs of 32 bits. Needs root (or the
 * capabilities that profd has), a kernel with BTF, and a C compiler for 32-bit programs. An
 * argument is a pattern of test names.
 */
#include "tests/live/ingest.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- where a user pc stands --------------------------------------------------------------------
 */

/* In and out of the kernel, by system calls and by page faults. */
static void call_and_fault(void)
{
	static const size_t length = 64 * 4096;
	char bytes[65536];
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	for (;;) {
		char *memory = mmap(NULL, length, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED || read(fd, bytes, sizeof(bytes)) < 0)
			_exit(1);
		for (size_t i = 0; i < length; i += 4096)
			((volatile char *)memory)[i] = 1;
		munmap(memory, length);
	}
}

struct calls {
	uint64_t n_return, n_exact, n_wrong;
};

/*
 * A forked child has our code at our addresses: right behind a SYSCALL instruction (0f 05) the pc
 * is a return address, elsewhere it is not.
 */
static void look_at_pc(void *userdata, const struct sample *s, const uint64_t *user, uint32_t n)
{
	struct calls *calls = userdata;
	const struct unwind_registers *r;
	const uint8_t *code;

	(void)user;
	(void)n;
	if (!s->n_kernel || !s->rest || s->rest->pushed)
		return;
	r = &s->rest->registers;
	code = (const uint8_t *)(uintptr_t)(r->pc - 2);
	if (r->is_return)
		calls->n_return++;
	else
		calls->n_exact++;
	calls->n_wrong += (code[0] == 0x0f && code[1] == 0x05) != (r->is_return != 0);
}

static bool measure_pc(const void *argument)
{
	const struct maker *maker = argument;
	struct calls calls = {0};
	struct rig rig;
	pid_t pid = start_child(1, call_and_fault);

	rig_open(&rig, maker->make, NULL);
	rig.c.watched = pid;
	rig.c.look = look_at_pc;
	rig.c.userdata = &calls;
	rig_sample(&rig, 999, true);
	rig_run_cpu(&rig, pid, 800);
	rig_finish(&rig);
	stop_process(pid);
	print_message("entered by calls %" PRIu64 ", otherwise %" PRIu64 ", wrong %" PRIu64 "\n",
		      calls.n_return, calls.n_exact, calls.n_wrong);
	/* A fault or a tick in the very instruction behind a call looks like the call. */
	return MET(calls.n_return > 20) && MET(calls.n_exact > 20) &&
	       MET(calls.n_wrong * 100 < calls.n_return);
}

static void test_perf_pc(void **state)
{
	(void)state;
	assert_measured(measure_pc, &by_perf);
}

/* --- copies ------------------------------------------------------------------------------------
 */

#define LONG_FRAME 30000

static void spin_below_long_frame(void)
{
	char room[LONG_FRAME];

	/* A page that was never touched would end the copy. */
	memset(room, 1, sizeof(room));
	__asm__ volatile("" : : "r"(room) : "memory");
	spin_outer_function();
	__asm__ volatile("" : : "r"(room) : "memory");
}

struct copies {
	uint64_t n, least, most, n_pc_known;
};

static void look_at_copy(void *userdata, const struct sample *s, const uint64_t *user, uint32_t n)
{
	struct copies *copies = userdata;

	(void)user;
	(void)n;
	if (s->n_kernel || !s->rest)
		return;
	copies->n++;
	if (s->rest->stack_length > copies->most)
		copies->most = s->rest->stack_length;
	if (copies->n == 1 || s->rest->stack_length < copies->least)
		copies->least = s->rest->stack_length;
	copies->n_pc_known +=
		frame_in(s->rest->registers.pc, __start_spin_leaf, __stop_spin_leaf) ||
		frame_in(s->rest->registers.pc, __start_spin_middle, __stop_spin_middle) ||
		frame_in(s->rest->registers.pc, __start_spin_outer, __stop_spin_outer);
}

struct copying {
	uint64_t hz, memory_bytes;
	uint64_t least, most; /* of the copies */
};

/* The more there is to copy and the less memory, the shorter the copies: down to none. */
static bool measure_copies(const void *argument)
{
	const struct copying *copying = argument;
	const struct source_options options = {
		.exclude_self = true,
		.drain_ms = 100,
		.memory_bytes = copying->memory_bytes,
	};
	struct copies copies = {0};
	struct rig rig;
	pid_t pid = start_child(1, spin_below_long_frame);

	rig_open(&rig, source_perf_new, &options);
	rig.c.watched = pid;
	rig.c.look = look_at_copy;
	rig.c.userdata = &copies;
	rig_sample(&rig, copying->hz, true);
	rig_run_cpu(&rig, pid, 500);
	print_message("%" PRIu64 " Hz with %" PRIu64 " KiB: %" PRIu64 " copies of %" PRIu64
		      " to %" PRIu64 " bytes, memory %" PRIu64 " KiB\n",
		      copying->hz, copying->memory_bytes / 1024, copies.n, copies.least,
		      copies.most, source_memory_bytes(rig.source) / 1024);
	assert_true(source_memory_bytes(rig.source) <= copying->memory_bytes);
	rig_finish(&rig);
	stop_process(pid);
	assert_int_equal(copies.n_pc_known, copies.n);
	assert_true(copies.most <= copying->most);
	if (!copying->most)
		assert_int_equal(rig.c.n_no_copy, rig.c.n_watched);
	else
		assert_int_equal(rig.c.n_quality[STACK_NO_USER] + rig.c.n_no_copy, 0);
	return MET(copies.n > 20) && MET(copies.least >= copying->least);
}

static void test_perf_copies(void **state)
{
	(void)state;
	assert_measured(measure_copies, &(struct copying){99, 16 << 20, LONG_FRAME, 48 << 10});
	assert_measured(measure_copies, &(struct copying){999, 16 << 20, 4 << 10, 32 << 10});
	assert_measured(measure_copies, &(struct copying){999, 256 << 10, 0, 0});
}

/* Kernel threads have no user stack, and are known for what they are. */
static void look_at_threads(void *userdata, const struct sample *s)
{
	uint64_t *n = userdata;

	if (!s->kernel_thread)
		return;
	assert_int_equal(s->quality, STACK_COMPLETE);
	assert_null(s->rest);
	assert_int_equal(s->n_kernel, s->n_frames);
	++*n;
}

static void no_event(void *userdata, const struct process_event *e)
{
	(void)userdata;
	(void)e;
}

/* Writes back and waits for it: work for threads of the kernel. */
static void keep_kernel_busy(void)
{
	for (char bytes[65536] = "";;) {
		int fds[2];

		if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0 || write(fds[1], bytes, 65536) < 0)
			_exit(1);
		close(fds[0]);
		close(fds[1]);
		sync();
		run_true();
	}
}

static bool measure_kernel_threads(const void *argument)
{
	const struct maker *maker = argument;
	uint64_t n = 0;
	const struct source_sink sink = {look_at_threads, no_event, &n};
	const struct source_options options = {.sink = &sink, .drain_ms = 100};
	struct rig rig;
	pid_t pid = start_child(-1, keep_kernel_busy);

	rig_open(&rig, maker->make, &options);
	rig_sample(&rig, 5000, true);
	rig_run(&rig, 1000);
	source_free(rig.source);
	stop_process(pid);
	print_message("%" PRIu64 " samples of kernel threads\n", n);
	return MET(n > 0);
}

static void test_kernel_threads(void **state)
{
	(void)state;
	assert_measured(measure_kernel_threads, &by_bpf);
	assert_measured(measure_kernel_threads, &by_perf);
}

/* --- programs of 32 bits -----------------------------------------------------------------------
 */

/* For which the C library and the kernel have four-byte frames. */
static const char compat_program[] =
	"__attribute__((noinline)) static int leaf(volatile int *p)\n"
	"{ for (int i = 0; i < 1000000; i++) *p += i; return *p; }\n"
	"__attribute__((noinline)) static int middle(volatile int *p) { return leaf(p) + 1; }\n"
	"__attribute__((noinline)) static int outer(volatile int *p) { return middle(p) + 1; }\n"
	"int main(void) { volatile int x = 0; for (;;) x += outer(&x); }\n";

static void build_compat(const char *directory)
{
	char path[64], command[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/p.c", directory);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(compat_program, f);
	fclose(f);
	snprintf(command, sizeof(command),
		 "cd %s && cc -m32 -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls "
		 "-o p p.c",
		 directory);
	assert_int_equal(system(command), 0);
}

static void execute_compat(void)
{
	execl("./p", "./p", NULL);
}

static bool measure_compat(const void *argument)
{
	const struct maker *maker = argument;
	pid_t pid = start_child(-1, execute_compat);
	struct rig rig;

	rig_open(&rig, maker->make, NULL);
	rig.c.watched = pid;
	rig_run(&rig, 200); /* until it is itself */
	rig_sample(&rig, 499, true);
	rig_run_cpu(&rig, pid, 500);
	rig_finish(&rig);
	stop_process(pid);
	print_message("32-bit: %" PRIu64 " samples, up to %" PRIu64 " user frames, comm %s\n",
		      rig.c.n_watched, rig.c.deepest, rig.c.comm);
	assert_int_equal(rig.c.n_bits_64, 0);
	if (maker->make == source_bpf_new && rig.c.n_watched)
		assert_string_equal(rig.c.comm, "p");
	return MET(rig.c.n_watched > 100) &&
	       MET(rig.c.deepest >= 4); /* leaf, middle, outer, main */
}

static void test_compat(void **state)
{
	char directory[] = "/tmp/live-ingest-XXXXXX", command[64];
	int before = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_non_null(mkdtemp(directory));
	build_compat(directory);
	assert_int_equal(chdir(directory), 0);
	assert_measured(measure_compat, &by_bpf);
	assert_measured(measure_compat, &by_perf);
	assert_int_equal(fchdir(before), 0);
	close(before);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	assert_int_equal(system(command), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_perf_pc),
		cmocka_unit_test(test_perf_copies),
		cmocka_unit_test(test_kernel_threads),
		cmocka_unit_test(test_compat),
	};

	return RUN_TESTS(argc, argv, tests);
}
