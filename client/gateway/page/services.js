/* SPDX-License-Identifier: MIT */
/*
 * The table of services: what each took of the machine, and when. The server sends the largest, and
 * how many there are besides; a filter asks it for others. One row is chosen; arrow keys go from row
 * to row.
 */
import { $, element } from "../../analysis/flame/dom.js";
import { digits } from "../../analysis/flame/units.js";
import { coloursOf, greyColour } from "./series.js";

const SVG = "http://www.w3.org/2000/svg";
const SPARK = { width: 72, height: 18, points: 36 };

let onChoose, kinds;

/* Means of @cores over as many parts as can be told apart; null where nothing is known. */
function thinned(cores) {
	const size = Math.max(cores.length / SPARK.points, 1);
	const n = Math.min(cores.length, SPARK.points);

	return Array.from({ length: n }, (_, i) => {
		const known = cores.slice(Math.floor(i * size), Math.max(Math.floor((i + 1) * size),
			Math.floor(i * size) + 1)).filter((v) => v !== null);

		return known.length ? known.reduce((a, b) => a + b, 0) / known.length : null;
	});
}

/* Bars, as high as the row's own most: when it ran, not how much. */
function sparkline(cores, colour) {
	const svg = document.createElementNS(SVG, "svg");
	const path = document.createElementNS(SVG, "path");
	const points = thinned(cores);
	const most = Math.max(...points.map((v) => v ?? 0)) || 1;
	const width = SPARK.width / (points.length || 1);

	svg.setAttribute("width", SPARK.width);
	svg.setAttribute("height", SPARK.height);
	svg.setAttribute("aria-hidden", "true");
	path.setAttribute("fill", colour);
	path.setAttribute("d", points.map((v, i) => {
		const height = v ? Math.max((v / most) * SPARK.height, 1) : 0;

		return v === null || !height ? "" : `M${(i * width).toFixed(1)},${SPARK.height}v${(-height).toFixed(1)}` +
			`H${((i + 1) * width).toFixed(1)}v${height.toFixed(1)}z`;
	}).join(""));
	svg.append(path);
	return svg;
}

const percentOf = (share) => `${(100 * share).toFixed(share >= 0.0995 ? 0 : share >= 0.00995 ? 1 : 2)}\u202f%`;

const printCores = (v) => v && v < 0.095 ? String(Number(v.toPrecision(2))) : digits(v);

/*
 * What a service took: a share of all CPUs' time in what is covered. Where it is not known how many
 * there were (profiles of other tools), the mean of cores, and for the bar a part of the largest.
 */
export function loadOf(usage) {
	const seconds = usage.covered.reduce((sum, part) => sum + part, 0) * usage.step_ms / 1000;
	const coresOf = (service) => seconds > 0 ? service.cpu_seconds / seconds : 0;
	const all = usage.services.reduce((sum, s) => sum + s.cpu_seconds, usage.other?.cpu_seconds ?? 0);

	if (usage.n_cpus)
		return {
			heading: "of all CPUs", text: (s) => percentOf(s.share), part: (s) => s.share,
			title: "CPU time of the service, as a share of all CPUs' time in the covered range",
			words: (s) => `${percentOf(s.share)} of all CPUs' time`,
		};
	return {
		heading: "cores", text: (s) => printCores(coresOf(s)), part: (s) => s.cpu_seconds / (all || 1),
		title: "Mean of the cores that the service used in the covered range; of how many is not known",
		words: (s) => `${printCores(coresOf(s))} cores on average`,
	};
}

function rowOf(service, load, colour, isChosen) {
	const row = document.createElement("tr");
	const name = element("td", "service", "");
	const swatch = element("span", "swatch", "");
	const share = element("td", "number", load.text(service));
	const trend = element("td", "trend", "");

	swatch.style.background = colour;
	name.append(swatch, element("span", "name", service.label));
	share.style.setProperty("--share", `${Math.min(100 * load.part(service), 100).toFixed(1)}%`);
	trend.append(sparkline(service.cores, colour));
	row.append(name, share, trend);
	row.title = `${service.label}: ${digits(service.cpu_seconds)} s of CPU, ` +
		load.words(service);
	if (service.name === null)
		return row;
	row.tabIndex = isChosen ? 0 : -1;
	row.dataset.name = service.name;
	row.setAttribute("aria-selected", String(isChosen));
	row.addEventListener("click", () => onChoose(service.name));
	return row;
}

