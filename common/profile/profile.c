/* SPDX-License-Identifier: MIT */
/*
 * All that samples refer to: texts, mappings, functions, locations and their lines. A thing that is
 * added is put behind the others of its kind and looked up from there: it stays if no equal one is
 * found. So each kind has one hash and one comparison, both of things in the array.
 */
#include "common/profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/profile/profile_private.h"
#include "common/room.h"
#include "common/utf8.h"

/* A hash table, and what the things in it are equal by. */
struct profile_kind {
	struct profile_table *table;
	uint32_t (*hash)(const struct profile *p, uint32_t index);
	int (*equal)(const void *p, uint32_t index, const void *other_index);
};

/* An index for one thing more, and room for it. 0, -ENOMEM or -E2BIG. */
static int profile_make_room(void *array, size_t *max, size_t used, size_t size)
{
	return used >= PROFILE_NONE ? error_origin(-E2BIG) : room_make(array, max, used + 1, size);
}

/* The same of the array of that name. */
#define PROFILE_ROOM(p, name) \
	profile_make_room(&(p)->name, &(p)->tables->max_##name, (p)->n_##name, sizeof(*(p)->name))

/*
 * Looks up the thing that was put behind the *n that there are: *ret is the index of one that is
 * equal, or its own; then it is one of them.
 */
static int profile_intern(struct profile *p, const struct profile_kind *kind, size_t *n,
			  uint32_t *ret)
{
	struct profile_table *table = kind->table;
	const uint32_t candidate = (uint32_t)*n;
	uint32_t hash, index;
	int r;

	/* It was freed. */
	if (table->n_used != *n) {
		profile_table_clear(table);
		for (uint32_t i = 0; i < *n; i++) {
			r = profile_table_reserve(table);
			if (r)
				return r;
			profile_table_insert(table, kind->hash(p, i), i);
		}
	}
	hash = kind->hash(p, candidate);
	index = profile_table_find(table, hash, kind->equal, p, &candidate);
	if (index == PROFILE_NONE) {
		r = profile_table_reserve(table);
		if (r)
			return r;
		profile_table_insert(table, hash, candidate);
		index = candidate;
		(*n)++;
	}
	*ret = index;
	return 0;
}

int profile_new(struct profile **ret)
{
	cleanup(profile_freep) struct profile *p = calloc(1, sizeof(*p));
	uint32_t empty;
	int r;

	if (!p)
		return error_origin(-ENOMEM);
	p->tables = calloc(1, sizeof(*p->tables));
	if (!p->tables)
		return error_origin(-ENOMEM);
	profile_hash_key_init(&p->tables->hash_key);
	r = profile_add_string(p, "", 0, &empty);
	if (!r)
		*ret = steal_ptr(&p);
	return r;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
#define FREE_TABLE(name) profile_table_deinit(&p->tables->name##_table);
#define FREE_ARRAY(name) free(p->name);
	if (p->tables) {
		profile_arena_deinit(&p->tables->arena);
		PROFILE_TABLES(FREE_TABLE)
		free(p->tables->strings);
		free(p->tables);
	}
	PROFILE_ARRAYS(FREE_ARRAY)
	free(p);
}

static uint32_t string_hash(const struct profile *p, uint32_t index)
{
	const struct profile_text *s = &p->tables->strings[index];

	return profile_hash(&p->tables->hash_key, s->text, s->length);
}

static int string_equal(const void *owner, uint32_t index, const void *other)
{
	const struct profile *p = owner;
	const struct profile_text *a = &p->tables->strings[index];
	const struct profile_text *b = &p->tables->strings[*(const uint32_t *)other];

	return a->length == b->length && !memcmp(a->text, b->text, a->length);
}

/* A NUL would be the text's end. */
static int add_without_nul(struct profile *p, const char *text, size_t length, uint32_t *ret)
{
	const size_t n = strlen(UTF8_REPLACEMENT);
	cleanup(freep) char *repaired = length < SIZE_MAX / n ? malloc(length * n) : NULL;
	size_t end = 0;

	if (!repaired)
		return error_origin(-ENOMEM);
	for (size_t i = 0; i < length; i++) {
		memcpy(repaired + end, text[i] ? &text[i] : UTF8_REPLACEMENT, text[i] ? 1 : n);
		end += text[i] ? 1 : n;
	}
	return profile_add_string(p, repaired, end, ret);
}

int profile_add_string(struct profile *p, const char *text, size_t length, uint32_t *ret)
{
	struct profile_tables *t = p->tables;
	const struct profile_kind kind = {&t->string_table, string_hash, string_equal};
	const size_t n = t->n_strings;
	struct profile_text *added;
	int r;

	if (length && memchr(text, '\0', length))
		return add_without_nul(p, text, length, ret);
	r = profile_make_room(&t->strings, &t->max_strings, t->n_strings, sizeof(*t->strings));
	if (r)
		return r;
	added = &t->strings[n];
	*added = (struct profile_text){.text = text, .length = length};
	r = profile_intern(p, &kind, &t->n_strings, ret);
	if (r || t->n_strings == n)
		return r;
	added->text = profile_arena_copy(&t->arena, text, length);
	if (!added->text) {
		t->n_strings--;
		profile_table_clear(kind.table);
		return error_origin(-ENOMEM);
	}
	return 0;
}

int profile_add_text(struct profile *p, const char *text, uint32_t *ret)
{
	return profile_add_string(p, text, strlen(text), ret);
}

const char *profile_string(const struct profile *p, uint32_t string)
{
	return p->tables->strings[string].text;
}

size_t profile_n_strings(const struct profile *p)
{
	return p->tables->n_strings;
}

uint32_t profile_find_text(const struct profile *p, const char *text)
{
	for (size_t i = 0; i < p->tables->n_strings; i++)
		if (strcmp(p->tables->strings[i].text, text) == 0)
			return (uint32_t)i;
	return PROFILE_NONE;
}

int profile_add_sample_type(struct profile *p, const char *type, const char *unit)
{
	struct profile_value_type *t = &p->sample_types[p->n_sample_types];
	int r;

	if (p->n_samples)
		return error_origin(-EINVAL);
	if (p->n_sample_types >= PROFILE_TYPES_MAX)
		return error_origin(-E2BIG);
	r = profile_add_text(p, type, &t->type) ?: profile_add_text(p, unit, &t->unit);
	if (r)
		return r;
	p->n_sample_types++;
	return 0;
}

bool profile_find_type(const struct profile *p, const char *name, unsigned *ret)
{
	static const char prefix[] = "inuse_";
	const size_t length = sizeof(prefix) - 1;
	const char *other = strncmp(name, prefix, length) == 0 ? name + length : name;

	for (uint32_t i = 0; i < p->n_sample_types; i++) {
		const char *type = profile_string(p, p->sample_types[i].type);

		if (strcmp(type, name) != 0 && strcmp(type, other) != 0)
			continue;
		*ret = i;
		return true;
	}
	return false;
}

unsigned profile_default_type(const struct profile *p)
{
	const char *name = profile_string(p, p->default_sample_type);
	unsigned type = p->n_sample_types ? p->n_sample_types - 1 : 0;

	if (*name)
		(void)profile_find_type(p, name, &type);
	return type;
}

static uint32_t comment_hash(const struct profile *p, uint32_t index)
{
	return profile_hash(&p->tables->hash_key, &p->comments[index], sizeof(*p->comments));
}

static int comment_equal(const void *owner, uint32_t index, const void *other)
{
	const struct profile *p = owner;

	return p->comments[index] == p->comments[*(const uint32_t *)other];
}

int profile_add_comment(struct profile *p, const char *text)
{
	struct profile_tables *t = p->tables;
	const struct profile_kind kind = {&t->comment_table, comment_hash, comment_equal};
	uint32_t string, index;
	int r = profile_add_text(p, text, &string) ?: PROFILE_ROOM(p, comments);

	if (r)
		return r;
	p->comments[p->n_comments] = string;
	return profile_intern(p, &kind, &p->n_comments, &index);
}

void profile_clear_comments(struct profile *p)
{
	profile_table_deinit(&p->tables->comment_table);
	p->n_comments = 0;
}

bool profile_is_whole_mapping(const struct profile_mapping *m)
{
	return !m->start && !m->offset && (!m->limit || m->limit == UINT64_MAX);
}

bool profile_is_kernel_location(const struct profile *p, const struct profile_location *l)
{
	return l->address >= PROFILE_KERNEL_HALF ||
	       (l->mapping != PROFILE_NONE && p->mappings[l->mapping].start >= PROFILE_KERNEL_HALF);
}

/* As "gzip+0x4290". */
static bool profile_name_is_address(const char *name)
{
	const char *plus = strrchr(name, '+');
	size_t n;

	if (!plus || plus == name || strncmp(plus, "+0x", 3) != 0)
		return false;
	n = strspn(plus + 3, "0123456789abcdef");
	return n > 0 && !plus[3 + n];
}

bool profile_location_has_name(const struct profile *p, const struct profile_location *l)
{
	const struct profile_function *f;
	const struct profile_line *line;

	if (l->n_lines != 1)
		return l->n_lines > 0;
	line = &p->lines[l->first_line];
	f = &p->functions[line->function];
	return line->line || f->filename || !profile_name_is_address(profile_string(p, f->name));
}

static uint32_t mapping_hash(const struct profile *p, uint32_t index)
{
	const struct profile_mapping *m = &p->mappings[index];
	const uint64_t words[] = {m->start, m->limit, m->offset, m->path, m->build_id};

	return profile_hash(&p->tables->hash_key, words, sizeof(words));
}

static int mapping_equal(const void *owner, uint32_t index, const void *other)
{
	const struct profile_mapping *mappings = ((const struct profile *)owner)->mappings;
	const struct profile_mapping *a = &mappings[index];
	const struct profile_mapping *b = &mappings[*(const uint32_t *)other];

	return a->start == b->start && a->limit == b->limit && a->offset == b->offset &&
	       a->path == b->path && a->build_id == b->build_id;
}

int profile_add_mapping(struct profile *p, const struct profile_mapping *m, uint32_t *ret)
{
	struct profile_tables *t = p->tables;
	const struct profile_kind kind = {&t->mapping_table, mapping_hash, mapping_equal};
	int r = PROFILE_ROOM(p, mappings);

	if (r)
		return r;
	p->mappings[p->n_mappings] = *m;
	return profile_intern(p, &kind, &p->n_mappings, ret);
}

int profile_append_mapping(struct profile *p, const struct profile_mapping *m, uint32_t *ret)
{
	int r = PROFILE_ROOM(p, mappings);

	if (r)
		return r;
	profile_table_deinit(&p->tables->mapping_table);
	p->mappings[p->n_mappings] = *m;
	*ret = (uint32_t)p->n_mappings++;
	return 0;
}

static uint32_t function_hash(const struct profile *p, uint32_t index)
{
	const struct profile_function *f = &p->functions[index];
	const uint64_t words[] = {f->name, f->system_name, f->filename, (uint64_t)f->start_line};

	return profile_hash(&p->tables->hash_key, words, sizeof(words));
}

static int function_equal(const void *owner, uint32_t index, const void *other)
{
	const struct profile_function *functions = ((const struct profile *)owner)->functions;
	const struct profile_function *a = &functions[index];
	const struct profile_function *b = &functions[*(const uint32_t *)other];

	return a->name == b->name && a->system_name == b->system_name &&
	       a->filename == b->filename && a->start_line == b->start_line;
}

int profile_add_function(struct profile *p, const struct profile_function *f, uint32_t *ret)
{
	struct profile_tables *t = p->tables;
	const struct profile_kind kind = {&t->function_table, function_hash, function_equal};
	int r = PROFILE_ROOM(p, functions);

	if (r)
		return r;
	p->functions[p->n_functions] = *f;
	return profile_intern(p, &kind, &p->n_functions, ret);
}

static uint32_t location_hash(const struct profile *p, uint32_t index)
{
	const struct profile_location *l = &p->locations[index];
	const uint64_t words[] = {l->address, l->mapping, l->n_lines};
	uint32_t hash = profile_hash(&p->tables->hash_key, words, sizeof(words));

	for (uint32_t i = 0; i < l->n_lines; i++) {
		const struct profile_line *line = &p->lines[l->first_line + i];
		const uint64_t of_line[] = {hash,
					    (uint64_t)line->function << 32 | (uint32_t)line->column,
					    (uint64_t)line->line};

		hash = profile_hash(&p->tables->hash_key, of_line, sizeof(of_line));
	}
	return hash;
}

static int location_equal(const void *owner, uint32_t index, const void *other)
{
	const struct profile *p = owner;
	const struct profile_location *a = &p->locations[index];
	const struct profile_location *b = &p->locations[*(const uint32_t *)other];

	if (a->address != b->address || a->mapping != b->mapping || a->n_lines != b->n_lines)
		return 0;
	for (uint32_t i = 0; i < a->n_lines; i++) {
		const struct profile_line *x = &p->lines[a->first_line + i];
		const struct profile_line *y = &p->lines[b->first_line + i];

		if (x->function != y->function || x->line != y->line || x->column != y->column)
			return 0;
	}
	return 1;
}

int profile_add_location(struct profile *p, uint32_t mapping, uint64_t address,
			 const struct profile_line *lines, uint32_t n_lines, uint32_t *ret)
{
	struct profile_tables *t = p->tables;
	const struct profile_kind kind = {&t->location_table, location_hash, location_equal};
	size_t n = p->n_locations;
	int r = PROFILE_ROOM(p, locations)
			?: room_make(&p->lines, &t->max_lines, p->n_lines + n_lines,
				     sizeof(*p->lines));

	if (r)
		return r;
	p->locations[p->n_locations] = (struct profile_location){.address = address,
								 .mapping = mapping,
								 .n_lines = n_lines,
								 .first_line = p->n_lines};
	if (n_lines)
		memcpy(&p->lines[p->n_lines], lines, n_lines * sizeof(*lines));
	r = profile_intern(p, &kind, &n, ret);
	if (!r && n > p->n_locations)
		p->n_lines += n_lines;
	p->n_locations = n;
	return r;
}

int profile_set_lines(struct profile *p, uint32_t location, const struct profile_line *lines,
		      uint32_t n_lines)
{
	struct profile_tables *t = p->tables;
	struct profile_location *l = &p->locations[location];
	int r;

	if (n_lines > l->n_lines) {
		r = room_make(&p->lines, &t->max_lines, p->n_lines + n_lines, sizeof(*p->lines));
		if (r)
			return r;
		l->first_line = p->n_lines;
		p->n_lines += n_lines;
	}
	if (n_lines)
		memcpy(&p->lines[l->first_line], lines, n_lines * sizeof(*lines));
	l->n_lines = n_lines;
	profile_table_deinit(&t->location_table);
	return 0;
}

void profile_cut_locations(struct profile *p, size_t n_functions, size_t n_locations)
{
	p->n_functions = n_functions;
	p->n_locations = n_locations;
	profile_table_deinit(&p->tables->function_table);
	profile_table_deinit(&p->tables->location_table);
}

int profile_drop_unused_functions(struct profile *p)
{
	cleanup(freep) uint32_t *indices = malloc((p->n_functions + 1) * sizeof(*indices));
	uint32_t n = 0;

	if (!indices)
		return error_origin(-ENOMEM);
	memset(indices, 0xff, (p->n_functions + 1) * sizeof(*indices)); /* PROFILE_NONE */
	for (size_t i = 0; i < p->n_locations; i++)
		for (uint32_t j = 0; j < p->locations[i].n_lines; j++)
			indices[p->lines[p->locations[i].first_line + j].function] = 0;
	for (size_t i = 0; i < p->n_functions; i++) {
		if (indices[i] == PROFILE_NONE)
			continue;
		indices[i] = n;
		p->functions[n++] = p->functions[i];
	}
	p->n_functions = n;
	for (size_t i = 0; i < p->n_locations; i++)
		for (uint32_t j = 0; j < p->locations[i].n_lines; j++) {
			struct profile_line *line = &p->lines[p->locations[i].first_line + j];

			line->function = indices[line->function];
		}
	profile_table_deinit(&p->tables->function_table);
	profile_table_deinit(&p->tables->location_table);
	return 0;
}

/* What holds for its mapping, if it did so far. */
static void profile_mark_location(const struct profile *p, const struct profile_location *l,
				  struct profile_mapping *m)
{
	m->has_functions &= profile_location_has_name(p, l);
	m->has_filenames &= l->n_lines > 0;
	m->has_line_numbers &= l->n_lines > 0;
	m->has_inline_frames |= l->n_lines > 1;
	for (uint32_t i = 0; i < l->n_lines; i++) {
		const struct profile_line *line = &p->lines[l->first_line + i];

		m->has_filenames &= p->functions[line->function].filename != 0;
		m->has_line_numbers &= line->line != 0;
	}
}

void profile_mark_mappings(struct profile *p, const bool *which)
{
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < p->n_locations; i++) {
			const struct profile_location *l = &p->locations[i];
			struct profile_mapping *m;

			if (l->mapping == PROFILE_NONE || (which && !which[l->mapping]))
				continue;
			m = &p->mappings[l->mapping];
			if (pass)
				profile_mark_location(p, l, m);
			else
				m->has_functions = m->has_filenames = m->has_line_numbers = true;
		}
	}
}

