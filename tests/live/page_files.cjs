// SPDX-License-Identifier: MIT
// page_files.cjs QUESTION: uses the page over profiles of which all is known.
"use strict";
const { asked, check, drag, open, params, run, settled, textOf } = require("./page_use.cjs");

const ofService = (more = "") => `/?service=${encodeURIComponent(asked.services[0])}${more}`;

async function judgeSource(page) {
	const row = (n) => page.locator(".source tbody tr", { hasText: `line(${n});` });
	const lines = await page.locator(".source tbody tr").count();
	const weights = await page.locator(".source tbody tr:not(.quiet)").allTextContents();

	check(lines === 8 && (await row(10).count()) === 1, "the lines of a function",
		await textOf(page, "view-source"));
	check(weights.length === 1 && weights[0].includes(`line(${asked.line});`) && /s/u.test(weights[0]),
		"one has costs", weights);
	check(weights[0]?.includes("<b>&amp;\"'"), "a text is a text", weights);
	await page.screenshot({ path: `${asked.pictures}/source.png` });
	await page.locator("#function").fill("missing");
	await page.keyboard.press("Enter");
	await settled(page);
	check(/no such file here/u.test(await textOf(page, "view-source")), "a file that is not here",
		await textOf(page, "view-source"));
}

const cells = (page) => page.locator(".multiple");
const heights = (page) => page.evaluate(() => [...document.querySelectorAll(".multiple .bars")]
	.map((path) => Math.round(path.getBBox().height)));

async function judgeMultiples(page) {
	check(await page.locator("#multiples-part").isHidden() && await page.locator("#plot").isVisible(),
		"first there is one plot");
	await page.locator("#multiples-open").click();
	await settled(page);
	check(params(page).get("plot") === "each" && await page.locator("#plot").isHidden(),
		"then one of each service", page.url());
	check((await page.locator(".multiple .name").allTextContents()).join() === asked.services.join(),
		"in the order of the list", await textOf(page, "multiples"));
	check((await page.locator(".multiple .axis .tick").count()) >= 2 * asked.services.length &&
		(await page.locator(".multiple .axis-label", { hasText: "cores" }).count()) === asked.services.length,
	"all have both axes", await textOf(page, "multiples"));
	const own = await heights(page);

	check(await page.evaluate(() => getComputedStyle(document.querySelector("#hatch rect")).visibility) === "visible",
		"gaps are hatched");

	await page.locator("#same-scale").click();
	await settled(page);
	const same = await heights(page);

	check(own.every((h) => Math.abs(h - own[0]) <= 1) && same[0] === own[0] && same[1] < own[1] &&
		same[3] < same[1], "on scales of their own, or on one", [own, same]);
	await cells(page).nth(2).click();
	await settled(page);
	check(params(page).get("service") === asked.services[2] &&
		(await cells(page).nth(2).getAttribute("aria-pressed")) === "true", "a click chooses a service", page.url());
	await cells(page).nth(2).focus();
	await page.keyboard.press("ArrowRight");
	await page.keyboard.press("Enter");
	await settled(page);
	check(params(page).get("service") === asked.services[3], "so do keys", page.url());
	await drag(page, ".multiple:nth-child(5) svg", [0.3, 0.5], [0.8, 0.5]);
	const [from, to] = ["from", "to"].map((key) => Number(params(page).get(key)));

	check(to > from && params(page).get("service") === asked.services[3], "a drag chooses a range, and no service",
		page.url());
	check((await page.locator(".multiple .selection").count()) === asked.services.length, "which all show");
	await page.reload();
	await settled(page);
	check((await cells(page).count()) === asked.services.length &&
		(await page.locator("#same-scale").getAttribute("aria-pressed")) === "true", "the address has it");
	await page.locator("#multiples-open").click();
	await settled(page);
	check(await page.locator("#plot").isVisible() && !params(page).has("plot"), "and back", page.url());
}

// Of these no CPUs are known.
async function judgeCores(page) {
	const first = await page.locator("#service-rows tr", { hasText: asked.services[0] }).locator(".number").textContent();

	check(/does not have the times/u.test(await textOf(page, "heat-state")) && !(await textOf(page, "heat-note")),
		"without times there is no heat map, rather than an empty one", await textOf(page, "heat-state"));
	check((await textOf(page, "load-head")) === "cores" && !/%/u.test(await textOf(page, "service-rows")),
		"without CPUs, a share of them is none", await textOf(page, "service-rows"));
	check(first === "0.13", "but cores: 8 s in the 60 s that are covered", first);
	const box = await page.locator("#plot").boundingBox();

	await page.mouse.move(box.x + 70, box.y + 150);
	check(/0\.8 cores in use/u.test(await textOf(page, "tip")) &&
		!/%|of 0/u.test(await textOf(page, "tip")), "also what is pointed to", await textOf(page, "tip"));
	check(/0\.8 cores on average/u.test(await textOf(page, "summary")) &&
		!/%\s*of all CPUs/u.test(await textOf(page, "summary")), "also in the summary", await textOf(page, "summary"));
}

async function judgeHelp(page) {
	const seen = () => page.locator("#keys").isVisible();

	await page.locator("[data-view=top]").click();
	await settled(page);
	await page.keyboard.press("?");
	check(await page.locator("#keys h2").first().isVisible() && /heat map.*Reading it/su.test(await textOf(page, "keys")), "the page's keys are told",
		await textOf(page, "keys"));
	await page.keyboard.press("Escape");
	check(!(await seen()), "until Escape");
	await page.locator("#page-help").click();
	check(await seen(), "a button has them, too");
	await page.screenshot({ path: `${asked.pictures}/keys.png` });
	await page.locator("#keys button").click();
	await page.locator("#filter").focus();
	await page.keyboard.press("?");
	check(!(await seen()) && (await page.locator("#filter").inputValue()) === "?", "who types a ? gets one");
}

async function takePictures(browser) {
	for (const [name, width, colorScheme] of [["each", 1280, "light"], ["each", 1280, "dark"], ["each", 400, "light"],
		["each", 400, "dark"]]) {
		const page = await open(browser, ofService("&plot=each"), { viewport: { width, height: 900 }, colorScheme });
		const wide = await page.evaluate(() => document.documentElement.scrollWidth);

		check(wide <= width, `${width} pixels are wide enough, ${colorScheme}`, wide);
		await page.screenshot({ path: `${asked.pictures}/${name}-${width}-${colorScheme}.png` });
		await page.context().close();
	}
}

async function takeAll(browser) {
	await takePictures(browser);
	const page = await open(browser, ofService(`&base=custom&base_service=${encodeURIComponent(asked.services[1])}`));

	await page.screenshot({ path: `${asked.pictures}/compare.png` });
	const heights = await page.evaluate(() => ["#base-form", ".filters", "#view-flame .controls"]
		.map((what) => document.querySelector(what).offsetHeight));

	check(heights.every((h) => h < 60), "a comparison's controls have a row each", heights);
	check(await page.locator("#legend").isVisible(), "with what its colours tell");
	await page.locator("[data-view=top]").click();
	await settled(page);
	check(await page.locator("#legend").isHidden(), "which the table has none of");
	await page.context().close();
}

run([[judgeSource, () => ofService("&view=source&function=shown")], [judgeMultiples, () => "/"],
	[judgeCores, () => ofService()], [judgeHelp, () => "/"]], takeAll);
