/* SPDX-License-Identifier: MIT */
/*
 * What a user has chosen, and how it lies in the address after '#', so that a link to the page, or
 * reloading it, shows the same. `view` is all of it; what else a choice changes is for page.js to
 * see to.
 */
const view = {
	type: data.chosen,
	search: "",
	zoom: 0,
	icicle: true,
	callers: false,
	sandwich: -1, /* a frame, between its callers and its callees */
	colour: "module",
	width: isDiff ? "both" : "after",
	table: true,
	sort: isDiff ? "change" : "flat",
	tab: "functions",
};

function keepView(isStep = false) {
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
	if (view.sandwich >= 0)
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

/* What the address says. Whether there is a box of the number that is zoomed to, only the tree
 * knows. */
function readView() {
	const kept = new URLSearchParams(location.hash.slice(1));
	const zoom = Number(kept.get("z"));
	const sandwich = kept.has("f") ? Number(kept.get("f")) : -1;

	view.type = types.find((t) => t.type === kept.get("v")) || data.chosen;
	view.search = kept.get("s") || "";
	view.zoom = Number.isInteger(zoom) && zoom > 0 ? zoom : 0;
	view.icicle = kept.get("i") !== "1";
	view.callers = kept.get("b") === "1";
	view.sandwich = sandwich >= 0 && sandwich < frames.length && Number.isInteger(sandwich)
		? sandwich : -1;
	view.table = kept.get("t") !== "0" && innerWidth > 760;
	view.colour = ["module", "namespace", "change"].includes(kept.get("c"))
		? kept.get("c") : usualColour;
	if (isDiff)
		view.width = WIDTHS[kept.get("w")] ? kept.get("w") : "both";
}
