/* SPDX-License-Identifier: MIT */
/*
 * The first bytes decide, unpacked if need be. Image profiles are made profiles here; every other
 * format has a reader of its own.
 */
#include "client/formats/any_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "client/formats/text_formats.h"
#include "common/clamped.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/profile/cpuprofile.h"
#include "common/profile/image_profile.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"
#include "common/profile/value_types.h"
#include "common/room.h"

#define GZIP_LEVEL 6
#define STEP_MAX   ((size_t)1 << 30) /* zlib counts in 32 bits */

/* --- which one -------------------------------------------------------------------------------- */

static bool any_is_text(const uint8_t *data, size_t length)
{
	/* A NUL is in names that somebody cut wrongly. */
	for (size_t i = 0; i < length; i++)
		if (data[i] && data[i] < 0x20 && data[i] != '\t' && data[i] != '\n' &&
		    data[i] != '\r')
			return false;
	return length > 0;
}

static bool any_begins_with(const uint8_t *data, size_t length, const char *magic)
{
	return length >= strlen(magic) && memcmp(data, magic, strlen(magic)) == 0;
}

/*
 * What people hand over for a profile. NULL: none of these. perf.data's header begins with a magic
 * number (tools/perf/Documentation/perf.data-file-format.txt), an ELF file with its own, and so do
 * zstd (RFC 8878, 3.1.1), xz (its file format, 2.1.1.1), bzip2, zip and PDF.
 */
