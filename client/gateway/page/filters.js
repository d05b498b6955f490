/* SPDX-License-Identifier: MIT */
/*
 * Which samples are shown: those with labels (thread, pid, container, state) of some values, and
 * stacks with some functions. What is chosen is a row of chips, each of which can be taken away.
 */
import { $, element } from "../../analysis/flame/dom.js";
import { ask, question } from "./state.js";

let labels = [];

function chip(what, text, without) {
	const button = element("button", "chip", `${what}: ${text} ×`);

	button.type = "button";
	button.title = `Without this filter`;
	button.setAttribute("aria-label", `Remove the filter ${what}: ${text}`);
	button.addEventListener("click", () => ask(without));
	return button;
}

export function showFilters() {
	$("chips").replaceChildren(
		...question.pid ? [chip("pid", question.pid, { pid: "" })] : [],
		...question.tags.map((tag) => chip(...splitTag(tag),
			{ tags: question.tags.filter((other) => other !== tag) })),
		...question.focus ? [chip("with", question.focus, { focus: "" })] : [],
		...question.hide ? [chip("without", question.hide, { hide: "" })] : []);
	$("focus").value = question.focus;
	$("hide").value = question.hide;
}

function splitTag(tag) {
	const colon = tag.indexOf(":");

	return [tag.slice(0, colon), tag.slice(colon + 1)];
}

/* @given: of /api/labels, for what is chosen. */
export function showLabels(given) {
	labels = given;
	$("label-key").replaceChildren(new Option("none", ""),
		...labels.map(({ key, values }) => new Option(`${key} (${values.length})`, key)));
	$("label-key").disabled = !labels.length;
	$("label-value").hidden = true;
}

function showValues() {
	const label = labels.find(({ key }) => key === $("label-key").value);

	$("label-value").hidden = !label;
	$("label-value").replaceChildren(new Option(`choose a ${label?.key ?? "value"}`, ""),
		...(label?.values ?? []).map(({ value, share }) =>
			new Option(`${value}  ${(100 * share).toFixed(1)}\u202f%`, value)));
}

export function startFilters() {
	showLabels([]);
	$("label-key").addEventListener("change", showValues);
	$("label-value").addEventListener("change", () => {
		const tag = `${$("label-key").value}:${$("label-value").value}`;

		if ($("label-value").value && !question.tags.includes(tag))
			ask({ tags: [...question.tags, tag] });
	});
	$("expressions").addEventListener("submit", (e) => {
		e.preventDefault();
		ask({ focus: $("focus").value.trim(), hide: $("hide").value.trim() });
	});
}
