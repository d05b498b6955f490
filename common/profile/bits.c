/* SPDX-License-Identifier: MIT */
#include "common/profile/bits.h"

#include "common/room.h"

/* Of @n numbers the first ones that have a bit less than the rest, which have *ret_width bits. */
static uint64_t bits_short(uint64_t n, unsigned *ret_width)
{
	unsigned width = n > 1 ? 64 - (unsigned)__builtin_clzll(n - 1) : 0;

	*ret_width = width;
	return width == 64 ? 0 - n : (UINT64_C(1) << width) - n;
}

int bits_put(struct bits_out *out, uint64_t value, uint64_t n)
{
	unsigned width;
	uint64_t n_short = bits_short(n, &width);
	int r;

	if (!width)
		return 0;
	if (value < n_short)
		width--;
	else
		value += n_short;
	r = room_make(&out->data, &out->size, (out->n_bits + width + 7) / 8, 1);
	if (r)
		return r;
	while (width--) {
		uint8_t *byte = &out->data[out->n_bits / 8];
		const unsigned bit = 7 - out->n_bits++ % 8;

		if (bit == 7)
			*byte = 0;
		*byte = (uint8_t)(*byte | (value >> width & 1) << bit);
	}
	return 0;
}

static bool bits_get_bit(struct bits_in *in, uint64_t *value)
{
	if (in->at >= in->n_bits)
		return false;
	*value = *value << 1 | (in->data[in->at / 8] >> (7 - in->at % 8) & 1);
	in->at++;
	return true;
}

bool bits_get(struct bits_in *in, uint64_t n, uint64_t *ret)
{
	unsigned width;
	uint64_t n_short = bits_short(n, &width), value = 0;

	for (unsigned i = 1; i < width; i++)
		if (!bits_get_bit(in, &value))
			return false;
	if (width && value >= n_short) {
		if (!bits_get_bit(in, &value))
			return false;
		value -= n_short;
	}
	*ret = value;
	return true;
}
