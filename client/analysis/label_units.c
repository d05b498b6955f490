/* SPDX-License-Identifier: MIT */
#include "client/analysis/label_units.h"

#include <stdlib.h>
#include <string.h>

#include "common/profile/profile.h"

struct label_unit {
	uint32_t key, unit; /* strings */
};

void label_units_deinit(struct label_units *u)
{
	intern_deinit(&u->in);
	free(u->all);
	*u = (struct label_units){0};
}

int label_units_learn(struct label_units *u, const struct profile_label *labels, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		const struct label_unit unit = {labels[i].key, labels[i].num_unit};
		uint32_t index;

		if (!labels[i].str && unit.unit)
			r = intern_add(&u->in, &u->all, &unit, sizeof(unit), sizeof(unit.key),
				       &index);
	}
	return r;
}

const char *label_units_of(const struct label_units *u, const struct profile *p, uint32_t key)
{
	uint32_t i = u ? intern_find(&u->in, u->all, &key, sizeof(*u->all), sizeof(key))
		       : PROFILE_NONE;
	const char *name = profile_string(p, key);

	if (i != PROFILE_NONE)
		return profile_string(p, u->all[i].unit);
	return strcmp(name, "alignment") == 0 || strcmp(name, "request") == 0 ? "bytes" : name;
}
