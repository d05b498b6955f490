/* SPDX-License-Identifier: MIT */
/*
 * The page: one question, the address, and what is drawn of it. Each part has a key of what it
 * depends on, and is asked for again only if that has changed: a range that is chosen in the plot
 * leaves the plot as it is.
 */
import { $, element } from "../../analysis/flame/dom.js";
import { showKept } from "../../analysis/flame/graph.js";
import { showActions, startActions } from "./actions.js";
import { fetchAnswer, NothingFound, Superseded } from "./api.js";
import { baseOf, showCompare, startCompare, takeBase } from "./compare.js";
import { showFilters, showLabels, startFilters } from "./filters.js";
import { showHeat, showHeatState, startHeat } from "./heat.js";
import { showMultiples, startMultiples } from "./multiples.js";
import { showPlot, startPlot } from "./plot.js";
import { rangeToAsk, showRange, startRange } from "./range.js";
import { startScheme } from "./scheme.js";
import { showServices, startServices } from "./services.js";
import { ask, followAddress, question } from "./state.js";
import { printSpan, toSeconds } from "./times.js";
import { profileParams, showView, startViews, viewOf } from "./views.js";

const STEPS = 300, SERVICES = 60;
const HEAT_MAX_MS = 3600e3;

let machine = null, usage = null;
const keys = {}; /* of what is shown, or on its way */

/* Whether @part is to be asked for once more, since it is of another @key. */
function isNew(part, key) {
	const text = JSON.stringify(key);

	if (keys[part] === text)
		return false;
	keys[part] = text;
	return true;
}

const forget = (...parts) => parts.forEach((part) => delete keys[part]);

const chosenRange = () => question.from && question.to
	? [Number(question.from), Number(question.to)] : null;
const range = () => chosenRange() ?? [usage.since_ms, usage.until_ms];

function choose(from, to) {
	if (!takeBase(from, to))
		ask({ from: from === null ? "" : String(from), to: to === null ? "" : String(to) });
}

const chooseService = (service) => ask({ service, pid: "", tags: [], function: "" });

/* A button by which a part of the question is @value, or nothing. */
const startSwitch = (id, key, value) => $(id).addEventListener("click", () =>
	ask({ [key]: question[key] === value ? "" : value }, { step: false, keepHash: true }));

/* --- the machine --------------------------------------------------------------------------------- */

async function loadMachine() {
	try {
		machine = await fetchAnswer("machine", {});
	} catch (error) {
		if (!(error instanceof Superseded))
			showWarnings([error.message]);
		return;
	}
	$("host").textContent = machine.host;
	$("host").title = [`profd ${machine.version}`, `Linux ${machine.kernel}`,
		machine.n_cpus && `${machine.n_cpus} CPUs`].filter(Boolean).join(", ");
	document.title = `${question.service || "CPU"} · ${machine.host} · profd`;
	showWarnings(machine.warnings ?? []);
}

function showWarnings(texts) {
	$("warnings").replaceChildren(...texts.map((text) => element("li", "", text)));
}

/* --- all services -------------------------------------------------------------------------------- */

async function loadUsage() {
	$("plot-note").textContent = "loading…";
	try {
		usage = await fetchAnswer("usage", {
			...rangeToAsk(machine), steps: STEPS, limit: SERVICES, q: question.filter,
		});
	} catch (error) {
		if (error instanceof Superseded)
			return;
		forget("usage");
		$("plot-note").textContent = error.message;
		return;
	}
	showUsage();
}

const isEmpty = () => !usage.services.length && !usage.covered.some((share) => share > 0);

function nothingYet() {
	const every = machine?.window_seconds ? `, every ${printSpan(machine.window_seconds * 1000)}` : "";

	return machine?.oldest_ms
		? "Nothing was recorded in this range. The hatched parts of the plot are times without profiles; choose a longer range."
		: `Nothing is recorded yet. profd writes a window of profiles regularly${every}: wait for the first ` +
			"one, then Refresh. If it stays empty, ask on this machine: profctl status";
}

function showUsage() {
	showRange(usage, chosenRange());
	showServices({ usage, service: question.service, group: question.group, filter: question.filter });
	$("filter").value = question.filter;
	drawPlot();
	showCompare(range());
	showFilters();
	showActions([usage.since_ms, usage.until_ms], range());
	$("panel").classList.toggle("empty", isEmpty() && !question.filter);
	if (isEmpty() && !question.filter) {
		$("subject").textContent = "No profiles";
		$("summary").textContent = nothingYet();
		showHeatState("", true);
		return;
	}
	loadHeat();
	loadProfile();
}