void profile_settle(struct profile *p)
{
	struct profile_tables *t = p->tables;

	profile_table_deinit(&t->string_table);
	profile_table_deinit(&t->mapping_table);
	profile_table_deinit(&t->function_table);
	profile_table_deinit(&t->location_table);
}

void profile_set_main_mapping(struct profile *p, uint32_t mapping)
{
	struct profile_mapping first;

	if (mapping == 0 || mapping >= p->n_mappings)
		return;
	first = p->mappings[0];
	p->mappings[0] = p->mappings[mapping];
	p->mappings[mapping] = first;
	for (size_t i = 0; i < p->n_locations; i++) {
		if (p->locations[i].mapping == 0)
			p->locations[i].mapping = mapping;
		else if (p->locations[i].mapping == mapping)
			p->locations[i].mapping = 0;
	}
	/* They were made of the old indices. */
	profile_table_deinit(&p->tables->mapping_table);
	profile_table_deinit(&p->tables->location_table);
}

size_t profile_bytes(const struct profile *p)
{
	const struct profile_tables *t = p->tables;
	size_t bytes = sizeof(*p) + sizeof(*t) + t->arena.bytes +
		       t->max_strings * sizeof(*t->strings);

#define ADD_TABLE(name) bytes += t->name##_table.n_slots * sizeof(*t->name##_table.slots);
#define ADD_ARRAY(name) bytes += t->max_##name * sizeof(*p->name);
	PROFILE_TABLES(ADD_TABLE)
	PROFILE_ARRAYS(ADD_ARRAY)
	return bytes;
}