function wholeMachine(usage) {
	const cores = Array.from({ length: usage.steps }, (_, i) => usage.covered[i] > 0 ? 0 : null);
	const all = [...usage.services, ...usage.other?.cores ? [usage.other] : []];

	for (const service of all)
		service.cores.forEach((v, i) => (cores[i] += v ?? 0));
	return {
		name: "", label: "All services", cores,
		cpu_seconds: all.reduce((sum, s) => sum + s.cpu_seconds, 0),
		share: all.reduce((sum, s) => sum + s.share, 0),
	};
}

/* --- kinds: of units, pods, users, by the forms that names have ---------------------------------- */

const KINDS = [
	["", "all kinds", () => true],
	["unit", "units", (name) => /\.(service|scope|slice|socket|mount|timer)\b/u.test(name)],
	["pod", "pods, containers", (name) => /^(pod|docker|podman|containerd|crio|lxc|k8s|container)\b|\//u.test(name)],
	["user", "users", (name) => /^(user|session)\b|@\d+\.service|user-\d+/u.test(name)],
	["other", "kernel, others", (name) => /^\[|^kernel$|^other$/u.test(name)],
];

export const isOfKind = (kind, name) => (KINDS.find(([key]) => key === kind) ?? KINDS[0])[2](name);

/* --- from outside -------------------------------------------------------------------------------- */

/* @isAll: nothing is filtered. */
function note(usage, shown, isAll) {
	const { n = 0, cpu_seconds: seconds = 0 } = usage.other ?? {};
	const rest = n ? `${digits(n)} more with ${digits(seconds)} s of CPU: filter to find them` : "";

	return shown || rest || isAll ? rest : "No service of this name ran here.";
}

/* @what: { usage, service, group, filter } */
export function showServices({ usage, service, group, filter }) {
	const colour = coloursOf(usage.services);
	const shown = usage.services.filter((s) => isOfKind(group, s.name)).map((s) => ({ ...s, label: s.name }));
	const hadFocus = $("service-rows").contains(document.activeElement);
	const load = loadOf(usage);
	const rows = shown.map((s) => rowOf(s, load, colour(s.name), s.name === service));

	if (!filter && !group)
		rows.unshift(rowOf(wholeMachine(usage), load, greyColour(), !service));
	$("load-head").textContent = load.heading;
	$("load-head").title = load.title;
	$("service-rows").replaceChildren(...rows);
	if (rows.length && !rows.some((row) => row.tabIndex === 0))
		rows[0].tabIndex = 0;
	if (hadFocus)
		$("service-rows").querySelector('[tabindex="0"]')?.focus();
	$("services-note").textContent = note(usage, shown.length, !filter && !group);
	$("service-names").replaceChildren(...usage.services.map((s) => new Option(s.name)));
	kinds.value = group;
}

function onKey(e) {
	const row = e.target.closest("tr");
	const to = {
		ArrowDown: row?.nextElementSibling, ArrowUp: row?.previousElementSibling,
		Home: row?.parentNode.firstElementChild, End: row?.parentNode.lastElementChild,
	}[e.key];

	if (e.key === "Enter" || e.key === " ")
		onChoose(row.dataset.name);
	else if (to)
		to.focus();
	else
		return;
	e.preventDefault();
}

/* @choose gets a service's name, "" for all; @filter a text, @kind a key of KINDS. */
export function startServices({ choose, filter, kind }) {
	let timer;

	onChoose = choose;
	kinds = $("group");
	kinds.replaceChildren(...KINDS.map(([key, label]) => new Option(label, key)));
	kinds.addEventListener("change", () => kind(kinds.value));
	$("service-rows").addEventListener("keydown", onKey);
	$("filter").addEventListener("input", () => {
		clearTimeout(timer);
		timer = setTimeout(() => filter($("filter").value), 200);
	});
}
