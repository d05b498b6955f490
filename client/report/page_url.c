/* SPDX-License-Identifier: MIT */
/*
 * A row a view of the page, and what in a report asks for it. Settings that the page has are rows,
 * too; each other one that is not at its default is refused: the address would show another thing.
 */
#include "client/report/page_url.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/memory_text.h"
#include "common/store/names.h"
#include "common/units.h"

#define WEEK_NS (7 * 86400 * NS_PER_S)

static const struct page_view {
	int view;
	const char *name;
} page_views[] = {
	{REPORT_NO_VIEW, "top"},   {REPORT_TEXT, "top"},    {REPORT_FLAME, "flame"},
	{REPORT_PEEK, "sandwich"}, {REPORT_LIST, "source"}, {REPORT_WEBLIST, "source"},
};

/* Settings of a report by the page's parameters; those without one do not change what is shown. */
static const struct page_setting {
	const char *option, *param;
} page_settings[] = {
	{"focus", "focus"}, {"hide", "hide"},      {"sample_index", "type"}, {"idle", "idle"},
	{"tagfocus", NULL}, {"nodecount", NULL},   {"nodefraction", NULL},   {"edgefraction", NULL},
	{"trim", NULL},     {"functions", NULL},   {"flat", NULL},           {"cum", NULL},
	{"unit", NULL},     {"source_path", NULL}, {"trim_path", NULL},      {"output", NULL},
};

struct page_printer {
	FILE *out;
	char separator;
	struct profile_message *message;
};

/* RFC 3986, section 2.3; a form's way of writing blanks is not needed. */
static void page_put(struct page_printer *p, const char *param, const char *value)
{
	fprintf(p->out, "%c%s=", p->separator, param);
	p->separator = '&';
	for (const char *c = value; *c; c++)
		fprintf(p->out,
			isalnum((unsigned char)*c) || strchr("-._~:@", *c) ? "%c" : "%%%02X",
			(unsigned char)*c);
}

static int page_put_view(struct page_printer *p, const struct report_options *o)
{
	for (size_t i = 0; i < ARRAY_SIZE(page_views); i++) {
		if (page_views[i].view != o->view)
			continue;
		if (strcmp(page_views[i].name, "flame") != 0)
			page_put(p, "view", page_views[i].name);
		return REPORT_E_OK;
	}
	return profile_refuse(p->message, REPORT_E_BAD_OPTION, "the page has no --%s",
			      report_view_name(o->view));
}

static bool page_is_literal(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (strchr("\\^$.[]|()?*+{}", text[i]))
			return false;
	return length;
}

/* Of `^name$` or `name`, which is what the page takes, the name. */
static int page_put_function(struct page_printer *p, const struct report_options *o)
{
	const char *pattern = o->print.pattern;
	size_t length = pattern ? strlen(pattern) : 0;
	char name[512];

	if (!length)
		return REPORT_E_OK;
	if (length > 1 && pattern[0] == '^' && pattern[length - 1] == '$') {
		pattern++;
		length -= 2;
	}
	if (!page_is_literal(pattern, length) || length >= sizeof(name))
		return profile_refuse(p->message, REPORT_E_BAD_OPTION,
				      "the page shows one function, by its name, not --%s=%.100s",
				      report_view_name(o->view), o->print.pattern);
	snprintf(name, sizeof(name), "%.*s", (int)length, pattern);
	page_put(p, "function", name);
	return REPORT_E_OK;
}

/* tag=value, as the page has it: a label that equals. */
static int page_put_tag(struct page_printer *p, const char *tagfocus)
{
	const char *equals = strchr(tagfocus, '=');
	char tag[512];

	if (!*tagfocus)
		return REPORT_E_OK;
	if (!equals || equals == tagfocus || !page_is_literal(equals + 1, strlen(equals + 1)) ||
	    strpbrk(tagfocus, ",:") || strlen(tagfocus) >= sizeof(tag))
		return profile_refuse(p->message, REPORT_E_BAD_OPTION,
				      "the page takes --tagfocus=TAG=TEXT, not '%.100s'", tagfocus);
	snprintf(tag, sizeof(tag), "%.*s:%s", (int)(equals - tagfocus), tagfocus, equals + 1);
	page_put(p, "tag", tag);
	return REPORT_E_OK;
}

static char *page_setting_text(const struct report_options *o, const struct report_option *option)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};

	if (memory_text_open(&text))
		return NULL;
	report_option_print(o, option, text.out);
	return memory_text_close(&text) ? NULL : steal_ptr(&text.text);
}

