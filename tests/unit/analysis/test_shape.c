/* SPDX-License-Identifier: MIT */
#include "tests/unit/analysis/shape_fixture.h"

/* --- granularity ------------------------------------------------------------------------------ */

/* One sample each of places that some granularities tell apart. */
static struct fixture many_places(void)
{
	struct fixture f = begin();
	uint32_t root = place(&f, f.mapping_a, 0x2000, "main@/src/./main.c:3");

	sample(&f, 1, NULL, 0, 2, place(&f, f.mapping_a, 0x1010, "x@/src/x.c:1,y@/src/y.c:2"),
	       root);
	sample(&f, 2, NULL, 0, 2, place(&f, f.mapping_b, 0x101010, "x@/src/lib/../x.c:9"), root);
	sample(&f, 4, NULL, 0, 2, place(&f, f.mapping_b, 0x101020, ""), root);
	sample(&f, 8, NULL, 0, 2, place(&f, f.mapping_b, 0x101030, ""), root);
	sample(&f, 16, NULL, 0, 2, place(&f, PROFILE_NONE, 0x77, ""), root);
	sample(&f, 32, NULL, 0, 2, place(&f, f.mapping_b, 0x101040, "-@/src/n.c:4"), root);
	return f;
}

static void test_functions(void **state)
{
	struct fixture f = many_places();

	(void)state;
	CHECK(&f, "x<y main=1\nx main=2\n[" PATH_B "] main=4\n[" PATH_B "] main=8\n main=16\n"
		  "[" PATH_B "]#7 main=32\n");
	CHECK(&f,
	      "y main=1\nx main=2\n[" PATH_B "] main=4\n[" PATH_B "] main=8\n main=16\n"
	      "[" PATH_B "]#7 main=32\n",
	      .no_inlines = true);
	CHECK(&f,
	      "x<y main=1\nx main=2\n101020![" PATH_B "] main=4\n101030![" PATH_B "] main=8\n"
	      "77! main=16\n101040![" PATH_B "]#7 main=32\n",
	      .nameless_addresses = true);
#define MAIN "main@/src/main.c[" PATH_A "]"
	CHECK(&f,
	      "x@/src/x.c[" PATH_A "]<y@/src/y.c[" PATH_A "] " MAIN "=1\n"
	      "x@/src/x.c[" PATH_B "] " MAIN "=2\n"
	      "[" PATH_B "] " MAIN "=4\n"
	      "[" PATH_B "] " MAIN "=8\n"
	      " " MAIN "=16\n"
	      "@/src/n.c[" PATH_B "]#7 " MAIN "=32\n",
	      .with_objects = true);
#undef MAIN
	end(&f);
}

static void test_finer(void **state)
{
	struct fixture f = many_places();

	(void)state;
	CHECK(&f,
	      "x@/src/x.c<y@/src/y.c main@/src/main.c=1\nx@/src/x.c main@/src/main.c=2\n"
	      "[" PATH_B "] main@/src/main.c=4\n[" PATH_B "] main@/src/main.c=8\n"
	      " main@/src/main.c=16\n@/src/n.c[" PATH_B "]#7 main@/src/main.c=32\n",
	      .granularity = SHAPE_FILEFUNCTIONS);
	CHECK(&f,
	      "x@x.c:1<y@y.c:2 main@main.c:3=1\nx@x.c:9 main@main.c:3=2\n"
	      "[" PATH_B "] main@main.c:3=4\n[" PATH_B "] main@main.c:3=8\n"
	      " main@main.c:3=16\n@n.c:4[" PATH_B "]#7 main@main.c:3=32\n",
	      .granularity = SHAPE_LINES, .trim_path = "/elsewhere:/src");
	CHECK(&f,
	      "@/src/x.c[" PATH_A "]#7<@/src/y.c[" PATH_A "]#7 @/src/main.c[" PATH_A "]#7=1\n"
	      "@/src/x.c[" PATH_B "]#7 @/src/main.c[" PATH_A "]#7=2\n"
	      "[" PATH_B "] @/src/main.c[" PATH_A "]#7=4\n"
	      "[" PATH_B "] @/src/main.c[" PATH_A "]#7=8\n"
	      " @/src/main.c[" PATH_A "]#7=16\n"
	      "@/src/n.c[" PATH_B "]#7 @/src/main.c[" PATH_A "]#7=32\n",
	      .granularity = SHAPE_FILES);
	CHECK(&f,
	      "1010!x@/src/x.c:1<1010!y@/src/y.c:2 2000!main@/src/main.c:3=1\n"
	      "101010!x@/src/x.c:9 2000!main@/src/main.c:3=2\n"
	      "101020![" PATH_B "] 2000!main@/src/main.c:3=4\n"
	      "101030![" PATH_B "] 2000!main@/src/main.c:3=8\n"
	      "77! 2000!main@/src/main.c:3=16\n"
	      "101040!@/src/n.c:4[" PATH_B "]#7 2000!main@/src/main.c:3=32\n",
	      .granularity = SHAPE_ADDRESSES);
	end(&f);
}

