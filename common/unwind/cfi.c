/* SPDX-License-Identifier: MIT */

/*
 * The compiler's plan:
 *
 *   collect   every FDE, one after the other, with its place in the file, .debug_frame's last;
 *             each CIE is parsed, and its instructions run, when the first FDE names it.
 *             .eh_frame_hdr has a sorted table of them, which is no help: all of them are wanted
 *   sort      by place, where the linker has not done it
 *   compile   each FDE's instructions, to rows; what lies between FDEs is RULE_UNKNOWN, unless it
 *             is a system call that makes a thread
 *
 * Bounds. CIEs can be made to overlap in .eh_frame, so that each of many little ones reads all the
 * rest of it. Honest ones never do: all that is read together must not exceed what is there.
 */
#include "common/unwind/cfi.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/order.h"
#include "common/room.h"
#include "common/unwind/cfi_private.h"

/*
 * Linkers merge those that are equal, so that large libraries have ten; but not in .debug_frame,
 * where each object file has its own. They come in order: what is to be looked for among others is
 * little, and bounded.
 */
#define CIES_MAX    65536
#define COMPARE_MAX (64u << 20)
/* Five times a browser's. */
#define ITEMS_MAX (4u << 20)

/* An FDE, or a run of rules from elsewhere, whose code is in the file. */
struct item {
	uint64_t address;
	uint32_t start, end;              /* file offsets */
	uint32_t program, program_length; /* OWN_RULES: places of these, and their number */
	uint32_t cie;                     /* index, or OWN_RULES */
};

#define OWN_RULES UINT32_MAX

#define DIGIT_BITS 11 /* three digits make an offset */

/* What glibc has there is 10 bytes long, and linkers pad to 16: so hardly any gap is read. */
#define CLONE_BYTES_MIN 8u
#define CLONE_BYTES_MAX 16u
#define PADDED_TO       16u

struct compiler {
	const struct cfi_input *input;
	struct cfi_program program;
	struct cfi_rows_builder builder;
	struct cfi_cie *cies;
	size_t n_cies, cies_size, n_compared;
	uint32_t last_cie, furthest_cie; /* the latter: its position */
	struct item *items;
	size_t n_items, items_size;
	size_t last_segment;
	uint64_t budget; /* bytes of CIEs that may still be read */
};

void cfi_rows_free(struct cfi_rows *rows)
{
	if (!rows)
		return;
	free(rows->rows);
	free(rows->rules);
	free(rows);
}

static void cfi_compiler_deinit(struct compiler *c)
{
	cfi_rows_builder_deinit(&c->builder);
	free(c->cies);
	free(c->items);
}

/* Returns CFI_E_* or -ENOMEM. */
static int cfi_compiler_init(struct compiler *c, const struct cfi_input *input,
			     const struct cfi_limits *limits)
{
	const struct cfi_machine *machine = cfi_machine_get(input->machine);

	if (!machine)
		return CFI_E_UNSUPPORTED;
	if (!(input->frame.length || input->n_own) || !input->n_segments)
		return CFI_E_NONE;
	if (input->frame.length > UINT32_MAX || input->n_own > UINT32_MAX)
		return CFI_E_TOO_BIG;
	if (input->debug_length > input->frame.length)
		return CFI_E_NONE;
	c->input = input;
	c->program = (struct cfi_program){
		.input = input,
		.machine = machine,
		.builder = &c->builder,
	};
	return cfi_rows_builder_init(&c->builder, limits);
}

/* A new one, valid or not: what is wrong with it is found out once. */
static int cfi_add_cie(struct compiler *c, uint32_t position)
{
	struct cfi_reader body;
	struct cfi_cie *cie;
	uint32_t unused;
	size_t next;

	if (room_append(&c->cies, &c->cies_size, &c->n_cies,
			(struct cfi_cie){.position = position}))
		return -ENOMEM;
	cie = &c->cies[c->n_cies - 1];
	if (cfi_record_next(c->input, position, &body, &unused, &next) == CFI_RECORD_CIE &&
	    next - position <= c->budget) {
		c->budget -= next - position;
		cie->is_valid = !cfi_cie_parse(c->input, position, cie) &&
				!cfi_program_begin(&c->program, cie);
	}
	c->builder.rows->counters.malformed += !cie->is_valid;
	return 0;
}

