/* SPDX-License-Identifier: MIT */
#include "client/analysis/label_units.h"

#include <errno.h>
#include <string.h>

#include "common/error.h"
#include "common/profile/profile.h"

void label_units_deinit(struct label_units *u)
{
	pair_table_deinit(&u->by_key);
}

int label_units_learn(struct label_units *u, const struct profile_label *labels, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct profile_label *l = &labels[i];
		struct pair_table_slot *slot;

		if (l->str || !l->num_unit)
			continue;
		slot = pair_table_at(&u->by_key, l->key, 0);
		if (!slot)
			return error_origin(-ENOMEM);
		if (slot->value == PAIR_TABLE_NONE)
			slot->value = l->num_unit;
	}
	return 0;
}

const char *label_units_of(const struct label_units *u, const struct profile *p, uint32_t key)
{
	uint32_t unit = u ? pair_table_get(&u->by_key, key, 0) : PAIR_TABLE_NONE;
	const char *name = profile_string(p, key);

	if (unit != PAIR_TABLE_NONE)
		return profile_string(p, unit);
	return strcmp(name, "alignment") == 0 || strcmp(name, "request") == 0 ? "bytes" : name;
}
