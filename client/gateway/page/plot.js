/* SPDX-License-Identifier: MIT */
/*
 * CPU by service, stacked: cores upwards, time from left to right, in steps, which are as they were
 * counted, with their busiest seconds (peaks.js). Steps that no stored window covers are hatched gaps. A
 * range is chosen by dragging; what it is compared with is dashed.
 */
import { axisLeft } from "d3-axis";
import { scaleLinear, scaleTime } from "d3-scale";
import { select } from "d3-selection";
import { area, curveStepAfter } from "d3-shape";
import { $, element } from "../../analysis/flame/dom.js";
import { digits, percent } from "../../analysis/flame/units.js";
import { movedByKey, RangeBrush } from "./brush.js";
import { aroundPeak, drawPeaks, highestOf, listPeaks, needlesOf, peakInWords, standoutsOf } from "./peaks.js";
import { coloursOf, greyColour, layersOf } from "./series.js";
import { printMoment, printRange, printSpan, timeAxis, zone } from "./times.js";
import { hideTip, showTip } from "./tip.js";

const MARGIN = { top: 18, right: 18, bottom: 34, left: 52 };
const HEIGHT = 210, FLAT_HEIGHT = 96;
const NEAR = 8; /* pixels: what is nearer to each other is pointed to at once */
const ONGOING = 24; /* pixels: losses that are nearer to each other are one mark */
const EVENTS_TOLD = 8;
const EVENT_WORDS = {
	restart: "restart", build: "new build", lost: "lost ticks", pause: "pause",
};

let usage, chosen, onChoose, onPeak, layers, needles, standouts, x, y, brush, height;
const svg = select($("plot")).append("svg").attr("aria-hidden", "true");
const parts = Object.fromEntries(
	["areas", "needles", "gaps", "axes", "base", "events", "brush", "marks", "hair"].map((name) =>
		[name, svg.append("g").attr("class", name)]));

function addHatching() {
	const pattern = svg.append("defs").append("pattern").attr("id", "hatch")
		.attr("width", 6).attr("height", 6).attr("patternUnits", "userSpaceOnUse")
		.attr("patternTransform", "rotate(45)");

	pattern.append("rect").attr("width", 2).attr("height", 6);
}

/* [first, last) of the steps for which @is(step). */
function runsOf(steps, is) {
	const runs = [];

	for (let i = 0; i < steps; i++) {
		if (!is(i))
			continue;
		if (runs.at(-1)?.[1] === i)
			runs.at(-1)[1]++;
		else
			runs.push([i, i + 1]);
	}
	return runs;
}

const timeOfStep = (i) => usage.since_ms + i * usage.step_ms;
const isGap = (i) => !(usage.covered[i] > 0);

/* A path for each layer, of all runs of covered steps. */
function drawAreas() {
	const colour = coloursOf(usage.services);
	const runs = runsOf(usage.steps, (i) => !isGap(i));
	const floor = new Float64Array(usage.steps);
	const shape = area().x((d) => x(d[0])).y0((d) => y(d[1])).y1((d) => y(d[2]))
		.curve(curveStepAfter);
	const paths = layers.map((layer) => {
		const at = (i, step) => [timeOfStep(i), floor[step], floor[step] + (layer.cores[step] ?? 0)];
		const path = runs.map(([first, end]) => {
			const points = [];

			for (let i = first; i < end; i++)
				points.push(at(i, i));
			points.push(at(end, end - 1)); /* where the last step ends */
			return shape(points);
		}).join("");

		layer.cores.forEach((v, i) => (floor[i] += v ?? 0));
		return { layer, path };
	});
	const all = parts.areas.selectAll("path").data(paths);

	all.enter().append("path").merge(all)
		.attr("d", (d) => d.path)
		.attr("fill", ({ layer }) => layer.name ? colour(layer.name) : greyColour())
		.attr("class", ({ layer }) => chosen.service && layer.name !== chosen.service
			? "layer dimmed" : "layer");
	all.exit().remove();
}

