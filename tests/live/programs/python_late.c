// SPDX-License-Identifier: MIT
/*
 * python_late LIBRARY ARGUMENTS: as python3 ARGUMENTS, by a libpython that is only loaded when it
 * is needed, behind many others.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
	int (*run)(int, char **) = library ? (int (*)(int, char **))dlsym(library, "Py_BytesMain")
					   : NULL;

	if (run)
		return run(argc - 1, argv + 1);
	fprintf(stderr, "%s\n", dlerror());
	return 2;
}
