/* SPDX-License-Identifier: MIT */
/*
 * The first bytes decide, unpacked if need be. Image profiles are made profiles here; every other
 * format has a reader of its own.
 */
#include "client/formats/any_read.h"

#include <string.h>
#include <zlib.h>

#include "client/formats/text_formats.h"
#include "common/cleanup.h"
#include "common/profile/cpuprofile.h"
#include "common/profile/image_profile.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"
#include "common/profile/value_types.h"

/* --- which one -------------------------------------------------------------------------------- */

static bool any_is_text(const uint8_t *data, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (data[i] < 0x20 && data[i] != '\t' && data[i] != '\n' && data[i] != '\r')
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
	if (length && !data[0])
		return ANY_CPUPROFILE;
	/* Lengths and numbers in a profile.proto are mostly small: no text of some bytes has any.
	 */
	if (!any_is_text(data, head))
		return ANY_PPROF;
	return perf_script_detect(data, head) ? ANY_PERF_SCRIPT : ANY_COLLAPSED;
}

enum any_format any_format_of_file(const uint8_t *data, size_t length)
{
	uint8_t head[ANY_HEAD_BYTES];
	enum any_format format = ANY_PPROF;
	z_stream z = {0};

	if (!gunzip_is_gzip(data, length))
		return any_format_of(data, length);
	if (inflateInit2(&z, 15 + 16) != Z_OK)
		return ANY_PPROF;
	z.next_in = (z_const Bytef *)(uintptr_t)data;
	z.avail_in = (uInt)(length < UINT32_MAX ? length : UINT32_MAX);
	z.next_out = head;
	z.avail_out = sizeof(head);
	/* Each of its members may be shorter than that. */
	while (inflate(&z, Z_SYNC_FLUSH) == Z_STREAM_END && z.avail_in && z.avail_out)
		inflateReset(&z);
	if (z.avail_out < sizeof(head))
		format = any_format_of(head, sizeof(head) - z.avail_out);
	inflateEnd(&z);
	return format;
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
		if (__builtin_add_overflow(image->tstart, image->tsize, &m.limit))
			m.limit = UINT64_MAX;
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

/* That is what any text is taken for. */
static int read_collapsed(const uint8_t *data, size_t length, struct profile **ret,
			  struct profile_message *message)
{
	struct profile_message why;
	int r = collapsed_read(data, length, ret, &why);

	return r > 0 ? profile_refuse(message, ANY_E_MALFORMED,
				      "no profile that is known; as collapsed stacks, %s", why.text)
		     : r;
}

static int read_plain(const uint8_t *data, size_t length, size_t max_bytes, struct profile **ret,
		      enum any_format format, struct profile_message *message)
{
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
	case ANY_PERF_SCRIPT:
		r = perf_script_read(data, length, ret, message);
		break;
	case ANY_COLLAPSED:
		r = read_collapsed(data, length, ret, message);
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
	cleanup(freep) uint8_t *unpacked = NULL;
	size_t n, offset;
	int r;

	*ret_format = any_format_of_file(data, length);
	if (!length)
		return profile_refuse(message, ANY_E_MALFORMED, "the file is empty");
	/* That reader unpacks by itself. */
	if (!gunzip_is_gzip(data, length) || *ret_format == ANY_PPROF)
		return read_plain(data, length, max_bytes, ret, *ret_format, message);
	r = gunzip_buffer(data, length, max_bytes, &unpacked, &n, &offset);
	if (r == GUNZIP_E_TOO_BIG)
		return profile_refuse(message, ANY_E_TOO_BIG, "unpacks to more than %zu MiB",
				      max_bytes >> 20);
	if (r == GUNZIP_E_MALFORMED)
		return profile_refuse(message, ANY_E_MALFORMED, "broken gzip data at byte %zu",
				      offset);
	return r ?: read_plain(unpacked, n, max_bytes, ret, *ret_format, message);
}
