/* SPDX-License-Identifier: MIT */
/*
 * Lines are formatted into buffers without anything a stranger wrote, or put out character by
 * character with their columns counted. Numbers are chosen by what room is left for names.
 */
#include "client/top/screen.h"

#include <inttypes.h>
#include <string.h>

#include "client/top/characters.h"
#include "client/top/keys.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/units.h"
#include "common/utf8.h"

#define HEAD_LINES   3 /* two of facts, one of headings */
#define FOOT_LINES   1
#define NUMBERS_SIZE 128
#define NAME_WANTED  16 /* columns; numbers of the whole time are left out for them */
#define PLACE_WANTED 24 /* and for these */
#define PLACE_LEAST  10 /* else places are left out */
#define PLACE_SIZE   128
#define COMM_MAX     15 /* bytes (prctl(2), PR_SET_NAME) */
#define MARKS_MAX    8  /* that combine with one character */
#define FUNCTION     "function"
#define PLACE        "process: module"
#define ERASE_REST   "\x1b[K"
#define REVERSE      "\x1b[7m"
#define PLAIN        "\x1b[m"

static const uint64_t intervals_ns[] = {
	NS_PER_S / 4, NS_PER_S / 2,  NS_PER_S,      2 * NS_PER_S,
	5 * NS_PER_S, 10 * NS_PER_S, 30 * NS_PER_S, 60 * NS_PER_S,
};

/* The numbers of a function. Of wall-clock time, what of cum is CPU time and what is waiting takes
 * the place of the last two. */
enum { FLAT, CUM, FLAT_ALL, CUM_ALL, N_NUMBERS, CPU = FLAT_ALL, WAIT = CUM_ALL };

struct top_number {
	const char *heading;
	int columns;
};

static const struct top_number cpu_numbers[N_NUMBERS] = {
	{"flat", 8}, {"cum", 8}, {"flat all", 9}, {"cum all", 9}};
static const struct top_number wall_numbers[N_NUMBERS] = {
	{"flat", 8}, {"cum", 8}, {"CPU", 8}, {"WAIT", 8}};

static const char *const help[] = {
	"",
	"  q        ends",
	"  space    pauses the display, and goes on",
	"  s, c, w  dearest first: by flat, what functions cost themselves; by cum, with callees;",
	"           of --wall by WAIT",
	"  + -      longer and shorter intervals",
	"  /        only functions whose names contain a text, in any case if it has no capitals;",
	"           Enter keeps it, Esc forgets it",
	"  arrows, page keys, Home, End   scroll",
	"  h        this",
	"",
	"  flat and cum are shares of the last interval, \"all\" of the whole time.",
	"  process is the service or command that used a function most; +: others did, too.",
};

void top_put_name(FILE *out, const char *text, size_t columns)
{
	bool is_cut = characters_columns(text) > columns;
	size_t left = is_cut && columns ? columns - 1 : columns, n_marks = 0;

	while (*text) {
		struct character c = character_at(text);

		if (c.columns > left)
			break;
		/* Heaps of them reach into other lines. */
		n_marks = c.columns ? 0 : n_marks + 1;
		if (n_marks <= MARKS_MAX)
			fwrite(c.is_printable ? text : "?", 1, c.is_printable ? c.n : 1, out);
		left -= c.columns;
		text += c.n;
	}
	if (is_cut && columns)
		fputc('~', out);
}

/* --- keys ------------------------------------------------------------------------------------- */

static size_t page_lines(unsigned rows)
{
	return rows > HEAD_LINES + FOOT_LINES ? rows - HEAD_LINES - FOOT_LINES : 1;
}

/* The first line of the last page. */
static size_t last_page(unsigned rows, size_t n)
{
	return n > page_lines(rows) ? n - page_lines(rows) : 0;
}

void top_settle(struct top_view *v, unsigned rows, size_t n)
{
	size_t last = last_page(rows, n);

	if (v->first > last)
		v->first = last;
}

static void top_scroll(struct top_view *v, int key, unsigned rows, size_t n)
{
	size_t step = key == KEY_UP || key == KEY_DOWN ? 1 : page_lines(rows);

	if (key == KEY_UP || key == KEY_PAGE_UP)
		v->first -= v->first > step ? step : v->first;
	else if (key == KEY_DOWN || key == KEY_PAGE_DOWN)
		v->first += step;
	else
		v->first = key == KEY_HOME ? 0 : last_page(rows, n);
	top_settle(v, rows, n);
}

