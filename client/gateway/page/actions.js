/* SPDX-License-Identifier: MIT */
/* What can be taken away from here: the profile, a link, profctl's command for the same question. */
import { $ } from "../../analysis/flame/dom.js";
import { downloadAddress } from "./api.js";
import { announce } from "./announce.js";
import { addressOf, question } from "./state.js";
import { toMoment, toSeconds } from "./times.js";

const SHOWN_MS = 1500;

let command = "", bounds = null;

async function copy(button, text) {
	const label = button.dataset.label ??= button.textContent;

	try {
		await navigator.clipboard.writeText(text);
		button.textContent = "Copied";
		announce(`Copied: ${text}`);
	} catch {
		prompt("Copy this:", text); /* without TLS, pages may not write to the clipboard */
	}
	setTimeout(() => (button.textContent = label), SHOWN_MS);
}

/* The address with moments in place of "an hour ago": the same view tomorrow. */
function lasting() {
	const since = toMoment(bounds[0]), until = toMoment(bounds[1]);

	return location.origin + addressOf({ since, until }) + location.hash;
}

/* @plotted: the plot's range; @range: what is chosen in it. */
export function showActions(plotted, range) {
	bounds = plotted;
	$("download").href = downloadAddress(question,
		{ since: toSeconds(range[0]), until: toSeconds(range[1]) });
	$("download").download = `${question.service || (question.pid ? `pid-${question.pid}` : "machine")}.pb.gz`
		.replace(/[^\w.@-]/gu, "_");
}

export function showCommand(text) {
	command = text ?? "";
	$("copy-command").disabled = !command;
	$("copy-command").title = command || "profctl has no command for this question: of files, profctl report FILE";
}

export function startActions() {
	$("copy-link").addEventListener("click", () => bounds && copy($("copy-link"), lasting()));
	$("copy-command").addEventListener("click", () => copy($("copy-command"), command));
}
