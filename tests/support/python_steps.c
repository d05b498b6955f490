/* SPDX-License-Identifier: MIT */

/*
 * python_steps [--windows N] [--length N] [--every N] [--seed N] PYTHON SCRIPT: stops a Python
 * program at random moments, and steps it through some instructions from each on. At each of them
 * the walk of the BPF programs, built as an ordinary program, looks for its Python frames in its
 * memory. At every Nth these are compared with the ones that the interpreter prints, interrupted at
 * that instruction: faulthandler's handler of SIGUSR1 writes them to descriptor 3. From one
 * instruction to the next one frame can come or go, and no more.
 *
 * The script sends itself SIGUSR2 when it is ready, and does not end.
 *
 * Prints "walks N jumps N misplaced N", "asked N equal N hidden N crashes N", and for what is not
 * so lines "at COUNT FUNCTION(MODULE) what". The exit status says only whether that could be done.
 */
#include <getopt.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <uthash.h>

#include "common/frame.h"

#define WORDS (1u << 20)
#define SLOTS 256u
#include "tests/unit/ingest/bpf_stubs.h"

/* What profd's own walk has by the same names. */
#define unwind_memory walk_memory
#define unwind_read   walk_read
#include "common/cleanup.h"
#include "daemon/ingest/source_bpf_record.h"
#include "daemon/worker/runtime/interpreter.h"
#include "tests/support/stepped_process.h"
#undef unwind_read
#undef unwind_memory

#define ANSWER_FD      3
#define ANSWER_MAX     65536
#define SAID_MAX       128
#define RESTORER_BYTES 7 /* of the instruction before its system call */
#define FREE_RUN_NS    400000
#define LOOP           "_PyEval_EvalFrameDefault"

struct known_code {
	uint64_t id; /* the key */
	struct decoded_code names;
	struct abi_code raw;
	UT_hash_handle hh;
};

struct frame {
	uint64_t id;
	uint32_t at;
};

struct frames {
	struct frame frames[ABI_CODES_MAX];
	unsigned n;
};

/* As the interpreter says it. */
struct said {
	const char *file, *name;
	uint32_t line; /* 0: it has none */
};

struct wrong {
	char what[512]; /* the key */
	uint64_t n;
	UT_hash_handle hh;
};

struct stepper {
	struct stepped of;
	char **program;
	unsigned n_windows, length, every;
	struct known_code *codes;
	uint64_t restorer;
	int answers;
	char answer[ANSWER_MAX];
	struct said said[SAID_MAX];
	unsigned n_said;
	struct frames now, before;
	uint64_t n_walks, n_jumps, n_misplaced, n_asked, n_equal, n_hidden, n_crashes;
	struct wrong *wrong;
};

static struct stepper stepper;
static struct mm_struct mm;
static struct task_struct task;
static struct super_block super_block;
static struct inode program;
static struct file file = {.f_inode = &program};

/* --- the BPF programs' side ---------------------------------------------------------------------
 */

static bool read_process(void *to, __u32 length, __u64 from)
{
	const struct iovec local = {to, length}, remote = {(void *)(uintptr_t)from, length};

	return process_vm_readv(stepper.of.pid, &local, 1, &remote, 1, 0) == (ssize_t)length;
}

static void on_code(const struct abi_code *raw)
{
	struct known_code *known = calloc(1, sizeof(*known));
	struct source_bpf_code decoded;

	if (!known)
		stepped_die("memory");
	known->raw = *raw;
	if (!source_bpf_decode_code((const uint8_t *)&known->raw, ABI_CODE_HEAD + raw->table_bytes,
				    &decoded))
		stepped_die("a code object that is none");
	known->id = decoded.id;
	code_decode(&decoded.code, &known->names);
	HASH_ADD(hh, stepper.codes, id, sizeof(known->id), known);
}

static const struct known_code *find_code(uint64_t id)
{
	struct known_code *known;

	HASH_FIND(hh, stepper.codes, &id, sizeof(id), known);
	return known;
}

static uint32_t find_line(const struct known_code *known, uint32_t at)
{
	struct source_bpf_code decoded;

	source_bpf_decode_code((const uint8_t *)&known->raw, ABI_CODE_HEAD + known->raw.table_bytes,
			       &decoded);
	return code_decode_line(&decoded.code, at);
}

