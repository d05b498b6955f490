/* SPDX-License-Identifier: MIT */
/*
 * The heat map of what is chosen: seconds from left to right, the parts of a second upwards, as
 * FlameScope draws it, the more samples the stronger. A range is dragged from one part of a second to
 * another. Where there are more seconds than pixels, a pixel has the most of its seconds.
 */
import { scaleTime } from "d3-scale";
import { select } from "d3-selection";
import { $ } from "../../analysis/flame/dom.js";
import { digits } from "../../analysis/flame/units.js";
import { isDark } from "../../analysis/flame/theme.js";
import { oklch } from "../../analysis/flame/colour.js";
import { printMoment, printRange, printSpan, timeAxis } from "./times.js";
import { hideTip, showTip } from "./tip.js";

const LEFT = 52, RIGHT = 18, AXIS = 20, ROW = 8; /* pixels */
const SHADES = 32;

let map, range, onChoose;
let pressed = null, cursor = null; /* [column, row] */
const svg = select($("heat")).append("svg").attr("aria-hidden", "true");
const canvas = $("heat-canvas");

const width = () => Math.max($("heat").clientWidth - LEFT - RIGHT, 50);
const height = () => map.rows * ROW;
const cellsWide = () => Math.min(map.columns, Math.floor(width()));
const timeOf = ([column, row]) => map.since_ms + column * map.column_ms + row * map.row_ms;

function shades() {
	const dark = isDark();

	return Array.from({ length: SHADES }, (_, i) => {
		const part = i / (SHADES - 1);

		return oklch(dark ? 0.24 + 0.6 * part : 0.95 - 0.5 * part, 0.02 + 0.15 * part, 60 - 30 * part);
	});
}

/* The most of the columns that a cell stands for; null: nothing is known of any. */
function valueAt(cell, row) {
	const first = Math.floor((cell * map.columns) / cellsWide());
	const end = Math.max(Math.floor(((cell + 1) * map.columns) / cellsWide()), first + 1);
	let most = null;

	for (let column = first; column < end; column++) {
		const v = map.values[column * map.rows + row];

		if (v !== null && v !== undefined)
			most = Math.max(most ?? 0, v);
	}
	return most;
}

function drawCells(c) {
	const colours = shades();
	const n = cellsWide(), w = width() / n;

	for (let cell = 0; cell < n; cell++) {
		const left = Math.round(cell * w), right = Math.round((cell + 1) * w);

		for (let row = 0; row < map.rows; row++) {
			const v = valueAt(cell, row);
			const shade = v ? Math.ceil(Math.sqrt(v / (map.max || 1)) * (SHADES - 1)) : 0;

			if (v === null)
				continue;
			c.fillStyle = colours[Math.min(shade, SHADES - 1)];
			c.fillRect(left, height() - (row + 1) * ROW, right - left - (w > 4 ? 1 : 0), ROW - 1);
		}
	}
}

/* Hatched where nothing is known of all of a second. */
function drawGaps(c) {
	const n = cellsWide(), w = width() / n, high = height();
	const isGap = (cell) => Array.from({ length: map.rows }, (_, row) => valueAt(cell, row))
		.every((v) => v === null);

	c.save();
	c.beginPath();
	for (let cell = 0; cell < n; cell++)
		if (isGap(cell))
			c.rect(cell * w, 0, w, high);
	c.clip();
	c.beginPath();
	for (let x = -high; x < width(); x += 8) {
		c.moveTo(x, high);
		c.lineTo(x + high, 0);
	}
	c.strokeStyle = getComputedStyle($("hatch").firstChild).fill;
	c.lineWidth = 2;
	c.stroke();
	c.restore();
}

const xOf = (ms) => ((ms - map.since_ms) / (map.columns * map.column_ms)) * width();

/* What is chosen: of the first and the last second a part, of those between all. */
function drawRange(c, [from, to]) {
	const w = width() / map.columns, end = map.columns * map.column_ms;
	const [first, last] = [Math.max(from - map.since_ms, 0), Math.min(to - map.since_ms, end)];
	const column = (ms) => Math.floor(ms / map.column_ms);
	const up = (ms) => ((ms % map.column_ms) / map.row_ms) * ROW;
	const rect = (left, right, low, high) =>
		c.fillRect(left * w, height() - high, Math.max((right - left) * w, 1), high - low);
	const [a, b] = [column(first), column(last)];

	c.fillStyle = getComputedStyle($("heat")).color;
	c.globalAlpha = 0.22;
	if (a === b) {
		rect(a, a + 1, up(first), up(last));
	} else {
		rect(a, a + 1, up(first), height());
		if (b > a + 1)
			rect(a + 1, b, 0, height());
		if (up(last))
			rect(b, b + 1, 0, up(last));
	}
	c.globalAlpha = 1;
}

