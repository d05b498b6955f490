/* SPDX-License-Identifier: MIT */
/* All that samples refer to: texts, mappings, functions, locations and their lines. */
#include "common/profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/profile/profile_private.h"
#include "common/room.h"

struct location_key {
	uint64_t address;
	const struct profile_line *lines;
	uint32_t mapping, n_lines;
};

int profile_make_room(void *array, size_t *max, size_t used, size_t size,
		      struct profile_table *table)
{
	int r;

	if (used >= PROFILE_NONE)
		return error_origin(-E2BIG);
	r = profile_table_reserve(table);
	if (r)
		return r;
	return room_make(array, max, used + 1, size);
}

/* Makes a table that was freed anew, of the @n things that there are. */
static int profile_rebuild_table(struct profile_table *table, size_t n, const struct profile *p,
				 uint32_t (*hash_of)(const struct profile *p, uint32_t index))
{
	int r = 0;

	if (table->n_used == n)
		return 0;
	profile_table_clear(table);
	for (uint32_t i = 0; i < n && !r; i++) {
		r = profile_table_reserve(table);
		if (!r)
			profile_table_insert(table, hash_of(p, i), i);
	}
	return r;
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
	if (r)
		return r;
	*ret = steal_ptr(&p);
	return 0;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	if (p->tables) {
		profile_arena_deinit(&p->tables->arena);
		profile_table_deinit(&p->tables->string_table);
		profile_table_deinit(&p->tables->comment_table);
		profile_table_deinit(&p->tables->mapping_table);
		profile_table_deinit(&p->tables->function_table);
		profile_table_deinit(&p->tables->location_table);
		profile_table_deinit(&p->tables->sample_table);
		free(p->tables->strings);
		free(p->tables);
	}
	free(p->comments);
	free(p->mappings);
	free(p->functions);
	free(p->locations);
	free(p->lines);
	free(p->samples);
	free(p->sample_locations);
	free(p->sample_values);
	free(p->sample_labels);
	free(p);
}

static uint32_t string_hash(const struct profile *p, uint32_t index)
{
	const struct profile_text *s = &p->tables->strings[index];

	return profile_hash(&p->tables->hash_key, s->text, s->length);
}

static int string_equal(const void *owner, uint32_t index, const void *key)
{
	const struct profile *p = owner;
	const struct profile_text *a = &p->tables->strings[index];
	const struct profile_text *b = key;

	return a->length == b->length && !memcmp(a->text, b->text, a->length);
}

