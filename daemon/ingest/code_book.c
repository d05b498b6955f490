/* SPDX-License-Identifier: MIT */
/*
 * A volume is an array of entries that never move, each one allocation. The hash of contents is of
 * the present volume, and the book's alone; so are the hashes of ids, of each of the two.
 */
#include "daemon/ingest/code_book.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "common/error.h"
#include "common/fnv.h"

#define VOLUME_BITS  16
#define VOLUME_CODES (1u << VOLUME_BITS)
/* What the C library and a hash add to a block. */
#define BLOCK_BYTES 24

struct code_entry {
	struct code code;
	uint64_t content;
	uint32_t number;
	UT_hash_handle hh; /* by content; the book's */
	uint8_t data[];
};

struct code_id {
	uint64_t id;
	uint32_t number;
	UT_hash_handle hh;
};

/* Many processes run the same code, each with ids of its own: they count as the volume's. */
#define ID_BYTES (sizeof(struct code_id) + BLOCK_BYTES)

/* What a user has in the present volume; that of all users is the one of CODE_USERS. */
struct code_share {
	uint32_t uid;
	uint64_t bytes;
	UT_hash_handle hh;
};

#define CODE_USERS 0 /* root has none */

struct code_volume {
	atomic_uint n_references;
	uint32_t serial;
	uint32_t n;
	size_t bytes;                             /* its entries, all that they cost */
	struct code_entry *entries[VOLUME_CODES]; /* pages of it are touched as they fill */
};

struct code_book {
	size_t volume_bytes;
	struct code_volume *before, *present; /* NULL: none yet */
	uint32_t n_volumes;
	struct code_entry *contents; /* hash: those of the present volume */
	struct code_id *ids;         /* hash */
	struct code_id *ids_before;  /* the same of the volume before, for samples on their way */
	struct code_share *shares;   /* hash: of the present volume */
	uint64_t turned_ns;
	size_t n_ids;
};

static void code_volume_unref(struct code_volume *v)
{
	if (!v || atomic_fetch_sub(&v->n_references, 1) != 1)
		return;
	for (uint32_t i = 0; i < v->n; i++)
		free(v->entries[i]);
	free(v);
}

int code_book_new(struct code_book **ret, size_t volume_bytes)
{
	struct code_book *book = calloc(1, sizeof(*book));

	if (!book)
		return error_origin(-ENOMEM);
	book->volume_bytes = volume_bytes;
	*ret = book;
	return 0;
}

static void code_ids_clear(struct code_id **ids)
{
	struct code_id *id, *next;

	HASH_ITER (hh, *ids, id, next) {
		HASH_DEL(*ids, id);
		free(id);
	}
}

/* Those of the present volume become those before. */
static void code_book_forget(struct code_book *book)
{
	struct code_share *share, *next_share;

	HASH_ITER (hh, book->shares, share, next_share) {
		HASH_DEL(book->shares, share);
		free(share);
	}
	HASH_CLEAR(hh, book->contents);
	code_ids_clear(&book->ids_before);
	book->ids_before = book->ids;
	book->ids = NULL;
	book->n_ids = 0;
}

void code_book_free(struct code_book *book)
{
	if (!book)
		return;
	code_book_forget(book);
	code_ids_clear(&book->ids_before);
	code_volume_unref(book->before);
	code_volume_unref(book->present);
	free(book);
}

static int code_book_turn(struct code_book *book, uint64_t now_ns)
{
	struct code_volume *v = calloc(1, sizeof(*v));

	if (!v)
		return error_origin(-ENOMEM);
	atomic_init(&v->n_references, 1);
	v->serial = book->n_volumes++;
	code_book_forget(book);
	code_volume_unref(book->before);
	book->before = book->present;
	book->present = v;
	book->turned_ns = now_ns;
	return 0;
}

static uint64_t text_hash(const struct runtime_text *text, uint64_t hash)
{
	hash = fnv_hash(&text->n_bytes, sizeof(text->n_bytes), hash);
	hash = fnv_hash(&text->width, sizeof(text->width), hash);
	return fnv_hash(text->bytes, text->n_bytes, hash);
}

