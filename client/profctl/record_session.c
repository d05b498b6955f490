/* SPDX-License-Identifier: MIT */
/*
 * Tries the profd at the socket first; if it is not there, or may not sample what is wanted, a
 * private one is started for as long as the recording takes. What the first complained of is told
 * only if there is no other.
 */
#include "client/profctl/record_session.h"

#include <string.h>

#include "client/profctl/command.h"
#include "common/cleanup.h"
#include "common/error.h"

/* Not one of profctl's: whoever answers cannot sample what we want; a profd of our own might. */
#define STATUS_OTHER (-1)

/*
 * A source of programs that sample themselves has no events of the kernel's: so the command is made
 * to. Its processes are then all that a profd of our own knows; another's may know more.
 */
static int record_session_prepare(struct record_session *s, bool is_shim,
				  Profd__Control__Start *start)
{
	cleanup(freep) char *library = NULL;
	int r;

	if (!s->arguments->command) {
		if (is_shim && s->profd)
			return profctl_complain(
				&s->context, STATUS_DENIED,
				"you may not use perf events here, so only a COMMAND "
				"can be recorded; see profctl doctor");
		return STATUS_DONE;
	}
	if (is_shim && !s->profd)
		return STATUS_OTHER;
	r = is_shim ? command_preload(&s->context,
				      program_find(s->arguments->command[0], getenv("PATH")),
				      &library)
		    : STATUS_DONE;
	if (r)
		return r;
	r = launch_begin(&(struct launch){s->arguments->command, library,
					  library ? s->context.socket : NULL, s->mask, s->fds},
			 &s->command);
	if (r)
		return profctl_complain(&s->context, STATUS_FAILED, "%s", error_describe(r));
	start->number = s->command.pid;
	start->children = s->arguments->format != OUTPUT_LEGACY;
	if (is_shim)
		start->target = PROFD__CONTROL__TARGET_KIND__ALL;
	return STATUS_DONE;
}

static int open_session_at_socket(struct record_session *s)
{
	const struct record_arguments *a = s->arguments;
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	Profd__Control__Start start = PROFD__CONTROL__START__INIT;
	int r = call_status(&s->context, &response);

	if (r)
		return r;
	start.target = a->all        ? PROFD__CONTROL__TARGET_KIND__ALL
		       : *a->service ? PROFD__CONTROL__TARGET_KIND__SERVICE
				     : PROFD__CONTROL__TARGET_KIND__PID;
	start.number = a->pid;
	start.text = (char *)(uintptr_t)a->service;
	start.event = (char *)(uintptr_t)a->event;
	start.rate = a->frequency;
	start.name = (char[]){"record"};
	start.live = true;
	r = record_session_prepare(s, !strcmp(response->status->source, "shim"), &start);
	if (!r)
		r = held_start(&s->context, &start, &s->held);
	if (r)
		launch_cancel(&s->command);
	return r;
}

static int open_private_session(struct record_session *s)
{
	struct private_profd_message message;
	int r = private_profd_new(&s->profd, &message);

	if (r)
		return profctl_complain(&s->context, STATUS_FAILED,
					"cannot start a profd for the recording: %s",
					r > 0 ? message.text : error_describe(r));
	s->context.socket = private_profd_socket(s->profd);
	return open_session_at_socket(s);
}

int record_session_open(struct record_session *s)
{
	FILE *err = s->context.err, *said;
	cleanup(freep) char *text = NULL;
	size_t length;
	int r;

	s->held = HELD_NONE;
	s->command = LAUNCHED_NONE;
	/* What is wrong with one profd is not told if another one will do. */
	said = open_memstream(&text, &length);
	if (!said)
		return profctl_complain(&s->context, STATUS_FAILED, "no memory");
	s->context.err = said;
	r = open_session_at_socket(s);
	s->context.err = err;
	if (fclose(said))
		return profctl_complain(&s->context, STATUS_FAILED, "no memory");
	if ((r == STATUS_NO_DAEMON || r == STATUS_DENIED || r == STATUS_OTHER) &&
	    !s->context.named_socket)
		return open_private_session(s);
	if (r == STATUS_OTHER)
		return profctl_complain(&s->context, STATUS_FAILED,
					"the profd at %s samples only programs with libprofd.so",
					s->context.socket);
	fputs(text, err);
	return r;
}

void record_session_deinit(struct record_session *s)
{
	held_deinit(&s->held);
	launch_cancel(&s->command);
	private_profd_free(s->profd);
}

void record_session_count(const struct record_session *s, uint64_t *ret_counted)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	struct context quiet = s->context;

	quiet.err = NULL;
	if (call_status(&quiet, &response))
		return;
	for (size_t i = 0; i < response->status->n_sessions; i++)
		if (response->status->sessions[i]->id == s->held.id)
			*ret_counted = response->status->sessions[i]->counted;
}
