/* SPDX-License-Identifier: MIT */
/*
 * Small multiples: a plot for each service, all of the same time, in the order of the list. Each has
 * its own scale, whose end is labelled, or all have the same. A click chooses the service, a drag a
 * range. Steps that no stored window covers are hatched.
 */
import { scaleTime } from "d3-scale";
import { select } from "d3-selection";
import { $, element } from "../../analysis/flame/dom.js";
import { digits } from "../../analysis/flame/units.js";
import { coloursOf } from "./series.js";
import { isOfKind, loadOf } from "./services.js";
import { printRange, timeAxis, zone } from "./times.js";

const TOP = 16, HEIGHT = 52, AXIS = 18, SIDE = 8;
const DRAGGED = 4; /* pixels: less is a click */

let shown = null, onService, onRange;
let pressed = null; /* { x, cell, isDrag }: where a drag may have begun */
let wasDrag = false; /* a click that is the end of one is none */

const widthOf = (cell) => Math.max(cell.clientWidth - 2, 80);
const scaleOf = (cell) => scaleTime().domain([shown.usage.since_ms, shown.usage.until_ms])
	.range([SIDE, widthOf(cell) - SIDE]);
const most = (service) => Math.max(...service.cores.map((v) => v ?? 0));

/* A bar for each step, as high as @heightOf(step), in pixels. */
function barsOf(x, heightOf) {
	const { since_ms: since, step_ms: step, steps } = shown.usage;

	return Array.from({ length: steps }, (_, i) => {
		const left = x(since + i * step), high = heightOf(i);

		return high > 0 ? `M${left.toFixed(1)},${TOP + HEIGHT}v${(-high).toFixed(1)}` +
			`H${x(since + (i + 1) * step).toFixed(1)}v${high.toFixed(1)}z` : "";
	}).join("");
}

function drawRange(svg, x, range) {
	const [from, to] = [Math.max(range[0], shown.usage.since_ms), Math.min(range[1], shown.usage.until_ms)];

	svg.selectAll(".selection").remove();
	if (to > from)
		svg.append("rect").attr("class", "selection").attr("x", x(from)).attr("y", TOP)
			.attr("width", Math.max(x(to) - x(from), 1)).attr("height", HEIGHT);
}

function drawCell(cell, service, top, colour) {
	const x = scaleOf(cell);
	const svg = select(cell).select("svg").attr("width", widthOf(cell)).attr("height", TOP + HEIGHT + AXIS);

	svg.selectAll("*").remove();
	svg.append("path").attr("class", "bars").attr("fill", colour)
		.attr("d", barsOf(x, (i) => (HEIGHT * (service.cores[i] ?? 0)) / (top || 1)));
	svg.append("path").attr("fill", "url(#hatch)")
		.attr("d", barsOf(x, (i) => shown.usage.covered[i] > 0 ? 0 : HEIGHT));
	svg.append("g").attr("class", "axis").attr("transform", `translate(0,${TOP + HEIGHT})`)
		.call(timeAxis(x, widthOf(cell), 90).tickSize(4))
		.selectAll("text").filter((d) => x(d) < 20).attr("text-anchor", "start").attr("dx", -SIDE / 2);
	svg.append("text").attr("class", "axis-label").attr("x", SIDE).attr("y", 11)
		.text(`${digits(top)} cores`);
	if (shown.range)
		drawRange(svg, x, shown.range);
}

function cellOf(service, load) {
	const cell = element("button", "multiple", "");
	const head = element("span", "multiple-head", "");
	const isChosen = service.name === shown.service;

	cell.type = "button";
	cell.dataset.name = service.name;
	cell.title = `${service.name}: ${digits(service.cpu_seconds)} s of CPU, ${load.words(service)}`;
	cell.tabIndex = isChosen ? 0 : -1;
	cell.setAttribute("aria-pressed", String(isChosen));
	head.append(element("span", "name", service.name), element("span", "quiet", load.text(service)));
	cell.append(head);
	select(cell).append("svg").attr("aria-hidden", "true");
	return cell;
}

