/* SPDX-License-Identifier: MIT */
/* --raw and --comments: what a profile holds, without a view's arithmetics. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "client/analysis/labels.h"
#include "client/analysis/view.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/profile/profile.h"
#include "common/utf8.h"

/* And @behind it. */
static void raw_put_string(FILE *out, const struct profile *p, uint32_t string, const char *behind)
{
	utf8_write_harmless(out, profile_string(p, string), "");
	fputs(behind, out);
}

/* As Go's time.Time prints itself: a fraction of a second without the zeros at its end. */
static void raw_put_time(FILE *out, int64_t ns)
{
	int64_t rest = ns % (int64_t)NS_PER_S;
	time_t seconds = (time_t)(ns / (int64_t)NS_PER_S) - (rest < 0);
	char date[64], zone[64], fraction[32];
	struct tm tm;

	if (!localtime_r(&seconds, &tm) ||
	    !strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &tm) ||
	    !strftime(zone, sizeof(zone), "%z %Z", &tm))
		return;
	snprintf(fraction, sizeof(fraction), ".%09" PRId64,
		 rest < 0 ? rest + (int64_t)NS_PER_S : rest);
	for (size_t n = strlen(fraction); n && strchr(".0", fraction[n - 1]);)
		fraction[--n] = '\0';
	fprintf(out, "Time: %s%s %s\n", date, fraction, zone);
}

/* As Go's time.Duration prints itself, "1m2.5s", of which pprof prints four characters. */
static void raw_put_duration(FILE *out, int64_t ns)
{
	static const struct {
		double ns;
		const char *name;
	} units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}};
	uint64_t left = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns, minutes = left / (60 * NS_PER_S);
	const char *sign = ns < 0 ? "-" : "", *end;
	char text[64];
	size_t unit = 0;

	while ((double)left < units[unit].ns && unit + 1 < ARRAY_SIZE(units))
		unit++;
	if (minutes >= 60)
		snprintf(text, sizeof(text), "%s%" PRIu64 "h%" PRIu64 "m", sign, minutes / 60,
			 minutes % 60);
	else if (minutes)
		snprintf(text, sizeof(text), "%s%" PRIu64 "m%.11gs", sign, minutes,
			 (double)(left - minutes * 60 * NS_PER_S) / 1e9);
	else
		snprintf(text, sizeof(text), "%s%.11g%s", sign, (double)left / units[unit].ns,
			 units[unit].name);
	end = text;
	for (unsigned n = 0; n < 4 && *end; n++)
		end += utf8_character(end, strlen(end));
	fprintf(out, "Duration: %.*s\n", (int)(end - text), text);
}

/* "key:[value value]" */
static int raw_print_key(const void *context, const struct profile_label *const *labels, size_t n,
			 FILE *out)
{
	const struct profile *p = context;
	bool has_unit = false;

	for (size_t i = 0; i < n; i++)
		has_unit |= !labels[i]->str && labels[i]->num_unit;
	raw_put_string(out, p, labels[0]->key, ":[");
	for (size_t i = 0; i < n; i++) {
		const struct profile_label *l = labels[i];

		if (i)
			fputc(' ', out);
		if (l->str)
			raw_put_string(out, p, l->str, "");
		else
			fprintf(out, "%" PRId64, l->num);
		if (has_unit) {
			fputc(' ', out);
			raw_put_string(out, p, l->num_unit, "");
		}
	}
	fputc(']', out);
	return 0;
}

/* One line of all text labels, or of all numbers, sorted. */
static int raw_put_labels(FILE *out, const struct profile *p, const struct profile_sample *s,
			  bool are_texts)
{
	const struct profile_label *labels = s->n_labels ? &p->sample_labels[s->first_label] : NULL;
	cleanup(texts_deinit) struct texts texts;
	int r = label_texts_init(&texts, labels, s->n_labels, are_texts, raw_print_key, p);

	if (r || !texts.n)
		return r;
	for (size_t i = 0; i < texts.n; i++)
		fprintf(out, "%s%s", i ? " " : "                ", texts.all[i]);
	fputc('\n', out);
	return 0;
}