function drawGaps() {
	const gaps = parts.gaps.selectAll("rect").data(runsOf(usage.steps, isGap));

	gaps.enter().append("rect").merge(gaps)
		.attr("x", ([first]) => x(timeOfStep(first)))
		.attr("width", ([first, end]) => Math.max(x(timeOfStep(end)) - x(timeOfStep(first)), 1))
		.attr("y", MARGIN.top)
		.attr("height", height - MARGIN.top - MARGIN.bottom)
		.attr("fill", "url(#hatch)");
	gaps.exit().remove();
}

function drawAxes(width) {
	const [low, high] = y.domain();

	parts.axes.selectAll("*").remove();
	parts.axes.append("g").attr("class", "axis")
		.attr("transform", `translate(0,${height - MARGIN.bottom})`)
		.call(timeAxis(x, width));
	parts.axes.append("g").attr("class", "axis")
		.attr("transform", `translate(${MARGIN.left},0)`)
		.call(axisLeft(y).ticks(height === HEIGHT ? 4 : 2).tickSizeOuter(0))
		.call((g) => g.selectAll(".tick line").attr("x2", width - MARGIN.left - MARGIN.right)
			.attr("class", "grid"));
	parts.axes.append("text").attr("class", "axis-label").attr("text-anchor", "middle")
		.attr("transform", `translate(12,${(y(low) + y(high)) / 2}) rotate(-90)`)
		.text("cores in use");
	parts.axes.append("text").attr("class", "axis-label").attr("text-anchor", "end")
		.attr("x", width - MARGIN.right).attr("y", height - 3)
		.text(`time (${zone()})`);
}

/*
 * Those of each mark: events that are nearer to each other than can be seen are one, and so are
 * losses that go on.
 */
function eventMarks() {
	const marks = [];

	for (const event of [...usage.events ?? []].sort((a, b) => a.at_ms - b.at_ms)) {
		const isNear = (other, pixels) => other && x(event.at_ms) - x(other.at_ms) < pixels;
		const last = marks.at(-1);
		const losses = event.kind === "lost" && marks.findLast((mark) => mark[0].kind === "lost");

		if (event.at_ms < usage.since_ms || event.at_ms > usage.until_ms)
			continue;
		if (isNear(last?.[0], NEAR))
			last.push(event);
		else if (losses && isNear(losses.at(-1), ONGOING))
			losses.push(event);
		else
			marks.push([event]);
	}
	return marks;
}

const widthOfMark = (events) => x(events.at(-1).at_ms) - x(events[0].at_ms);

function markInWords(events) {
	const words = events.slice(0, EVENTS_TOLD).map(eventInWords);

	return [...words, ...events.length > words.length ? [`and ${events.length - words.length} more`] : []].join("\n");
}

function drawEvents() {
	const marks = eventMarks();
	const all = parts.events.selectAll("g").data(marks);
	const added = all.enter().append("g");

	added.append("line").attr("y1", MARGIN.top - 4).attr("y2", height - MARGIN.bottom);
	added.append("path");
	added.append("title");

	const both = added.merge(all)
		.attr("class", (events) => `event ${events[0].kind}`)
		.attr("transform", (events) => `translate(${x(events[0].at_ms)},0)`);

	both.select("title").text(markInWords);
	both.select("path")
		.attr("d", (events) => `M0,14 L-5,4 H${widthOfMark(events) + 5} v3 H3.5 Z`);
	all.exit().remove();
}

const eventInWords = (e) =>
	`${printMoment(e.at_ms)}: ${EVENT_WORDS[e.kind] ?? e.kind}${e.text ? `, ${e.text}` : ""}`;

function drawBase() {
	const [start, end] = [usage.since_ms, usage.until_ms];
	const ranges = (chosen.base ? [chosen.base] : [])
		.map(([from, to]) => [Math.max(from, start), Math.min(to, end)])
		.filter(([from, to]) => to - from > usage.step_ms / 2);
	const all = parts.base.selectAll("rect").data(ranges);

	all.enter().append("rect").merge(all)
		.attr("x", ([from]) => x(from))
		.attr("width", ([from, to]) => Math.max(x(to) - x(from), 1))
		.attr("y", MARGIN.top)
		.attr("height", height - MARGIN.top - MARGIN.bottom);
	all.exit().remove();
}

/* A profile that was opened is often a single window, whose plot says nothing that a line does not. */
function isFlat() {
	return usage.covered.every((share) => share > 0) && layers.every(({ cores }) =>
		Math.max(...cores) <= 1.01 * Math.min(...cores));
}

