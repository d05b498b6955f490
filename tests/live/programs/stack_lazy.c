/* SPDX-License-Identifier: MIT */
/*
 * stack_lazy LIBRARY: choose < ld.so's resolver < lazy_entry < call_lazy < main, all the time: the
 * library is loaded anew for each call.
 */
#include <dlfcn.h>

#include "stack_burn.h"

typedef void entry(void);

KEEP void call_lazy(entry *lazy_entry)
{
	lazy_entry();
	burn_sink++;
}

int main(int argc, char **argv)
{
	void *library;

	if (argc < 2)
		return 1;
	say_ready();
	for (;;) {
		library = dlopen(argv[1], RTLD_LAZY);
		if (!library)
			return 1;
		call_lazy((entry *)dlsym(library, "lazy_entry"));
		dlclose(library);
	}
}
