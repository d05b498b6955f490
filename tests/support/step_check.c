/* SPDX-License-Identifier: MIT */

/*
 * step_check [--own NAME,NAME...] [--every N] PROGRAM [ARGUMENTS]: runs PROGRAM one instruction at
 * a time, from its very first, and asks profd's own walk for the stack at each: at every one of the
 * functions named, at every Nth of others. The truth is kept beside it: a call leaves its return
 * address on the stack, at a place that is remembered until the stack pointer is above it.
 *
 * Prints "own N wrong M" and "others N wrong M", and for each function where stacks were wrong a
 * line: "at own|other COUNT FUNCTION+OFFSET(MODULE) what". The exit status says only whether the
 * program could be run.
 */
#include <getopt.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <uthash.h>

#include "common/reasons.h"
#include "common/unwind/walk.h"
#include "tests/support/stepped_process.h"

#define DEPTH_MAX 2048
#define STACK_MAX (256u << 10)
#define RED_ZONE  256
#define CALL_MAX  8 /* bytes of the longest call instruction, and one */

/* A return address, and where it lies. */
struct call {
	uint64_t address, slot;
};

/* Where stacks were wrong, by function. */
struct wrong {
	char place[256]; /* the key */
	char what[256];  /* of the first one */
	uint64_t n;
	bool is_own;
	UT_hash_handle hh;
};

struct stepper {
	struct stepped of;
	const char *own; /* ",name,name," */
	unsigned every;
	uint64_t program_inode;
	struct call calls[DEPTH_MAX]; /* the truth, root first */
	unsigned n_calls;
	uint8_t stack[STACK_MAX];
	uint64_t n_own, n_others, n_own_wrong, n_others_wrong;
	struct wrong *wrong;
};

/* --- names -------------------------------------------------------------------------------------
 */

/* "name+0xoff(module)"; *ret_is_own tells whether the name is one of those that must be right. */
static void name_place(struct stepper *s, uint64_t pc, char *ret, size_t size, bool *ret_is_own)
{
	const struct unwind_mapping *m = stepped_find_mapping(&s->of, pc);
	const struct stepped_module *module = m ? &s->of.modules[m->slot] : NULL;
	const char *symbol;
	char key[128];

	*ret_is_own = false;
	if (!m) {
		snprintf(ret, size, "0x%" PRIx64, pc);
		return;
	}
	stepped_name(module, pc - m->start + m->offset, ret, size, &symbol);
	snprintf(key, sizeof(key), ",%s,", symbol);
	*ret_is_own = *symbol && module->image->inode == s->program_inode && strstr(s->own, key);
}

/* --- the comparison ----------------------------------------------------------------------------
 */

static void add_register(struct unwind_registers *r, unsigned base, uint64_t value)
{
	r->others[base - RULE_BASE_OTHER] = value;
	r->known |= UNWIND_KNOWN(base);
}

static void set_registers(struct unwind_registers *ret, const struct user_regs_struct *regs)
{
	*ret = (struct unwind_registers){
		.pc = regs->rip, .sp = regs->rsp, .fp = regs->rbp, .known = UNWIND_KNOWN_FP};
	add_register(ret, RULE_BASE_AX, regs->rax);
	add_register(ret, RULE_BASE_BX, regs->rbx);
	add_register(ret, RULE_BASE_CX, regs->rcx);
	add_register(ret, RULE_BASE_DX, regs->rdx);
	add_register(ret, RULE_BASE_DI, regs->rdi);
	add_register(ret, RULE_BASE_R10, regs->r10);
	add_register(ret, RULE_BASE_R11, regs->r11);
	add_register(ret, RULE_BASE_SI, regs->rsi);
	add_register(ret, RULE_BASE_R8, regs->r8);
	add_register(ret, RULE_BASE_R9, regs->r9);
	add_register(ret, RULE_BASE_R12, regs->r12);
	add_register(ret, RULE_BASE_R13, regs->r13);
	add_register(ret, RULE_BASE_R14, regs->r14);
	add_register(ret, RULE_BASE_R15, regs->r15);
}