/* Two builds: their functions lie elsewhere, in other files and on other lines. */
static void test_comparisons(void **state)
{
	struct fixture f = begin();
	struct profile_function moved = {.name = text(f.p, "x"),
					 .filename = text(f.p, "/new/x.c"),
					 .start_line = 9};
	struct profile_line line = {.line = 1};
	uint32_t second;

	(void)state;
	sample(&f, 1, NULL, 0, 1, place(&f, f.mapping_a, 0x1010, "x@/src/x.c:1"));
	assert_int_equal(profile_add_function(f.p, &moved, &line.function), 0);
	assert_int_equal(profile_add_location(f.p, f.mapping_b, 0x101010, &line, 1, &second), 0);
	sample(&f, 2, NULL, 0, 1, second);
	sample(&f, 4, NULL, 0, 1, place(&f, f.mapping_b, 0x101020, ""));
	CHECK(&f, "x@/src/x.c[" PATH_A "]=1\nx@/src/x.c[" PATH_A "]=2\n[" PATH_B "]=4\n",
	      .with_objects = true, .compares = true);
	CHECK(&f, "x@/src/x.c[" PATH_A "]=1\nx@/new/x.c[" PATH_B "]=2\n[" PATH_B "]=4\n",
	      .with_objects = true, .compares = true, .granularity = SHAPE_FILEFUNCTIONS);
	CHECK(&f, "x@x.c:1[" PATH_A "]#7=1\nx@x.c:1[" PATH_A "]#7=2\n[" PATH_B "]=4\n",
	      .with_objects = true, .compares = true, .granularity = SHAPE_LINES,
	      .trim_path = "/src:/new");
	end(&f);
}

/* Frames are equal where the granularity says so, and numbered once. */
static void test_frames_are_interned(void **state)
{
	const struct shape_options o = {0};
	cleanup(shape_freep) struct shape *s = NULL;
	struct fixture f = begin();
	struct stack stack;
	uint32_t first;
	size_t n;

	(void)state;
	sample(&f, 1, NULL, 0, 1, place(&f, f.mapping_a, 0x1001, "x@a.c:1"));
	sample(&f, 1, NULL, 0, 1, place(&f, f.mapping_b, 0x101002, "x@b.c:2"));
	assert_int_equal(shape_new(&s, &o, NULL), SHAPE_E_OK);
	assert_int_equal(shape_bind(s, f.p), 0);
	assert_int_equal(shape_stack(s, f.p, 0, &stack), SHAPE_E_OK);
	first = stack.frames[0];
	assert_int_equal(shape_stack(s, f.p, 1, &stack), SHAPE_E_OK);
	assert_int_equal(stack.frames[0], first);
	shape_frames(s, &n);
	assert_int_equal(n, 1);
	/* The profile grows; what it had keeps its numbers. */
	sample(&f, 1, NULL, 0, 2, place(&f, f.mapping_b, 0x101003, "z"),
	       place(&f, f.mapping_b, 0x101004, "x"));
	assert_int_equal(shape_stack(s, f.p, 2, &stack), -EINVAL);
	assert_int_equal(shape_bind(s, f.p), 0);
	assert_int_equal(shape_stack(s, f.p, 2, &stack), SHAPE_E_OK);
	assert_int_equal(stack.n_frames, 2);
	assert_int_equal(stack.frames[1], first);
	end(&f);
}