function drawPlot() {
	showPlot({
		usage, service: question.service, isAlone: question.solo === "1", range: chosenRange(),
		base: baseOf(range())?.range ?? null,
	});
	showMultiples({
		usage, service: question.service, group: question.group, range: chosenRange(),
		isOn: question.plot === "each", isSame: question.scale === "same",
	});
}

/* --- what is chosen ------------------------------------------------------------------------------ */

let heat = null;

/* All of the plot's range, if that is short enough, or what is chosen in it; null: too long. */
function heatRange() {
	const isShort = ([from, to]) => to - from < HEAT_MAX_MS + 1000;
	const found = [[usage.since_ms, usage.until_ms], range()].find(isShort);

	return found ? [Math.max(found[0], found[1] - HEAT_MAX_MS), found[1]] : null;
}

/* Profiles of other tools, and windows of long ago, have no times. */
function showHeatMap() {
	if (!heat.samples && heat.untimed)
		showHeatState("This profile does not have the times of its samples.", true);
	else
		showHeat(heat, chosenRange(), question.tags);
}

async function loadHeat() {
	const within = heatRange();
	const scope = { service: question.service, pid: question.pid, tag: question.tags };

	if (!within) {
		forget("heat");
		showHeatState("Drag a range of at most an hour in the plot above to see within seconds.", true);
		return;
	}
	if (!isNew("heat", [scope, within])) {
		if (heat)
			showHeatMap();
		return;
	}
	showHeatState("loading…", false);
	try {
		heat = await fetchAnswer("heat",
			{ ...scope, since: toSeconds(within[0]), until: toSeconds(within[1]) });
		showHeatMap();
	} catch (error) {
		if (error instanceof Superseded)
			return;
		heat = null;
		forget("heat");
		showHeatState(error instanceof NothingFound ? "No samples in this range." : error.message, true);
	}
}

async function loadLabels(base) {
	const params = { ...profileParams(range(), base), tag: [], focus: "", hide: "" };

	if (!isNew("labels", params))
		return;
	try {
		showLabels((await fetchAnswer("labels", params)).labels);
	} catch (error) {
		if (!(error instanceof Superseded))
			showLabels([]);
	}
}

async function loadProfile() {
	const base = baseOf(range());

	if (!isNew("view", [question.view, profileParams(range(), base), viewOf().of && question.function]))
		return;
	if (await showView(range(), base, machine))
		await loadLabels(base);
}

/* --- all of it ----------------------------------------------------------------------------------- */

function onQuestion() {
	document.title = [question.service || "CPU", machine?.host, "profd"].filter(Boolean).join(" · ");
	if (isNew("usage", [question.since, question.until, question.filter]) || !usage)
		loadUsage();
	else
		showUsage();
}

function refresh() {
	forget("usage", "heat", "view", "labels");
	loadMachine();
	onQuestion();
}

function redraw() {
	if (!usage)
		return;
	forget("view");
	showUsage();
}

/* The keys of the flame graph are in a dialog, in which the page's come first. */
function startHelp() {
	$("keys").prepend($("page-keys").content);
	$("page-help").addEventListener("click", () => $("keys").showModal());
}

/* "/" leads to the search of what is seen. */
const KEYS = {
	"/": () => $($("view-flame").hidden ? "filter" : "search").focus(),
	"?": () => $("keys").showModal(),
};

function onKey(e) {
	const isTyping = /^(INPUT|SELECT|TEXTAREA)$/u.test(e.target.tagName);

	if (!Object.hasOwn(KEYS, e.key) || isTyping || e.ctrlKey || e.metaKey || e.altKey ||
		e.defaultPrevented || $("keys").open)
		return;
	KEYS[e.key]();
	e.preventDefault();
}

/* What stays in sight while the rest is scrolled is below the bar, which may be of two lines. */
function measureBar() {
	const bar = document.querySelector(".bar");

	new ResizeObserver(() => document.documentElement.style.setProperty("--bar-height",
		`${bar.offsetHeight}px`)).observe(bar);
}

async function begin() {
	measureBar();
	startHelp();
	document.addEventListener("keydown", onKey);
	startScheme(redraw);
	startPlot(choose, (service, from, to) =>
		ask({ service, pid: "", tags: [], function: "", from: String(from), to: String(to) }));
	startHeat(choose);
	startMultiples({ service: chooseService, range: choose });
	startServices({
		choose: chooseService,
		filter: (filter) => ask({ filter }, { step: false, keepHash: true }),
		kind: (group) => ask({ group }, { step: false, keepHash: true }),
	});
	startSwitch("solo", "solo", "1");
	startSwitch("multiples-open", "plot", "each");
	startSwitch("same-scale", "scale", "same");
	startRange(refresh);
	startCompare();
	startFilters();
	startActions();
	startViews();
	await loadMachine();
	followAddress(onQuestion, showKept);
}

begin();
