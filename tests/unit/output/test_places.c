/* SPDX-License-Identifier: MIT */
/* A stack means the same whether its frames are addresses or offsets in images. */
#include "tests/unit/output/fixture.h"

#include "common/frame.h"
#include "daemon/output/places.h"

#define LEGACY_1 "services/a.service/20261121/20261121T090000Z-60s.worker-100.prof"

/* @address of process @process as the frame that a walk by tables gives; ANON_AT and 0x1234 stay.
 */
static uint64_t in_image(const struct fixture *f, const struct script *script, uint64_t address)
{
	const struct {
		uint64_t process, start, offset;
		const struct image *image;
	} mapped[] = {
		{1, PROGRAM_AT, 0x1000, f->program},
		{1, LIBRARY_AT, 0x1000, script->generation ? f->other : f->library},
		{1, VDSO_AT, 0, f->vdso},
		{2, PROGRAM_2, 0x1000, f->program},
		{3, PROGRAM_AT, 0x1000, f->other},
		{3, PLAIN_AT, 0, f->plain},
	};

	for (size_t i = 0; i < ARRAY_SIZE(mapped); i++) {
		uint64_t at = address - mapped[i].start;

		if (mapped[i].process == script->process && at < 0x3000)
			return frame_in_image((uint32_t)mapped[i].image->id,
					      (uint32_t)(mapped[i].offset + at));
	}
	return address;
}

struct file {
	char name[PATH_MAX];
	uint8_t *data;
	size_t length;
};

struct files {
	struct file *files;
	size_t n;
	size_t skip; /* length of the store's path */
};

static struct files *files_now; /* nftw() hands on nothing */

static int collect_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	struct file *file;

	(void)st, (void)ftw;
	if (flag != FTW_F)
		return 0;
	files_now->files = reallocarray(files_now->files, files_now->n + 1, sizeof(*file));
	assert_non_null(files_now->files);
	file = &files_now->files[files_now->n++];
	snprintf(file->name, sizeof(file->name), "%s", path + files_now->skip);
	file->data = slurp(path, &file->length);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static void files_deinit(struct files *files)
{
	for (size_t i = 0; i < files->n; i++)
		free(files->files[i].data);
	free(files->files);
}

/* All files that a snapshot of @script becomes. */
static void write_all(const struct fixture *f, const struct script *script, size_t n,
		      struct files *ret)
{
	struct writer *w = open_writer(f, NULL, NULL, T0);

	write_quietly(w, make_snapshot(f, T0, script, n), T0 + 60);
	writer_free(w);
	*ret = (struct files){.skip = strlen(f->store_path)};
	files_now = ret;
	nftw(f->store_path, collect_one, 16, FTW_PHYS);
	files_now = NULL;
	qsort(ret->files, ret->n, sizeof(*ret->files), by_name);
}

/* The same bytes in every file of every format. */
static void test_same_files(void **state)
{
	const struct script in_vdso = {1, 0, NULL, {0}, {VDSO_AT + 0x10, LIBRARY_AT + 0x80},
				       0, 0, 2};
	struct script plain[ARRAY_SIZE(everything) + 1], script[ARRAY_SIZE(plain)];
	cleanup(files_deinit) struct files expected = {0}, got = {0};
	struct fixture *f = *state, *other;
	unsigned n_changed = 0;
	void *other_state;

	memcpy(plain, everything, sizeof(everything));
	plain[ARRAY_SIZE(everything)] = in_vdso;
	memcpy(script, plain, sizeof(script));
	for (size_t i = 0; i < ARRAY_SIZE(script); i++) {
		for (uint64_t *u = script[i].user; *u; u++) {
			uint64_t frame = in_image(f, &script[i], *u);

			n_changed += frame != *u;
			*u = frame;
		}
	}
	assert_int_equal(n_changed, 19);
	write_all(f, plain, ARRAY_SIZE(plain), &expected);
	fixture_setup(&other_state);
	other = other_state;
	write_all(other, script, ARRAY_SIZE(script), &got);
	fixture_teardown(&other_state);

	assert_int_equal(got.n, expected.n);
	for (size_t i = 0; i < got.n; i++) {
		assert_string_equal(got.files[i].name, expected.files[i].name);
		assert_int_equal(got.files[i].length, expected.files[i].length);
		assert_memory_equal(got.files[i].data, expected.files[i].data, got.files[i].length);
	}
}

