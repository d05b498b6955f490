/* SPDX-License-Identifier: MIT */
/* The oldest first, one of a service at a time. */
#include "client/gateway/export/queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define NOW 1000u

static struct queue *new_queue(void)
{
	struct queue *q = NULL;

	assert_int_equal(queue_new(&q), 0);
	return q;
}

static void add_window(struct queue *q, const char *service, unsigned minute)
{
	char path[128];

	snprintf(path, sizeof(path), "services/%s/20261121/20261121T14%02u00Z-60s.pb.gz", service,
		 minute);
	assert_int_equal(queue_add(q, path, 100, false), 0);
}

static void assert_taken(struct queue *q, const char *service, unsigned minute, struct queued **ret)
{
	*ret = queue_take(q, NOW);
	assert_non_null(*ret);
	assert_memory_equal((*ret)->place.service, service, (*ret)->place.service_length);
	assert_int_equal((*ret)->place.end_s, 1795269600 + 60 * (minute + 1));
}

static void test_in_turn(void **state)
{
	struct queue *q = new_queue();
	struct queued *a, *b, *again;

	(void)state;
	add_window(q, "b", 2);
	add_window(q, "a", 1);
	add_window(q, "a", 2);
	add_window(q, "a", 2);
	assert_int_equal(queue_length(q), 3);
	assert_int_equal(queue_bytes(q), 300);
	assert_int_equal(queue_oldest(q), 1795269600 + 120);
	assert_taken(q, "a", 1, &a);
	assert_taken(q, "b", 2, &b);
	assert_null(queue_take(q, NOW)); /* the second of a waits for the first */
	assert_int_equal(queue_first_waiting(q)->place.service_length, 1);
	queue_return(q, a, 0);
	assert_taken(q, "a", 1, &again);
	assert_ptr_equal(again, a);
	queue_remove(q, a);
	assert_taken(q, "a", 2, &a);
	queue_remove(q, a);
	queue_remove(q, b);
	assert_int_equal(queue_length(q), 0);
	assert_int_equal(queue_bytes(q), 0);
	queue_free(q);
}

/* One that failed lets other services' windows go before it, and none of its own service's. */
static void test_rest(void **state)
{
	struct queue *q = new_queue();
	struct queued *a, *b;

	(void)state;
	add_window(q, "a", 1);
	add_window(q, "a", 2);
	add_window(q, "b", 1);
	add_window(q, "b", 2);
	assert_taken(q, "a", 1, &a);
	assert_int_equal(queue_next(q), 0);
	queue_return(q, a, NOW + 2);
	assert_int_equal(queue_next(q), NOW + 2);
	assert_ptr_equal(queue_first_waiting(q), a);
	assert_taken(q, "b", 1, &b);
	assert_null(queue_take(q, NOW));
	queue_return(q, b, NOW + 1);
	assert_int_equal(queue_next(q), NOW + 1);
	assert_ptr_equal(queue_take(q, NOW + 1), b);
	assert_int_equal(b->rests_until_ns, 0);
	queue_remove(q, b);
	assert_taken(q, "b", 2, &b);
	queue_remove(q, b);
	assert_ptr_equal(queue_take(q, NOW + 2), a);
	queue_return(q, a, NOW + 9);
	queue_remove(q, a);
	assert_int_equal(queue_next(q), 0);
	assert_taken(q, "a", 2, &a);
	queue_free(q);
}

/* What was rolled up comes behind the windows that it is made of, the last one too. */
static void test_rolled_up(void **state)
{
	struct queue *q = new_queue();
	struct queued *w;

	(void)state;
	assert_int_equal(queue_add(q, "services/a/20261121/20261121T140000Z-3600s.pb.gz", 1, false),
			 0);
	add_window(q, "a", 59);
	add_window(q, "a", 58);
	assert_taken(q, "a", 58, &w);
	queue_remove(q, w);
	assert_taken(q, "a", 59, &w);
	assert_int_equal(w->place.window.seconds, 60);
	queue_remove(q, w);
	assert_taken(q, "a", 59, &w);
	assert_int_equal(w->place.window.seconds, 3600);
	queue_free(q);
}

static void test_strange_names(void **state)
{
	struct queue *q = new_queue();

	(void)state;
	assert_int_equal(queue_add(q, "", 1, false), 0);
	assert_int_equal(queue_add(q, "services/a/20261121/x", 1, false), 0);
	assert_int_equal(queue_add(q, "services//20261121/20261121T140000Z-60s.pb.gz", 1, false),
			 0);
	assert_int_equal(queue_length(q), 0);
	queue_free(q);
}

static void test_work_is_bounded(void **state)
{
	struct queue *q = new_queue();
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; i < 2 * QUEUE_BUSY_MAX; i++) {
		char service[16];

		snprintf(service, sizeof(service), "s%u", i);
		add_window(q, service, 1);
	}
	while (queue_take(q, NOW))
		n++;
	assert_int_equal(n, QUEUE_BUSY_MAX);
	assert_non_null(queue_first_waiting(q));
	queue_free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_turn),         cmocka_unit_test(test_rest),
		cmocka_unit_test(test_rolled_up),       cmocka_unit_test(test_strange_names),
		cmocka_unit_test(test_work_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