/* Functions of one name are one, whatever they are called in the file. */
static void test_system_names(void **state)
{
	struct fixture f = begin();
	struct shape_options o = {.granularity = SHAPE_ADDRESSES};
	struct profile_function function = {.name = text(f.p, "x"),
					    .system_name = text(f.p, "_Z1xv"),
					    .filename = text(f.p, "a.c"),
					    .start_line = 7};
	struct profile_line line = {.line = 1};
	uint32_t twin;
	size_t n;

	(void)state;
	assert_int_equal(profile_add_function(f.p, &function, &line.function), 0);
	assert_int_equal(profile_add_location(f.p, f.mapping_a, 0x1001, &line, 1, &twin), 0);
	sample(&f, 1, NULL, 0, 1, place(&f, f.mapping_a, 0x1001, "x@a.c:1"));
	sample(&f, 1, NULL, 0, 1, twin);
	for (int i = 0; i < 2; i++) {
		cleanup(shape_freep) struct shape *s = NULL;
		struct stack stack;

		o.with_objects = i;
		assert_int_equal(shape_new(&s, &o, NULL), SHAPE_E_OK);
		assert_int_equal(shape_bind(s, f.p), 0);
		assert_int_equal(shape_stack(s, f.p, 0, &stack), SHAPE_E_OK);
		assert_int_equal(shape_stack(s, f.p, 1, &stack), SHAPE_E_OK);
		shape_frames(s, &n);
		assert_int_equal(n, 1);
	}
	end(&f);
}

/* The same address of one object, mapped differently in two processes. */
static void test_mappings(void **state)
{
	struct fixture f = begin();
	struct shape_options o = {.granularity = SHAPE_ADDRESSES, .with_objects = true};
	struct profile_mapping m = f.p->mappings[f.mapping_a];
	uint32_t twin;

	(void)state;
	m.offset = 0x1000;
	assert_int_equal(profile_add_mapping(f.p, &m, &twin), 0);
	sample(&f, 1, NULL, 0, 3, place(&f, f.mapping_a, 0x1001, "x@a.c:1"),
	       place(&f, twin, 0x1001, "x@a.c:1"), place(&f, PROFILE_NONE, 0x1001, "x@a.c:1"));
	for (int i = 0; i < 2; i++) {
		cleanup(shape_freep) struct shape *s = NULL;
		const struct frame *frames;
		struct stack stack;
		size_t n;

		o.with_mappings = i;
		assert_int_equal(shape_new(&s, &o, NULL), SHAPE_E_OK);
		assert_int_equal(shape_bind(s, f.p), 0);
		assert_int_equal(shape_stack(s, f.p, 0, &stack), SHAPE_E_OK);
		frames = shape_frames(s, &n);
		assert_int_equal(n, 2 + i);
		assert_int_equal(frames[stack.frames[0]].mapping, i ? f.mapping_a + 1 : 0);
		assert_int_equal(frames[stack.frames[1]].mapping, i ? twin + 1 : 0);
		assert_int_equal(frames[stack.frames[2]].mapping, 0);
	}
	end(&f);
}

/* --- samples that are none -------------------------------------------------------------------- */

static void test_empty_samples(void **state)
{
	struct fixture f = begin();

	(void)state;
	sample(&f, 0, NULL, 0, 1, place(&f, f.mapping_a, 0x1001, "zero"));
	sample(&f, 5, NULL, 0, 0);
	sample(&f, -3, NULL, 0, 1, place(&f, f.mapping_a, 0x1002, "negative"));
	/* Where nothing asks for names, samples without frames stay. */
	CHECK(&f, "zero=0\n=5\nnegative=-3\n");
	CHECK(&f, "zero=0\nnegative=-3\nIgnore expression matched no samples\n", .ignore = "none");
	CHECK(&f, "negative=-3\n", .ignore = "zero");
	CHECK(&f, "zero=0\nnegative=-3\n", .show_from = ".");
	end(&f);
}

/* --- names ------------------------------------------------------------------------------------ */

/*
 * Two stacks: a, inlined into b, called by c (in library b), d and main; and e called by main.
 * Files are called as the functions' mappings are not.
 */
static struct fixture two_stacks(void)
{
	struct fixture f = begin();
	uint32_t main_place = place(&f, f.mapping_a, 0x2000, "main@m.c");

