/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_BPF_V8_BPF_H
#define PROFD_BPF_V8_BPF_H

/*
 * JavaScript's frames, as V8 has them: generated code, and V8's builtins in the program itself,
 * have no call frame information and keep the frame pointer. So the native walk asks here, before
 * it uses one (v8_add_frame()). Below the frame pointer are the context, or a number that says what
 * else the frame is; the JSFunction; and of an interpreted frame its bytecodes and the offset in
 * them. What a function is, its SharedFunctionInfo says: the script's number and name, and the
 * function's own number in it are its id: objects move, and each worker thread has scripts of its
 * own.
 *
 * A frame is one with its native one, as those of Python are with their loop's: the code that runs
 * is the function, or the interpreter at it. Where a builtin without a frame runs on top of
 * compiled code, the frame pointer is that of its caller: the function comes behind it, by itself.
 *
 * At the first sight of an id what leads to its name and script is followed and checked, strings in
 * pieces. V8 has a table of the script's lines if anybody asked for one; else those in the source
 * before the function are counted: of a long script in several ticks, each of which sends the
 * function anew. All of it is bounded, as the memory may say anything.
 *
 * A frame that must be a function's, and of which that cannot be read, stays as one without a name.
 *
 * V8 makes bytecodes without their positions in the source, unless an option asks for them, and
 * adds them when a stack trace needs them. A function that is interpreted and has them is another
 * id: they are sent with it, and which characters of its source end lines (struct
 * runtime_v8_lines).
 *
 * Source: src/objects/{bytecode-array,scope-info,shared-function-info,script,string}.tq,
 * src/execution/frame-constants.h. The numbers that majors differ in are the row's
 * (daemon/worker/runtime/v8.c).
 */
#include "bpf/runtime.bpf.h"

/* Pointers have the low bits 01; small integers are in the upper half of a word. */
#define V8_IS_POINTER(word) (((word)&3) == 1)
#define V8_IS_SMI(word)     (((word)&1) == 0)
#define V8_SMI(word)        ((__u32)((word) >> 32))

#define V8_FOLLOW_MAX 128

#define V8_ADDRESS_MIN 65536 /* no object is below */

#define V8_MAP_TYPE      12
#define V8_SHARED_NAME   16 /* a string, or the scope */
#define V8_SHARED_SCRIPT 32
#define V8_SCRIPT_SOURCE 8
#define V8_SCRIPT_NAME   16
#define V8_SCRIPT_LINE   24 /* that its first one is */
#define V8_SCRIPT_ENDS   56 /* of lines */

/* Scope: flags, number of parameters, number of context locals, their names and infos, ... */
#define V8_SCOPE_LOCALS        32 /* where they begin */
#define V8_SCOPE_LOCALS_INLINE 75 /* from here on their names are in a table */
#define V8_SCOPE_LOCALS_MAX    65536
#define V8_SCOPE_HAS_CLASS     (1u << 10)
#define V8_SCOPE_HAS_FUNCTION  (3u << 12)
#define V8_SCOPE_HAS_INFERRED  (1u << 14)

#define V8_STRING_TYPES 0x80 /* those below are strings */
#define V8_STRING_KIND  7
#define V8_STRING_BYTES 8 /* one byte a character, not two */
enum v8_string { V8_SEQUENTIAL = 0, V8_CONS = 1, V8_EXTERNAL = 2, V8_SLICED = 3, V8_THIN = 5 };
#define V8_EXTERNAL_TEXT 24
#define V8_PIECES_MAX    8 /* that are looked at, of a string */
#define V8_PIECES_TICK   256
#define V8_STRANGE_MAX   32 /* frames of a tick that look like functions and are none */

#define V8_LINES_MAX     (1u << 20) /* in a script's table */
#define V8_LINE_STEPS    21
#define V8_CHUNK_WORDS   32
#define V8_CHUNK         (8 * V8_CHUNK_WORDS)
#define V8_CHUNKS_MAX    512 /* of source, that are looked at in a tick */
#define V8_POSITION_NONE 0xffffffffu

