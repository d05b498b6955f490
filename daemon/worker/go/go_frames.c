/* SPDX-License-Identifier: MIT */
/*
 * Writes call frame information: two CIEs, of functions that something called and of roots, and a
 * record for each function with its depths, or with its rules where it switches stacks. What lacks
 * memory is written no further; the writer's error says so at the end.
 */
#include "daemon/worker/go/go_frames.h"

#include <endian.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/room.h"
#include "common/unwind/cfi.h"
#include "daemon/worker/go/go_switches.h"

/* LSB 5, 10.6.1; DWARF 5, 7.24; System V ABI, AMD64: DWARF register numbers. */
enum {
	POINTER_UDATA8 = 0x04, /* DW_EH_PE_udata8 */
	CFA_ADVANCE_4 = 0x04,
	CFA_UNDEFINED = 0x07,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_ADVANCE = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	RBP = 6,
	RSP = 7,
	RETURN_ADDRESS = 16,
};
#define WORD 8

struct go_frames_writer {
	uint8_t *data;
	size_t n, size;
	int error;             /* the first one, or 0: nothing is written after it */
	size_t record;         /* where the one that is being written begins */
	size_t ordinary, root; /* where the CIEs begin */
	uint64_t steps_left;   /* functions may share them, in a file that is made so */
	unsigned switches_left;
	struct go_switches *switches; /* NULL: not needed yet */
	struct go_rows rows;
};

/* Of functions that need their instructions read: Go's runtime has some twenty. */
#define SWITCHES_MAX 1000

static void go_frames_writer_deinit(struct go_frames_writer *w)
{
	free(w->data);
	go_switches_free(w->switches);
}

static void go_frames_put_bytes(struct go_frames_writer *w, const void *bytes, size_t n)
{
	if (!w->error)
		w->error = room_make(&w->data, &w->size, w->n + n, 1);
	if (w->error)
		return;
	memcpy(w->data + w->n, bytes, n);
	w->n += n;
}

static void go_frames_put_8(struct go_frames_writer *w, uint8_t byte)
{
	go_frames_put_bytes(w, &byte, 1);
}

static void go_frames_put_32(struct go_frames_writer *w, uint32_t number)
{
	number = htole32(number);
	go_frames_put_bytes(w, &number, sizeof(number));
}

static void go_frames_put_64(struct go_frames_writer *w, uint64_t number)
{
	number = htole64(number);
	go_frames_put_bytes(w, &number, sizeof(number));
}

static void go_frames_put_uleb(struct go_frames_writer *w, uint64_t number)
{
	do {
		go_frames_put_8(w, (uint8_t)((number & 127) | (number > 127 ? 128 : 0)));
		number >>= 7;
	} while (number);
}

/* @id: 0 of a CIE, else how far it lies before here. */
static void go_frames_begin_record(struct go_frames_writer *w, uint32_t id)
{
	w->record = w->n;
	go_frames_put_32(w, 0); /* its length, when that is known */
	go_frames_put_32(w, id);
}

static void go_frames_end_record(struct go_frames_writer *w)
{
	uint32_t length = htole32((uint32_t)(w->n - w->record - sizeof(length)));

	if (!w->error)
		memcpy(w->data + w->record, &length, sizeof(length));
}

/* @length: of the code that it holds for. */
static void go_frames_end_fde(struct go_frames_writer *w, uint64_t length)
{
	/* Behind the record's length and CIE, and where the code begins. */
	length = htole64(length);
	if (!w->error)
		memcpy(w->data + w->record + 4 + 4 + 8, &length, sizeof(length));
	go_frames_end_record(w);
}

/* Returns where it begins. */
static size_t go_frames_put_cie(struct go_frames_writer *w, bool is_root)
{
	/* Version, augmentation; code and data alignment, the return address; an FDE's pointers. */
	static const uint8_t head[] = {1, 'z',           'R', 0, 1, 0x80 - WORD, RETURN_ADDRESS,
				       1, POINTER_UDATA8};
	static const uint8_t called[] = {CFA_DEF_CFA, RSP, WORD, CFA_OFFSET | RETURN_ADDRESS, 1};
	static const uint8_t uncalled[] = {CFA_DEF_CFA, RSP, WORD, CFA_UNDEFINED, RETURN_ADDRESS};

	go_frames_begin_record(w, 0);
	go_frames_put_bytes(w, head, sizeof(head));
	if (is_root)
		go_frames_put_bytes(w, uncalled, sizeof(uncalled));
	else
		go_frames_put_bytes(w, called, sizeof(called));
	go_frames_end_record(w);
	return w->record;
}

