/* SPDX-License-Identifier: MIT */
#include "common/fair_share.h"

static size_t n_of_user(const struct fair_holder *all, size_t n, uid_t uid)
{
	size_t n_own = 0;

	for (size_t i = 0; i < n; i++)
		n_own += all[i].uid == uid;
	return n_own;
}

size_t fair_share_find_oldest(const struct fair_holder *all, size_t n)
{
	size_t oldest = 0, heaviest = 0, most = 0, n_users = 0;

	for (size_t i = 0; i < n; i++) {
		bool is_user = fair_kind_of(all[i].uid) == FAIR_KIND_USER;
		size_t n_own = is_user ? n_of_user(all, n, all[i].uid) : 0;

		n_users += is_user;
		if (all[i].used < all[oldest].used)
			oldest = i;
		if (n_own > most || (n_own && n_own == most && all[i].used < all[heaviest].used)) {
			most = n_own;
			heaviest = i;
		}
	}
	return n_users > n / 2 ? heaviest : oldest;
}
