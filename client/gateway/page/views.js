/* SPDX-License-Identifier: MIT */
/*
 * The views of one profile: which is asked for, its summary, and what is shown while it is loaded or
 * if it fails. A view that is there stays until the next one takes its place, dimmed.
 */
import { $ } from "../../analysis/flame/dom.js";
import { hooks, showData } from "../../analysis/flame/graph.js";
import { listen } from "../../analysis/flame/input.js";
import { digits, formatter, isTime } from "../../analysis/flame/units.js";
import { announce } from "./announce.js";
import { fetchAnswer, NothingFound, Superseded } from "./api.js";
import { showCommand } from "./actions.js";
import { showSource } from "./source.js";
import { ask, question } from "./state.js";
import { printRange, printSpan, toSeconds } from "./times.js";
import { showTop } from "./top.js";

const TOP_ROWS = 500;
const TYPES = { cpu: "CPU time", latency: "latency", off_cpu: "waiting time", wall: "wall-clock time" };
const SLOW_MS = 700;
const VIEWS = {
	flame: { kind: "flame", panel: "view-flame", show: (a) => showData(a.data) },
	sandwich: {
		kind: "sandwich", panel: "view-flame", of: "function",
		show: (a) => showData(a.callees, a.callers),
	},
	top: { kind: "top", panel: "view-top", params: { limit: TOP_ROWS }, show: showTop },
	source: { kind: "source", panel: "view-source", of: "function",
		show: (a) => showSource(a, question.function) },
};
const tabs = () => [...document.querySelectorAll("[data-view]")];

export const viewOf = () => VIEWS[question.view] ?? VIEWS.flame;

/* What all views of the same samples have in common. */
export function profileParams([from, to], base) {
	return {
		service: question.service, pid: question.pid,
		since: toSeconds(from), until: toSeconds(to),
		base_since: base && toSeconds(base.range[0]), base_until: base && toSeconds(base.range[1]),
		base_service: base?.service,
		tag: question.tags, focus: question.focus, hide: question.hide, type: question.type,
		idle: question.idle,
	};
}

function showTabs() {
	for (const tab of tabs()) {
		const isSelected = VIEWS[tab.dataset.view] === viewOf();

		tab.setAttribute("aria-selected", String(isSelected));
		tab.tabIndex = isSelected ? 0 : -1;
	}
	$("function-choice").hidden = !viewOf().of;
	$("function").value = question.function;
}

function showPanel(id) {
	for (const panel of ["view-flame", "view-top", "view-source"])
		$(panel).hidden = panel !== id;
}

function showState(text, isError = false) {
	$("view-state").textContent = text;
	$("view-state").hidden = !text;
	$("view-state").classList.toggle("error", isError);
}

const subject = () => question.service || (question.pid ? `process ${question.pid}` : "All services");

/* Which of the machine's CPU time in the range it is; the machine's own where nothing is chosen. */
function summaryOf(answer, base, nCpus) {
	const span = answer.until_ms - answer.since_ms;
	const show = formatter(answer.unit, 1, "auto");
	const average = isTime(answer.unit) && answer.unit === "nanoseconds" && span > 0
		? answer.total / (span * 1e6) : null;
	const waits = ["off_cpu", "wall"].includes(answer.type);
	const cores = waits || answer.type === "latency" ? null : average;
	const share = cores !== null && nCpus ? cores / nCpus : null;

	return [
		`${printRange(answer.since_ms, answer.until_ms)} (${printSpan(span)})`,
		`${show(answer.total)} of ${TYPES[answer.type] ?? answer.type}`,
		share !== null && `${(100 * share).toFixed(share < 0.01 ? 2 : 1)}\u202f% of all CPUs`,
		cores !== null && !nCpus && `${digits(cores)} cores on average`,
		waits && average !== null && `${digits(average)} threads on average`,
		answer.idle?.threads && `${formatter("nanoseconds", 1, "auto")(answer.idle.ns)} of ` +
			`${digits(answer.idle.threads)}${answer.idle.at_least ? " or more" : ""} idle threads hidden`,
		`${digits(answer.samples)} samples`,
		answer.complete_share !== null && answer.complete_share !== undefined &&
			`${(100 * answer.complete_share).toFixed(1)}\u202f% of stacks complete` +
				(answer.guessed_share ? `, ${(100 * answer.guessed_share).toFixed(1)}\u202f% guessed` : ""),
		answer.truncated && "the smallest parts are left out",
		base?.words,
	].filter(Boolean).join(" · ");
}

