// SPDX-License-Identifier: MIT
// What scripts that use the page have in common: they are given a question, print a line a check, and
// wait for what is on its way.
"use strict";
const { chromium } = require("playwright-core");

const asked = JSON.parse(process.argv[2]);
const PATIENCE_MS = 60000;
const wrong = []; // what the console says, and what the policy refuses

function check(good, name, detail = "") {
	const seen = typeof detail === "string" ? detail : JSON.stringify(detail);

	console.log(good ? `ok ${name}` : `not ok ${name}: ${seen.replace(/\s+/gu, " ").slice(0, 500)}`);
	return good;
}

// What @look returns once it is true, or at last. The page lets nobody evaluate texts, so that
// playwright's own waitForFunction does not work there.
async function until(page, look, argument) {
	const end = Date.now() + PATIENCE_MS;

	for (;;) {
		const seen = await page.evaluate(look, argument);

		if (seen || Date.now() > end)
			return seen;
		await page.waitForTimeout(50);
	}
}

const textOf = (page, id) => page.evaluate((i) => document.getElementById(i).textContent, id);
const params = (page) => new URL(page.url()).searchParams;
// Nothing is on its way.
const settled = (page) => until(page, () =>
	document.getElementById("panel").getAttribute("aria-busy") === "false" &&
	!/loading/u.test(document.body.innerText));

async function open(browser, path, options = {}) {
	const context = await browser.newContext({
		viewport: { width: 1280, height: 900 }, acceptDownloads: true,
		...asked.user && { httpCredentials: { username: asked.user, password: asked.secret } },
		permissions: ["clipboard-read", "clipboard-write"], ...options,
	});
	const page = await context.newPage();

	if (asked.cookie)
		await context.addCookies([{ ...asked.cookie, url: asked.url }]);

	page.setDefaultTimeout(PATIENCE_MS / 4);
	page.on("console", (m) => ["error", "warning"].includes(m.type()) &&
		!m.text().startsWith("Failed to load resource") && wrong.push(m.text()));
	page.on("response", async (r) => {
		const text = r.status() >= 400 && r.status() !== 401 ? await r.text().catch(() => "") : "";

		if (text && !/^(nothing to compare with: )?no samples match/u.test(text))
			wrong.push(`${r.status()} ${r.url()} ${text}`);
	});
	page.on("pageerror", (e) => wrong.push(e.stack));
	page.on("dialog", (d) => {
		wrong.push(`dialog: ${d.message()}`);
		d.dismiss();
	});
	await page.goto(new URL(path, asked.url).href);
	await settled(page);
	return page;
}

async function chooseService(page, name) {
	await page.locator("#service-rows tr", { hasText: name }).first().click();
	await settled(page);
}

async function drag(page, selector, from, to) {
	const box = await page.locator(selector).boundingBox();
	const at = ([x, y]) => [box.x + x * box.width, box.y + y * box.height];

	await page.mouse.move(...at(from));
	await page.mouse.down();
	await page.mouse.move(...at([(from[0] + to[0]) / 2, (from[1] + to[1]) / 2]));
	await page.mouse.move(...at(to));
	await page.mouse.up();
	await settled(page);
}

// Each of [look, its path] with a page of its own: ones that fail stop no others.
async function judgeAll(judges, atLast = async () => {}) {
	const browser = await chromium.launch({
		executablePath: "/usr/bin/chromium-headless-shell", args: ["--no-sandbox", "--disable-gpu"],
	});

	try {
		for (const [look, path] of judges) {
			const page = await open(browser, path());

			try {
				await look(page, browser);
			} catch (e) {
				check(false, `${look.name} comes to its end`, e.message);
			}
			await page.context().close();
		}
		await atLast(browser);
		check(!wrong.length, "nothing is said on the console", wrong);
	} finally {
		await browser.close();
	}
}

function run(judges, atLast) {
	judgeAll(judges, atLast).catch((e) => {
		console.log(e.stack);
		process.exit(1);
	});
}

module.exports = { asked, check, chooseService, drag, open, params, run, settled, textOf, until };
