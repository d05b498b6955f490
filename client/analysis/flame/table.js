/* SPDX-License-Identifier: MIT */
/*
 * The table beside the picture: functions, or modules, with their own values and those of all that
 * they called, in the order of one of them. A row searches for what it tells of.
 */
import { basename, changeColour, isScript } from "./colour.js";
import {
	frames, labels, isDiff, placeOf, type, trees, sums, value, share, settled,
} from "./data.js";
import { $, element } from "./dom.js";
import { sumFrames } from "./model.js";
import { matched, escapeRegex, searchFor } from "./search.js";
import { signed, wallInWords } from "./tell.js";
import { theme, frameColour, wallSwatch } from "./theme.js";
import { digits } from "./units.js";
import { view } from "./view.js";

const ROWS_MAX = 250;

function functionRows() {
	return frames.map((f, i) => ({
		name: labels[i], frame: i, flat: sums.flats[i], cum: sums.cums[i], wait: sums.waitCums[i],
		change: settled(sums.flats[i], sums.baseFlats[i]),
		search: `^${escapeRegex(labels[i])}$`, title: [labels[i], placeOf(f), f.module !== f.file && f.module].filter(Boolean).join("\n"),
	})).filter((row) => (!matched || matched[row.frame]) &&
		(row.flat || row.cum || row.change || sums.baseCums[row.frame]));
}

/* Of a script with its directory: json/__init__.py. */
const nameOf = ({ kind, module }) => isScript(kind)
	? module.split("/").slice(-2).join("/") : basename(module);

function moduleRows() {
	const firsts = new Map(); /* of each module, a frame; in the order of groups */
	const groups = frames.map((f, i) => {
		if (!firsts.has(f.module))
			firsts.set(f.module, { frame: i, group: firsts.size });
		return firsts.get(f.module).group;
	});
	const of = sumFrames(trees.down, firsts.size, (frame) => groups[frame]);

	return [...firsts].map(([module, { frame, group }]) => ({
		name: module ? nameOf(frames[frame]) : "(none)", frame, flat: of.flats[group],
		cum: of.cums[group], wait: of.waitCums[group], change: settled(of.flats[group], of.baseFlats[group]),
		search: `module:^${escapeRegex(module)}$`, title: module, module: true,
	}));
}

function numberCell(v, content, className = "") {
	const cell = element("td", `number ${className}`, content);
	const part = type.total ? Math.min(100, Math.abs((100 * v) / type.total)) : 0;

	cell.style.setProperty("--share", `${part.toFixed(1)}%`);
	return cell;
}

function swatchOf(row) {
	if (view.colour === "waiting")
		return wallSwatch(row.cum, row.wait);
	return view.colour === "change" && !row.module
		? changeColour(theme, sums.flats[row.frame], sums.baseFlats[row.frame])
		: frameColour(row.frame, row.module || view.colour === "change" ? "module" : view.colour);
}

function rowElement(row) {
	const tr = document.createElement("tr");
	const name = document.createElement("td");
	const swatch = element("span", "swatch", "");

	swatch.style.background = swatchOf(row);
	name.append(swatch, row.name);
	tr.append(numberCell(row.flat, share(row.flat)), numberCell(row.cum, share(row.cum)));
	if (isDiff)
		tr.append(numberCell(0, row.change && type.total ? signed(row.change, share) : "0",
			row.change > 0 ? "more" : row.change < 0 ? "less" : ""));
	tr.append(name);
	tr.title = [row.title, `self ${value(row.flat)}, total ${value(row.cum)}`,
		wallInWords(row.cum, row.wait)].filter(Boolean).join("\n");
	tr.tabIndex = 0;
	tr.setAttribute("aria-selected", String(view.search === row.search));
	tr.addEventListener("click", () => searchFor(row.search));
	tr.addEventListener("keydown", (e) => {
		if (e.key === "Enter")
			searchFor(row.search);
	});
	return tr;
}

export function showRows() {
	const rows = view.tab === "functions" ? functionRows() : moduleRows();

	if (!view.table)
		return;
	rows.sort((a, b) => Math.abs(b[view.sort]) - Math.abs(a[view.sort]) || b.cum - a.cum ||
		(a.name < b.name ? -1 : 1));
	$("rows").replaceChildren(...rows.slice(0, ROWS_MAX).map(rowElement));
	$("more").textContent = rows.length > ROWS_MAX
		? `${digits(rows.length - ROWS_MAX)} more with less` : "";
	$("name-head").textContent = view.tab === "functions" ? "Function" : "Module";
	for (const by of ["flat", "cum", "change"])
		$(`by-${by}`).setAttribute("aria-pressed", String(view.sort === by));
	for (const tab of ["functions", "modules"])
		$(`tab-${tab}`).setAttribute("aria-pressed", String(view.tab === tab));
}