/* One entry of a process with mappings of its own. */
struct world {
	struct fixture *f;
	struct places places;
	struct snapshot_process process;
	struct aggregate_entry entry;
	struct view_entry e;
};

static void world_init(struct world *w, struct fixture *f)
{
	*w = (struct world){.f = f};
	assert_int_equal(mappings_new(&w->process.mappings), 0);
	w->e = (struct view_entry){.entry = &w->entry, .process = &w->process};
}

static void world_deinit(struct world *w)
{
	free(w->places.ranges);
	mappings_unref(w->process.mappings);
}

static void map_range(struct world *w, struct image *image, uint64_t start, uint64_t length,
		      uint64_t offset, uint64_t time_ns)
{
	const struct mapping m = {
		.start = start, .end = start + length, .offset = offset, .image = image};

	assert_int_equal(mappings_add(&w->process.mappings, &m, time_ns, false), 0);
}

static struct place place_of(struct world *w, uint32_t generation, uint64_t frame)
{
	struct symbols *symbols = NULL;
	struct place place, nowhere;

	w->entry.generation = generation;
	assert_int_equal(symbols_new(&symbols, &(struct symbols_options){.max_bytes = 1 << 20}), 0);
	w->e.stack.frames = &frame;
	w->e.stack.n_frames = 1;
	assert_int_equal(places_frame(&w->places, &w->e, 0, NULL, symbols, &place), 0);
	assert_int_equal(places_frame(&w->places, &w->e, 1, NULL, symbols, &nowhere), 0);
	assert_int_equal(nowhere.kind, PLACE_NOWHERE);
	w->e.stack.n_frames = 0;
	symbols_free(symbols);
	return place;
}

/* The mapping of the sample's own generation is the one; else any, before or after. */
static void test_generations(void **state)
{
	cleanup(world_deinit) struct world w;
	struct fixture *f = *state;
	uint64_t frame = frame_in_image((uint32_t)f->program->id, 0x1100);
	uint64_t library = frame_in_image((uint32_t)f->library->id, 0x1100);
	struct place place;

	world_init(&w, f);
	map_range(&w, f->program, 0x10000, 0x1000, 0x1000, 1);
	map_range(&w, f->other, 0x10000, 0x1000, 0x1000, 5);   /* generation 1 */
	map_range(&w, f->program, 0x20000, 0x1000, 0x1000, 6); /* in all of them, at the end */
	map_range(&w, f->library, 0x20000, 0x1000, 0x1000, 7); /* generation 2 */
	map_range(&w, f->program, 0x20000, 0x1000, 0x1000, 8); /* generation 3 */

	assert_int_equal(place_of(&w, 0, frame).address, 0x10100);
	assert_int_equal(place_of(&w, 1, frame).address, 0x20100);
	assert_int_equal(place_of(&w, 3, frame).address, 0x20100);
	assert_int_equal(place_of(&w, 2, library).address, 0x20100);
	place = place_of(&w, 0, library); /* not yet mapped */
	assert_int_equal(place.kind, PLACE_IMAGE);
	assert_ptr_equal(place.mapping->image, f->library);
	assert_int_equal(place.file_offset, 0x1100);
	assert_true(place.has_vaddr);
	place = place_of(&w, 2, frame); /* not any more */
	assert_ptr_equal(place.mapping->image, f->program);
}

