/* SPDX-License-Identifier: MIT */
/*
 * Makes a run of rules of each function: by its depths, or by go_switches.h where it switches
 * stacks.
 */
#include "daemon/worker/go/go_frames.h"

#include <stdbool.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/room.h"
#include "common/unwind/cfi.h"
#include "daemon/worker/go/go_switches.h"

#define WORD 8

struct go_frames_maker {
	struct cfi_own_rule *rules;
	size_t n, n_allocated;
	uint64_t steps_left; /* functions may share them, in a file that is made so */
	unsigned switches_left;
	struct go_switches *switches; /* NULL: not needed yet */
	struct go_rows rows;
};

/* Of functions that need their instructions read: Go's runtime has some twenty. */
#define SWITCHES_MAX 1000

static void go_frames_maker_deinit(struct go_frames_maker *m)
{
	free(m->rules);
	go_switches_free(m->switches);
}

static int go_frames_put(struct go_frames_maker *m, uint64_t address, uint64_t rule)
{
	return room_append(&m->rules, &m->n_allocated, &m->n,
			   (struct cfi_own_rule){.address = address, .rule = rule});
}

/* The frame pointer is saved first, and restored last. */
static uint64_t go_frames_rule(int depth)
{
	const struct rule rule = {
		.kind = RULE_CFA,
		.base = RULE_BASE_SP,
		.cfa_offset = depth + WORD,
		.ra_offset = -WORD,
		.fp_kind = depth ? RULE_FP_AT_CFA : RULE_FP_SAME,
		.fp_offset = depth ? -2 * WORD : 0,
	};

	return rule_pack(&rule);
}

/*
 * By @f's depths, which may end before the next function. None, if there is something that no rule
 * should be made of. Returns 0 or -ENOMEM.
 */
static int go_frames_put_depths(struct go_frames_maker *m, const struct pclntab *t,
				const struct pclntab_function *f)
{
	uint64_t length = f->end - f->start, at = 0;
	struct pclntab_depths d;
	size_t first = m->n;
	int r = 0;

	pclntab_depths_init(&d, t, f);
	while (!r && at < length && m->steps_left && m->n <= GO_FRAMES_RULES_MAX &&
	       pclntab_depths_next(&d)) {
		m->steps_left--;
		if (d.depth < 0 || d.depth % WORD || d.depth > INT32_MAX - WORD) {
			m->n = first;
			return 0;
		}
		if (d.distance > at)
			r = go_frames_put(m, f->start + at, go_frames_rule((int)d.depth));
		at = d.distance < length ? d.distance : length;
	}
	return r || !at ? r : go_frames_put(m, f->start + at, RULE_WORD(RULE_UNKNOWN));
}

static bool go_function_is_restorer(const struct pclntab_function *f)
{
	return span_starts(f->name, "runtime.sigreturn");
}

static void go_frames_read_code(const struct go_text *text, const struct pclntab_function *f,
				struct go_code *ret)
{
	uint64_t length = f->end - f->start;

	ret->length = text->read(text->userdata, f->start, ret->bytes,
				 length < sizeof(ret->bytes) ? length : sizeof(ret->bytes));
}

/* Reads the two functions that say how this runtime switches. */
static int go_frames_learn_switches(struct go_frames_maker *m, const struct pclntab *t,
				    const struct go_text *text)
{
	struct go_code systemstack = {.length = 0}, morestack = {.length = 0};
	struct pclntab_function f;
	int r = go_switches_new(&m->switches);

	for (uint64_t i = 0; !r && i < t->n_functions; i++) {
		if (!pclntab_function(t, i, &f) || !span_starts(f.name, "runtime."))
			continue;
		if (go_switch_of(&f) == GO_SYSTEMSTACK)
			go_frames_read_code(text, &f, &systemstack);
		else if (go_switch_of(&f) == GO_MORESTACK)
			go_frames_read_code(text, &f, &morestack);
	}
	if (!r)
		go_switches_learn(m->switches, &systemstack, &morestack);
	return r;
}

