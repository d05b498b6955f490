/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/ingest/sources.h"

struct kernel {
	const char *release, *version, *signature;
	int outcome;
};

static void test_kernels(void **state)
{
	static const struct kernel kernels[] = {
		{"6.18.44", "#1 SMP", "", SOURCE_E_OK},
		{"5.17.0", "#1 SMP", "", SOURCE_E_OK},
		{"5.18.19", "#1 SMP", "", SOURCE_E_OK},
		/* Whether these have what BPF takes is another question, whatever their numbers. */
		{"5.14.0-503.11.1.el9_5.x86_64", "#1 SMP PREEMPT_DYNAMIC", "", SOURCE_E_OK},
		{"5.15.0-91-generic", "#101-Ubuntu SMP", "Ubuntu 5.15.0-91.101-generic 5.15.131",
		 SOURCE_E_OK},
		{"4.19.0-25-amd64", "#1 SMP Debian 4.19.289-1 (2023-07-24)", "", SOURCE_E_OK},
		{"5.19.0", "#1 SMP", "", SOURCE_E_UNSUPPORTED},
		{"6.0.12", "#1 SMP", "", SOURCE_E_UNSUPPORTED},
		{"6.1.35", "#1 SMP", "", SOURCE_E_UNSUPPORTED},
		{"6.1.36", "#1 SMP", "", SOURCE_E_OK},
		{"6.2.16", "#1 SMP", "", SOURCE_E_UNSUPPORTED},
		{"6.3.9", "#1 SMP", "", SOURCE_E_UNSUPPORTED},
		{"6.3.10", "#1 SMP", "", SOURCE_E_OK},
		{"6.4.0-rc1", "#1 SMP", "", SOURCE_E_OK},
		/* Debian's release is that of the ABI, the kernel's own is in the version. */
		{"6.1.0-37-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.140-1 (2025-05-22)", "",
		 SOURCE_E_OK},
		{"6.1.0-9-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.27-1 (2023-05-08)", "",
		 SOURCE_E_UNSUPPORTED},
		{"6.2.0-39-generic", "#40~22.04.1-Ubuntu SMP",
		 "Ubuntu 6.2.0-39.40~22.04.1-generic 6.2.16", SOURCE_E_UNSUPPORTED},
		{"6.8.0-40-generic", "#40-Ubuntu SMP", "Ubuntu 6.8.0-40.40-generic 6.8.12",
		 SOURCE_E_OK},
		{"strange", "#1", "", SOURCE_E_UNSUPPORTED},
	};
	struct source_message message;

	(void)state;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		const struct kernel *k = &kernels[i];
		int r;

		message.text[0] = '\0';
		r = host_check_kernel_faults(k->release, k->version, k->signature, &message);
		if (r != k->outcome)
			fail_msg("%s: %d", k->release, r);
		if (r != SOURCE_E_OK)
			assert_non_null(strstr(message.text, "perf source"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernels)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
