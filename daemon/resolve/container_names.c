/* SPDX-License-Identifier: MIT */
/*
 * Pods are named by their controllers: a Deployment's POD is OWNER-HASH-SUFFIX, a CronJob's
 * OWNER-MINUTES-SUFFIX, a DaemonSet's or Job's OWNER-SUFFIX, a StatefulSet's OWNER-NUMBER, a static
 * one's OWNER-HOST. HASH and SUFFIX have alphabets without vowels (k8s.io/apimachinery,
 * util/rand/rand.go: SafeEncodeString of a decimal number, and String), so they are no words.
 *
 * A name that another kind of service could have is not used: a container called sshd.service must
 * not be counted as that.
 */
#include "daemon/resolve/container_names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define POD_MAX   253 /* RFC 1123: subdomains */
#define LABEL_MAX 63  /* and labels */

#define HASH_MIN   6 /* digits of an FNV-32 sum, but for one in 4,000 */
#define HASH_MAX   10
#define SUFFIX     5
#define MINUTES    8 /* Unix time */
#define NUMBER_MAX 9

static void container_copy(struct span s, char *ret, size_t size)
{
	snprintf(ret, size, "%.*s", (int)s.length, s.at);
}

static bool consists_of(struct span s, const char *characters)
{
	for (size_t i = 0; i < s.length; i++)
		if (!memchr(characters, s.at[i], strlen(characters)))
			return false;
	return true;
}

/* --- services --------------------------------------------------------------------------------- */

