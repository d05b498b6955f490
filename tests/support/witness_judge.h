/* SPDX-License-Identifier: MIT */
#ifndef PROFD_TESTS_WITNESS_JUDGE_H
#define PROFD_TESTS_WITNESS_JUDGE_H

/*
 * libdw's walk of a stack that profd has walked, and whether they are the same. Knows how libdw is
 * told of a process that is no more: its files at their addresses, registers, and a copy of its
 * stack.
 *
 * In a header, because each program below tests/support is one source file.
 */
#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/error.h"
#include "common/unwind/registers.h"
#include "common/unwind/walk_memory.h"
#include "daemon/ingest/sample.h"
#include "daemon/resolve/mappings.h"
#include "tests/support/files.h"

#define FRAMES_MAX  2048
#define MODULES_MAX 4096

/* A repeated walk's own view of the one that it repeats. */
struct witness {
	pid_t pid;
	char comm[SAMPLE_COMM_SIZE];
	struct mappings *mappings; /* owned reference */
	uint32_t generation;
	struct unwind_registers registers;
	uint64_t stack_address;
	size_t stack_length;
	uint8_t *stack; /* owned */
	uint32_t n_frames;
	uint64_t *frames; /* owned */
};

/* X(name): what can become of a witness. */
#define OUTCOMES(X)                                                          \
	X(whole)       /* equal, to the root */                              \
	X(to_copy_end) /* equal, as far as the copy of the stack reaches */  \
	X(no_file)     /* left out: a frame in what is no open file */       \
	X(refused)     /* left out: libdw would not take one of the files */ \
	X(compat)      /* left out: a 32-bit program */                      \
	X(no_copy)     /* left out: it came without a stack */               \
	X(differ)

#define OUTCOME_ENUM(n) OUTCOME_##n,
#define OUTCOME_NAME(n) #n,
enum outcome { OUTCOMES(OUTCOME_ENUM) N_OUTCOMES };
static const char *const outcome_names[] = {OUTCOMES(OUTCOME_NAME)};

/* One process as libdw sees it, for the witness at hand. */
struct judge {
	Dwfl *dwfl;
	struct mappings *mappings; /* borrowed from the witnesses */
	uint32_t generation;
	const struct image *refused[64];
	unsigned n_refused;
	int vdso_fd;

	const struct witness *witness;
	struct unwind_memory memory;
	bool past_copy;            /* it asked for what lies above the copy */
	uint64_t pcs[FRAMES_MAX];  /* lookup addresses */
	bool is_exact[FRAMES_MAX]; /* was not called, by libdw's word */
	uint32_t n_pcs;
};

/* --- what libdw is told ----------------------------------------------------------------------- */

#if defined(__x86_64__)
/* DWARF register numbers (System V x86-64 ABI, figure 3.36). */
static const struct {
	unsigned base;
	int dwarf;
} other_registers[] = {{RULE_BASE_AX, 0},   {RULE_BASE_DX, 1},   {RULE_BASE_CX, 2},
		       {RULE_BASE_BX, 3},   {RULE_BASE_DI, 5},   {RULE_BASE_R10, 10},
		       {RULE_BASE_R11, 11}, {RULE_BASE_SI, 4},   {RULE_BASE_R8, 8},
		       {RULE_BASE_R9, 9},   {RULE_BASE_R12, 12}, {RULE_BASE_R13, 13},
		       {RULE_BASE_R14, 14}, {RULE_BASE_R15, 15}};
#define DWARF_FP 6
#define DWARF_SP 7
#define DWARF_PC 16
#else
static const struct {
	unsigned base;
	int dwarf;
} other_registers[] = {{RULE_BASE_LR, 30}};
#define DWARF_FP 29
#define DWARF_SP 31
#endif

static pid_t next_thread(Dwfl *dwfl, void *userdata, void **thread)
{
	const struct judge *j = userdata;

	(void)dwfl;
	if (*thread)
		return 0;
	*thread = userdata;
	return j->witness->pid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *userdata, void **thread)
{
	(void)dwfl, (void)tid;
	*thread = userdata;
	return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *userdata)
{
	struct judge *j = userdata;
	unwind_u64 word;

	(void)dwfl;
	if (!unwind_read(&j->memory, address, &word)) {
		if (address + sizeof(word) > j->witness->stack_address + j->witness->stack_length)
			j->past_copy = true;
		return false;
	}
	*result = word;
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *userdata)
{
	const struct judge *j = userdata;
	const struct unwind_registers *r = &j->witness->registers;
	Dwarf_Word word = r->sp;

	dwfl_thread_state_register_pc(thread, r->pc);
#if defined(DWARF_PC)
	/* The rule of a PLT computes with it. */
	word = r->pc;
	if (!dwfl_thread_state_registers(thread, DWARF_PC, 1, &word))
		return false;
	word = r->sp;
#endif
	if (!dwfl_thread_state_registers(thread, DWARF_SP, 1, &word))
		return false;
	word = r->fp;
	if (r->known & UNWIND_KNOWN_FP && !dwfl_thread_state_registers(thread, DWARF_FP, 1, &word))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(other_registers); i++) {
		word = r->others[other_registers[i].base - RULE_BASE_OTHER];
		if (r->known & UNWIND_KNOWN(other_registers[i].base) &&
		    !dwfl_thread_state_registers(thread, other_registers[i].dwarf, 1, &word))
			return false;
	}
	return true;
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

