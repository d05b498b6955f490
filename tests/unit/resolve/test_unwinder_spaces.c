/* SPDX-License-Identifier: MIT */
/* What the kernel's walks are told of processes' mappings, as scripted events go by. */
#include "tests/unit/resolve/spaces_fixture.h"

#include "daemon/resolve/unwinder_private.h"

static void test_a_program_is_published_after_the_drain(void **state)
{
	struct host *h = *state;
	const struct unwind_mapping *first, *second;
	const struct unwind_root *root;

	program(h, 5);
	assert_null(root_of(h->f, 5));
	drain(h);
	root = root_of(h->f, 5);
	assert_non_null(root);
	assert_int_equal(root->n, 2);
	assert_int_equal(root->until_ns, h->f->until_ns);
	first = mapping_of(h, 5, 0);
	second = mapping_of(h, 5, 1);
	assert_int_equal(first->start, BASE);
	assert_int_equal(first->end, BASE + 4 * 4096);
	assert_int_equal(second->start, BASE + 100 * 4096);
	assert_int_not_equal(first->image, 0);
	assert_int_not_equal(first->slot, second->slot);
	assert_int_equal(h->f->host.slots[first->slot].state, TABLE_REFUSED);
	/* Nothing new: nothing is published. */
	drain(h);
	map_of(h, 5, 101, 2, 12);
	send(h, (struct process_event){.kind = PROCESS_EVENT_COMM, .pid = 5, .comm = "y"});
	drain(h);
	assert_int_equal(h->f->n_publish, 1);
	/* Anonymous code: an address, by frame pointers. */
	send(h, (struct process_event){
			.kind = PROCESS_EVENT_MMAP,
			.pid = 5,
			.map = {.start = BASE + 50 * 4096, .length = 4096, .path = "//anon"}});
	drain(h);
	assert_int_equal(h->f->n_publish, 2);
	assert_int_equal(root_of(h->f, 5)->n, 3);
	assert_int_equal(mapping_of(h, 5, 1)->image, 0);
	assert_int_equal(mapping_of(h, 5, 1)->slot, SLOT_NONE);
}

/* Which mapping is an interpreter's is told as soon as it is known, of all that have it. */
static void test_interpreters_are_told(void **state)
{
	struct host *h = *state;
	const struct mapping *mappings;
	size_t n;

	program(h, 5);
	drain(h);
	fork_of(h, 5, 6);
	drain(h);
	exec_of(h, 7);
	map_of(h, 7, 0, 4, 11);
	drain(h);
	assert_int_equal(root_of(h->f, 5)->runtime, 0);
	mappings = mappings_get_open(process_table_living(h->f->processes, 5)->mappings, &n);
	mappings[1].image->is_interpreter = true;
	spaces_see_interpreter(h->f->unwinder, mapping_of(h, 5, 1)->image);
	drain(h);
	assert_int_equal(root_of(h->f, 5)->runtime, 2);
	assert_int_equal(root_of(h->f, 6)->runtime, 2);
	assert_int_equal(root_of(h->f, 7)->runtime, 0);
	/* Loaded late. */
	map_of(h, 7, 100, 8, 12);
	drain(h);
	assert_int_equal(root_of(h->f, 7)->runtime, 2);
}

static void test_unsampled_ones_wait_for_their_tables(void **state)
{
	struct host *h = *state;

	program(h, 5);
	map_of(h, 5, 200, 2, 0);
	drain(h);
	assert_null(root_of(h->f, 5));
	assert_int_equal(h->f->n_publish, 0);
	/* The first sample, in the vdso. Settled: its table was loaded for it. */
	sample_of(h, 5, 200, 0);
	drain(h);
	assert_non_null(root_of(h->f, 5));
	assert_int_equal(stats_of(h->f).tables_loaded, 1);
	/* Now that it is there, another program needs no sample. */
	program(h, 6);
	map_of(h, 6, 300, 2, 0);
	drain(h);
	assert_non_null(root_of(h->f, 6));
	assert_int_equal(mapping_of(h, 6, 2)->slot, mapping_of(h, 5, 2)->slot);
}

