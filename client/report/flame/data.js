/* SPDX-License-Identifier: MIT */
/*
 * What the page was made with, read once: frames with their names, the tree of stacks, values.
 * It gives all others `frames`, `labels`, `trees` and `sums`, which go by the numbers of frames, and
 * `value` and `share`, which make texts of values.
 */
const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const text = (string) => data.strings[string];
const frames = data.frames.name.map((name, i) => ({
	name: text(name),
	file: text(data.frames.file[i]),
	line: data.frames.line[i],
	module: text(data.frames.module[i]),
}));
const value = formatter(data.unit, data.divide_by, data.shown_unit);
const share = (v) => percent(v, data.total);
const trees = { down: treeFromPage(data.nodes), up: null };
const sums = sumFrames(trees.down, frames.length);
const isDiff = !!data.nodes.base;

function placeOf(frame) {
	return frame.file && frame.line ? `${frame.file}:${frame.line}` : frame.file;
}

/* Where lines tell frames apart, a box has to say which one it is. */
const labels = frames.map((f) => data.by_line && f.file
	? `${f.name} ${basename(f.file)}:${f.line}` : f.name);
