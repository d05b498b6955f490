/* SPDX-License-Identifier: MIT */
/*
 * The first bracket tells an object of one container from a list of all. Names of a list's entry
 * are kept until its id is known, which may come behind them.
 */
#include "daemon/worker/container/container_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "daemon/worker/container/json.h"

/* Of a container, as the file has it. */
struct config_entry {
	struct span id, name, image; /* escaped; length 0: not there */
	struct span metadata;        /* JSON, escaped */
};

/* The value of @wanted in the object that is next, if it is a string. */
static void read_member(struct json *j, const char *wanted, struct span *ret)
{
	struct span key;
	size_t n = 0;

	if (!json_enter(j, '{'))
		return;
	while (json_next(j, '{', &n) && json_key(j, &key))
		if (span_is(key, wanted))
			json_take_text(j, ret);
		else
			json_skip(j);
}

/* The first string of the array that is next. */
static void read_first(struct json *j, struct span *ret)
{
	struct span text;
	size_t n = 0;

	if (!json_enter(j, '['))
		return;
	while (json_next(j, '[', &n))
		if (json_take_text(j, &text) && n == 1)
			*ret = text;
}

static void read_value(struct json *j, struct span key, struct config_entry *entry)
{
	if (span_is(key, "ID") || span_is(key, "id"))
		json_take_text(j, &entry->id);
	else if (span_is(key, "Name"))
		json_take_text(j, &entry->name);
	else if (span_is(key, "names"))
		read_first(j, &entry->name);
	else if (span_is(key, "Config"))
		read_member(j, "Image", &entry->image);
	else if (span_is(key, "annotations"))
		read_member(j, "io.kubernetes.cri.image-name", &entry->image);
	else if (span_is(key, "metadata"))
		json_take_text(j, &entry->metadata);
	else
		json_skip(j);
}

static void read_entry(struct json *j, struct config_entry *entry)
{
	struct span key;
	size_t n = 0;

	if (!json_enter(j, '{'))
		return;
	while (json_next(j, '{', &n) && json_key(j, &key))
		read_value(j, key, entry);
}

static int read_metadata(struct span escaped, struct worker_container *ret)
{
	cleanup(freep) char *text = malloc(escaped.length + 1);
	struct span image = {"", 0};
	struct json j;

	if (!text)
		return error_origin(-ENOMEM);
	j = (struct json){.at = text,
			  .end = text + json_unescape(escaped, text, escaped.length + 1)};
	read_member(&j, "image-name", &image);
	json_unescape(image, ret->image, sizeof(ret->image));
	return CONTAINER_CONFIG_E_OK;
}

static int use_entry(const struct config_entry *entry, struct worker_container *ret)
{
	struct span name = entry->name;

	if (span_starts(name, "/")) {
		name.at++;
		name.length--;
	}
	json_unescape(name, ret->name, sizeof(ret->name));
	json_unescape(entry->image, ret->image, sizeof(ret->image));
	return entry->metadata.length ? read_metadata(entry->metadata, ret) : CONTAINER_CONFIG_E_OK;
}

static int read_list(struct json *j, const char *id, struct worker_container *ret)
{
	size_t n = 0;

	json_enter(j, '[');
	while (json_next(j, '[', &n)) {
		struct config_entry entry = {0};

		read_entry(j, &entry);
		if (!j->is_bad && span_is(entry.id, id))
			return use_entry(&entry, ret);
	}
	return j->is_bad ? CONTAINER_CONFIG_E_MALFORMED : CONTAINER_CONFIG_E_NONE;
}

/* A bundle has no id but in its path. */
static int read_single(struct json *j, const char *id, struct worker_container *ret)
{
	struct config_entry entry = {0};

	read_entry(j, &entry);
	if (j->is_bad)
		return CONTAINER_CONFIG_E_MALFORMED;
	if (entry.id.length ? !span_is(entry.id, id) : !entry.image.length)
		return CONTAINER_CONFIG_E_NONE;
	return use_entry(&entry, ret);
}

int container_config_read(const char *text, size_t length, const char *id,
			  struct worker_container *ret)
{
	struct json j = {.at = text, .end = text + length};

	memset(ret, 0, sizeof(*ret));
	while (j.at < j.end && (span_is_blank(*j.at) || *j.at == '\n'))
		j.at++;
	if (j.at < j.end && *j.at == '[')
		return read_list(&j, id, ret);
	if (j.at < j.end && *j.at == '{')
		return read_single(&j, id, ret);
	return CONTAINER_CONFIG_E_MALFORMED;
}