/* Every module comes with its file, and nothing but that file is to be read. */
static int no_debuginfo(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word crc, char **ret)
{
	(void)module, (void)userdata, (void)name, (void)base, (void)file, (void)link, (void)crc;
	*ret = NULL;
	return -1;
}

static const Dwfl_Callbacks dwfl_callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = no_debuginfo,
	.section_address = dwfl_offline_section_address,
};

/* --- a process's modules ---------------------------------------------------------------------- */

static bool is_placeable(const struct image *image)
{
	return image->kind == IMAGE_VDSO ||
	       (image->kind == IMAGE_FILE && image->fd >= 0 && image_elf(image));
}

/* Where address 0 of @mapping's file lies; false if the mapping is in none of its segments. */
static bool load_bias(const struct mapping *mapping, uint64_t *ret)
{
	const struct elf_summary *elf = image_elf(mapping->image);
	uint64_t length = mapping->end - mapping->start;

	if (mapping->image->kind == IMAGE_VDSO) {
		*ret = mapping->start - mapping->offset;
		return true;
	}
	for (uint32_t i = 0; i < elf->n_segments; i++) {
		const struct elf_segment *s = &elf->segments[i];

		if (!s->executable || s->offset >= mapping->offset + length ||
		    s->offset + s->file_size <= mapping->offset)
			continue;
		*ret = mapping->start - mapping->offset + s->offset - s->vaddr;
		return true;
	}
	return false;
}

static void refuse(struct judge *j, const struct image *image)
{
	if (j->n_refused < ARRAY_SIZE(j->refused))
		j->refused[j->n_refused++] = image;
}

static bool is_refused(const struct judge *j, const struct image *image)
{
	for (unsigned i = 0; i < j->n_refused; i++)
		if (j->refused[i] == image)
			return true;
	return j->n_refused == ARRAY_SIZE(j->refused);
}

/* @again: it has been placed elsewhere already. */
static void report_module(struct judge *j, const struct image *image, uint64_t bias, bool again)
{
	bool vdso = image->kind == IMAGE_VDSO;
	cleanup(closep) int fd = dup(vdso ? j->vdso_fd : image->fd);

	if (fd >= 0 && dwfl_report_elf(j->dwfl, image->path, image->path, fd, bias, true))
		steal_fd(&fd);
	else if (!again)
		refuse(j, image);
}

static bool in_force(const struct judge *j, const struct mapping *m)
{
	return m->from <= j->generation && m->until > j->generation;
}

/*
 * The files of all mappings in force, each once however many parts of it are mapped. Programs may
 * map a part of theirs once more elsewhere (node does, its built-in functions); what libdw cannot
 * be told of that (a file with fixed addresses has but one place) it can still follow by frame
 * pointers.
 */
static void report_modules(struct judge *j)
{
	const struct mapping *all;
	uint64_t bias, other;
	size_t n, k;

	all = mappings_all(j->mappings, &n);
	for (size_t i = 0; i < n && i < MODULES_MAX; i++) {
		const struct image *image = all[i].image;
		bool again = false, same = false;

		if (!in_force(j, &all[i]) || !is_placeable(image) || !load_bias(&all[i], &bias) ||
		    (bias && image->kind == IMAGE_FILE && image_elf(image)->type == ET_EXEC))
			continue;
		for (k = 0; k < i; k++) {
			if (all[k].image != image || !in_force(j, &all[k]) ||
			    !load_bias(&all[k], &other))
				continue;
			again = true;
			same = same || other == bias;
		}
		if (!same)
			report_module(j, image, bias, again);
	}
}