/* A table of positions; what is no table has a number beyond that as its length. */
#define V8_POSITIONS_LONG (1u << 20)
#define V8_POSITIONS_MAX  2048 /* that are sent */
#define V8_TABLE_MAX      4096 /* the same, and the map */
#define V8_MAP_CHUNKS \
	((V8_TABLE_MAX - sizeof(struct runtime_v8_lines) - V8_POSITIONS_MAX) / V8_CHUNK_WORDS)

static __always_inline __u64 v8_field(__u64 object, __u32 at)
{
	return runtime_read_word(object - 1 + at);
}

static __always_inline __u32 v8_type(__u64 object)
{
	__u16 type = 0;
	__u64 map;

	if (!V8_IS_POINTER(object))
		return 0xffff;
	map = v8_field(object, 0);
	if (!V8_IS_POINTER(map) ||
	    bpf_probe_read_user(&type, sizeof(type), (const void *)(map - 1 + V8_MAP_TYPE)))
		return 0xffff;
	return type;
}

/* Pieces of a string, one after the other; 1: that was all. */
static long v8_read_piece(__u32 i, struct runtime_context *context)
{
	struct runtime *r = context->runtime;
	struct v8_text *t = &r->text;
	__u32 type = v8_type(t->string), width = type & V8_STRING_BYTES ? 1 : 2;
	__u64 n = v8_field(t->string, 8) >> 32, at = t->n, from;

	(void)i;
	if (type >= V8_STRING_TYPES || r->n_pieces++ >= V8_PIECES_TICK)
		return 1;
	switch (type & V8_STRING_KIND) {
	case V8_CONS:
		t->rest[t->n_rest++ & (V8_REST_MAX - 1)] = v8_field(t->string, 24);
		t->string = v8_field(t->string, 16);
		return t->n_rest > V8_REST_MAX;
	case V8_SLICED:
		t->skip += V8_SMI(v8_field(t->string, 24));
		t->left = n < t->left ? n : t->left;
		t->string = v8_field(t->string, 16);
		return 0;
	case V8_THIN:
		t->string = v8_field(t->string, 16);
		return 0;
	case V8_EXTERNAL:
		from = v8_field(t->string, V8_EXTERNAL_TEXT);
		break;
	default:
		from = t->string - 1 + 16;
	}
	n = t->skip < n ? n - t->skip : 0;
	n = (n < t->left ? n : t->left) * width;
	if (t->n && t->width != width)
		return 1;
	if (n > t->max - t->n)
		n = t->max - t->n;
	__asm__ volatile("" : "+r"(n));
	__asm__ volatile("" : "+r"(at));
	if (n > V8_TEXT_MAX || at > V8_TEXT_MAX ||
	    bpf_probe_read_user(t->bytes + at, n, (const void *)(from + (__u64)t->skip * width)))
		return 1;
	t->width = width;
	t->n += n;
	t->skip = 0;
	t->left = ~0u;
	if (!t->n_rest || t->n >= t->max)
		return 1;
	t->string = t->rest[--t->n_rest & (V8_REST_MAX - 1)];
	return 0;
}

/* The string, or its first @max bytes, to r->text.bytes. Returns how many there are. */
__attribute__((noinline)) int v8_read_text(struct runtime *r, __u64 string, __u32 max)
{
	struct runtime_context context = {.runtime = r};

	if (!r)
		return 0;
	r->text.string = string;
	r->text.n_rest = 0;
	r->text.skip = 0;
	r->text.left = ~0u;
	r->text.n = 0;
	r->text.max = max;
	bpf_loop(V8_PIECES_MAX, v8_read_piece, &context, 0);
	return r->text.n;
}

static __always_inline __u32 v8_search_lines(__u64 ends, __u32 position)
{
	__u32 low = 0, high = V8_SMI(v8_field(ends, 8));

	if (high > V8_LINES_MAX)
		return 0;
	for (__u32 i = 0; i < V8_LINE_STEPS && low < high; i++) {
		__u32 middle = low + ((high - low) >> 1);

		if (V8_SMI(v8_field(ends, 16 + 8 * middle)) < position)
			low = middle + 1;
		else
			high = middle;
	}
	return low + 1;
}

