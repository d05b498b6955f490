/* SPDX-License-Identifier: MIT */
#include "client/analysis/frame_kind.h"

#include <string.h>

#include "client/analysis/frame.h"
#include "common/cleanup.h"
#include "common/profile/profile.h"

static const struct frame_language frame_python = {"python", "cpython"};
static const struct frame_language frame_javascript = {"javascript", "v8js"};
static const struct frame_language frame_java = {"java", "jvm"};
static const struct frame_language frame_ruby = {"ruby", "ruby"};

/* How names of source files begin or end; <string>, <frozen importlib._bootstrap>. */
static const struct {
	const char *prefix, *suffix;
	const struct frame_language *language;
} frame_files[] = {
	{"", ".py", &frame_python},        {"<", ">", &frame_python},
	{"node:", "", &frame_javascript},  {"", ".js", &frame_javascript},
	{"", ".mjs", &frame_javascript},   {"", ".cjs", &frame_javascript},
	{"", ".ts", &frame_javascript},    {"", ".java", &frame_java},
	{"[eval", "]", &frame_javascript}, {"", ".rb", &frame_ruby},
};

/* Names in brackets that are no module of the kernel. */
static const char *const frame_not_kernel[] = {"anon", "vdso",  "vsyscall",
					       "heap", "stack", "unknown"};

static bool frame_text_has(const char *text, const char *prefix, const char *suffix)
{
	size_t n = strlen(text), n_prefix = strlen(prefix), n_suffix = strlen(suffix);

	return n >= n_prefix + n_suffix && strncmp(text, prefix, n_prefix) == 0 &&
	       strcmp(text + n - n_suffix, suffix) == 0;
}

const struct frame_language *frame_language_of(const char *file)
{
	for (size_t i = 0; i < ARRAY_SIZE(frame_files); i++)
		if (frame_text_has(file, frame_files[i].prefix, frame_files[i].suffix))
			return frame_files[i].language;
	return NULL;
}

bool frame_module_is_kernel(const char *module)
{
	static const char word[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
	size_t n;

	if (*module != '[')
		return frame_text_has(module, "", ".ko");
	module++;
	if (strncmp(module, "kernel.", 7) == 0 || strncmp(module, "guest.kernel", 12) == 0)
		return true;
	n = strspn(module, word);
	for (size_t i = 0; i < ARRAY_SIZE(frame_not_kernel); i++)
		if (strlen(frame_not_kernel[i]) == n &&
		    strncmp(module, frame_not_kernel[i], n) == 0)
			return false;
	return n && strcmp(module + n, "]") == 0;
}

const char *frame_kind(const struct profile *p, const struct frame *frame)
{
	const struct frame_language *language;

	if (frame_module_is_kernel(profile_string(p, frame->object)))
		return "kernel";
	language = frame_language_of(profile_string(p, frame->filename));
	return language ? language->name : "";
}
