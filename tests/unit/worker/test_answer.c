/* SPDX-License-Identifier: MIT */
/* Answers as they should be, and each with one thing changed that must not pass. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/unwind/table.h"
#include "common/worker/answer.h"

static struct elf_summary make_summary(void)
{
	struct elf_summary elf;

	memset(&elf, 0, sizeof(elf));
	elf.pointer_bytes = 8;
	elf.n_segments = 1;
	elf.segments[0] = (struct elf_segment){
		.vaddr = 0x1000, .file_size = 0x100, .memory_size = 0x200, .executable = true};
	elf.build_id_length = ELF_BUILD_ID_MAX;
	return elf;
}

static void break_pointer(struct elf_summary *elf)
{
	elf->pointer_bytes = 7;
}

static void break_count(struct elf_summary *elf)
{
	elf->n_segments = ELF_SUMMARY_SEGMENTS_MAX + 1;
}

static void break_build_id(struct elf_summary *elf)
{
	elf->build_id_length = ELF_BUILD_ID_MAX + 1;
}

static void break_file_size(struct elf_summary *elf)
{
	elf->segments[0].file_size = 0x201;
}

static void break_offset(struct elf_summary *elf)
{
	elf->segments[0].offset = UINT64_MAX - 0xff + 1;
}

static void break_vaddr(struct elf_summary *elf)
{
	elf->segments[0].vaddr = UINT64_MAX - 0x1ff + 1;
}

static void break_bool(struct elf_summary *elf)
{
	memset(&elf->segments[0].executable, 2, 1);
}

static void (*const summary_breaks[])(struct elf_summary *) = {
	break_pointer, break_count, break_build_id, break_file_size,
	break_offset,  break_vaddr, break_bool,
};

static void break_go(struct go_build *go)
{
	memset(go->go, 'a', sizeof(go->go));
}

static void break_module(struct go_build *go)
{
	strcpy(go->module, "a\nb");
}

static void break_version(struct go_build *go)
{
	strcpy(go->version, "v1\x80");
}

static void break_revision(struct go_build *go)
{
	memset(go->revision, 'a', sizeof(go->revision));
}

static void break_modified(struct go_build *go)
{
	go->is_modified = 2;
}

static void (*const go_breaks[])(struct go_build *) = {break_go, break_module, break_version,
						       break_revision, break_modified};

static void break_package(struct elf_release *release)
{
	memset(release->version, '1', sizeof(release->version));
}

static void break_package_text(struct elf_release *release)
{
	strcpy(release->version, "1\x1b[31m");
}

static void break_go_id(struct elf_release *release)
{
	memset(release->go_id, 'a', sizeof(release->go_id));
}

static void (*const release_breaks[])(struct elf_release *) = {break_package, break_package_text,
							       break_go_id};

static bool image_passes(const struct worker_image *image)
{
	struct worker_image read;

	return answer_image((const uint8_t *)image, sizeof(*image), &read) &&
	       memcmp(&read, image, sizeof(read)) == 0;
}

static void test_image(void **state)
{
	struct worker_image image, broken, ignored;

	(void)state;
	memset(&image, 0, sizeof(image));
	image.elf = make_summary();
	image.has_symtab = 1;
	image.go = (struct go_build){.go = "go1.26.8", .version = "v1 \xc3\xa4", .is_modified = 1};
	image.release = (struct elf_release){.version = "1.2-3", .go_id = "0123456789ab"};
	memset(image.debuglink, 'a', sizeof(image.debuglink) - 1);
	image.alternate_id_length = WORKER_ID_MAX;
	assert_true(image_passes(&image));
	assert_false(answer_image((const uint8_t *)&image, sizeof(image) - 1, &ignored));
	assert_false(answer_image((const uint8_t *)&image, 0, &ignored));
	for (size_t i = 0; i < ARRAY_SIZE(summary_breaks); i++) {
		broken = image;
		summary_breaks[i](&broken.elf);
		assert_false(image_passes(&broken));
	}
	for (size_t i = 0; i < ARRAY_SIZE(go_breaks); i++) {
		broken = image;
		go_breaks[i](&broken.go);
		assert_false(image_passes(&broken));
	}
	for (size_t i = 0; i < ARRAY_SIZE(release_breaks); i++) {
		broken = image;
		release_breaks[i](&broken.release);
		assert_false(image_passes(&broken));
	}
	broken = image;
	broken.debuglink[sizeof(broken.debuglink) - 1] = 'a';
	assert_false(image_passes(&broken));
	broken = image;
	memset(broken.alternate, 'a', sizeof(broken.alternate));
	assert_false(image_passes(&broken));
	broken = image;
	broken.alternate_id_length++;
	assert_false(image_passes(&broken));
	broken = image;
	broken.has_lines = 2;
	assert_false(image_passes(&broken));
	/* No summary is no answer: there is an outcome for that. */
	broken = image;
	memset(&broken.elf, 0, sizeof(broken.elf));
	assert_false(image_passes(&broken));
}