static uint64_t code_hash(const struct runtime_code *code)
{
	uint64_t hash = FNV_INIT;

	hash = fnv_hash(&code->version, sizeof(code->version), hash);
	hash = fnv_hash(&code->first_line, sizeof(code->first_line), hash);
	hash = text_hash(&code->file, text_hash(&code->name, hash));
	return fnv_hash(code->table, code->table_bytes, hash);
}

static bool bytes_equal(const uint8_t *a, const uint8_t *b, size_t n)
{
	return !n || !memcmp(a, b, n);
}

static bool text_equals(const struct runtime_text *a, const struct runtime_text *b)
{
	return a->n_bytes == b->n_bytes && a->width == b->width &&
	       bytes_equal(a->bytes, b->bytes, a->n_bytes);
}

static bool code_equals(const struct runtime_code *a, const struct runtime_code *b)
{
	return a->version == b->version && a->first_line == b->first_line &&
	       text_equals(&a->name, &b->name) && text_equals(&a->file, &b->file) &&
	       a->table_bytes == b->table_bytes && bytes_equal(a->table, b->table, a->table_bytes);
}

static size_t code_bytes(const struct runtime_code *code)
{
	return (size_t)code->name.n_bytes + code->file.n_bytes + code->table_bytes;
}

static size_t code_entry_cost(const struct runtime_code *code)
{
	return sizeof(struct code_entry) + sizeof(struct code_entry *) + BLOCK_BYTES +
	       code_bytes(code);
}

/* Puts @n of @bytes at *@at, and leads *@at behind them. Returns where they are. */
static const uint8_t *put_bytes(uint8_t **at, const uint8_t *bytes, size_t n)
{
	uint8_t *to = *at;

	if (n)
		memcpy(to, bytes, n);
	*at += n;
	return to;
}

/* A copy of @code becomes the last one of the present volume. */
static int code_volume_append(struct code_book *book, const struct runtime_code *code,
			      uint64_t content, struct code_entry **ret)
{
	struct code_entry *e = calloc(1, sizeof(*e) + code_bytes(code));
	struct code_volume *v = book->present;
	struct runtime_code *copy;
	uint8_t *at;

	if (!e)
		return error_origin(-ENOMEM);
	copy = &e->code.raw;
	*copy = *code;
	at = e->data;
	copy->name.bytes = put_bytes(&at, code->name.bytes, code->name.n_bytes);
	copy->file.bytes = put_bytes(&at, code->file.bytes, code->file.n_bytes);
	copy->table = put_bytes(&at, code->table, code->table_bytes);
	e->content = content;
	e->number = v->serial << VOLUME_BITS | v->n;
	v->entries[v->n++] = e;
	v->bytes += code_entry_cost(code);
	HASH_ADD(hh, book->contents, content, sizeof(e->content), e);
	*ret = e;
	return 0;
}

static bool code_book_is_full(const struct code_book *book)
{
	const struct code_volume *v = book->present;

	return !v || v->n == VOLUME_CODES ||
	       v->bytes + book->n_ids * ID_BYTES >= book->volume_bytes;
}

static int code_share_get(struct code_book *book, uint32_t uid, struct code_share **ret)
{
	struct code_share *share;

	HASH_FIND(hh, book->shares, &uid, sizeof(uid), share);
	if (!share) {
		share = calloc(1, sizeof(*share));
		if (!share)
			return error_origin(-ENOMEM);
		share->uid = uid;
		HASH_ADD(hh, book->shares, uid, sizeof(share->uid), share);
	}
	*ret = share;
	return 0;
}

/* A user whose code is always new would have everybody's forgotten. */
static int code_book_charge(struct code_book *book, uint32_t uid, uint64_t bytes)
{
	struct code_share *own, *all;
	int r;

	if (!uid)
		return 0;
	r = code_share_get(book, CODE_USERS, &all);
	if (r)
		return r;
	if (all->bytes + bytes > book->volume_bytes / 4 * 3)
		return CODE_BOOK_E_SHARE;
	r = code_share_get(book, uid, &own);
	if (r)
		return r;
	if (own->bytes + bytes > book->volume_bytes / 2)
		return CODE_BOOK_E_SHARE;
	own->bytes += bytes;
	all->bytes += bytes;
	return 0;
}

