/* SPDX-License-Identifier: MIT */
/* Values for people: three to four digits and a unit that suits them. */
/* [name, size, from where on if not from one of it on]: 75 s say more than 1.25 min. */
const SCALES = {
	nanoseconds: [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9], ["min", 60e9, 300e9],
		["h", 3600e9, 3 * 3600e9]],
	bytes: [["B", 1], ["KiB", 1024], ["MiB", 1024 ** 2], ["GiB", 1024 ** 3], ["TiB", 1024 ** 4]],
};
const SAME_AS = {
	ns: ["nanoseconds", 1], nanosecond: ["nanoseconds", 1], nanoseconds: ["nanoseconds", 1],
	us: ["nanoseconds", 1e3], microseconds: ["nanoseconds", 1e3],
	ms: ["nanoseconds", 1e6], milliseconds: ["nanoseconds", 1e6],
	s: ["nanoseconds", 1e9], seconds: ["nanoseconds", 1e9],
	b: ["bytes", 1], byte: ["bytes", 1], bytes: ["bytes", 1],
	kb: ["bytes", 1024], kilobytes: ["bytes", 1024],
	mb: ["bytes", 1024 ** 2], megabytes: ["bytes", 1024 ** 2],
};

export function digits(value) {
	const size = Math.abs(value);

	if (size !== 0 && size < 1e-3)
		return value.toExponential(1);
	return value.toLocaleString("en-US", {
		useGrouping: true,
		maximumFractionDigits: size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : 2,
	}).replace(/,/g, "\u202f");
}

export const isTime = (unit) => SAME_AS[unit.toLowerCase()]?.[0] === "nanoseconds";

/* A function from values in @unit to text, in the unit @shown if it is one of the same kind. */
export function formatter(unit, divideBy, shown) {
	const [kind, factor] = SAME_AS[unit.toLowerCase()] || [null, 1];
	const [shownKind, shownFactor] = SAME_AS[shown.toLowerCase()] || [null, 1];
	const scale = kind && kind === shownKind
		? SCALES[kind].filter(([, size]) => size === shownFactor)
		: SCALES[kind];

	return (value) => {
		const v = (value * factor) / divideBy;
		let best = 0;

		if (!scale)
			return unit && unit !== "count" ? `${digits(v)}\u202f${unit}` : digits(v);
		while (best + 1 < scale.length && Math.abs(v) >= (scale[best + 1][2] || scale[best + 1][1]))
			best++;
		return v ? `${digits(v / scale[best][1])}\u202f${scale[best][0]}` : "0";
	};
}

export function percent(value, total) {
	if (!total)
		return "–";

	const share = (100 * value) / total;

	return `${share.toFixed(2)}\u202f%`;
}