struct table_answer {
	struct worker_table table;
	uint64_t words[8];
};

/* Two rows in a chunk, the second one where the code ends. */
static struct table_answer make_table(void)
{
	uint64_t rules[] = {
		rule_pack(&(struct rule){.kind = RULE_CFA, .cfa_offset = 8, .ra_offset = -8}),
		RULE_WORD(RULE_UNKNOWN),
	};
	struct cfi_row rows[] = {{.offset = 16, .rule = 0}, {.offset = 32, .rule = 1}};
	const struct cfi_rows input = {.rows = rows, .n_rows = 2, .rules = rules, .n_rules = 2};
	struct table_answer answer;
	uint64_t *words;
	size_t n;

	memset(&answer, 0, sizeof(answer));
	assert_int_equal(table_pack(&input, 8, &answer.table.slot, &words, &n), TABLE_E_OK);
	assert_true(n <= ARRAY_SIZE(answer.words));
	memcpy(answer.words, words, n * sizeof(*words));
	free(words);
	answer.table.state = answer.table.slot.state;
	answer.table.slot.state = 0;
	answer.table.n_words = n;
	answer.table.elf = make_summary();
	return answer;
}

static bool table_passes_as(const struct table_answer *answer, size_t length, uint64_t max_words)
{
	struct worker_table table;
	const uint64_t *words;

	if (!answer_table((const uint8_t *)answer, length, max_words, &table, &words))
		return false;
	assert_ptr_equal(words, answer->words);
	assert_memory_equal(&table, &answer->table, sizeof(table));
	return true;
}

static bool table_passes(const struct table_answer *answer)
{
	return table_passes_as(answer, sizeof(answer->table) + answer->table.n_words * 8, 8);
}

static void test_table(void **state)
{
	const struct table_answer answer = make_table();
	size_t length = sizeof(answer.table) + answer.table.n_words * 8;
	struct table_answer broken;

	(void)state;
	assert_true(table_passes(&answer));
	/* The vdso's. */
	broken = answer;
	memset(&broken.table.elf, 0, sizeof(broken.table.elf));
	assert_true(table_passes(&broken));
	broken.table.elf.n_segments = 1;
	assert_false(table_passes(&broken));
	assert_false(table_passes_as(&answer, length - 8, 8));
	assert_false(table_passes_as(&answer, length + 8, 8));
	assert_false(table_passes_as(&answer, length + 4, 8));
	assert_false(table_passes_as(&answer, sizeof(answer.table) - 1, 8));
	assert_false(table_passes_as(&answer, length, answer.table.n_words - 1));
	for (size_t i = 0; i < ARRAY_SIZE(summary_breaks); i++) {
		broken = answer;
		summary_breaks[i](&broken.table.elf);
		assert_false(table_passes(&broken));
	}
	for (size_t i = 0; i < ARRAY_SIZE(go_breaks); i++) {
		broken = answer;
		go_breaks[i](&broken.table.go);
		assert_false(table_passes(&broken));
	}
	for (size_t i = 0; i < ARRAY_SIZE(release_breaks); i++) {
		broken = answer;
		release_breaks[i](&broken.table.release);
		assert_false(table_passes(&broken));
	}
	broken = answer;
	broken.table.state = TABLE_ABSENT;
	assert_false(table_passes(&broken));
	broken.table.state = TABLE_REFUSED + 1;
	assert_false(table_passes(&broken));
	broken = answer;
	broken.table.over_4g = 2;
	assert_false(table_passes(&broken));
	broken = answer;
	broken.table.slot.state = TABLE_LOADED;
	assert_false(table_passes(&broken));
	broken = answer;
	broken.table.slot.first = 1;
	assert_false(table_passes(&broken));
	broken = answer;
	broken.table.n_words = UINT64_MAX / 8 + 1;
	assert_false(table_passes_as(&broken, length, UINT64_MAX));
}