	sample(&f, 5, NULL, 0, 4, place(&f, f.mapping_a, 0x1010, "a@a.c,b@b.c"),
	       place(&f, f.mapping_b, 0x101010, "c@c.c"), place(&f, f.mapping_a, 0x1020, "d@d.c"),
	       main_place);
	sample(&f, 3, NULL, 0, 2, place(&f, f.mapping_a, 0x1030, "e@e.c"), main_place);
	return f;
}

static void test_focus_and_ignore(void **state)
{
	struct fixture f = two_stacks();

	(void)state;
	CHECK(&f, "a<b c d main=5\n", .focus = "^c$");
	CHECK(&f, "a<b c d main=5\n", .focus = "libb"); /* a mapping */
	CHECK(&f, "e main=3\n", .focus = "e\\.c");      /* a file */
	CHECK(&f, "a<b c d main=5\n", .focus = "^b$");  /* what another one is inlined into */
	CHECK(&f, "Focus expression matched no samples\n", .focus = "^x$");
	CHECK(&f, "e main=3\n", .ignore = "^c$");
	CHECK(&f, "", .ignore = "main");
	CHECK(&f, "a<b c d main=5\ne main=3\nIgnore expression matched no samples\n",
	      .ignore = "^x$");
	CHECK(&f, "e main=3\n", .focus = "main", .ignore = "^d$");
	/* A place that is to be ignored is not focused on. */
	CHECK(&f, "Focus expression matched no samples\n", .focus = "^e$", .ignore = "^e$");
	CHECK(&f, "a<b c d main=5\ne main=3\n", .focus = "");
	end(&f);
}

static void test_hide_and_show(void **state)
{
	struct fixture f = two_stacks();

	(void)state;
	CHECK(&f, "b c d main=5\ne main=3\n", .hide = "^a$");
	CHECK(&f, "a c d main=5\ne main=3\n", .hide = "^b$");
	CHECK(&f, "c d main=5\nmain=3\n", .hide = "^[abe]$");
	CHECK(&f, "c=5\n", .hide = "/a$"); /* a mapping: all that is left of one stack is c */
	CHECK(&f, "", .hide = ".");
	CHECK(&f, "a<b c d main=5\ne main=3\nHide expression matched no samples\n", .hide = "^x$");
	CHECK(&f, "a d=5\n", .show = "^[ad]$");
	CHECK(&f, "c=5\n", .show = "libb");
	CHECK(&f, "Show expression matched no samples\n", .show = "^x$");
	CHECK(&f, "b=5\n", .show = "^[ab]$", .hide = "^a$");
	/* Focus looks at frames before they are hidden. */
	CHECK(&f, "b c d main=5\n", .focus = "^a$", .hide = "^a$");
	end(&f);
}

static void test_unsymbolized_places(void **state)
{
	struct fixture f = begin();

	(void)state;
	sample(&f, 1, NULL, 0, 3, place(&f, f.mapping_b, 0x101010, ""),
	       place(&f, PROFILE_NONE, 0x77, ""), place(&f, f.mapping_a, 0x1010, "main@m.c"));
	CHECK(&f, "[" PATH_B "]  main=1\n");
	CHECK(&f, "[" PATH_B "]  main=1\n", .focus = "libb");
	CHECK(&f, " main=1\n", .hide = "libb");
	/* It has no line that could be shown. */
	CHECK(&f, "Show expression matched no samples\n", .show = "libb");
	CHECK(&f, "main=1\n", .show = "main|libb");
	CHECK(&f, "[" PATH_B "]=1\n", .show_from = "libb");
	end(&f);
}

static void test_show_from(void **state)
{
	struct fixture f = two_stacks();

	(void)state;
	CHECK(&f, "a<b c=5\n", .show_from = "^c$");
	CHECK(&f, "a=5\n", .show_from = "^a$"); /* a part of a place */
	CHECK(&f, "a<b c d main=5\ne main=3\n", .show_from = "main");
	CHECK(&f, "ShowFrom expression matched no samples\n", .show_from = "^x$");
	/* Nearest to the root, and what is hidden is not there any more. */
	CHECK(&f, "a<b c d=5\n", .show_from = "^[bd]$");
	CHECK(&f, "a<b c=5\n", .show_from = "^[cd]$", .hide = "^d$");
	end(&f);
}