static size_t read_stack(struct stepper *s, uint64_t from)
{
	size_t length = s->of.stack_end > from ? s->of.stack_end - from : 0;
	struct iovec local, remote;
	ssize_t r;

	if (length > sizeof(s->stack))
		length = sizeof(s->stack);
	local = (struct iovec){s->stack, length};
	remote = (struct iovec){(void *)(uintptr_t)from, length};
	r = process_vm_readv(s->of.pid, &local, 1, &remote, 1, 0);
	return r > 0 ? (size_t)r : 0;
}

/* Why the walk is wrong; false if it is right. */
static bool compare(struct stepper *s, const struct walk *w, uint64_t pc, char *ret, size_t size)
{
	char have[256], wanted[256];
	bool ignored;

	for (unsigned i = 0; i <= s->n_calls; i++) {
		uint64_t truth = i ? s->calls[s->n_calls - i].address - 1 : pc;

		if (i < w->n_frames && w->frames[i] == truth)
			continue;
		name_place(s, truth, wanted, sizeof(wanted), &ignored);
		snprintf(have, sizeof(have), "nothing");
		if (i < w->n_frames)
			name_place(s, w->frames[i], have, sizeof(have), &ignored);
		snprintf(ret, size, "frame %u of %u is %.80s, not %.80s (%u/%u)", i, s->n_calls + 1,
			 have, wanted, w->quality, w->reason);
		return true;
	}
	if (w->n_frames > s->n_calls + 1) {
		snprintf(ret, size, "%u frames too many (%u/%u)", w->n_frames - s->n_calls - 1,
			 w->quality, w->reason);
		return true;
	}
	snprintf(ret, size, "ends as %u/%u", w->quality, w->reason);
	return w->quality != STACK_COMPLETE;
}

static void remember(struct stepper *s, const char *place, bool is_own, const char *what)
{
	struct wrong *wrong;

	HASH_FIND_STR(s->wrong, place, wrong);
	if (!wrong) {
		wrong = calloc(1, sizeof(*wrong));
		if (!wrong)
			stepped_die("memory");
		snprintf(wrong->place, sizeof(wrong->place), "%s", place);
		snprintf(wrong->what, sizeof(wrong->what), "%s", what);
		wrong->is_own = is_own;
		HASH_ADD_STR(s->wrong, place, wrong);
	}
	wrong->n++;
}

static void check(struct stepper *s, const struct user_regs_struct *regs, const char *place,
		  bool is_own)
{
	uint64_t frames[DEPTH_MAX], from = regs->rsp - RED_ZONE;
	struct walk_maps maps = {
		.find = stepped_find_mapping,
		.userdata = &s->of,
		.words = s->of.words,
		.n_words = s->of.n_words,
		.slots = s->of.slots,
		.n_slots = s->of.n_modules,
	};
	struct walk walk = {
		.start_stack = s->of.start_stack,
		.frames = frames,
		.max_frames = DEPTH_MAX,
	};
	char what[256];
	int outcome;

	set_registers(&walk.registers, regs);
	walk.memory.regions[0] = (struct unwind_region){from, read_stack(s, from), s->stack};
	walk.memory.n_regions = 1;
	outcome = walk_run(&walk, &maps);
	if (outcome != WALK_ENDED)
		walk_give_up(&walk, outcome);
	*(is_own ? &s->n_own : &s->n_others) += 1;
	if (!compare(s, &walk, regs->rip, what, sizeof(what)))
		return;
	*(is_own ? &s->n_own_wrong : &s->n_others_wrong) += 1;
	remember(s, place, is_own, what);
}

/* --- stepping ----------------------------------------------------------------------------------
 */

