/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_STEPPED_PROCESS_H
#define PROFD_TESTS_STEPPED_PROCESS_H

/*
 * A process that is stopped by ptrace(2): its mappings, and profd's tables of what is mapped there.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/maps.h"
#include "common/symbols/symtab.h"
#include "daemon/resolve/image_table.h"
#include "daemon/resolve/table_loader.h"
#include "tests/support/symtab_from_elf.h"

#define STEPPED_MAPPINGS_MAX 256
#define STEPPED_WORDS_MAX    (8u << 20)
#define STEPPED_MAPS_MAX     65536

struct stepped_module {
	struct image *image;
	struct symtab *symtab;
	struct worker_runtime runtime;
};

struct stepped {
	pid_t pid;
	int proc_fd;
	struct image_table *images;
	struct stepped_module modules[STEPPED_MAPPINGS_MAX];
	struct table_slot slots[STEPPED_MAPPINGS_MAX]; /* one a module */
	unsigned n_modules;
	struct unwind_mapping mappings[STEPPED_MAPPINGS_MAX]; /* slot: the module */
	unsigned n_mappings;
	uint64_t *words;
	size_t n_words;
	uint64_t stack_end, start_stack;
};

static _Noreturn void stepped_die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(1);
}

static struct table_result *stepped_make_table(struct image *image)
{
	struct table_result *result = NULL;
	struct table_loader *loader;
	struct pollfd fd = {.events = POLLIN};

	if (table_loader_new(&loader, STEPPED_WORDS_MAX, NULL) ||
	    table_loader_request(loader, image))
		stepped_die("table loader");
	fd.fd = table_loader_fd(loader);
	while (!result) {
		if (table_loader_receive(loader, &result))
			stepped_die("table loader");
		if (!result)
			(void)!poll(&fd, 1, 20);
	}
	table_loader_free(loader);
	return result;
}

static unsigned stepped_find_module(struct stepped *s, struct image *image)
{
	struct table_result *result;
	struct stepped_module *m;

	for (unsigned i = 0; i < s->n_modules; i++) {
		if (s->modules[i].image == image) {
			image_unref(image);
			return i;
		}
	}
	if (s->n_modules == STEPPED_MAPPINGS_MAX)
		stepped_die("too many modules");
	m = &s->modules[s->n_modules];
	m->image = image;
	if (image->fd >= 0 && symtab_from_elf(&m->symtab, image->fd) != SYMTAB_E_OK)
		m->symtab = NULL;
	if (image->kind != IMAGE_FILE && image->kind != IMAGE_VDSO) {
		s->slots[s->n_modules].state = TABLE_NO_CFI;
		return s->n_modules++;
	}
	result = stepped_make_table(image);
	s->slots[s->n_modules] = result->slot;
	m->runtime = result->runtime;
	s->slots[s->n_modules].first = (uint32_t)s->n_words;
	if (result->n_words) {
		s->words = reallocarray(s->words, s->n_words + result->n_words, sizeof(*s->words));
		if (!s->words)
			stepped_die("memory");
		memcpy(s->words + s->n_words, result->words,
		       result->n_words * sizeof(*result->words));
		s->n_words += result->n_words;
	}
	table_result_free(result);
	return s->n_modules++;
}

static void stepped_add_mapping(struct stepped *s, const struct maps_line *line)
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
	if (s->n_mappings == STEPPED_MAPPINGS_MAX || image_table_get(s->images, &key, &image))
		stepped_die("mapping");
	s->mappings[s->n_mappings++] = (struct unwind_mapping){
		.start = line->start,
		.end = line->end,
		.offset = line->offset,
		.slot = stepped_find_module(s, image),
	};
}

static void stepped_read_maps(struct stepped *s)
{
	static char text[STEPPED_MAPS_MAX];
	struct maps_line line;
	size_t n = 0;
	char path[64];
	const char *own;
	ssize_t r;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)s->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		stepped_die(path);
	while ((r = read(fd, text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)r;
	close(fd);
	text[n] = '\0';
	s->n_mappings = 0;
	for (const char *at = text; at < text + n; at += line.length + 1)
		if (maps_parse(at, text + n, &line) && line.prot & PROT_EXEC)
			stepped_add_mapping(s, &line);
	own = strstr(text, "[stack]");
	while (own && own > text && own[-1] != '\n')
		own--;
	if (own)
		s->stack_end = strtoull(strchr(own, '-') + 1, NULL, 16);
}

static void stepped_read_start_stack(struct stepped *s)
{
	char path[64], text[1024], *at;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)s->pid);
	f = fopen(path, "re");
	if (!f)
		stepped_die(path);
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

static inline const struct unwind_mapping *stepped_find_mapping(void *userdata, uint64_t address)
{
	struct stepped *s = userdata;

	for (unsigned i = 0; i < s->n_mappings; i++) {
		if (address >= s->mappings[i].start && address < s->mappings[i].end)
			return &s->mappings[i];
	}
	return NULL;
}

/*
 * "name+0xoff(module)" of the code at @offset in the module's file; "module+0xoff" where nothing
 * has a name. *ret_symbol: "" then.
 */
static void stepped_name(const struct stepped_module *module, uint64_t offset, char *ret,
			 size_t size, const char **ret_symbol)
{
	const char *slash = strrchr(module->image->path, '/');
	const char *name = slash ? slash + 1 : module->image->path;
	struct symtab_symbol symbol;
	uint64_t address;

	*ret_symbol = "";
	if (!module->symtab || !image_elf(module->image) ||
	    !elf_summary_vaddr(image_elf(module->image), offset, &address) ||
	    !symtab_find(module->symtab, address, &symbol)) {
		snprintf(ret, size, "%s+0x%" PRIx64, name, offset);
		return;
	}
	snprintf(ret, size, "%s+0x%" PRIx64 "(%s)", symbol.name, address - symbol.start, name);
	*ret_symbol = symbol.name;
}

/* Executes @arguments, which is stopped before its first instruction. */
static void stepped_start(struct stepped *s, char **arguments)
{
	int status;

	s->pid = fork();
	if (s->pid < 0)
		stepped_die("fork");
	if (s->pid == 0) {
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execv(arguments[0], arguments);
		_exit(127);
	}
	if (waitpid(s->pid, &status, 0) != s->pid || !WIFSTOPPED(status))
		stepped_die(arguments[0]);
	ptrace(PTRACE_SETOPTIONS, s->pid, NULL, (void *)(uintptr_t)PTRACE_O_EXITKILL);
	stepped_read_maps(s);
	stepped_read_start_stack(s);
}

static void stepped_init(struct stepped *s)
{
	s->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->proc_fd < 0 || image_table_new(&s->images, s->proc_fd))
		stepped_die("/proc");
}

static void stepped_deinit(struct stepped *s)
{
	for (unsigned i = 0; i < s->n_modules; i++) {
		image_unref(s->modules[i].image);
		symtab_free(s->modules[i].symtab);
	}
	image_table_free(s->images);
	closep(&s->proc_fd);
	free(s->words);
}

#endif