static const char *foreign_file_hint(const uint8_t *data, size_t length)
{
	static const struct {
		const char *magic, *what;
	} files[] = {
		{"PERFILE2", "perf's own file; perf script -i FILE prints what can be read"},
		{"\177ELF", "a program or a library; a PROFILE of it is missing"},
		{"{\"", "JSON; speedscope's can be written, but not read"},
		{"heap_v2/", "jemalloc's heap profile, which jeprof reads"},
		{"--- heapz ", "a heap profile of a Java agent, which is not read"},
		{"<!DOCTYPE html>", "a page, and no profile"},
		{"%PDF-", "a document, and no profile"},
		{"PK\3\4", "an archive; unzip FILE unpacks it"},
		{"\x28\xb5\x2f\xfd", "packed by zstd, not gzip; zstd -d FILE unpacks it"},
		{"\xfd"
		 "7zXZ",
		 "packed by xz, not gzip; xz -d FILE unpacks it"},
		{"BZh91AY&SY", "packed by bzip2, not gzip; bzip2 -d FILE unpacks it"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (any_begins_with(data, length, files[i].magic))
			return files[i].what;
	return NULL;
}

enum any_format any_format_of(const uint8_t *data, size_t length)
{
	size_t head = length < ANY_HEAD_BYTES ? length : ANY_HEAD_BYTES;

	if (foreign_file_hint(data, length))
		return ANY_NONE;
	/* A line of the header that every one has. */
	if (any_begins_with(data, length, "version pdb-"))
		return ANY_IMAGE_PROFILE;
	/* The first word of a legacy profile is 0, and no field of profile.proto has number 0. */
	if ((length && !data[0]) || any_begins_with(data, length, CPUPROFILE_SYMBOLS))
		return ANY_CPUPROFILE;
	/* Lengths and numbers in a profile.proto are mostly small: no text of some bytes has any.
	 */
	if (!any_is_text(data, head))
		return ANY_PPROF;
	if (legacy_text_detect(data, length))
		return ANY_LEGACY_TEXT;
	return perf_script_detect(data, length) ? ANY_PERF_SCRIPT : ANY_COLLAPSED;
}

/* --- unpacking -------------------------------------------------------------------------------- */

static bool any_is_gzip(const uint8_t *data, size_t length)
{
	return length >= 2 && data[0] == 0x1f && data[1] == 0x8b;
}

static void any_inflate_end(z_stream *z)
{
	inflateEnd(z);
}

struct any_unpacked {
	uint8_t *data;
	size_t n;
	size_t at; /* in the packed bytes, where it ended */
	bool is_whole;
};

static void any_unpacked_deinit(struct any_unpacked *u)
{
	free(u->data);
}

/*
 * Gzip data (RFC 1952) of one or several members, whose contents follow each other: @max bytes of
 * them at most. @ret: all zero before. Returns 0 or -ENOMEM.
 */
static int any_unpack(const uint8_t *data, size_t length, size_t max, struct any_unpacked *ret)
{
	cleanup(any_inflate_end) z_stream z = {0};
	size_t size = 0;
	int outcome = Z_OK, r;

	/* 15 bits of window; 16 asks for gzip's framing instead of zlib's. */
	if (inflateInit2(&z, 15 + 16) != Z_OK)
		return error_origin(-ENOMEM);
	while (outcome == Z_OK && ret->n < max) {
		size_t step = length - ret->at, room;

		r = room_make(&ret->data, &size, ret->n + 4096, 1);
		if (r)
			return r;
		room = size < max ? size - ret->n : max - ret->n;
		z.next_in = (z_const Bytef *)(uintptr_t)(data + ret->at);
		z.avail_in = (uInt)(step < STEP_MAX ? step : STEP_MAX);
		z.next_out = ret->data + ret->n;
		z.avail_out = (uInt)(room < STEP_MAX ? room : STEP_MAX);
		outcome = inflate(&z, Z_NO_FLUSH);
		ret->at = (size_t)(z.next_in - data);
		ret->n = (size_t)(z.next_out - ret->data);
		ret->is_whole = outcome == Z_STREAM_END && ret->at == length;
		if (outcome != Z_STREAM_END || !any_is_gzip(data + ret->at, length - ret->at))
			continue;
		inflateReset(&z);
		outcome = Z_OK;
	}
	return outcome == Z_MEM_ERROR ? error_origin(-ENOMEM) : 0;
}

enum any_format any_format_of_file(const uint8_t *data, size_t length)
{
	cleanup(any_unpacked_deinit) struct any_unpacked head = {0};

	if (!any_is_gzip(data, length))
		return any_format_of(data, length);
	if (any_unpack(data, length, ANY_HEAD_BYTES, &head) || !head.n)
		return ANY_PPROF;
	return any_format_of(head.data, head.n);
}

/* --- image profiles --------------------------------------------------------------------------- */

/*
 * Addresses are link-time, and where in the file their segment lies the profile does not say: they
 * have a mapping of the whole address space. The kernel and its modules ("[name]") are told by the
 * range they take, and have none but that.
 */
static int any_add_image_mapping(struct profile *p, const struct image_profile *image,
				 uint32_t *ret)
{
	struct profile_mapping m = {.limit = UINT64_MAX};
	const char *path = image->path ? image->path : "";
	int e = profile_add_string(p, path, strcspn(path, "\n"), &m.path);

	if (!e && strspn(image->image, "0") != strlen(image->image))
		e = profile_add_text(p, image->image, &m.build_id);
	if (path[0] == '[') {
		m.start = image->tstart;
		m.limit = clamped_add_unsigned(image->tstart, image->tsize);
	}
	return e ?: profile_add_mapping(p, &m, ret);
}

static int any_add_image_samples(struct profile *p, const struct image_profile *image,
				 uint32_t mapping)
{
	int e = 0;

	for (size_t i = 0; i < image->n_counts && !e; i++) {
		const struct image_profile_count *c = &image->counts[i];
		int64_t values[2] = {c->count};
		uint32_t location;

		if (__builtin_mul_overflow(values[0], p->period, &values[1]))
			values[1] = INT64_MAX;
		e = profile_add_location(p, mapping, image->tstart + c->offset, NULL, 0, &location)
			    ?: profile_add_sample(p, &location, 1, values, NULL, 0);
	}
	return e;
}

static int any_read_image(const uint8_t *data, size_t length, struct profile **ret,
			  struct profile_message *message)
{
	cleanup(image_profile_freep) struct image_profile *image = NULL;
	cleanup(profile_freep) struct profile *p = NULL;
	uint32_t mapping;
	int e = image_profile_read(data, length, &image, message);

	if (e)
		return e < 0 ? e : ANY_E_MALFORMED;
	e = profile_new(&p) ?:
		value_types_add(p, image->event) ?:
		any_add_image_mapping(p, image, &mapping);
	if (e)
		return e;
	p->period = image->period > INT64_MAX ? INT64_MAX : (int64_t)image->period;
	e = any_add_image_samples(p, image, mapping);
	if (!e)
		*ret = steal_ptr(&p);
	return e;
}

/* --- any -------------------------------------------------------------------------------------- */

static int read_plain(const uint8_t *data, size_t length, size_t max_bytes, struct profile **ret,
		      enum any_format format, struct profile_message *message)
{
	struct profile_message why = {""};
	int r;

	switch (format) {
	case ANY_NONE:
		return profile_refuse(message, ANY_E_MALFORMED, "%s",
				      foreign_file_hint(data, length));
	case ANY_CPUPROFILE:
		r = cpuprofile_read(data, length, ret, message);
		break;
	case ANY_IMAGE_PROFILE:
		r = any_read_image(data, length, ret, message);
		break;
	case ANY_LEGACY_TEXT:
		r = legacy_text_read(data, length, ret, message);
		break;
	case ANY_PERF_SCRIPT:
		r = perf_script_read(data, length, ret, message);
		break;
	case ANY_COLLAPSED: /* any text that is nothing else */
		r = collapsed_read(data, length, ret, &why);
		*message = why;
		if (r > 0)
			profile_refuse(message, r,
				       "no profile that is known; as collapsed stacks, %s",
				       why.text);
		break;
	default:
		r = pprof_read(data, length, max_bytes, ret, message);
		return r == PPROF_E_TOO_BIG ? ANY_E_TOO_BIG : r > 0 ? ANY_E_MALFORMED : r;
	}
	return r > 0 ? ANY_E_MALFORMED : r;
}

int any_read(const uint8_t *data, size_t length, size_t max_bytes, struct profile **ret,
	     enum any_format *ret_format, struct profile_message *message)
{
	cleanup(any_unpacked_deinit) struct any_unpacked unpacked = {0};
	int r;

	*ret_format = any_format_of_file(data, length);
	message->text[0] = '\0';
	if (!length)
		return profile_refuse(message, ANY_E_MALFORMED, "the file is empty");
	/* That reader unpacks by itself. */
	if (!any_is_gzip(data, length) || *ret_format == ANY_PPROF)
		return read_plain(data, length, max_bytes, ret, *ret_format, message);
	r = any_unpack(data, length, max_bytes + 1, &unpacked);
	if (r)
		return r;
	if (unpacked.n > max_bytes)
		return profile_refuse(message, ANY_E_TOO_BIG, "unpacks to more than %zu MiB",
				      max_bytes >> 20);
	if (!unpacked.is_whole)
		return profile_refuse(message, ANY_E_MALFORMED, "broken gzip data at byte %zu",
				      unpacked.at);
	*ret_format = any_format_of(unpacked.data, unpacked.n);
	return read_plain(unpacked.data, unpacked.n, max_bytes, ret, *ret_format, message);
}

/* --- writing ---------------------------------------------------------------------------------- */

int any_write(const struct profile *p, enum any_format format, uint8_t **ret, size_t *ret_length)
{
	switch (format) {
	case ANY_CPUPROFILE:
		return cpuprofile_from_profile(p, 8, ret, ret_length);
	case ANY_COLLAPSED:
		return collapsed_write(p, (char **)ret, ret_length);
	default:
		return pprof_write(p, GZIP_LEVEL, ret, ret_length);
	}
}