/* What the instruction between the two states did to the chain of calls. */
static void follow(struct stepper *s, const struct user_regs_struct *before,
		   const struct user_regs_struct *after)
{
	uint64_t word;

	while (s->n_calls && s->calls[s->n_calls - 1].slot < after->rsp)
		s->n_calls--;
	if (after->rsp != before->rsp - 8 || after->rip - before->rip < CALL_MAX)
		return;
	errno = 0;
	word = (uint64_t)ptrace(PTRACE_PEEKDATA, s->of.pid, (void *)(uintptr_t)after->rsp, NULL);
	if (errno || word - before->rip < 2 || word - before->rip >= CALL_MAX)
		return;
	if (s->n_calls == DEPTH_MAX - 1)
		stepped_die("too deep");
	s->calls[s->n_calls++] = (struct call){word, after->rsp};
}

/* System calls that change mappings; the kernel's number is in rax before, and -1 beyond. */
static bool changes_maps(const struct user_regs_struct *before,
			 const struct user_regs_struct *after)
{
	if (after->rip - before->rip != 2 || after->rcx != after->rip)
		return false;
	return before->rax == SYS_mmap || before->rax == SYS_munmap || before->rax == SYS_mprotect;
}

static void start(struct stepper *s, char **arguments)
{
	struct stat st;

	if (stat(arguments[0], &st))
		stepped_die(arguments[0]);
	s->program_inode = st.st_ino;

	stepped_start(&s->of, arguments);
}

static void run(struct stepper *s)
{
	struct user_regs_struct before, after;
	uint64_t n = 0;
	char place[256];
	bool is_own;
	int status;

	if (ptrace(PTRACE_GETREGS, s->of.pid, NULL, &after))
		stepped_die("registers");
	for (;;) {
		before = after;
		name_place(s, before.rip, place, sizeof(place), &is_own);
		if (is_own || n++ % s->every == 0)
			check(s, &before, place, is_own);
		if (ptrace(PTRACE_SINGLESTEP, s->of.pid, NULL, NULL) ||
		    waitpid(s->of.pid, &status, 0) != s->of.pid)
			stepped_die("step");
		if (!WIFSTOPPED(status))
			return;
		if (WSTOPSIG(status) != SIGTRAP || ptrace(PTRACE_GETREGS, s->of.pid, NULL, &after))
			stepped_die("the program was stopped by a signal");
		follow(s, &before, &after);
		if (changes_maps(&before, &after))
			stepped_read_maps(&s->of);
	}
}

static void print(struct stepper *s)
{
	struct wrong *wrong, *next;

	printf("own %" PRIu64 " wrong %" PRIu64 "\n", s->n_own, s->n_own_wrong);
	printf("others %" PRIu64 " wrong %" PRIu64 "\n", s->n_others, s->n_others_wrong);
	HASH_ITER (hh, s->wrong, wrong, next)
		printf("at %s %" PRIu64 " %s %s\n", wrong->is_own ? "own" : "other", wrong->n,
		       wrong->place, wrong->what);
}

static void stepper_free(struct stepper *s)
{
	struct wrong *wrong, *next;

	HASH_ITER (hh, s->wrong, wrong, next) {
		HASH_DEL(s->wrong, wrong);
		free(wrong);
	}
	stepped_deinit(&s->of);
	free(s);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"own", required_argument, NULL, 'o'},
						{"every", required_argument, NULL, 'e'},
						{}};
	struct stepper *s = calloc(1, sizeof(*s));
	char own[8192] = ",";
	int option;

	if (!s)
		stepped_die("memory");
	s->own = own;
	s->every = 1;
	while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		if (option == 'o')
			snprintf(own, sizeof(own), ",%s,", optarg);
		else if (option == 'e')
			s->every = (unsigned)strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	if (optind == argc || !s->every) {
		fprintf(stderr, "usage: step_check [--own NAME,...] [--every N] PROGRAM "
				"[ARGUMENT]...\n");
		return 2;
	}
	stepped_init(&s->of);
	start(s, argv + optind);
	run(s);
	print(s);
	stepper_free(s);
	return 0;
}
