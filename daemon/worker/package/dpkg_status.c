/* SPDX-License-Identifier: MIT */
#include "daemon/worker/package/dpkg_status.h"

#include <string.h>

#include "common/worker/answer.h"

void dpkg_package_parse(struct span name, struct dpkg_package *ret)
{
	memset(ret, 0, sizeof(*ret));
	span_cut(&name, ':', &ret->name);
	ret->architecture = name;
}

void dpkg_status_begin(struct dpkg_status *s, struct dpkg_package *wanted, size_t n)
{
	memset(s, 0, sizeof(*s));
	s->wanted = wanted;
	s->n_wanted = n;
}

/* "want flag state": a package of all other states has its files, at least in part. */
static bool dpkg_state_is_installed(struct span value)
{
	return !span_ends(value, " not-installed") && !span_ends(value, " config-files");
}

static void dpkg_status_copy(struct span value, char ret[DPKG_FIELD_MAX])
{
	const size_t n = value.length < DPKG_FIELD_MAX ? value.length : 0;

	memcpy(ret, value.at, n);
	ret[n] = '\0';
}

static bool dpkg_package_is(const struct dpkg_package *p, const struct dpkg_status *s)
{
	return p->name.length && span_is(p->name, s->package) &&
	       (!p->architecture.length || span_is(p->architecture, s->architecture));
}

static void dpkg_status_end_paragraph(struct dpkg_status *s)
{
	for (size_t i = 0; i < s->n_wanted && s->is_installed; i++) {
		struct dpkg_package *p = &s->wanted[i];

		if (!p->version[0] && dpkg_package_is(p, s))
			text_clean(s->version, strlen(s->version), p->version,
				   sizeof(p->version) - 1);
	}
	s->package[0] = s->architecture[0] = s->version[0] = '\0';
	s->is_installed = false;
}

static void dpkg_status_read_line(struct dpkg_status *s, struct span line)
{
	struct span name, value = line;

	if (!line.length)
		dpkg_status_end_paragraph(s);
	if (!line.length || span_is_blank(*line.at)) /* of the field before */
		return;
	span_cut(&value, ':', &name);
	value = span_trim(value);
	if (span_is(name, "Package"))
		dpkg_status_copy(value, s->package);
	else if (span_is(name, "Architecture"))
		dpkg_status_copy(value, s->architecture);
	else if (span_is(name, "Version"))
		dpkg_status_copy(value, s->version);
	else if (span_is(name, "Status"))
		s->is_installed = dpkg_state_is_installed(value);
}

void dpkg_status_read(struct dpkg_status *s, struct span piece)
{
	struct span line;

	while (line_reader_next(&s->lines, &piece, &line))
		dpkg_status_read_line(s, line);
}

void dpkg_status_end(struct dpkg_status *s)
{
	struct span line;

	if (line_reader_end(&s->lines, &line))
		dpkg_status_read_line(s, line);
	dpkg_status_end_paragraph(s);
}