static void filter_append(struct top_view *v, int key)
{
	size_t length = strlen(v->filter);
	char text[UTF8_SIZE];
	size_t n = utf8_write(text, (uint32_t)key);

	if (length + n < sizeof(v->filter) && character_at(text).is_printable)
		memcpy(v->filter + length, text, n + 1);
}

static void filter_delete_last(char *text)
{
	size_t last = 0;

	for (size_t at = 0; text[at]; at += character_at(text + at).n)
		last = at;
	text[last] = '\0';
}

static void top_type_filter(struct top_view *v, int key)
{
	v->first = 0;
	if (key == '\r' || key == '\n') {
		v->is_typing = false;
	} else if (key == KEY_ESCAPE) {
		v->is_typing = false;
		v->filter[0] = '\0';
	} else if (key == KEY_BACKSPACE) {
		filter_delete_last(v->filter);
	} else if (key < KEY_UP) {
		filter_append(v, key);
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
		top_type_filter(v, key);
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
	case 'w':
		v->order = key == 's' ? TOP_BY_FLAT : key == 'c' ? TOP_BY_CUM : TOP_BY_WAIT;
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
	default:
		if (key < KEY_UP || key > KEY_END)
			return TOP_GOES_ON;
		top_scroll(v, key, rows, n);
	}
	return TOP_REDRAWS;
}

/* --- lines ------------------------------------------------------------------------------------ */

static void format_amount(const struct top_facts *f, int64_t samples, int64_t value, uint64_t ns,
			  char text[96])
{
	char span[UNITS_TEXT_MAX];

	units_print_span(span, sizeof(span), (double)ns / (double)NS_PER_S);
	if (f->is_time && ns)
		snprintf(text, 96, "%s: %" PRId64 " sample%s, %.2f CPUs", span, samples,
			 UNITS_PLURAL(samples), (double)value / (double)ns);
	else
		snprintf(text, 96, "%s: %" PRId64 " sample%s", span, samples,
			 UNITS_PLURAL(samples));
}

/* "last 2s: 40 samples, 0.50 CPUs, 3.50 waiting; 38 idle threads hidden". */
static void format_waits(const struct top_facts *f, const char *interval, char text[256])
{
	int length = snprintf(text, 256, "last %s, %.2f waiting", interval,
			      f->interval_ns ? (double)f->sums.wait / (double)f->interval_ns : 0);

	if (f->sums.n_idle)
		snprintf(text + length, 256 - (size_t)length,
			 "; idle threads hidden: %zu or more, %.2f", f->sums.n_idle,
			 f->interval_ns ? (double)f->sums.idle / (double)f->interval_ns : 0);
}

static void format_facts(const struct top_facts *f, char text[256])
{
	char interval[96], all[96];

	if (!f->all_ns) {
		snprintf(text, 256, "gathering ...");
		return;
	}
	format_amount(f, f->sums.samples, f->sums.value - f->sums.wait, f->interval_ns, interval);
	format_amount(f, f->sums.all_samples, f->sums.all_value - f->sums.all_wait, f->all_ns, all);
	if (f->is_wall)
		format_waits(f, interval, text);
	else
		snprintf(text, 256, "last %s; all %s", interval, all);
	if (f->n_lost)
		snprintf(text + strlen(text), 256 - strlen(text), "; %" PRIu64 " lost", f->n_lost);
	if (f->sums.n_forgotten)
		snprintf(text + strlen(text), 256 - strlen(text),
			 "; %" PRIu64 " functions forgotten", f->sums.n_forgotten);
}

