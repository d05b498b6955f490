/* SPDX-License-Identifier: MIT */
/*
 * A table of parameters: each has the views that it is for, and how its value is read. What is
 * given and has no row, or is not for this view, is refused: a misspelled filter would show more
 * than was asked for.
 */
#include "client/gateway/view/question.h"

#include <stdio.h>
#include <string.h>

#include "client/gateway/http/credentials.h"
#include "client/gateway/view/moment.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/units.h"

#define RANGE_STANDARD_NS (3600 * NS_PER_S)
#define ROWS_STANDARD     500u
#define USAGE_STANDARD    20u
#define STEPS_STANDARD    240u

#define VIEW_BIT(view) (1u << (view))
#define OF_VIEWS       (VIEW_BIT(QUESTION_HEAT) - 1)
#define OF_PROFILES    (OF_VIEWS | VIEW_BIT(QUESTION_HEAT))
#define OF_ALL         (OF_PROFILES | VIEW_BIT(QUESTION_USAGE))
#define OF_FUNCTIONS   (VIEW_BIT(QUESTION_SANDWICH) | VIEW_BIT(QUESTION_SOURCE))

#define question_complain(message, ...) \
	(snprintf((message)->text, sizeof((message)->text), __VA_ARGS__), QUESTION_E_BAD)

struct question_parsing {
	struct question *q;
	uint64_t now_ns;
	struct http_message *message;
	const struct http_target *target;
};

/* There is room: the texts of a target are no longer than it is. */
static uint16_t question_add_text(struct question *q, const char *text)
{
	size_t at = q->length, size = strlen(text) + 1;

	if (size == 1 || size > sizeof(q->texts) - at)
		return 0;
	memcpy(q->texts + at, text, size);
	q->length += (uint32_t)size;
	return (uint16_t)at;
}

#define QUESTION_TEXT_READER(name)                                                           \
	static int question_read_##name(const struct question_parsing *p, const char *value) \
	{                                                                                    \
		p->q->name = question_add_text(p->q, value);                                 \
		return QUESTION_E_OK;                                                        \
	}

QUESTION_TEXT_READER(base_service)
QUESTION_TEXT_READER(function)
QUESTION_TEXT_READER(type)
QUESTION_TEXT_READER(search)

static int question_read_service(const struct question_parsing *p, const char *value)
{
	p->q->service = question_add_text(p->q, value);
	p->q->scope = QUESTION_SERVICE;
	return p->q->service ? QUESTION_E_OK : question_complain(p->message, "service is empty");
}

static int question_read_number(const struct question_parsing *p, const char *name,
				const char *value, uint64_t max, uint64_t *ret)
{
	if (units_parse_number(value, ret) || !*ret || *ret > max)
		return question_complain(p->message, "%s is a number from 1 to %llu, not '%.40s'",
					 name, (unsigned long long)max, value);
	return QUESTION_E_OK;
}

static int question_read_pid(const struct question_parsing *p, const char *value)
{
	uint64_t number = 0;
	int r = question_read_number(p, "pid", value, INT32_MAX, &number);

	p->q->pid = (int64_t)number;
	p->q->scope = QUESTION_PID;
	return r;
}

static int question_read_steps(const struct question_parsing *p, const char *value)
{
	uint64_t number = 0;
	int r = question_read_number(p, "steps", value, QUESTION_STEPS_MAX, &number);

	p->q->steps = (uint32_t)number;
	return r;
}

static int question_read_limit(const struct question_parsing *p, const char *value)
{
	uint64_t number = 0,
		 max = p->q->view == QUESTION_USAGE ? QUESTION_USAGE_MAX : QUESTION_ROWS_MAX;
	int r = question_read_number(p, "limit", value, max, &number);

	p->q->limit = (uint32_t)number;
	return r;
}

static int question_read_idle(const struct question_parsing *p, const char *value)
{
	p->q->idle = strcmp(value, "true") == 0;
	return p->q->idle || strcmp(value, "false") == 0
		       ? QUESTION_E_OK
		       : question_complain(p->message, "idle is true or false, not '%.40s'", value);
}

static int question_read_moment(const struct question_parsing *p, const char *name, uint64_t *ret)
{
	return moment_parse(p->target, name, p->now_ns, ret, p->message) ? QUESTION_E_BAD
									 : QUESTION_E_OK;
}

static int question_read_since(const struct question_parsing *p, const char *value)
{
	(void)value;
	return question_read_moment(p, "since", &p->q->range.since_ns);
}

static int question_read_until(const struct question_parsing *p, const char *value)
{
	(void)value;
	return question_read_moment(p, "until", &p->q->range.until_ns);
}

static int question_read_base_since(const struct question_parsing *p, const char *value)
{
	(void)value;
	return question_read_moment(p, "base_since", &p->q->base.since_ns);
}

static int question_read_base_until(const struct question_parsing *p, const char *value)
{
	(void)value;
	return question_read_moment(p, "base_until", &p->q->base.until_ns);
}

static int question_add_filter(const struct question_parsing *p, enum question_filter_kind kind,
			       const char *value)
{
	struct question *q = p->q;

	if (q->n_filters == QUESTION_FILTERS_MAX || !*value)
		return question_complain(p->message, "a filter is empty");
	q->filters[q->n_filters++] = (struct question_filter){(uint16_t)kind,
							      question_add_text(q, value)};
	return QUESTION_E_OK;
}

