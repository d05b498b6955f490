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

const typesOf = ({ chosen, others }) => [chosen, ...(others ? others.types : [])];

/* The type of what is waiting, whose root is beside the nodes where it is the chosen one. */
function waitsOf(given) {
	const type = typesOf(given).find((t) => t.type === "off_cpu");

	return type === given.chosen ? { ...type, root: given.nodes.root } : type;
}

/* Whether @type is wall-clock time, of which it is known what is waiting. */
export const hasWaits = (type) => type.type === "wall" && !!waitsOf(data);
/* Colours of a comparison are for what changed. */
export const coloursWaits = (type) => !isDiff && hasWaits(type);

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
	callers = upper && withoutRoot(treeFromPage({ ...nodesWithWaits(upper, upper.chosen),
		frame: upper.nodes.frame.map(shift) }));
	/* Where lines tell frames apart, a box has to say which one it is. */
	labels = frames.map((f) => data.by_line && f.file
		? `${f.name} ${basename(f.file)}:${f.line}` : f.name);
	isDiff = !!data.nodes.base;
	types = typesOf(data).filter((t) => !t.is_part).sort((a, b) => a.index - b.index);
	useType(data.chosen);
}

export function placeOf(frame) {
	return frame.file && frame.line ? `${frame.file}:${frame.line}` : frame.file;
}

/* The values @of a type that is not the chosen one, of all nodes. */
function spread({ nodes, others }, of) {
	const all = new Float64Array(nodes.depth.length);
	let at = 0;

	others.at.forEach((step, i) => {
		at += step;
		all[at] = of[i];
	});
	return all;
}

/* The nodes of @given, with those values of @type and what of them is waiting. */
function nodesWithWaits(given, type) {
	const waiting = hasWaits(type) ? waitsOf(given) : null;
	const own = type === given.chosen ? given.nodes
		: { ...given.nodes, root: type.root, self: spread(given, type.self),
			base: type.base && spread(given, type.base) };

	return waiting ? { ...own, rootWait: waiting.root[0],
		waits: waiting.index === given.chosen.index ? given.nodes.self : spread(given, waiting.self) } : own;
}

function treeOf(type) {
	const t = treeFromPage(nodesWithWaits(data, type));

	return type !== data.chosen ? heaviestFirst(t) : callers ? withoutRoot(t) : t;
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
