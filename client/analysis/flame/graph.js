/* SPDX-License-Identifier: MIT */
/*
 * The flame graph: the picture, its zoom, and what choices change in all the rest. Zooming is a step
 * that the browser's Back undoes. A document has one, of the elements of controls.html and
 * graph.html; showData() gives it other data.
 */
import { changeColour } from "./colour.js";
import {
	data, frames, isDiff, types, useType, loadData, type, trees, sums, value, share, callers,
	coloursWaits,
} from "./data.js";
import { $ } from "./dom.js";
import { Flame } from "./draw.js";
import {
	WIDTHS, layOut, reverseTree, treeOfCallees, treeOfCallers, pathTo, follow,
} from "./model.js";
import { definitions } from "./paper.js";
import { showMatches, search } from "./search.js";
import { showRows } from "./table.js";
import { labelOf, hover, showCrumbs } from "./tell.js";
import {
	theme, colourOfNode, readTheme, resetColours, showKinds, useUsualColour,
} from "./theme.js";
import { digits } from "./units.js";
import { view, keepView, readView, resetView } from "./view.js";

const ZOOM_MS = 160;
export const flame = new Flame($("flame"), $("over"), $("scroller"), $("spacer"));
/* In a sandwich, the callers of the function whose callees are in the other one. */
export const above = new Flame($("up-flame"), $("up-over"), $("up-scroller"), $("up-spacer"));
export let tree; /* that is shown */
let pendingFrame = 0;

/* That are shown. */
export const panes = () => view.sandwich < 0 ? [flame] : [above, flame];

export function redraw() {
	if (!pendingFrame)
		pendingFrame = requestAnimationFrame(() => {
			pendingFrame = 0;
			for (const pane of panes())
				pane.draw();
		});
}

export let animation = 0;

/* Moves to the interval of @node, at once where motion is not wanted. */
function moveTo(node, animate) {
	const [from, to] = flame.intervalOf(node);
	const [from0, to0] = [flame.from, flame.to];
	const start = performance.now();
	const still = !animate || matchMedia("(prefers-reduced-motion: reduce)").matches;

	flame.zoomed = node;
	cancelAnimationFrame(animation);
	const step = (now) => {
		const part = still ? 1 : Math.min(Math.max((now - start) / ZOOM_MS, 0), 1);
		const eased = 1 - (1 - part) ** 3;

		flame.setInterval(from0 + (from - from0) * eased, to0 + (to - to0) * eased);
		flame.draw();
		if (part < 1)
			animation = requestAnimationFrame(step);
	};

	flame.setHeight();
	step(start);
}

export function zoomTo(node, animate = true) {
	view.zoom = node;
	hover(-1);
	moveTo(node, animate);
	flame.scrollTo(node);
	showCrumbs();
	showMatches();
	keepView(animate);
	redraw();
}

/* Shows the calls that nearly all stacks begin with. */
export function unfold() {
	hover(-1);
	flame.unfold();
	flame.setHeight();
	redraw();
}

/* The other half of a sandwich has a zoom of its own, which nothing else depends on. */
export function zoomAbove(node) {
	hover(-1);
	above.zoomed = node;
	above.setInterval(...above.intervalOf(node));
	above.setHeight();
	above.scrollToRoot();
	redraw();
}

/* To boxes that are too narrow for being drawn. */
export function zoomToMerged(pane, { from, to }) {
	hover(-1);
	cancelAnimationFrame(animation);
	pane.setInterval(from, to);
	redraw();
}

/* What a document around the flame graph does itself: sandwich(name), "" for none any more. */
export const hooks = { sandwich: null };

/* Shows @frame between its callers and its callees; -1: no function any more. */
export function sandwich(frame) {
	if (hooks.sandwich) {
		hooks.sandwich(frame < 0 ? "" : frames[frame].name);
		return;
	}
	view.sandwich = frame;
	flame.selected = -1;
	refresh({ rebuild: true });
	keepView(true);
}

export function resetZoom() {
	flame.selected = -1;
	zoomTo(0);
	flame.scrollToRoot();
}

function useTree() {
	useType(view.type);
	useUsualColour(type);
	if (view.callers)
		trees.up ||= reverseTree(trees.down);
	tree = view.callers ? trees.up : trees.down;
	if (view.sandwich >= 0) {
		const up = callers ?? treeOfCallers(trees.down, view.sandwich);

		tree = callers ? trees.down : treeOfCallees(trees.down, view.sandwich);
		layOut(up, WIDTHS[view.width]);
		above.setTree(up, (node) => labelOf(node, up), (node) => colourOfNode(node, up));
	}
	layOut(tree, WIDTHS[view.width]);
	flame.folds = !view.callers && view.sandwich < 0;
	view.zoom = 0;
	flame.setTree(tree, labelOf, colourOfNode);
}