static int question_read_tag(const struct question_parsing *p, const char *value)
{
	if (!strchr(value, ':') || *value == ':')
		return question_complain(p->message, "tag is KEY:VALUE, not '%.40s'", value);
	return question_add_filter(p, QUESTION_TAG, value);
}

static int question_read_focus(const struct question_parsing *p, const char *value)
{
	return question_add_filter(p, QUESTION_FOCUS, value);
}

static int question_read_hide(const struct question_parsing *p, const char *value)
{
	return question_add_filter(p, QUESTION_HIDE, value);
}

static const struct question_param {
	const char *name;
	unsigned views;
	bool may_repeat;
	int (*read)(const struct question_parsing *p, const char *value);
} question_params[] = {
	{"service", OF_PROFILES, false, question_read_service},
	{"pid", OF_PROFILES, false, question_read_pid},
	{"since", OF_ALL, false, question_read_since},
	{"until", OF_ALL, false, question_read_until},
	{"base_since", OF_VIEWS, false, question_read_base_since},
	{"base_until", OF_VIEWS, false, question_read_base_until},
	{"base_service", OF_VIEWS, false, question_read_base_service},
	{"tag", OF_PROFILES, true, question_read_tag},
	{"focus", OF_VIEWS, true, question_read_focus},
	{"hide", OF_VIEWS, true, question_read_hide},
	{"type", OF_VIEWS, false, question_read_type},
	{"idle", OF_VIEWS, false, question_read_idle},
	{"function", OF_FUNCTIONS, false, question_read_function},
	{"limit", VIEW_BIT(QUESTION_TOP) | VIEW_BIT(QUESTION_USAGE), false, question_read_limit},
	{"steps", VIEW_BIT(QUESTION_USAGE), false, question_read_steps},
	{"q", VIEW_BIT(QUESTION_USAGE), false, question_read_search},
};

static const struct question_param *question_find_param(const char *name, enum question_view view)
{
	for (size_t i = 0; i < ARRAY_SIZE(question_params); i++)
		if (question_params[i].views & VIEW_BIT(view) &&
		    strcmp(question_params[i].name, name) == 0)
			return &question_params[i];
	return NULL;
}

static int question_read_param(const struct question_parsing *p, const struct http_param *param)
{
	const struct question_param *known = question_find_param(param->name, p->q->view);

	if (!known)
		return question_complain(p->message, "there is no parameter '%.40s' here",
					 param->name);
	/* The first one of the name is another one. */
	if (!known->may_repeat && http_target_param(p->target, param->name) != param->value)
		return question_complain(p->message, "%s is given twice", param->name);
	return known->read(p, param->value);
}

static int question_finish_range(struct question_range *range, uint64_t now_ns, const char *prefix,
				 struct http_message *message)
{
	if (!range->until_ns)
		range->until_ns = now_ns;
	if (!range->since_ns && range->until_ns > RANGE_STANDARD_NS)
		range->since_ns = range->until_ns - RANGE_STANDARD_NS;
	if (range->until_ns <= range->since_ns)
		return question_complain(message, "%suntil is not after %ssince", prefix, prefix);
	return QUESTION_E_OK;
}

/* What depends on several parameters. */
static int question_finish(const struct question_parsing *p)
{
	struct question *q = p->q;

	if (q->service && q->pid)
		return question_complain(p->message, "either service or pid");
	if (VIEW_BIT(q->view) & OF_FUNCTIONS && !q->function)
		return question_complain(p->message, "function is missing");
	q->has_base = q->base.since_ns || q->base.until_ns || q->base_service;
	if (q->has_base && !q->base.since_ns && !q->base.until_ns)
		q->base = q->range;
	if (!q->base_service)
		q->base_service = q->service;
	if (question_finish_range(&q->range, p->now_ns, "", p->message) ||
	    (q->has_base && question_finish_range(&q->base, p->now_ns, "base_", p->message)))
		return QUESTION_E_BAD;
	if (q->view == QUESTION_HEAT && !question_range_is_timed(&q->range))
		return question_complain(p->message, "a heat map is of an hour at most");
	return QUESTION_E_OK;
}

int question_parse(const struct http_target *target, enum question_view view, uint64_t now_ns,
		   struct question *ret, struct http_message *message)
{
	const struct question_parsing p = {ret, now_ns, message, target};
	int r = QUESTION_E_OK;

	memset(ret, 0, sizeof(*ret));
	ret->view = view;
	ret->length = 1;
	ret->steps = STEPS_STANDARD;
	ret->limit = view == QUESTION_USAGE ? USAGE_STANDARD : ROWS_STANDARD;
	for (size_t i = 0; i < target->n_params && !r; i++)
		r = question_read_param(&p, &target->params[i]);
	return r ?: question_finish(&p);
}

const char *question_next_filter(const struct question *q, enum question_filter_kind kind,
				 size_t *i)
{
	while (*i < q->n_filters) {
		const struct question_filter *f = &q->filters[(*i)++];

		if (f->kind == kind)
			return question_text(q, f->text);
	}
	return NULL;
}
