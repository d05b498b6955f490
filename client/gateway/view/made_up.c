/* SPDX-License-Identifier: MIT */
#include "client/gateway/view/made_up.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/profile/cpuprofile.h"
#include "common/profile/profile.h"
#include "common/utf8.h"

#define LOCATIONS_MAX ((UINT64_C(1) << MADE_UP_SHIFT) / MADE_UP_STEP - 2)

static void made_up_write_name(const struct profile *p, const struct profile_location *l, FILE *out)
{
	for (uint32_t i = 0; i < l->n_lines; i++) {
		const struct profile_line *line = &p->lines[l->first_line + i];
		const struct profile_function *f = &p->functions[line->function];

		/* google-pprof takes the names between these for functions that were inlined. */
		fputs(i ? "--" : "", out);
		utf8_write_harmless(out, profile_string(p, f->name), "");
	}
	if (!l->n_lines)
		fprintf(out, "0x%" PRIx64, l->address);
	fputc('\0', out);
}

void made_up_write_names(const struct profile *p, FILE *out)
{
	for (size_t i = 0; i < p->n_locations && ftell(out) <= (long)MADE_UP_NAMES_MAX; i++)
		made_up_write_name(p, &p->locations[i], out);
}

static uint64_t made_up_address(uint64_t number, uint32_t location)
{
	return MADE_UP_PAGE(number) + MADE_UP_STEP * ((uint64_t)location + 1);
}

/* Records of what has been sampled; @addresses has room for all frames. */
static size_t made_up_records(const struct profile *p, uint64_t number, uint64_t *addresses,
			      struct cpuprofile_record *records)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *sample = &p->samples[i];
		int64_t count = p->sample_values[i * p->n_sample_types];

		if (count <= 0 || !sample->n_locations)
			continue;
		for (uint32_t k = 0; k < sample->n_locations; k++)
			addresses[sample->first_location + k] = made_up_address(
				number, p->sample_locations[sample->first_location + k]);
		records[n++] = (struct cpuprofile_record){
			.count = (uint64_t)count,
			.addresses = addresses + sample->first_location,
			.n_addresses = sample->n_locations,
		};
	}
	return cpuprofile_unify(records, n);
}

int made_up_encode(const struct profile *p, uint64_t number, uint8_t **ret, size_t *ret_length)
{
	cleanup(freep) struct cpuprofile_record *records = calloc(p->n_samples + 1,
								  sizeof(*records));
	cleanup(freep) uint64_t *addresses = calloc(p->n_sample_locations + 1, sizeof(*addresses));
	struct cpuprofile c = {.slot_bytes = 8, .records = records};
	char maps[80];

	if (p->n_locations > LOCATIONS_MAX)
		return error_origin(-E2BIG);
	if (!records || !addresses)
		return error_origin(-ENOMEM);
	snprintf(maps, sizeof(maps), "%" PRIx64 "-%" PRIx64 " r-xp 00000000 00:00 0 /profd\n",
		 MADE_UP_PAGE(number), MADE_UP_PAGE(number + 1));
	c.maps = maps;
	c.period_us = p->period > 0 ? (uint64_t)p->period / 1000 : 1;
	c.n_records = made_up_records(p, number, addresses, records);
	return cpuprofile_write(&c, ret, ret_length);
}
