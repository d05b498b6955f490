/* SPDX-License-Identifier: MIT */
/* A function's source, each line with what was spent in it and in what it called. */
import { $, element } from "../../analysis/flame/dom.js";
import { formatter, percent } from "../../analysis/flame/units.js";

function lineElement(line, total, show) {
	const tr = document.createElement("tr");
	const cells = [line.self, line.cum].map((v) => {
		const cell = element("td", "number", v ? show(v) : "");

		cell.style.setProperty("--share", `${Math.min((100 * Math.abs(v)) / total, 100).toFixed(1)}%`);
		cell.title = v ? percent(v, total) : "";
		return cell;
	});

	if (!line.cum)
		tr.className = "quiet";
	tr.append(element("td", "line-number", line.n), ...cells, element("td", "code", line.text ?? ""));
	return tr;
}

const notesOf = (answer) => [
	answer.reason && `Lines without their text: ${answer.reason}`,
	answer.remark && `Beware: ${answer.remark}`,
	answer.truncated && "The lines behind these are left out",
].filter(Boolean);

export function showSource(answer, name) {
	const table = element("table", "source", "");
	const head = table.createTHead().insertRow();
	const body = table.createTBody();
	const show = formatter(answer.unit, 1, "auto");
	const most = Math.max(...answer.lines.map((line) => Math.abs(line.cum)), 1);

	if (!answer.lines.length) {
		$("view-source").replaceChildren(element("p", "note",
			`No source of ${name}: ${answer.reason ?? "it is not at hand"}.`));
		return;
	}
	for (const [text, className] of [["Line", "line-number"], ["Self", "number"], ["Total", "number"], ["Source", "code"]])
		head.append(Object.assign(element("th", className, text), { scope: "col" }));
	body.append(...answer.lines.map((line) => lineElement(line, most, show)));
	$("view-source").replaceChildren(element("h3", "path", answer.file ?? ""),
		...notesOf(answer).map((text) => element("p", "note", `${text}.`)), table);
}
