/* SPDX-License-Identifier: MIT */
/*
 * Services as the page has them: the largest have a colour each, by their names as far as neighbours
 * can be told apart, the rest is grey. What is grey is one area in the plot.
 */
import { hash, oklch } from "../../analysis/flame/colour.js";
import { isDark } from "../../analysis/flame/theme.js";

const SERIES_MAX = 12;
const HUES = 12;

/* name -> number of a hue, each once, as near as can be to the one that is the name's own. */
function huesOf(names) {
	const taken = new Set();

	return new Map(names.slice(0, SERIES_MAX).map((name) => {
		let hue = hash(name) % HUES;

		while (taken.has(hue))
			hue = (hue + 5) % HUES;
		taken.add(hue);
		return [name, hue];
	}));
}

export const greyColour = () => oklch(isDark() ? 0.42 : 0.82, 0.008, 260);

/* A function from names to colours. */
export function coloursOf(services) {
	const hues = huesOf(services.map((s) => s.name));
	const dark = isDark();

	return (name) => {
		const hue = hues.get(name);

		if (hue === undefined)
			return greyColour();
		return oklch((dark ? 0.6 : 0.72) + (hue % 2 ? 0.05 : -0.05), 0.125, 20 + hue * (360 / HUES));
	};
}

const addInto = (sums, cores) => cores.forEach((v, i) => {
	if (v !== null)
		sums[i] = (sums[i] ?? 0) + v;
});

/* The busiest second of any of @services in each step. */
function highestPeaks(services, steps) {
	const peaks = { cores: new Array(steps).fill(null), after_ms: new Array(steps).fill(0) };

	for (const { peaks: own } of services) {
		own?.cores.forEach((v, i) => {
			if (v === null || v <= (peaks.cores[i] ?? 0))
				return;
			peaks.cores[i] = v;
			peaks.after_ms[i] = own.after_ms[i];
		});
	}
	return peaks;
}

/*
 * What is stacked, from below, where shapes are as they are: the @first service, then, unless
 * @isAlone, the largest. { name, label, cores, peaks }, where cores are null in a gap. The peaks of all
 * others are those of any one of them.
 */
export function layersOf(usage, first, isAlone) {
	const isFirst = (s) => s.name === first;
	const shown = [...usage.services.filter(isFirst),
		...usage.services.filter((s, i) => !isFirst(s) && i < SERIES_MAX)];
	const rest = usage.services.filter((s) => !shown.includes(s));

	if (isAlone && shown.some(isFirst))
		return shown.filter(isFirst).map((s) => ({ ...s, label: s.name }));

	const sums = new Array(usage.steps).fill(null);
	const n = rest.length + (usage.other?.n ?? 0);

	for (const service of rest)
		addInto(sums, service.cores);
	if (usage.other?.cores)
		addInto(sums, usage.other.cores);
	return [
		...shown.map((s) => ({ ...s, label: s.name })),
		...n ? [{
			name: "", label: `${n} other services`, cores: sums,
			peaks: highestPeaks([...rest, usage.other ?? {}], usage.steps),
		}] : [],
	];
}