/* One image in several ranges, overlapping ones among them. */
static void test_ranges(void **state)
{
	cleanup(world_deinit) struct world w;
	struct fixture *f = *state;
	uint32_t id = (uint32_t)f->program->id;

	world_init(&w, f);
	map_range(&w, f->program, 0x100000, 0x10000, 0x4000, 1);
	map_range(&w, f->program, 0x200000, 0x1000, 0x6000, 1);
	map_range(&w, f->program, 0x300000, 0x1000, 0x8000, 1);
	map_range(&w, f->program, 0x400000, 0x1000, 0x20000, 1);
	map_range(&w, f->library, 0x500000, 0x100000, 0, 1);
	assert_int_equal(place_of(&w, 0, frame_in_image(id, 0x3fff)).kind, PLACE_NOWHERE);
	assert_int_equal(place_of(&w, 0, frame_in_image(id, 0x4000)).address, 0x100000);
	assert_int_equal(place_of(&w, 0, frame_in_image(id, 0x6010)).address, 0x200010);
	assert_int_equal(place_of(&w, 0, frame_in_image(id, 0x7010)).address, 0x103010);
	assert_int_equal(place_of(&w, 0, frame_in_image(id, 0x9000)).address, 0x105000);
	assert_int_equal(place_of(&w, 0, frame_in_image(id, 0x13fff)).address, 0x10ffff);
	assert_int_equal(place_of(&w, 0, frame_in_image(id, 0x14000)).kind, PLACE_NOWHERE);
	assert_int_equal(place_of(&w, 0, frame_in_image(id, 0x20fff)).address, 0x400fff);
	assert_int_equal(place_of(&w, 0, frame_in_image(id, 0x21000)).kind, PLACE_NOWHERE);
	assert_int_equal(place_of(&w, 0, frame_in_image(id + 1, 0x6010)).kind, PLACE_NOWHERE);
}

/* Of two copies of one range the lower address stands for both. */
static void test_copies(void **state)
{
	cleanup(world_deinit) struct world w;
	struct fixture *f = *state;

	world_init(&w, f);
	map_range(&w, f->program, 0x300000, 0x1000, 0x1000, 1);
	map_range(&w, f->program, 0x100000, 0x1000, 0x1000, 1);
	map_range(&w, f->program, 0x200000, 0x1000, 0x1000, 1);
	assert_int_equal(place_of(&w, 0, frame_in_image((uint32_t)f->program->id, 0x1100)).address,
			 0x100100);
}

/* An image that the process does not have: told from others, never taken for an address. */
static void test_strange_image(void **state)
{
	/* Its number and offset, taken for an address, would be the program's. */
	const uint64_t frame = frame_in_image(PROGRAM_AT >> 32, (uint32_t)PROGRAM_AT + 0x100);
	const struct script script[] = {
		{1, 0, NULL, {0}, {frame, PROGRAM_AT + 0x200}, 0, 0, 3},
		{1, 0, NULL, {0}, {frame + 1, PROGRAM_AT + 0x200}, 0, 0, 4},
	};
	struct fixture *f = *state;
	struct writer *w = open_writer(f, NULL, NULL, T0);
	struct profile *p;
	struct census c;
	size_t length;
	char path[PATH_MAX + 200];
	uint64_t *slots;
	unsigned n_nowhere = 0;

	write_quietly(w, make_snapshot(f, T0, script, ARRAY_SIZE(script)), T0 + 60);
	writer_free(w);
	c = take_census(f);
	assert_int_equal(c.pprof, 7);
	assert_int_equal(c.legacy, 7);
	assert_int_equal(c.images, 7);

	snprintf(path, sizeof(path), "%s/images/2611210900/host%%2F1/unknown@host%%2F1.cpu-clock",
		 f->store_path);
	assert_int_equal(access(path, R_OK), 0);
	snprintf(path, sizeof(path), "%s/services/a.service/20261121/20261121T090000Z-60s.pb.gz",
		 f->store_path);
	p = read_pprof(path);
	for (size_t i = 0; i < p->n_locations; i++)
		n_nowhere += p->locations[i].mapping == PROFILE_NONE;
	assert_int_equal(n_nowhere, 2);
	profile_free(p);
	snprintf(path, sizeof(path), "%s/" LEGACY_1, f->store_path);
	slots = slurp(path, &length);
	/* Behind the header: count, length, leaf, caller; in order of addresses. */
	assert_true(length > 13 * sizeof(*slots));
	assert_int_equal(slots[5], 3);
	assert_int_equal(slots[7], frame);
	assert_int_equal(slots[11], frame + 1);
	free(slots);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_same_files), TEST(test_generations),   TEST(test_ranges),
		TEST(test_copies),     TEST(test_strange_image),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
