/* SPDX-License-Identifier: MIT */
/* The vdso as a file: all of it, and nothing else. */
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/resolve/vdso.h"

/* What the kernel says that is mapped from @start on. */
static uint64_t mapping_length(uint64_t start)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t first, end, length = 0;
	char line[512];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &first, &end) == 2 && first == start)
			length = end - start;
	fclose(maps);
	return length;
}

static void test_copy(void **state)
{
	const char *own = (const char *)getauxval(AT_SYSINFO_EHDR);
	uint64_t mapped = mapping_length((uintptr_t)own);
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct stat st;
	char *copy;
	int fd = vdso_open();

	(void)state;
	assert_non_null(own);
	assert_int_equal(fstat(fd, &st), 0);
	/* The file ends in the mapping's last page. */
	assert_true((uint64_t)st.st_size <= mapped && (uint64_t)st.st_size > mapped - page);
	copy = malloc((size_t)st.st_size);
	assert_non_null(copy);
	assert_int_equal(pread(fd, copy, (size_t)st.st_size, 0), st.st_size);
	assert_memory_equal(copy, own, (size_t)st.st_size);
	/* What is left of the page is empty: nothing of it was left out. */
	for (const char *p = own + st.st_size; p < own + mapped; p++)
		assert_int_equal(*p, 0);
	free(copy);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_copy)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
