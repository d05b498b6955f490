/* SPDX-License-Identifier: MIT */
/*
 * What is drawn: frames with their names, and values of one or several types. It gives all others
 * `frames` and `labels`, which are indexed by the numbers of frames, and of the type that is shown,
 * which useType() sets, `trees` and `sums`, and `value` and `share`, which make texts of values.
 */
import { basename, isScript } from "./colour.js";
import { treeFromPage, heaviestFirst, sumFrames, withoutRoot } from "./model.js";
import { isTime, formatter, percent } from "./units.js";

export let data, frames, labels, isDiff;
/* As the profile has them; the nodes' own values are of data.chosen. */
export let types;
/* The tree of the callers, where data is of one function's callees alone; or null. */
export let callers;

function framesOf({ frames: given, strings }) {
	/* Columns are there when lines are told apart by them. */
	const columnOf = (i) => given.column?.[i] ? `:${given.column[i]}` : "";

	return given.name.map((name, i) => {
		const kind = strings[given.kind[i]], file = strings[given.file[i]];

		return {
			name: strings[name],
			file,
			line: given.line[i] && given.line[i] + columnOf(i),
			/* A script is a module, whatever the interpreter lies in. */
			module: isScript(kind) ? file : strings[given.module[i]],
			kind,
		};
	});
}

/* @upper: of a sandwich, the data of the callers, whose frames get the numbers behind the others. */
export function loadData(given, upper = null) {
	const own = framesOf(given);
	const shift = (frame) => frame < 0 ? frame : frame + 2 * own.length;

	data = given;
	frames = upper ? own.concat(framesOf(upper)) : own;
	callers = upper && withoutRoot(treeFromPage({ ...upper.nodes, frame: upper.nodes.frame.map(shift) }));
	/* Where lines tell frames apart, a box has to say which one it is. */
	labels = frames.map((f) => data.by_line && f.file
		? `${f.name} ${basename(f.file)}:${f.line}` : f.name);
	isDiff = !!data.nodes.base;
	types = [data.chosen, ...(data.others ? data.others.types : [])]
		.sort((a, b) => a.index - b.index);
	useType(data.chosen);
}

export function placeOf(frame) {
	return frame.file && frame.line ? `${frame.file}:${frame.line}` : frame.file;
}

function treeOf(type) {
	const n = data.nodes.depth.length;
	const self = new Float64Array(n), base = new Float64Array(n);
	let at = 0;

	if (type === data.chosen)
		return callers ? withoutRoot(treeFromPage(data.nodes)) : treeFromPage(data.nodes);
	data.others.at.forEach((step, i) => {
		at += step;
		self[at] = type.self[i];
		base[at] = isDiff ? type.base[i] : 0;
	});
	return heaviestFirst(treeFromPage({ ...data.nodes, root: type.root, self, base }));
}

export let type, trees, sums, value;
let noise; /* times below it are what rounding has left */
export const share = (v) => percent(v, type.total);

/* What changed, or 0 if that is no more than rounding, or too little for any digit to tell. */
export function settled(after, before) {
	const change = after - before;

	return Math.abs(change) <= Math.max(noise, 5e-7 * Math.abs(before)) ? 0 : change;
}

export function useType(which) {
	type = which;
	type.trees ||= { down: treeOf(type), up: null };
	trees = type.trees;
	type.sums ||= sumFrames(trees.down, frames.length);
	sums = type.sums;
	noise = isTime(type.unit) ? Math.abs(type.total) * 1e-8 : 0;

	const show = formatter(type.unit, data.divide_by, data.shown_unit);

	value = (v) => show(Math.abs(v) <= noise ? 0 : v);
}
