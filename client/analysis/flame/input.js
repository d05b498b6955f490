/* SPDX-License-Identifier: MIT */
/*
 * What users do: keys, which go from box to box or do what a button does, the pointer, the wheel,
 * and what is chosen. All that listens is here, and hands on to the others.
 */
import { isDiff, types, callers } from "./data.js";
import { $ } from "./dom.js";
import {
	flame, above, tree, animation, panes, redraw, zoomTo, zoomAbove, zoomToMerged, sandwich,
	resetZoom, refresh, changeType, showKept, chooseNext, resetAll, unfold,
} from "./graph.js";
import { CUT } from "./model.js";
import { setPaper } from "./paper.js";
import { matched, search, goToMatch } from "./search.js";
import { showRows } from "./table.js";
import { describe, hover, select } from "./tell.js";
import { readTheme } from "./theme.js";
import { view } from "./view.js";

const ARROWS = {
	ArrowLeft: "before", ArrowRight: "after", ArrowUp: "up", ArrowDown: "down",
};

function neighbour(node, where) {
	const towardsRoot = (where === "up") === flame.icicle;
	const parent = tree.parents[node];

	if (where === "up" || where === "down") {
		if (towardsRoot)
			return parent;
		return node + 1 < tree.ends[node] ? node + 1 : -1;
	}
	if (parent < 0)
		return -1;
	if (where === "after")
		return tree.ends[node] < tree.ends[parent] ? tree.ends[node] : -1;
	for (let i = parent + 1, last = -1; i < tree.ends[parent]; last = i, i = tree.ends[i])
		if (i === node)
			return last;
	return -1;
}

function goTo(where) {
	let next = flame.selected < 0 ? view.zoom : neighbour(flame.selected, where);

	if (flame.isFolded(next))
		next = (where === "up") === flame.icicle ? 0 : flame.folded + 1;

	if (next >= 0)
		select(next);
}

/* Of the chosen box, or else of the one below the pointer. */
async function copyName() {
	const node = flame.selected > 0 ? flame.selected : flame.hovered;

	if (!(node > 0))
		return;
	try {
		await navigator.clipboard.writeText(describe(node).name);
		$("details").textContent = `copied: ${describe(node).name}`;
	} catch {
		$("details").textContent = "nothing may be copied from here";
	}
}

function escape() {
	if ($("search").value && document.activeElement === $("search")) {
		$("search").value = "";
		search("");
	} else if (document.activeElement === $("search")) {
		$("flame").focus();
	} else if (view.zoom || flame.selected >= 0) {
		resetZoom();
	} else if (view.sandwich >= 0) {
		sandwich(-1);
	} else {
		resetAll();
	}
}

/* What a click on a box does. */
function open(pane, node) {
	if (pane !== flame)
		zoomAbove(node);
	else if (!node && pane.folded && !view.zoom)
		unfold();
	else
		zoomTo(node);
}

const KEYS = {
	"/": () => $("search").select() || $("search").focus(),
	n: () => goToMatch(1),
	N: () => goToMatch(-1),
	i: () => $("invert").click(),
	b: () => $("callers").click(),
	s: () => $("sandwich").click(),
	r: resetAll,
	t: () => $("table").click(),
	c: () => chooseNext("colour"),
	w: () => isDiff && chooseNext("width"),
	v: () => types.length > 1 && chooseNext("type"),
	y: copyName,
	"?": () => $("keys").showModal(),
	Escape: escape,
	Enter: () => flame.selected >= 0 && open(flame, flame.selected),
};

function onKey(e) {
	const typing = e.target === $("search");

	if (e.ctrlKey || e.metaKey || e.altKey || $("keys").open)
		return;
	if (typing && e.key === "Enter") {
		$("flame").focus();
		goToMatch(1);
	} else if (typing && e.key === "Escape") {
		escape();
	} else if (typing || e.target.tagName === "SELECT" ||
		(e.key === "Enter" && e.target !== $("flame") && e.target !== document.body)) {
		return;
	} else if (ARROWS[e.key]) {
		goTo(ARROWS[e.key]);
	} else if (Object.hasOwn(KEYS, e.key)) {
		KEYS[e.key]();
	} else {
		return;
	}
	e.preventDefault();
}