/* By the program's file, or by the mapping that its code is in, as libraries may be found. */
static void put_runtime(const struct stepped *s, unsigned i, struct abi_root *root)
{
	const struct stepped_module *m = &s->modules[s->mappings[i].slot];
	const struct elf_segment *text = elf_summary_find(image_elf(m->image), m->runtime.text,
							  true);
	const struct unwind_host_runtime runtime = {
		.text = m->runtime.text,
		.state = m->runtime.state,
		.loop = m->runtime.loop,
		.tls_index = m->runtime.tls_index,
		.count = m->runtime.count,
		.version = m->runtime.version,
		.loop_bytes = m->runtime.loop_bytes,
		.state_bytes = m->runtime.state_bytes,
		.tls_at = m->runtime.tls_at,
	};

	if (!source_bpf_row(&runtime, &maps.runtime))
		stepped_die("an unknown version");
	maps.runtime.state += (int64_t)(text ? text->offset : 0);
	maps.runtime_key = (struct abi_runtime_key){.size = s->mappings[i].slot + 1,
						    .device = ABI_RUNTIME_IMAGE};
	root->root.runtime = (unwind_u16)(i + 1);
}

/* Puts what profd would have told of the process to where the walk looks for it. */
static void publish_process(struct stepped *s)
{
	struct abi_root root = {.root = {.until_ns = 1, .pid = (__u32)s->pid, .version = 1}};
	__u32 pid = (__u32)s->pid;

	if (s->n_words > WORDS || s->n_modules > SLOTS)
		stepped_die("too many tables");
	memcpy(maps.words, s->words, s->n_words * sizeof(*s->words));
	memcpy(maps.slots, s->slots, s->n_modules * sizeof(*s->slots));
	root.root.n = (unwind_u16)s->n_mappings;
	for (unsigned i = 0; i < s->n_mappings; i++) {
		const struct stepped_module *m = &s->modules[s->mappings[i].slot];
		bool is_file = m->image->kind == IMAGE_FILE || m->image->kind == IMAGE_VDSO;

		maps.mappings[i] = s->mappings[i];
		maps.mappings[i].image = is_file ? s->mappings[i].slot + 1 : 0;
		if (!is_file)
			maps.mappings[i].slot = SLOT_NONE;
		if (m->runtime.version)
			put_runtime(s, i, &root);
	}
	if (!root.root.runtime)
		stepped_die("no interpreter");
	memset(maps.pids, 0, sizeof(maps.pids));
	bpf_map_update_elem(&roots, &pid, &root, 0);
}

static void take_registers(const struct user_regs_struct *r, struct context_registers *ret)
{
	*ret = (struct context_registers){
		.r15 = r->r15,
		.r14 = r->r14,
		.r13 = r->r13,
		.r12 = r->r12,
		.bp = r->rbp,
		.bx = r->rbx,
		.r11 = r->r11,
		.r10 = r->r10,
		.r9 = r->r9,
		.r8 = r->r8,
		.ax = r->rax,
		.cx = r->rcx,
		.dx = r->rdx,
		.si = r->rsi,
		.di = r->rdi,
		.orig_ax = r->orig_rax,
		.ip = r->rip,
		.cs = r->cs,
		.flags = r->eflags,
		.sp = r->rsp,
		.ss = r->ss,
	};
}

static void walk(struct stepper *s, const struct user_regs_struct *r)
{
	struct context_registers registers;

	take_registers(r, &registers);
	mm.start_stack = s->of.start_stack;
	mm.start_code = 1; /* known */
	task.thread.fsbase = r->fs_base;
	unwind_user(&scratch, &task, &registers, true, 0, ABI_USER_FRAMES_MAX);
	s->now.n = 0;
	for (unsigned i = 0; i < scratch.runtime.n; i++) {
		const struct abi_runtime_entry *e = &scratch.runtime.entries[i];

		if (e->kind == ABI_RUNTIME_CODE)
			s->now.frames[s->now.n++] = (struct frame){e->value, e->at};
	}
}

/* --- what is wrong ------------------------------------------------------------------------------
 */

/* The place in native code, without the offset: there are few functions that change the chain. */
static void name_native(const struct stepped *s, uint64_t native, char *ret, size_t size)
{
	const char *symbol;

	if (frame_kind(native) == FRAME_IMAGE && frame_image(native) <= s->n_modules)
		stepped_name(&s->modules[frame_image(native) - 1], frame_offset(native), ret, size,
			     &symbol);
	else
		snprintf(ret, size, "0x%" PRIx64, native);
}

static void remember(struct stepper *s, const char *what)
{
	char place[192], text[sizeof(s->wrong->what)];
	struct wrong *wrong;

	name_native(&s->of, scratch.body[0], place, sizeof(place));
	snprintf(text, sizeof(text), "%s %s", place, what);
	HASH_FIND_STR(s->wrong, text, wrong);
	if (!wrong) {
		wrong = calloc(1, sizeof(*wrong));
		if (!wrong)
			stepped_die("memory");
		memcpy(wrong->what, text, sizeof(text));
		HASH_ADD_STR(s->wrong, what, wrong);
	}
	wrong->n++;
}