/* The CIE at @position. Returns 0, with *ret UINT32_MAX where it is no good, or -ENOMEM. */
static int cfi_find_cie(struct compiler *c, uint32_t position, uint32_t *ret)
{
	uint32_t i = c->last_cie; /* mostly that of the FDE before */
	int r;

	*ret = UINT32_MAX;
	if (c->n_cies && position > c->furthest_cie) {
		i = (uint32_t)c->n_cies;
	} else if (i >= c->n_cies || c->cies[i].position != position) {
		for (i = 0; i < c->n_cies && c->cies[i].position != position;)
			i++;
		c->n_compared += i;
	}
	if (i == CIES_MAX || c->n_compared > COMPARE_MAX)
		return 0;
	if (i == c->n_cies) {
		r = cfi_add_cie(c, position);
		if (r)
			return r;
		if (position > c->furthest_cie)
			c->furthest_cie = position;
	}
	c->last_cie = i;
	if (c->cies[i].is_valid)
		*ret = i;
	return 0;
}

/* The executable segment that holds @address, or NULL. */
static const struct cfi_segment *cfi_find_segment(struct compiler *c, uint64_t address)
{
	for (size_t i = 0; i < c->input->n_segments; i++) {
		size_t at = (c->last_segment + i) % c->input->n_segments;
		const struct cfi_segment *s = &c->input->segments[at];

		if (address >= s->address && address - s->address < s->length) {
			c->last_segment = at;
			return s;
		}
	}
	return NULL;
}

/* Places @fde in the file. Returns CFI_E_OK, _TOO_BIG or -ENOMEM. */
static int cfi_add_fde(struct compiler *c, const struct cfi_fde *fde, uint32_t cie)
{
	const struct cfi_segment *s = cfi_find_segment(c, fde->start);
	uint64_t at, length;

	/* Dropped functions' FDEs stay behind, with a start of 0, or without length. */
	if (!s || !fde->start || !fde->length)
		return CFI_E_OK;
	at = fde->start - s->address;
	length = fde->length < s->length - at ? fde->length : s->length - at;
	if (s->offset > UINT32_MAX || at > UINT32_MAX || length > UINT32_MAX ||
	    s->offset + at + length > UINT32_MAX || c->n_items == ITEMS_MAX)
		return CFI_E_TOO_BIG;
	return room_append(&c->items, &c->items_size, &c->n_items,
			   (struct item){
				   .address = fde->start,
				   .start = (uint32_t)(s->offset + at),
				   .end = (uint32_t)(s->offset + at + length),
				   .program = fde->program,
				   .program_length = fde->program_length,
				   .cie = cie,
			   });
}

/* The FDE whose record is @body. */
static int cfi_collect_fde(struct compiler *c, struct cfi_reader body, uint32_t cie_position)
{
	struct cfi_fde fde;
	uint32_t cie;
	int r = cfi_find_cie(c, cie_position, &cie);

	if (r)
		return r;
	if (cie == UINT32_MAX || cfi_fde_parse(c->input, &c->cies[cie], body, &fde)) {
		c->builder.rows->counters.malformed++;
		return CFI_E_OK;
	}
	return cfi_add_fde(c, &fde, cie);
}

/* Those of the section in [position, end). */
static int cfi_collect_section(struct compiler *c, size_t position, size_t end)
{
	struct cfi_reader body;
	uint32_t cie;
	size_t next;
	int found, r;

	while (position < end) {
		found = cfi_record_next(c->input, position, &body, &cie, &next);
		if (found == CFI_RECORD_MALFORMED)
			c->builder.rows->counters.malformed++;
		if (found == CFI_RECORD_END)
			break;
		if (found == CFI_RECORD_OK) {
			r = cfi_collect_fde(c, body, cie);
			if (r)
				return r;
		}
		position = next;
	}
	return CFI_E_OK;
}

static int cfi_collect_fdes(struct compiler *c)
{
	size_t end = c->input->frame.length, middle = cfi_debug_position(c->input);

	c->budget = end;
	return cfi_collect_section(c, 0, middle) ?: cfi_collect_section(c, middle, end);
}

static int cfi_collect_own_rules(struct compiler *c)
{
	const struct cfi_own_rule *own = c->input->own;
	size_t end;
	int r = CFI_E_OK;

	for (size_t i = 0; !r && i < c->input->n_own; i = end + 1) {
		for (end = i; end < c->input->n_own - 1 && own[end].rule;)
			end++;
		if (end > i)
			r = cfi_add_fde(c,
					&(struct cfi_fde){
						.start = own[i].address,
						.length = own[end].address - own[i].address,
						.program = (uint32_t)i,
						.program_length = (uint32_t)(end - i),
					},
					OWN_RULES);
	}
	return r;
}

