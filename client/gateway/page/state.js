/* SPDX-License-Identifier: MIT */
/*
 * The question that the page answers, which is the address: each part of it is a parameter, so that
 * a link shows the same, and Back the one before. `since` and `until` are the plot's range as the
 * server takes it, -1h or a moment; `from` and `to` what is chosen in it, in Unix milliseconds.
 * `plot` is each where every service has one of its own, then `scale` may be same.
 * What is chosen in a flame graph is behind '#', and for flame/view.js to read.
 */
const DEFAULTS = {
	since: "-1h", until: "",
	from: "", to: "",
	service: "", pid: "",
	view: "flame", function: "", type: "", idle: "",
	focus: "", hide: "",
	base: "", base_from: "", base_to: "", base_service: "",
	filter: "", group: "", solo: "", plot: "", scale: "",
};
const RANGE = ["from", "to"];

export const question = { ...DEFAULTS, tags: [] };
let see;

function readAddress() {
	const given = new URLSearchParams(location.search);

	for (const [key, usual] of Object.entries(DEFAULTS))
		question[key] = given.get(key) ?? usual;
	question.tags = given.getAll("tag");
	for (const key of RANGE)
		if (!Number.isFinite(Number(question[key])))
			question[key] = "";
}

/* With @change in place of what is asked now. */
export function addressOf(change = {}) {
	const kept = new URLSearchParams();
	const asked = { ...question, ...change };

	for (const [key, usual] of Object.entries(DEFAULTS))
		if (asked[key] !== usual)
			kept.set(key, asked[key]);
	for (const tag of asked.tags)
		kept.append("tag", tag);
	return `${location.pathname}${kept.size ? `?${kept}` : ""}`;
}

const partsOf = (asked) => JSON.stringify(asked);

/* Asks another question. What was chosen in the flame graph is of other boxes, unless @keepHash. */
export function ask(change, { step = true, keepHash = false } = {}) {
	const before = partsOf(question);
	const address = addressOf(change) + (keepHash ? location.hash : "");

	Object.assign(question, change);
	if (partsOf(question) === before)
		return;
	history[step ? "pushState" : "replaceState"](null, "", address);
	see();
}

/* @onChange is called for each question, the first as well; @onHash when only the rest has changed. */
export function followAddress(onChange, onHash) {
	see = onChange;
	addEventListener("popstate", () => {
		const before = partsOf(question);

		readAddress();
		if (partsOf(question) === before)
			onHash();
		else
			onChange();
	});
	readAddress();
	onChange();
}
