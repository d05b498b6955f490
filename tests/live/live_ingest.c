/* SPDX-License-Identifier: MIT */
/*
 * The sources as a whole: with root's privileges and with profd's, recorded and replayed. Their
 * parts are tested by live_ingest_*.c. Needs root (or the capabilities that profd has) and a kernel
 * with BTF. Nothing is skipped: what the machine cannot do fails.
 *
 * With the argument "smoke" or "smoke-perf" it only takes some samples: this is how it runs itself
 * as an unprivileged user with some capabilities. Any other argument is a pattern of test names.
 */
#include "tests/live/ingest.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- some samples ------------------------------------------------------------------------------
 */

/* An idle machine has no samples to give. */
static bool measure_smoke(const void *argument)
{
	const struct maker *maker = argument;
	pid_t pid = start_spinner(0);
	struct rig rig;

	rig_open(&rig, maker->make, NULL);
	rig.c.watched = pid;
	rig_sample(&rig, 999, true);
	assert_int_equal(system("true"), 0);
	rig_run_cpu(&rig, pid, 200);
	print_message("smoke: %" PRIu64 " samples, %" PRIu64 " with copies of stacks, memory "
		      "%" PRIu64 " KiB\n",
		      rig.c.n_samples, rig.c.n_copied, source_memory_bytes(rig.source) / 1024);
	rig_finish(&rig);
	stop_process(pid);
	return MET(rig.c.n_samples > 20) && MET(rig.c.n_events[PROCESS_EVENT_EXEC] > 0) &&
	       (maker->make == source_bpf_new || MET(rig.c.n_copied > 20));
}

static void test_smoke(void **state)
{
	(void)state;
	assert_measured(measure_smoke, &by_bpf);
}

static void test_smoke_perf(void **state)
{
	(void)state;
	assert_measured(measure_smoke, &by_perf);
}

static void run_as_nobody(const char *capabilities, const char *what, bool succeeds)
{
	char self[4096], command[8192];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	assert_true(n > 0);
	self[n] = '\0';
	snprintf(command, sizeof(command),
		 "setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps -all%s "
		 "--ambient-caps -all%s %s %s%s",
		 capabilities, capabilities, self, what, succeeds ? "" : " >/dev/null 2>&1");
	if (succeeds)
		assert_int_equal(system(command), 0);
	else
		assert_int_not_equal(system(command), 0);
}

static void test_capabilities(void **state)
{
	(void)state;
	run_as_nobody(",+bpf,+perfmon,+sys_ptrace", "smoke", true);
	run_as_nobody("", "smoke", false);
	/* Also where the memory of rings is limited. */
	run_as_nobody(",+perfmon", "smoke-perf", true);
	run_as_nobody("", "smoke-perf", false);
}

/* --- the replay of a recording hands out what was recorded, byte for byte ----------------------
 */

struct journal {
	uint64_t hash, n;
};

static void journal_add(struct journal *j, const void *data, size_t length)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < length; i++)
		j->hash = (j->hash ^ bytes[i]) * UINT64_C(0x100000001b3);
}

static void journal_sample(void *userdata, const struct sample *s)
{
	struct journal *j = userdata;
	struct sample copy = *s;

	j->n++;
	copy.frames = NULL;
	journal_add(j, &copy, offsetof(struct sample, comm));
	journal_add(j, copy.comm, sizeof(copy.comm));
	journal_add(j, &copy.n_kernel, sizeof(copy.n_kernel));
	journal_add(j, s->frames, s->n_frames * sizeof(*s->frames));
}

static void journal_event(void *userdata, const struct process_event *e)
{
	struct journal *j = userdata;
	struct process_event copy = *e;

	j->n++;
	copy.map.path = NULL;
	journal_add(j, &copy.kind, sizeof(copy.kind));
	journal_add(j, &copy.time_ns, sizeof(copy.time_ns));
	journal_add(j, &copy.pid, sizeof(copy.pid));
	journal_add(j, &copy.map.start, sizeof(copy.map.start));
	if (e->map.path)
		journal_add(j, e->map.path, strlen(e->map.path));
}