/* The next chunk of the source to code_words, with zeros behind it. False: that was all. */
static __always_inline bool v8_read_chunk(struct runtime *r)
{
	struct v8_text *t = &r->text;
	__u64 n = t->left < V8_CHUNK ? t->left : V8_CHUNK;

	if (n < V8_CHUNK)
		__builtin_memset(r->code_words, 0, V8_CHUNK);
	__asm__ volatile("" : "+r"(n));
	if (!n || n > V8_CHUNK || r->n_chunks >= V8_CHUNKS_MAX ||
	    bpf_probe_read_user(r->code_words, n, (const void *)t->string))
		return false;
	t->string += n;
	t->left -= n;
	t->at += n >> (t->width - 1);
	r->n_chunks++;
	return true;
}

/* The lowest bit of each character of @word that is a line feed. */
static __always_inline __u64 v8_feeds(__u64 word, __u32 width)
{
	__u64 low = width == 1 ? 0x7f7f7f7f7f7f7f7full : 0x7fff7fff7fff7fffull;
	__u64 ones = width == 1 ? 0x0101010101010101ull : 0x0001000100010001ull;

	word ^= '\n' * ones;
	return ~(((word & low) + low) | word | low) >> (8 * width - 1);
}

/* Where the script's marks are, or may be from now on. NULL: others have the place. */
static __always_inline struct v8_marks *v8_find_marks(struct runtime *r)
{
	struct v8_marks *marks = &r->marks[r->function.script & (V8_SCRIPTS - 1)];
	__u64 now_ns = bpf_ktime_get_ns();

	if (marks->script != r->function.script) {
		if (now_ns - marks->used_ns < V8_SCRIPT_NS)
			return NULL;
		marks->script = r->function.script;
		marks->n = 0;
	}
	marks->used_ns = now_ns;
	return marks;
}

static __always_inline void v8_note_mark(struct runtime *r)
{
	struct v8_marks *marks = &r->marks[r->function.script & (V8_SCRIPTS - 1)];
	__u64 i = r->text.at / V8_MARK_STEP;

	__asm__ volatile("" : "+r"(i));
	if (r->text.at % V8_MARK_STEP || marks->script != r->function.script || i != marks->n + 1 ||
	    i >= V8_MARKS)
		return;
	marks->lines[i] = r->text.n;
	marks->n = i;
}

static long v8_count_chunk(__u32 i, struct runtime_context *context)
{
	struct runtime *r = context->runtime;
	__u32 width = r->text.width;
	__u64 ones = width == 1 ? 0x0101010101010101ull : 0x0001000100010001ull;

	(void)i;
	if (!v8_read_chunk(r))
		return 1;
	for (__u32 k = 0; k < V8_CHUNK_WORDS; k++)
		r->text.n += v8_feeds(r->code_words[k], width) * ones >> (64 - 8 * width);
	v8_note_mark(r);
	return 0;
}

/* A byte of the map for each word: the products have one bit for each character, in its place. */
static long v8_map_chunk(__u32 i, struct runtime_context *context)
{
	struct runtime *r = context->runtime;
	__u32 width = r->text.width;
	__u64 spread = width == 1 ? 0x0102040810204080ull : 0x1000200040008000ull;
	__u64 at = r->code.table_bytes;

	(void)i;
	__asm__ volatile("" : "+r"(at));
	if (at > V8_TABLE_MAX - V8_CHUNK_WORDS || !v8_read_chunk(r))
		return 1;
	for (__u32 k = 0; k < V8_CHUNK_WORDS; k++)
		r->code.table[at + k] = v8_feeds(r->code_words[k], width) * spread >>
					(width == 1 ? 56 : 60);
	r->code.table_bytes = at + V8_CHUNK_WORDS;
	return 0;
}

/*
 * The source of @script from character @from on, up to @to, as what is to be looked at next. False:
 * it is not in one piece.
 */
static __always_inline bool v8_open_source(struct runtime *r, __u64 script, __u32 from, __u32 to)
{
	__u64 source = v8_field(script, V8_SCRIPT_SOURCE);
	__u32 type = v8_type(source), width;

	/* A flat cons string has all in its first part. */
	for (__u32 i = 0; i < 2; i++) {
		if ((type & V8_STRING_KIND) != V8_CONS && (type & V8_STRING_KIND) != V8_THIN)
			break;
		source = v8_field(source, 16);
		type = v8_type(source);
	}
	r->text.string = source - 1 + 16;
	if ((type & V8_STRING_KIND) == V8_EXTERNAL)
		r->text.string = v8_field(source, V8_EXTERNAL_TEXT);
	else if (type & V8_STRING_KIND)
		return false;
	width = type & V8_STRING_BYTES ? 1 : 2;
	r->text.width = width;
	if (type >= V8_STRING_TYPES || from > to || to > (v8_field(source, 8) >> 32))
		return false;
	r->text.at = from;
	r->text.string += (__u64)from * width;
	r->text.left = (to - from) * width;
	return true;
}

