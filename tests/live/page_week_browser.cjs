// SPDX-License-Identifier: MIT
// page_week_browser.cjs QUESTION: looks for an event of five seconds in the plot of a week.
"use strict";
const { asked, check, params, run, settled, textOf } = require("./page_use.cjs");

const SERVICE = "job.service", EVENT_MS = 5000;
// Of the mark's first event, and of each one.
const EVENTS = [
	["restart", /restart, web\.service was restarted/u],
	["restart", /new build, web\.service runs another build of \/usr\/bin\/service: 1a2b3c4d5e6f/u],
	["restart", /restart, profd was restarted/u],
	["restart", /restart, the machine was restarted/u],
	["lost", /lost ticks, 1204 of 6000 ticks of the machine were lost/u],
	["pause", /pause, nothing was sampled for about (1 h 59|2 h 0) min/u],
];
const picture = (page, name) => page.screenshot({ path: `${asked.pictures}/${asked.name}-${name}.png` });

// Drags from the middle of the second that begins at @from to the last part of the one at @to.
async function dragSeconds(page, from, to) {
	const box = await page.locator("#heat-canvas").boundingBox();
	const start = Number(params(page).get("from")), end = Number(params(page).get("to"));
	const x = (ms) => box.x + ((ms + 500 - start) / (end - start)) * box.width;

	await page.mouse.move(x(from), box.y + box.height - 2);
	await page.mouse.down();
	await page.mouse.move(x(to), box.y + 2, { steps: 4 });
	await page.mouse.up();
	await settled(page);
}

async function judgeClicks(page) {
	await page.locator("[data-range='-7d']").click();
	await settled(page);
	check(await page.locator("#peaks-list button").count() === 1, "of a week, one thing stands out",
		await textOf(page, "peaks"));
	check((await page.locator("#peaks-list button").getAttribute("title")).startsWith(SERVICE),
		"with the service's name", await textOf(page, "peaks"));
	await picture(page, "week");

	await page.locator(".marks .mark path").click();
	await settled(page);
	const [from, to] = [Number(params(page).get("from")), Number(params(page).get("to"))];

	check(params(page).get("service") === SERVICE && to - from === 60000 && from < asked.event_ms &&
		to > asked.event_ms + EVENT_MS, "its mark leads to the minute around it", page.url());
	check(await page.locator("#peaks-list button[aria-pressed=true]").count() === 1, "which is told",
		await page.locator("#peaks").innerHTML());
	await picture(page, "minute");

	await dragSeconds(page, asked.event_ms, asked.event_ms + EVENT_MS - 1000);
	check(Number(params(page).get("from")) === asked.event_ms &&
		Number(params(page).get("to")) === asked.event_ms + EVENT_MS, "the heat map has its seconds",
	[page.url(), asked.event_ms]);
	const rows = (await page.locator("#rows tr").allTextContents()).join(" | ");

	check(/event_work/u.test(rows), "and the flame graph is of it", rows);
	check(/\b(9\.9\d*|10(\.\d+)?)\u202f?s/u.test(await textOf(page, "summary")), "ten seconds of CPU time",
		await textOf(page, "summary"));
	await picture(page, "event");
}

// What happened: in the plot, and among the numbers, for those who are read to.
async function judgeEvents(page) {
	const marks = await page.evaluate(() => [...document.querySelectorAll(".events .event")].map((mark) => ({
		kind: mark.classList[1], text: mark.querySelector("title").textContent,
		box: mark.querySelector("path").getBoundingClientRect().toJSON(),
		colour: getComputedStyle(mark.querySelector("path")).fill,
	})));
	const colours = new Map(marks.map(({ kind, colour }) => [kind, colour]));

	check(marks.map(({ kind }) => kind).join() === "restart,restart,lost,pause,restart",
		"events of one moment are one mark, others have their own", marks);
	for (const [kind, text] of EVENTS)
		check(marks.some((mark) => mark.kind === kind && text.test(mark.text)), `an event: ${text.source}`, marks);
	check(new Set(colours.values()).size === 3, "kinds differ in colour", [...colours]);
	const losses = marks.find(({ kind }) => kind === "lost");

	check(losses && losses.text.split("\n").length === 3 && losses.box.width > 24,
		"losses that go on are one mark, as long as they", losses);
	await page.locator("#plot-table-open").click();
	const numbers = await textOf(page, "plot-table");

	for (const [, text] of EVENTS)
		check(text.test(numbers), `among the numbers: ${text.source}`, numbers);
	await page.locator("#plot-table-open").click();
	for (const { box, kind, text } of marks.slice(0, 3)) {
		await page.mouse.move(box.x + box.width / 2 + 4, box.y + 60);
		const seen = await textOf(page, "tip");

		check(text.split("\n").every((line) => seen.includes(line)), `pointed to: ${text.split("\n").length} of ${kind}`, [text, seen]);
	}
}

// The same with keys, and as it is said.
async function judgeKeys(page) {
	const button = page.locator("#peaks-list button");

	check(/job\.service: 2(\.\d+)? cores within a second at/u.test(await button.getAttribute("title")),
		"a peak is told in words", await button.getAttribute("title"));
	await button.focus();
	await page.keyboard.press("Enter");
	await settled(page);
	check(params(page).get("service") === SERVICE && params(page).has("from"), "a key chooses it", page.url());
	check(await page.evaluate(() => document.activeElement.closest("#peaks-list") !== null),
		"and it keeps the focus");
	await page.locator("#plot-table-open").click();
	check(/job\.service: 2/u.test(await textOf(page, "plot-table")), "it is among the numbers");
}

// All in one, as the token is for one browser.
async function takePictures(page) {
	for (const [width, height] of [[1280, 900], [400, 900]]) {
		for (const colorScheme of ["light", "dark"]) {
			await page.setViewportSize({ width, height });
			await page.emulateMedia({ colorScheme });
			await page.goto(new URL("/?since=-7d", page.url()).href);
			await settled(page);
			const wide = await page.evaluate(() => document.documentElement.scrollWidth);

			check(wide <= width, `${width} pixels are wide enough, ${colorScheme}`, wide);
			await picture(page, `${width}-${colorScheme}`);
		}
	}
}

async function judgeWeek(page) {
	await judgeClicks(page);
	await page.goto(new URL("/?since=-7d", page.url()).href);
	await settled(page);
	check(/\(7\u202fd\)/u.test(await textOf(page, "summary")), "windows of services that are of one time span it once",
		await textOf(page, "summary"));
	await judgeEvents(page);
	await judgeKeys(page);
	await takePictures(page);
}

run([[judgeWeek, () => ""]]);