static void test_prune_from(void **state)
{
	struct fixture f = two_stacks();

	(void)state;
	CHECK(&f, "c d main=5\ne main=3\n", .prune_from = "^c$");
	CHECK(&f, "b c d main=5\ne main=3\n", .prune_from = "^b$");
	CHECK(&f, "a<b c d main=5\ne main=3\n", .prune_from = "^x$"); /* and not a word */
	CHECK(&f, "a<b c d main=5\ne main=3\n", .prune_from = "c\\.c|libb");
	CHECK(&f, "b c d main=5\nmain=3\n", .prune_from = "^(b|d|main)$");
	end(&f);
}

/* prune_from and drop_frames see names without arguments, the others whole ones. */
static void test_names_without_arguments(void **state)
{
	struct fixture f = begin();

	(void)state;
	sample(&f, 1, NULL, 0, 2, place(&f, f.mapping_a, 0x1010, "leaf"),
	       place(&f, f.mapping_a, 0x1020, "ns::f(int)"));
	sample(&f, 2, NULL, 0, 2, place(&f, f.mapping_a, 0x1010, "leaf"),
	       place(&f, f.mapping_a, 0x1030, "(anonymous namespace)::g(int)"));
	sample(&f, 4, NULL, 0, 2, place(&f, f.mapping_a, 0x1010, "leaf"),
	       place(&f, f.mapping_a, 0x1040, "ns::operator()(int)"));
	sample(&f, 8, NULL, 0, 2, place(&f, f.mapping_a, 0x1010, "leaf"),
	       place(&f, f.mapping_a, 0x1050, ".h(int)"));
	CHECK(&f,
	      "ns::f(int)=1\n(anonymous namespace)::g(int)=2\nns::operator()(int)=4\n.h(int)=8\n",
	      .prune_from = "^(ns::f|\\(anonymous namespace\\)::g|ns::operator\\(\\)|h)$");
	CHECK(&f,
	      "leaf ns::f(int)=1\nleaf (anonymous namespace)::g(int)=2\n"
	      "leaf ns::operator()(int)=4\nleaf .h(int)=8\n",
	      .prune_from = "int|^ns::f\\(");
	CHECK(&f, "leaf ns::f(int)=1\n", .focus = "^ns::f\\(");
	end(&f);
}

/* --- what the profile drops ------------------------------------------------------------------- */

static struct fixture with_drops(const char *drop, const char *keep)
{
	struct fixture f = begin();
	uint32_t main_place = place(&f, f.mapping_a, 0x2000, "main"),
		 malloc_place = place(&f, f.mapping_b, 0x101010, "malloc(unsigned long)"),
		 hook = place(&f, f.mapping_b, 0x101020, "malloc_hook"),
		 inlined = place(&f, f.mapping_a, 0x1010, "malloc,user");

	f.p->drop_frames = text(f.p, drop);
	f.p->keep_frames = text(f.p, keep);
	sample(&f, 1, NULL, 0, 3, hook, malloc_place, main_place);
	sample(&f, 2, NULL, 0, 2, hook, main_place);
	sample(&f, 4, NULL, 0, 3, hook, inlined, main_place);
	/* Nothing that is not dropped calls them. */
	sample(&f, 8, NULL, 0, 2, hook, malloc_place);
	sample(&f, 16, NULL, 0, 3, main_place, hook, malloc_place);
	return f;
}