static const char *frame_name(const struct frames *frames, unsigned i)
{
	const struct known_code *known = i < frames->n ? find_code(frames->frames[i].id) : NULL;

	return i >= frames->n ? "nothing" : known ? known->names.name : "an unknown code";
}

/* --- one frame at a time ------------------------------------------------------------------------
 */

static void check_jump(struct stepper *s)
{
	const struct frames *now = &s->now, *before = &s->before;
	const struct frames *more = now->n > before->n ? now : before;
	const struct frames *less = more == now ? before : now;
	unsigned above = more->n - less->n;
	char what[256];
	bool is_jump = above > 1;

	for (unsigned i = 0; i < less->n && !is_jump; i++)
		is_jump = less->frames[i].id != more->frames[i + above].id;
	if (!is_jump)
		return;
	s->n_jumps++;
	snprintf(what, sizeof(what), "jump from %u to %u frames, %.60s to %.60s", before->n, now->n,
		 frame_name(before, 0), frame_name(now, 0));
	remember(s, what);
}

/* Each group belongs to a native frame of the interpreter's loop. */
static void check_places(struct stepper *s)
{
	char native[192], what[256];

	for (unsigned i = 0; i < scratch.runtime.n; i++) {
		const struct abi_runtime_entry *e = &scratch.runtime.entries[i];

		if (e->kind == ABI_RUNTIME_CODE)
			continue;
		snprintf(native, sizeof(native), "nothing");
		if (e->kind == ABI_RUNTIME_LOOP)
			name_native(&s->of, scratch.body[e->at], native, sizeof(native));
		if (!strncmp(native, LOOP, strlen(LOOP)))
			continue;
		s->n_misplaced++;
		snprintf(what, sizeof(what), "misplaced: at %.100s, kind %u, %u/%u", native,
			 e->kind, scratch.unwind.quality, scratch.unwind.reason);
		remember(s, what);
		return;
	}
}

/* --- the interpreter's own answer ---------------------------------------------------------------
 */

/* By a signal. */
static int wait_stopped(struct stepper *s)
{
	int status;

	if (waitpid(s->of.pid, &status, 0) != s->of.pid)
		stepped_die("wait");
	if (!WIFSTOPPED(status))
		stepped_die("the program ended");
	return WSTOPSIG(status);
}

/* The handler returns to the C library's restorer: a breakpoint is put there. */
static void break_at_restorer(struct stepper *s)
{
	struct user_regs_struct r;
	long word;

	if (ptrace(PTRACE_SINGLESTEP, s->of.pid, NULL, (void *)SIGUSR1) ||
	    wait_stopped(s) != SIGTRAP || ptrace(PTRACE_GETREGS, s->of.pid, NULL, &r))
		stepped_die("the handler");
	errno = 0;
	s->restorer = (uint64_t)ptrace(PTRACE_PEEKDATA, s->of.pid, (void *)r.rsp, NULL);
	word = ptrace(PTRACE_PEEKTEXT, s->of.pid, (void *)s->restorer, NULL);
	if (errno || (word & 0xffffff) != 0xc0c748 ||
	    ptrace(PTRACE_POKETEXT, s->of.pid, (void *)s->restorer,
		   (void *)((word & ~0xffL) | 0xcc)))
		stepped_die("the restorer");
}

/* Has the handler run and return to where the program was. False: it crashed. */
static bool interrupt(struct stepper *s, const struct user_regs_struct *from)
{
	bool is_begun = !s->restorer;
	struct user_regs_struct r;
	int signal;

	if (is_begun)
		break_at_restorer(s);
	if (ptrace(PTRACE_CONT, s->of.pid, NULL, (void *)(is_begun ? 0L : SIGUSR1)))
		stepped_die("continue");
	signal = wait_stopped(s);
	if (signal == SIGSEGV || signal == SIGBUS) /* SIGBUS: by rbp, on x86-64 */
		return false;
	if (signal != SIGTRAP || ptrace(PTRACE_GETREGS, s->of.pid, NULL, &r) ||
	    r.rip != s->restorer + 1)
		stepped_die("the way back");
	r.rip = s->restorer + RESTORER_BYTES;
	r.rax = SYS_rt_sigreturn;
	if (ptrace(PTRACE_SETREGS, s->of.pid, NULL, &r) ||
	    ptrace(PTRACE_SINGLESTEP, s->of.pid, NULL, NULL) || wait_stopped(s) != SIGTRAP ||
	    ptrace(PTRACE_GETREGS, s->of.pid, NULL, &r) || r.rsp != from->rsp)
		stepped_die("back");
	return true;
}

