/* SPDX-License-Identifier: MIT */
#include "client/top/screen.h"

#include <inttypes.h>
#include <string.h>

#include "client/top/fit_name.h"
#include "client/top/keys.h"
#include "common/cleanup.h"
#include "common/units.h"
#include "common/utf8.h"

#define NS           UINT64_C(1000000000)
#define HEAD_LINES   3 /* two of facts, one of headings */
#define FOOT_LINES   1
#define NUMBERS_SIZE 40 /* columns before the name */
#define ERASE_REST   "\x1b[K"
#define REVERSE      "\x1b[7m"
#define PLAIN        "\x1b[m"

static const uint64_t intervals_ns[] = {
	NS / 4, NS / 2, NS, 2 * NS, 5 * NS, 10 * NS, 30 * NS, 60 * NS,
};

static const char headings[] = "    flat      cum |  flat all   cum all  function";

static const char *const help[] = {
	"",
	"  q        ends",
	"  space    pauses the display, and goes on",
	"  s, c     dearest first: by flat, what functions cost themselves; by cum, with callees",
	"  + -      longer and shorter intervals",
	"  /        only functions whose names contain a text; Enter keeps it, Esc forgets it",
	"  arrows, page keys, Home, End   scroll",
	"  h        this",
	"",
	"  flat and cum are shares of the last interval, \"all\" of the whole time.",
};

void top_put_name(FILE *out, const char *text, size_t columns)
{
	size_t length = strlen(text), at = 0;

	for (size_t column = 0; at < length && column < columns; column++) {
		bool is_harmless;
		size_t n = utf8_next(text + at, &is_harmless);

		if (column + 1 == columns && at + n < length)
			fputc('~', out);
		else if (!is_harmless || !utf8_character(text + at, n))
			fputc('?', out);
		else
			fwrite(text + at, 1, n, out);
		at += n;
	}
}

/* --- keys ------------------------------------------------------------------------------------- */

static size_t page(unsigned rows)
{
	return rows > HEAD_LINES + FOOT_LINES ? rows - HEAD_LINES - FOOT_LINES : 1;
}

static void scroll(struct top_view *v, int key, unsigned rows, size_t n)
{
	size_t visible = page(rows), last = n > visible ? n - visible : 0;
	size_t step = key == KEY_UP || key == KEY_DOWN ? 1 : visible;

	if (key == KEY_UP || key == KEY_PAGE_UP)
		v->first -= v->first > step ? step : v->first;
	else if (key == KEY_DOWN || key == KEY_PAGE_DOWN)
		v->first += step;
	else
		v->first = key == KEY_HOME ? 0 : last;
	if (v->first > last)
		v->first = last;
}

static void type(struct top_view *v, int key)
{
	size_t length = strlen(v->filter);

	v->first = 0;
	if (key == '\r' || key == '\n') {
		v->is_typing = false;
	} else if (key == KEY_ESCAPE) {
		v->is_typing = false;
		v->filter[0] = '\0';
	} else if (key == KEY_BACKSPACE) {
		v->filter[length ? length - 1 : 0] = '\0';
	} else if (key >= 0x20 && key < 0x7f && length + 1 < sizeof(v->filter)) {
		v->filter[length] = (char)key;
		v->filter[length + 1] = '\0';
	}
}

static void change_interval(struct top_view *v, bool is_longer)
{
	uint64_t found_ns = v->interval_ns;

	for (size_t i = 0; i < ARRAY_SIZE(intervals_ns); i++) {
		if (is_longer && intervals_ns[i] > v->interval_ns) {
			v->interval_ns = intervals_ns[i];
			return;
		}
		if (!is_longer && intervals_ns[i] < v->interval_ns)
			found_ns = intervals_ns[i];
	}
	v->interval_ns = found_ns;
}

int top_key(struct top_view *v, int key, unsigned rows, size_t n)
{
	if (v->is_typing) {
		type(v, key);
		return TOP_REDRAWS;
	}
	switch (key) {
	case 'q':
	case 'Q':
		return TOP_QUITS;
	case ' ':
		v->is_paused = !v->is_paused;
		break;
	case 's':
	case 'c':
		v->order = key == 's' ? TOP_BY_FLAT : TOP_BY_CUM;
		v->first = 0;
		break;
	case '+':
	case '-':
		change_interval(v, key == '+');
		break;
	case '/':
		v->is_typing = true;
		v->filter[0] = '\0';
		break;
	case 'h':
	case '?':
		v->has_help = !v->has_help;
		break;
	case KEY_ESCAPE:
		v->has_help = false;
		v->filter[0] = '\0';
		break;
	case KEY_UP:
	case KEY_DOWN:
	case KEY_PAGE_UP:
	case KEY_PAGE_DOWN:
	case KEY_HOME:
	case KEY_END:
		scroll(v, key, rows, n);
		break;
	default:
		return TOP_GOES_ON;
	}
	return TOP_REDRAWS;
}

/* --- lines ------------------------------------------------------------------------------------ */

