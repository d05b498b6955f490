/* SPDX-License-Identifier: MIT */
/*
 * What the page was made with: frames with their names, and values of one or several types. It gives
 * all others `frames` and `labels`, which go by the numbers of frames, and of the type that is shown,
 * which useType() says, `trees` and `sums`, and `value` and `share`, which make texts of values.
 */
const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const text = (string) => data.strings[string];
/* Columns are there when lines are told apart by them. */
const columnOf = (i) => data.frames.column?.[i] ? `:${data.frames.column[i]}` : "";
const frames = data.frames.name.map((name, i) => ({
	name: text(name),
	file: text(data.frames.file[i]),
	line: data.frames.line[i] && data.frames.line[i] + columnOf(i),
	module: text(data.frames.module[i]),
}));
const isDiff = !!data.nodes.base;
/* As the profile has them; the nodes' own values are of data.chosen. */
const types = [data.chosen, ...(data.others ? data.others.types : [])]
	.sort((a, b) => a.index - b.index);

function placeOf(frame) {
	return frame.file && frame.line ? `${frame.file}:${frame.line}` : frame.file;
}

/* Where lines tell frames apart, a box has to say which one it is. */
const labels = frames.map((f) => data.by_line && f.file
	? `${f.name} ${basename(f.file)}:${f.line}` : f.name);

function treeOf(type) {
	const n = data.nodes.depth.length;
	const self = new Float64Array(n), base = new Float64Array(n);
	let at = 0;

	if (type === data.chosen)
		return treeFromPage(data.nodes);
	data.others.at.forEach((step, i) => {
		at += step;
		self[at] = type.self[i];
		base[at] = isDiff ? type.base[i] : 0;
	});
	return heaviestFirst(treeFromPage({ ...data.nodes, root: type.root, self, base }));
}

let type, trees, sums, value;
let noise; /* times below it are what rounding has left */
const share = (v) => percent(v, type.total);

/* What changed, or 0 if that is no more than rounding, or too little for any digit to tell. */
function settled(after, before) {
	const change = after - before;

	return Math.abs(change) <= Math.max(noise, 5e-7 * Math.abs(before)) ? 0 : change;
}

function useType(which) {
	type = which;
	type.trees ||= { down: treeOf(type), up: null };
	trees = type.trees;
	type.sums ||= sumFrames(trees.down, frames.length);
	sums = type.sums;
	noise = isTime(type.unit) ? Math.abs(type.total) * 1e-8 : 0;

	const show = formatter(type.unit, data.divide_by, data.shown_unit);

	value = (v) => show(Math.abs(v) <= noise ? 0 : v);
}

useType(data.chosen);
