/* SPDX-License-Identifier: MIT */
/*
 * Searching: an expression, and which frames it matches. `matched` has a byte for each of them, or
 * is null where nothing is searched for; the picture and the table go by it.
 */
import { frames, labels, trees, share } from "./data.js";
import { $ } from "./dom.js";
import { flame, above, tree, redraw } from "./graph.js";
import { CUT, sumMatches, pathTo } from "./model.js";
import { showRows } from "./table.js";
import { hover, select, wallInWords } from "./tell.js";
import { digits } from "./units.js";
import { view, keepView } from "./view.js";

export let matched = null; /* per frame, or null: nothing is searched for */

/* What a search looks at, and for what: `module:RE`, `file:RE`, or names. */
function parseSearch(search) {
	const [, field, pattern] = /^(?:(module|file):)?(.*)$/su.exec(search);
	const flags = /\p{Lu}/u.test(pattern.replace(/\\./gsu, "")) ? "u" : "iu";
	let regex;

	try {
		regex = new RegExp(pattern, flags);
	} catch {
		regex = new RegExp(pattern, flags.replace("u", "")); /* what only Unicode mode refuses */
	}
	return { field: field || "name", regex };
}

/* How much of all was found, and of what is zoomed to: the rest of it is out of sight. */
function matchesInWords() {
	const n = matched.reduce((a, b) => a + b, 0);
	const found = sumMatches(trees.down, matched);
	const all = share(found.sum);
	const isMatch = (node) => tree.frames[node] !== CUT && matched[tree.frames[node]];

	if (!n)
		return "no match";
	if (!view.zoom && view.sandwich < 0)
		return [all, digits(n), wallInWords(found.sum, found.wait)].filter(Boolean).join(" · ");

	const here = pathTo(tree, view.zoom).some(isMatch)
		? tree.sums[view.zoom] : sumMatches(tree, matched, view.zoom).sum;

	return here ? `${share(here)} of ${all}` : `not here: ${all}`;
}

export function showMatches() {
	if (matched)
		$("matches").textContent = matchesInWords();
}

export function search(what) {
	const out = $("matches");

	view.search = what;
	matched = null;
	out.className = "";
	out.textContent = out.title = "";
	$("search").removeAttribute("aria-invalid");
	try {
		if (what) {
			const { field, regex } = parseSearch(what);

			matched = Uint8Array.from(frames, (f, i) =>
				regex.test(field === "name" ? labels[i] : f[field]) ? 1 : 0);
			out.title = "n, N: to the next one, to the one before";
		}
	} catch (error) {
		out.className = "bad";
		out.textContent = "no pattern";
		out.title = error.message;
		$("search").setAttribute("aria-invalid", "true");
	}
	showMatches();
	for (const pane of [flame, above])
		pane.setMatched(matched);
	hover(-1);
	showRows();
	keepView();
	redraw();
}

export function goToMatch(direction) {
	if (!matched)
		return;
	const start = flame.selected < 0 ? view.zoom : flame.selected;

	for (let k = 1; k <= tree.n; k++) {
		const node = (start + direction * k + tree.n * 2) % tree.n;
		const f = tree.frames[node];

		if (node && f !== CUT && matched[f]) {
			select(node);
			return;
		}
	}
}

export function escapeRegex(name) {
	return name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

export function searchFor(what) {
	$("search").value = view.search === what ? "" : what;
	search($("search").value);
}
