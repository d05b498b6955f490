/* SPDX-License-Identifier: MIT */
/*
 * What the reader accepts is written again in its slot size and read again: totals must hold, and
 * each chain must come back but for what the writer bends for the sake of other readers: the
 * second address may be a little lower (or, near 0, higher), a leaf of 0 is 1.
 */
#undef NDEBUG /* the assertions are what this program is for */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/profile/cpuprofile.h"
#include "common/profile/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t count_of(const struct profile *p, size_t sample)
{
	return p->sample_values[sample * p->n_sample_types];
}

static uint64_t address_of(const struct profile *p, const struct profile_sample *s, uint32_t i)
{
	return p->locations[p->sample_locations[s->first_location + i]].address;
}

static struct cpuprofile_record *records_of(const struct profile *p, uint64_t *addresses,
					    size_t *ret_n)
{
	struct cpuprofile_record *records = calloc(p->n_samples + 1, sizeof(*records));
	size_t n = 0;

	assert(records);
	for (size_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *s = &p->samples[i];

		for (uint32_t k = 0; k < s->n_locations; k++)
			addresses[s->first_location + k] = address_of(p, s, k);
		if (!s->n_locations || s->n_locations > 65536 || count_of(p, i) > UINT32_MAX)
			continue;
		records[n++] = (struct cpuprofile_record){.count = (uint64_t)count_of(p, i),
							  .addresses = addresses +
								       s->first_location,
							  .n_addresses = s->n_locations};
	}
	*ret_n = n;
	return records;
}

static void compare(const struct cpuprofile_record *records, size_t n, const struct profile *q,
		    unsigned slot_bytes)
{
	uint64_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += records[i].count;
	for (size_t i = 0; i < q->n_samples; i++) {
		const struct profile_sample *s = &q->samples[i];
		size_t k = 0;

		count -= (uint64_t)count_of(q, i);
		if (n > 256 || slot_bytes == 4)
			continue;
		for (; k < n; k++) {
			uint64_t leaf = records[k].addresses[0];
			uint32_t a = 2;

			if (records[k].n_addresses != s->n_locations ||
			    (leaf ? leaf : 1) != address_of(q, s, 0))
				continue;
			if (s->n_locations > 1 &&
			    address_of(q, s, 1) - records[k].addresses[1] + 3 > 6)
				continue;
			while (a < s->n_locations &&
			       (records[k].addresses[a] == UINT64_MAX ||
				records[k].addresses[a] == address_of(q, s, a)))
				a++;
			if (a >= s->n_locations)
				break;
		}
		assert(k < n);
	}
	assert(!count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup(profile_freep) struct profile *p = NULL;
	cleanup(freep) struct cpuprofile_record *records = NULL;
	cleanup(freep) uint64_t *addresses = NULL;
	struct profile_message message = {""};
	struct cpuprofile c = {.maps = "00400000-00500000 r-xp 00000000 08:01 1 /bin/a\n",
			       .comments = "# profd\n"};
	int r;

	r = cpuprofile_read(data, size, &p, &message);
	assert(r >= 0);
	assert((r == 0) == !message.text[0]);
	if (r)
		return 0;
	addresses = calloc(p->n_sample_locations + 1, sizeof(*addresses));
	assert(addresses);
	records = records_of(p, addresses, &c.n_records);
	c.records = records;
	c.period_us = (uint64_t)p->period / 1000;
	for (c.slot_bytes = 4; c.slot_bytes <= 8; c.slot_bytes += 4) {
		cleanup(profile_freep) struct profile *q = NULL;
		cleanup(freep) uint8_t *out = NULL;
		size_t n;

		assert(!cpuprofile_write(&c, &out, &n));
		assert(!cpuprofile_read(out, n, &q, &message));
		compare(records, c.n_records, q, c.slot_bytes);
	}
	return 0;
}
