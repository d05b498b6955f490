/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "daemon/worker/package/dpkg_status.h"

/* As dpkg 1.21 writes it, shortened. */
#define STATUS                                                                               \
	"Package: bash\nEssential: yes\nStatus: install ok installed\n"                      \
	"Priority: required\nArchitecture: amd64\nMulti-Arch: foreign\n"                     \
	"Version: 5.2.15-2+b7\nDescription: GNU Bourne Again SHell\n"                        \
	" Version: 9\n .\n Package: zsh\n\n"                                                 \
	"Package: libc6\nStatus: install ok installed\n"                                     \
	"Architecture: amd64\nMulti-Arch: same\nVersion: 2.36-9\n\n"                         \
	"Package: libc6\nStatus: install ok installed\n"                                     \
	"Architecture: i386\nMulti-Arch: same\nVersion: 2.36-8\n\n"                          \
	"Package: gone\nStatus: deinstall ok config-files\nVersion: 1\n\n"                   \
	"Package: never\nStatus: unknown ok not-installed\nVersion: 1\n\n"                   \
	"Package: halfway\nStatus: install reinstreq half-installed\nVersion: 1:2~rc1\n\n\n" \
	"Package: last\nVersion: 3\nStatus: hold ok installed"

static const char *version_in(const char *text, size_t length, const char *name, size_t size)
{
	static struct dpkg_package package;
	struct dpkg_status *s = malloc(sizeof(*s));

	assert_non_null(s);
	dpkg_package_parse((struct span){name, strlen(name)}, &package);
	dpkg_status_begin(s, &package, 1);
	for (size_t at = 0; at < length; at += size)
		dpkg_status_read(s,
				 (struct span){text + at, length - at < size ? length - at : size});
	dpkg_status_end(s);
	free(s);
	return package.version;
}

static void test_packages(void **state)
{
	static const struct {
		const char *name, *version;
	} rows[] = {
		{"bash", "5.2.15-2+b7"},
		{"bash:amd64", "5.2.15-2+b7"},
		{"bash:i386", ""},
		{"libc6:amd64", "2.36-9"},
		{"libc6:i386", "2.36-8"},
		{"libc6", "2.36-9"},
		{"gone", ""},
		{"never", ""},
		{"halfway", "1:2~rc1"},
		{"last", "3"},
		{"zsh", ""},
		{"", ""},
		{":amd64", ""},
		{"las", ""},
		{"laste", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t size = 1; size < sizeof(STATUS); size = size * 2 + 1)
			assert_string_equal(version_in(STATUS, sizeof(STATUS) - 1, rows[i].name,
						       size),
					    rows[i].version);
}

static void test_several_at_once(void **state)
{
	static const char *const names[] = {"last", "none", "libc6:i386", "bash"};
	struct dpkg_package all[ARRAY_SIZE(names)];
	struct dpkg_status s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		dpkg_package_parse((struct span){names[i], strlen(names[i])}, &all[i]);
	dpkg_status_begin(&s, all, ARRAY_SIZE(names));
	dpkg_status_read(&s, (struct span){STATUS, sizeof(STATUS) - 1});
	dpkg_status_end(&s);
	assert_string_equal(all[0].version, "3");
	assert_string_equal(all[1].version, "");
	assert_string_equal(all[2].version, "2.36-8");
	assert_string_equal(all[3].version, "5.2.15-2+b7");
}

static void test_hostile_texts(void **state)
{
	static const char control[] = "Package: a\nStatus: x installed\nVersion: 1\x1b[31m\xff\n";
	char *text = malloc(100000);
	size_t n;

	(void)state;
	assert_non_null(text);
	assert_string_equal(version_in(control, sizeof(control) - 1, "a", 7),
			    "1\xef\xbf\xbd[31m\xef\xbf\xbd");
	/* Too long for a field, for a version, for a line. */
	for (size_t length = 60; length < 90000; length *= 3) {
		n = (size_t)sprintf(text, "Package: a\nStatus: x installed\nVersion: ");
		memset(text + n, '1', length);
		n += length;
		n += (size_t)sprintf(text + n, "\n\nPackage: b\nStatus: x installed\nVersion: 2\n");
		assert_int_equal(strlen(version_in(text, n, "a", 4096)), length < 64 ? length
									 : length < DPKG_FIELD_MAX
										 ? 63
										 : 0);
		assert_string_equal(version_in(text, n, "b", 4096), "2");
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packages),
		cmocka_unit_test(test_several_at_once),
		cmocka_unit_test(test_hostile_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
