/* SPDX-License-Identifier: MIT */
/*
 * .eh_frame is a sequence of records (LSB 5, section 10.6.1): each CIE holds what the functions
 * that refer to it have in common, each FDE one function's range and instructions. .debug_frame
 * differs in how a CIE is marked, and FDEs say where theirs is.
 */
#include "common/unwind/cfi_private.h"

/* LSB 5, section 10.5.1: a format, and what the number is relative to. */
enum {
	FORMAT_ABSOLUTE = 0x00, /* a machine's pointer */
	FORMAT_ULEB = 0x01,
	FORMAT_U2 = 0x02,
	FORMAT_U4 = 0x03,
	FORMAT_U8 = 0x04,
	FORMAT_SIGNED = 0x08, /* a machine's pointer as well */
	FORMAT_SLEB = 0x09,
	FORMAT_S2 = 0x0a,
	FORMAT_S4 = 0x0b,
	FORMAT_S8 = 0x0c,
	FORMAT_MASK = 0x0f,

	RELATIVE_TO_NOTHING = 0x00,
	RELATIVE_TO_PC = 0x10, /* to where the pointer stands */
	RELATIVE_TO_TEXT = 0x20,
	RELATIVE_TO_DATA = 0x30,
	RELATIVE_TO_FUNCTION = 0x40,
	ALIGNED = 0x50, /* absolute, at the next multiple of a pointer's size */
	RELATIVE_MASK = 0x70,

	INDIRECT = 0x80,
	OMITTED = 0xff,
};

static bool read_format(struct cfi_reader *r, uint8_t format, uint64_t *ret)
{
	switch (format) {
	case FORMAT_ABSOLUTE:
	case FORMAT_SIGNED:
	case FORMAT_U8:
	case FORMAT_S8:
		*ret = cfi_fixed(r, 8);
		break;
	case FORMAT_ULEB:
		*ret = cfi_uleb(r);
		break;
	case FORMAT_U2:
		*ret = cfi_fixed(r, 2);
		break;
	case FORMAT_U4:
		*ret = cfi_fixed(r, 4);
		break;
	case FORMAT_SLEB:
		*ret = (uint64_t)cfi_sleb(r);
		break;
	case FORMAT_S2:
		*ret = (uint64_t)(int64_t)(int16_t)cfi_fixed(r, 2);
		break;
	case FORMAT_S4:
		*ret = (uint64_t)(int64_t)(int32_t)cfi_fixed(r, 4);
		break;
	default:
		return false;
	}
	return !r->bad;
}

/*
 * A pointer that stands as 0 is no pointer, whatever it is relative to: linkers leave it where the
 * function was dropped, and runtimes read it so.
 */
bool cfi_pointer(const struct cfi_input *input, struct cfi_reader *r, uint8_t encoding,
		 uint64_t *ret)
{
	uint64_t here = input->frame.address + (uint64_t)(r->at - input->frame.data);
	uint64_t value, base = 0;

	if (encoding == OMITTED)
		return false;
	switch (encoding & RELATIVE_MASK) {
	case RELATIVE_TO_NOTHING:
		break;
	case RELATIVE_TO_PC:
		base = here;
		break;
	case RELATIVE_TO_DATA:
		base = input->got_address;
		if (!base)
			return false;
		break;
	case ALIGNED:
		cfi_skip(r, -here & 7);
		break;
	default:
		/* The runtimes of these machines know no base for text and functions. */
		return false;
	}
	if (!read_format(r, encoding & FORMAT_MASK, &value))
		return false;
	*ret = value ? value + base : 0;
	return true;
}

/* What follows a record's length in .eh_frame: how far back the CIE is, four bytes always. */
static int frame_record_kind(struct cfi_reader *r, const struct cfi_input *input, uint32_t *ret_cie)
{
	size_t at_id = (size_t)(r->at - input->frame.data);
	uint32_t id = (uint32_t)cfi_fixed(r, 4);

	if (r->bad || id > at_id)
		return CFI_RECORD_MALFORMED;
	*ret_cie = (uint32_t)(at_id - id);
	return id ? CFI_RECORD_OK : CFI_RECORD_CIE;
}

/* And in .debug_frame: where in it the CIE is, in as many bytes as the length has. */
static int debug_record_kind(struct cfi_reader *r, const struct cfi_input *input, size_t id_bytes,
			     uint32_t *ret_cie)
{
	uint64_t id = cfi_fixed(r, id_bytes);

	if (r->bad)
		return CFI_RECORD_MALFORMED;
	if (id == UINT64_MAX >> (64 - 8 * id_bytes))
		return CFI_RECORD_CIE;
	if (id >= input->debug_length)
		return CFI_RECORD_MALFORMED;
	*ret_cie = (uint32_t)(cfi_debug_position(input) + id);
	return CFI_RECORD_OK;
}

