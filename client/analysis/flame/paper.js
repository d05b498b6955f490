/* SPDX-License-Identifier: MIT */
/*
 * On paper: the picture as it stands in the window, in the light theme and as wide as a sheet, sharper
 * than a screen; nothing to press, and in words what there is nobody to ask of. `flame.paper` tells
 * the others, the class `paper` tells the style.
 */
import { labels, isDiff, types, type } from "./data.js";
import { $, element } from "./dom.js";
import { flame, tree, showChoices } from "./graph.js";
import { pathTo } from "./model.js";
import { labelOf, hover } from "./tell.js";
import { readTheme } from "./theme.js";
import { view } from "./view.js";

const PAPER_SCALE = 3; /* pixels of the picture for one of CSS */

/* [what, how] for each choice that makes the picture another one. */
function choicesInWords() {
	const option = (id) => $(id).selectedOptions[0].textContent;

	return [
		["Values", types.length > 1 && type.type],
		["Zoomed to", view.zoom && pathTo(tree, view.zoom).slice(1).map((node) => labelOf(node)).join(" › ")],
		["Searched for", view.search && `${view.search} (${$("matches").textContent})`],
		["Callees of", view.sandwich >= 0 && labels[view.sandwich]],
		["Order", view.callers && view.sandwich < 0 && "the functions that ran, and their callers"],
		["Widths", isDiff && option("width")],
		["Colours", option("colour")],
	].filter(([, how]) => how);
}

export function definitions(pairs) {
	return pairs.map(([term, told]) => {
		const div = element("div", "", "");

		div.append(element("dt", "", term), element("dd", "", told));
		return div;
	});
}

export function setPaper(on) {
	if (on === !!flame.paper)
		return;
	hover(-1);
	flame.setPaper(on ? PAPER_SCALE : 0);
	document.documentElement.classList.toggle("paper", on);
	$("said").replaceChildren(...definitions(choicesInWords()));
	readTheme();
	showChoices();
	flame.resize();
	flame.draw();
}