/* A pass over one digit of their places, which leaves equal ones in their order. */
static void cfi_sort_items_by_digit(const struct item *from, struct item *to, size_t n,
				    unsigned shift)
{
	uint32_t at[1u << DIGIT_BITS] = {0}, sum = 0;

	for (size_t i = 0; i < n; i++)
		at[from[i].start >> shift & (ARRAY_SIZE(at) - 1)]++;
	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		uint32_t next = sum + at[i];

		at[i] = sum;
		sum = next;
	}
	for (size_t i = 0; i < n; i++)
		to[at[from[i].start >> shift & (ARRAY_SIZE(at) - 1)]++] = from[i];
}

/*
 * By place; the first described first. Linkers leave FDEs by object file, so hardly an image has
 * them in order, and comparing them would take a quarter of all that is done here.
 */
static int cfi_sort_items(struct compiler *c)
{
	struct item *other = reallocarray(NULL, c->n_items, sizeof(*other));

	if (!other && c->n_items)
		return error_origin(-ENOMEM);
	for (unsigned shift = 0; shift < 32; shift += DIGIT_BITS) {
		struct item *from = c->items;

		cfi_sort_items_by_digit(from, other, c->n_items, shift);
		c->items = other;
		other = from;
	}
	c->items_size = c->n_items;
	free(other);
	return CFI_E_OK;
}

static int cfi_put_own_rules(struct compiler *c, const struct item *item, uint32_t first)
{
	const struct cfi_own_rule *own = c->input->own + item->program;
	struct cfi_counters *counters = &c->builder.rows->counters;
	int r = CFI_E_OK;

	for (uint32_t i = 0; !r && i < item->program_length; i++) {
		uint64_t at = item->start + (own[i].address - item->address);
		uint64_t next = item->start + (own[i + 1].address - item->address);

		counters->rows++;
		counters->unfit += own[i].rule == RULE_WORD(RULE_ODD);
		if (at < item->end && next > first)
			r = cfi_rows_put(&c->builder, at > first ? (uint32_t)at : first,
					 own[i].rule);
	}
	return r;
}

/*
 * The rule of [@from, @to), between two FDEs. glibc's clone() and clone3() have none from their
 * system call on, as the two threads that return from it want different ones; the new thread's code
 * has one again.
 */
static uint64_t cfi_gap_rule(const struct compiler *c, uint32_t from, uint32_t to)
{
	/* syscall; test %rax, %rax */
	static const uint8_t clones[] = {0x0f, 0x05, 0x48, 0x85, 0xc0};
	const struct cfi_rows *rows = c->builder.rows;
	uint8_t found[sizeof(clones)];
	uint64_t before;

	if (!c->input->read_code || c->input->machine != EM_X86_64 || !rows->n_rows ||
	    to - from < CLONE_BYTES_MIN || to - from > CLONE_BYTES_MAX || to % PADDED_TO == 0)
		return RULE_WORD(RULE_UNKNOWN);
	before = rows->rules[rows->rows[rows->n_rows - 1].rule];
	if (RULE_KIND(before) != RULE_CFA || RULE_BASE(before) != RULE_BASE_SP ||
	    !c->input->read_code(c->input->read_code_userdata, from, found, sizeof(found)) ||
	    memcmp(found, clones, sizeof(clones)) != 0)
		return RULE_WORD(RULE_UNKNOWN);
	return before ^ RULE_CFA ^ RULE_CLONE;
}

/*
 * Adds the rows of @item, whose code from @covered on nobody has described yet. *ret_covered: up to
 * where it now is. Returns CFI_E_OK, _TOO_BIG or -ENOMEM.
 */
static int cfi_compile_item(struct compiler *c, const struct item *item, uint32_t covered,
			    uint32_t *ret_covered)
{
	struct cfi_counters *counters = &c->builder.rows->counters, before = *counters;
	const struct cfi_range range = {
		.address = item->address,
		.start = item->start,
		.end = item->end,
		.first = item->start > covered ? item->start : covered,
	};
	size_t n_rows;
	int r;

	*ret_covered = covered;
	if (item->end <= covered)
		return CFI_E_OK;
	n_rows = c->builder.rows->n_rows;
	if (item->start > covered) {
		r = cfi_rows_put(&c->builder, covered, cfi_gap_rule(c, covered, item->start));
		if (r)
			return r;
	}
	r = item->cie == OWN_RULES ? cfi_put_own_rules(c, item, range.first)
				   : cfi_program_run(&c->program, &c->cies[item->cie],
						     item->program, item->program_length, &range);
	if (r == CFI_E_MALFORMED) {
		cfi_rows_cut(&c->builder, n_rows);
		*counters = before;
		counters->malformed++;
		return CFI_E_OK;
	}
	counters->fdes++;
	*ret_covered = item->end;
	return r;
}

