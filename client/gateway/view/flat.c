/* SPDX-License-Identifier: MIT */
#include "client/gateway/view/flat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#define HASH_NONFATAL_OOM      1
#define uthash_nonfatal_oom(e) ((e)->is_lost = true)
#include <uthash.h>

#include "client/gateway/view/answer.h"
#include "client/gateway/view/pieces.h"
#include "client/gateway/view/view_protocol.h"
#include "common/clamped.h"
#include "common/error.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"
#include "common/profile/windows.h"
#include "common/utf8.h"

#define UNPACKED_MAX ((size_t)128 << 20)
#define LINE_MAX     (2 * FLAT_NAME_MAX + 32)
#define UNNAMED      "<unknown>"

struct flat_key {
	uint32_t service, function, path; /* strings; `path` if there is no function */
};

struct flat_sum {
	UT_hash_handle hh;
	bool is_lost;
	struct flat_key key;
	uint64_t ns;
};

static void flat_free(struct flat_sum **sums)
{
	struct flat_sum *s, *next;

	HASH_ITER (hh, *sums, s, next) {
		HASH_DEL(*sums, s);
		free(s);
	}
}

/* PROFILE_NONE: there is none. */
static uint32_t flat_find_type(const struct profile *p)
{
	for (uint32_t i = 0; i < p->n_sample_types; i++)
		if (strcmp(profile_string(p, p->sample_types[i].type), "cpu") == 0 &&
		    strcmp(profile_string(p, p->sample_types[i].unit), "nanoseconds") == 0)
			return i;
	return PROFILE_NONE;
}

/* 0: it has none. */
static uint32_t flat_find_service(const struct profile *p, const struct profile_sample *s,
				  uint32_t key)
{
	for (uint32_t i = 0; i < s->n_labels; i++) {
		const struct profile_label *label = &p->sample_labels[s->first_label + i];

		if (label->key == key)
			return label->str;
	}
	return 0;
}

static struct flat_key flat_key_of(const struct profile *p, const struct profile_sample *s,
				   uint32_t service)
{
	const struct profile_location *leaf = &p->locations[p->sample_locations[s->first_location]];
	struct flat_key key = {.service = service};

	if (leaf->n_lines)
		key.function = p->functions[p->lines[leaf->first_line].function].name;
	if (!key.function && leaf->mapping != PROFILE_NONE)
		key.path = p->mappings[leaf->mapping].path;
	return key;
}

static int flat_add_sum(struct flat_sum **sums, const struct flat_key *key, uint64_t ns)
{
	struct flat_sum *s;

	HASH_FIND(hh, *sums, key, sizeof(*key), s);
	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return error_origin(-ENOMEM);
		s->key = *key;
		HASH_ADD(hh, *sums, key, sizeof(s->key), s);
		if (s->is_lost) {
			free(s);
			return error_origin(-ENOMEM);
		}
	}
	s->ns = clamped_add_unsigned(s->ns, ns);
	return 0;
}

static int flat_add_samples(struct flat_sum **sums, const struct profile *p)
{
	uint32_t type = flat_find_type(p), service_key = profile_find_text(p, "service");
	int r = 0;

	if (type == PROFILE_NONE || service_key == PROFILE_NONE)
		return 0;
	for (size_t i = 0; i < p->n_samples && !r; i++) {
		const struct profile_sample *s = &p->samples[i];
		int64_t ns = p->sample_values[i * p->n_sample_types + type];
		uint32_t service = flat_find_service(p, s, service_key);
		struct flat_key key;

		if (!service || !s->n_locations || ns <= 0)
			continue;
		key = flat_key_of(p, s, service);
		r = flat_add_sum(sums, &key, (uint64_t)ns);
	}
	return r;
}

static int flat_compare_sums(const struct flat_sum *a, const struct flat_sum *b)
{
	return a->ns < b->ns ? 1 : a->ns > b->ns ? -1 : 0;
}

/* @text as far as it has room, without half a character, and what does harm to nobody. */
static void flat_copy_name(char name[FLAT_NAME_MAX + 1], const char *text)
{
	size_t length = strnlen(text, FLAT_NAME_MAX + 1);

	if (length > FLAT_NAME_MAX) {
		length = FLAT_NAME_MAX;
		while (length && ((unsigned char)text[length] & 0xc0) == 0x80)
			length--;
	}
	memcpy(name, text, length);
	name[length] = '\0';
	/* Names that are printed alike are one. */
	for (size_t i = 0, n; i < length; i += n) {
		n = utf8_character(name + i, length - i);
		if (!n)
			name[i] = '?';
		n += !n;
	}
	utf8_make_harmless(name, "");
}

/* As pprof calls what has no name: by its file, if there is one. */
static void flat_make_name(char name[FLAT_NAME_MAX + 1], const struct profile *p,
			   const struct flat_key *key)
{
	const char *path = profile_string(p, key->path), *slash = strrchr(path, '/');
	char bracketed[FLAT_NAME_MAX];

	if (key->function) {
		flat_copy_name(name, profile_string(p, key->function));
		return;
	}
	snprintf(bracketed, sizeof(bracketed), "[%.*s]", (int)sizeof(bracketed) - 3,
		 slash ? slash + 1 : path);
	flat_copy_name(name, *path ? bracketed : UNNAMED);
}

static void flat_print(struct flat_sum **sums, const struct profile *p, FILE *out)
{
	char service[FLAT_NAME_MAX + 1], name[FLAT_NAME_MAX + 1];
	size_t room = VIEW_ANSWER_MAX;

	HASH_SORT(*sums, flat_compare_sums);
	for (const struct flat_sum *s = *sums; s && room > 2 * LINE_MAX; s = s->hh.next) {
		flat_copy_name(service, profile_string(p, s->key.service));
		flat_make_name(name, p, &s->key);
		fprintf(out, "%" PRIu64 " %s\t%s\n", s->ns, service, name);
		room -= strlen(service) + strlen(name) + 32;
	}
}

int flat_write(int file, FILE *out, struct answer_message *message)
{
	cleanup(flat_free) struct flat_sum *sums = NULL;
	cleanup(profile_freep) struct profile *p = NULL;
	cleanup(freep) uint8_t *data = NULL;
	struct profile_message why;
	size_t length;
	int r = view_read_file(file, &data, &length)
			?: pprof_read(data, length, UNPACKED_MAX, &p, &why);

	if (r > 0) {
		snprintf(message->text, sizeof(message->text), "profd sent an unusable profile");
		return 503;
	}
	r = r ?: flat_add_samples(&sums, p);
	if (r)
		return r;
	fprintf(out, "%" PRId64 "\n", profile_until_ns(p));
	flat_print(&sums, p, out);
	return 0;
}
