/* SPDX-License-Identifier: MIT */
/*
 * Which colours boxes have on this page, of those that colour.js makes: by what the user wants them
 * to tell, and by whether the browser is light or dark. The table's swatches are of them as well.
 */
let theme = "light";

/* When nearly all is of one module, its colour tells nothing. */
function findUsualColour() {
	const of = new Map();
	let most = 0, all = 0;

	if (isDiff)
		return "change";
	frames.forEach((f, i) => {
		const key = isKernel(f.module) ? "kernel" : f.module;
		const sum = (of.get(key) || 0) + Math.abs(sums.flats[i]);

		of.set(key, sum);
		most = Math.max(most, sum);
		all += Math.abs(sums.flats[i]);
	});
	return most > 0.95 * all ? "namespace" : "module";
}

const usualColour = findUsualColour();

const colourCache = new Map();

function frameColour(frame, how) {
	const key = `${theme}/${how}/${frame}`;
	let colour = colourCache.get(key);

	if (!colour) {
		const f = frames[frame];
		const kernel = isKernel(f.module);

		colour = how === "module" && !f.module
			? greyOf(theme)
			: colourOf(theme, how === "module" ? moduleKey(f.module) : namespaceOf(f.name),
				kernel, how === "module" ? f.name : "");
		colourCache.set(key, colour);
	}
	return colour;
}

/* Of a box: all boxes of a frame have one colour, unless it tells what changed. */
function colourOfNode(node, t = tree) {
	return view.colour === "change"
		? changeColour(theme, t.sums[node], t.baseSums[node])
		: frameColour(t.frames[node], view.colour);
}

function readTheme() {
	const style = getComputedStyle(document.documentElement);
	const get = (name) => style.getPropertyValue(`--${name}`).trim();

	theme = !flame.paper && matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
	const colours = {
		background: get("background"), text: get("box-text"), root: get("root"),
		faint: get("faint"), dim: get("dim"), match: get("match"),
		matchText: get("match-text"),
		font: `12px ${getComputedStyle(document.body).fontFamily}`,
	};

	for (const pane of [flame, above])
		pane.setTheme(colours);
}
