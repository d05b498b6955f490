/* SPDX-License-Identifier: MIT */
/* A library that loads another one, by its name alone: the loader looks where this one's RPATH
 * says. */
#include <dlfcn.h>

int load_and_burn(long ms);
int load_and_burn(long ms)
{
	void *handle = dlopen("libburn.so", RTLD_NOW);
	void (*burn)(long) = handle ? (void (*)(long))dlsym(handle, "burn_library") : 0;

	if (!burn)
		return 1;
	burn(ms);
	return 0;
}
