/* SPDX-License-Identifier: MIT */
/*
 * fetch_tool [--urls URLS] [--pid] BUILD-ID [FILE]: what a fetcher says of a build id, in a line
 * "found SIZE", "none" or "failed: why"; what it found is copied to FILE. --pid: the fetching
 * process's id first.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/fetch/fetcher.h"
#include "common/error.h"

#define ID_MAX 64

static size_t parse_id(const char *text, uint8_t ret[ID_MAX])
{
	size_t n = 0;
	unsigned byte;

	for (; text[0] && text[1] && n < ID_MAX; text += 2) {
		if (sscanf(text, "%2x", &byte) != 1)
			return 0;
		ret[n++] = (uint8_t)byte;
	}
	return *text ? 0 : n;
}

static bool copy_file(int fd, const char *path)
{
	cleanup(fclosep) FILE *out = fopen(path, "we");
	char data[65536];
	off_t at = 0;
	ssize_t n;

	if (!out)
		return false;
	while ((n = pread(fd, data, sizeof(data), at)) > 0) {
		if (fwrite(data, 1, (size_t)n, out) != (size_t)n)
			return false;
		at += n;
	}
	return n == 0 && fflush(out) == 0;
}

/* Returns the exit status. */
static int report(int r, int fd, const struct fetcher_message *message, const char *path)
{
	struct stat st;

	if (r < 0) {
		fprintf(stderr, "fetch_tool: %s\n", error_describe(r));
		return EXIT_FAILURE;
	}
	if (r == FETCH_NONE) {
		printf("none\n");
		return EXIT_SUCCESS;
	}
	if (r != FETCH_DONE) {
		printf("failed: %s\n", message->text);
		return EXIT_SUCCESS;
	}
	if (fstat(fd, &st) < 0 || (path && !copy_file(fd, path))) {
		perror("fetch_tool");
		return EXIT_FAILURE;
	}
	printf("found %" PRIdMAX "\n", (intmax_t)st.st_size);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"urls", required_argument, NULL, 'u'},
		{"pid", no_argument, NULL, 'p'},
		{},
	};
	cleanup(fetcher_freep) struct fetcher *fetcher = NULL;
	struct fetcher_options how = {0};
	cleanup(closep) int fd = -1;
	struct fetcher_message message;
	uint8_t id[ID_MAX];
	bool tell = false;
	size_t length;
	int option, r;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'u')
			how.urls = optarg;
		tell |= option == 'p';
		if (option == '?')
			return 2;
	}
	length = optind < argc ? parse_id(argv[optind], id) : 0;
	if (!length) {
		fprintf(stderr, "usage: fetch_tool [--urls URLS] [--pid] BUILD-ID [FILE]\n");
		return 2;
	}
	r = fetcher_new(&fetcher, &how);
	if (!r)
		r = fetcher_send(fetcher, id, length, &message);
	if (fetcher && tell)
		printf("pid %d\n", fetcher_pid(fetcher));
	fflush(stdout);
	if (!r)
		r = fetcher_receive(fetcher, &fd, &message);
	return report(r, fd, &message, argv[optind + 1]);
}