static void go_frames_put_advance(struct go_frames_writer *w, uint64_t distance)
{
	if (distance < 64) {
		go_frames_put_8(w, (uint8_t)(CFA_ADVANCE | distance));
	} else {
		go_frames_put_8(w, CFA_ADVANCE_4);
		go_frames_put_32(w, (uint32_t)distance);
	}
}

static void go_frames_put_depth(struct go_frames_writer *w, uint64_t depth, bool *has_pointer)
{
	go_frames_put_8(w, CFA_DEF_CFA_OFFSET);
	go_frames_put_uleb(w, depth + WORD);
	/* It is saved first, and restored last. */
	if ((depth > 0) == *has_pointer)
		return;
	*has_pointer = depth > 0;
	go_frames_put_8(w, *has_pointer ? CFA_OFFSET | RBP : CFA_RESTORE | RBP);
	if (*has_pointer)
		go_frames_put_8(w, 2);
}

/*
 * @f's depths as instructions. Returns for how many bytes they hold, which is less than up to the
 * next function; 0: there is something that no rule should be made of.
 */
static uint64_t go_frames_put_depths(struct go_frames_writer *w, const struct pclntab *t,
				     const struct pclntab_function *f)
{
	uint64_t length = f->end - f->start, at = 0;
	bool has_pointer = false;
	struct pclntab_depths d;

	if (length > UINT32_MAX)
		return 0;
	pclntab_depths_init(&d, t, f);
	while (!w->error && at < length && w->steps_left && w->n <= GO_FRAMES_BYTES_MAX &&
	       pclntab_depths_next(&d)) {
		uint64_t distance = (d.distance < length ? d.distance : length) - at;

		w->steps_left--;
		if (d.depth < 0 || d.depth % WORD || d.depth > INT32_MAX)
			return 0;
		if (!distance)
			continue;
		go_frames_put_depth(w, (uint64_t)d.depth, &has_pointer);
		go_frames_put_advance(w, distance);
		at += distance;
	}
	return at;
}

static bool go_function_has_prefix(const struct pclntab_function *f, const char *name)
{
	size_t n = strlen(name);

	return f->name_length >= n && memcmp(f->name, name, n) == 0;
}

static bool go_function_is_restorer(const struct pclntab_function *f)
{
	return go_function_has_prefix(f, "runtime.sigreturn");
}

static void go_frames_read_code(const struct go_text *text, const struct pclntab_function *f,
				struct go_code *ret)
{
	uint64_t length = f->end - f->start;

	ret->length = text->read(text->userdata, f->start, ret->bytes,
				 length < sizeof(ret->bytes) ? length : sizeof(ret->bytes));
}

/* Reads the two functions that say how this runtime switches. */
static int go_frames_learn_switches(struct go_frames_writer *w, const struct pclntab *t,
				    const struct go_text *text)
{
	struct go_code systemstack = {.length = 0}, morestack = {.length = 0};
	struct pclntab_function f;
	int r = go_switches_new(&w->switches);

	for (uint64_t i = 0; !r && i < t->n_functions; i++) {
		if (!pclntab_function(t, i, &f) || !go_function_has_prefix(&f, "runtime."))
			continue;
		if (go_switch_of(&f) == GO_SYSTEMSTACK)
			go_frames_read_code(text, &f, &systemstack);
		else if (go_switch_of(&f) == GO_MORESTACK)
			go_frames_read_code(text, &f, &morestack);
	}
	if (!r)
		go_switches_learn(w->switches, &systemstack, &morestack);
	return r;
}

