/* SPDX-License-Identifier: MIT */
/*
 * Colours. All boxes of a theme have nearly the same lightness (OKLCH, so that it is one to the
 * eye), which is what keeps their text readable whatever the hue. The hue is a hash of a name and
 * of nothing else: a library has the same colour on every page. The kernel has the warm hues for
 * itself, scripts have the yellow ones and the light green; functions that were inlined are pale.
 */
export function hash(text) {
	let h = 0x811c9dc5;

	for (let i = 0; i < text.length; i++)
		h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
	h = Math.imul(h ^ (h >>> 16), 0x7feb352d);
	return (h ^ (h >>> 15)) >>> 0;
}

/* Lightness 0 to 1, chroma, hue in degrees, to sRGB: Björn Ottosson's matrices. */
export function oklch(lightness, chroma, hue) {
	const a = chroma * Math.cos((hue * Math.PI) / 180);
	const b = chroma * Math.sin((hue * Math.PI) / 180);
	const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
	const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
	const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
	const linear = [
		4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
		-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
		-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
	];
	const bytes = linear.map((v) => {
		const c = Math.min(Math.max(v, 0), 1);

		return Math.round(255 * (c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055));
	});

	return `rgb(${bytes.join(",")})`;
}

const THEMES = {
	light: {
		lightness: 0.83, spread: 0.05, chroma: 0.085, grey: 0.9, change: [0.93, 0.66, 0.17],
		cpu: [0.79, 0.13, 65], waiting: [0.87, 0.07, 250],
	},
	dark: {
		lightness: 0.44, spread: 0.06, chroma: 0.08, grey: 0.36, change: [0.36, 0.5, 0.15],
		cpu: [0.5, 0.105, 60], waiting: [0.38, 0.075, 250],
	},
};

/* Of frames in a language of scripts, kind is its name (frame_kind.h). */
export const isScript = (kind) => kind !== "" && kind !== "kernel";

export function basename(path) {
	return path.slice(path.lastIndexOf("/") + 1) || path;
}

/* libc.so.6, libc-2.36.so: what is left tells a library from others on any machine. */
export function moduleKey(module) {
	return basename(module).replace(/(-[0-9.]+)?\.so(\.[0-9.]+)*$/, "");
}

/*
 * What a function belongs to, by its name alone: a Go package, a C++ or Rust namespace, a Java
 * class, or the part of a C function's name before its first underscore. Functions without a symbol,
 * gzip+0x4290, belong to their file.
 */
export function namespaceOf(name) {
	const nameless = /^(.+)\+0x[0-9a-f]+$/.exec(name);

	if (nameless)
		return moduleKey(nameless[1]);

	const plain = name.replace(/<[^<>]*>|\([^()]*\)/g, "");
	const slash = plain.lastIndexOf("/") + 1;
	const dot = plain.indexOf(".", slash);
	const colons = plain.lastIndexOf("::");

	if (colons > 0)
		return plain.slice(0, colons);
	if (dot > slash)
		return plain.slice(0, dot);
	return plain.replace(/^_+/, "").split("_")[0] || plain;
}

const HUES = { kernel: [28, 40], script: [76, 46], native: [138, 214] }; /* from, how many */
const PALE = { light: [0.07, 0.5], dark: [-0.07, 0.7] }; /* more light, and a part of the chroma */

const huesOf = (kind) => HUES[isScript(kind) ? "script" : kind || "native"];

/* Of lightness and chroma, as THEMES has them. */
function tonesOf(theme, inlined) {
	const { lightness, chroma } = THEMES[theme];
	const [more, part] = inlined ? PALE[theme] : [0, 1];

	return [lightness + more, chroma * part];
}

/* A box's colour by what it belongs to; @shade tells its function from the next one. */
export function colourOf(theme, key, { kind, shade, inlined }) {
	const [lightness, chroma] = tonesOf(theme, inlined);
	const [from, n] = huesOf(kind);
	const step = THEMES[theme].spread * ((hash(shade) % 5) / 4 - 0.5);

	return oklch(lightness + step, chroma * (0.8 + (hash(`${key} `) % 5) / 10), from + (hash(key) % n));
}

/* Some of the colours that frames of a kind have, for a legend. */
export function coloursOf(theme, kind, inlined = false) {
	const tones = tonesOf(theme, inlined);
	const [from, n] = huesOf(kind);

	return [0, 0.33, 0.67, 1].map((at) => oklch(...tones, from + at * n));
}

export function greyOf(theme) {
	return oklch(THEMES[theme].grey, 0.004, 260);
}

/* Red for what became more, blue for less, the stronger the larger the part that changed. */
export function changeColour(theme, after, before) {
	const [pale, strong, chroma] = THEMES[theme].change;
	const most = Math.max(Math.abs(after), Math.abs(before));
	const part = most ? Math.max(-1, Math.min(1, (after - before) / most)) : 0;
	const strength = Math.round(Math.abs(part) * 16) / 16;

	return oklch(pale + (strong - pale) * strength, 0.005 + chroma * strength,
		part > 0 ? 25 : 255);
}

/* Of time on a CPU, and of waiting: orange and blue, which all eyes tell apart, of two lightnesses. */
export function wallColours(theme) {
	return [oklch(...THEMES[theme].cpu), oklch(...THEMES[theme].waiting)];
}

/* Which part of @all is waiting: 0 to 1. */
export function waitingPart(all, waiting) {
	return all ? Math.min(Math.max(waiting / all, 0), 1) : 0;
}
