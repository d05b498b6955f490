/* SPDX-License-Identifier: MIT */
/*
 * What the mean of a step hides: its busiest second. Upon the areas a thin line shows where they
 * would end in that second, of the service that rises most in it. Those that stand out have a mark, and
 * a button below the plot: both choose the minute around it.
 */
import { $, element } from "../../analysis/flame/dom.js";
import { digits } from "../../analysis/flame/units.js";
import { coloursOf, greyColour } from "./series.js";
import { printMoment, printSpan, printWithin } from "./times.js";

const SHOWN_MAX = 5;
const AROUND_MS = 60e3;
const SPAN_MS = 1000; /* of a peak */

const sumAt = (layers, step) => layers.reduce((sum, layer) => sum + (layer.cores[step] ?? 0), 0);

/* Of each step: { at_ms, layer, cores, floor, top }, in cores; none where steps are no longer than peaks. */
export function needlesOf(usage, layers) {
	const needles = [];

	for (let i = 0; i < usage.steps && usage.step_ms > SPAN_MS; i++) {
		const rise = (layer) => (layer.peaks?.cores[i] ?? 0) - (layer.cores[i] ?? 0);
		const layer = layers.reduce((a, b) => rise(b) > rise(a) ? b : a, layers[0]);

		if (!layer || rise(layer) <= 0)
			continue;

		const floor = sumAt(layers, i);

		needles.push({
			step: i, at_ms: usage.since_ms + i * usage.step_ms + layer.peaks.after_ms[i], layer, floor,
			cores: layer.peaks.cores[i], top: floor + rise(layer),
		});
	}
	return needles;
}

/* The service's own, where it is alone. */
export function standoutsOf(usage, layers, alone) {
	return (usage.step_ms > SPAN_MS ? usage.peaks ?? [] : []).filter((p) => !alone || p.service === alone)
		.slice(0, SHOWN_MAX).map((peak) => {
			const step = Math.min(Math.floor((peak.at_ms - usage.since_ms) / usage.step_ms), usage.steps - 1);
			const mean = layers.find((l) => l.name === peak.service)?.cores[step] ?? 0;
			const floor = sumAt(layers, step);

			return { ...peak, floor, top: floor + Math.max(peak.cores - mean, 0) };
		});
}

/*
 * The end of the axis. Areas keep a third of its height: a line that is longer leaves the plot at its
 * upper end.
 */
export function highestOf(most, needles) {
	return Math.max(most, Math.min(3 * most, needles.reduce((top, n) => Math.max(top, n.top), 0)));
}

export const peakInWords = (peak) => `${peak.service}: ${digits(peak.cores)} cores within a second at ` +
	`${printMoment(peak.at_ms)}, otherwise at most about ${digits(peak.usual_cores)}`;

function drawLines(group, lines, x, y, colour) {
	const all = group.selectAll("line").data(lines);
	const end = y.domain()[1];

	all.enter().append("line").merge(all)
		.attr("x1", (d) => x(d.at_ms)).attr("x2", (d) => x(d.at_ms))
		.attr("y1", (d) => y(Math.min(d.floor, end))).attr("y2", (d) => y(Math.min(d.top, end)))
		.attr("stroke", colour);
	all.exit().remove();
}

/* @parts: the groups `needles` and `marks`. Needles of other services than @service, if one is chosen, are dimmed. */
export function drawPeaks(parts, { usage, service, needles, standouts, x, y }, choose) {
	const colour = coloursOf(usage.services);
	const marks = parts.marks.selectAll("g").data(standouts);
	const added = marks.enter().append("g").attr("class", "mark");

	drawLines(parts.needles, needles, x, y, (d) => d.layer.name ? colour(d.layer.name) : greyColour());
	parts.needles.selectAll("line")
		.attr("class", (d) => service && d.layer.name !== service ? "dimmed" : null);
	added.append("line");
	added.append("circle").attr("r", 10);
	added.append("path").attr("d", "M0,-5.5 L5.5,0 L0,5.5 L-5.5,0 Z");
	added.append("title");

	const both = added.merge(marks);
	const end = y.domain()[1];
	const top = (d) => y(Math.min(d.top, end));

	both.attr("transform", (d) => `translate(${x(d.at_ms)},${top(d)})`)
		.on("click", choose);
	both.select("line").attr("y2", (d) => y(Math.min(d.floor, end)) - top(d))
		.attr("stroke", (d) => colour(d.service));
	both.select("path").attr("fill", (d) => colour(d.service));
	both.select("title").text(peakInWords);
	marks.exit().remove();
}

/* The minute around it, in whole seconds, as far as it is in the plot. */
export function aroundPeak(usage, { at_ms: at }) {
	const from = Math.floor(at / 1000) * 1000 - AROUND_MS / 2 + SPAN_MS;

	return [Math.max(from, usage.since_ms), Math.min(from + AROUND_MS, usage.until_ms)];
}

function buttonOf(usage, peak, isChosen, choose) {
	const button = element("button", "peak", "");
	const swatch = element("span", "swatch", "");

	swatch.style.background = coloursOf(usage.services)(peak.service);
	button.type = "button";
	button.title = `${peakInWords(peak)}. Shows the ${printSpan(AROUND_MS)} around it.`;
	button.setAttribute("aria-pressed", String(isChosen));
	button.append(swatch, element("span", "name", peak.service),
		element("span", "cores", `${digits(peak.cores)} cores`),
		element("span", "quiet", printWithin(peak.at_ms, [usage.since_ms, usage.until_ms])));
	button.addEventListener("click", () => choose(peak));
	return button;
}

/* @isChosen(peak): its minute is what is shown. */
export function listPeaks(usage, standouts, isChosen, choose) {
	const focused = [...$("peaks-list").children].findIndex((item) => item.contains(document.activeElement));
	const items = standouts.map((peak) => {
		const item = document.createElement("li");

		item.append(buttonOf(usage, peak, isChosen(peak), choose));
		return item;
	});

	$("peaks").hidden = !items.length;
	$("peaks-list").replaceChildren(...items);
	items[focused]?.firstChild.focus();
}