/* What has no words has no slot. */
static void test_no_table(void **state)
{
	struct table_answer answer;

	(void)state;
	memset(&answer, 0, sizeof(answer));
	answer.table.state = TABLE_NO_CFI;
	assert_true(table_passes(&answer));
	answer.table.state = TABLE_REFUSED;
	assert_true(table_passes(&answer));
	answer.table.slot.n_rows = 1;
	assert_false(table_passes(&answer));
	answer.table.slot.n_rows = 0;
	answer.table.n_words = 1;
	assert_false(table_passes(&answer));
	answer.table.n_words = 0;
	answer.table.state = TABLE_LOADED;
	assert_false(table_passes(&answer));
}

#define TEXT "\0main\0\xc3\xa4z"

struct names_answer {
	struct worker_names header;
	struct worker_location locations[2];
	struct worker_frame frames[2];
	char text[sizeof(TEXT)];
};

static const uint64_t addresses[] = {0x1010, UINT64_MAX};

static struct names_answer make_names(void)
{
	struct names_answer answer = {
		.header = {.n_locations = 2, .n_frames = 2, .text_length = sizeof(TEXT)},
		.locations = {{.start = 0x1000,
			       .size = 0x11,
			       .n_frames = 2,
			       .source = WORKER_SOURCE_DWARF},
			      {.start = UINT64_MAX, .size = 1, .first_frame = 2}},
		.frames = {{.name = 1, .system_name = 1, .file = 6}, {.name = 8}},
	};

	memcpy(answer.text, TEXT, sizeof(TEXT));
	return answer;
}

#define NAMES_LENGTH (offsetof(struct names_answer, text) + sizeof(TEXT))

static bool names_pass(const struct names_answer *answer)
{
	struct answer_names names;

	return answer_names((const uint8_t *)answer, NAMES_LENGTH, addresses, 2, &names);
}

static void test_names(void **state)
{
	const struct names_answer answer = make_names();
	struct answer_names names;

	(void)state;
	assert_true(answer_names((const uint8_t *)&answer, NAMES_LENGTH, addresses, 2, &names));
	assert_int_equal(names.n_locations, 2);
	assert_int_equal(names.n_frames, 2);
	assert_string_equal(names.text + names.frames[0].name, "main");
	assert_string_equal(names.text + names.frames[0].file, "\xc3\xa4z");
	assert_string_equal(names.text + names.frames[1].name, "z");
	assert_false(
		answer_names((const uint8_t *)&answer, NAMES_LENGTH - 1, addresses, 2, &names));
	assert_false(
		answer_names((const uint8_t *)&answer, NAMES_LENGTH + 1, addresses, 2, &names));
	assert_false(answer_names((const uint8_t *)&answer, NAMES_LENGTH, addresses, 1, &names));
	assert_false(answer_names((const uint8_t *)&answer, 15, addresses, 2, &names));
}

#define BREAKS(...)                                        \
	do {                                               \
		struct names_answer answer = make_names(); \
		__VA_ARGS__;                               \
		assert_false(names_pass(&answer));         \
	} while (0)