export function showChoices() {
	$("invert").setAttribute("aria-pressed", String(!view.icicle));
	$("callers").setAttribute("aria-pressed", String(view.callers));
	$("sandwich").setAttribute("aria-pressed", String(view.sandwich >= 0));
	$("table").setAttribute("aria-pressed", String(view.table));
	for (const [of, isThere] of [["change", isDiff], ["waiting", coloursWaits(type)]]) {
		const option = $("colour").querySelector(`[value=${of}]`);

		option.hidden = option.disabled = !isThere;
	}
	$("colour").value = view.colour;
	$("width").value = view.width;
	$("type").value = String(view.type.index);
	$("side").hidden = !view.table;
	$("up-scroller").hidden = view.sandwich < 0;
	$("legend").hidden = view.colour !== "change";
	$("scale").style.background = `linear-gradient(to right, ${[[0, 1], [1, 2], [1, 1], [2, 1], [1, 0]]
		.map(([after, before]) => changeColour(theme, after, before)).join(", ")})`;
	showKinds();
	flame.icicle = view.icicle || view.sandwich >= 0;
	above.icicle = false;
}

/* The line below the title, and what those hear who do not see the picture. */
function showFacts() {
	const of = `${value(trees.down.sums[0])} of ${type.type}`;
	const hottest = sums.flats.reduce((best, v, i) => v > sums.flats[best] ? i : best, 0);
	const duration = noted("Duration");

	$("facts").textContent = [of + (isDiff ? `, ${value(trees.down.baseSums[0])} before` : ""),
		noted("Time"), duration && `over ${duration}`, noted("Idle"), ...data.filters].filter(Boolean).join(" · ");
	$("facts").title = $("facts").textContent;
	$("flame").setAttribute("aria-label",
		`Flame graph of ${data.title}: ${of} in ${digits(trees.down.n - 1)} boxes` + (frames.length
			? `, most of it, ${share(sums.flats[hottest])}, in ${frames[hottest].name}. ` : ". ") +
		"Arrow keys go from box to box, Enter zooms; the table beside it has the same figures.");
}

/* After a choice that changes what stands where. */
export function refresh({ rebuild = false } = {}) {
	const zoom = rebuild ? 0 : view.zoom;

	if (rebuild)
		useTree();
	showFacts();
	showChoices();
	view.zoom = flame.zoomed = zoom;
	for (const pane of panes()) {
		pane.resize();
		pane.scrollToRoot();
	}
	moveTo(zoom, false);
	flame.scrollToRoot();
	if (zoom)
		flame.scrollTo(zoom);
	hover(-1);
	showCrumbs();
	showMatches();
	showRows();
	keepView();
	redraw();
}

/* Other values of the same stacks: what was zoomed to stays, as far as it has any of them. */
export function changeType() {
	const path = pathTo(tree, view.zoom).slice(1).map((node) => tree.frames[node]);

	useTree();
	view.zoom = follow(tree, path);
	refresh();
	search(view.search);
}

/* What the address says, at the beginning and when somebody goes back. */
export function showKept() {
	if (!data)
		return;
	readView();

	const zoom = view.zoom;

	useTree();
	view.zoom = zoom < tree.n ? zoom : 0;
	$("search").value = view.search;
	flame.selected = -1;
	refresh();
	search(view.search);
	if (view.zoom)
		zoomTo(view.zoom, false);
}

export function chooseNext(id) {
	const options = [...$(id).options].filter((o) => !o.hidden);

	$(id).value = options[(options.indexOf($(id).selectedOptions[0]) + 1) % options.length].value;
	$(id).dispatchEvent(new Event("change"));
}

export function resetAll() {
	$("search").value = "";
	search("");
	if (view.sandwich >= 0)
		sandwich(-1);
	resetZoom();
}

export function noted(what) {
	return (data.notes.find(([heading]) => heading === what) || ["", ""])[1];
}

/*
 * @given: what client/analysis/flame.c writes. Which part of it is shown is of the address. With
 * @upper it is of one function's callees, and that of its callers.
 */
export function showData(given, upper = null) {
	loadData(given, upper);
	resetColours();
	resetView();
	$("notes").replaceChildren(...definitions(
		data.notes.map(([heading, note]) => [heading || "Comment", note])));
	$("type").replaceChildren(...types.map((t) => new Option(t.type, String(t.index))));
	$("type-choice").hidden = types.length < 2;
	$("width-choice").hidden = !isDiff;
	$("change-head").hidden = !isDiff;
	readTheme();
	showKept();
}
