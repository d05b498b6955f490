/* SPDX-License-Identifier: MIT */
/* The range of the plot: the last hour, day or week, or between two moments. */
import { $ } from "../../analysis/flame/dom.js";
import { ask, question } from "./state.js";
import { fromInput, printRange, toInput, toMoment, toSeconds, zone } from "./times.js";

const buttons = () => document.querySelectorAll("[data-range]");
let plotted, inner;
const CLEARED = { from: "", to: "" };

function open(on) {
	$("range-form").hidden = !on;
	$("range-open").setAttribute("aria-expanded", String(on));
}

const UNITS_MS = { h: 3600e3, d: 86400e3 };
const SHORTEST_MS = 1000;

/*
 * What the server is asked for: of the last hour as much as there is. Of a store that is only read,
 * time has come to its end: "an hour ago" is an hour before that.
 */
export function rangeToAsk(machine) {
	const { since, until } = question;
	const [, n, unit] = /^-(\d+)([hd])$/u.exec(since) ?? [];

	if (!machine?.newest_ms || until || !unit)
		return { since, until };

	const end = machine.read_only ? Math.ceil(machine.newest_ms / 1000) * 1000 : machine.now_ms;
	const all = Math.max(end - machine.oldest_ms, SHORTEST_MS);
	const isAll = n * UNITS_MS[unit] > all;

	return {
		since: machine.read_only || isAll ? toSeconds(end - Math.min(n * UNITS_MS[unit], all)) : since,
		until: machine.read_only ? toSeconds(end) : until,
	};
}

/* @usage: its range is what was asked for, in numbers. @chosen: what is chosen in it, or null. */
export function showRange(usage, chosen) {
	for (const button of buttons())
		button.setAttribute("aria-pressed",
			String(question.since === button.dataset.range && !question.until));
	$("range-open").textContent = printRange(usage.since_ms, usage.until_ms);
	$("range-since").value = toInput(usage.since_ms);
	$("range-until").value = toInput(usage.until_ms);
	$("zone").textContent = zone();
	$("zoom-in").disabled = !chosen;
	$("zoom-out").disabled = false;
	plotted = [usage.since_ms, usage.until_ms];
	inner = chosen;
}

/* Plots [from, to], as much of it as is not to come. */
function plotRange(from, to) {
	ask({ since: toMoment(from), until: toMoment(Math.min(to, Date.now())), ...CLEARED });
}

function zoomOut() {
	const [from, to] = plotted, more = 1.5 * (to - from);

	plotRange(from - more, to + more);
}

/* @refresh asks the same once more. */
export function startRange(refresh) {
	for (const button of buttons())
		button.addEventListener("click", () =>
			ask({ since: button.dataset.range, until: "", ...CLEARED }));
	$("range-open").textContent = "other range";
	$("range-open").addEventListener("click", () => open($("range-form").hidden));
	$("refresh").addEventListener("click", refresh);
	$("zoom-in").addEventListener("click", () => plotRange(...inner));
	$("zoom-out").addEventListener("click", zoomOut);
	$("range-form").addEventListener("submit", (e) => {
		const since = fromInput($("range-since").value), until = fromInput($("range-until").value);

		e.preventDefault();
		if (!(until > since)) {
			$("range-until").setCustomValidity("The end is before the beginning.");
			$("range-until").reportValidity();
			return;
		}
		open(false);
		plotRange(since, until);
	});
	$("range-until").addEventListener("input", () => $("range-until").setCustomValidity(""));
}