static void test_drop_frames(void **state)
{
	struct fixture f = with_drops("malloc.*", "");

	(void)state;
	CHECK(&f, "main=1\nmain=2\nuser main=4\nmalloc_hook malloc(unsigned long)=8\n"
		  "main malloc_hook malloc(unsigned long)=16\n");
	CHECK(&f,
	      "malloc_hook malloc(unsigned long) main=1\nmalloc_hook main=2\n"
	      "malloc_hook malloc<user main=4\nmalloc_hook malloc(unsigned long)=8\n"
	      "main malloc_hook malloc(unsigned long)=16\n",
	      .ignore_drop_frames = true);
	/* What was dropped is no match, but not unheard of either. */
	CHECK(&f,
	      "malloc_hook malloc(unsigned long)=8\nmain malloc_hook malloc(unsigned long)=16\n",
	      .focus = "hook");
	end(&f);
	f = with_drops("malloc.*", "malloc_hook");
	CHECK(&f, "main=1\nmalloc_hook main=2\nuser main=4\nmalloc_hook malloc(unsigned long)=8\n"
		  "main malloc_hook malloc(unsigned long)=16\n");
	end(&f);
	f = with_drops("malloc", ""); /* the whole name has to match */
	CHECK(&f, "main=1\nmalloc_hook main=2\nuser main=4\nmalloc_hook malloc(unsigned long)=8\n"
		  "main malloc_hook malloc(unsigned long)=16\n");
	end(&f);
	f = with_drops("malloc(", "");
	CHECK(&f, "malloc_hook malloc(unsigned long) main=1\nmalloc_hook main=2\n"
		  "malloc_hook malloc<user main=4\nmalloc_hook malloc(unsigned long)=8\n"
		  "main malloc_hook malloc(unsigned long)=16\n"
		  "The profile's drop_frames or keep_frames is not a regular expression: "
		  "no frames are dropped\n");
	end(&f);
}

/* --- refusals and limits ---------------------------------------------------------------------- */

static void test_bad_options(void **state)
{
	const struct shape_options all[] = {
		{.focus = "("},
		{.ignore = "["},
		{.hide = "*a"},
		{.show = "a{2,1}"},
		{.show_from = "\\"},
		{.prune_from = "(?<"},
		{.tagfocus = "a,("},
		{.tagignore = "k=["},
		{.tagshow = "("},
		{.taghide = "a)"},
		{.tagfocus = "99999999999999999999kb"},
		{.focus = "\xff"},
		{.tagignore = ",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,"},
	};
	struct profile_message message;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct shape *s = NULL;

		message.text[0] = '\0';
		assert_int_equal(shape_new(&s, &all[i], &message), SHAPE_E_BAD_OPTION);
		assert_null(s);
		assert_true(message.text[0]);
		assert_null(strchr(message.text, '\n'));
	}
}

/* An expression that PCRE2 would never be done with. */
static void test_expensive_expressions(void **state)
{
	struct fixture f = begin();
	cleanup(shape_freep) struct shape *s = NULL;
	cleanup(freep) char *warnings = NULL;
	const struct shape_options o = {.focus = "^(a+)+$"};
	struct stack stack;
	char name[64];

	(void)state;
	for (unsigned i = 0; i < 60; i++) {
		memset(name, 'a', 40);
		snprintf(name + 40, sizeof(name) - 40, "%u", i);
		sample(&f, 1, NULL, 0, 1, place(&f, f.mapping_a, 0x1000 + i, name));
	}
	assert_int_equal(shape_new(&s, &o, NULL), SHAPE_E_OK);
	assert_int_equal(shape_bind(s, f.p), 0);
	assert_int_equal(shape_stack(s, f.p, 0, &stack), SHAPE_E_DROPPED);
	assert_int_equal(shape_warnings(s, &warnings), 0);
	assert_string_equal(warnings, "Focus expression matched no samples\n"
				      "Focus expression takes too long: 50 or more texts count as "
				      "not matched by it\n");
	end(&f);
}

/* Of a place's lines, those outside the outermost match go. */
static void test_show_from_inlined(void **state)
{
	struct fixture f = begin();
	uint32_t x = place(&f, f.mapping_a, 0x1010, "leaf,from1,mid,from2,root");

	(void)state;
	sample(&f, 1, NULL, 0, 1, x);
	CHECK(&f, "leaf<from1<mid<from2=1\n", .show_from = "from");
	end(&f);
}

/* What is gone from the front of a file's name may be all of it. */
static void test_trimmed_to_nothing(void **state)
{
	struct fixture f = begin();
	uint32_t x = place(&f, f.mapping_a, 0x1010, "x@/src/a.c:3"),
		 y = place(&f, f.mapping_a, 0x1020, "y@/src/:4");

	(void)state;
	sample(&f, 1, NULL, 0, 2, x, y);
	CHECK(&f, "x@a.c:3 y:4=1\n", .granularity = SHAPE_LINES, .trim_path = "/src");
	CHECK(&f, "x@/src/a.c:3 y@/src:4=1\n", .granularity = SHAPE_LINES, .trim_path = "/src",
	      .whole_filenames = true);
	end(&f);
}