int cfi_record_next(const struct cfi_input *input, size_t position, struct cfi_reader *ret_body,
		    uint32_t *ret_cie, size_t *ret_next)
{
	bool is_debug = input->debug_length && position >= cfi_debug_position(input);
	size_t end = is_debug ? input->frame.length : cfi_debug_position(input), id_bytes = 4;
	struct cfi_reader r = cfi_reader_at(&input->frame, position, end);
	uint64_t length;
	int kind;

	*ret_next = end;
	if (!cfi_left(&r))
		return CFI_RECORD_END;
	length = cfi_fixed(&r, 4);
	if (length == UINT32_MAX) {
		length = cfi_fixed(&r, 8);
		id_bytes = 8;
	}
	if (!r.bad && !length && is_debug) {
		*ret_next = (size_t)(r.at - input->frame.data); /* padding */
		return CFI_RECORD_MALFORMED;
	}
	if (!r.bad && !length)
		return CFI_RECORD_END;
	if (r.bad || length > cfi_left(&r))
		return CFI_RECORD_MALFORMED;
	r.end = r.at + length;
	*ret_next = (size_t)(r.end - input->frame.data);
	kind = is_debug ? debug_record_kind(&r, input, id_bytes, ret_cie)
			: frame_record_kind(&r, input, ret_cie);
	*ret_body = r;
	return kind;
}

/*
 * The augmentation data of a CIE, by the letters behind 'z'. One that is unknown ends what can be
 * understood; the data's length tells where the instructions are all the same.
 */
static bool parse_augmentation(const struct cfi_input *input, struct cfi_reader *r,
			       const uint8_t *letters, struct cfi_cie *cie)
{
	uint64_t length = cfi_uleb(r), personality;
	struct cfi_reader data;

	if (r->bad || length > cfi_left(r))
		return false;
	data = *r;
	data.end = data.at + length;
	cfi_skip(r, length);
	for (; *letters; letters++) {
		uint8_t encoding;

		switch (*letters) {
		case 'R':
			cie->pointer_encoding = cfi_u8(&data);
			break;
		case 'L':
			cfi_u8(&data);
			break;
		case 'P':
			encoding = cfi_u8(&data);
			if (encoding != OMITTED &&
			    !cfi_pointer(input, &data, encoding & (uint8_t)~INDIRECT, &personality))
				return false;
			break;
		case 'S':
			cie->is_signal = true;
			break;
		case 'B': /* aarch64: return addresses are signed with key B */
		case 'G': /* aarch64: its stack is tagged */
			break;
		default:
			return !data.bad;
		}
	}
	return !data.bad;
}

int cfi_cie_parse(const struct cfi_input *input, size_t position, struct cfi_cie *ret)
{
	const uint8_t *letters;
	struct cfi_reader r;
	uint8_t version;
	uint32_t unused;
	size_t next;

	*ret = (struct cfi_cie){.position = (uint32_t)position};
	if (position >= input->frame.length ||
	    cfi_record_next(input, position, &r, &unused, &next) != CFI_RECORD_CIE)
		return CFI_RECORD_MALFORMED;
	version = cfi_u8(&r);
	if (version != 1 && version != 3 && version != 4)
		return CFI_RECORD_MALFORMED;
	letters = r.at;
	while (cfi_u8(&r))
		;
	if (r.bad)
		return CFI_RECORD_MALFORMED;
	if (letters[0] == 'e' && letters[1] == 'h') {
		cfi_skip(&r, 8); /* of compilers before 2000: a pointer to their data */
		letters += 2;
	}
	/* The sizes of an address and of a segment selector. */
	if (version == 4 && (cfi_u8(&r) != 8 || cfi_u8(&r) != 0))
		return CFI_RECORD_MALFORMED;
	ret->code_align = cfi_uleb(&r);
	ret->data_align = cfi_sleb(&r);
	ret->return_column = version == 1 ? cfi_u8(&r) : cfi_uleb(&r);
	ret->has_length = letters[0] == 'z';
	if (ret->has_length ? !parse_augmentation(input, &r, letters + 1, ret) : letters[0])
		return CFI_RECORD_MALFORMED;
	ret->program = (uint32_t)(r.at - input->frame.data);
	ret->program_length = (uint32_t)cfi_left(&r);
	return r.bad ? CFI_RECORD_MALFORMED : CFI_RECORD_OK;
}

int cfi_fde_parse(const struct cfi_input *input, const struct cfi_cie *cie, struct cfi_reader body,
		  struct cfi_fde *ret)
{
	uint64_t start, length;

	if (cie->pointer_encoding & INDIRECT ||
	    !cfi_pointer(input, &body, cie->pointer_encoding, &start) ||
	    !read_format(&body, cie->pointer_encoding & FORMAT_MASK, &length))
		return CFI_RECORD_MALFORMED;
	if (cie->has_length)
		cfi_skip(&body, cfi_uleb(&body));
	if (body.bad || length > UINT64_MAX - start)
		return CFI_RECORD_MALFORMED;
	*ret = (struct cfi_fde){
		.start = start,
		.length = length,
		.program = (uint32_t)(body.at - input->frame.data),
		.program_length = (uint32_t)cfi_left(&body),
	};
	return CFI_RECORD_OK;
}