/* Whether the next tick may go on with what is left of the source. */
static __always_inline void v8_end_source(struct runtime *r)
{
	if (r->text.left && r->n_chunks >= V8_CHUNKS_MAX)
		r->function.is_late = true;
}

/* The same by counting; where a tick may not count as much, from the last mark on. */
static __always_inline __u32 v8_count_lines(struct runtime *r, __u64 script, __u32 position)
{
	struct runtime_context context = {.runtime = r};
	bool is_long = position > V8_CHUNK * V8_CHUNKS_MAX / 2;
	struct v8_marks *marks = is_long ? v8_find_marks(r) : NULL;
	__u64 mark = 0, line = 1;

	if (marks && position / V8_MARK_STEP < V8_MARKS) {
		mark = position / V8_MARK_STEP;
		if (mark > marks->n)
			mark = marks->n;
		__asm__ volatile("" : "+r"(mark));
		if (mark)
			line = marks->lines[mark & (V8_MARKS - 1)];
	}
	if (!v8_open_source(r, script, mark * V8_MARK_STEP, position))
		return 0;
	r->text.n = line;
	bpf_loop(V8_CHUNKS_MAX, v8_count_chunk, &context, 0);
	if (!is_long || (marks && position / V8_MARK_STEP < V8_MARKS))
		v8_end_source(r);
	return r->text.left ? 0 : r->text.n;
}

/* The line of the script that has @position; 0: not known. */
__attribute__((noinline)) int v8_line(struct runtime *r, __u64 script, __u32 position)
{
	__u64 ends;
	__u32 line = 0;

	if (!r || position == V8_POSITION_NONE)
		return 0;
	ends = v8_field(script, V8_SCRIPT_ENDS);
	if (V8_IS_POINTER(ends))
		line = v8_search_lines(ends, position);
	if (!line)
		line = v8_count_lines(r, script, position);
	return line ? line + V8_SMI(v8_field(script, V8_SCRIPT_LINE)) : 0;
}

/*
 * The table of r->function's lines: the positions of its bytecodes, which are at @positions, and
 * the source's lines. Of what is longer, the beginning.
 */
__attribute__((noinline)) int v8_take_lines(struct runtime *r, __u64 script, __u64 positions)
{
	struct runtime_context context = {.runtime = r};
	struct runtime_v8_lines *head;
	__u64 n = V8_SMI(v8_field(positions, 8));
	__u32 from, to;

	if (!r)
		return 0;
	head = (struct runtime_v8_lines *)r->code.table;
	from = r->function.position;
	to = r->function.end;
	head->start = from;
	head->is_cut = n > V8_POSITIONS_MAX;
	if (n > V8_POSITIONS_MAX)
		n = V8_POSITIONS_MAX;
	__asm__ volatile("" : "+r"(n));
	if (n > V8_POSITIONS_MAX || to < from ||
	    bpf_probe_read_user(r->code.table + sizeof(*head), n,
				(const void *)(positions - 1 + 16)))
		return 0;
	if (to - from > V8_MAP_CHUNKS * V8_CHUNK)
		to = from + V8_MAP_CHUNKS * V8_CHUNK;
	if (!v8_open_source(r, script, from, to))
		return 0;
	head->n_positions = n;
	head->width = r->text.width;
	r->code.table_bytes = sizeof(*head) + n;
	bpf_loop(V8_MAP_CHUNKS, v8_map_chunk, &context, 0);
	v8_end_source(r);
	return 0;
}

/*
 * What the scope of a function says: its name, what else it may be called, and where in the source
 * it begins.
 */