static void test_children_share(void **state)
{
	struct host *h = *state;
	uint32_t first;

	program(h, 5);
	drain(h);
	first = root_of(h->f, 5)->first;
	for (pid_t pid = 20; pid < 100; pid++)
		fork_of(h, 5, pid);
	drain(h);
	for (pid_t pid = 20; pid < 100; pid++)
		assert_int_equal(root_of(h->f, pid)->first, first);
	/* One of them changes, the parent goes: the others keep what they have. */
	map_of(h, 20, 300, 1, 13);
	exit_of(h, 5);
	drain(h);
	assert_null(root_of(h->f, 5));
	assert_int_equal(root_of(h->f, 20)->n, 3);
	assert_int_not_equal(root_of(h->f, 20)->first, first);
	later(h, 2);
	program(h, 6);
	map_of(h, 6, 300, 1, 14);
	drain(h);
	assert_int_equal(root_of(h->f, 21)->first, first);
	assert_int_equal(mapping_of(h, 21, 1)->start, BASE + 100 * 4096);
	assert_int_not_equal(root_of(h->f, 6)->first, first);
}

static void test_exec_begins_anew(void **state)
{
	struct host *h = *state;

	program(h, 5);
	drain(h);
	exec_of(h, 5);
	map_of(h, 5, 400, 1, 15);
	drain(h);
	assert_int_equal(root_of(h->f, 5)->n, 1);
	assert_int_equal(mapping_of(h, 5, 0)->start, BASE + 400 * 4096);
}

static void test_a_void_root_is_renewed(void **state)
{
	struct host *h = *state;
	uint64_t until;

	program(h, 5);
	drain(h);
	sample_of(h, 5, 0, h->now); /* the first, which may publish more than there was */
	drain(h);
	until = root_of(h->f, 5)->until_ns;
	sample_of(h, 5, 0, until); /* walked, to some end */
	drain(h);
	assert_int_equal(root_of(h->f, 5)->until_ns, until);
	sample_of(h, 5, 0, 0); /* not walked */
	drain(h);
	assert_int_equal(root_of(h->f, 5)->until_ns, h->f->until_ns);
	assert_true(h->f->until_ns > until);
}

static void test_unstable_ones_are_withdrawn(void **state)
{
	struct host *h = *state;

	program(h, 5);
	drain(h);
	map_of(h, 5, 102, 2, 77); /* in place of half of what was there */
	assert_null(root_of(h->f, 5));
	drain(h);
	sample_of(h, 5, 0, 0);
	later(h, 5);
	assert_null(root_of(h->f, 5));
	later(h, 6);
	sample_of(h, 5, 0, 0);
	drain(h);
	assert_non_null(root_of(h->f, 5));
	assert_int_equal(root_of(h->f, 5)->n, 4);
	/* Its children were born with whatever it had. */
	fork_of(h, 5, 8);
	drain(h);
	assert_non_null(root_of(h->f, 8));
	map_of(h, 5, 102, 2, 78);
	fork_of(h, 5, 9);
	h->f->roots[h->f->n_roots++] = (struct unwind_root){.pid = 9}; /* not withdrawn yet */
	drain(h);
	assert_non_null(root_of(h->f, 8));
	assert_null(root_of(h->f, 9));
}

/* The kernel walked by mappings that a record of a moment ago has replaced. */
static void test_stale_walks_are_cut(void **state)
{
	struct host *h = *state;
	uint64_t frames[4] = {UINT64_C(0xffffffff81000000)}, until;
	struct sample sample = {.pid = 5, .tid = 5, .n_kernel = 1, .n_frames = 4};

	program(h, 5);
	drain(h);
	until = root_of(h->f, 5)->until_ns;
	frames[1] = frame_in_image(mapping_of(h, 5, 0)->image, 8);
	frames[2] = frame_in_image(mapping_of(h, 5, 1)->image, 103 * 4096);
	frames[3] = frame_in_image(mapping_of(h, 5, 0)->image, 16);
	sample.frames = frames;
	sample.walked_until_ns = until;
	map_of(h, 5, 102, 2, 77);

	/* Before the replacement: nothing wrong. */
	sample.time_ns = h->now - 500;
	deliver(h->f, &sample);
	assert_int_equal(h->f->got->sample.quality, STACK_COMPLETE);
	assert_int_equal(h->f->got->sample.n_frames, 4);
	/* After it, frame 2 is in code that is not there any more. */
	sample.time_ns = h->now + 500;
	deliver(h->f, &sample);
	assert_int_equal(h->f->got->sample.quality, STACK_BROKEN);
	assert_int_equal(h->f->got->sample.reason, BROKEN_STALE);
	assert_int_equal(h->f->got->sample.n_frames, 2);
	assert_int_equal(h->f->got->frames[1], frames[1]);
	assert_int_equal(stats_of(h->f).stale, 1);
	/* By newer mappings: so it was. */
	sample.walked_until_ns = h->now;
	deliver(h->f, &sample);
	assert_int_equal(h->f->got->sample.n_frames, 4);
	/* Others are no worse for it. */
	program(h, 6);
	sample.pid = sample.tid = 6;
	sample.walked_until_ns = until;
	sample.time_ns = h->now + 500;
	deliver(h->f, &sample);
	assert_int_equal(h->f->got->sample.n_frames, 4);
	assert_int_equal(stats_of(h->f).stale, 1);
}

