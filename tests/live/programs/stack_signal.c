/* SPDX-License-Identifier: MIT */
/*
 * leaf < handler < the restorer < a function that a signal stopped < outer < main.
 *
 * The argument is a letter each: a, the handler runs on an alternate stack; f, the signal comes at
 * the first instruction of `first` (what stands before it has another frame), else in the middle of
 * `stopped`; n, a second signal stops the first one's handler.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "stack_burn.h"

static int at_first, nested;

/* ud2 (two bytes) raises SIGILL with the pc at itself; int3 (one) SIGTRAP with the pc behind it. */
__asm__(".text\n"
	".globl before\n"
	".type before, @function\n"
	"before:\n"
	".cfi_startproc\n"
	"	sub $1032, %rsp\n"
	".cfi_def_cfa_offset 1040\n"
	"	add $1032, %rsp\n"
	"	ud2\n"
	".cfi_endproc\n"
	".size before, . - before\n"
	".globl first\n"
	".type first, @function\n"
	"first:\n"
	".cfi_startproc\n"
	"	ud2\n"
	"	ret\n"
	".cfi_endproc\n"
	".size first, . - first\n");

void first(void);

KEEP void leaf(void)
{
	BURN();
}

KEEP void inner_handler(int signal_number)
{
	burn_sink += (unsigned)signal_number;
	leaf();
	burn_sink++;
}

KEEP void handler(int signal_number, siginfo_t *info, void *context)
{
	ucontext_t *c = context;

	(void)info;
	if (signal_number == SIGILL)
		c->uc_mcontext.gregs[REG_RIP] += 2;
	if (nested)
		raise(SIGUSR1);
	else
		leaf();
	burn_sink++;
}

KEEP void stopped(void)
{
	char memory[100];

	memset(memory, 0, sizeof(memory));
	__asm__ volatile("int3" : : "r"(memory) : "memory");
	burn_sink++;
}

KEEP void outer(void)
{
	if (at_first)
		first();
	else
		stopped();
	burn_sink++;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	stack_t stack = {.ss_size = 65536};

	at_first = strchr(how, 'f') != NULL;
	nested = strchr(how, 'n') != NULL;
	if (strchr(how, 'a')) {
		stack.ss_sp = malloc(stack.ss_size);
		sigaltstack(&stack, NULL);
		action.sa_flags |= SA_ONSTACK;
	}
	sigaction(SIGILL, &action, NULL);
	sigaction(SIGTRAP, &action, NULL);
	signal(SIGUSR1, inner_handler);
	say_ready();
	for (;;)
		outer();
}
