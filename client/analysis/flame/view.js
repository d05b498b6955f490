/* SPDX-License-Identifier: MIT */
/*
 * What a user has chosen, and how it lies in the address after '#', so that a link to the page, or
 * reloading it, shows the same. `view` is all of it; what else a choice changes is for page.js to
 * see to.
 */
import { data, frames, isDiff, types, trees, callers } from "./data.js";
import { WIDTHS } from "./model.js";
import { usualColour, useUsualColour } from "./theme.js";

export const view = {
	type: null,
	search: "",
	zoom: 0,
	icicle: true,
	callers: false,
	sandwich: -1, /* a frame, between its callers and its callees */
	colour: "module",
	width: "after",
	table: true,
	sort: "flat",
	tab: "functions",
};

/* What is chosen for data that was just loaded, before the address is read. */
export function resetView() {
	view.type = data.chosen;
	view.width = isDiff ? "both" : "after";
	view.sort = isDiff ? "change" : "flat";
}

export function keepView(isStep = false) {
	const kept = new URLSearchParams();

	if (view.type !== data.chosen)
		kept.set("v", view.type.type);
	if (view.search)
		kept.set("s", view.search);
	if (view.zoom)
		kept.set("z", view.zoom);
	if (!view.icicle)
		kept.set("i", "1");
	if (view.callers)
		kept.set("b", "1");
	if (view.sandwich >= 0 && !callers)
		kept.set("f", view.sandwich);
	if (view.colour !== usualColour)
		kept.set("c", view.colour);
	if (isDiff && view.width !== "both")
		kept.set("w", view.width);
	if (!view.table)
		kept.set("t", "0");
	try {
		if (isStep && `#${kept}` !== (location.hash || "#"))
			history.pushState(null, "", `#${kept}`);
		else
			history.replaceState(null, "", `#${kept}`);
	} catch {
		/* Not everywhere that files are shown. */
	}
}

/* Of data that is a sandwich: its function. */
function frameOfSandwich() {
	return Math.max(trees.down.frames[0], trees.down.frames[trees.down.n > 1 ? 1 : 0], 0);
}

/* What the address says. Whether there is a box of the number that is zoomed to, only the tree
 * knows. */
export function readView() {
	const kept = new URLSearchParams(location.hash.slice(1));
	const zoom = Number(kept.get("z"));
	const sandwich = callers ? frameOfSandwich() : kept.has("f") ? Number(kept.get("f")) : -1;

	view.type = types.find((t) => t.type === kept.get("v")) || data.chosen;
	view.search = kept.get("s") || "";
	view.zoom = Number.isInteger(zoom) && zoom > 0 ? zoom : 0;
	view.icicle = kept.get("i") !== "1";
	view.callers = kept.get("b") === "1";
	view.sandwich = sandwich >= 0 && sandwich < frames.length && Number.isInteger(sandwich)
		? sandwich : -1;
	view.table = kept.get("t") !== "0" && innerWidth > 760;
	useUsualColour(view.type);
	view.colour = ["module", "namespace", "change", "waiting"].includes(kept.get("c"))
		? kept.get("c") : usualColour;
	useUsualColour(view.type); /* it may not be of this type */
	if (isDiff)
		view.width = WIDTHS[kept.get("w")] ? kept.get("w") : "both";
}