function draw() {
	if (!shown?.isOn)
		return;

	const services = shown.usage.services.filter((s) => isOfKind(shown.group, s.name));
	const colour = coloursOf(shown.usage.services);
	const all = Math.max(...services.map(most), 0);
	const hadFocus = $("multiples").contains(document.activeElement);
	const load = loadOf(shown.usage);
	const cells = services.map((s) => cellOf(s, load));

	$("multiples").replaceChildren(...cells);
	cells.forEach((cell, i) =>
		drawCell(cell, services[i], shown.isSame ? all : most(services[i]), colour(services[i].name)));
	if (cells.length && !cells.some((cell) => cell.tabIndex === 0))
		cells[0].tabIndex = 0;
	if (hadFocus)
		$("multiples").querySelector('[tabindex="0"]')?.focus();
	$("multiples-note").textContent = `Cores in use over time (${zone()}), ` +
		`${printRange(shown.usage.since_ms, shown.usage.until_ms)}; ` +
		`${shown.isSame ? "all on the same scale" : "each on its own scale"}.` +
		`${shown.usage.other?.n ? ` ${digits(shown.usage.other.n)} more services are smaller: filter to find them.` : ""}`;
}

/* --- choosing ------------------------------------------------------------------------------------ */

function rangeTo(e) {
	const x = scaleOf(pressed.cell);
	const left = pressed.cell.querySelector("svg").getBoundingClientRect().left;
	const within = (px) => Math.min(Math.max(+x.invert(px - left), shown.usage.since_ms), shown.usage.until_ms);

	return [pressed.x, e.clientX].sort((a, b) => a - b).map((px) => Math.round(within(px)));
}

function onPress(e) {
	const cell = e.target.closest(".multiple");

	wasDrag = false;
	if (e.button || !cell || !e.target.closest("svg"))
		return;
	pressed = { x: e.clientX, cell, isDrag: false };
}

function onMove(e) {
	if (!pressed || (!pressed.isDrag && Math.abs(e.clientX - pressed.x) < DRAGGED))
		return;
	pressed.isDrag = true;
	$("multiples").setPointerCapture(e.pointerId);
	drawRange(select(pressed.cell).select("svg"), scaleOf(pressed.cell), rangeTo(e));
}

function onRelease(e) {
	const range = pressed?.isDrag && rangeTo(e);

	pressed = null;
	wasDrag = !!range;
	if (range)
		onRange(...range);
}

/* The one that is chosen already: all services. */
const pick = (cell) => onService(cell.dataset.name === shown.service ? "" : cell.dataset.name);

function onKey(e) {
	const cell = e.target.closest(".multiple");
	const to = {
		ArrowRight: cell?.nextElementSibling, ArrowLeft: cell?.previousElementSibling,
		Home: cell?.parentNode.firstElementChild, End: cell?.parentNode.lastElementChild,
	}[e.key];

	if (!to || e.ctrlKey || e.metaKey || e.altKey)
		return;
	to.focus();
	e.preventDefault();
}

/* --- from outside -------------------------------------------------------------------------------- */

/* @what: { usage, service, group, range, isOn, isSame }; range: what is chosen, or null. */
export function showMultiples(what) {
	shown = what;
	$("multiples-open").setAttribute("aria-pressed", String(what.isOn));
	$("same-scale").setAttribute("aria-pressed", String(what.isSame));
	$("same-scale").hidden = $("multiples-part").hidden = !what.isOn;
	$("solo").hidden = what.isOn;
	$("plot").classList.toggle("away", what.isOn); /* it keeps the pattern of gaps */
	draw();
}

/* @service gets a name, "" for all; @range two moments. */
export function startMultiples({ service, range }) {
	onService = service;
	onRange = range;
	$("multiples").addEventListener("pointerdown", onPress);
	$("multiples").addEventListener("pointermove", onMove);
	$("multiples").addEventListener("pointerup", onRelease);
	$("multiples").addEventListener("pointercancel", () => (pressed = null));
	$("multiples").addEventListener("click", (e) => {
		const cell = e.target.closest(".multiple");

		if (cell && !wasDrag)
			pick(cell);
		wasDrag = false;
	});
	$("multiples").addEventListener("keydown", onKey);
	new ResizeObserver(draw).observe($("multiples"));
}
