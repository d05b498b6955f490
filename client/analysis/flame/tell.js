/* SPDX-License-Identifier: MIT */
/*
 * What is told of a box in words: in the tip beside the pointer, to those who are read to, and in
 * the row of its callers above the picture. Names are whole here.
 */

function labelOf(node) {
	if (node === 0)
		return view.callers ? "all, by what ran" : "all";
	return tree.frames[node] === CUT ? "… (smaller)" : labels[tree.frames[node]];
}

function element(name, className, content) {
	const e = document.createElement(name);

	e.className = className;
	e.textContent = content;
	return e;
}

function signed(v, show) {
	return (v > 0 ? "+" : v < 0 ? "\u2212" : "") + show(Math.abs(v));
}

/* +20 s (+200 %) from 10 s */
function changeOf(v, base) {
	const part = base && v !== base ? ` (${signed(v - base, (d) => percent(d, Math.abs(base)))})` : "";

	return `${signed(v - base, value)}${part} from ${value(base)}`;
}

/* [label, value, share, change] for the node's own and all below. */
function valuesOf(node) {
	const t = tree;
	const rows = [["Total", t.sums[node], t.baseSums[node]], ["Self", t.selfs[node], t.bases[node]]];
	const cells = rows.map(([label, v, base]) => [label, value(v), share(v),
		isDiff ? changeOf(v, base) : ""]);

	if (view.zoom)
		cells.push(["Of zoomed", percent(t.sums[node], t.sums[view.zoom]), "", ""]);
	return cells;
}

function describe(node) {
	const f = tree.frames[node] === CUT ? null : frames[tree.frames[node]];

	return {
		name: node === 0 ? data.title : f ? labels[tree.frames[node]] : "Boxes too small to be kept",
		place: f ? [placeOf(f), f.module, tree.inlined[node] ? "inlined" : ""]
			.filter(Boolean).join(" · ") : "",
		values: valuesOf(node),
	};
}

function showTip(node, x, y) {
	const tip = $("tip");
	const d = describe(node);
	const values = element("span", "values", "");

	tip.replaceChildren(element("span", "name", d.name), element("span", "place", d.place), values);
	for (const cell of d.values.flat())
		values.append(element("span", "", cell));
	tip.hidden = false;

	const box = tip.getBoundingClientRect();
	const left = Math.min(x + 14, innerWidth - box.width - 8);
	const below = y + 18 + box.height < innerHeight;

	tip.style.transform =
		`translate(${Math.max(8, left)}px, ${below ? y + 18 : Math.max(8, y - box.height - 10)}px)`;
}

function hover(node, x, y) {
	if (node < 0)
		$("tip").hidden = true;
	else
		showTip(node, x, y);
	if (flame.hovered !== node) {
		flame.hovered = node;
		flame.drawOver();
	}
}

/* Shows a box as the chosen one, from the keyboard or the table. */
function select(node) {
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

	showTip(node, box.left + (left + right) / 2, box.top + flame.top(tree.depths[node]));
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

function showCrumbs() {
	const path = pathTo(tree, view.zoom);
	const shown = path.length > 7 ? [path[0], ...path.slice(-5)] : path;
	const parts = [];

	for (const node of shown) {
		if (parts.length)
			parts.push(element("span", "", node === shown[1] && shown.length < path.length
				? "› … ›" : "›"));
		parts.push(crumb(node));
	}
	parts.push(element("span", "share",
		`${value(tree.sums[view.zoom])} · ${share(tree.sums[view.zoom])}`));
	$("crumbs").replaceChildren(...parts);
}
