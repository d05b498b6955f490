/* SPDX-License-Identifier: MIT */
/*
 * A gateway of our own serves the page; we give it its connections to profd, until a signal ends
 * us, or one of the two has gone. Whatever ends us ends it, and a profd of our own, which a store
 * has that none answers for. Files are made a store.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "client/profctl/arguments.h"
#include "client/profctl/call.h"
#include "client/profctl/web_files.h"
#include "client/record/private_dir.h"
#include "client/record/private_profd.h"
#include "client/web/browser.h"
#include "client/web/private_gateway.h"
#include "common/cleanup.h"
#include "common/error.h"

/* A range in which there is nothing: who may not ask for it may not ask for more. */
#define NEVER_SINCE_NS 1u
#define NEVER_UNTIL_NS 2u

struct web {
	struct context context; /* with the socket of the profd that answers */
	struct private_profd *profd;
	struct private_gateway *gateway;
	struct private_dir *files; /* the store that is made of files */
	struct private_dir *dir;   /* of the file that a browser opens */
};

static void web_deinit(struct web *w)
{
	private_gateway_free(w->gateway);
	private_dir_free(w->dir);
	private_profd_free(w->profd);
	private_dir_free(w->files);
}

static int option_web_file(const char *name, const char *path, void *to,
			   struct usage_message *message)
{
	struct web_arguments *a = to;

	(void)name, (void)message;
	a->files[a->n_files++] = path;
	return 0;
}

int web_parse(int argc, char *const *argv, struct web_arguments *ret, struct usage_message *message)
{
	const struct option_row rows[] = {
		{0, "store", option_text, &ret->store, NULL},
		{0, "listen", option_text, &ret->listen, NULL},
		{0, "no-browser", option_flag, &ret->no_browser, NULL},
		{0, "source_path", option_text, &ret->source_path, NULL},
		{0, "trim_path", option_text, &ret->trim_path, NULL},
		{0, NULL, option_web_file, ret, NULL},
		{0},
	};

	int r;

	if (!ret->files)
		return usage_error(message, "out of memory");
	r = options_parse(rows, argc, argv, message);
	if (!r && ret->store && ret->n_files)
		r = usage_error(message, "either --store or PROFILEs");
	return r;
}

/* --- whose profiles --------------------------------------------------------------------------- */

static int web_start_profd(struct web *w, const char *store)
{
	struct private_profd_message message;
	int error = private_profd_new(&w->profd, store, &message);

	if (error)
		return profctl_complain(&w->context, STATUS_FAILED, "%s",
					error > 0 ? message.text : error_describe(error));
	w->context.socket = private_profd_socket(w->profd);
	return STATUS_DONE;
}

/* Of files, which is then the one that is shown. */
static int web_make_store(struct web *w, struct web_arguments *a)
{
	int r = private_dir_new(&w->files, "web") ?: private_dir_keep(w->files, NULL);

	if (r)
		return profctl_complain(&w->context, STATUS_FAILED, "%s", error_describe(r));
	a->store = private_dir_path(w->files);
	return web_files_store(&w->context, a->files, a->n_files, a->store);
}

/* Of a store, whether there is anything in it; of others, whether we may see it. */
static int web_check_profd(struct web *w, const struct web_arguments *a)
{
	const char *store = a->store;
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	Profd__Control__List list = PROFD__CONTROL__LIST__INIT;
	char complaint[COMPLAINT_SIZE];
	int status;

	if (!store) {
		list.since_ns = NEVER_SINCE_NS;
		list.until_ns = NEVER_UNTIL_NS;
	}
	w->context.kept = complaint;
	status = call_daemon(&w->context, PROFD__CONTROL__REQUEST__VERB_LIST, &list, &response);
	w->context.kept = NULL;
	if (status == STATUS_DENIED && !store)
		return profctl_complain(&w->context, status,
					"the page shows profiles of everybody: it needs root, or "
					"membership in the group that owns the store; profctl "
					"--user web shows your own profd's");
	if (status)
		return profctl_complain(&w->context, status, "%s", complaint);
	if (store && !response->listing->n_rows)
		return profctl_complain(&w->context, STATUS_FAILED,
					"there is no profile in %s, or none that you may read",
					w->files ? "these files" : store);
	return STATUS_DONE;
}

/* --- the page --------------------------------------------------------------------------------- */

/* Where the store of a profd of our own ends; 0: of another's, which goes on. */
static int web_find_end(struct web *w, uint64_t *ret)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	int status = call_daemon(&w->context, PROFD__CONTROL__REQUEST__VERB_STATUS, NULL,
				 &response);

	if (!status && response->status->read_only && response->status->store)
		*ret = response->status->store->newest_ns;
	return status;
}

