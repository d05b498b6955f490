/* SPDX-License-Identifier: MIT */
/*
 * Three processes: profctl, profd, and a keeper between the two, which survives profctl however
 * that ends. It starts profd, waits for its end or for profctl's, whose end of a socket is closed
 * then, stops profd, reports that by shutting its own end down, and removes the directory when
 * profctl is gone as well.
 */
#include "client/record/private_profd.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"
#include "common/helper/child.h"
#include "common/program_path.h"
#include "common/unixsock.h"

#define START_MS 60000 /* a busy machine with thousands of processes */
#define ASK_MS   10
#define END_MS   10000

/* No limit on its CPU time: it slows down only the user who asked for it. */
static const char config[] = "[sampling]\nmax_cpu = 100%\n"
			     "[system]\nenabled = no\n"
			     "[flush]\nformats = pprof\n"
			     "[store]\nmin_free = 0\ngroup = none\n"
			     "[memory]\nbudget = 256M\n";

/* In its directory: the configuration, and directories of its own. */
static const char *const names[] = {"profd.conf", "state", "run", "cache"};

struct private_profd {
	char dir[64], socket[96];
	pid_t keeper;
	int life; /* closed when we end; readable when profd has ended */
};

/* --- the keeper ------------------------------------------------------------------------------- */

/* What the keeper needs; it shares nothing else with profctl. */
struct charge {
	const char *program, *dir;
	int life;      /* the other end */
	sigset_t mask; /* of signals, as it was */
};

static int remove_tree_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	remove(path);
	return 0;
}

static int open_at(const char *dir, const char *name, int flags)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static _Noreturn void become_profd(const struct charge *c, pid_t keeper)
{
	char paths[ARRAY_SIZE(names)][128];
	const char *argv[] = {"profd",  "-c",
			      paths[0], "--state-directory",
			      paths[1], "--runtime-directory",
			      paths[2], "--cache-directory",
			      paths[3], geteuid() ? "--user" : NULL,
			      NULL};
	int log = open_at(c->dir, "log", O_WRONLY | O_CREAT | O_APPEND);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		snprintf(paths[i], sizeof(paths[i]), "%s/%s", c->dir, names[i]);
	if (log < 0 || dup2(log, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0)
		_exit(1);
	/* If the keeper is killed, profd is as well. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != keeper)
		_exit(1);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("LISTEN_FDS");
	sigprocmask(SIG_SETMASK, &c->mask, NULL);
	execv(c->program, (char *const *)argv);
	fprintf(stderr, "%s: %s\n", c->program, strerror(errno));
	_exit(1);
}

static _Noreturn void private_keeper_main(const struct charge *c)
{
	struct pollfd fds[2] = {{.fd = c->life, .events = POLLIN}, {.events = POLLIN}};
	struct child profd = CHILD_NONE;
	pid_t self = getpid(), pid;
	int null, status;

	setsid();
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	for (int fd = STDERR_FILENO + 1; fd < c->life; fd++)
		close(fd);
	syscall(SYS_close_range, c->life + 1, ~0u, 0);
	pid = fork();
	if (pid == 0)
		become_profd(c, self);
	if (pid > 0)
		profd = child_of(pid);
	fds[1].fd = profd.pidfd;
	while (profd.pid && poll(fds, 2, -1) < 0 && errno == EINTR)
		;
	if (profd.pid && fds[0].revents)
		kill(pid, SIGTERM);
	if (!child_reap(&profd, END_MS, &status)) {
		kill(pid, SIGKILL);
		child_reap(&profd, INT_MAX, &status);
	}
	shutdown(c->life, SHUT_WR);
	/* The log is still to be read. */
	while (!fds[0].revents && poll(fds, 1, -1) < 0 && errno == EINTR)
		;
	nftw(c->dir, remove_tree_entry, 8, FTW_DEPTH | FTW_PHYS);
	_exit(0);
}

/* --- its maker -------------------------------------------------------------------------------- */

static int find_program(char **ret)
{
	cleanup(freep) char *path = NULL;
	int r = program_path("PROFD_DAEMON", "profd", &path);

	if (r)
		return r;
	if (access(path, X_OK) < 0) {
		free(path);
		path = strdup(PROFD_SBINDIR "/profd");
	}
	if (!path)
		return error_origin(-ENOMEM);
	*ret = steal_ptr(&path);
	return 0;
}

static bool make_base_directory(struct private_profd *p, const char *below)
{
	int n = snprintf(p->dir, sizeof(p->dir), "%s/profd-record-XXXXXX", below);

	/* 0700, as mkdtemp(3) makes it. */
	if (n < (int)sizeof(p->dir) && mkdtemp(p->dir))
		return true;
	p->dir[0] = '\0';
	return false;
}

static int make_directories(struct private_profd *p)
{
	const char *below = getenv("TMPDIR");
	cleanup(closep) int fd = -1;
	char path[96];

	if (!(below && *below == '/' && make_base_directory(p, below)) &&
	    !make_base_directory(p, "/tmp"))
		return error_origin(-errno);
	for (size_t i = 1; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", p->dir, names[i]);
		if (mkdir(path, 0700) < 0)
			return error_origin(-errno);
	}
	snprintf(p->socket, sizeof(p->socket), "%s/run/control.sock", p->dir);
	fd = open_at(p->dir, names[0], O_WRONLY | O_CREAT | O_EXCL);
	if (fd < 0 || write(fd, config, sizeof(config) - 1) != (ssize_t)sizeof(config) - 1)
		return error_origin(fd < 0 ? -errno : -ENOSPC);
	return 0;
}

static int start_keeper(struct private_profd *p, const char *program)
{
	struct charge charge = {.program = program, .dir = p->dir};
	int ends[2], error;
	sigset_t all;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return error_origin(-errno);
	p->life = ends[0];
	charge.life = ends[1];
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &charge.mask);
	p->keeper = fork();
	error = errno;
	if (p->keeper == 0)
		private_keeper_main(&charge);
	sigprocmask(SIG_SETMASK, &charge.mask, NULL);
	close(charge.life);
	return p->keeper < 0 ? error_origin(-error) : 0;
}