/* Makes @j that of the process of @w. */
static int judge_enter(struct judge *j, const struct witness *w)
{
	if (j->dwfl && j->mappings == w->mappings && j->generation == w->generation)
		return 0;
	dwfl_end(j->dwfl);
	j->mappings = w->mappings;
	j->generation = w->generation;
	j->n_refused = 0;
	j->dwfl = dwfl_begin(&dwfl_callbacks);
	if (!j->dwfl)
		return error_origin(-ENOMEM);
	report_modules(j);
	dwfl_report_end(j->dwfl, NULL, NULL);
	/* Where this fails (no module at all), walking fails as well, and says so. */
	dwfl_attach_state(j->dwfl, NULL, w->pid, &thread_callbacks, j);
	return 0;
}

/* --- comparing -------------------------------------------------------------------------------- */

static int on_frame(Dwfl_Frame *state, void *userdata)
{
	struct judge *j = userdata;
	bool activation;
	Dwarf_Addr pc;

	if (j->n_pcs == FRAMES_MAX || !dwfl_frame_pc(state, &pc, &activation))
		return DWARF_CB_ABORT;
	if (j->n_pcs == 0)
		activation = !j->witness->registers.is_return;
	j->is_exact[j->n_pcs] = activation;
	j->pcs[j->n_pcs++] = pc - !activation;
	return DWARF_CB_OK;
}

/* Whether @frame, one of ours, is what @pc, one of libdw's, is called here. */
static bool same_frame(const struct witness *w, uint64_t frame, uint64_t pc)
{
	const struct mapping *m;

	if (frame_kind(frame) != FRAME_IMAGE)
		return frame == pc;
	m = mappings_find(w->mappings, w->generation, pc);
	return m && (m->image->id & FRAME_IMAGES_MAX) == frame_image(frame) &&
	       (uint32_t)(pc - m->start + m->offset) == frame_offset(frame);
}

/*
 * libdw counts the restorer of a signal frame as not called, while to a walk it is what the handler
 * returns to; the frame that the signal met, the next one, was not called in either view.
 */
static bool same_restorer(const struct judge *j, const struct witness *w, uint32_t i)
{
	return i > 0 && j->is_exact[i] && (i == 1 || !j->is_exact[i - 1]) &&
	       same_frame(w, w->frames[i], j->pcs[i] - 1);
}

/* The image of one of our frames, or NULL. */
static const struct image *image_of(const struct witness *w, uint64_t frame)
{
	const struct mapping *all, *m;
	size_t n;

	if (frame_kind(frame) == FRAME_USER) {
		m = mappings_find(w->mappings, w->generation, frame);
		return m ? m->image : NULL;
	}
	all = mappings_all(w->mappings, &n);
	for (size_t i = 0; i < n; i++)
		if ((all[i].image->id & FRAME_IMAGES_MAX) == frame_image(frame))
			return all[i].image;
	return NULL;
}

/* OUTCOME_differ if nothing speaks against the comparison. */
static enum outcome left_out(const struct judge *j, const struct witness *w)
{
	if (w->registers.compat)
		return OUTCOME_compat;
	if (!w->stack_length)
		return OUTCOME_no_copy;
	for (uint32_t i = 0; i < w->n_frames; i++) {
		const struct image *image = image_of(w, w->frames[i]);

		if (!image || !is_placeable(image))
			return OUTCOME_no_file;
		if (is_refused(j, image))
			return OUTCOME_refused;
	}
	return OUTCOME_differ;
}

/* libdw went past our root: into nothing, as it does above a program's first instruction? */
static bool goes_nowhere(const struct judge *j, const struct witness *w)
{
	return !mappings_find(w->mappings, w->generation, j->pcs[w->n_frames]);
}

static enum outcome compare(struct judge *j, const struct witness *w, uint32_t *ret_at)
{
	uint32_t i;

	j->witness = w;
	j->n_pcs = 0;
	j->past_copy = false;
	j->memory = (struct unwind_memory){.n_regions = 1};
	j->memory.regions[0] = (struct unwind_region){w->stack_address, w->stack_length, w->stack};
	/* What it returns does not tell a root from memory that could not be read. */
	dwfl_getthread_frames(j->dwfl, w->pid, on_frame, j);
	for (i = 0; i < w->n_frames && i < j->n_pcs; i++)
		if (!same_frame(w, w->frames[i], j->pcs[i]) && !same_restorer(j, w, i))
			break;
	*ret_at = i;
	if (i < w->n_frames && i < j->n_pcs)
		return OUTCOME_differ;
	if (j->n_pcs > w->n_frames)
		return goes_nowhere(j, w) ? OUTCOME_whole : OUTCOME_differ;
	if (j->past_copy && i > 0)
		return OUTCOME_to_copy_end;
	return j->n_pcs == w->n_frames ? OUTCOME_whole : OUTCOME_differ;
}

#endif
