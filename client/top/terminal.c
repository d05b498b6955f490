/* SPDX-License-Identifier: MIT */
#include "client/top/terminal.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/error.h"

/* xterm's control sequences: alternate screen, no wrapping at the end of a line, no cursor. */
static const char enter[] = "\x1b[?1049h\x1b[?7l\x1b[?25l\x1b[H\x1b[2J";
static const char leave[] = "\x1b[m\x1b[?25h\x1b[?7h\x1b[?1049l";

static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

/*
 * The exception to "no mutable global": a fault's handler has nothing else to go by. Only what is
 * async-signal-safe (signal-safety(7)) touches it there.
 */
static struct {
	volatile sig_atomic_t is_taken;
	int in, out;
	struct termios before;
} taken;

bool terminal_is_taken(void)
{
	return taken.is_taken;
}

bool terminal_is_for_us(int in)
{
	pid_t foreground = tcgetpgrp(in);

	return foreground < 0 || foreground == getpgrp();
}

void terminal_give_back(void)
{
	ssize_t n;

	if (!taken.is_taken)
		return;
	taken.is_taken = 0;
	n = write(taken.out, leave, sizeof(leave) - 1);
	(void)n;
	if (terminal_is_for_us(taken.in))
		tcsetattr(taken.in, TCSANOW, &taken.before);
}

static void on_fault(int number)
{
	terminal_give_back();
	/* SA_RESETHAND: now it does what it does. */
	raise(number);
}

int terminal_take(int in, int out)
{
	const struct sigaction action = {.sa_handler = on_fault, .sa_flags = (int)SA_RESETHAND};
	struct termios raw;

	if (tcgetattr(in, &taken.before) < 0)
		return error_origin(-errno);
	taken.in = in;
	taken.out = out;
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		sigaction(faults[i], &action, NULL);
	raw = taken.before;
	/* Signals of the keyboard stay: Ctrl-C, Ctrl-Z. */
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_iflag &= ~(tcflag_t)(IXON | ICRNL);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	taken.is_taken = 1;
	if (tcsetattr(in, TCSANOW, &raw) == 0 &&
	    write(out, enter, sizeof(enter) - 1) == (ssize_t)sizeof(enter) - 1)
		return 0;
	terminal_give_back();
	return error_origin(errno ? -errno : -EIO);
}

void terminal_size(int out, unsigned *ret_rows, unsigned *ret_columns)
{
	struct winsize size;
	bool is_known = ioctl(out, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col;

	*ret_rows = is_known ? size.ws_row : 24;
	*ret_columns = is_known ? size.ws_col : 80;
}
