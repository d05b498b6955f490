/* SPDX-License-Identifier: MIT */
#include "client/gateway/view/view_serve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "client/gateway/view/answer.h"
#include "client/gateway/view/exported.h"
#include "client/gateway/view/flat.h"
#include "client/gateway/view/merged.h"
#include "client/gateway/view/view_protocol.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/helper/confine.h"
#include "common/helper/enclose.h"
#include "common/helper/fd_packet.h"
#include "common/memory_text.h"
#include "common/sanitized.h"

#define FILES_MAX 16

/* What reading, folding and printing take. No path is named by any of these calls. */
static const struct confine_call view_calls[] = {
	CONFINE_ANY(brk),
	CONFINE_ANY(munmap),
	CONFINE_ANY(mremap),
	CONFINE_ANY(madvise),
	CONFINE_ANY(sysinfo),
	CONFINE_ANY(read),
	CONFINE_ANY(pread64),
	CONFINE_ANY(lseek),
	CONFINE_ANY(fstat),
	CONFINE_IF(recvmsg, CONFINE_IS(0, VIEW_SOCKET_FD)),
	CONFINE_IF(write, CONFINE_IS(0, VIEW_SOCKET_FD)),
	CONFINE_IF(close, CONFINE_AT_LEAST(0, VIEW_SOCKET_FD + 1)),
	CONFINE_ANY(clock_gettime),
	CONFINE_ANY(exit_group),
	CONFINE_ANY(futex),
	CONFINE_ANY(getrandom),
	/* Anonymous memory, not executable. */
	CONFINE_IF_BOTH(mmap, CONFINE_BITS(2, PROT_EXEC, 0),
			CONFINE_BITS(3, MAP_ANONYMOUS, MAP_ANONYMOUS)),
	/* Refused, where all others kill: the time zone, which has been read. */
	CONFINE_REFUSE(openat, EACCES),
	CONFINE_REFUSE(newfstatat, EACCES),
};

static int view_limit_resources(void)
{
	const struct enclose_limit limits[] = {
		{RLIMIT_AS, IS_SANITIZED ? RLIM_INFINITY : VIEW_MEMORY_BYTES},
		{RLIMIT_CPU, VIEW_CPU_S},
		{RLIMIT_FSIZE, 0},
		{RLIMIT_NOFILE, FILES_MAX},
		{RLIMIT_NPROC, 0},
		{RLIMIT_CORE, 0},
		{RLIMIT_MEMLOCK, 0},
		{RLIMIT_MSGQUEUE, 0},
	};

	return enclose_limit_resources(limits, ARRAY_SIZE(limits));
}

static int view_enclose(void)
{
	const struct confine_table table = {view_calls, ARRAY_SIZE(view_calls)};
	cleanup(confine_filter_freep) struct confine_filter *filter = NULL;
	int r;

	tzset();
	enclose_offer_to_end();
	/* The filter is compiled into a file. */
	r = confine_compile(&filter, &table, 1, SCMP_ACT_KILL_PROCESS)
		    ?: view_limit_resources()
		    ?: enclose_deny_files();
	return r ? r : error_origin(confine_enter(filter));
}

static bool view_write(int socket, const void *data, size_t length)
{
	for (size_t done = 0; done < length;) {
		ssize_t n = write(socket, (const char *)data + done, length - done);

		if (n < 0 && errno != EINTR)
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

static bool view_send(int socket, uint32_t status, const char *text, size_t length)
{
	const struct view_answer header = {VIEW_MAGIC, status, length};

	return view_write(socket, &header, sizeof(header)) && view_write(socket, text, length);
}

static int view_write_answer(const struct view_request *request, const int *files,
			     struct memory_text *ret, struct answer_message *message)
{
	switch (request->task) {
	case VIEW_MERGE:
		return merged_write(&request->merge, files[0], ret, message);
	case VIEW_FLAT:
		return flat_write(files[0], ret->out, message);
	case VIEW_EXPORT:
		return exported_write(&request->export, files[0], ret->out, message);
	default:
		return answer_write(request, files, ret->out, message);
	}
}

static bool view_answer_request(int socket, const struct view_request *request, const int *files)
{
	cleanup(memory_text_deinit) struct memory_text text = {0};
	struct answer_message message = {0};
	int r = memory_text_open(&text) ?: view_write_answer(request, files, &text, &message);

	r = r ?: memory_text_close(&text);
	if (r < 0)
		snprintf(message.text, sizeof(message.text), "this profile is too large");
	else if (!r && text.length > view_answer_max(request->task))
		snprintf(message.text, sizeof(message.text), "the answer is too long");
	if (*message.text)
		return view_send(socket, r > 0 ? (uint32_t)r : 503, message.text,
				 strlen(message.text));
	return view_send(socket, 200, text.text, text.length);
}

/* A stream's piece: what is sent at once on a socket pair may arrive in several. */
static bool view_receive(int socket, struct view_request *ret, struct fd_packet *files)
{
	size_t length = 0;

	while (length < sizeof(*ret)) {
		struct fd_packet piece;

		if (fd_packet_receive(socket, (char *)ret + length, sizeof(*ret) - length, 0,
				      &piece) ||
		    !piece.length)
			return false;
		if (!length)
			*files = piece;
		length += piece.length;
	}
	return ret->magic == VIEW_MAGIC && ret->n_files && ret->n_files == files->n_fds;
}

_Noreturn void view_serve(int socket)
{
	struct view_request request;
	struct fd_packet files;
	bool is_done;

	if (view_enclose() < 0)
		_exit(EXIT_FAILURE);
	is_done = view_receive(socket, &request, &files) &&
		  view_answer_request(socket, &request, files.fds);
	_exit(is_done ? EXIT_SUCCESS : EXIT_FAILURE);
}