static int page_put_setting(struct page_printer *p, const struct report_option *option,
			    const struct report_options *o, const struct report_options *usual)
{
	cleanup(freep) char *text = page_setting_text(o, option);
	cleanup(freep) char *before = page_setting_text(usual, option);
	const char *name = option->kind == REPORT_OPTION_CHOICE ? text : option->name;

	if (!text || !before)
		return error_origin(-ENOMEM);
	if (strcmp(text, before) == 0)
		return REPORT_E_OK;
	for (size_t i = 0; i < ARRAY_SIZE(page_settings); i++) {
		if (strcmp(page_settings[i].option, name) != 0)
			continue;
		if (page_settings[i].param)
			page_put(p, page_settings[i].param, text);
		return REPORT_E_OK;
	}
	return profile_refuse(p->message, REPORT_E_BAD_OPTION, "the page has no --%s", name);
}

static int page_put_settings(struct page_printer *p, const struct report_options *o)
{
	struct report_options usual;
	int r = REPORT_E_OK;

	report_options_init(&usual);
	for (const struct report_option *option = report_options_all; option->name && !r; option++)
		if (report_option_is_setting(option))
			r = page_put_setting(p, option, o, &usual);
	return r ?: page_put_tag(p, o->shape.tagfocus);
}

static void page_put_moment(struct page_printer *p, const char *param, uint64_t ns)
{
	char text[UNITS_TEXT_MAX];
	uint64_t ms = ns / NS_PER_MS;

	page_put(p, param, units_print_moment(text, sizeof(text), ms * NS_PER_MS, true));
}

/* What is relative stays so. */
static void page_put_words(struct page_printer *p, const char *param, const char *const texts[2],
			   uint64_t ns)
{
	if (*texts[0] == '-')
		page_put(p, param, texts[0]);
	else if (*texts[0])
		page_put_moment(p, param, ns);
}

/* One, by its full name; "": all. */
static int page_put_service(struct page_printer *p, const char *asked)
{
	char service[512];

	if (names_is_pattern(asked))
		return profile_refuse(p->message, REPORT_E_BAD_OPTION,
				      "the page shows one service, or all, not '%.100s'", asked);
	snprintf(service, sizeof(service), "%s%s", asked,
		 *asked && names_lacks_suffix(asked) ? ".service" : "");
	if (*service)
		page_put(p, "service", service);
	return REPORT_E_OK;
}

static int page_check_inputs(const struct report_inputs *in, struct profile_message *message)
{
	if (in->n_profiles || *in->store)
		return profile_refuse(message, REPORT_E_BAD_OPTION,
				      "--url is of what profd has: files are shown by profctl web "
				      "PROFILE..., other stores by profctl web --store");
	if (in->n_bases)
		return profile_refuse(message, REPORT_E_BAD_OPTION,
				      "the page compares with another time, not with files");
	if (!*in->since[0])
		return profile_refuse(message, REPORT_E_BAD_OPTION, "--url needs --since");
	return REPORT_E_OK;
}

int page_url_print(FILE *out, const struct page_question *question, struct profile_message *message)
{
	struct page_printer p = {.out = out, .separator = '?', .message = message};
	const struct report_inputs *in = question->inputs;
	int r = page_check_inputs(in, message);

	if (r)
		return r;
	fputc('/', out);
	page_put_words(&p, "since", in->since, question->since_ns);
	page_put_words(&p, "until", in->until, question->until_ns);
	return page_put_service(&p, in->service)
		?: page_put_view(&p, question->options)
		?: page_put_function(&p, question->options)
		?: page_put_settings(&p, question->options);
}

int page_url_print_scope(FILE *out, const struct page_scope *scope, struct profile_message *message)
{
	struct page_printer p = {.out = out, .separator = '?', .message = message};
	char pid[32];

	fputc('/', out);
	if (scope->since_ns)
		page_put_moment(&p, "since", scope->since_ns);
	else if (scope->until_ns)
		page_put_moment(&p, "since",
				scope->until_ns > WEEK_NS ? scope->until_ns - WEEK_NS : 0);
	else if (!scope->is_table)
		page_put(&p, "since", "-7d");
	if (scope->until_ns)
		page_put_moment(&p, "until", scope->until_ns);
	if (scope->is_table)
		page_put(&p, "view", "top");
	if (scope->pid) {
		snprintf(pid, sizeof(pid), "%" PRId64, scope->pid);
		page_put(&p, "pid", pid);
	}
	return page_put_service(&p, scope->service);
}