/* A flame graph has all types, and a choice of its own; the other views are of one. */
function showTypes(answer) {
	const types = answer.types ?? [];

	$("value-choice").hidden = viewOf() === VIEWS.flame || types.length < 2;
	$("value-type").replaceChildren(...types.map((type) => new Option(type)));
	$("value-type").value = answer.type;
	$("idle-choice").hidden = !answer.idle;
	$("idle").checked = question.idle === "true";
}

/* Says how long it has been going on, after a moment in which most are done. */
function startProgress() {
	const start = performance.now();
	let timer;
	const tick = () => {
		const seconds = Math.round((performance.now() - start) / 1000);

		showState(`Merging and reading profiles${seconds > 1 ? `, ${seconds} s` : ""}…`);
		timer = setTimeout(tick, 1000);
	};

	$("panel").setAttribute("aria-busy", "true");
	timer = setTimeout(tick, SLOW_MS);
	return () => {
		clearTimeout(timer);
		$("panel").setAttribute("aria-busy", "false");
	};
}

function failureInWords(error, base) {
	if (!(error instanceof NothingFound))
		return `${error.message[0].toUpperCase()}${error.message.slice(1)}`;
	return error.ofBase ? `Nothing to compare with: no samples in ${base.where}.`
		: "No samples: it did not run in this range, or the filters leave nothing of it.";
}

function showFailure(error, range, base) {

	showPanel(null);
	showCommand("");
	$("summary").textContent = printRange(...range);
	showState(failureInWords(error, base), !(error instanceof NothingFound));
	announce($("view-state").textContent);
}

/* @machine: of /api/machine. Whether there is a profile, which is shown then. */
export async function showView(range, base, machine) {
	const view = viewOf();
	let end;

	showTabs();
	$("subject").textContent = subject();
	if (view.of && !question.function) {
		showPanel(null);
		showState("Which function? Type its name above, or choose one in the table or the flame graph.");
		return true;
	}
	end = startProgress();
	try {
		const answer = await fetchAnswer(view.kind, {
			...profileParams(range, base), ...view.params,
			function: view.of && question.function,
		});

		$("summary").textContent = summaryOf(answer, base, machine?.n_cpus);
		showCommand(answer.command);
		showTypes(answer);
		if (!answer.samples && !answer.base_total)
			throw new NothingFound();
		showState("");
		showPanel(view.panel);
		view.show(answer, base);
		announce(`${subject()}: ${$("summary").textContent}`);
		return true;
	} catch (error) {
		if (!(error instanceof Superseded))
			showFailure(error, range, base);
		return false;
	} finally {
		end();
	}
}

function onTabKey(e) {
	const all = tabs();
	const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];

	if (!step)
		return;

	const next = all[(all.indexOf(e.target) + step + all.length) % all.length];

	next.focus();
	ask({ view: next.dataset.view });
	e.preventDefault();
}

export function startViews() {
	$("value-choice").before($("width-choice"), $("legend"), $("kinds")); /* where there is room */
	for (const tab of tabs()) {
		tab.addEventListener("click", () => ask({ view: tab.dataset.view }));
		tab.addEventListener("keydown", onTabKey);
	}
	$("value-type").addEventListener("change", () => ask({ type: $("value-type").value }));
	$("idle").addEventListener("change", () => ask({ idle: $("idle").checked ? "true" : "" }, { keepHash: true }));
	$("function").addEventListener("change", () => ask({ function: $("function").value.trim() }));
	hooks.sandwich = (name) => ask(name ? { view: "sandwich", function: name } : { view: "flame" });
	listen($("view-flame"));
}
