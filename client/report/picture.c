/* SPDX-License-Identifier: MIT */
/*
 * A program is given a file in memory to read and another one to write, not pipes: neither side can
 * then wait for the other.
 */
#include "client/report/picture.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "common/helper/memory_file.h"
#include "common/profile/pprof.h"

extern char **environ;

static int picture_copy_out(int fd, FILE *out)
{
	char buffer[16384];
	off_t offset = 0;
	ssize_t n;

	while ((n = pread(fd, buffer, sizeof(buffer), offset)) != 0) {
		if (n < 0)
			return error_origin(-errno);
		fwrite(buffer, 1, (size_t)n, out);
		offset += n;
	}
	return 0;
}

/*
 * Starts @argv with @in and @out as standard input and output. A window
 * (@is_window) outlives what started it, and does not end with what the terminal ends. Returns 0 or
 * a positive errno, as posix_spawn(3)'s family does.
 */
static int picture_start_program(char *const *argv, int in, int out, bool is_window, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int r = posix_spawn_file_actions_init(&actions);

	if (r)
		return r;
	r = posix_spawnattr_init(&attributes);
	if (r) {
		posix_spawn_file_actions_destroy(&actions);
		return r;
	}
	r = posix_spawnattr_setflags(&attributes, is_window ? POSIX_SPAWN_SETSID : 0)
		?: posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO)
		?: posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO)
		?: posix_spawnp(ret, argv[0], &actions, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

/* *ret: its exit status, -1 if it ended by a signal. Returns 0 or a positive errno. */
static int picture_wait_for(pid_t pid, int *ret)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return errno;
	*ret = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	return 0;
}

/* A window stays open for as long as people like: it is nobody's child here. As posix_spawn(3). */
static int start_window(char *const argv[])
{
	pid_t pid = fork();
	int r, status = -1;

	if (pid < 0)
		return errno;
	if (!pid) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		_exit(null < 0 ? errno : picture_start_program(argv, null, null, true, &pid));
	}
	r = picture_wait_for(pid, &status);
	return r ? r : status < 0 ? ECHILD : status;
}

int picture_draw(const char *format, const char *graph, size_t length, FILE *out,
		 struct profile_message *message)
{
	cleanup(closep) int in = memory_file_of("graph", graph, length);
	cleanup(closep) int drawn = memfd_create("picture", MFD_CLOEXEC);
	char program[] = "dot", option[16];
	char *argv[] = {program, option, NULL};
	int r, status = 0;
	pid_t pid;

	if (in < 0)
		return error_origin(in);
	if (drawn < 0 || lseek(in, 0, SEEK_SET) < 0)
		return error_origin(-errno);
	snprintf(option, sizeof(option), "-T%s", format);
	r = picture_start_program(argv, in, drawn, false, &pid);
	if (r == ENOENT || r == EACCES)
		return profile_refuse(message, REPORT_E_NO_PROGRAM,
				      "pictures are drawn by graphviz's `dot`, which is not in "
				      "$PATH: install the package graphviz, or use --dot");
	if (r)
		return error_origin(-r);
	r = picture_wait_for(pid, &status);
	if (r)
		return error_origin(-r);
	if (status)
		return profile_refuse(message, REPORT_E_BAD,
				      "graphviz's `dot -T%s` failed: its own message says why",
				      format);
	return picture_copy_out(drawn, out);
}

/* A new file of the user's alone. */
static int picture_save_file(const char *suffix, const void *data, size_t length, char **ret_path,
			     struct profile_message *message)
{
	const char *asked = getenv("TMPDIR"), *dir = asked && *asked ? asked : "/tmp";
	cleanup(freep) char *path = NULL;
	cleanup(closep) int fd = -1;
	int r;

	if (asprintf(&path, "%s/profctl-XXXXXX%s", dir, suffix) < 0)
		return error_origin(-ENOMEM);
	fd = mkostemps(path, (int)strlen(suffix), O_CLOEXEC);
	r = fd < 0 ? -errno : memory_file_write(fd, data, length);
	if (r && fd >= 0)
		unlink(path);
	if (r)
		return profile_refuse(message, REPORT_E_BAD,
				      "no file can be written in %.150s ($TMPDIR, else /tmp): %s",
				      dir, strerrordesc_np(-r));
	*ret_path = steal_ptr(&path);
	return 0;
}

int picture_show(enum picture_window window, const char *suffix, const void *data, size_t length,
		 char **ret_path, struct profile_message *message)
{
	/* The first one that is there. */
	static const char *const programs[][4] = {
		[PICTURE_BROWSER] = {"xdg-open", "x-www-browser", "firefox"},
		[PICTURE_GV] = {"gv", "xdg-open"},
		[PICTURE_KCACHEGRIND] = {"kcachegrind", "qcachegrind"},
	};
	const char *browser = window == PICTURE_BROWSER ? getenv("BROWSER") : NULL;
	cleanup(freep) char *path = NULL;
	int r = picture_save_file(suffix, data, length, &path, message), started = ENOENT;

	if (r)
		return r;
	for (size_t i = 0; started && i <= ARRAY_SIZE(programs[0]); i++) {
		const char *name = i ? programs[window][i - 1] : browser;
		cleanup(freep) char *program = name && *name ? strdup(name) : NULL;
		char *argv[] = {program, path, NULL};

		if (program)
			started = start_window(argv);
	}
	if (started) {
		r = profile_refuse(message, REPORT_E_NO_PROGRAM,
				   "no program to show it is in $PATH (%s): it is in %s",
				   programs[window][0], path);
	}
	*ret_path = steal_ptr(&path);
	return r;
}