static double share_percent(int64_t part, int64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* @texts of the first @n numbers, in their columns; NULL: their headings. */
static void format_numbers(bool is_wall, int n, char (*texts)[32], char text[NUMBERS_SIZE])
{
	const struct top_number *numbers = is_wall ? wall_numbers : cpu_numbers;
	int length = 0;

	text[0] = '\0';
	for (int i = 0; i < n && length < NUMBERS_SIZE; i++)
		length += snprintf(text + length, (size_t)(NUMBERS_SIZE - length), "%s%*s%s",
				   i == FLAT_ALL ? " | "
				   : i           ? " "
						 : "",
				   numbers[i].columns, texts ? texts[i] : numbers[i].heading,
				   i == n - 1 ? "  " : "");
}

static void format_shares(const struct top_facts *f, const struct top_function *function, int n,
			  char text[NUMBERS_SIZE])
{
	double shares[N_NUMBERS] = {
		[FLAT] = share_percent(function->interval.flat, f->sums.value),
		[CUM] = share_percent(function->interval.cum, f->sums.value),
		[FLAT_ALL] = share_percent(function->all.flat, f->sums.all_value),
		[CUM_ALL] = share_percent(function->all.cum, f->sums.all_value),
	};
	char texts[N_NUMBERS][32];

	if (f->is_wall) {
		shares[CPU] = share_percent(function->interval.cum - function->interval.wait,
					    f->sums.value);
		shares[WAIT] = share_percent(function->interval.wait, f->sums.value);
	}
	for (int i = 0; i < N_NUMBERS; i++)
		snprintf(texts[i], sizeof(texts[i]), "%.2f%%", shares[i]);
	format_numbers(f->is_wall, n, texts, text);
}

/* How many leave enough room: all, for names and places; those of the interval, for names; none. */
static int count_numbers(bool is_wall, unsigned columns, bool has_places)
{
	size_t wanted = NAME_WANTED + has_places * PLACE_WANTED;
	char text[NUMBERS_SIZE];
	int n;

	for (n = N_NUMBERS; n; n -= FLAT_ALL) {
		format_numbers(is_wall, n, NULL, text);
		if (strlen(text) + wanted <= columns)
			break;
		wanted = NAME_WANTED;
	}
	return n;
}

/* --- names, and where they are --------------------------------------------------------------- */

/* Who runs it, and of which file it is, without what adds nothing. */
static void format_place(const struct top_function *f, char text[PLACE_SIZE])
{
	const char *module = f->module ? f->module : "", *who = f->who;
	size_t n = strlen(module);
	bool is_named = *f->name == '[' && strncmp(f->name + 1, module, n) == 0 &&
			f->name[n + 1] == ']';
	size_t n_who = strlen(who);

	/* The kernel cuts a command's name, which its program's is then. */
	if (is_named || (n_who == n && strcmp(who, module) == 0))
		module = "";
	else if (n_who >= COMM_MAX && strncmp(who, module, n_who) == 0)
		who = "";
	snprintf(text, PLACE_SIZE, "%s%s%s%s", who, *who && f->has_others ? "+" : "",
		 *who && *module ? ": " : "", module);
}

static bool table_has_places(const struct top_table *t, size_t max)
{
	char text[PLACE_SIZE];

	for (size_t i = 0; i < t->n && i < max; i++) {
		format_place(t->functions[i], text);
		if (*text)
			return true;
	}
	return false;
}

/* Of @room columns, those for places behind names; 0: none. */
static size_t place_columns(size_t room, bool has_places)
{
	size_t columns = room * 2 / 5;

	return has_places && columns >= PLACE_LEAST ? columns : 0;
}

/* Name and place as two columns of @room together. */
static void put_function(FILE *out, const char *name, const char *place, size_t room,
			 bool has_places)
{
	size_t for_place = place_columns(room, has_places);
	size_t for_name = room - for_place - (for_place ? 2 : 0);
	cleanup(freep) char *fitting = fit_name(name, for_name);
	const char *shown = fitting ? fitting : name;
	size_t n = characters_columns(shown);

	top_put_name(out, shown, for_name);
	if (!for_place || !*place)
		return;
	fprintf(out, "%*s", (int)(n < for_name ? for_name - n : 0) + 2, "");
	top_put_name(out, place, for_place);
}

struct canvas {
	FILE *out;
	unsigned columns, left; /* lines */
	bool has_places;
};

/* Begins a line; false: there is no more room. */
static bool canvas_next_line(struct canvas *c, bool is_first)
{
	if (!c->left)
		return false;
	if (!is_first)
		fputs("\r\n", c->out);
	c->left--;
	return true;
}

static void canvas_put_line(struct canvas *c, const char *text, bool is_first, bool is_reverse)
{
	if (!canvas_next_line(c, is_first))
		return;
	if (is_reverse)
		fputs(REVERSE, c->out);
	top_put_name(c->out, text, c->columns);
	if (is_reverse)
		fputs(PLAIN, c->out);
	fputs(ERASE_REST, c->out);
}

static void canvas_put_function(struct canvas *c, const struct top_facts *facts,
				const struct top_function *function, int n_numbers)
{
	char text[NUMBERS_SIZE], place[PLACE_SIZE];
	size_t n;

	if (!canvas_next_line(c, false))
		return;
	format_shares(facts, function, n_numbers, text);
	format_place(function, place);
	n = strlen(text);
	top_put_name(c->out, text, c->columns);
	if (n < c->columns)
		put_function(c->out, function->name, place, c->columns - n, c->has_places);
	fputs(ERASE_REST, c->out);
}

/* The headings of @n_numbers and of the rest of @columns; 0: as many as it takes. */
static void format_headings(const struct top_facts *f, int n_numbers, size_t columns,
			    bool has_places, char text[512])
{
	size_t n, room;

	format_numbers(f->is_wall, n_numbers, NULL, text);
	n = strlen(text);
	room = columns > n ? columns - n : 0;
	if (columns ? place_columns(room, has_places) : has_places)
		snprintf(text + n, 512 - n, "%-*s  " PLACE,
			 columns ? (int)(room - place_columns(room, true)) - 2 : 0, FUNCTION);
	else
		strcat(text, FUNCTION);
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
			 v->order == TOP_BY_CUM    ? "cum"
			 : v->order == TOP_BY_WAIT ? "WAIT"
						   : "flat",
			 interval, v->is_paused ? ", paused" : "");
}