static struct code_entry *code_book_find_equal(const struct code_book *book,
					       const struct runtime_code *code, uint64_t content)
{
	struct code_entry *entry;

	HASH_FIND(hh, book->contents, &content, sizeof(content), entry);
	return entry && code_equals(&entry->code.raw, code) ? entry : NULL;
}

/* What is known costs nothing: the kernel may report it again at any tick. */
static uint64_t code_book_cost(const struct code_book *book, uint64_t id,
			       const struct runtime_code *code, uint64_t content)
{
	const struct code_id *known;
	uint64_t bytes;

	HASH_FIND(hh, book->ids, &id, sizeof(id), known);
	bytes = known ? 0 : ID_BYTES;
	if (!code_book_find_equal(book, code, content))
		bytes += code_entry_cost(code);
	return bytes;
}

static int code_book_make_room(struct code_book *book, const struct code_origin *origin,
			       const struct runtime_code *code, uint64_t content, bool *ret_forgot)
{
	int r;

	*ret_forgot = code_book_is_full(book);
	r = *ret_forgot ? code_book_turn(book, origin->now_ns) : 0;
	if (!r)
		r = code_book_charge(book, origin->uid,
				     code_book_cost(book, origin->id, code, content));
	if (r != CODE_BOOK_E_SHARE || origin->now_ns - book->turned_ns < CODE_TURN_NS)
		return r;
	*ret_forgot = true;
	return code_book_turn(book, origin->now_ns)
		       ?: code_book_charge(book, origin->uid,
					   code_book_cost(book, origin->id, code, content));
}

int code_book_add(struct code_book *book, const struct code_origin *origin,
		  const struct runtime_code *code, bool *ret_forgot)
{
	uint64_t content = code_hash(code), id = origin->id;
	struct code_entry *entry, *other;
	struct code_id *known;
	int r = code_book_make_room(book, origin, code, content, ret_forgot);

	if (r)
		return r;
	entry = code_book_find_equal(book, code, content);
	if (!entry) {
		/* Another one of that hash: the newer one is found from now on. */
		HASH_FIND(hh, book->contents, &content, sizeof(content), other);
		if (other)
			HASH_DEL(book->contents, other);
		r = code_volume_append(book, code, content, &entry);
	}
	if (r)
		return r;
	HASH_FIND(hh, book->ids, &id, sizeof(id), known);
	if (!known) {
		known = calloc(1, sizeof(*known));
		if (!known)
			return error_origin(-ENOMEM);
		known->id = id;
		HASH_ADD(hh, book->ids, id, sizeof(known->id), known);
		book->n_ids++;
	}
	known->number = entry->number;
	return 0;
}

bool code_book_find(const struct code_book *book, uint64_t id, uint32_t *ret)
{
	const struct code_id *known;

	HASH_FIND(hh, book->ids, &id, sizeof(id), known);
	if (!known)
		HASH_FIND(hh, book->ids_before, &id, sizeof(id), known);
	if (!known)
		return false;
	*ret = known->number;
	return true;
}

void code_volumes_take(struct code_volumes *ret, const struct code_book *book)
{
	*ret = (struct code_volumes){0};
	if (!book)
		return;
	ret->volumes[0] = book->before;
	ret->volumes[1] = book->present;
	for (unsigned i = 0; i < ARRAY_SIZE(ret->volumes); i++)
		if (ret->volumes[i])
			atomic_fetch_add(&ret->volumes[i]->n_references, 1);
}

void code_volumes_release(struct code_volumes *volumes)
{
	for (unsigned i = 0; i < ARRAY_SIZE(volumes->volumes); i++)
		code_volume_unref(volumes->volumes[i]);
	*volumes = (struct code_volumes){0};
}

struct code *code_volumes_find(const struct code_volumes *volumes, uint32_t number)
{
	for (unsigned i = 0; i < ARRAY_SIZE(volumes->volumes); i++) {
		const struct code_volume *v = volumes->volumes[i];
		uint32_t at = number & (VOLUME_CODES - 1);

		/* Those behind were added by the main thread since, if at all. */
		if (v && v->serial == number >> VOLUME_BITS && at < VOLUME_CODES)
			return v->entries[at] ? &v->entries[at]->code : NULL;
	}
	return NULL;
}