static void test_broken_names(void **state)
{
	(void)state;
	BREAKS(answer.header.n_locations = 1);
	BREAKS(answer.header.n_frames = 1);
	BREAKS(answer.header.n_frames = UINT32_MAX);
	BREAKS(answer.header.text_length = 0);
	BREAKS(answer.header.text_length = UINT32_MAX);
	/* Not around the address. */
	BREAKS(answer.locations[0].start = 0x1011);
	BREAKS(answer.locations[0].size = 0x10);
	BREAKS(answer.locations[0].size = 0);
	BREAKS(answer.locations[0].size = UINT64_MAX);
	BREAKS(answer.locations[1].size = 2);
	/* Frames that are not there. */
	BREAKS(answer.locations[0].n_frames = 3);
	BREAKS(answer.locations[0].first_frame = 1);
	BREAKS(answer.locations[0].first_frame = UINT32_MAX);
	BREAKS(answer.locations[1].first_frame = 3);
	BREAKS(answer.locations[1].source = N_WORKER_SOURCES);
	/* Texts that are not there, or begin inside of a character. */
	BREAKS(answer.frames[0].name = sizeof(TEXT));
	BREAKS(answer.frames[0].system_name = UINT32_MAX);
	BREAKS(answer.frames[1].file = 7);
	/* The empty one, the last NUL, and what may not be in any. */
	BREAKS(answer.text[0] = 'x');
	BREAKS(answer.text[sizeof(TEXT) - 1] = 'x');
	BREAKS(answer.text[1] = '\n');
	BREAKS(answer.text[7] = 'a');
}

/* So many frames of one address, and so long a text, and no more. */
static void test_limits(void **state)
{
	size_t n_frames = WORKER_FRAMES_MAX + 1, text_length = WORKER_TEXT_MAX + 3;
	size_t length = sizeof(struct worker_names) + sizeof(struct worker_location) +
			n_frames * sizeof(struct worker_frame) + text_length;
	uint8_t *data = calloc(1, length);
	struct worker_names *header = (void *)data;
	struct worker_location *location = (void *)(header + 1);
	char *text = (char *)data + length - text_length;
	uint64_t address = 5;
	struct answer_names names;

	(void)state;
	assert_non_null(data);
	*header = (struct worker_names){.n_locations = 1,
					.n_frames = (uint32_t)n_frames,
					.text_length = (uint32_t)text_length};
	*location = (struct worker_location){.start = 5, .size = 1, .n_frames = WORKER_FRAMES_MAX};
	memset(text + 1, 'a', WORKER_TEXT_MAX);
	assert_true(answer_names(data, length, &address, 1, &names));
	location->n_frames++;
	assert_false(answer_names(data, length, &address, 1, &names));
	location->n_frames--;
	text[1 + WORKER_TEXT_MAX] = 'a';
	assert_false(answer_names(data, length, &address, 1, &names));
	free(data);
}

static void test_texts(void **state)
{
	static const char texts[] = "a\0\0bc"; /* three */

	(void)state;
	assert_true(answer_texts((const uint8_t *)texts, sizeof(texts), 3));
	assert_false(answer_texts((const uint8_t *)texts, sizeof(texts), 2));
	assert_false(answer_texts((const uint8_t *)texts, sizeof(texts), 4));
	assert_false(answer_texts((const uint8_t *)texts, sizeof(texts) - 1, 3));
	assert_false(answer_texts((const uint8_t *)"a\x1b", 3, 1));
	assert_false(answer_texts((const uint8_t *)"a", 1, 0));
	assert_true(answer_texts(NULL, 0, 0));
	assert_false(answer_texts(NULL, 0, 1));
}

#define CODE_TEXT "\0ret\0\xc3\xa4"

struct code_answer {
	struct worker_code header;
	struct worker_instruction instructions[2];
	char text[sizeof(CODE_TEXT)];
};

#define CODE_LENGTH (offsetof(struct code_answer, text) + sizeof(CODE_TEXT))

static struct code_answer make_code(void)
{
	struct code_answer answer = {
		.header = {.n_instructions = 2, .text_length = sizeof(CODE_TEXT)},
		.instructions = {{.address = 0x1000, .size = 4, .text = 1, .file = 5, .line = 7},
				 {.address = 0x1004, .size = WORKER_INSTRUCTION_BYTES, .text = 1}},
	};

