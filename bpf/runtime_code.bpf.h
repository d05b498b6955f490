/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef PROFD_BPF_RUNTIME_CODE_BPF_H
#define PROFD_BPF_RUNTIME_CODE_BPF_H

/*
 * An interpreter's code objects: an id for each, and, at the first sight of an id on this machine,
 * the name, the file and the table of lines, sent on a ring of their own. An id is a hash of the
 * process and of what a code object points to: memory that is used again for another one is another
 * id. `codes_told` has the ids that were sent, by their first bits; one that lost its place is sent
 * again, which costs time alone. Each CPU keeps what it read of code objects, with their ids: it is
 * compared once a walk, or not even that, for as long as what was read holds.
 *
 * A tick sends RUNTIME_TOLD_MAX code objects at most, fewer if they are long.
 */
#include "bpf/runtime_state.bpf.h"

/* In a tick: code objects; one counts once more for each part of its table. */
#define RUNTIME_TOLD_MAX   64
#define RUNTIME_TOLD_BYTES 4096

/* Of code objects without a number, names are compared so often, and then in each Nth walk. */
#define RUNTIME_NAMES_FIRST 64
#define RUNTIME_NAMES_EVERY 16 /* a power of two */

#define PYTHON_TEXT_HASH 24
/* Of the state of a str object. */
#define PYTHON_TEXT_WIDTH(state) ((state) >> 2 & 7)
#define PYTHON_TEXT_COMPACT      32
#define PYTHON_TEXT_ASCII        64

/* `holds` of more than one walk; else it is the walk's number. */
#define RUNTIME_HOLDS_LONGER (1ull << 63)

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, ABI_CODES_BYTES);
} codes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1 << ABI_TOLD_BITS);
	__type(key, __u32);
	__type(value, struct abi_told);
} codes_told SEC(".maps");

/* Code objects that could not be sent. */
__u64 codes_lost;

/* Another number each time that profd has taken ids out of `codes_told`: it wants them again. */
volatile __u32 codes_forgotten;

static __always_inline __u64 runtime_code_word(const struct runtime *r, __u8 at)
{
	return r->code_words[at >> 3];
}

static __always_inline __u32 runtime_code_half(const struct runtime *r, __u8 at)
{
	return ((const __u32 *)r->code_words)[at >> 2];
}

/*
 * The characters of the str at @text, or the first ones of them. Returns how many bytes they have;
 * 0: there are none that can be read.
 */
static __always_inline __u32 runtime_read_text(const struct runtime *r, __u64 text, __u8 *to,
					       __u32 max, __u8 *ret_width)
{
	__u64 head[3], n, width; /* length, hash, state */
	__u32 begins;

	if (bpf_probe_read_user(head, sizeof(head), (const void *)(text + 16)))
		return 0;
	width = PYTHON_TEXT_WIDTH(head[2]);
	if (!(head[2] & PYTHON_TEXT_COMPACT))
		return 0;
	n = head[0] < max ? head[0] : max;
	n = n * width < max ? n * width : max;
	begins = head[2] & PYTHON_TEXT_ASCII ? r->row.text_ascii : r->row.text_compact;
	*ret_width = width;
	__asm__ volatile("" : "+r"(n));
	if (n > max || bpf_probe_read_user(to, n, (const void *)(text + begins)))
		return 0;
	return n;
}

/* The bytes object at @table, or its beginning. */
static __always_inline __u32 runtime_read_table(struct runtime *r, __u64 table)
{
	__u64 n = runtime_read_word(table + 16);

	if (n > ABI_CODE_TABLE)
		n = ABI_CODE_TABLE;
	__asm__ volatile("" : "+r"(n));
	if (n > ABI_CODE_TABLE || bpf_probe_read_user(r->code.table, n, (const void *)(table + 32)))
		return 0;
	return n;
}

/* What tells it from others, alone: each line of memory may be one that no cache has. */
static __always_inline bool runtime_read_code(struct runtime *r, __u64 code)
{
	__u64 from = r->row.code_from & RUNTIME_CODE_FROM, n = r->row.code_bytes;

	__asm__ volatile("" : "+r"(n));
	return n <= RUNTIME_CODE_BYTES &&
	       !bpf_probe_read_user((char *)r->code_words + from, n, (const void *)(code + from));
}

/* Where it is noted that @id was sent; NULL: it was. */
static __always_inline struct abi_told *runtime_find_told(__u64 id)
{
	__u32 slot = id >> (64 - ABI_TOLD_BITS);
	struct abi_told *told = bpf_map_lookup_elem(&codes_told, &slot);

	if (!told)
		return NULL;
	for (int i = 0; i < ABI_TOLD_WAYS; i++)
		if (told->ids[i] == id)
			return NULL;
	return told;
}

static __always_inline void runtime_note_told(struct abi_told *told, __u64 id)
{
	for (int i = ABI_TOLD_WAYS - 1; i > 0; i--)
		told->ids[i] = told->ids[i - 1];
	told->ids[0] = id;
}

/* Sends r->code. Returns whether it could. */
__attribute__((noinline)) int runtime_send_code(struct runtime *r)
{
	__u64 flags = BPF_RB_NO_WAKEUP, n;

	if (!r)
		return 0;
	n = r->code.table_bytes;
	if (bpf_ringbuf_query(&codes, BPF_RB_AVAIL_DATA) > ABI_CODES_BYTES / 2)
		flags = BPF_RB_FORCE_WAKEUP;
	__asm__ volatile("" : "+r"(n));
	if (n <= ABI_CODE_TABLE && !bpf_ringbuf_output(&codes, &r->code, ABI_CODE_HEAD + n, flags))
		return 1;
	__sync_fetch_and_add(&codes_lost, 1);
	return 0;
}