/* Of names that unit.h makes without a unit. */
static bool is_taken_name(struct span s)
{
	static const char *const names[] = {"kernel", "other", "transient"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (span_is(s, names[i]))
			return true;
	return span_starts(s, "user-") &&
	       consists_of((struct span){s.at + 5, s.length - 5}, "0123456789");
}

/* systemd.unit(5), and systemd's templates. */
static bool has_unit_suffix(struct span s)
{
	static const char *const types[] = {".service", ".scope",  ".socket",   ".mount",
					    ".swap",    ".slice",  ".timer",    ".path",
					    ".target",  ".device", ".automount"};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (span_ends(s, types[i]))
			return true;
	return false;
}

/* Those of docker's names, and of all others. */
static bool has_plain_characters(struct span s)
{
	for (size_t i = 0; i < s.length; i++)
		if (!isalnum((unsigned char)s.at[i]) && !memchr("_.-", s.at[i], 3))
			return false;
	return s.length > 0 && isalnum((unsigned char)s.at[0]);
}

static void name_container_service(struct span name, struct container_names *names)
{
	if (name.length < sizeof(names->service) && has_plain_characters(name) &&
	    !is_taken_name(name) && !has_unit_suffix(name))
		container_copy(name, names->service, sizeof(names->service));
}

/* --- owners of pods --------------------------------------------------------------------------- */

/* Cuts the last part of *name off, with its '-'. False: it has no other part. */
static bool cut_last(struct span *name, struct span *ret)
{
	const char *dash = name->length ? memrchr(name->at, '-', name->length) : NULL;

	if (!dash || dash == name->at)
		return false;
	*ret = (struct span){dash + 1, name->length - (size_t)(dash + 1 - name->at)};
	name->length = (size_t)(dash - name->at);
	return true;
}

static bool is_pod_number(struct span s)
{
	return s.length > 0 && s.length <= NUMBER_MAX && consists_of(s, "0123456789") &&
	       (s.length == 1 || s.at[0] != '0');
}

static bool is_pod_suffix(struct span s)
{
	return s.length == SUFFIX && consists_of(s, "bcdfghjklmnpqrstvwxz2456789");
}

/* A Deployment's hash or a CronJob's minutes. */
static bool is_pod_hash(struct span s)
{
	return (s.length >= HASH_MIN && s.length <= HASH_MAX && consists_of(s, "bcdf456789")) ||
	       (s.length == MINUTES && consists_of(s, "0123456789"));
}

/* @is_static: the pod is of a file of the kubelet's. */
static struct span pod_owner(struct span pod, bool is_static, const char *host)
{
	struct span owner = pod, inner, last;

	if (is_static) {
		size_t n = strlen(host);

		if (n && pod.length > n + 1 && span_ends(pod, host) &&
		    pod.at[pod.length - n - 1] == '-')
			owner.length -= n + 1;
		return owner;
	}
	if (!cut_last(&owner, &last))
		return pod;
	if (is_pod_suffix(last)) {
		inner = owner;
		return cut_last(&inner, &last) && is_pod_hash(last) ? inner : owner;
	}
	return is_pod_number(last) ? owner : pod;
}

/* --- directories of the kubelet --------------------------------------------------------------- */

/* A name of Kubernetes: lower-case letters, digits, '-', and in those of pods '.'. */
static bool is_kube_name(struct span s, size_t max)
{
	return s.length > 0 && s.length <= max && isalnum((unsigned char)s.at[0]) &&
	       consists_of(s, max == POD_MAX ? "abcdefghijklmnopqrstuvwxyz0123456789-."
					     : "abcdefghijklmnopqrstuvwxyz0123456789-");
}

struct kube_entry {
	struct span namespace, pod, container;
};

/* NAMESPACE_POD_UID */
static bool parse_pod_entry(struct span line, const char *uid, struct kube_entry *ret)
{
	size_t n = strlen(uid);
	struct span rest = line;

	if (line.length <= n || !span_ends(line, uid) || line.at[line.length - n - 1] != '_')
		return false;
	rest.length -= n + 1;
	if (!span_cut(&rest, '_', &ret->namespace))
		return false;
	ret->pod = rest;
	return is_kube_name(ret->namespace, LABEL_MAX) && is_kube_name(ret->pod, POD_MAX);
}

/* POD_NAMESPACE_CONTAINER-ID.log */
static bool parse_log_entry(struct span line, const char *id, struct kube_entry *ret)
{
	char end[1 + CONTAINER_ID_SIZE + sizeof(".log")];
	struct span rest = line;

	snprintf(end, sizeof(end), "-%s.log", id);
	if (!span_ends(line, end))
		return false;
	rest.length -= strlen(end);
	if (!span_cut(&rest, '_', &ret->pod) || !span_cut(&rest, '_', &ret->namespace))
		return false;
	ret->container = rest;
	return is_kube_name(ret->pod, POD_MAX) && is_kube_name(ret->namespace, LABEL_MAX) &&
	       is_kube_name(ret->container, LABEL_MAX);
}

/* The one entry of @listing that @parse finds @key in. */
static bool find_entry(struct span listing,
		       bool (*parse)(struct span line, const char *key, struct kube_entry *ret),
		       const char *key, struct kube_entry *ret)
{
	struct kube_entry entry = {0};
	struct span line;
	size_t n = 0;

	while (key[0] && span_cut(&listing, '\n', &line)) {
		if (!parse(line, key, &entry))
			continue;
		*ret = entry;
		n++;
	}
	return n == 1;
}

static bool are_same(struct span a, struct span b)
{
	return a.length == b.length && (!a.length || memcmp(a.at, b.at, a.length) == 0);
}

bool container_names_of_pod(const struct container_path *path, struct span pods, struct span logs,
			    const char *host, struct container_names *ret)
{
	struct kube_entry pod = {0}, log = {0};
	bool has_pod = find_entry(pods, parse_pod_entry, path->pod, &pod);
	bool has_log = find_entry(logs, parse_log_entry, path->id, &log);

	if (!has_pod && !has_log)
		return false;
	if (!has_pod)
		pod = log;
	else if (has_log &&
		 (!are_same(pod.pod, log.pod) || !are_same(pod.namespace, log.namespace)))
		has_log = false;
	container_copy(pod.pod, ret->pod, sizeof(ret->pod));
	container_copy(pod.namespace, ret->namespace, sizeof(ret->namespace));
	if (has_log)
		container_copy(log.container, ret->container, sizeof(ret->container));
	name_container_service(pod_owner(pod.pod, !strchr(path->pod, '-'), host), ret);
	return true;
}

/* --- others ----------------------------------------------------------------------------------- */

void container_names_of_path(const struct container_path *path, struct container_names *ret)
{
	const struct span machine = {path->machine, strlen(path->machine)};

	*ret = (struct container_names){0};
	container_copy(machine, ret->container, sizeof(ret->container));
	/* Another machine has a unit that bears its name. */
	if (path->runtime == CONTAINER_LXC)
		name_container_service(machine, ret);
}

void container_names_set(struct container_names *names, const char *container, const char *image)
{
	const struct span name = {container, strlen(container)};

	container_copy(name, names->container, sizeof(names->container));
	container_copy((struct span){image, strlen(image)}, names->image, sizeof(names->image));
	name_container_service(name, names);
}
