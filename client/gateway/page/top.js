/* SPDX-License-Identifier: MIT */
/* The table of functions, with what changed where there is something to compare with. */
import { basename } from "../../analysis/flame/colour.js";
import { $, element } from "../../analysis/flame/dom.js";
import { signed } from "../../analysis/flame/tell.js";
import { formatter, percent } from "../../analysis/flame/units.js";
import { ask } from "./state.js";

const COLUMNS = [
	["self", "Self", "Spent in the function itself"],
	["cum", "Total", "Spent in the function and in all that it called"],
	["change", "Change", "Self now, less self in what it is compared with"],
];

let given, sort = "self", isDiff = false;

function numberCell(value, share) {
	const cell = element("td", "number", "");

	cell.append(element("span", "", value), element("span", "share", share));
	return cell;
}

function changeCell(row, show) {
	const cell = element("td", "number", row.change ? signed(row.change, show) : "0");

	if (row.change)
		cell.classList.add(row.change > 0 ? "more" : "less");
	return cell;
}

function bar(cell, part) {
	cell.style.setProperty("--share", `${(100 * Math.min(part, 1)).toFixed(1)}%`);
	return cell;
}

function functionCell(row) {
	const cell = element("td", "function", "");
	const name = element("button", "link", row.function);
	const source = element("button", "link quiet", "source");

	name.type = source.type = "button";
	name.title = `${row.function}\n${[row.file, row.module].filter(Boolean).join(" · ")}\nits callers and callees`;
	name.addEventListener("click", () => ask({ view: "sandwich", function: row.function }));
	source.title = `Source of ${row.function}`;
	source.addEventListener("click", () => ask({ view: "source", function: row.function }));
	cell.append(name);
	if (row.file)
		cell.append(source);
	return cell;
}

function rowElement(row, show) {
	const tr = document.createElement("tr");
	const total = Math.abs(given.total) || 1;

	tr.append(
		bar(numberCell(show(row.self), percent(row.self, given.total)), Math.abs(row.self) / total),
		bar(numberCell(show(row.cum), percent(row.cum, given.total)), Math.abs(row.cum) / total),
		...isDiff ? [changeCell(row, show)] : [],
		functionCell(row),
		Object.assign(element("td", "module", row.module ? basename(row.module) : ""),
			{ title: row.module ?? "" }),
		element("td", "kind", row.kind ?? ""));
	return tr;
}

function heading(key, label, title) {
	const th = element("th", "number", "");
	const button = element("button", "", label);

	th.scope = "col";
	th.setAttribute("aria-sort", sort === key ? "descending" : "none");
	button.type = "button";
	button.title = title;
	button.setAttribute("aria-pressed", String(sort === key));
	button.addEventListener("click", () => {
		sort = key;
		draw();
	});
	th.append(button);
	return th;
}

function draw() {
	const table = element("table", "top", "");
	const head = table.createTHead().insertRow();
	const body = table.createTBody();
	const show = formatter(given.unit, 1, "auto");
	const rows = given.rows.map((row) => ({ ...row, change: row.self - (row.base_self ?? 0) }));

	table.append(element("caption", "unseen", "Functions by what was spent in them"));
	head.append(...COLUMNS.filter(([key]) => isDiff || key !== "change").map((c) => heading(...c)),
		...["Function", "Module", "Kind"].map((text) => Object.assign(element("th", text.toLowerCase(), text), { scope: "col" })));
	rows.sort((a, b) => Math.abs(b[sort]) - Math.abs(a[sort]) || b.cum - a.cum);
	body.append(...rows.map((row) => rowElement(row, show)));
	$("view-top").replaceChildren(table);
	if (given.truncated)
		$("view-top").append(element("p", "note", `The ${rows.length} largest are shown.`));
}

export function showTop(answer, base) {
	given = answer;
	isDiff = !!base;
	if (!isDiff && sort === "change")
		sort = "self";
	draw();
	$("function-names").replaceChildren(...answer.rows.slice(0, 300).map((row) => new Option(row.function)));
}
