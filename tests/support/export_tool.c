/* SPDX-License-Identifier: MIT */
/* What profile servers are sent of a window, as files; and what their answers mean. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/export/target.h"
#include "common/cleanup.h"
#include "common/profile/pprof.h"
#include "common/profile/profile.h"
#include "tests/support/files.h"
#include "tests/support/must.h"

#define MAX_BYTES ((size_t)1 << 30)

static const char usage[] = "usage: export_tool encode KIND IN PREFIX KEEP LABELS\n"
			    "       export_tool judge KIND STATUS < BODY\n";

static const struct export_target *find_target(const char *name)
{
	const struct export_target *target = export_find_target(name);

	must(target ? 0 : -EINVAL, name);
	return target;
}

/* PREFIX0, PREFIX1 ...; prints path, type, encoding and the number of them. */
static int encode(char **argv)
{
	const struct export_target *target = find_target(argv[0]);
	const struct export_scope scope = {
		.service = "a.service", .host = "machine", .keep = argv[3], .labels = argv[4]};
	cleanup(export_bodies_deinit) struct export_bodies bodies = {0};
	cleanup(profile_freep) struct profile *window = NULL;
	size_t length = 0;
	cleanup(freep) uint8_t *data = read_file(argv[1], &length);
	struct profile_message message;

	must(data ? 0 : -errno, argv[1]);
	must(pprof_read(data, length, MAX_BYTES, &window, &message) ? -EINVAL : 0, argv[1]);
	must(target->encode(window, &scope, &bodies), "encode");
	for (size_t i = 0; i < bodies.n; i++) {
		cleanup(freep) char *path = NULL;
		FILE *f;

		must(asprintf(&path, "%s%zu", argv[2], i) < 0 ? -ENOMEM : 0, "a path");
		f = fopen(path, "w");
		must(f ? 0 : -errno, path);
		fwrite(bodies.all[i].data, 1, bodies.all[i].length, f);
		must(fclose(f) ? -errno : 0, path);
	}
	printf("%s %s %s %zu\n", target->path, target->content_type,
	       target->content_encoding ? target->content_encoding : "-", bodies.n);
	return EXIT_SUCCESS;
}

static int judge(char **argv)
{
	static const char *const names[] = {[EXPORT_STORED] = "stored",
					    [EXPORT_LATER] = "later",
					    [EXPORT_REFUSED] = "refused",
					    [EXPORT_TOO_OLD] = "too-old",
					    [EXPORT_UNKNOWN] = "unknown"};
	static char body[65536];
	size_t length = fread(body, 1, sizeof(body), stdin);
	unsigned status = (unsigned)strtoul(argv[1], NULL, 10);

	puts(names[find_target(argv[0])->judge(status, body, length)]);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	if (argc == 7 && strcmp(argv[1], "encode") == 0)
		return encode(argv + 2);
	if (argc == 4 && strcmp(argv[1], "judge") == 0)
		return judge(argv + 2);
	fputs(usage, stderr);
	return EXIT_FAILURE;
}