/* Sends the code object that was read last. Returns whether it could. */
static __always_inline bool runtime_tell(struct runtime *r, const struct runtime_known *known)
{
	const struct runtime_content *c = &known->content;
	struct abi_code *code = &r->code;

	if (r->n_told >= RUNTIME_TOLD_MAX)
		return false;
	r->n_told++;
	code->id = known->id;
	code->pid = r->pid;
	code->uid = r->uid;
	code->version = r->row.version;
	code->first_line = c->line;
	code->name_bytes = runtime_read_text(r, c->name, code->name, ABI_CODE_NAME,
					     &code->name_width);
	code->file_bytes = runtime_read_text(r, c->file, code->file, ABI_CODE_FILE,
					     &code->file_width);
	if (!code->name_bytes)
		return false;
	code->table_bytes = runtime_read_table(r, c->table);
	r->n_told += code->table_bytes / RUNTIME_TOLD_BYTES;
	return runtime_send_code(r);
}

static __always_inline void runtime_take_content(const struct runtime *r,
						 struct runtime_content *ret)
{
	ret->name = runtime_code_word(r, r->row.code_name);
	ret->file = runtime_code_word(r, r->row.code_file);
	ret->table = runtime_code_word(r, r->row.code_table);
	ret->line = runtime_code_half(r, r->row.code_line);
	ret->version = r->row.code_version ? runtime_code_half(r, r->row.code_version) : 0;
}

/* The hash of the str at @text, if it has one yet, and its first characters. */
static __always_inline __u64 runtime_read_name(struct runtime *r, __u64 text)
{
	struct runtime_name *name = &r->name;

	if (bpf_probe_read_user(name, sizeof(*name), (const void *)(text + PYTHON_TEXT_HASH)))
		return 0;
	return runtime_mix(name->hash, name->characters);
}

/*
 * A code object without a number (up to 3.11) may have all of its content where an earlier one had
 * it, its name among it, as programs that make and drop code in a loop have. So the name itself is
 * compared, which is a read: while the code is new, and seldom after that.
 */
static __always_inline bool runtime_has_name(struct runtime *r, struct runtime_known *known)
{
	if (r->row.code_version ||
	    (known->n_names >= RUNTIME_NAMES_FIRST && (r->n_walks & (RUNTIME_NAMES_EVERY - 1))))
		return true;
	known->n_names++;
	return runtime_read_name(r, known->content.name) == known->text;
}

/*
 * The code object at @code, which was read, becomes what is known at @slot, and is sent unless that
 * was done. One that cannot be sent is not known the next time.
 */
__attribute__((noinline)) int runtime_meet(struct runtime *r, __u64 code, __u64 slot)
{
	struct runtime_known *known;
	struct abi_told *told;
	__u64 id;

	if (!r)
		return 0;
	known = &r->known[slot & ((1 << RUNTIME_KNOWN_BITS) - 1)];
	runtime_take_content(r, &known->content);
	id = runtime_mix(r->seed, code);
	id = runtime_mix(id, known->content.name);
	id = runtime_mix(id, known->content.file);
	id = runtime_mix(id, known->content.table);
	id = runtime_mix(id, (__u64)known->content.version << 32 | known->content.line);
	known->text = 0;
	known->n_names = 0;
	if (!r->row.code_version)
		known->text = runtime_read_name(r, known->content.name);
	id = runtime_mix(id, known->text);
	known->id = id;
	known->code = code;
	known->seed = r->known_seed;
	known->traceable = 0;
	if (r->row.code_traceable)
		known->traceable = runtime_read_word(code + r->row.code_traceable);
	told = runtime_find_told(id);
	if (told && runtime_tell(r, known))
		runtime_note_told(told, id);
	else if (told)
		known->seed = ~known->seed;
	return 0;
}

/* Before something is kept for longer: is the interpreter's state what the row says? */
static __always_inline void runtime_check_holds(struct runtime *r)
{
	__u64 at = r->base + r->row.state + r->row.count_check_at;

	if (r->is_checked || !r->row.count_check_at || !(r->holds & RUNTIME_HOLDS_LONGER))
		return;
	r->is_checked = true;
	if (runtime_read_word(at) != r->row.count_check)
		r->holds = r->n_walks;
}

static __always_inline bool runtime_is_same(const struct runtime_content *a,
					    const struct runtime_content *b)
{
	return !((a->name ^ b->name) | (a->file ^ b->file) | (a->table ^ b->table) |
		 (a->line ^ b->line) | (a->version ^ b->version));
}

/* The code object at @code, from memory or what is known of it. NULL: it cannot be read. */
static __always_inline const struct runtime_known *runtime_find_code(struct runtime *r, __u64 code)
{
	__u64 slot = runtime_mix(0, code) >> (64 - RUNTIME_KNOWN_BITS);
	struct runtime_content content;
	struct runtime_known *known;
	bool is_known;

	__asm__ volatile("" : "+r"(slot));
	known = &r->known[slot & ((1 << RUNTIME_KNOWN_BITS) - 1)];
	is_known = known->code == code && known->seed == r->known_seed;
	if (is_known && known->holds == r->holds)
		return known;
	if (!code || !runtime_read_code(r, code))
		return NULL;
	runtime_check_holds(r);
	runtime_take_content(r, &content);
	if (!is_known || !runtime_is_same(&content, &known->content) || !runtime_has_name(r, known))
		runtime_meet(r, code, slot);
	known->holds = r->holds;
	return known;
}

#endif
