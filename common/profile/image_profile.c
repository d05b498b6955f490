/* SPDX-License-Identifier: MIT */
/*
 * A chunk costs 8 bytes before its counts, a gap 4 bytes for each address in it: two addresses
 * share a chunk when the gap costs no more than a new chunk.
 *
 * The header's last line is padded with spaces, so that the counts are aligned to 4 bytes.
 */
#include "common/profile/image_profile.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/fnv.h"
#include "common/memory_text.h"

int image_profile_new(struct image_profile **ret)
{
	struct image_profile *p = calloc(1, sizeof(*p));

	if (!p)
		return error_origin(-ENOMEM);
	*ret = p;
	return 0;
}

void image_profile_free(struct image_profile *p)
{
	if (!p)
		return;
	free(p->image);
	free(p->epoch);
	free(p->platform);
	free(p->event);
	free(p->path);
	free(p->ledger);
	free(p->unknown);
	free(p->counts);
	free(p);
}

/*
 * Both ascending; the result has every offset once and nothing of count 0. No count passes 32
 * bits, because the total does not. Returns how many there are.
 */
static size_t merge_image_counts(struct image_profile_count *to, const struct image_profile *p,
				 const struct image_profile_count *counts, size_t n_counts)
{
	size_t i = 0, j = 0, n = 0;

	while (i < p->n_counts || j < n_counts) {
		bool ours = i < p->n_counts &&
			    (j == n_counts || p->counts[i].offset <= counts[j].offset);
		bool theirs = j < n_counts &&
			      (i == p->n_counts || counts[j].offset <= p->counts[i].offset);

		to[n].offset = ours ? p->counts[i].offset : counts[j].offset;
		to[n].count = (ours ? p->counts[i].count : 0) + (theirs ? counts[j].count : 0);
		n += to[n].count > 0;
		i += ours;
		j += theirs;
	}
	return n;
}

int image_profile_add(struct image_profile *p, const struct image_profile_count *counts,
		      size_t n_counts)
{
	cleanup(freep) struct image_profile_count *merged = NULL;
	uint64_t total = p->total;
	size_t n;

	for (size_t i = 0; i < n_counts; i++) {
		if (i && counts[i].offset <= counts[i - 1].offset)
			return error_origin(-EINVAL);
		total += counts[i].count;
	}
	if (total > UINT32_MAX)
		return IMAGE_PROFILE_E_OVERFLOW;
	merged = calloc(p->n_counts + n_counts + 1, sizeof(*merged));
	if (!merged)
		return error_origin(-ENOMEM);
	n = merge_image_counts(merged, p, counts, n_counts);
	free(p->counts);
	p->counts = steal_ptr(&merged);
	p->n_counts = n;
	p->total = total;
	return IMAGE_PROFILE_E_OK;
}

#define CHUNK_BYTES 8
#define COUNT_BYTES 4

static bool contains_only(const char *text, const char *set)
{
	return text && *text && strspn(text, set) == strlen(text);
}

/* The rest of a header line: something that begins with neither blank nor newline. */
static bool is_header_value(const char *text)
{
	return text && *text && !strchr(" \t\n", *text) && !strchr(text, '\n');
}

/* Whole lines "word blanks rest", or with @is_path the rests alone, of which the last may lack
 * its newline. */
static bool are_header_lines(const char *text, bool is_path)
{
	while (text && *text) {
		size_t length = strcspn(text, "\n");
		size_t word = is_path ? 0 : strcspn(text, " \t\n");
		size_t blanks = is_path ? 0 : strspn(text + word, " \t");

		if (!is_path && (!word || !blanks || text[length] != '\n'))
			return false;
		if (word + blanks >= length || strchr(" \t", text[word + blanks]))
			return false;
		text += length + (text[length] == '\n');
	}
	return true;
}

static bool counts_are_valid(const struct image_profile *p)
{
	uint64_t total = 0;

	for (size_t i = 0; i < p->n_counts; i++) {
		if (!p->counts[i].count || (i && p->counts[i].offset <= p->counts[i - 1].offset))
			return false;
		total += p->counts[i].count;
	}
	return total == p->total && total <= UINT32_MAX;
}

static bool image_profile_is_writable(const struct image_profile *p)
{
	return contains_only(p->image, "0123456789abcdefABCDEF") &&
	       contains_only(p->epoch, "0123456789") && is_header_value(p->platform) &&
	       is_header_value(p->event) && are_header_lines(p->path, true) &&
	       are_header_lines(p->unknown, false) && (!p->ledger || is_header_value(p->ledger)) &&
	       counts_are_valid(p);
}

