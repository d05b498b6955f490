/* SPDX-License-Identifier: MIT */
/*
 * Names come from two places that each know what the other does not: profd, of services that have
 * been sampled, and /proc, of those that run. Each is compared with what was asked for and, in case
 * none of them is it, kept if it is near.
 */
#include "client/profctl/services.h"

#include <fcntl.h>
#include <string.h>

#include "client/profctl/call.h"
#include "common/cleanup.h"
#include "common/helper/proc_child.h"
#include "common/proc.h"
#include "common/store/names.h"

#define UNIT_SIZE 256 /* systemd.unit(5) */

void services_add(struct services_search *search, const char *service)
{
	search->has_any = true;
	search->is_found |= names_select_service(search->nearest.asked, service);
	nearest_add(&search->nearest, service);
}

void services_add_groups(struct services_search *search, const char *text)
{
	static const char *const suffixes[] = {".service", ".scope"};
	char unit[UNIT_SIZE];

	for (size_t length; *text; text += length + (text[length] != '\0')) {
		length = strcspn(text, "/\n");
		if (length >= sizeof(unit))
			continue;
		memcpy(unit, text, length);
		unit[length] = '\0';
		for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
			size_t n = strlen(suffixes[i]);

			if (length > n && strcmp(unit + length - n, suffixes[i]) == 0)
				services_add(search, unit);
		}
	}
}

static int services_read_process(void *userdata, int fd, pid_t pid)
{
	struct services_search *search = userdata;
	cleanup(freep) char *text = NULL;
	size_t length;
	int r = proc_read_file(fd, pid, "cgroup", &text, &length);

	if (!r)
		services_add_groups(search, text);
	return r < 0 ? r : search->is_found;
}

/* A process that cannot be read, as its owner may arrange, is passed over. */
static void services_list_running(struct services_search *search)
{
	cleanup(closep) int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(proc_child_freep) struct proc_child *looker = NULL;

	if (proc_fd >= 0 && proc_child_new(&looker, 0) == 0)
		proc_each_process(proc_fd, services_read_process, search);
}

/* Those that profd has windows of; nothing, if it does not answer us. */
static void services_list(struct services_search *search, const struct context *context)
{
	cleanup(response_freep) Profd__Control__Response *response = NULL;
	Profd__Control__List list = PROFD__CONTROL__LIST__INIT;
	struct context quiet = *context;
	char complaint[COMPLAINT_SIZE];

	quiet.kept = complaint;
	if (call_daemon(&quiet, PROFD__CONTROL__REQUEST__VERB_LIST, &list, &response))
		return;
	for (size_t i = 0; i < response->listing->n_rows; i++)
		services_add(search, response->listing->rows[i]->service);
}

static int services_complain(const struct context *context, const struct services_search *search,
			     const char *what)
{
	char text[NEAREST_MAX * (NEAREST_NAME_SIZE + 4) + 32];

	if (search->is_found || !search->has_any)
		return 0;
	return profctl_complain(context, STATUS_FAILED, "%s '%s'%s", what, search->nearest.asked,
				nearest_print(&search->nearest, text, sizeof(text)));
}

int services_check_running(const struct context *context, const char *service)
{
	struct services_search search = {.nearest.asked = service};

	/* No group shows what profd names itself. */
	search.is_found = !strchr(service, '.') && !names_lacks_suffix(service);
	if (!search.is_found)
		services_list_running(&search);
	if (!search.is_found)
		services_list(&search, context);
	return services_complain(context, &search, "no process runs in a service");
}

int services_check_sampled(const struct context *context, const char *services)
{
	const char *all = services;
	int r = 0;

	for (size_t n; !r; services += n + 1) {
		cleanup(freep) char *part = strndup(services, n = strcspn(services, ","));
		struct services_search search = {.nearest.asked = part};

		if (!part)
			return profctl_complain(context, STATUS_FAILED, "no memory");
		if (!n)
			return profctl_complain(context, STATUS_USAGE, "an empty name in -s %s",
						all);
		services_list(&search, context);
		r = services_complain(context, &search, "there are no samples of a service");
		if (!services[n])
			break;
	}
	return r;
}
