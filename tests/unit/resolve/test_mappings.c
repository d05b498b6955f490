/* SPDX-License-Identifier: MIT */
/* The table against a model: the newest mapping that covers a page at a given time wins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/resolve/mappings.h"

#define N_IMAGES 4
#define PAGE     4096u

static struct image *images[N_IMAGES];

static int make_images(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_IMAGES; i++) {
		images[i] = calloc(1, sizeof(*images[i]));
		images[i]->n_references = 1;
		images[i]->id = i;
		images[i]->kind = i == 0 ? IMAGE_ANON : IMAGE_FILE;
		images[i]->fd = -1;
		images[i]->path = strdup("x");
	}
	return 0;
}

/* Every reference that the tables took was given back. */
static int free_images(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_IMAGES; i++) {
		assert_int_equal(images[i]->n_references, 1);
		image_unref(images[i]);
	}
	return 0;
}

static void add_mapping(struct mappings **m, unsigned image, uint64_t page, uint64_t n,
			uint64_t offset, uint64_t time_ns)
{
	struct mapping mapping = {.start = page * PAGE,
				  .end = (page + n) * PAGE,
				  .offset = offset * PAGE,
				  .image = images[image]};

	assert_int_equal(mappings_add(m, &mapping, time_ns, false), 0);
}

static const struct mapping *at(const struct mappings *m, uint64_t page, uint64_t time_ns)
{
	return mappings_find(m, mappings_generation(m, time_ns), page * PAGE + 1);
}

static void test_replacing_raises_the_generation(void **state)
{
	cleanup(mappings_unrefp) struct mappings *m = NULL;

	(void)state;
	assert_int_equal(mappings_new(&m), 0);
	add_mapping(&m, 1, 10, 10, 0, 100);
	assert_int_equal(mappings_generation(m, 100), 0);
	add_mapping(&m, 2, 14, 2, 0, 200);
	assert_int_equal(mappings_generation(m, 199), 0);
	assert_int_equal(mappings_generation(m, 200), 1);

	assert_ptr_equal(at(m, 14, 150)->image, images[1]);
	assert_ptr_equal(at(m, 14, 250)->image, images[2]);
	assert_ptr_equal(at(m, 11, 250)->image, images[1]);
	assert_ptr_equal(at(m, 18, 250)->image, images[1]);
	assert_int_equal(at(m, 18, 250)->offset, 6 * PAGE);
	assert_null(at(m, 9, 250));
	assert_null(at(m, 20, 250));
}

static void test_agreeing_mappings_merge(void **state)
{
	cleanup(mappings_unrefp) struct mappings *m = NULL;
	size_t n;

	(void)state;
	assert_int_equal(mappings_new(&m), 0);
	add_mapping(&m, 1, 10, 10, 5, 1);
	add_mapping(&m, 1, 12, 2, 7, 2); /* the same file at the same distance */
	add_mapping(&m, 0, 100, 2, 0, 3);
	add_mapping(&m, 0, 102, 2, 0, 4); /* a JIT's neighbouring pages */
	add_mapping(&m, 0, 101, 2, 0, 5); /* and its toggling */
	assert_int_equal(mappings_generation(m, 10), 0);
	mappings_all(m, &n);
	assert_int_equal(n, 2);
	assert_int_equal(at(m, 12, 10)->offset, 5 * PAGE);
	assert_int_equal(at(m, 100, 10)->end, 104 * PAGE);
}

static void test_shared_tables_are_never_changed(void **state)
{
	cleanup(mappings_unrefp) struct mappings *parent = NULL, *child = NULL;

	(void)state;
	assert_int_equal(mappings_new(&parent), 0);
	add_mapping(&parent, 1, 10, 10, 0, 1);
	child = mappings_ref(parent);
	add_mapping(&child, 2, 10, 10, 0, 2);
	assert_ptr_not_equal(parent, child);
	assert_ptr_equal(at(parent, 12, 5)->image, images[1]);
	assert_ptr_equal(at(child, 12, 5)->image, images[2]);
	assert_ptr_equal(at(child, 12, 1)->image, images[1]);
}