	memcpy(answer.text, CODE_TEXT, sizeof(CODE_TEXT));
	return answer;
}

static bool code_passes(const struct code_answer *answer, size_t length, struct worker_range range)
{
	struct answer_code code;

	return answer_code((const uint8_t *)answer, length, &range, &code);
}

static void test_code(void **state)
{
	const struct worker_range range = {0x1000, 0x1005};
	struct code_answer answer = make_code();
	struct answer_code code;

	(void)state;
	assert_true(answer_code((const uint8_t *)&answer, CODE_LENGTH, &range, &code));
	assert_int_equal(code.n_instructions, 2);
	assert_string_equal(code.text + code.instructions[0].text, "ret");
	assert_string_equal(code.text + code.instructions[0].file, "\xc3\xa4");
	assert_string_equal(code.text + code.instructions[1].file, "");
	assert_false(code_passes(&answer, CODE_LENGTH - 1, range));
	assert_false(code_passes(&answer, CODE_LENGTH + 1, range));
	assert_false(code_passes(&answer, sizeof(answer.header) - 1, range));
	/* Outside of what was asked for. */
	assert_false(code_passes(&answer, CODE_LENGTH, (struct worker_range){0x1000, 0x1004}));
	assert_false(code_passes(&answer, CODE_LENGTH, (struct worker_range){0x1001, 0x1005}));
	/* None at all. */
	answer.header.n_instructions = 0;
	memcpy(answer.instructions, CODE_TEXT, sizeof(CODE_TEXT));
	assert_true(code_passes(&answer, sizeof(answer.header) + sizeof(CODE_TEXT), range));
}

#define BREAKS_CODE(...)                                                                           \
	do {                                                                                       \
		struct code_answer answer = make_code();                                           \
		__VA_ARGS__;                                                                       \
		assert_false(                                                                      \
			code_passes(&answer, CODE_LENGTH, (struct worker_range){0x1000, 0x2000})); \
	} while (0)

static void test_broken_code(void **state)
{
	(void)state;
	BREAKS_CODE(answer.header.n_instructions = 1);
	BREAKS_CODE(answer.header.n_instructions = UINT32_MAX);
	BREAKS_CODE(answer.header.text_length = 0);
	BREAKS_CODE(answer.header.text_length--);
	BREAKS_CODE(answer.instructions[0].size = 0);
	BREAKS_CODE(answer.instructions[1].size++);
	BREAKS_CODE(answer.instructions[0].size = 5);
	BREAKS_CODE(answer.instructions[1].address = 0x1003);
	BREAKS_CODE(answer.instructions[1].address = 0x2000);
	BREAKS_CODE(answer.instructions[1].address = UINT64_MAX);
	BREAKS_CODE(answer.instructions[0].text = sizeof(CODE_TEXT));
	BREAKS_CODE(answer.instructions[0].file = 6);
	BREAKS_CODE(answer.text[0] = 'x');
	BREAKS_CODE(answer.text[1] = '\x1b');
}

#define FUNCTION_TEXT "\0f\0/\xc3\xa4.py"

struct functions_answer {
	struct worker_functions header;
	struct worker_function functions[2];
	uint32_t lines[3];
	char text[sizeof(FUNCTION_TEXT)];
};

#define FUNCTIONS_LENGTH (offsetof(struct functions_answer, text) + sizeof(FUNCTION_TEXT))

static struct functions_answer make_functions(void)
{
	struct functions_answer answer = {
		.header = {2, 3, sizeof(FUNCTION_TEXT)},
		.functions = {{1, 3}, {1, 0}},
		.lines = {7, 0, INT32_MAX},
	};

	memcpy(answer.text, FUNCTION_TEXT, sizeof(FUNCTION_TEXT));
	return answer;
}

static bool functions_pass(const struct functions_answer *answer, size_t length, size_t n,
			   size_t n_lines)
{
	struct answer_functions functions;

	return answer_functions((const uint8_t *)answer, length, n, n_lines, &functions);
}

