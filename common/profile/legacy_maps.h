/* SPDX-License-Identifier: MIT */
#ifndef PROFD_COMMON_PROFILE_LEGACY_MAPS_H
#define PROFD_COMMON_PROFILE_LEGACY_MAPS_H

/*
 * The text at the end of gperftools' profiles: lines as in /proc/PID/maps, of which those that can
 * be executed become mappings of a profile; "build=" lines, whose value paths name as $build; and
 * "# profd" lines, which become comments. Any other line is passed over. Internal to common/profile
 * and client/formats; pure.
 */
#include <stddef.h>
#include <stdint.h>

#include "common/profile/pprof.h" /* struct profile_message */

struct legacy_maps {
	uint32_t *mappings; /* by start address, then as in the text */
	size_t n_mappings;
};

/*
 * Reads [text, end) into @p. Returns 0, negative errno, or positive: refused, @message is filled.
 * Deinit in any case.
 */
int legacy_maps_read(struct legacy_maps *maps, struct profile *p, const char *text, const char *end,
		     struct profile_message *message);
/* Of overlapping mappings the one that starts last; PROFILE_NONE: none has @address. */
uint32_t legacy_maps_find(const struct legacy_maps *maps, const struct profile *p,
			  uint64_t address);
void legacy_maps_deinit(struct legacy_maps *maps);

#endif