static __always_inline void v8_read_scope(struct v8_function *f, __u64 scope)
{
	__u32 flags = V8_SMI(v8_field(scope, 8)), at = V8_SCOPE_LOCALS;
	__u32 n = V8_SMI(v8_field(scope, V8_SCOPE_LOCALS - 8));

	if (n > V8_SCOPE_LOCALS_MAX)
		return;
	at += 8 * (n < V8_SCOPE_LOCALS_INLINE ? n : 1) + 8 * n;
	at += flags & V8_SCOPE_HAS_CLASS ? 8 : 0;
	if (flags & V8_SCOPE_HAS_FUNCTION) {
		f->name = v8_field(scope, at);
		at += 16;
	}
	if (flags & V8_SCOPE_HAS_INFERRED) {
		f->inferred = v8_field(scope, at);
		at += 8;
	}
	f->position = V8_SMI(v8_field(scope, at));
	f->end = V8_SMI(v8_field(scope, at + 8));
}

/*
 * Sends the function. @positions: those of its bytecodes, or 0. Returns whether it could, and all
 * of it.
 */
__attribute__((noinline)) int v8_tell(struct runtime *r, __u64 id, __u64 shared, __u64 positions)
{
	struct v8_function *f;
	struct abi_code *code;
	__u64 script, n;
	__u32 type;

	if (!r || r->n_told >= RUNTIME_TOLD_MAX)
		return 0;
	script = v8_field(shared, V8_SHARED_SCRIPT);
	r->n_told++;
	f = &r->function;
	f->name = v8_field(shared, V8_SHARED_NAME);
	f->inferred = 0;
	f->is_late = false;
	f->position = V8_POSITION_NONE;
	f->end = 0;
	type = v8_type(f->name);
	if (type == r->row.v8.scope) {
		__u64 scope = f->name;

		f->name = 0;
		v8_read_scope(f, scope);
	}
	code = &r->code;
	n = v8_read_text(r, f->name, ABI_CODE_NAME);
	if (!n)
		n = v8_read_text(r, f->inferred, ABI_CODE_NAME);
	code->name_bytes = n;
	code->name_width = r->text.width;
	__builtin_memcpy(code->name, r->text.bytes, ABI_CODE_NAME);
	code->file_bytes = v8_read_text(r, v8_field(script, V8_SCRIPT_NAME), ABI_CODE_FILE);
	code->file_width = r->text.width;
	__builtin_memcpy(code->file, r->text.bytes, ABI_CODE_FILE);
	code->id = id;
	code->pid = r->pid;
	code->uid = r->uid;
	code->version = r->row.version;
	code->first_line = v8_line(r, script, f->position);
	code->table_bytes = 0;
	if (positions && code->first_line)
		v8_take_lines(r, script, positions);
	return runtime_send_code(r) && !f->is_late;
}

/* The positions of @bytecodes; 0: V8 has not made them. */
static __always_inline __u64 v8_find_positions(struct runtime *r, __u64 bytecodes)
{
	__u64 positions = v8_field(bytecodes, r->row.v8.positions);
	__u32 n;

	if (!V8_IS_POINTER(positions) || positions == r->no_positions)
		return 0;
	n = V8_SMI(v8_field(positions, 8));
	if (n && n < V8_POSITIONS_LONG)
		return positions;
	r->no_positions = positions;
	return 0;
}

/* Adds the function of the native frame @at, or of the frame pointer that is looked at. */
static __always_inline void v8_push(struct runtime *r, __u64 id, __u32 at, __u32 kind, __u32 within)
{
	bool is_placed = at != ABI_UNPLACED;

	if (is_placed)
		kind |= within << ABI_RUNTIME_KIND_BITS;
	if (r->n_functions++ >= ABI_CODES_MAX ||
	    !runtime_push(r, id, is_placed ? at : within, is_placed ? kind : ABI_RUNTIME_CODE) ||
	    !(is_placed || runtime_push(r, r->cframe, ABI_UNPLACED, ABI_RUNTIME_GROUP)))
		r->is_broken = 1;
}

/*
 * What looks like a function's frame, and has no function that could be read. Of C++ code, it is
 * nothing. Faults cost ten times what reads do: see unwind.bpf.h.
 */
static __always_inline int v8_is_strange(struct runtime *r, __u32 at, bool is_certain)
{
	if (++r->n_strange >= V8_STRANGE_MAX || is_certain)
		r->is_broken = 1;
	if (is_certain)
		v8_push(r, 0, at, ABI_RUNTIME_OWN, RUNTIME_AT_UNKNOWN);
	return 0;
}