function highest() {
	let most = 0;

	for (let i = 0; i < usage.steps; i++)
		most = Math.max(most, layers.reduce((sum, layer) => sum + (layer.cores[i] ?? 0), 0));
	return most;
}

function showSelection() {
	const span = usage.until_ms - usage.since_ms || 1;
	const [from, to] = chosen.range ?? [usage.since_ms, usage.until_ms];

	brush.move(...chosen.range ?? [null, null]);
	$("plot").setAttribute("aria-valuenow", String(Math.round((100 * (from - usage.since_ms)) / span)));
	$("plot").setAttribute("aria-valuetext", printRange(from, to));
}

function draw() {
	const width = Math.max($("plot").clientWidth, 200);
	const frame = [[MARGIN.left, MARGIN.top], [width - MARGIN.right, height - MARGIN.bottom]];

	if (!usage)
		return;
	svg.attr("width", width).attr("height", height);
	x = scaleTime().domain([usage.since_ms, usage.until_ms])
		.range([MARGIN.left, width - MARGIN.right]);
	y = scaleLinear().domain([0, highestOf(highest(), needles) * 1.08 || 1])
		.range([height - MARGIN.bottom, MARGIN.top]);
	drawAreas();
	drawGaps();
	drawAxes(width);
	drawEvents();
	drawBase();
	drawPeaks(parts, { usage, service: chosen.service, needles, standouts, x, y }, choosePeak);
	brush.place(frame, x, usage.step_ms);
	showSelection();
}

/* --- peaks -------------------------------------------------------------------------------------- */

const choosePeak = (peak) => onPeak(peak.service, ...aroundPeak(usage, peak));

function isChosenPeak(peak) {
	const [from, to] = aroundPeak(usage, peak);

	return chosen.service === peak.service && chosen.range?.[0] === from && chosen.range[1] === to;
}

/* --- what is pointed to ------------------------------------------------------------------------ */

/* Of all CPUs, where it is known how many there were. */
const shareOf = (cores) => usage.n_cpus ? percent(cores, usage.n_cpus) : "";

function stepAt(clientX) {
	const left = $("plot").getBoundingClientRect().left;
	const at = (x.invert(clientX - left) - usage.since_ms) / usage.step_ms;

	return at >= 0 && at < usage.steps ? Math.floor(at) : -1;
}

/* The largest of a step, and what they add up to. */
function pointTo(e) {
	const step = usage ? stepAt(e.clientX) : -1;

	parts.hair.selectAll("line").remove();
	if (step < 0) {
		hideTip();
		return;
	}

	const colour = coloursOf(usage.services);
	const from = timeOfStep(step);
	const rows = layers.filter((l) => l.cores[step]).sort((a, b) => b.cores[step] - a.cores[step]);
	const total = rows.reduce((sum, l) => sum + l.cores[step], 0);
	const needle = needles.find((n) => n.step === step);
	const at = e.clientX - $("plot").getBoundingClientRect().left;
	const events = eventMarks().filter((mark) =>
		x(mark[0].at_ms) - NEAR <= at && at <= x(mark.at(-1).at_ms) + NEAR).flat().slice(0, EVENTS_TOLD);

	parts.hair.append("line").attr("x1", x(from)).attr("x2", x(from))
		.attr("y1", MARGIN.top).attr("y2", height - MARGIN.bottom);
	showTip({
		title: `${printMoment(from)}, ${printSpan(usage.step_ms)}`,
		text: isGap(step) ? "nothing recorded" : `${digits(total)} ${usage.n_cpus ? `of ${usage.n_cpus} ` : ""}cores in use`,
		rows: [
			...rows.slice(0, 8).map((l) => [l.name ? colour(l.name) : greyColour(), l.label,
				`${digits(l.cores[step])} cores`, shareOf(l.cores[step])]),
			...needle ? [["", `busiest second: ${needle.layer.name || "one of the others"}, ${printMoment(needle.at_ms)}`,
				`${digits(needle.cores)} cores`, shareOf(needle.cores)]] : [],
			...events.map((one) => ["", eventInWords(one), "", ""]),
		],
	}, e.clientX, e.clientY);
}

