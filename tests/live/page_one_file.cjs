// SPDX-License-Identifier: MIT
// page_one_file.cjs QUESTION: the page over one profile of another tool, which is first of all its flame graph.
"use strict";
const { asked, check, open, run, settled, textOf } = require("./page_use.cjs");

// Of what has these selectors.
const boxes = (page, selectors) => page.evaluate((all) => Object.fromEntries(Object.entries(all)
	.map(([name, selector]) => [name, document.querySelector(selector).getBoundingClientRect().toJSON()])), selectors);
const isWithin = (inner, outer) => inner.left >= outer.left && inner.right <= outer.right &&
	inner.top >= outer.top && inner.bottom <= outer.bottom;

async function judgeBoxes(page, width) {
	const found = await boxes(page, {
		plot: "#plot", label: "#plot .axis-label", head: "#plot-title", heat: "#heat-state", graph: ".graph",
		heatChart: ".chart:has(> #heat)", services: ".services", warnings: "#warnings", first: "#range-open", last: "#refresh",
	});
	const { heat, heatChart } = found;

	check(found.plot.height === 96, `${width}: a plot of a single window is low`, found.plot);
	check(isWithin(found.label, found.plot) && found.label.top > found.head.bottom,
		`${width}: its axis is labelled in full`, [found.label, found.plot]);
	check(isWithin(heat, heatChart), `${width}: why there is no heat map fits in its place`, [heat, heatChart]);
	check(!found.warnings.height, `${width}: how this machine is sampled does not matter`, await textOf(page, "warnings"));
	return found;
}

async function judgeWide(page) {
	const { graph, heatChart } = await judgeBoxes(page, 1280);

	check(heatChart.height < 40, "1280: it is a line", heatChart);
	check(graph.top < 410, "1280: the flame graph begins high up", graph);
}

async function judgeNarrow(page) {
	await page.setViewportSize({ width: 400, height: 900 });
	await settled(page);
	const { services, graph } = await judgeBoxes(page, 400);

	check(services.height < 140, "400: the list is as high as it has services", services);
	check(graph.top < 950, "400: the flame graph is not far below", graph);
}

async function takePictures(browser) {
	for (const width of [1280, 400])
		for (const colorScheme of ["light", "dark"]) {
			const page = await open(browser, "/", { viewport: { width, height: 900 }, colorScheme });
			const wide = await page.evaluate(() => document.documentElement.scrollWidth);

			check(wide <= width, `${width} pixels are wide enough, ${colorScheme}`, wide);
			await page.screenshot({ path: `${asked.pictures}/one-${width}-${colorScheme}.png` });
			await page.context().close();
		}
}

run([[judgeWide, () => "/"], [judgeNarrow, () => "/"]], takePictures);
