/* SPDX-License-Identifier: MIT */
/*
 * What is told of a box in words: in the tip beside the pointer, to those who are read to, and in
 * the row of its callers above the picture. Names are whole here.
 */
import {
	data, frames, labels, isDiff, placeOf, value, share, settled, type, hasWaits,
} from "./data.js";
import { $, element } from "./dom.js";
import { flame, above, tree, zoomTo, resetZoom } from "./graph.js";
import { CUT, pathTo } from "./model.js";
import { digits, percent } from "./units.js";
import { view } from "./view.js";

export function labelOf(node, t = tree) {
	if (t.frames[node] !== CUT)
		return labels[t.frames[node]];
	if (node)
		return "… (smaller)";
	return view.callers ? "all, by what ran" : "all";
}

export function signed(v, show) {
	return (v > 0 ? "+" : v < 0 ? "\u2212" : "") + show(Math.abs(v));
}

/* +20 s (+200 %) from 10 s */
function changeOf(v, base) {
	const change = settled(v, base);
	const part = base && change ? ` (${signed(change, (d) => percent(d, Math.abs(base)))})` : "";

	return `${signed(change, value)}${part} from ${value(base)}`;
}

/* [label, value, share, ""] of wall-clock time on a CPU and of waiting. */
export function wallRows(all, waiting) {
	return hasWaits(type) ? [["On CPU", all - waiting], ["Waiting", waiting]]
		.map(([label, v]) => [label, value(v), share(v), ""]) : [];
}

/* The same in a line, or nothing. */
export function wallInWords(all, waiting) {
	return hasWaits(type) ? `${share(all - waiting)} on CPU, ${share(waiting)} waiting` : "";
}

/* [label, value, share, change] for the node's own, which callers have none of, and all below. */
function valuesOf(node, t) {
	const rows = [["Total", t.sums[node], t.baseSums[node]], ["Self", t.selfs[node], t.bases[node]]];
	const cells = rows.slice(0, t === above.tree ? 1 : 2).map(([label, v, base]) => [label, value(v), share(v),
		isDiff ? changeOf(v, base) : ""]);

	cells.push(...wallRows(t.sums[node], t.waitSums[node]));
	if (view.zoom && t === tree)
		cells.push(["Of zoomed", percent(t.sums[node], t.sums[view.zoom]), "", ""]);
	return cells;
}

function foldedInWords(node, t) {
	return !node && t === tree && flame.folded && !view.zoom
		? `click to see the ${digits(flame.folded)} calls that nearly all stacks begin with` : "";
}

export function describe(node, t = tree) {
	const f = t.frames[node] === CUT ? null : frames[t.frames[node]];

	return {
		name: f ? labels[t.frames[node]] : node ? "Boxes too small to be kept" : data.title,
		place: f ? [placeOf(f), f.module !== f.file && f.module, f.kind, t.inlined[node] ? "inlined" : ""]
			.filter(Boolean).join(" · ") : foldedInWords(node, t),
		values: valuesOf(node, t),
	};
}

/* Of boxes that are drawn as one. */
function describeMerged({ n, sum, base, wait }) {
	return {
		name: n > 1 ? `${digits(n)} boxes too narrow to be drawn` : "A box too narrow to be drawn",
		place: "click to zoom to them",
		values: [["Total", value(sum), share(sum), isDiff ? changeOf(sum, base) : ""],
			...wallRows(sum, wait)],
	};
}

function showTip(d, x, y) {
	const tip = $("tip");
	const values = element("span", "values", "");

	tip.replaceChildren(element("span", "name", d.name), element("span", "place", d.place), values);
	for (const cell of d.values.flat())
		values.append(element("span", "", cell));
	placeTip(x, y);
}

/* Beside a point of the window, and within it. */
export function placeTip(x, y) {
	const tip = $("tip");

	tip.hidden = false;

	const box = tip.getBoundingClientRect();
	const left = Math.min(x + 14, innerWidth - box.width - 8);
	const below = y + 18 + box.height < innerHeight;

	tip.style.transform =
		`translate(${Math.max(8, left)}px, ${below ? y + 18 : Math.max(8, y - box.height - 10)}px)`;
}

/* @node of @pane, or what was @merged there. */
export function hover(node, x, y, pane = flame, merged = null) {
	if (node >= 0)
		showTip(describe(node, pane.tree), x, y);
	else if (merged)
		showTip(describeMerged(merged), x, y);
	else
		$("tip").hidden = true;
	for (const other of [flame, above]) {
		const hovered = other === pane ? node : -1;

		if (other.hovered !== hovered) {
			other.hovered = hovered;
			other.drawOver();
		}
	}
}

/* Shows a box as the chosen one, from the keyboard or the table. */
export function select(node) {
	const box = $("flame").getBoundingClientRect();
	const d = describe(node);

	flame.selected = node;
	if (!flame.isVisible(node) || !pathTo(tree, node).includes(view.zoom)) {
		const path = pathTo(tree, node);
		const wide = path.filter((p) => tree.w[node] / (tree.w[p] || 1) >= 40 / flame.width);

		zoomTo(path.includes(view.zoom) && flame.isVisible(node) ? view.zoom : wide[0], false);
	}
	flame.scrollTo(node);
	flame.draw();

	const [left, right] = flame.boxOf(node);

	showTip(d, box.left + (left + right) / 2, box.top + flame.top(flame.levelOf(node)));
	$("details").textContent =
		[d.name, d.place, ...d.values.map((cells) => cells.filter(Boolean).join(" "))]
			.filter(Boolean).join(", ");
}

function crumb(node) {
	const b = element("button", "", labelOf(node));

	b.type = "button";
	b.title = labelOf(node);
	b.addEventListener("click", () => node ? zoomTo(node) : resetZoom());
	return b;
}

export function showCrumbs() {
	const path = pathTo(tree, view.zoom);
	const shown = path.length > 7 ? [path[0], ...path.slice(-5)] : path;
	const parts = [];

	for (const node of shown) {
		if (parts.length)
			parts.push(element("span", "", node === shown[1] && shown.length < path.length
				? "› … ›" : "›"));
		parts.push(crumb(node));
	}
	parts.push(element("span", "share", [value(tree.sums[view.zoom]), share(tree.sums[view.zoom]),
		wallInWords(tree.sums[view.zoom], tree.waitSums[view.zoom])].filter(Boolean).join(" · ")));
	$("crumbs").replaceChildren(...parts);
}
