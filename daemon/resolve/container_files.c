/* SPDX-License-Identifier: MIT */
/*
 * Directories of the kubelet are read once for all that are asked for at a time.
 */
#include "daemon/resolve/container_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "daemon/resolve/container_managers.h"
#include "daemon/resolve/file_opener.h"
#include "daemon/resolve/proc_door.h"

#define LISTING_MAX (1u << 20) /* bytes: some 10,000 pods */
#define LISTING_NS  (100 * NS_PER_MS)

/* The names in a directory, a line each. */
struct listing {
	const char *path;
	char *text; /* owned, or NULL */
	size_t length;
};

enum { LISTING_PODS, LISTING_LOGS, N_LISTINGS };

struct container_files {
	struct proc_door *door;
	int proc_fd;
	int root_fd; /* -1: not open yet */
	struct utsname kernel;
	const char *host_name; /* borrowed, or the kernel's */
	struct listing listings[N_LISTINGS];
	uint64_t listed_ns; /* CLOCK_MONOTONIC; 0: never */
	struct container_managers *managers;
};

int container_files_new(struct container_files **ret, struct proc_door *door, int proc_fd,
			const char *host_name, struct memory_budget *budget)
{
	cleanup(container_files_freep) struct container_files *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return error_origin(-ENOMEM);
	f->door = door;
	f->proc_fd = proc_fd;
	f->root_fd = -1;
	f->listings[LISTING_PODS].path = "var/log/pods";
	f->listings[LISTING_LOGS].path = "var/log/containers";
	uname(&f->kernel);
	f->host_name = host_name ?: f->kernel.nodename;
	r = container_managers_new(&f->managers, door, budget);
	if (r)
		return r;
	*ret = steal_ptr(&f);
	return 0;
}

void container_files_free(struct container_files *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < N_LISTINGS; i++)
		free(f->listings[i].text);
	closep(&f->root_fd);
	container_managers_free(f->managers);
	free(f);
}

int container_files_fd(const struct container_files *f)
{
	return container_managers_fd(f->managers);
}

int container_files_receive(struct container_files *f)
{
	return container_managers_receive(f->managers);
}

/* Without privileges process 1 does not show its root, and our own has to do. */
static int open_machine_root(struct container_files *f)
{
	int r = f->root_fd < 0 ? proc_door_open_file(f->door, f->proc_fd, "1/root",
						     FILE_OPENER_NAME, &f->root_fd)
			       : FILE_OPENER_E_OK;

	if (r == FILE_OPENER_E_NONE) {
		f->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		r = f->root_fd < 0 ? FILE_OPENER_E_NONE : FILE_OPENER_E_OK;
	}
	return r;
}

/* What is longer is cut after a whole line. */
static void read_listing(struct listing *listing, int fd)
{
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0 || st.st_size <= 0)
		return;
	listing->length = st.st_size < LISTING_MAX ? (size_t)st.st_size : LISTING_MAX;
	listing->text = malloc(listing->length);
	n = listing->text ? pread(fd, listing->text, listing->length, 0) : 0;
	listing->length = n > 0 ? (size_t)n : 0;
	while (listing->length && listing->text[listing->length - 1] != '\n')
		listing->length--;
}

/* Returns FILE_OPENER_E_*; a directory that is not there is empty. */
static int list_directory(struct container_files *f, struct listing *listing)
{
	cleanup(closep) int fd = -1;
	int r;

	free(listing->text);
	listing->text = NULL;
	listing->length = 0;
	r = proc_door_open_file(f->door, f->root_fd, listing->path, FILE_OPENER_TEXT, &fd);
	if (!r)
		read_listing(listing, fd);
	return r == FILE_OPENER_E_NONE ? FILE_OPENER_E_OK : r;
}

static int list_directories(struct container_files *f, uint64_t now_ns)
{
	int r = 0;

	if (f->listed_ns && now_ns < f->listed_ns + LISTING_NS)
		return FILE_OPENER_E_OK;
	f->listed_ns = now_ns;
	for (size_t i = 0; !r && i < N_LISTINGS; i++)
		r = list_directory(f, &f->listings[i]);
	return r;
}

static struct span listing_span(const struct container_files *f, unsigned listing)
{
	return (struct span){f->listings[listing].text, f->listings[listing].length};
}

static int ask_kubelet(struct container_files *f, const struct container_path *path,
		       uint64_t now_ns, struct container_names *ret)
{
	if (list_directories(f, now_ns)) {
		f->listed_ns = 0;
		return CONTAINERS_E_SLOW;
	}
	container_names_of_pod(path, listing_span(f, LISTING_PODS), listing_span(f, LISTING_LOGS),
			       f->host_name, ret);
	return ret->container[0] ? CONTAINERS_E_ALL : CONTAINERS_E_PARTLY;
}

static int ask_all(struct container_files *f, const struct container_path *path, uint64_t now_ns,
		   struct container_names *ret)
{
	int kubelet = path->pod[0] ? ask_kubelet(f, path, now_ns, ret) : CONTAINERS_E_ALL, manager;

	if (kubelet == CONTAINERS_E_SLOW || ret->image[0] || !container_managers_know(path))
		return kubelet;
	manager = container_managers_ask(f->managers, f->root_fd, path, now_ns, ret);
	return manager == CONTAINERS_E_ALL ? kubelet : manager;
}

int container_files_ask(void *userdata, const struct container_path *path, uint64_t now_ns,
			struct container_names *ret)
{
	struct container_files *f = userdata;
	int r = open_machine_root(f);

	if (r)
		return r == FILE_OPENER_E_NONE ? CONTAINERS_E_PARTLY : CONTAINERS_E_SLOW;
	return ask_all(f, path, now_ns, ret);
}