function drawAxis() {
	const x = scaleTime().range([LEFT, LEFT + width()])
		.domain([map.since_ms, map.since_ms + map.columns * map.column_ms]);

	svg.attr("width", width() + LEFT + RIGHT).attr("height", height() + AXIS + 4);
	svg.selectAll("*").remove();
	svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height() + 4})`)
		.call(timeAxis(x, LEFT + width() + RIGHT));
	for (const [text, y] of [[printSpan(map.column_ms), 8], ["0\u202fs", height()]])
		svg.append("text").attr("class", "axis-label").attr("text-anchor", "end")
			.attr("x", LEFT - 6).attr("y", y).text(text);
}

function draw() {
	const scale = devicePixelRatio || 1;
	const c = canvas.getContext("2d");

	canvas.hidden = !map;
	svg.attr("visibility", map ? "visible" : "hidden");
	if (!map)
		return;
	canvas.width = Math.round(width() * scale);
	canvas.height = Math.round(height() * scale);
	canvas.style.width = `${width()}px`;
	canvas.style.height = `${height()}px`;
	c.setTransform(scale, 0, 0, scale, 0, 0);
	drawCells(c);
	drawGaps(c);
	if (range && range[1] > map.since_ms && range[0] < map.since_ms + map.columns * map.column_ms)
		drawRange(c, range);
	if (cursor && document.activeElement === $("heat")) {
		c.strokeStyle = getComputedStyle($("heat")).color;
		c.lineWidth = 2;
		c.strokeRect(xOf(timeOf([cursor[0], 0])) - 1, height() - (cursor[1] + 1) * ROW - 1,
			Math.max(width() / map.columns, 4) + 2, ROW + 1);
	}
	drawAxis();
}

/* --- choosing ------------------------------------------------------------------------------------ */

function cellAt(e) {
	const box = canvas.getBoundingClientRect();
	const within = (v, n) => Math.min(Math.max(Math.floor(v), 0), n - 1);

	return [within(((e.clientX - box.left) / width()) * map.columns, map.columns),
		within((box.bottom - e.clientY) / ROW, map.rows)];
}

const rangeOf = (a, b) => {
	const [from, to] = [timeOf(a), timeOf(b)].sort((p, q) => p - q);

	return [from, to + map.row_ms];
};

const countAt = ([column, row]) => map.values[column * map.rows + row] ?? null;

function cellInWords(cell) {
	const n = countAt(cell);

	return n === null ? "nothing recorded" : `${digits(n)} ${n === 1 ? "sample" : "samples"}`;
}

function onMove(e) {
	if (!map)
		return;

	const cell = cellAt(e);

	if (pressed) {
		range = rangeOf(pressed, cell);
		draw();
	}
	showTip({
		title: pressed ? printRange(...range) : `${printMoment(timeOf(cell), map.row_ms)}, ${printSpan(map.row_ms)}`,
		text: pressed ? printSpan(range[1] - range[0]) : cellInWords(cell), rows: [],
	}, e.clientX, e.clientY);
}

function onRelease(e) {
	const from = pressed;

	if (!from)
		return;
	pressed = null;

	const cell = cellAt(e);

	if (from[0] === cell[0] && from[1] === cell[1])
		onChoose(timeOf([cell[0], 0]), timeOf([cell[0] + 1, 0])); /* a click: its second */
	else
		onChoose(...rangeOf(from, cell));
}

function onKey(e) {
	const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[e.key] ?? [0, 0];

	if (!map || e.ctrlKey || e.metaKey || e.altKey)
		return;
	if (dx || dy) {
		const before = cursor ?? [0, 0];

		cursor = [Math.min(Math.max(before[0] + dx, 0), map.columns - 1),
			Math.min(Math.max(before[1] + dy, 0), map.rows - 1)];
		pressed = e.shiftKey ? pressed ?? before : null;
		if (pressed)
			range = rangeOf(pressed, cursor);
		$("heat-note").textContent = `${printMoment(timeOf(cursor), map.row_ms)}: ${cellInWords(cursor)}`;
	} else if (e.key === "Enter" && cursor) {
		onChoose(...rangeOf(pressed ?? cursor, cursor));
		pressed = null;
	} else if (e.key === "Escape") {
		pressed = cursor = null;
		onChoose(null, null);
	} else {
		return;
	}
	draw();
	e.preventDefault();
}

/* --- from outside -------------------------------------------------------------------------------- */

/* @given: what the server answers, of these @tags. @shown: what is chosen in it, or null. */
export function showHeat(given, shown, tags) {
	map = given;
	range = shown;
	cursor = pressed = null;
	$("heat-state").textContent = "";
	$("heat").classList.remove("none");
	$("heat-note").textContent = `${digits(map.samples)} samples · ${printSpan(map.column_ms)} across, ` +
		`${printSpan(map.row_ms)} upwards · at most ${digits(map.max)} in one` +
		`${map.untimed ? ` · ${digits(map.untimed)} more without times` : ""}${tags.map((tag) => ` · ${tag}`).join("")}`;
	draw();
}

/* Why there is none, or that it is being loaded; then the one before stays, but for @clear. */
export function showHeatState(text, clear) {
	if (clear)
		map = null;
	$("heat-state").textContent = text;
	$("heat").classList.toggle("none", clear);
	if (clear)
		$("heat-note").textContent = "";
	draw();
}

export function startHeat(choose) {
	onChoose = choose;
	canvas.addEventListener("pointerdown", (e) => {
		if (e.button || !map)
			return;
		canvas.setPointerCapture(e.pointerId);
		pressed = cellAt(e);
	});
	canvas.addEventListener("pointermove", onMove);
	canvas.addEventListener("pointerup", onRelease);
	canvas.addEventListener("pointerleave", hideTip);
	$("heat").addEventListener("keydown", onKey);
	for (const event of ["focus", "blur"])
		$("heat").addEventListener(event, draw);
	new ResizeObserver(draw).observe($("heat"));
}