/*
 * Lines "  File "FILE", line N in NAME", the leaf first; "???" for a line that there is none of.
 * Since 3.12 there are frames that tracebacks hide, and so does the walk: below that of a class's
 * __init__, which checks what it returns, and the first one of an entry of the loop.
 */
static bool is_shown(const struct said *said)
{
	return strcmp(said->file, "__init__") != 0 &&
	       strcmp(said->name, "<interpreter trampoline>") != 0;
}

static void parse_answer(struct stepper *s)
{
	char *at = s->answer, *file_end, *end;

	s->n_said = 0;
	while ((at = strstr(at, "  File \"")) && s->n_said < SAID_MAX) {
		struct said *said = &s->said[s->n_said];

		said->file = at + strlen("  File \"");
		file_end = strstr(at, "\", line ");
		end = file_end ? strchr(file_end, '\n') : NULL;
		if (!end)
			stepped_die("an answer that is none");
		*file_end = *end = '\0';
		said->line = (uint32_t)strtoul(file_end + strlen("\", line "), &at, 10);
		at = strstr(file_end + 1, " in ");
		said->name = at ? at + strlen(" in ") : "";
		at = end + 1;
		s->n_said += is_shown(said);
	}
}

static bool stepper_ask(struct stepper *s, const struct user_regs_struct *r)
{
	size_t length = 0;
	ssize_t n;

	if (!interrupt(s, r))
		return false;
	while ((n = read(s->answers, s->answer + length, sizeof(s->answer) - 1 - length)) > 0)
		length += (size_t)n;
	s->answer[length] = '\0';
	parse_answer(s);
	return true;
}

/* No line is known behind the part of a long function's table that is sent. */
static bool is_same(const struct frame *frame, const struct said *said)
{
	const struct known_code *known = find_code(frame->id);
	const char *dot = known ? strrchr(known->names.name, '.') : NULL;
	uint32_t line;

	if (!known || strcmp(dot ? dot + 1 : known->names.name, said->name) != 0 ||
	    strcmp(known->names.file, said->file) != 0)
		return false;
	line = find_line(known, frame->at);
	return line == said->line || (!line && known->raw.table_bytes == ABI_CODE_TABLE);
}

/*
 * faulthandler prints frames that have not begun yet, which tracebacks hide; so does the walk. That
 * is one that is being called.
 */
static void compare(struct stepper *s)
{
	const struct frames *now = &s->now;
	unsigned hidden = s->n_said == now->n + 1, i = 0;
	const struct known_code *known;
	char what[256];

	while (i < now->n && i + hidden < s->n_said &&
	       is_same(&now->frames[i], &s->said[i + hidden]))
		i++;
	s->n_asked++;
	if (i == now->n && i + hidden == s->n_said) {
		s->n_equal++;
		s->n_hidden += hidden;
		return;
	}
	known = i < now->n ? find_code(now->frames[i].id) : NULL;
	snprintf(what, sizeof(what), "frame %u of %u is %.60s:%u, not %.60s:%u of %u", i, now->n,
		 frame_name(now, i), known ? find_line(known, now->frames[i].at) : 0,
		 i + hidden < s->n_said ? s->said[i + hidden].name : "nothing",
		 i + hidden < s->n_said ? s->said[i + hidden].line : 0, s->n_said);
	remember(s, what);
}

/* --- stepping -----------------------------------------------------------------------------------
 */

static uint64_t cpu_ns(const struct stepper *s)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(s->of.pid, &clock) || clock_gettime(clock, &t))
		stepped_die("the program's clock");
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* For some CPU time, which is random by itself. */
static void run_free(struct stepper *s)
{
	uint64_t until = cpu_ns(s) + (uint64_t)random() % FREE_RUN_NS;

	if (ptrace(PTRACE_CONT, s->of.pid, NULL, NULL))
		stepped_die("continue");
	while (cpu_ns(s) < until)
		usleep(50);
	if (kill(s->of.pid, SIGSTOP) || wait_stopped(s) != SIGSTOP)
		stepped_die("stop");
	stepped_read_maps(&s->of);
	publish_process(&s->of);
}

static void end_program(struct stepper *s)
{
	int status;

	kill(s->of.pid, SIGKILL);
	while (waitpid(s->of.pid, &status, 0) == s->of.pid && !WIFSIGNALED(status))
		;
}