void top_draw(const struct top_view *v, const struct top_table *t, unsigned rows, unsigned columns,
	      FILE *out)
{
	bool has_places = table_has_places(t, t->n);
	struct canvas c = {out, columns, rows > FOOT_LINES ? rows - FOOT_LINES : 0, has_places};
	int n_numbers = count_numbers(t->facts->is_wall, columns, has_places);
	char text[512];

	snprintf(text, sizeof(text), "profd top: %s", t->facts->target);
	canvas_put_line(&c, text, true, false);
	format_facts(t->facts, text);
	canvas_put_line(&c, text, false, false);
	format_headings(t->facts, n_numbers, columns < 256 ? columns : 256, has_places, text);
	canvas_put_line(&c, text, false, true);
	for (size_t i = 0; v->has_help && i < ARRAY_SIZE(help); i++)
		canvas_put_line(&c, help[i], false, false);
	for (size_t i = v->first; !v->has_help && i < t->n && c.left; i++)
		canvas_put_function(&c, t->facts, t->functions[i], n_numbers);
	while (c.left)
		canvas_put_line(&c, "", false, false);
	c.left = rows ? 1 : 0;
	format_foot(v, t->facts, t->n, text);
	canvas_put_line(&c, text, rows <= FOOT_LINES, true);
}

void top_print(const struct top_table *t, size_t max, unsigned columns, FILE *out)
{
	bool has_places = table_has_places(t, max);
	int n_numbers = columns ? count_numbers(t->facts->is_wall, columns, has_places) : N_NUMBERS;
	char text[512], place[PLACE_SIZE];

	format_facts(t->facts, text);
	top_put_name(out, text, columns ? columns : SIZE_MAX);
	format_headings(t->facts, n_numbers, columns < 256 ? columns : 256, has_places, text);
	fprintf(out, "\n%s\n", text);
	for (size_t i = 0; i < t->n && i < max && t->functions[i]->interval.cum; i++) {
		const struct top_function *f = t->functions[i];

		format_shares(t->facts, f, n_numbers, text);
		fputs(text, out);
		format_place(f, place);
		if (columns > strlen(text)) {
			put_function(out, f->name, place, columns - strlen(text), has_places);
		} else {
			top_put_name(out, f->name, SIZE_MAX);
			fputs(*place ? "  " : "", out);
			top_put_name(out, place, SIZE_MAX);
		}
		fputc('\n', out);
	}
}
