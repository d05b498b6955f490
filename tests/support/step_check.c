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
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <uthash.h>

#include "common/maps.h"
#include "common/reasons.h"
#include "common/symbols/symtab.h"
#include "common/unwind/walk.h"
#include "daemon/resolve/image_table.h"
#include "daemon/resolve/table_loader.h"
#include "tests/support/symtab_from_elf.h"

#define DEPTH_MAX    2048
#define MAPPINGS_MAX 64
#define WORDS_MAX    (8u << 20)
#define MAPS_MAX     65536
#define STACK_MAX    (256u << 10)
#define RED_ZONE     256
#define CALL_MAX     8 /* bytes of the longest call instruction, and one */

struct module {
	struct image *image;
	struct symtab *symtab;
	struct table_slot slot;
};

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
	const char *own; /* ",name,name," */
	unsigned every;
	pid_t pid;
	int proc_fd;
	struct image_table *images;
	struct module modules[MAPPINGS_MAX];
	struct table_slot slots[MAPPINGS_MAX]; /* one a module */
	unsigned n_modules;
	uint64_t program_inode;
	struct unwind_mapping mappings[MAPPINGS_MAX];
	unsigned n_mappings;
	uint64_t *words;
	size_t n_words;
	uint64_t stack_end, start_stack;
	struct call calls[DEPTH_MAX]; /* the truth, root first */
	unsigned n_calls;
	uint8_t stack[STACK_MAX];
	uint64_t n_own, n_others, n_own_wrong, n_others_wrong;
	struct wrong *wrong;
};

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "step_check: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* --- the program's mappings --------------------------------------------------------------------
 */

static struct table_result *make_table(struct image *image)
{
	struct table_result *result = NULL;
	struct table_loader *loader;
	struct pollfd fd = {.events = POLLIN};

	if (table_loader_new(&loader, WORDS_MAX, NULL) || table_loader_request(loader, image))
		die("table loader");
	fd.fd = table_loader_fd(loader);
	while (!result) {
		if (table_loader_receive(loader, &result))
			die("table loader");
		if (!result)
			(void)!poll(&fd, 1, 20);
	}
	table_loader_free(loader);
	return result;
}

static unsigned find_module(struct stepper *s, struct image *image)
{
	struct table_result *result;
	struct module *m;

	for (unsigned i = 0; i < s->n_modules; i++) {
		if (s->modules[i].image == image) {
			image_unref(image);
			return i;
		}
	}
	if (s->n_modules == MAPPINGS_MAX)
		die("too many modules");
	m = &s->modules[s->n_modules];
	m->image = image;
	if (image->fd >= 0 && symtab_from_elf(&m->symtab, image->fd) != SYMTAB_E_OK)
		m->symtab = NULL;
	if (image->kind != IMAGE_FILE && image->kind != IMAGE_VDSO) {
		s->slots[s->n_modules].state = TABLE_NO_CFI;
		return s->n_modules++;
	}
	result = make_table(image);
	s->slots[s->n_modules] = result->slot;
	s->slots[s->n_modules].first = (uint32_t)s->n_words;
	if (result->n_words) {
		s->words = reallocarray(s->words, s->n_words + result->n_words, sizeof(*s->words));
		if (!s->words)
			die("memory");
		memcpy(s->words + s->n_words, result->words,
		       result->n_words * sizeof(*result->words));
		s->n_words += result->n_words;
	}
	table_result_free(result);
	return s->n_modules++;
}

static void add_mapping(struct stepper *s, const struct maps_line *line)
{
	char path[PATH_MAX];
	struct image_key key = {
		.path = path,
		.device_major = (uint32_t)(line->device >> 32),
		.device_minor = (uint32_t)line->device,
		.inode = line->inode,
		.pid = s->pid,
		.start = line->start,
		.end = line->end,
	};
	struct image *image;

	snprintf(path, sizeof(path), "%.*s", (int)line->path_length, line->path);
	if (s->n_mappings == MAPPINGS_MAX || image_table_get(s->images, &key, &image))
		die("mapping");
	s->mappings[s->n_mappings++] = (struct unwind_mapping){
		.start = line->start,
		.end = line->end,
		.offset = line->offset,
		.slot = find_module(s, image),
	};
}

static void read_maps(struct stepper *s)
{
	static char text[MAPS_MAX];
	struct maps_line line;
	size_t n = 0;
	char path[64];
	const char *stack;
	ssize_t r;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)s->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die(path);
	while ((r = read(fd, text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)r;
	close(fd);
	text[n] = '\0';
	s->n_mappings = 0;
	for (const char *at = text; at < text + n; at += line.length + 1)
		if (maps_parse(at, text + n, &line) && line.prot & PROT_EXEC)
			add_mapping(s, &line);
	stack = strstr(text, "[stack]");
	while (stack && stack > text && stack[-1] != '\n')
		stack--;
	if (stack)
		s->stack_end = strtoull(strchr(stack, '-') + 1, NULL, 16);
}

static void read_start_stack(struct stepper *s)
{
	char path[64], text[1024], *at;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)s->pid);
	f = fopen(path, "re");
	if (!f)
		die(path);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	at = strrchr(text, ')');
	/* proc(5): the name is field 2, startstack field 28. */
	for (unsigned field = 2; at && field < 28; field++)
		at = strchr(at + 1, ' ');
	if (at)
		s->start_stack = strtoull(at + 1, NULL, 10);
}