int profile_add_string(struct profile *p, const char *text, size_t length, uint32_t *ret)
{
	struct profile_tables *t = p->tables;
	const struct profile_text key = {.text = text, .length = length};
	uint32_t hash = profile_hash(&t->hash_key, text, length), index;
	const char *copy;
	int r = profile_rebuild_table(&t->string_table, t->n_strings, p, string_hash);

	if (r)
		return r;
	index = profile_table_find(&t->string_table, hash, string_equal, p, &key);
	if (index == PROFILE_NONE) {
		r = profile_make_room(&t->strings, &t->max_strings, t->n_strings,
				      sizeof(*t->strings), &t->string_table);
		if (r)
			return r;
		copy = profile_arena_copy(&t->arena, text, length);
		if (!copy)
			return error_origin(-ENOMEM);
		index = (uint32_t)t->n_strings++;
		t->strings[index] = (struct profile_text){.text = copy, .length = length};
		profile_table_insert(&t->string_table, hash, index);
	}
	*ret = index;
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

int profile_add_sample_type(struct profile *p, const char *type, const char *unit)
{
	struct profile_value_type *t = &p->sample_types[p->n_sample_types];
	int r;

	if (p->n_samples)
		return error_origin(-EINVAL);
	if (p->n_sample_types >= PROFILE_TYPES_MAX)
		return error_origin(-E2BIG);
	r = profile_add_text(p, type, &t->type);
	if (r)
		return r;
	r = profile_add_text(p, unit, &t->unit);
	if (r)
		return r;
	p->n_sample_types++;
	return 0;
}

static int comment_equal(const void *owner, uint32_t index, const void *key)
{
	const struct profile *p = owner;

	return p->comments[index] == *(const uint32_t *)key;
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

int profile_add_comment(struct profile *p, const char *text)
{
	struct profile_tables *t = p->tables;
	uint32_t string, hash;
	int r;

	r = profile_add_text(p, text, &string);
	if (r)
		return r;
	hash = profile_hash(&t->hash_key, &string, sizeof(string));
	if (profile_table_find(&t->comment_table, hash, comment_equal, p, &string) != PROFILE_NONE)
		return 0;
	r = profile_make_room(&p->comments, &t->max_comments, p->n_comments, sizeof(*p->comments),
			      &t->comment_table);
	if (r)
		return r;
	profile_table_insert(&t->comment_table, hash, (uint32_t)p->n_comments);
	p->comments[p->n_comments++] = string;
	return 0;
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

static uint32_t mapping_hash(const struct profile *p, const struct profile_mapping *m)
{
	const uint64_t words[] = {m->start, m->limit, m->offset, m->path, m->build_id};

	return profile_hash(&p->tables->hash_key, words, sizeof(words));
}

static uint32_t mapping_hash_at(const struct profile *p, uint32_t index)
{
	return mapping_hash(p, &p->mappings[index]);
}

static int mapping_equal(const void *owner, uint32_t index, const void *key)
{
	const struct profile_mapping *a = &((const struct profile *)owner)->mappings[index];
	const struct profile_mapping *b = key;

	return a->start == b->start && a->limit == b->limit && a->offset == b->offset &&
	       a->path == b->path && a->build_id == b->build_id;
}

int profile_add_mapping(struct profile *p, const struct profile_mapping *m, uint32_t *ret)
{
	struct profile_tables *t = p->tables;
	uint32_t index;
	int r = profile_rebuild_table(&t->mapping_table, p->n_mappings, p, mapping_hash_at);

	if (r)
		return r;
	index = profile_table_find(&t->mapping_table, mapping_hash(p, m), mapping_equal, p, m);
	if (index == PROFILE_NONE)
		return profile_append_mapping(p, m, ret);
	*ret = index;
	return 0;
}

int profile_append_mapping(struct profile *p, const struct profile_mapping *m, uint32_t *ret)
{
	struct profile_tables *t = p->tables;
	int r = profile_rebuild_table(&t->mapping_table, p->n_mappings, p, mapping_hash_at);

	if (!r)
		r = profile_make_room(&p->mappings, &t->max_mappings, p->n_mappings,
				      sizeof(*p->mappings), &t->mapping_table);
	if (r)
		return r;
	profile_table_insert(&t->mapping_table, mapping_hash(p, m), (uint32_t)p->n_mappings);
	p->mappings[p->n_mappings] = *m;
	*ret = (uint32_t)p->n_mappings++;
	return 0;
}

static uint32_t function_hash(const struct profile *p, const struct profile_function *f)
{
	const uint64_t words[] = {f->name, f->system_name, f->filename, (uint64_t)f->start_line};

	return profile_hash(&p->tables->hash_key, words, sizeof(words));
}

static uint32_t function_hash_at(const struct profile *p, uint32_t index)
{
	return function_hash(p, &p->functions[index]);
}

static int function_equal(const void *owner, uint32_t index, const void *key)
{
	const struct profile_function *a = &((const struct profile *)owner)->functions[index];
	const struct profile_function *b = key;

	return a->name == b->name && a->system_name == b->system_name &&
	       a->filename == b->filename && a->start_line == b->start_line;
}

int profile_add_function(struct profile *p, const struct profile_function *f, uint32_t *ret)
{
	struct profile_tables *t = p->tables;
	uint32_t hash = function_hash(p, f), index;
	int r = profile_rebuild_table(&t->function_table, p->n_functions, p, function_hash_at);

	if (r)
		return r;
	index = profile_table_find(&t->function_table, hash, function_equal, p, f);
	if (index == PROFILE_NONE) {
		r = profile_make_room(&p->functions, &t->max_functions, p->n_functions,
				      sizeof(*p->functions), &t->function_table);
		if (r)
			return r;
		index = (uint32_t)p->n_functions++;
		p->functions[index] = *f;
		profile_table_insert(&t->function_table, hash, index);
	}
	*ret = index;
	return 0;
}

static uint32_t location_hash(const struct profile *p, const struct location_key *key)
{
	const uint64_t words[] = {key->address, key->mapping, key->n_lines};
	uint32_t hash = profile_hash(&p->tables->hash_key, words, sizeof(words));

	for (uint32_t i = 0; i < key->n_lines; i++) {
		const uint64_t line[] = {hash,
					 (uint64_t)key->lines[i].function << 32 |
						 (uint32_t)key->lines[i].column,
					 (uint64_t)key->lines[i].line};

		hash = profile_hash(&p->tables->hash_key, line, sizeof(line));
	}
	return hash;
}

static int location_equal(const void *owner, uint32_t index, const void *key)
{
	const struct profile *p = owner;
	const struct profile_location *a = &p->locations[index];
	const struct location_key *b = key;

	if (a->address != b->address || a->mapping != b->mapping || a->n_lines != b->n_lines)
		return 0;
	for (uint32_t i = 0; i < b->n_lines; i++) {
		const struct profile_line *line = &p->lines[a->first_line + i];

		if (line->function != b->lines[i].function || line->line != b->lines[i].line ||
		    line->column != b->lines[i].column)
			return 0;
	}
	return 1;
}

static uint32_t location_hash_at(const struct profile *p, uint32_t index)
{
	const struct profile_location *l = &p->locations[index];
	const struct location_key key = {.address = l->address,
					 .mapping = l->mapping,
					 .lines = l->n_lines ? &p->lines[l->first_line] : NULL,
					 .n_lines = l->n_lines};

	return location_hash(p, &key);
}

int profile_add_location(struct profile *p, uint32_t mapping, uint64_t address,
			 const struct profile_line *lines, uint32_t n_lines, uint32_t *ret)
{
	struct profile_tables *t = p->tables;
	const struct location_key key = {
		.address = address, .mapping = mapping, .lines = lines, .n_lines = n_lines};
	uint32_t hash = location_hash(p, &key), index;
	int r = profile_rebuild_table(&t->location_table, p->n_locations, p, location_hash_at);

	if (r)
		return r;
	index = profile_table_find(&t->location_table, hash, location_equal, p, &key);
	if (index != PROFILE_NONE) {
		*ret = index;
		return 0;
	}
	r = profile_make_room(&p->locations, &t->max_locations, p->n_locations,
			      sizeof(*p->locations), &t->location_table);
	if (r)
		return r;
	r = room_make(&p->lines, &t->max_lines, p->n_lines + n_lines, sizeof(*p->lines));
	if (r)
		return r;
	index = (uint32_t)p->n_locations++;
	p->locations[index] = (struct profile_location){.address = address,
							.mapping = mapping,
							.n_lines = n_lines,
							.first_line = p->n_lines};
	if (n_lines)
		memcpy(&p->lines[p->n_lines], lines, n_lines * sizeof(*lines));
	p->n_lines += n_lines;
	profile_table_insert(&t->location_table, hash, index);
	*ret = index;
	return 0;
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

static size_t table_bytes(const struct profile_table *table)
{
	return table->n_slots * sizeof(*table->slots);
}

size_t profile_bytes(const struct profile *p)
{
	const struct profile_tables *t = p->tables;

	return sizeof(*p) + sizeof(*t) + t->arena.bytes + table_bytes(&t->string_table) +
	       table_bytes(&t->comment_table) + table_bytes(&t->mapping_table) +
	       table_bytes(&t->function_table) + table_bytes(&t->location_table) +
	       table_bytes(&t->sample_table) + t->max_strings * sizeof(*t->strings) +
	       t->max_comments * sizeof(*p->comments) + t->max_mappings * sizeof(*p->mappings) +
	       t->max_functions * sizeof(*p->functions) + t->max_locations * sizeof(*p->locations) +
	       t->max_lines * sizeof(*p->lines) + t->max_samples * sizeof(*p->samples) +
	       t->max_sample_locations * sizeof(*p->sample_locations) +
	       t->max_sample_values * sizeof(*p->sample_values) +
	       t->max_sample_labels * sizeof(*p->sample_labels);
}