static void format_amount(const struct top_facts *f, int64_t samples, int64_t value, uint64_t ns,
			  char text[96])
{
	char span[UNITS_TEXT_MAX];

	units_print_span(span, sizeof(span), (double)ns / (double)NS);
	if (f->is_time && ns)
		snprintf(text, 96, "%s: %" PRId64 " samples, %.2f CPUs", span, samples,
			 (double)value / (double)ns);
	else
		snprintf(text, 96, "%s: %" PRId64 " samples", span, samples);
}

static void format_facts(const struct top_facts *f, char text[256])
{
	char interval[96], all[96];

	if (!f->all_ns) {
		snprintf(text, 256, "gathering ...");
		return;
	}
	format_amount(f, f->sums.samples, f->sums.value, f->interval_ns, interval);
	format_amount(f, f->sums.all_samples, f->sums.all_value, f->all_ns, all);
	snprintf(text, 256, "last %s; all %s", interval, all);
	if (f->n_lost)
		snprintf(text + strlen(text), 256 - strlen(text), "; %" PRIu64 " lost", f->n_lost);
}

static double share(int64_t part, int64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void format_numbers(const struct top_facts *f, const struct top_function *function,
			   char text[NUMBERS_SIZE + 8])
{
	snprintf(text, NUMBERS_SIZE + 8, "%7.2f%% %7.2f%% | %8.2f%% %8.2f%%  ",
		 share(function->interval.flat, f->sums.value),
		 share(function->interval.cum, f->sums.value),
		 share(function->all.flat, f->sums.all_value),
		 share(function->all.cum, f->sums.all_value));
}

struct canvas {
	FILE *out;
	unsigned columns, left; /* lines */
};

/* Begins a line; false: there is no more room. */
static bool next_line(struct canvas *c, bool is_first)
{
	if (!c->left)
		return false;
	if (!is_first)
		fputs("\r\n", c->out);
	c->left--;
	return true;
}

static void put_line(struct canvas *c, const char *text, bool is_first, bool is_reverse)
{
	if (!next_line(c, is_first))
		return;
	if (is_reverse)
		fputs(REVERSE, c->out);
	top_put_name(c->out, text, c->columns);
	if (is_reverse)
		fputs(PLAIN, c->out);
	fputs(ERASE_REST, c->out);
}

static void put_function(struct canvas *c, const struct top_facts *facts,
			 const struct top_function *function)
{
	cleanup(freep) char *fitting = NULL;
	char numbers[NUMBERS_SIZE + 8];
	size_t n;

	if (!next_line(c, false))
		return;
	format_numbers(facts, function, numbers);
	n = strlen(numbers);
	top_put_name(c->out, numbers, c->columns);
	if (n < c->columns) {
		fitting = fit_name(function->name, c->columns - n);
		top_put_name(c->out, fitting ? fitting : function->name, c->columns - n);
	}
	fputs(ERASE_REST, c->out);
}

static void format_foot(const struct top_view *v, const struct top_facts *f, size_t n,
			char text[256])
{
	char interval[UNITS_TEXT_MAX];

	units_print_duration(interval, sizeof(interval), v->interval_ns);
	if (v->is_typing)
		snprintf(text, 256, "/%s_", v->filter);
	else if (f->trouble)
		snprintf(text, 256, "%s", f->trouble);
	else
		snprintf(text, 256, "%zu functions%s%s%s, by %s, every %s%s  (h help, q quit)", n,
			 *v->filter ? " with '" : "", v->filter, *v->filter ? "'" : "",
			 v->order == TOP_BY_CUM ? "cum" : "flat", interval,
			 v->is_paused ? ", paused" : "");
}

void top_draw(const struct top_view *v, const struct top_facts *facts,
	      const struct top_function *const *functions, size_t n, unsigned rows,
	      unsigned columns, FILE *out)
{
	struct canvas c = {out, columns, rows > FOOT_LINES ? rows - FOOT_LINES : 0};
	char text[256];

	snprintf(text, sizeof(text), "profd top: %s", facts->target);
	put_line(&c, text, true, false);
	format_facts(facts, text);
	put_line(&c, text, false, false);
	put_line(&c, headings, false, true);
	for (size_t i = 0; v->has_help && i < ARRAY_SIZE(help); i++)
		put_line(&c, help[i], false, false);
	for (size_t i = v->first; !v->has_help && i < n && c.left; i++)
		put_function(&c, facts, functions[i]);
	while (c.left)
		put_line(&c, "", false, false);
	c.left = rows ? 1 : 0;
	format_foot(v, facts, n, text);
	put_line(&c, text, rows <= FOOT_LINES, true);
}

void top_print(const struct top_facts *facts, const struct top_function *const *functions, size_t n,
	       size_t max, FILE *out)
{
	char text[256];

	format_facts(facts, text);
	fprintf(out, "%s\n%s\n", text, headings);
	for (size_t i = 0; i < n && i < max && functions[i]->interval.cum; i++) {
		char numbers[NUMBERS_SIZE + 8];

		format_numbers(facts, functions[i], numbers);
		fputs(numbers, out);
		top_put_name(out, functions[i]->name, SIZE_MAX);
		fputc('\n', out);
	}
}