static void put_paths(FILE *f, const char *path)
{
	while (path && *path) {
		int length = (int)strcspn(path, "\n");

		fprintf(f, "path %.*s\n", length, path);
		path += length + (path[length] == '\n');
	}
}

static void put_header(FILE *f, const struct image_profile *p)
{
	fprintf(f,
		"version pdb-0.07\n"
		"image %s\n"
		"epoch %s\n"
		"platform %s\n"
		"event %s\n"
		"period %" PRIu64 "\n"
		"tstart %" PRIx64 "\n"
		"tsize %" PRIu64 "\n"
		"cpuspeed %" PRIu32 "\n",
		p->image, p->epoch, p->platform, p->event, p->period, p->tstart, p->tsize,
		p->cpuspeed_mhz);
	if (p->cpucount)
		fprintf(f, "cpucount %" PRIu32 "\n", p->cpucount);
	put_paths(f, p->path);
	if (p->unknown)
		fputs(p->unknown, f);
	if (p->ledger)
		fprintf(f, "ledger %s\n", p->ledger);
}

static void put_u32(FILE *f, uint64_t value)
{
	const uint32_t word = htole32((uint32_t)value);

	fwrite(&word, sizeof(word), 1, f);
}

/* The end of the chunk that begins at count @first: the first count that is not in it. */
static size_t chunk_end(const struct image_profile *p, size_t first)
{
	size_t i = first + 1;

	while (i < p->n_counts &&
	       ((uint64_t)p->counts[i].offset - p->counts[i - 1].offset - 1) * COUNT_BYTES <=
		       CHUNK_BYTES)
		i++;
	return i;
}

static void put_counts(FILE *f, const struct image_profile *p)
{
	for (size_t i = 0, end; i < p->n_counts; i = end) {
		uint64_t next = p->counts[i].offset;

		end = chunk_end(p, i);
		put_u32(f, next);
		put_u32(f, p->counts[end - 1].offset - next + 1);
		for (size_t k = i; k < end; k++, next++) {
			for (; next < p->counts[k].offset; next++)
				put_u32(f, 0);
			put_u32(f, p->counts[k].count);
		}
	}
	put_u32(f, p->n_counts);
	put_u32(f, p->total);
}

int image_profile_write(const struct image_profile *p, uint8_t **ret, size_t *ret_length)
{
	static const char samples[] = "samples";
	cleanup(memory_text_deinit) struct memory_text text = {0};
	int r;

	if (!image_profile_is_writable(p))
		return error_origin(-EINVAL);
	r = memory_text_open(&text);
	if (r)
		return r;
	put_header(text.out, p);
	/* With its newline a multiple of 4 bytes. */
	fprintf(text.out, "%s%*s\n", samples,
		(int)(-((size_t)ftell(text.out) + sizeof(samples)) % 4), "");
	put_counts(text.out, p);
	r = memory_text_close(&text);
	if (r)
		return r;
	*ret = (uint8_t *)steal_ptr(&text.text);
	*ret_length = text.length;
	return 0;
}

int image_profile_add_line(char **list, const char *line, size_t n, size_t max)
{
	size_t length = *list ? strlen(*list) : 0;
	char *grown;

	for (const char *at = *list, *end; at; at = *end ? end + 1 : NULL) {
		end = strchrnul(at, '\n');
		if (((size_t)(end - at) == n && memcmp(at, line, n) == 0) || !--max)
			return 0;
	}
	grown = realloc(*list, length + n + 2);
	if (!grown)
		return error_origin(-ENOMEM);
	*list = grown;
	if (length)
		grown[length++] = '\n';
	memcpy(grown + length, line, n);
	grown[length + n] = '\0';
	return 0;
}

static void image_id_print(const char *text, const void *rest, size_t length,
			   char ret[IMAGE_ID_SIZE])
{
	uint64_t hash = fnv_hash(rest, length, fnv_hash(text, strlen(text), FNV_INIT));

	snprintf(ret, IMAGE_ID_SIZE, "%016" PRIx64, hash);
}

void image_id_of_file(const char *path, uint64_t size, uint64_t mtime_ns, char ret[IMAGE_ID_SIZE])
{
	const uint64_t numbers[] = {size, mtime_ns};

	image_id_print(path, numbers, sizeof(numbers), ret);
}

void image_id_of_kernel(const char *file, const char *release, char ret[IMAGE_ID_SIZE])
{
	image_id_print(file, release, strlen(release), ret);
}

bool image_id_is_hash(const char *id)
{
	return strlen(id) == IMAGE_ID_SIZE - 1 &&
	       strspn(id, "0123456789abcdefABCDEF") == IMAGE_ID_SIZE - 1;
}