static int web_start_gateway(struct web *w, const struct web_arguments *a)
{
	cleanup(freep) char *store = a->store ? realpath(a->store, NULL) : NULL;
	struct private_gateway_options options = {
		.listen = a->listen,
		.socket = w->context.socket,
		.store = store,
		.is_files = w->files,
		.source_path = a->source_path,
		.trim_path = a->trim_path,
	};
	struct private_gateway_message message;
	int error = web_find_end(w, &options.end_ns);

	if (error)
		return error;
	error = private_gateway_new(&w->gateway, &options, &message);

	if (!error)
		return STATUS_DONE;
	return profctl_complain(&w->context,
				error == PRIVATE_GATEWAY_E_USAGE ? STATUS_USAGE : STATUS_FAILED,
				"%s", error > 0 ? message.text : error_describe(error));
}

static bool web_open_browser(struct web *w)
{
	return !private_dir_new(&w->dir, "web") && !private_dir_keep(w->dir, NULL) &&
	       !browser_open(private_dir_path(w->dir), private_gateway_address(w->gateway));
}

/* The address for scripts, and, beside it, what to do with it. */
static int web_announce(struct web *w, const struct web_arguments *a)
{
	const char *address = private_gateway_address(w->gateway),
		   *remote = getenv("SSH_CONNECTION");
	unsigned port = private_gateway_port(w->gateway);
	char host[256] = "HOST";

	fprintf(w->context.out, "%s\n", address);
	if (fflush(w->context.out))
		return profctl_complain(&w->context, STATUS_FAILED,
					"standard output cannot be written");
	gethostname(host, sizeof(host) - 1);
	if (!port)
		return profctl_complain(
			&w->context, STATUS_DONE,
			"forward a port to it, ssh -L 7070:%s %s, and open this with "
			"localhost:7070; it works once; Ctrl-C ends it",
			a->listen, host);
	if (!a->no_browser && browser_is_at_hand() && web_open_browser(w))
		return profctl_complain(&w->context, STATUS_DONE,
					"opened in a browser; Ctrl-C ends it");
	if (remote && *remote)
		return profctl_complain(
			&w->context, STATUS_DONE,
			"on your machine, ssh -L %u:localhost:%u %s, then open this "
			"in a browser; it works once; Ctrl-C ends it",
			port, port, host);
	return profctl_complain(&w->context, STATUS_DONE,
				"open this in a browser; it works once; Ctrl-C ends it");
}

/* Returns STATUS_DONE after a signal that ends us. */
static int web_serve(struct web *w, int signals)
{
	struct pollfd fds[] = {
		{.fd = signals, .events = POLLIN},
		{.fd = private_gateway_fd(w->gateway), .events = POLLIN},
		{.fd = w->profd ? private_profd_life(w->profd) : -1, .events = POLLIN},
	};

	for (;;) {
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			return profctl_complain(&w->context, STATUS_FAILED, "%s", strerror(errno));
		if (fds[0].revents)
			return STATUS_DONE;
		if (fds[1].revents && private_gateway_serve(w->gateway) == PRIVATE_GATEWAY_E_ENDED)
			return profctl_complain(&w->context, STATUS_FAILED,
						"profd-gateway has exited");
		if (fds[2].revents)
			return profctl_complain(&w->context, STATUS_FAILED,
						"the profd that reads the store has exited");
	}
}

/* From now on those that end us are read from *ret. */
static int web_catch_signals(const struct web *w, int *ret)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	*ret = signalfd(-1, &set, SFD_CLOEXEC);
	if (*ret < 0)
		return profctl_complain(&w->context, STATUS_FAILED, "%s", strerror(errno));
	return STATUS_DONE;
}

int web_run(struct context *context, int argc, char **argv)
{
	cleanup(freep) const char **files = calloc((size_t)argc + 1, sizeof(*files));
	cleanup(web_deinit) struct web w = {.context = *context};
	struct web_arguments arguments = {.files = files};
	cleanup(closep) int signals = -1;
	struct usage_message message;
	int r = web_parse(argc, argv, &arguments, &message);

	if (r)
		return parse_ended(context, r, &message);
	if (arguments.n_files)
		r = web_make_store(&w, &arguments);
	if (!r && arguments.store)
		r = web_start_profd(&w, arguments.store);
	return r
		?: web_check_profd(&w, &arguments)
		?: web_start_gateway(&w, &arguments)
		?: web_catch_signals(&w, &signals)
		?: web_announce(&w, &arguments)
		?: web_serve(&w, signals);
}
