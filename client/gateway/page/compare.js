/* SPDX-License-Identifier: MIT */
/* What is compared with: the same range at another time, another range, another service. */
import { $ } from "../../analysis/flame/dom.js";
import { ask, question } from "./state.js";
import { fromInput, printRange, toInput } from "./times.js";

const AGO = { "1h": 3600e3, "1d": 86400e3, "7d": 7 * 86400e3 };

let picking = false; /* whether the next range of the plot is what to compare with */

/* { range, service, where, words } for what is chosen, [from, to]; null: nothing is compared with. */
export function baseOf([from, to]) {
	const isOther = question.base_service && question.base_service !== question.service;
	const span = question.base === "range" ? to - from : AGO[question.base];
	let range;

	if (question.base === "custom")
		range = question.base_from ? [Number(question.base_from), Number(question.base_to)] : [from, to];
	else if (span)
		range = [from - span, to - span];
	else
		return null;

	const where = `${isOther ? `${question.base_service}, ` : ""}${printRange(...range)}`;

	return { range, service: isOther ? question.base_service : "", where, words: `compared with ${where}` };
}

/* Takes a range that was dragged in the plot, if it is for this. */
export function takeBase(from, to) {
	if (!picking || from === null)
		return false;
	setPicking(false);
	ask({ base: "custom", base_from: String(from), base_to: String(to) });
	return true;
}

function setPicking(on) {
	picking = on;
	$("base-pick").setAttribute("aria-pressed", String(on));
}

export function showCompare(range) {
	const base = baseOf(range);

	$("compare").value = question.base;
	$("base-form").hidden = question.base !== "custom";
	$("base-since").value = toInput(base?.range[0] ?? range[0]);
	$("base-until").value = toInput(base?.range[1] ?? range[1]);
	$("base-service").value = question.base_service;
}

export function startCompare() {
	$("compare").addEventListener("change", () => {
		setPicking(false);
		ask({ base: $("compare").value, base_from: "", base_to: "", base_service: "" });
	});
	$("base-pick").addEventListener("click", () => setPicking(!picking));
	$("base-form").addEventListener("submit", (e) => {
		const from = fromInput($("base-since").value), to = fromInput($("base-until").value);

		e.preventDefault();
		if (to > from)
			ask({
				base: "custom", base_from: String(from), base_to: String(to),
				base_service: $("base-service").value.trim(),
			});
		else
			$("base-until").setCustomValidity("The end is before the beginning."),
			$("base-until").reportValidity();
	});
	$("base-until").addEventListener("input", () => $("base-until").setCustomValidity(""));
}
