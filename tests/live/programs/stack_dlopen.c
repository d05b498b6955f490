/* SPDX-License-Identifier: MIT */
/*
 * stack_dlopen A.so B.so: loads one, calls it, unloads it, loads the other ... a_leaf < a_entry <
 * call_a < main, and the same of b. Says after "ready" at how many addresses a_entry was.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "stack_burn.h"

typedef void entry(unsigned n);

static void *load(const char *path, const char *name, entry **ret)
{
	void *library = dlopen(path, RTLD_LAZY);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	*ret = (entry *)dlsym(library, name);
	return library;
}

KEEP void call_a(entry *a_entry, unsigned n)
{
	a_entry(n);
	burn_sink++;
}

KEEP void call_b(entry *b_entry, unsigned n)
{
	b_entry(n);
	burn_sink++;
}

int main(int argc, char **argv)
{
	entry *a = NULL, *b = NULL;
	void *library;

	if (argc < 3)
		return 1;
	say_ready();
	for (;;) {
		library = load(argv[1], "a_entry", &a);
		call_a(a, 100);
		dlclose(library);
		library = load(argv[2], "b_entry", &b);
		call_b(b, 100);
		dlclose(library);
		if (a != b)
			dprintf(STDOUT_FILENO, "apart\n");
	}
}