static void test_after_losses_all_are_published_again(void **state)
{
	struct host *h = *state;

	program(h, 5);
	program(h, 6);
	drain(h);
	assert_int_equal(h->f->n_publish, 2);
	send(h, (struct process_event){.kind = PROCESS_EVENT_LOST, .lost = 3});
	drain(h);
	assert_int_equal(h->f->n_publish, 2);
	assert_int_equal(process_table_scan(h->f->processes, unwinder_sink(h->f->unwinder)), 0);
	drain(h);
	assert_int_equal(h->f->n_publish, 4);
	assert_int_equal(root_of(h->f, 5)->until_ns, h->f->until_ns);
}

/* Its birth was lost: it has a share in a run, and nobody knows. */
static void test_after_losses_strange_roots_go(void **state)
{
	struct host *h = *state;

	program(h, 5);
	drain(h);
	send(h, (struct process_event){.kind = PROCESS_EVENT_LOST, .lost = 1});
	assert_int_equal(process_table_scan(h->f->processes, unwinder_sink(h->f->unwinder)), 0);
	program(h, 9);
	map_of(h, 9, 200, 2, 0); /* its table is not there: not published yet */
	h->f->roots[h->f->n_roots] = *root_of(h->f, 5);
	h->f->roots[h->f->n_roots++].pid = 9;
	drain(h);
	assert_non_null(root_of(h->f, 5));
	assert_null(root_of(h->f, 9));
}

static void test_processes_from_before(void **state)
{
	struct host *h = *state;
	struct fixture *f = h->f;
	struct process_event event = {
		.kind = PROCESS_EVENT_EXEC, .pid = 5, .tid = 5, .time_ns = h->now};

	/* Not through the unwinder, and it has no host yet. */
	unwinder_detach(f->unwinder);
	assert_int_equal(process_table_apply(f->processes, &event), 0);
	program(h, 6);
	assert_int_equal(unwinder_attach(f->unwinder, &f->host, h->now), 0);
	map_of(h, 5, 0, 1, 11);
	drain(h);
	assert_non_null(root_of(f, 5));
	assert_non_null(root_of(f, 6));
}

/* Every root of the host says what the process's mappings are. */
static void check_roots(struct host *h)
{
	struct fixture *f = h->f;

	for (unsigned i = 0; i < f->n_roots; i++) {
		const struct unwind_root *root = &f->roots[i];
		struct process *p = process_table_living(f->processes, (pid_t)root->pid);
		const struct mapping *open;
		size_t n;

		assert_non_null(p);
		open = mappings_get_open(p->mappings, &n);
		assert_int_equal(root->n, n);
		for (size_t k = 0; k < n; k++) {
			const struct unwind_mapping *m = &f->host.mappings[root->first + k];

			assert_int_equal(m->start, open[k].start);
			assert_int_equal(m->end, open[k].end);
			assert_int_equal(m->offset, open[k].offset);
			assert_int_equal(m->image, open[k].image->id);
			assert_int_not_equal(m->slot, SLOT_NONE);
		}
	}
}

/* Which of the script's processes live, before profd hears of it: they alone do something. */
#define PID_FIRST 100
#define PIDS      60

struct random_world {
	struct host *h;
	bool lives[PIDS];
	bool is_busy; /* withdrawals fail for a while */
	bool is_slow; /* drains are held up for seconds */
	pid_t youngest;
};

static pid_t any_pid(void)
{
	return PID_FIRST + rand() % PIDS;
}

/* Born of init, which nobody knows here. */
static void begin_program(struct random_world *w, pid_t pid)
{
	if (!w->lives[pid - PID_FIRST])
		fork_of(w->h, 1, pid);
	w->lives[pid - PID_FIRST] = true;
	program(w->h, pid);
}

static void try_fork(struct random_world *w, pid_t pid, pid_t child)
{
	if (!w->lives[pid - PID_FIRST] || w->lives[child - PID_FIRST])
		return;
	w->lives[child - PID_FIRST] = true;
	w->youngest = child;
	fork_of(w->h, pid, child);
}

