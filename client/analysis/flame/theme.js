/* SPDX-License-Identifier: MIT */
/*
 * Which colours boxes have on this page, of those that colour.js makes: by what the user wants them
 * to tell, and by whether the browser is light or dark. The table's swatches are of them as well.
 */
import {
	moduleKey, namespaceOf, colourOf, coloursOf, greyOf, changeColour, isScript, wallColours,
	waitingPart,
} from "./colour.js";
import { frames, isDiff, sums, type, coloursWaits, share, value } from "./data.js";
import { $, element } from "./dom.js";
import { flame, above, tree } from "./graph.js";
import { view } from "./view.js";

export let theme = "light";

/* When nearly all is of one module, its colour tells nothing. */
function findUsualColour() {
	const of = new Map();
	let most = 0, all = 0;

	if (isDiff)
		return "change";
	frames.forEach((f, i) => {
		const key = f.kind === "kernel" ? f.kind : f.module;
		const sum = (of.get(key) || 0) + Math.abs(sums.flats[i]);

		of.set(key, sum);
		most = Math.max(most, sum);
		all += Math.abs(sums.flats[i]);
	});
	return most > 0.95 * all ? "namespace" : "module";
}

let usualOfFrames;
export let usualColour;
const colourCache = new Map();

/* Of wall-clock time, colours tell what is waiting unless the user wants them to tell something
 * else. */
export function useUsualColour(type) {
	const before = usualColour;

	usualColour = coloursWaits(type) ? "waiting" : usualOfFrames;
	if (view.colour === before || (view.colour === "waiting" && !coloursWaits(type)))
		view.colour = usualColour;
}

/* Of the data that is loaded from here on. */
export function resetColours() {
	usualColour = usualOfFrames = findUsualColour();
	colourCache.clear();
}

/* Scripts of one name are many: __init__.py. */
const moduleOf = (f) => isScript(f.kind) ? f.module : moduleKey(f.module);

export function frameColour(frame, how, inlined = 0) {
	const key = `${theme}/${how}/${frame}/${inlined}`;
	let colour = colourCache.get(key);

	if (!colour) {
		const f = frames[frame];
		const ofModule = how === "module";

		colour = ofModule && !f.module
			? greyOf(theme)
			: colourOf(theme, ofModule ? moduleOf(f) : namespaceOf(f.name),
				{ kind: f.kind, shade: ofModule ? f.name : "", inlined });
		colourCache.set(key, colour);
	}
	return colour;
}

/* A bar of CPU time and waiting: [colour, part] from left to right. */
function wallParts(all, waiting) {
	const part = waitingPart(all, waiting);
	const [cpu, wait] = wallColours(theme);

	return [[cpu, 1 - part], [wait, part]].filter(([, p]) => p > 0);
}

/* The same for a swatch. */
export function wallSwatch(all, waiting) {
	const [cpu, wait] = wallColours(theme);
	const at = `${(100 * (1 - waitingPart(all, waiting))).toFixed(1)}%`;

	return `linear-gradient(to right, ${cpu} ${at}, ${wait} ${at})`;
}

/* Of a box: all boxes of a frame have one colour, or two where it was inlined in places, unless it
 * tells what changed, or what is waiting: then the box is a bar of both. */
export function colourOfNode(node, t = tree) {
	if (view.colour === "waiting")
		return wallParts(t.sums[node], t.waitSums[node]);
	return view.colour === "change"
		? changeColour(theme, t.sums[node], t.baseSums[node])
		: frameColour(t.frames[node], view.colour, t.inlined[node]);
}

function legendItem(text, colours) {
	const item = element("span", "", "");
	const swatch = element("span", "swatch band", "");

	swatch.style.background = `linear-gradient(to right, ${colours.join(", ")})`;
	item.append(swatch, text);
	return item;
}

/* What is on a CPU and what is waiting, of all that is shown; null where that is not told. */
function wallLegend() {
	const all = tree.sums[0], wait = tree.waitSums[0];
	const item = (text, v, colour) => legendItem(`${text} ${value(v)} (${share(v)})`, [colour, colour]);
	const [cpu, waiting] = wallColours(theme);

	return coloursWaits(type) && view.colour === "waiting"
		? [item("on CPU", all - wait, cpu), item("waiting", wait, waiting)] : null;
}

/* Which kinds of frames there are, and in which colours; nothing where all are of one. */
export function showKinds() {
	const wall = wallLegend();

	if (wall) {
		$("kinds").replaceChildren(...wall);
		$("kinds").hidden = false;
		return;
	}

	const kinds = new Set();

	frames.forEach(({ kind, module }) => (kind || module) && kinds.add(kind));
	const items = [...kinds].sort().map((kind) => legendItem(kind || "native", coloursOf(theme, kind)));

	if (tree.inlined.includes(1))
		items.push(legendItem("inlined", coloursOf(theme, "", true)));
	$("kinds").replaceChildren(...items);
	$("kinds").hidden = view.colour === "change" || items.length < 2;
}

/* A custom property as the scheme in use has it: of the element's colour, only that is computed. */
function schemeColours(names) {
	const probe = document.body.appendChild(element("span", "", ""));
	const colours = {};

	for (const [name, property] of Object.entries(names)) {
		probe.style.color = `var(--${property})`;
		colours[name] = getComputedStyle(probe).color;
	}
	probe.remove();
	return colours;
}

/* Of the element that all others are in: a choice of the user's, or the browser's. */
export function isDark() {
	const scheme = getComputedStyle(document.documentElement).colorScheme;

	return scheme === "dark" ||
		(scheme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
}

export function readTheme() {
	const colours = schemeColours({
		background: "background", text: "box-text", root: "root", faint: "faint", dim: "dim",
		match: "match", matchText: "match-text",
	});

	theme = isDark() ? "dark" : "light";
	colours.font = `12px ${getComputedStyle(document.body).fontFamily}`;
	for (const pane of [flame, above])
		pane.setTheme(colours);
}