/* Holding Ctrl, the wheel zooms around the pointer; without it, it scrolls. */
function onWheel(e) {
	const all = tree.w[0] || 1;

	if (!e.ctrlKey)
		return;
	e.preventDefault();

	const x = e.clientX - $("flame").getBoundingClientRect().left;
	const at = flame.from + (x / flame.width) * (flame.to - flame.from);
	const part = Math.min(Math.max(1.0025 ** e.deltaY, 0.5), 2);
	const size = Math.min(Math.max((flame.to - flame.from) * part, all * 1e-9), all);
	const from = Math.min(Math.max(at - (x / flame.width) * size, 0), all - size);

	cancelAnimationFrame(animation);
	flame.setInterval(from, from + size);
	redraw();
}

/* [node or -1, what was merged there] */
function under(e, pane) {
	const box = pane.canvas.getBoundingClientRect();
	const at = [e.clientX - box.left, e.clientY - box.top];

	return [pane.nodeAt(...at), pane.mergedAt(...at)];
}

/* The function that is pointed to, or chosen, or zoomed to, or the only one that was found. */
function frameMeant() {
	const candidates = [[above, above.hovered], [flame, flame.hovered], [flame, flame.selected],
		[flame, view.zoom]];
	const frame = candidates.filter(([, node]) => node > 0)
		.map(([pane, node]) => pane.tree.frames[node]).find((f) => f !== CUT);
	const found = frame === undefined && matched ? matched.indexOf(1) : -1;

	return found >= 0 && matched.indexOf(1, found + 1) < 0 ? found : frame ?? -1;
}

/* @keys: where keys are for the flame graph. */
export function listen(keys) {
	const on = (id, event, handler) => $(id).addEventListener(event, handler);

	for (const [id, pane] of [["flame", flame], ["up-flame", above]]) {
		on(id, "mousemove", (e) => {
			const [node, merged] = under(e, pane);

			hover(node, e.clientX, e.clientY, pane, merged);
		});
		on(id, "mouseleave", () => hover(-1));
		on(id, "click", (e) => {
			const [node, merged] = under(e, pane);

			pane.selected = -1;
			if (e.detail > 1)
				return;
			if (node >= 0)
				open(pane, node);
			else if (merged)
				zoomToMerged(pane, merged);
		});
	}
	on("flame", "dblclick", resetZoom);
	on("up-flame", "dblclick", () => zoomAbove(0));
	on("flame", "wheel", onWheel);
	for (const id of ["scroller", "up-scroller"])
		on(id, "scroll", () => {
			hover(-1);
			redraw();
		});
	on("search", "input", () => search($("search").value));
	on("reset", "click", resetAll);
	on("help", "click", () => $("keys").showModal());
	for (const [id, key] of [["invert", "icicle"], ["table", "table"]])
		on(id, "click", () => {
			view[key] = !view[key];
			refresh();
		});
	on("callers", "click", () => {
		view.callers = !view.callers;
		view.sandwich = callers ? view.sandwich : -1;
		refresh({ rebuild: true });
	});
	on("sandwich", "click", () => {
		const frame = frameMeant();

		sandwich(frame === view.sandwich ? -1 : frame);
	});
	on("type", "change", () => {
		view.type = types.find((t) => String(t.index) === $("type").value);
		changeType();
	});
	on("colour", "change", () => {
		view.colour = $("colour").value;
		refresh();
	});
	on("width", "change", () => {
		view.width = $("width").value;
		refresh({ rebuild: true });
	});
	for (const by of ["flat", "cum", "change"])
		on(`by-${by}`, "click", () => {
			view.sort = by;
			showRows();
		});
	for (const tab of ["functions", "modules"])
		on(`tab-${tab}`, "click", () => {
			view.tab = tab;
			showRows();
		});
	keys.addEventListener("keydown", onKey);
	addEventListener("popstate", showKept);
	addEventListener("beforeprint", () => setPaper(true));
	addEventListener("afterprint", () => setPaper(false));
	matchMedia("print").addEventListener("change", (e) => setPaper(e.matches));
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
		readTheme();
		refresh();
	});
	new ResizeObserver(() => {
		for (const pane of tree ? panes() : []) {
			pane.resize();
			pane.draw();
		}
	}).observe($("scroller"));
}