static void stepper_start(struct stepper *s)
{
	stepped_start(&s->of, s->program);
	if (ptrace(PTRACE_CONT, s->of.pid, NULL, NULL) || wait_stopped(s) != SIGUSR2)
		stepped_die("the program did not begin");
	s->restorer = 0;
	task = (struct task_struct){.mm = &mm, .pid = s->of.pid, .tgid = s->of.pid};
	task.group_leader = &task;
	task.start_boottime = cpu_ns(s);
	mm.exe_file = &file;
	program.i_sb = &super_block;
	scratch.record.pid = (__u32)s->of.pid;
}

/* The handler saw a chain that it could not follow: the program is done for. */
static void start_again(struct stepper *s)
{
	char what[128];

	s->n_crashes++;
	snprintf(what, sizeof(what), "crash over its own frames, of which the walk has %u, %.60s",
		 s->now.n, frame_name(&s->now, 0));
	remember(s, what);
	end_program(s);
	stepper_start(s);
}

/* False: the program is another one now. */
static bool check(struct stepper *s, bool is_first, bool is_asked)
{
	struct user_regs_struct r;

	if (ptrace(PTRACE_GETREGS, s->of.pid, NULL, &r))
		stepped_die("registers");
	s->before = s->now;
	walk(s, &r);
	s->n_walks++;
	if (!is_first)
		check_jump(s);
	check_places(s);
	if (!is_asked)
		return true;
	if (!stepper_ask(s, &r)) {
		start_again(s);
		return false;
	}
	compare(s);
	return true;
}

static void step_window(struct stepper *s)
{
	run_free(s);
	for (unsigned i = 0; i < s->length; i++) {
		if (!check(s, i == 0, (unsigned)random() % s->every == 0))
			return;
		if (ptrace(PTRACE_SINGLESTEP, s->of.pid, NULL, NULL) || wait_stopped(s) != SIGTRAP)
			stepped_die("step");
	}
}

static void print(struct stepper *s)
{
	struct wrong *wrong, *next;

	printf("walks %" PRIu64 " jumps %" PRIu64 " misplaced %" PRIu64 "\n", s->n_walks,
	       s->n_jumps, s->n_misplaced);
	printf("asked %" PRIu64 " equal %" PRIu64 " hidden %" PRIu64 " crashes %" PRIu64 "\n",
	       s->n_asked, s->n_equal, s->n_hidden, s->n_crashes);
	HASH_ITER (hh, s->wrong, wrong, next)
		printf("at %" PRIu64 " %s\n", wrong->n, wrong->what);
}

static void stepper_deinit(struct stepper *s)
{
	struct known_code *known, *next_known;
	struct wrong *wrong, *next;

	HASH_ITER (hh, s->wrong, wrong, next) {
		HASH_DEL(s->wrong, wrong);
		free(wrong);
	}
	HASH_ITER (hh, s->codes, known, next_known) {
		HASH_DEL(s->codes, known);
		free(known);
	}
	end_program(s);
	stepped_deinit(&s->of);
}

static void open_answers(struct stepper *s)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		stepped_die("pipe");
	s->answers = fcntl(ends[0], F_DUPFD_CLOEXEC, ANSWER_FD + 1);
	if (s->answers < 0 || dup2(ends[1], ANSWER_FD) < 0)
		stepped_die("pipe");
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"windows", required_argument, NULL, 'w'},
						{"length", required_argument, NULL, 'l'},
						{"every", required_argument, NULL, 'e'},
						{"seed", required_argument, NULL, 's'},
						{}};
	struct stepper *s = &stepper;
	int option;

	s->n_windows = s->length = 100;
	s->every = 1;
	while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		unsigned n = optarg ? (unsigned)strtoul(optarg, NULL, 10) : 0;

		if (option == '?')
			return 2;
		if (option == 's')
			srandom(n);
		else
			*(option == 'w'   ? &s->n_windows
			  : option == 'l' ? &s->length
					  : &s->every) = n;
	}
	if (optind == argc || !s->every) {
		fprintf(stderr,
			"usage: python_steps [--windows N] [--length N] [--every N] [--seed N] "
			"PROGRAM [ARGUMENT]...\n");
		return 2;
	}
	s->program = argv + optind;
	stub_read_user = read_process;
	stub_on_code = on_code;
	open_answers(s);
	stepped_init(&s->of);
	stepper_start(s);
	for (unsigned i = 0; i < s->n_windows; i++)
		step_window(s);
	print(s);
	stepper_deinit(s);
	return 0;
}