/* As go_frames_put_depths(), of a function that switches stacks. */
static uint64_t go_frames_put_switch(struct go_frames_writer *w, const struct pclntab *t,
				     const struct go_text *text, const struct pclntab_function *f)
{
	struct go_code code;

	if (!text || !w->switches_left || w->error)
		return 0;
	w->switches_left--;
	if (!w->switches)
		w->error = go_frames_learn_switches(w, t, text);
	if (w->error)
		return 0;
	go_frames_read_code(text, f, &code);
	go_switches_rows(w->switches, go_switch_of(f), &code, t, f, &w->steps_left, &w->rows);
	for (size_t i = 0; i < w->rows.n; i++) {
		uint64_t end = i + 1 < w->rows.n ? w->rows.rows[i + 1].at : w->rows.end;

		go_frames_put_8(w, CFI_RULE);
		go_frames_put_64(w, w->rows.rows[i].rule);
		go_frames_put_advance(w, end - w->rows.rows[i].at);
	}
	return w->rows.end;
}

static void go_frames_put_function(struct go_frames_writer *w, const struct pclntab *t,
				   const struct go_text *text, const struct pclntab_function *f)
{
	/* A signal's handler: for Go's tracebacks the top, but the kernel had a restorer call it.
	 */
	bool is_handler = go_function_has_prefix(f, "runtime.sigtramp");
	bool is_root = (f->flags & PCLNTAB_TOP_FRAME) && !is_handler;
	uint64_t length = f->end - f->start;
	size_t before = w->n;

	if (go_function_is_restorer(f))
		return;
	go_frames_begin_record(w, (uint32_t)(w->n + sizeof(uint32_t) -
					     (is_root ? w->root : w->ordinary)));
	go_frames_put_64(w, f->start);
	go_frames_put_64(w, 0);   /* see go_frames_end_fde() */
	go_frames_put_uleb(w, 0); /* no augmentation data */
	if (!is_root)
		length = !is_handler && go_switch_of(f) ? go_frames_put_switch(w, t, text, f)
							: go_frames_put_depths(w, t, f);
	go_frames_end_fde(w, length);
	if (!length)
		w->n = before;
}

/*
 * Whether flags are where they are expected: runtime.goexit, which nothing calls, has one. Go 1.16
 * has none, and a later release may have them elsewhere.
 */
static bool go_frames_check_flags(const struct pclntab *t)
{
	struct pclntab_function f;

	for (uint64_t i = 0; i < t->n_functions; i++)
		if (pclntab_function(t, i, &f) && go_function_has_prefix(&f, "runtime.goexit") &&
		    f.name_length == strlen("runtime.goexit"))
			return f.flags & PCLNTAB_TOP_FRAME;
	return t->is_known;
}

int go_frames_make(const struct pclntab *table, const struct go_text *text, uint8_t **ret,
		   size_t *ret_length)
{
	cleanup(go_frames_writer_deinit) struct go_frames_writer w = {
		.steps_left = 4 * (uint64_t)table->length, .switches_left = SWITCHES_MAX};
	struct pclntab_function f, next;

	*ret = NULL;
	*ret_length = 0;
	if (!table->steps || !go_frames_check_flags(table))
		return 0;
	w.ordinary = go_frames_put_cie(&w, false);
	w.root = go_frames_put_cie(&w, true);
	for (uint64_t i = 0; !w.error && i < table->n_functions; i++) {
		if (!pclntab_function(table, i, &f))
			continue;
		/* A handler returns to the restorer's first byte: it is looked for one byte below.
		 */
		if (i + 1 < table->n_functions && pclntab_function(table, i + 1, &next) &&
		    go_function_is_restorer(&next))
			f.end--;
		go_frames_put_function(&w, table, text, &f);
		if (w.n > GO_FRAMES_BYTES_MAX || !w.steps_left)
			return 0;
	}
	if (w.error)
		return w.error;
	*ret = steal_ptr(&w.data);
	*ret_length = w.n;
	return 0;
}

/* go_text.read of an ELF file. */
static size_t go_text_read_image(void *userdata, uint64_t address, uint8_t *ret, size_t size)
{
	return elf_image_read(userdata, address, ret, size);
}

int go_frames_read(struct elf_image *image, uint8_t **ret, size_t *ret_length)
{
	const struct go_text text = {.read = go_text_read_image, .userdata = image};
	struct pclntab table;

	*ret = NULL;
	*ret_length = 0;
	if (image->header.e_machine != EM_X86_64 || !elf_image_is_linked(image) ||
	    !pclntab_find(image, &table))
		return 0;
	return go_frames_make(&table, &text, ret, ret_length);
}
