// SPDX-License-Identifier: MIT
// page_browser.cjs QUESTION: uses the page as people do, and prints what it finds, a line a check.
"use strict";
const fs = require("fs");
const {
	asked, check, chooseService, drag, open, params, run, settled, textOf, until,
} = require("./page_use.cjs");

// Of the part of the plot where something was recorded: it has areas, and no hatching.
const recorded = (page) => page.evaluate(() => {
	const box = document.getElementById("plot").getBoundingClientRect();
	const areas = [...document.querySelectorAll(".areas path")].map((p) => p.getBoundingClientRect())
		.filter((b) => b.width > 0);

	return [Math.min(...areas.map((b) => b.left)), Math.max(...areas.map((b) => b.right))]
		.map((x) => (x - box.left) / box.width);
});

async function judgeFirstScreen(page) {
	check((await textOf(page, "host")).length > 0, "the host is named");
	check((await page.locator("#service-rows tr").count()) >= 3, "services are listed",
		await textOf(page, "service-rows"));
	check(/cores in use/u.test(await textOf(page, "plot")) && /time \(/u.test(await textOf(page, "plot")),
		"both axes are labelled");
	check((await page.locator(".gaps rect").count()) > 0, "what was not recorded is a gap");
	check(/ a step/u.test(await textOf(page, "plot-note")) && !/\b12\s+s a step/u.test(await textOf(page, "plot-note")),
		"of a store that is younger than an hour, all is plotted", await textOf(page, "plot-note"));
	check(/CPU time/u.test(await textOf(page, "summary")), "the summary says of what it is",
		await textOf(page, "summary"));
}

async function judgeHostile(page) {
	await chooseService(page, asked.other);
	check((await page.locator("#rows td", { hasText: asked.function }).count()) === 1,
		"a hostile function is text", await textOf(page, "rows"));
	await page.locator("#tab-modules").click();
	check((await page.locator("#rows td", { hasText: asked.program }).count()) === 1,
		"a hostile program is text", await textOf(page, "rows"));
	await page.locator("#tab-functions").click();
	await page.locator("[data-view=top]").click();
	await settled(page);
	check((await page.locator(".top td", { hasText: asked.function }).count()) === 1,
		"also in the table", await textOf(page, "view-top"));
	await page.locator(".top button.link", { hasText: asked.function }).first().click();
	await settled(page);
	check(params(page).get("function") === asked.function && (await textOf(page, "crumbs")).includes(asked.function),
		"also in the address and a sandwich", page.url());
	await page.locator("[data-view=flame]").click();
	await settled(page);
	check((await page.locator("img").count()) === 1 && !(await page.title()).includes("taken"),
		"and makes no element", await page.title());
}

const percentIn = (text) => Number(/([\d.]+)\u202f?%/u.exec(text)?.[1]);

async function judgeServices(page) {
	await chooseService(page, asked.service);
	check(params(page).get("service") === asked.service, "a click chooses a service", page.url());
	check((await textOf(page, "subject")) === asked.service, "its name is the heading");
	await page.locator("#service-rows tr[tabindex='0']").focus();
	await page.keyboard.press("ArrowDown");
	const name = await page.evaluate(() => document.activeElement.dataset.name);

	await page.keyboard.press("Enter");
	await settled(page);
	check(name !== asked.service && params(page).get("service") === name, "so do keys", page.url());
}

async function judgeFlame(page) {
	await page.locator("#search").fill("^alpha$");
	const share = percentIn(await textOf(page, "matches"));

	check(share > 35 && share < 55, "alpha has its 45 %", await textOf(page, "matches"));
	await page.locator("#search").fill("");
	const box = await page.locator("#flame").boundingBox();

	await page.mouse.click(box.x + box.width * 0.3, box.y + 75);
	const crumbs = await until(page, () => document.querySelectorAll("#crumbs button").length > 1 &&
		document.getElementById("crumbs").textContent);

	check(crumbs, "a click zooms", crumbs);
	check(/z=/u.test(page.url()), "the address has the zoom", page.url());
	await page.keyboard.press("Escape");
}

async function judgePlot(page) {
	const [left, right] = await recorded(page);
	const before = await textOf(page, "summary");

	await drag(page, "#plot", [left + (right - left) * 0.4, 0.5], [right, 0.5]);
	check(params(page).has("from"), "a drag in the plot chooses a range", page.url());
	check((await textOf(page, "summary")) !== before, "the profile is of it",
		await textOf(page, "summary"));
	await page.locator("#plot").focus();
	const chosen = params(page).get("from");

	await page.keyboard.press("ArrowLeft");
	await settled(page);
	check(params(page).get("from") !== chosen, "so do keys", page.url());
	check(/–/u.test(await page.locator("#plot").getAttribute("aria-valuetext")),
		"and it is said to who does not see it");
	check(/No samples/u.test(await textOf(page, "view-state")) || /CPU time/u.test(await textOf(page, "summary")),
		"a range without samples is none of what fails", await textOf(page, "view-state"));
	await page.goBack();
	await settled(page);
	check(params(page).get("from") === chosen, "the way back", page.url());
	await page.goBack();
	await settled(page);
	check(!params(page).has("from"), "and to all of it", page.url());
	await page.goForward();
	await settled(page);
	check(params(page).get("from") === chosen, "and forward again", page.url());
}

async function judgeHeat(page) {
	check(/samples/u.test(await textOf(page, "heat-note")), "the heat map counts samples",
		`${await textOf(page, "heat-note")} ${await textOf(page, "heat-state")}`);
	await drag(page, "#heat-canvas", [0.4, 0.8], [0.6, 0.3]);
	const span = Number(params(page).get("to")) - Number(params(page).get("from"));

	check(span > 0 && Number(params(page).get("from")) % 1000 !== 0,
		"a drag in the heat map chooses parts of seconds", page.url());
	await page.locator("#heat").focus();
	for (const key of ["ArrowRight", "Shift+ArrowRight", "Enter"])
		await page.keyboard.press(key);
	await settled(page);
	check(Number(params(page).get("to")) - Number(params(page).get("from")) === 1100,
		"so do keys", page.url());
	await page.keyboard.press("Escape");
	await settled(page);
}

async function judgeTable(page) {
	await page.locator("[data-view=top]").click();
	await settled(page);
	const first = await page.locator(".top tbody tr").first().textContent();

	check(/alpha/u.test(first), "the table begins with alpha", first);
	await page.locator(".top .function button.link").first().click();
	await settled(page);
	check(params(page).get("view") === "sandwich" && params(page).get("function") === "alpha",
		"a click shows callers and callees", page.url());
	check(/alpha/u.test(await textOf(page, "crumbs")), "of alpha", await textOf(page, "crumbs"));
	await page.locator("[data-view=source]").click();
	await settled(page);
	check(/SPIN|No source/u.test(await textOf(page, "view-source")), "the source, or why there is none",
		`${await textOf(page, "view-source")} ${await textOf(page, "view-state")}`);
	await page.locator("[data-view=flame]").click();
	await settled(page);
}

async function judgeFilters(page) {
	const before = await textOf(page, "summary");

	await page.locator("#focus").fill("gamma");
	await page.keyboard.press("Enter");
	await settled(page);
	check(params(page).get("focus") === "gamma" && (await textOf(page, "summary")) !== before,
		"only stacks with gamma", await textOf(page, "summary"));
	await page.locator(".chip").first().click();
	await settled(page);
	check((await textOf(page, "summary")) === before, "a chip takes the filter away",
		[before, await textOf(page, "summary")]);
	const keys = await page.locator("#label-key option").allTextContents();

	check(keys.length > 1, "there are labels to filter by", keys);
	await page.locator("#label-key").selectOption({ index: 1 });
	await page.locator("#label-value").selectOption({ index: 1 });
	await settled(page);
	check(params(page).has("tag") && (await page.locator(".chip").count()) === 1,
		"a label's value filters", page.url());
	check((await textOf(page, "heat-note")).endsWith(params(page).get("tag")), "also the heat map",
		await textOf(page, "heat-note"));
	await page.locator(".chip").first().click();
	await settled(page);
}

async function judgeCompare(page) {
	await page.locator("#compare").selectOption("custom");
	await settled(page);
	await page.locator("#base-service").fill(asked.other);
	await page.locator("#base-form button[type=submit]").click();
	await settled(page);
	check(params(page).get("base_service") === asked.other, "another service is compared with", page.url());
	check((await textOf(page, "summary")).includes("compared with"), "the summary says so",
		await textOf(page, "summary"));
	check(await page.locator("#legend").isVisible(), "colours are of what changed");
	check(!(await textOf(page, "rows")).includes(asked.other), "stacks of both have the same beginning",
		await textOf(page, "rows"));
	await page.screenshot({ path: `${asked.pictures}/compare.png` });
	await page.locator("#compare").selectOption("7d");
	await settled(page);
	check(/^Nothing to compare with: no samples in /u.test(await textOf(page, "view-state")),
		"of what is compared with, nothing may be there", await textOf(page, "view-state"));
	await page.locator("#compare").selectOption("");
	await settled(page);
}

async function judgeTakeaways(page, browser) {
	const [download] = await Promise.all([
		page.waitForEvent("download"), page.locator("#download").click(),
	]);
	const bytes = fs.readFileSync(await download.path());

	check(bytes[0] === 0x1f && bytes[1] === 0x8b && download.suggestedFilename().endsWith(".pb.gz"),
		"a profile is downloaded", [download.suggestedFilename(), bytes.length]);
	await page.locator("#copy-command").click();
	check(/^profctl report .*--since/u.test(await page.evaluate(() => navigator.clipboard.readText())),
		"profctl's command is copied", await page.evaluate(() => navigator.clipboard.readText()));
	await page.locator("[data-view=top]").click();
	await settled(page);
	await page.locator("#copy-link").click();
	const link = await page.evaluate(() => navigator.clipboard.readText());
	const other = await open(browser, link);

	check((await textOf(other, "summary")) === (await textOf(page, "summary")) &&
		(await textOf(other, "view-top")) === (await textOf(page, "view-top")),
	"a link shows the same", [link, await textOf(other, "summary"), await textOf(page, "summary")]);
	await other.context().close();
}

async function judgeEmpty(page) {
	check(/Nothing was recorded/u.test(await textOf(page, "summary")), "an empty range says so",
		await textOf(page, "summary"));
	await page.locator("#filter").fill("no such service");
	await until(page, () => /No service/u.test(document.getElementById("services-note").textContent));
	check(/No service/u.test(await textOf(page, "services-note")), "as a filter without matches does");
}

// Of a store alone, for one user: all of it is shown, whenever that was.
async function judgeStore(page) {
	check(!new URL(page.url()).searchParams.has("token"), "the address keeps no token", page.url());
	check(/ms a step/u.test(await textOf(page, "plot-note")), "the plot is of what there is",
		await textOf(page, "plot-note"));
	await chooseService(page, asked.service);
	check(/alpha/u.test(await textOf(page, "rows")), "and the profiles are there", await textOf(page, "rows"));
}

// All that can be pressed has a name, and is reached by Tab.
async function judgeNames(page) {
	const nameless = await page.evaluate(() =>
		[...document.querySelectorAll("button, a[href], input, select, [tabindex]")]
			.filter((e) => e.checkVisibility() && e.tabIndex >= 0)
			.filter((e) => !(e.textContent.trim() || e.getAttribute("aria-label") || e.labels?.length ||
				e.getAttribute("aria-labelledby")))
			.map((e) => e.outerHTML.slice(0, 100)));

	check(!nameless.length, "all controls have names", nameless);
}

// What axe-core finds: roles, names, states and contrasts, as programs that read pages aloud need them.
async function judgeAccess(page) {
	await page.evaluate(fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
	await page.locator("#range-open").click();
	await page.locator("#compare").selectOption("custom");
	for (const colorScheme of ["light", "dark"]) {
		await page.emulateMedia({ colorScheme });
		for (const view of ["flame", "top", "flame"]) {
			await page.locator(`[data-view=${view}]`).click();
			await settled(page);
			const found = await page.evaluate(async () => (await window.axe.run()).violations
				.flatMap((v) => v.nodes.map((n) => `${v.id} (${v.impact}): ${n.target} ${n.failureSummary}`)));

			check(!found.length, `axe-core has nothing to say of ${view}, ${colorScheme}`, found.slice(0, 8));
		}
	}
}

async function takePictures(browser) {
	for (const [width, height] of [[1280, 900], [400, 900]]) {
		for (const colorScheme of ["light", "dark"]) {
			const page = await open(browser, `/?service=${encodeURIComponent(asked.service)}`,
				{ viewport: { width, height }, colorScheme });
			const wide = await page.evaluate(() => document.documentElement.scrollWidth);

			check(wide <= width, `${width} pixels are wide enough, ${colorScheme}`, wide);
			await page.screenshot({ path: `${asked.pictures}/${width}-${colorScheme}.png` });
			if (width === 400)
				await page.screenshot({ path: `${asked.pictures}/${width}-${colorScheme}-all.png`, fullPage: true });
			await page.context().close();
		}
	}
}

// Each with where it begins.
const ofService = () => `/?service=${encodeURIComponent(asked.service)}`;
// With as much before and behind as was sampled.
const around = () => {
	const [began, ended] = asked.worked;

	return `${ofService()}&since=${2 * began - ended}&until=${2 * ended - began}`;
};
const JUDGES = [
	[judgeFirstScreen, () => "/"], [judgeHostile, () => "/"], [judgeServices, () => "/"],
	[judgeFlame, ofService], [judgePlot, around], [judgeHeat, around],
	[judgeTable, ofService], [judgeFilters, ofService], [judgeCompare, ofService],
	[judgeTakeaways, ofService], [judgeNames, ofService], [judgeAccess, ofService], [judgeStore, () => asked.web],
	[judgeEmpty, () => "/?since=2001-01-01T00:00Z&until=2001-01-01T01:00Z"],
];

run(JUDGES, takePictures);
