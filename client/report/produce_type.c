/* SPDX-License-Identifier: MIT */
/* Which of a profile's values a report shows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/report/produce.h"
#include "common/profile/message.h"

static int produce_refuse_type(const struct profile *p, const char *name,
			       struct profile_message *message)
{
	char names[120] = "";
	size_t length = 0;

	for (uint32_t i = 0; i < p->n_sample_types && length < sizeof(names); i++)
		length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s",
					   i ? ", " : "",
					   profile_string(p, p->sample_types[i].type));
	return profile_refuse(message, PRODUCE_E_BAD_OPTION, "sample_index '%.40s' is none of %s",
			      name, names);
}

static bool is_number(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

int produce_sample_type(struct load *l, const char *name, unsigned *ret,
			struct profile_message *message)
{
	const struct profile *p = load_profile(l);

	if (!p->n_sample_types)
		return profile_refuse(message, PRODUCE_E_BAD_INPUT, "the profile has no values");
	if (is_number(name)) {
		unsigned long number = strtoul(name, NULL, 10);

		if (number >= p->n_sample_types)
			return produce_refuse_type(p, name, message);
		*ret = (unsigned)number;
		return PRODUCE_E_OK;
	}
	if (*name)
		return profile_find_type(p, name, ret) ? PRODUCE_E_OK
						       : produce_refuse_type(p, name, message);
	/* What google-pprof shows of its own format. */
	*ret = load_is_legacy(l) ? 0 : profile_default_type(p);
	return PRODUCE_E_OK;
}