static int raw_put_sample(FILE *out, const struct profile *p, size_t index)
{
	const struct profile_sample *s = &p->samples[index];

	for (uint32_t i = 0; i < p->n_sample_types; i++)
		fprintf(out, " %10" PRId64, p->sample_values[index * p->n_sample_types + i]);
	fputs(": ", out);
	for (uint32_t i = 0; i < s->n_locations; i++)
		fprintf(out, "%" PRIu64 " ",
			(uint64_t)p->sample_locations[s->first_location + i] + 1);
	fputc('\n', out);
	return raw_put_labels(out, p, s, true) ?: raw_put_labels(out, p, s, false);
}

static void raw_put_location(FILE *out, const struct profile *p, size_t index)
{
	const struct profile_location *l = &p->locations[index];

	fprintf(out, "%6zu: 0x%" PRIx64 " ", index + 1, l->address);
	if (l->mapping != PROFILE_NONE)
		fprintf(out, "M=%" PRIu64 " ", (uint64_t)l->mapping + 1);
	if (l->is_folded)
		fputs("[F] ", out);
	for (uint32_t i = 0; i < l->n_lines; i++) {
		const struct profile_line *line = &p->lines[l->first_line + i];
		const struct profile_function *f = &p->functions[line->function];

		if (i)
			fputs("\n             ", out);
		raw_put_string(out, p, f->name, " ");
		raw_put_string(out, p, f->filename, "");
		fprintf(out, ":%" PRId64 ":%" PRId32 " s=%" PRId64, line->line, line->column,
			f->start_line);
		if (f->system_name != f->name) {
			fputc('(', out);
			raw_put_string(out, p, f->system_name, ")");
		}
	}
	fputc('\n', out);
}

static void raw_put_mapping(FILE *out, const struct profile *p, size_t index)
{
	const struct profile_mapping *m = &p->mappings[index];

	fprintf(out, "%zu: 0x%" PRIx64 "/0x%" PRIx64 "/0x%" PRIx64 " ", index + 1, m->start,
		m->limit, m->offset);
	raw_put_string(out, p, m->path, " ");
	raw_put_string(out, p, m->build_id, "");
	fprintf(out, " %s%s%s%s\n", m->has_functions ? "[FN]" : "", m->has_filenames ? "[FL]" : "",
		m->has_line_numbers ? "[LN]" : "", m->has_inline_frames ? "[IN]" : "");
}

static void raw_put_types(FILE *out, const struct profile *p)
{
	for (uint32_t i = 0; i < p->n_sample_types; i++) {
		const struct profile_value_type *type = &p->sample_types[i];

		if (i)
			fputc(' ', out);
		raw_put_string(out, p, type->type, "/");
		raw_put_string(out, p, type->unit, "");
		if (type->type && type->type == p->default_sample_type)
			fputs("[dflt]", out);
	}
	fputc('\n', out);
}

static void raw_put_comments(FILE *out, const struct profile *p, const char *before)
{
	for (size_t i = 0; i < p->n_comments; i++) {
		fputs(before, out);
		utf8_write_harmless(out, profile_string(p, p->comments[i]), "\n\t");
		fputc('\n', out);
	}
}

int raw_write(const struct profile *p, FILE *out)
{
	raw_put_comments(out, p, "Comment: ");
	if (p->doc_url) {
		fputs("Doc: ", out);
		raw_put_string(out, p, p->doc_url, "\n");
	}
	if (p->period_type.type || p->period_type.unit) {
		fputs("PeriodType: ", out);
		raw_put_string(out, p, p->period_type.type, " ");
		raw_put_string(out, p, p->period_type.unit, "\n");
	}
	fprintf(out, "Period: %" PRId64 "\n", p->period);
	if (p->time_ns)
		raw_put_time(out, p->time_ns);
	if (p->duration_ns)
		raw_put_duration(out, p->duration_ns);
	fputs("Samples:\n", out);
	raw_put_types(out, p);
	for (size_t i = 0; i < p->n_samples; i++) {
		int r = raw_put_sample(out, p, i);

		if (r)
			return r;
	}
	fputs("Locations\n", out);
	for (size_t i = 0; i < p->n_locations; i++)
		raw_put_location(out, p, i);
	fputs("Mappings\n", out);
	for (size_t i = 0; i < p->n_mappings; i++)
		raw_put_mapping(out, p, i);
	return 0;
}

static int comments_end(struct view *view, const struct view_input *input, FILE *out)
{
	(void)view;
	raw_put_comments(out, input->profile, "");
	return VIEW_E_OK;
}

/* Comments are a view like others, which does not care for stacks. */
const struct view_class view_comments = {.name = "comments", .end = comments_end};