static const struct unwind_mapping *find_mapping(void *userdata, uint64_t address)
{
	struct stepper *s = userdata;

	for (unsigned i = 0; i < s->n_mappings; i++) {
		if (address >= s->mappings[i].start && address < s->mappings[i].end)
			return &s->mappings[i];
	}
	return NULL;
}

/* --- names -------------------------------------------------------------------------------------
 */

/* "name+0xoff(module)"; *ret_is_own tells whether the name is one of those that must be right. */
static void name_place(struct stepper *s, uint64_t pc, char *ret, size_t size, bool *ret_is_own)
{
	const struct unwind_mapping *m = find_mapping(s, pc);
	const struct module *module = m ? &s->modules[m->slot] : NULL;
	struct symtab_symbol symbol;
	const char *slash;
	uint64_t address, offset;
	char key[128];

	*ret_is_own = false;
	if (!m) {
		snprintf(ret, size, "0x%" PRIx64, pc);
		return;
	}
	slash = strrchr(module->image->path, '/');
	offset = pc - m->start + m->offset;
	if (!module->symtab || !image_elf(module->image) ||
	    !elf_summary_vaddr(image_elf(module->image), offset, &address) ||
	    !symtab_find(module->symtab, address, &symbol)) {
		snprintf(ret, size, "%s+0x%" PRIx64, slash ? slash + 1 : module->image->path,
			 offset);
		return;
	}
	snprintf(ret, size, "%s+0x%" PRIx64 "(%s)", symbol.name, address - symbol.start,
		 slash ? slash + 1 : module->image->path);
	snprintf(key, sizeof(key), ",%s,", symbol.name);
	*ret_is_own = module->image->inode == s->program_inode && strstr(s->own, key) != NULL;
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
}

static size_t read_stack(struct stepper *s, uint64_t from)
{
	size_t length = s->stack_end > from ? s->stack_end - from : 0;
	struct iovec local, remote;
	ssize_t r;

	if (length > sizeof(s->stack))
		length = sizeof(s->stack);
	local = (struct iovec){s->stack, length};
	remote = (struct iovec){(void *)(uintptr_t)from, length};
	r = process_vm_readv(s->pid, &local, 1, &remote, 1, 0);
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
			die("memory");
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
		.find = find_mapping,
		.userdata = s,
		.words = s->words,
		.n_words = s->n_words,
		.slots = s->slots,
		.n_slots = s->n_modules,
	};
	struct walk walk = {
		.start_stack = s->start_stack,
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
	word = (uint64_t)ptrace(PTRACE_PEEKDATA, s->pid, (void *)(uintptr_t)after->rsp, NULL);
	if (errno || word - before->rip < 2 || word - before->rip >= CALL_MAX)
		return;
	if (s->n_calls == DEPTH_MAX - 1)
		die("too deep");
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
	int status;

	if (stat(arguments[0], &st))
		die(arguments[0]);
	s->program_inode = st.st_ino;

	s->pid = fork();
	if (s->pid < 0)
		die("fork");
	if (s->pid == 0) {
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execv(arguments[0], arguments);
		_exit(127);
	}
	if (waitpid(s->pid, &status, 0) != s->pid || !WIFSTOPPED(status))
		die(arguments[0]);
	ptrace(PTRACE_SETOPTIONS, s->pid, NULL, (void *)(uintptr_t)PTRACE_O_EXITKILL);
	read_maps(s);
	read_start_stack(s);
}

static void run(struct stepper *s)
{
	struct user_regs_struct before, after;
	uint64_t n = 0;
	char place[256];
	bool is_own;
	int status;

	if (ptrace(PTRACE_GETREGS, s->pid, NULL, &after))
		die("registers");
	for (;;) {
		before = after;
		name_place(s, before.rip, place, sizeof(place), &is_own);
		if (is_own || n++ % s->every == 0)
			check(s, &before, place, is_own);
		if (ptrace(PTRACE_SINGLESTEP, s->pid, NULL, NULL) ||
		    waitpid(s->pid, &status, 0) != s->pid)
			die("step");
		if (!WIFSTOPPED(status))
			return;
		if (WSTOPSIG(status) != SIGTRAP || ptrace(PTRACE_GETREGS, s->pid, NULL, &after))
			die("the program was stopped by a signal");
		follow(s, &before, &after);
		if (changes_maps(&before, &after))
			read_maps(s);
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
	for (unsigned i = 0; i < s->n_modules; i++) {
		image_unref(s->modules[i].image);
		symtab_free(s->modules[i].symtab);
	}
	image_table_free(s->images);
	closep(&s->proc_fd);
	free(s->words);
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
		die("memory");
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
	s->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->proc_fd < 0 || image_table_new(&s->images, s->proc_fd))
		die("/proc");
	start(s, argv + optind);
	run(s);
	print(s);
	stepper_free(s);
	return 0;
}
