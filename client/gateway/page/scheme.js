/* SPDX-License-Identifier: MIT */
/* Light, dark, or as the browser has it, which is kept for the next time. */
import { $ } from "../../analysis/flame/dom.js";

const CHOICES = [["", "Auto"], ["light", "Light"], ["dark", "Dark"]];
const KEY = "profd.scheme";

function stored() {
	try {
		return localStorage.getItem(KEY) ?? "";
	} catch {
		return ""; /* a browser that keeps nothing */
	}
}

function store(scheme) {
	try {
		localStorage.setItem(KEY, scheme);
	} catch {
		/* Until the page is closed, then. */
	}
}

function use(scheme) {
	const [, label] = CHOICES.find(([key]) => key === scheme) ?? CHOICES[0];

	document.documentElement.dataset.scheme = scheme;
	$("theme").textContent = label;
}

/* @redraw is called when colours have become others. */
export function startScheme(redraw) {
	use(stored());
	$("theme").addEventListener("click", () => {
		const at = CHOICES.findIndex(([key]) => key === document.documentElement.dataset.scheme);
		const [scheme] = CHOICES[(at + 1) % CHOICES.length];

		use(scheme);
		store(scheme);
		redraw();
	});
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
}