/* The last line of its log that is not empty, without the program's name. */
static void read_last_log_line(const struct private_profd *p, struct private_profd_message *message)
{
	int fd = open_at(p->dir, "log", O_RDONLY);
	cleanup(fclosep) FILE *log = fd < 0 ? NULL : fdopen(fd, "r");
	cleanup(freep) char *line = NULL;
	size_t size = 0;

	snprintf(message->text, sizeof(message->text), "its log is empty");
	while (log && getline(&line, &size, log) > 0) {
		const char *said = strncmp(line, "profd: ", 7) ? line : line + 7;

		if (*line != '\n')
			snprintf(message->text, sizeof(message->text), "%.*s",
				 (int)strcspn(said, "\n"), said);
	}
}

static int private_profd_wait_ready(const struct private_profd *p,
				    struct private_profd_message *message)
{
	struct pollfd fd = {.fd = p->life, .events = POLLIN};
	int connection;

	for (int ms = 0; ms < START_MS; ms += ASK_MS) {
		if (!unixsock_connect(p->socket, &connection)) {
			close(connection);
			return PRIVATE_PROFD_E_OK;
		}
		if (poll(&fd, 1, ASK_MS) > 0) {
			read_last_log_line(p, message);
			return PRIVATE_PROFD_E_REFUSED;
		}
	}
	snprintf(message->text, sizeof(message->text), "it was not ready within %d s",
		 START_MS / 1000);
	return PRIVATE_PROFD_E_REFUSED;
}

int private_profd_new(struct private_profd **ret, struct private_profd_message *message)
{
	cleanup(private_profd_freep) struct private_profd *p = calloc(1, sizeof(*p));
	cleanup(freep) char *program = NULL;
	int r;

	if (!p)
		return error_origin(-ENOMEM);
	p->life = -1;
	r = find_program(&program)
		?: make_directories(p)
		?: start_keeper(p, program)
		?: private_profd_wait_ready(p, message);
	if (r)
		return r;
	*ret = steal_ptr(&p);
	return PRIVATE_PROFD_E_OK;
}

void private_profd_free(struct private_profd *p)
{
	if (!p)
		return;
	closep(&p->life);
	if (p->keeper > 0)
		while (waitpid(p->keeper, NULL, 0) < 0 && errno == EINTR)
			;
	else if (*p->dir)
		nftw(p->dir, remove_tree_entry, 8, FTW_DEPTH | FTW_PHYS);
	free(p);
}

const char *private_profd_socket(const struct private_profd *p)
{
	return p->socket;
}