/* What is not kept for lack of room still ends what it replaced: no address gets a wrong name. */
static void test_a_refused_mapping_ends_what_it_replaces(void **state)
{
	const struct mapping over = {.start = 12 * PAGE, .end = 14 * PAGE, .image = images[2]};
	const struct mapping known = {
		.start = 16 * PAGE, .end = 17 * PAGE, .offset = 6 * PAGE, .image = images[1]};
	const struct mapping apart = {.start = 90 * PAGE, .end = 91 * PAGE, .image = images[2]};
	cleanup(mappings_unrefp) struct mappings *m = NULL;

	(void)state;
	assert_int_equal(mappings_new(&m), 0);
	add_mapping(&m, 1, 10, 10, 0, 1);
	assert_int_equal(mappings_add(&m, &known, 2, true), MAPPINGS_E_OK);
	assert_int_equal(mappings_add(&m, &apart, 3, true), MAPPINGS_E_FULL);
	assert_int_equal(mappings_generation(m, 10), 0);
	assert_int_equal(mappings_add(&m, &over, 4, true), MAPPINGS_E_FULL);
	assert_null(at(m, 13, 5));
	assert_ptr_equal(at(m, 13, 3)->image, images[1]);
	assert_ptr_equal(at(m, 11, 5)->image, images[1]);
	assert_ptr_equal(at(m, 15, 5)->image, images[1]);
}

/* Random mappings of files; every page is asked for at every moment. */
static void test_against_a_model(void **state)
{
	enum { N_PAGES = 40, N_STEPS = 60 };

	(void)state;
	for (unsigned round = 0; round < 50; round++) {
		cleanup(mappings_unrefp) struct mappings *m = NULL;
		struct {
			struct image *image;
			uint64_t offset;
		} model[N_STEPS + 1][N_PAGES] = {};

		assert_int_equal(mappings_new(&m), 0);
		srand(round);
		for (unsigned step = 1; step <= N_STEPS; step++) {
			uint64_t page = (uint64_t)(rand() % N_PAGES);
			uint64_t n = 1 + (uint64_t)rand() % (N_PAGES - page);
			unsigned image = 1 + (unsigned)rand() % (N_IMAGES - 1);
			uint64_t offset = (uint64_t)(rand() % 3);

			memcpy(model[step], model[step - 1], sizeof(model[step]));
			for (uint64_t p = page; p < page + n; p++) {
				model[step][p].image = images[image];
				model[step][p].offset = (offset + p - page) * PAGE;
			}
			add_mapping(&m, image, page, n, offset, step);
		}
		for (unsigned step = 1; step <= N_STEPS; step++) {
			for (uint64_t p = 0; p < N_PAGES; p++) {
				const struct mapping *found = at(m, p, step);
				unsigned then = step;

				/* munmap is not told: what came first is valid from the start. */
				while (!model[then][p].image && then < N_STEPS)
					then++;
				if (!model[then][p].image) {
					assert_null(found);
					continue;
				}
				if (!found && then != step)
					continue;
				assert_non_null(found);
				assert_ptr_equal(found->image, model[then][p].image);
				assert_int_equal(found->offset + (p * PAGE - found->start),
						 model[then][p].offset);
			}
		}
	}
}

static void test_the_version_tells_of_changes(void **state)
{
	cleanup(mappings_unrefp) struct mappings *parent = NULL, *child = NULL;
	const struct mapping *open;
	uint32_t version;
	size_t n;

	(void)state;
	assert_int_equal(mappings_new(&parent), 0);
	add_mapping(&parent, 1, 10, 10, 0, 1);
	version = mappings_version(parent);
	add_mapping(&parent, 1, 12, 2, 2, 2); /* says nothing new */
	assert_int_equal(mappings_version(parent), version);
	child = mappings_ref(parent);
	add_mapping(&child, 2, 14, 2, 0, 3);
	assert_true(mappings_version(child) > version);
	assert_int_equal(mappings_version(parent), version);
	open = mappings_get_open(child, &n);
	assert_int_equal(n, 3);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(open[i].until, GENERATION_OPEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_replacing_raises_the_generation, make_images,
						free_images),
		cmocka_unit_test_setup_teardown(test_agreeing_mappings_merge, make_images,
						free_images),
		cmocka_unit_test_setup_teardown(test_shared_tables_are_never_changed, make_images,
						free_images),
		cmocka_unit_test_setup_teardown(test_a_refused_mapping_ends_what_it_replaces,
						make_images, free_images),
		cmocka_unit_test_setup_teardown(test_the_version_tells_of_changes, make_images,
						free_images),
		cmocka_unit_test_setup_teardown(test_against_a_model, make_images, free_images),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