/* Recorders take finished samples. */
struct finisher {
	const struct source_sink *next;
	uint64_t n;
};

static void finish_sample(void *userdata, const struct sample *s)
{
	struct finisher *f = userdata;
	uint64_t frames[SAMPLE_FRAMES_MAX], user[SAMPLE_FRAMES_MAX];
	struct sample finished = *s;
	uint32_t n = user_frames(s, user);

	if (n > SAMPLE_FRAMES_MAX - s->n_kernel)
		n = SAMPLE_FRAMES_MAX - s->n_kernel;
	memcpy(frames, s->frames, s->n_kernel * sizeof(*frames));
	memcpy(frames + s->n_kernel, user, n * sizeof(*frames));
	f->n += s->rest != NULL;
	finished.rest = NULL;
	/* A replay asks nobody who may look into a process. */
	finished.owner_known = finished.only_uid = false;
	finished.uid = 0;
	finished.frames = frames;
	finished.n_frames = s->n_kernel + n;
	f->next->sample(f->next->userdata, &finished);
}

static void pass_event(void *userdata, const struct process_event *e)
{
	const struct finisher *f = userdata;

	f->next->process_event(f->next->userdata, e);
}

static bool measure_replay(const void *argument)
{
	const struct maker *maker = argument;
	struct journal live = {0}, replayed = {0};
	const struct source_sink live_sink = {journal_sample, journal_event, &live};
	const struct source_sink replay_sink = {journal_sample, journal_event, &replayed};
	struct finisher finisher = {0};
	const struct source_sink finishing = {finish_sample, pass_event, &finisher};
	struct source_options options = {
		.sink = &finishing,
		.exclude_self = true,
		.drain_ms = 100,
	};
	struct source_message message;
	struct sampler_spec spec = spec_at(999, true);
	struct recorder *recorder;
	struct rig rig;
	pid_t pid = start_spinner(1);
	int fd = memfd_create("recording", MFD_CLOEXEC);
	int copy = dup(fd), r;

	assert_int_equal(recorder_new(&recorder, fd, &live_sink), 0);
	finisher.next = recorder_sink(recorder);
	rig_open(&rig, maker->make, &options);
	rig_sample(&rig, 999, true);
	recorder_sampler(recorder, rig.sampler, &spec);
	rig_run_cpu(&rig, pid, 800);
	source_free(rig.source);
	assert_int_equal(recorder_close(recorder), 0);
	stop_process(pid);

	lseek(copy, 0, SEEK_SET);
	options.sink = &replay_sink;
	assert_int_equal(source_replay_new(&rig.source, &options, copy, &message), SOURCE_E_OK);
	rig_sample(&rig, 999, true);
	do {
		r = source_drain(rig.source, 100);
	} while (r == SOURCE_E_MORE);
	assert_int_equal(r, SOURCE_E_END);
	assert_null(source_replay_warning(rig.source));
	assert_int_equal(live.n, replayed.n);
	assert_int_equal(live.hash, replayed.hash);
	source_free(rig.source);
	return MET(live.n > 500) && MET(finisher.n > 100);
}

static void test_replay(void **state)
{
	(void)state;
	assert_measured(measure_replay, &by_bpf);
	assert_measured(measure_replay, &by_perf);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_smoke),
		cmocka_unit_test(test_smoke_perf),
		cmocka_unit_test(test_replay),
		cmocka_unit_test(test_capabilities),
	};
	const struct CMUnitTest smoke[] = {cmocka_unit_test(test_smoke)};
	const struct CMUnitTest smoke_perf[] = {cmocka_unit_test(test_smoke_perf)};

	if (argc > 1 && strcmp(argv[1], "smoke") == 0)
		return cmocka_run_group_tests(smoke, NULL, NULL);
	if (argc > 1 && strcmp(argv[1], "smoke-perf") == 0)
		return cmocka_run_group_tests(smoke_perf, NULL, NULL);
	return RUN_TESTS(argc, argv, tests);
}