/* Returns CFI_E_OK, _TOO_BIG or -ENOMEM. */
static int cfi_compile_items(struct compiler *c)
{
	uint32_t covered = 0;
	int r;

	for (size_t i = 0; i < c->n_items; i++) {
		r = cfi_compile_item(c, &c->items[i], covered, &covered);
		if (r)
			return r;
	}
	return cfi_rows_put(&c->builder, covered, RULE_WORD(RULE_UNKNOWN));
}

/*
 * Where some rule's CFA is counted from rbx, each frame's rbx must be followed down to there. That
 * makes a few rules many, so it is done only where it serves.
 */
static bool cfi_rows_need_bx(const struct cfi_rows *rows)
{
	for (size_t i = 0; i < rows->n_rules; i++)
		if (RULE_KIND(rows->rules[i]) != RULE_GO &&
		    RULE_BASE(rows->rules[i]) == RULE_BASE_BX)
			return true;
	return false;
}

static void cfi_rows_shrink(struct cfi_rows *rows)
{
	void *smaller = reallocarray(rows->rows, rows->n_rows, sizeof(*rows->rows));

	if (smaller)
		rows->rows = smaller;
	smaller = reallocarray(rows->rules, rows->n_rules, sizeof(*rows->rules));
	if (smaller)
		rows->rules = smaller;
}

static int cfi_make_rows(struct compiler *c)
{
	struct cfi_counters collected;
	int r = cfi_collect_own_rules(c) ?: cfi_collect_fdes(c);

	if (r)
		return r;
	r = cfi_sort_items(c);
	if (r)
		return r;
	collected = c->builder.rows->counters;
	r = cfi_compile_items(c);
	if (!r && c->program.machine->bx != UINT64_MAX && cfi_rows_need_bx(c->builder.rows)) {
		cfi_rows_clear(&c->builder);
		c->builder.rows->counters = collected;
		c->program.follow_bx = true;
		r = cfi_compile_items(c);
	}
	if (r)
		return r;
	return c->builder.rows->n_rows ? CFI_E_OK : CFI_E_NONE;
}

static int cfi_compile_all(struct cfi_rows **ret, const struct cfi_input *input,
			   const struct cfi_limits *limits)
{
	cleanup(cfi_compiler_deinit) struct compiler c = {0};
	int r = cfi_compiler_init(&c, input, limits) ?: cfi_make_rows(&c);

	if (r)
		return r;
	cfi_rows_shrink(c.builder.rows);
	*ret = steal_ptr(&c.builder.rows);
	return CFI_E_OK;
}

int cfi_compile(struct cfi_rows **ret, const struct cfi_input *input,
		const struct cfi_limits *limits)
{
	struct cfi_input without_debug = *input;
	int r = cfi_compile_all(ret, input, limits);

	if (r != CFI_E_TOO_BIG || !input->debug_length)
		return r;
	without_debug.frame.length -= input->debug_length;
	without_debug.debug_length = 0;
	return cfi_compile_all(ret, &without_debug, limits);
}

DEFINE_ORDER(cfi_item_compare_address, struct item, order_of(x->address, y->address))

int cfi_list_functions(struct cfi_function **ret, size_t *ret_n, const struct cfi_input *input)
{
	cleanup(cfi_compiler_deinit) struct compiler c = {0};
	const struct cfi_limits no_rows = {0};
	struct cfi_function *functions;
	size_t n = 0;
	int r = cfi_compiler_init(&c, input, &no_rows) ?: cfi_collect_fdes(&c);

	if (r || !c.n_items)
		return r ?: CFI_E_NONE;
	functions = malloc(c.n_items * sizeof(*functions));
	if (!functions)
		return error_origin(-ENOMEM);
	qsort(c.items, c.n_items, sizeof(*c.items), cfi_item_compare_address);
	for (const struct item *i = c.items; i < c.items + c.n_items; i++)
		if (!n || i->address >= functions[n - 1].end)
			functions[n++] = (struct cfi_function){i->address,
							       i->address + (i->end - i->start)};
	*ret = functions;
	*ret_n = n;
	return CFI_E_OK;
}