static void test_functions(void **state)
{
	struct functions_answer answer = make_functions();
	struct answer_functions functions;

	(void)state;
	assert_true(answer_functions((const uint8_t *)&answer, FUNCTIONS_LENGTH, 2, 3, &functions));
	assert_int_equal(functions.n_functions, 2);
	assert_string_equal(functions.text + functions.functions[0].name, "f");
	assert_string_equal(functions.text + functions.functions[0].file, "/\xc3\xa4.py");
	assert_string_equal(functions.text + functions.functions[1].file, "");
	assert_int_equal(functions.lines[2], INT32_MAX);
	assert_false(functions_pass(&answer, FUNCTIONS_LENGTH - 1, 2, 3));
	assert_false(functions_pass(&answer, FUNCTIONS_LENGTH + 1, 2, 3));
	assert_false(functions_pass(&answer, sizeof(answer.header) - 1, 2, 3));
	/* Another number than was asked for. */
	assert_false(functions_pass(&answer, FUNCTIONS_LENGTH, 1, 5));
	assert_false(functions_pass(&answer, FUNCTIONS_LENGTH, 2, 2));
}

#define BREAKS_FUNCTIONS(...)                                                  \
	do {                                                                   \
		struct functions_answer answer = make_functions();             \
		__VA_ARGS__;                                                   \
		assert_false(functions_pass(&answer, FUNCTIONS_LENGTH, 2, 3)); \
	} while (0)

static void test_broken_functions(void **state)
{
	(void)state;
	BREAKS_FUNCTIONS(answer.header.n_functions = UINT32_MAX);
	BREAKS_FUNCTIONS(answer.header.n_lines = UINT32_MAX);
	BREAKS_FUNCTIONS(answer.header.text_length = 0);
	BREAKS_FUNCTIONS(answer.header.text_length--);
	BREAKS_FUNCTIONS(answer.functions[0].name = sizeof(FUNCTION_TEXT));
	BREAKS_FUNCTIONS(answer.functions[1].file = 5); /* within a character */
	BREAKS_FUNCTIONS(answer.lines[1] = (uint32_t)INT32_MAX + 1);
	BREAKS_FUNCTIONS(answer.text[0] = 'x');
	BREAKS_FUNCTIONS(answer.text[1] = '\n');
	BREAKS_FUNCTIONS(answer.text[4] = '\xff');
	BREAKS_FUNCTIONS(answer.text[sizeof(FUNCTION_TEXT) - 1] = 'x');
}

/* No longer than two texts for each function could be; each no longer than one may be. */
static void test_function_texts(void **state)
{
	enum { MOST = 1 + 2 * (WORKER_FUNCTION_TEXT_MAX + 1) };
	struct {
		struct worker_functions header;
		struct worker_function function;
		char text[MOST + 2];
	} answer = {.header = {1, 0, MOST}, .function = {1, WORKER_FUNCTION_TEXT_MAX + 2}};
	const size_t head = sizeof(answer.header) + sizeof(answer.function);
	struct answer_functions functions;

	(void)state;
	memset(answer.text + 1, 'x', MOST + 1);
	answer.text[WORKER_FUNCTION_TEXT_MAX + 1] = answer.text[MOST - 1] = '\0';
	assert_true(answer_functions((const uint8_t *)&answer, head + MOST, 1, 0, &functions));
	answer.text[WORKER_FUNCTION_TEXT_MAX + 1] = 'x';
	assert_false(answer_functions((const uint8_t *)&answer, head + MOST, 1, 0, &functions));
	answer.text[WORKER_FUNCTION_TEXT_MAX + 1] = answer.text[MOST + 1] = '\0';
	answer.header.text_length = MOST + 2;
	assert_false(answer_functions((const uint8_t *)&answer, head + MOST + 2, 1, 0, &functions));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_image),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_no_table),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_broken_names),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_code),
		cmocka_unit_test(test_broken_code),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_broken_functions),
		cmocka_unit_test(test_function_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
