/* SPDX-License-Identifier: MIT */
/* What is told of a place in a plot, beside the pointer: in the same box as of a flame graph's. */
import { $, element } from "../../analysis/flame/dom.js";
import { placeTip } from "../../analysis/flame/tell.js";

function rowElements([colour, ...texts]) {
	const name = element("span", "", "");
	const swatch = element("span", "swatch", "");

	swatch.style.background = colour || "transparent";
	name.append(swatch, texts[0]);
	return [name, ...texts.slice(1).map((text) => element("span", "", text))];
}

/* @what: { title, text, rows }, where a row is a colour and three texts. */
export function showTip(what, x, y) {
	const values = element("span", "rows-of-tip", "");

	values.append(...what.rows.flatMap(rowElements));
	$("tip").replaceChildren(element("span", "name", what.title), element("span", "place", what.text),
		values);
	placeTip(x, y);
}

export function hideTip() {
	$("tip").hidden = true;
}
