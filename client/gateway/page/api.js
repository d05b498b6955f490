/* SPDX-License-Identifier: MIT */
/*
 * What the server is asked. A later question of the same kind takes the place of one that is not
 * answered yet, and errors are the server's own line of text.
 */
const pending = new Map(); /* kind -> AbortController */

export class Superseded extends Error {}
/* There is nothing of what was asked for, which is an answer. */
export class NothingFound extends Error {
	/* Or of what it is compared with. */
	get ofBase() {
		return this.message.startsWith("nothing to compare with");
	}
}

function addressFor(path, params) {
	const query = new URLSearchParams();

	for (const [key, value] of Object.entries(params))
		for (const one of [value].flat())
			if (one !== "" && one !== undefined && one !== null)
				query.append(key, one);
	return query.size ? `${path}?${query}` : path;
}

async function failure(answer) {
	const line = (await answer.text()).trim().slice(0, 300);

	if (answer.status === 401 || answer.status === 403)
		return `not allowed: ${line}`;
	return line || `the server answers ${answer.status}`;
}

/* The object at /api/@kind. Throws Superseded, or an Error with a text for people. */
export async function fetchAnswer(kind, params) {
	const controller = new AbortController();
	let answer;

	pending.get(kind)?.abort();
	pending.set(kind, controller);
	try {
		answer = await fetch(addressFor(`/api/${kind}`, params), { signal: controller.signal });
		if (answer.status === 404)
			throw new NothingFound(await failure(answer));
		if (!answer.ok)
			throw new Error(await failure(answer));
		return await answer.json();
	} catch (error) {
		if (controller.signal.aborted)
			throw new Superseded();
		if (error instanceof TypeError)
			throw new Error("profd-gateway does not answer; is it still running?");
		throw error;
	} finally {
		if (pending.get(kind) === controller)
			pending.delete(kind);
	}
}

/* Of the same question as pprof's file. */
export function downloadAddress(scope, range) {
	const path = scope.service ? `/service/${encodeURIComponent(scope.service)}`
		: scope.pid ? `/pid/${scope.pid}` : "";

	return addressFor(`${path}/debug/pprof/profile`, range);
}