function onKey(e) {
	const bounds = [usage?.since_ms, usage?.until_ms];

	if (!usage || e.ctrlKey || e.metaKey || e.altKey)
		return;
	if (e.key === "Escape") {
		onChoose(null, null);
	} else {
		const range = movedByKey(e, chosen.range ?? [bounds[0], bounds[0] + usage.step_ms * 10],
			bounds, usage.step_ms);

		if (!range)
			return;
		onChoose(...range);
	}
	e.preventDefault();
}

/* --- in numbers --------------------------------------------------------------------------------- */

const TABLE_ROWS = 24;

/* Means over parts of the range, for whom a picture shows nothing. */
function numbersTable() {
	const table = document.createElement("table");
	const head = table.createTHead().insertRow();
	const body = table.createTBody();
	const shown = layers.slice(0, 6);
	const size = Math.ceil(usage.steps / TABLE_ROWS);

	table.append(element("caption", "", `Mean cores in use, by ${printSpan(size * usage.step_ms)}`));
	for (const name of ["From", "All", ...shown.map((l) => l.label)])
		head.append(Object.assign(element("th", "", name), { scope: "col" }));
	for (let i = 0; i < usage.steps; i += size) {
		const row = body.insertRow();
		const mean = (cores) => {
			const known = cores.slice(i, i + size).filter((v) => v !== null);

			return known.length ? known.reduce((a, b) => a + b, 0) / known.length : null;
		};
		const means = layers.map((l) => mean(l.cores));
		const all = means.some((v) => v !== null) ? means.reduce((a, b) => a + (b ?? 0), 0) : null;

		row.append(Object.assign(element("th", "", printMoment(timeOfStep(i))), { scope: "row" }));
		for (const v of [all, ...means.slice(0, shown.length)])
			row.append(element("td", "number", v === null ? "not recorded" : digits(v)));
	}
	return table;
}

function showNumbers() {
	const box = $("plot-table");

	if (!box.hidden && usage)
		box.replaceChildren(numbersTable(), eventList());
}

function eventList() {
	const list = document.createElement("ul");

	list.append(...[...standouts.map(peakInWords), ...(usage.events ?? []).slice(0, 100).map(eventInWords)]
		.map((text) => element("li", "", text)));
	return list;
}

/* --- from outside ------------------------------------------------------------------------------- */

/* @what: { usage, service, isAlone, range, base }, ranges as [from, to] or null. */
export function showPlot(what) {
	usage = what.usage;
	chosen = what;
	layers = layersOf(usage, what.service, what.isAlone);
	needles = needlesOf(usage, layers);
	standouts = standoutsOf(usage, layers, what.isAlone ? what.service : "");
	height = isFlat() ? FLAT_HEIGHT : HEIGHT;
	$("plot").classList.toggle("flat", isFlat());

	const gaps = usage.covered.filter((share) => !(share > 0)).length;

	$("plot-note").textContent = `${printSpan(usage.step_ms)} a step` + (needles.length ? " · lines: busiest second" : "") +
		(usage.events?.length ? " · arrows: events" : "") + (gaps ? " · hatched: nothing recorded" : "");
	$("plot-note").title = $("plot-note").textContent;
	$("solo").disabled = !what.service;
	$("solo").setAttribute("aria-pressed", String(!!what.service && what.isAlone));
	$("plot-title").textContent = what.service && what.isAlone ? "CPU of the service" : "CPU by service";
	listPeaks(usage, standouts, isChosenPeak, choosePeak);
	draw();
	showNumbers();
}

/* @choosePeak gets a service and two moments around one of its peaks. */
export function startPlot(choose, ofPeak) {
	onChoose = choose;
	onPeak = ofPeak;
	addHatching();
	brush = new RangeBrush(parts.brush.node(), choose);
	$("plot").addEventListener("pointermove", pointTo);
	$("plot").addEventListener("pointerleave", () => {
		parts.hair.selectAll("line").remove();
		hideTip();
	});
	$("plot").addEventListener("keydown", onKey);
	$("plot-table-open").addEventListener("click", () => {
		const box = $("plot-table");

		box.hidden = !box.hidden;
		$("plot-table-open").setAttribute("aria-expanded", String(!box.hidden));
		showNumbers();
	});
	new ResizeObserver(draw).observe($("plot"));
}
