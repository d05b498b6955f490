/* SPDX-License-Identifier: MIT */
/*
 * A title has a part for each question, whose, where and when, and leaves out what a profile does
 * not answer. A merged profile has the comments of all that it was made of, hence several hosts;
 * beyond a few they are counted in place of being named.
 */
#include "client/analysis/title.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/analysis/node_name.h"
#include "client/analysis/view.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/memory_text.h"
#include "common/profile/profile.h"
#include "common/profile/windows.h"
#include "common/text_print.h"
#include "common/utf8.h"

#define HOST         "# profd host: "
#define SERVICES_MAX 3 /* that are named */

void report_title_deinit(struct report_title *title)
{
	free(title->services);
	free(title->host);
}

/* The @i'th comment that names a host, from *i on; NULL: there is none. */
static const char *title_next_host(const struct profile *p, size_t *i)
{
	while (*i < p->n_comments) {
		const char *comment = profile_string(p, p->comments[(*i)++]);

		if (strncmp(comment, HOST, strlen(HOST)) == 0)
			return comment + strlen(HOST);
	}
	return NULL;
}

const char *report_title_host(const struct profile *p, size_t *ret_n)
{
	size_t i = 0;
	const char *host = title_next_host(p, &i);

	*ret_n = host != NULL;
	while (title_next_host(p, &i))
		++*ret_n;
	return host;
}

static int title_print_host(const struct profile *p, char **ret)
{
	size_t n;
	const char *host = report_title_host(p, &n);

	if (!host)
		return 0;
	return n > 1 ? text_print(ret, "%zu hosts", n) : text_copy(ret, host);
}

static int title_print_services(const struct view_input *input, char **ret)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};
	int r;

	if (!input->n_services)
		return 0;
	if (input->n_services > SERVICES_MAX)
		return text_print(ret, "%zu services", input->n_services);
	r = memory_text_open(&text);
	if (r)
		return r;
	for (size_t i = 0; i < input->n_services; i++)
		fprintf(text.out, "%s%s", i ? ", " : "",
			profile_string(input->profile, input->services[i]));
	r = memory_text_close(&text);
	if (!r)
		*ret = steal_ptr(&text.text);
	return r;
}

int report_title_init(struct report_title *ret, const struct view_input *input)
{
	int r;

	*ret = (struct report_title){0};
	r = title_print_services(input, &ret->services)
		    ?: title_print_host(input->profile, &ret->host);
	if (r)
		return r;
	if (ret->services)
		utf8_make_harmless(ret->services, "");
	if (ret->host)
		utf8_make_harmless(ret->host, "");
	return 0;
}

int report_title_print(const struct view_input *input, const char *otherwise, char **ret)
{
	cleanup(report_title_deinit) struct report_title title;
	const char *of = node_name_program(input->profile);
	int r = report_title_init(&title, input);

	if (r)
		return r;
	if (title.services)
		of = title.services;
	return text_print(ret, "%s%s%s", *of ? of : otherwise, title.host ? " on " : "",
			  title.host ? title.host : "");
}

static bool title_local_time(int64_t time_ns, struct tm *ret)
{
	time_t seconds = (time_t)(time_ns / (int64_t)NS_PER_S) - (time_ns % (int64_t)NS_PER_S < 0);

	return localtime_r(&seconds, ret);
}

bool report_title_time(char *ret, size_t size, int64_t time_ns)
{
	struct tm tm;

	return title_local_time(time_ns, &tm) && strftime(ret, size, "%Y-%m-%d %H:%M:%S %Z", &tm);
}

bool report_title_range(const struct profile *p, char *ret)
{
	int64_t until_ns = profile_until_ns(p);
	struct tm from, to;
	size_t i = 0;
	bool same_day;

	if (!p->time_ns || !title_local_time(p->time_ns, &from))
		return false;
	if (!title_next_host(p, &i) || until_ns <= p->time_ns || !title_local_time(until_ns, &to))
		return report_title_time(ret, TITLE_RANGE_MAX, p->time_ns);
	same_day = from.tm_year == to.tm_year && from.tm_yday == to.tm_yday;
	i = strftime(ret, TITLE_RANGE_MAX, "%Y-%m-%d %H:%M:%S", &from);
	return i && strftime(ret + i, TITLE_RANGE_MAX - i,
			     same_day ? " to %H:%M:%S %Z" : " to %Y-%m-%d %H:%M:%S %Z", &to);
}