static void act(struct random_world *w)
{
	pid_t pid = any_pid();
	bool *lives = &w->lives[pid - PID_FIRST];

	switch (rand() % 8) {
	case 0:
		begin_program(w, pid);
		break;
	case 1:
	case 2:
	case 3:
		try_fork(w, pid, any_pid());
		break;
	case 4:
	case 5:
		if (*lives)
			exit_of(w->h, pid);
		*lives = false;
		break;
	default:
		if (*lives)
			map_of(w->h, pid, (uint64_t)rand() % 400, 1 + (uint64_t)rand() % 3,
			       20 + (uint64_t)rand() % 40);
	}
}

/* Children, and often children of them. */
static void fork_again(struct random_world *w)
{
	try_fork(w, rand() % 2 && w->youngest ? w->youngest : any_pid(), any_pid());
}

/* While a drain delivers. */
static void act_during_drain(struct host *h)
{
	struct random_world *w = h->userdata;

	if (rand() % 4 == 0)
		act(w);
	if (rand() % 2)
		fork_again(w);
	if (rand() % (w->is_slow ? 8 : 64) == 0)
		h->now += (uint64_t)rand() % 3000 * (SECOND / 1000);
}

/* While roots are published and withdrawn. */
static void act_during_round(void *userdata)
{
	struct random_world *w = userdata;

	if (rand() % 2)
		fork_again(w);
}

static void random_drain(struct random_world *w)
{
	struct host *h = w->h;

	if (w->is_busy && rand() % 8 == 0)
		h->f->n_withdraw_full = (unsigned)rand() % 40;
	slow_drain(h, w->is_slow ? (uint64_t)rand() % 2000 * (SECOND / 1000) : 0);
	if (!h->is_late)
		check_roots(h);
	check_mappings_of_roots(h->f);
}

static void random_sample(struct random_world *w)
{
	pid_t pid = any_pid();

	if (w->lives[pid - PID_FIRST] && process_table_living(w->h->f->processes, pid))
		sample_of(w->h, pid, (uint64_t)rand() % 400, rand() % 2 ? w->h->f->until_ns : 0);
}

static void all_exit(struct random_world *w)
{
	struct host *h = w->h;

	h->meanwhile = NULL;
	h->f->meanwhile = NULL;
	h->f->n_withdraw_full = 0;
	for (unsigned i = 0; i < PIDS; i++)
		if (w->lives[i])
			exit_of(h, PID_FIRST + (pid_t)i);
	later(h, 3);
	assert_int_equal(h->f->n_roots, 0);
}

static void run_random(struct random_world *w, unsigned n)
{
	struct host *h = w->h;
	uint64_t swept = h->now;

	for (unsigned i = 0; i < n; i++) {
		switch (rand() % 12) {
		case 0:
			random_sample(w);
			break;
		case 1:
			random_drain(w);
			break;
		default:
			act(w);
		}
		if (h->now > swept + SECOND) {
			swept = h->now;
			process_table_sweep(h->f->processes, swept);
			assert_int_equal(unwinder_sweep(h->f->unwinder, swept), 0);
		}
		if (rand() % 400 == 0)
			later(h, 12);
	}
	assert_true(stats_of(h->f).published > n / 60);
	all_exit(w);
}

static void test_random(void **state)
{
	struct random_world w = {.h = *state};

	srand(3);
	run_random(&w, 60000);
}

/*
 * Much of what is to be withdrawn is not, for a while; events come late, and while they are
 * delivered and answered life goes on. SPACES_SEEDS=N tries more worlds than are tried by default.
 */
static void test_random_with_a_busy_hash(void **state)
{
	unsigned n_seeds = getenv("SPACES_SEEDS") ? (unsigned)atoi(getenv("SPACES_SEEDS")) : 12;
	unsigned n_reused = 0;

	(void)state;
	for (unsigned seed = 1; seed <= n_seeds; seed++) {
		struct random_world w = {.is_busy = seed % 3 > 0, .is_slow = seed % 2};
		void *own;

		set_up(&own);
		w.h = own;
		w.h->is_late = true;
		w.h->userdata = &w;
		w.h->meanwhile = act_during_drain;
		w.h->f->meanwhile = act_during_round;
		w.h->f->meanwhile_userdata = &w;
		srand(seed);
		run_random(&w, 20000);
		n_reused += w.h->f->n_reused;
		tear_down(&own);
	}
	/* Or there would be nothing to go wrong. */
	assert_true(n_reused > n_seeds * 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_program_is_published_after_the_drain, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_unsampled_ones_wait_for_their_tables, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_interpreters_are_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_children_share, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_exec_begins_anew, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_void_root_is_renewed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unstable_ones_are_withdrawn, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_stale_walks_are_cut, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_after_losses_all_are_published_again, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_after_losses_strange_roots_go, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_processes_from_before, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_random, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_random_with_a_busy_hash, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