static __always_inline bool v8_is_function(const struct v8_frame *f)
{
	return V8_IS_POINTER(f->context) && V8_IS_POINTER(f->function) &&
	       f->context >= V8_ADDRESS_MIN && f->function >= V8_ADDRESS_MIN;
}

/*
 * The native frame @at, which may be ABI_UNPLACED, has the frame pointer @fp; @in_image: it is code
 * of a file. If it is a function's, adds that.
 */
__attribute__((noinline)) int v8_add_frame(struct runtime *r, __u64 fp, __u32 at, __u32 in_image)
{
	__u32 kind = ABI_RUNTIME_OWN, within = RUNTIME_AT_UNKNOWN;
	__u64 shared, id, positions = 0;
	bool is_interpreted, is_certain;
	struct abi_told *told;
	struct v8_seen *s;

	if (!r || r->n_strange >= V8_STRANGE_MAX)
		return 0;
	s = &r->seen;
	r->cframe = fp;
	if (bpf_probe_read_user(&s->frame, sizeof(s->frame), (const void *)(fp - sizeof(s->frame))))
		return v8_is_strange(r, at, false);
	if (!v8_is_function(&s->frame))
		return 0;
	is_interpreted = !(__u32)s->frame.offset && V8_IS_POINTER(s->frame.bytecodes);
	is_certain = is_interpreted || (!in_image && at != ABI_UNPLACED);
	if (is_interpreted)
		positions = v8_find_positions(r, s->frame.bytecodes);
	else if (in_image)
		kind = ABI_RUNTIME_BEHIND;
	shared = v8_field(s->frame.function, r->row.v8.function_shared);
	if (!V8_IS_POINTER(shared) ||
	    bpf_probe_read_user(&s->function, sizeof(s->function),
				(const void *)(shared - 1 + V8_SHARED_SCRIPT)))
		return v8_is_strange(r, at, is_certain);
	if ((__s32)(s->function.literal >> 32) < 0)
		return 0;
	if (!V8_IS_POINTER(s->function.script) ||
	    bpf_probe_read_user(&s->script, sizeof(s->script),
				(const void *)(s->function.script - 1 + V8_SCRIPT_NAME)))
		return v8_is_strange(r, at, is_certain);
	id = runtime_mix(r->seed, s->script.id);
	id = runtime_mix(id, v8_field(s->script.name, 8));
	r->function.script = id;
	id = runtime_mix(id, s->function.literal >> 32 ^ s->function.counts << 16);
	if (positions) {
		id = runtime_mix(id, 1);
		within = V8_SMI(s->frame.offset) - r->row.v8.bytecodes;
		within = within < RUNTIME_AT_UNKNOWN ? within : RUNTIME_AT_UNKNOWN;
	}
	told = runtime_find_told(id);
	if (told && (v8_type(shared) != r->row.v8.shared ||
		     v8_type(s->function.script) != r->row.v8.script))
		return v8_is_strange(r, at, is_certain);
	if (told && v8_tell(r, id, shared, positions))
		runtime_note_told(told, id);
	v8_push(r, id, kind == ABI_RUNTIME_BEHIND ? at + 1 : at, kind, within);
	return 0;
}

static long v8_follow_step(__u32 i, struct runtime_context *context)
{
	struct runtime *r = context->runtime;
	__u64 fp = r->frame;

	(void)i;
	if (fp != r->cframe)
		v8_add_frame(r, fp, ABI_UNPLACED, 0);
	r->frame = runtime_read_word(fp);
	return r->frame <= fp;
}

/*
 * The native walk ends before its time at a frame with frame pointer @fp, and profd will finish it,
 * without the process's memory: the functions from there on, as far as frame pointers lead, to be
 * placed then.
 */
__attribute__((noinline)) int v8_follow(struct runtime *r, __u64 fp)
{
	struct runtime_context context = {.runtime = r};

	if (!r)
		return 0;
	r->frame = fp;
	if (bpf_loop(V8_FOLLOW_MAX, v8_follow_step, &context, 0) == V8_FOLLOW_MAX)
		r->is_broken = 1;
	return 0;
}

#endif