/* As go_frames_put_depths(), of a function that switches stacks. */
static int go_frames_put_switch(struct go_frames_maker *m, const struct pclntab *t,
				const struct go_text *text, const struct pclntab_function *f)
{
	struct go_code code;
	int r = 0;

	if (!text || !m->switches_left)
		return 0;
	m->switches_left--;
	if (!m->switches)
		r = go_frames_learn_switches(m, t, text);
	if (r)
		return r;
	go_frames_read_code(text, f, &code);
	go_switches_rows(m->switches, go_switch_of(f), &code, t, f, &m->steps_left, &m->rows);
	for (size_t i = 0; !r && i < m->rows.n; i++)
		r = go_frames_put(m, f->start + m->rows.rows[i].at, m->rows.rows[i].rule);
	return r || !m->rows.n ? r
			       : go_frames_put(m, f->start + m->rows.end, RULE_WORD(RULE_UNKNOWN));
}

static int go_frames_put_function(struct go_frames_maker *m, const struct pclntab *t,
				  const struct go_text *text, const struct pclntab_function *f)
{
	/* A signal's handler: for Go's tracebacks the top, but the kernel had a restorer call it.
	 */
	bool is_handler = span_starts(f->name, "runtime.sigtramp");

	if (go_function_is_restorer(f))
		return 0;
	if (f->flags & PCLNTAB_TOP_FRAME && !is_handler)
		return go_frames_put(m, f->start, RULE_WORD(RULE_ROOT))
			       ?: go_frames_put(m, f->end, RULE_WORD(RULE_UNKNOWN));
	return !is_handler && go_switch_of(f) ? go_frames_put_switch(m, t, text, f)
					      : go_frames_put_depths(m, t, f);
}

/*
 * Whether flags are where they are expected: runtime.goexit, which nothing calls, has one. Go 1.16
 * has none, and a later release may have them elsewhere.
 */
static bool go_frames_check_flags(const struct pclntab *t)
{
	struct pclntab_function f;

	for (uint64_t i = 0; i < t->n_functions; i++)
		if (pclntab_function(t, i, &f) && span_is(f.name, "runtime.goexit"))
			return f.flags & PCLNTAB_TOP_FRAME;
	return t->is_known;
}

int go_frames_make(const struct pclntab *table, const struct go_text *text,
		   struct cfi_own_rule **ret, size_t *ret_n)
{
	cleanup(go_frames_maker_deinit) struct go_frames_maker m = {
		.steps_left = 4 * (uint64_t)table->length, .switches_left = SWITCHES_MAX};
	struct pclntab_function f, next;
	int r = 0;

	*ret = NULL;
	*ret_n = 0;
	if (!table->steps || !go_frames_check_flags(table))
		return 0;
	for (uint64_t i = 0; !r && i < table->n_functions; i++) {
		if (!pclntab_function(table, i, &f))
			continue;
		/* A handler returns to the restorer's first byte: it is looked for one byte below.
		 */
		if (i + 1 < table->n_functions && pclntab_function(table, i + 1, &next) &&
		    go_function_is_restorer(&next))
			f.end--;
		r = go_frames_put_function(&m, table, text, &f);
		if (m.n > GO_FRAMES_RULES_MAX || !m.steps_left)
			return r;
	}
	if (!r) {
		*ret_n = m.n;
		*ret = steal_ptr(&m.rules);
	}
	return r;
}

/* go_text.read of an ELF file. */
static size_t go_text_read_image(void *userdata, uint64_t address, uint8_t *ret, size_t size)
{
	return elf_image_read(userdata, address, ret, size);
}

int go_frames_read(struct elf_image *image, struct cfi_own_rule **ret, size_t *ret_n)
{
	const struct go_text text = {.read = go_text_read_image, .userdata = image};
	struct pclntab table;

	*ret = NULL;
	*ret_n = 0;
	if (image->header.e_machine != EM_X86_64 || !elf_image_is_linked(image) ||
	    !pclntab_find(image, &table))
		return 0;
	return go_frames_make(&table, &text, ret, ret_n);
}