/* What names have dropped is not looked at for labels. */
static void test_order_of_warnings(void **state)
{
	struct fixture f = begin();
	uint32_t x = place(&f, f.mapping_a, 0x1010, "x");
	const struct profile_label user = text_label(&f, "user", "io");

	(void)state;
	sample(&f, 1, &user, 1, 1, x);
	CHECK(&f, "TagFocus expression matched no samples\n", .hide = "x", .tagfocus = "io");
	end(&f);
}

/* Stacks of more frames than there may be lose those at the root. */
static void test_frames_are_bounded(void **state)
{
	cleanup(freep) uint32_t *chain = malloc((SHAPE_FRAMES_MAX + 5) * sizeof(*chain));
	cleanup(freep) struct profile_line *lines = calloc(SHAPE_FRAMES_MAX + 1, sizeof(*lines));
	const uint32_t n_frames[] = {SHAPE_FRAMES_MAX, SHAPE_FRAMES_MAX - 1, SHAPE_FRAMES_MAX - 1};
	const struct shape_options o = {0};
	cleanup(shape_freep) struct shape *s = NULL;
	cleanup(freep) char *warnings = NULL;
	struct fixture f = begin();
	int64_t value = 1;
	uint32_t x = place(&f, f.mapping_a, 0x1010, "x"), two = place(&f, f.mapping_a, 4, "y,z");
	uint32_t longest;
	struct stack stack;

	(void)state;
	assert_non_null(chain);
	assert_non_null(lines);
	for (uint32_t i = 0; i < SHAPE_FRAMES_MAX + 5; i++)
		chain[i] = x;
	assert_int_equal(profile_add_sample(f.p, chain, SHAPE_FRAMES_MAX, &value, NULL, 0), 0);
	chain[SHAPE_FRAMES_MAX - 1] = two;
	assert_int_equal(profile_add_sample(f.p, chain, SHAPE_FRAMES_MAX + 5, &value, NULL, 0), 0);
	assert_int_equal(profile_add_sample(f.p, chain, SHAPE_FRAMES_MAX - 1, &value, NULL, 0), 0);
	/* A place that has too many alone leaves nothing. */
	assert_int_equal(profile_add_location(f.p, f.mapping_a, 0x30, lines, SHAPE_FRAMES_MAX + 1,
					      &longest),
			 0);
	assert_int_equal(profile_add_sample(f.p, &longest, 1, &value, NULL, 0), 0);
	assert_int_equal(shape_new(&s, &o, NULL), SHAPE_E_OK);
	assert_int_equal(shape_bind(s, f.p), 0);
	for (size_t i = 0; i < ARRAY_SIZE(n_frames); i++) {
		assert_int_equal(shape_stack(s, f.p, i, &stack), SHAPE_E_OK);
		assert_int_equal(stack.n_frames, n_frames[i]);
		assert_int_equal(shape_warnings(s, &warnings), 0);
		assert_string_equal(warnings,
				    i ? "stacks of more than 1048576 frames lack their roots\n"
				      : "");
		free(warnings);
		warnings = NULL;
	}
	assert_int_equal(shape_stack(s, f.p, ARRAY_SIZE(n_frames), &stack), SHAPE_E_DROPPED);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_comparisons),
		cmocka_unit_test(test_finer),
		cmocka_unit_test(test_frames_are_interned),
		cmocka_unit_test(test_system_names),
		cmocka_unit_test(test_mappings),
		cmocka_unit_test(test_empty_samples),
		cmocka_unit_test(test_focus_and_ignore),
		cmocka_unit_test(test_hide_and_show),
		cmocka_unit_test(test_unsymbolized_places),
		cmocka_unit_test(test_show_from),
		cmocka_unit_test(test_prune_from),
		cmocka_unit_test(test_names_without_arguments),
		cmocka_unit_test(test_drop_frames),
		cmocka_unit_test(test_bad_options),
		cmocka_unit_test(test_expensive_expressions),
		cmocka_unit_test(test_show_from_inlined),
		cmocka_unit_test(test_trimmed_to_nothing),
		cmocka_unit_test(test_order_of_warnings),
		cmocka_unit_test(test_frames_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
