/* SPDX-License-Identifier: MIT */
/*
 * Between two requests there is a process or none; while one is_asked, it owes an answer. Each way
 * in which it can fail, a death included, leads to gateway_child_fail(): the process is ended, and
 * the next request starts another.
 */
#include "client/fetch/gateway_child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "client/fetch/fetcher.h"
#include "common/cleanup.h"
#include "common/error.h"
#include "common/program_path.h"
#include "common/text_print.h"
#include "common/utf8.h"

#define URLS_VARIABLE "DEBUGINFOD_URLS="

#define END_MS    2000
#define KILLED_MS 1000

_Static_assert(FETCH_SOCKET_FD == CHILD_FIRST_FD, "descriptors of the gateway");

int gateway_child_init(struct gateway_child *g, const char *mode,
		       const struct fetcher_options *options)
{
	int r;

	*g = (struct gateway_child){.mode = mode, .child = CHILD_NONE, .socket = -1};
	r = options->path ? text_copy(&g->path, options->path)
			  : program_path("PROFD_GATEWAY", "profd-gateway", &g->path);
	return r ?:
	       text_copy(&g->urls, options->urls) ?:
	       text_copy(&g->cache_directory, options->cache_directory);
}

void gateway_child_deinit(struct gateway_child *g)
{
	gateway_child_stop(g);
	free(g->path);
	free(g->urls);
	free(g->cache_directory);
}

/* All that says how a gateway with a cache directory works, but for its arguments. */
static const char *const kept[] = {
	"http_proxy=",    "https_proxy=",    "HTTPS_PROXY=",  "all_proxy=",
	"ALL_PROXY=",     "no_proxy=",       "NO_PROXY=",     "SSL_CERT_DIR=",
	"SSL_CERT_FILE=", "JOURNAL_STREAM=", "ASAN_OPTIONS=", "UBSAN_OPTIONS=",
};

/* Returns 0 or negative errno, which is the program's unless it is -ENOMEM. */
static int gateway_child_start(struct gateway_child *g)
{
	char *const argv[] = {(char *)(uintptr_t) "profd-gateway", (char *)(uintptr_t)g->mode,
			      (char *)(uintptr_t)(g->cache_directory ? "--cache-directory" : NULL),
			      g->cache_directory, NULL};
	static const int type = SOCK_SEQPACKET;
	cleanup(freep) char **environment = NULL;
	cleanup(freep) char *urls = NULL;

	if (g->urls && text_print(&urls, "%s%s", URLS_VARIABLE, g->urls))
		return -ENOMEM;
	return child_environment(&environment, g->cache_directory ? kept : NULL, ARRAY_SIZE(kept),
				 urls)
		       ?: child_start(&g->child,
				      &(struct child_program){
					      .path = g->path,
					      .argv = argv,
					      .environment = environment,
					      .sockets = &type,
					      .n_sockets = 1,
				      },
				      &g->socket);
}

/* Returns what waitpid(2) says of its end; 0: unknown. */
static int gateway_child_end(struct gateway_child *g)
{
	int status = 0;

	closep(&g->socket);
	g->socket = -1;
	g->is_asked = false;
	/* Where it became another user, and we may not signal that, the socket has to do. */
	if (!child_reap(&g->child, END_MS, &status)) {
		kill(g->child.pid, SIGKILL);
		(void)!child_reap(&g->child, KILLED_MS, &status);
	}
	closep(&g->child.pidfd);
	g->child = CHILD_NONE;
	return status;
}

void gateway_child_stop(struct gateway_child *g)
{
	(void)!gateway_child_end(g);
}

int gateway_child_fail(struct gateway_child *g, const char *what, char why[FETCH_TEXT_MAX])
{
	int status = gateway_child_end(g);

	if (WIFSIGNALED(status))
		snprintf(why, FETCH_TEXT_MAX, "profd-gateway was killed by signal %d",
			 WTERMSIG(status));
	else if (WIFEXITED(status) && WEXITSTATUS(status))
		snprintf(why, FETCH_TEXT_MAX, "profd-gateway ended with status %d",
			 WEXITSTATUS(status));
	else
		snprintf(why, FETCH_TEXT_MAX, "profd-gateway %s", what);
	return FETCHER_E_FAILED;
}

int gateway_child_send(struct gateway_child *g, const void *request, size_t size, const int *fds,
		       size_t n_fds, char why[FETCH_TEXT_MAX])
{
	int r = FETCHER_E_OK;

	if (g->is_asked)
		return error_origin(-EBUSY);
	for (unsigned attempt = 0; attempt < 2; attempt++) {
		if (!g->child.pid && (r = gateway_child_start(g))) {
			if (r == -ENOMEM)
				return error_origin(r);
			snprintf(why, FETCH_TEXT_MAX, "cannot start %.150s: %s", g->path,
				 strerrordesc_np(-r));
			return FETCHER_E_FAILED;
		}
		if (!fd_packet_send(g->socket, request, size, fds, n_fds, MSG_DONTWAIT)) {
			g->is_asked = true;
			return FETCHER_E_OK;
		}
		r = gateway_child_fail(g, "does not accept requests", why);
	}
	return r;
}

int gateway_child_receive(struct gateway_child *g, uint64_t until_ns, struct fetch_answer *ret,
			  struct fd_packet *ret_files, char why[FETCH_TEXT_MAX])
{
	ret_files->n_fds = 0;
	if (!g->is_asked) {
		snprintf(why, FETCH_TEXT_MAX, "nothing was asked");
		return FETCHER_E_FAILED;
	}
	if (!fd_packet_await(g->socket, until_ns))
		return gateway_child_fail(g, "does not answer", why);
	if (fd_packet_receive(g->socket, ret, sizeof(*ret), 0, ret_files))
		return gateway_child_fail(g, "ended without an answer", why);
	if (ret_files->length != sizeof(*ret) || ret->magic != FETCH_MAGIC ||
	    ret->outcome >= N_FETCH_OUTCOMES)
		return gateway_child_fail(g, "sent a malformed answer", why);
	g->is_asked = false;
	/* What servers say is nothing for somebody's terminal. */
	ret->text[sizeof(ret->text) - 1] = '\0';
	utf8_make_harmless(ret->text);
	return FETCHER_E_OK;
}
