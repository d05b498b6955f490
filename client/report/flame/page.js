/* SPDX-License-Identifier: MIT */
/*
 * The page around the picture. `view` is all that a user has chosen; it lies in the address after
 * '#', so that a link to the page, or reloading it, shows the same. Zooming is a step that the
 * browser's Back undoes.
 */
const $ = (id) => document.getElementById(id);
const ROWS_MAX = 250;
const ZOOM_MS = 160;

const data = JSON.parse($("data").textContent);
const text = (string) => data.strings[string];
const frames = data.frames.name.map((name, i) => ({
	name: text(name),
	file: text(data.frames.file[i]),
	line: data.frames.line[i],
	module: text(data.frames.module[i]),
}));
const value = formatter(data.unit, data.divide_by, data.shown_unit);
const share = (v) => percent(v, data.total);
const flame = new Flame($("flame"), $("over"), $("scroller"), $("spacer"));
const trees = { down: treeFromPage(data.nodes), up: null };
const sums = sumFrames(trees.down, frames.length);
const isDiff = !!data.nodes.base;

const view = {
	search: "",
	zoom: 0,
	icicle: true,
	callers: false,
	colour: "module",
	width: isDiff ? "both" : "after",
	table: true,
	sort: isDiff ? "change" : "flat",
	tab: "functions",
};
let tree = trees.down;
let theme = "light";
let matched = null; /* per frame, or null: nothing is searched for */

/* --- names and colours ------------------------------------------------------------------------- */

function placeOf(frame) {
	return frame.file && frame.line ? `${frame.file}:${frame.line}` : frame.file;
}

/* Where lines tell frames apart, a box has to say which one it is. */
const labels = frames.map((f) => data.by_line && f.file
	? `${f.name} ${basename(f.file)}:${f.line}` : f.name);

function labelOf(node) {
	if (node === 0)
		return view.callers ? "all, by what ran" : "all";
	return tree.frames[node] === CUT ? "… (smaller)" : labels[tree.frames[node]];
}

/* When nearly all is of one module, its colour tells nothing. */
function defaultColour() {
	const of = new Map();
	let most = 0, all = 0;

	if (isDiff)
		return "change";
	frames.forEach((f, i) => {
		const key = isKernel(f.module) ? "kernel" : f.module;
		const sum = (of.get(key) || 0) + Math.abs(sums.flats[i]);

		of.set(key, sum);
		most = Math.max(most, sum);
		all += Math.abs(sums.flats[i]);
	});
	return most > 0.95 * all ? "namespace" : "module";
}

const colourCache = new Map();

function frameColour(frame, how) {
	const key = `${theme}/${how}/${frame}`;
	let colour = colourCache.get(key);

	if (!colour) {
		const f = frames[frame];
		const kernel = isKernel(f.module);

		colour = how === "module" && !f.module
			? greyOf(theme)
			: colourOf(theme, how === "module" ? moduleKey(f.module) : namespaceOf(f.name),
				kernel, how === "module" ? f.name : "");
		colourCache.set(key, colour);
	}
	return colour;
}

/* Of a box: all boxes of a frame have one colour, unless it tells what changed. */
function colourOfNode(node) {
	return view.colour === "change"
		? changeColour(theme, tree.sums[node], tree.baseSums[node])
		: frameColour(tree.frames[node], view.colour);
}

function readTheme() {
	const style = getComputedStyle(document.documentElement);
	const get = (name) => style.getPropertyValue(`--${name}`).trim();

	theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
	flame.setTheme({
		background: get("background"), text: get("box-text"), root: get("root"),
		faint: get("faint"), dim: get("dim"), match: get("match"),
		matchText: get("match-text"),
		font: `12px ${getComputedStyle(document.body).fontFamily}`,
	});
}

/* --- drawing ----------------------------------------------------------------------------------- */

let pendingFrame = 0;

function redraw() {
	if (!pendingFrame)
		pendingFrame = requestAnimationFrame(() => {
			pendingFrame = 0;
			flame.draw();
		});
}

let animation = 0;

/* Moves to the interval of @node, at once where motion is not wanted. */
function moveTo(node, animate) {
	const [from, to] = flame.intervalOf(node);
	const [from0, to0] = [flame.from, flame.to];
	const start = performance.now();
	const still = !animate || matchMedia("(prefers-reduced-motion: reduce)").matches;

	flame.zoomed = node;
	cancelAnimationFrame(animation);
	const step = (now) => {
		const part = still ? 1 : Math.min(Math.max((now - start) / ZOOM_MS, 0), 1);
		const eased = 1 - (1 - part) ** 3;

		flame.setInterval(from0 + (from - from0) * eased, to0 + (to - to0) * eased);
		flame.draw();
		if (part < 1)
			animation = requestAnimationFrame(step);
	};

	flame.setHeight();
	step(start);
}

function zoomTo(node, animate = true) {
	view.zoom = node;
	hover(-1);
	moveTo(node, animate);
	flame.scrollTo(node);
	showCrumbs();
	keepView(animate);
	redraw();
}

function resetZoom() {
	flame.selected = -1;
	zoomTo(0);
	flame.scrollToRoot();
}

/* --- what is told of a box --------------------------------------------------------------------- */

function element(name, className, content) {
	const e = document.createElement(name);

	e.className = className;
	e.textContent = content;
	return e;
}

function signed(v, show) {
	return (v > 0 ? "+" : v < 0 ? "\u2212" : "") + show(Math.abs(v));
}

/* +20 s (+200 %) from 10 s */
function changeOf(v, base) {
	const part = base && v !== base ? ` (${signed(v - base, (d) => percent(d, Math.abs(base)))})` : "";

	return `${signed(v - base, value)}${part} from ${value(base)}`;
}

/* [label, value, share, change] for the node's own and all below. */
function valuesOf(node) {
	const t = tree;
	const rows = [["Total", t.sums[node], t.baseSums[node]], ["Self", t.selfs[node], t.bases[node]]];
	const cells = rows.map(([label, v, base]) => [label, value(v), share(v),
		isDiff ? changeOf(v, base) : ""]);

	if (view.zoom)
		cells.push(["Of zoomed", percent(t.sums[node], t.sums[view.zoom]), "", ""]);
	return cells;
}

function describe(node) {
	const f = tree.frames[node] === CUT ? null : frames[tree.frames[node]];

	return {
		name: node === 0 ? data.title : f ? labels[tree.frames[node]] : "Boxes too small to be kept",
		place: f ? [placeOf(f), f.module, tree.inlined[node] ? "inlined" : ""]
			.filter(Boolean).join(" · ") : "",
		values: valuesOf(node),
	};
}

function showTip(node, x, y) {
	const tip = $("tip");
	const d = describe(node);
	const values = element("span", "values", "");

	tip.replaceChildren(element("span", "name", d.name), element("span", "place", d.place), values);
	for (const cell of d.values.flat())
		values.append(element("span", "", cell));
	tip.hidden = false;

	const box = tip.getBoundingClientRect();
	const left = Math.min(x + 14, innerWidth - box.width - 8);
	const below = y + 18 + box.height < innerHeight;

	tip.style.transform =
		`translate(${Math.max(8, left)}px, ${below ? y + 18 : Math.max(8, y - box.height - 10)}px)`;
}

function hover(node, x, y) {
	if (node < 0)
		$("tip").hidden = true;
	else
		showTip(node, x, y);
	if (flame.hovered !== node) {
		flame.hovered = node;
		flame.drawOver();
	}
}

/* Shows a box as the chosen one, from the keyboard or the table. */
function select(node) {
	const box = $("flame").getBoundingClientRect();
	const d = describe(node);

	flame.selected = node;
	if (!flame.isVisible(node) || !pathTo(tree, node).includes(view.zoom)) {
		const path = pathTo(tree, node);
		const wide = path.filter((p) => tree.w[node] / (tree.w[p] || 1) >= 40 / flame.width);

		zoomTo(path.includes(view.zoom) && flame.isVisible(node) ? view.zoom : wide[0], false);
	}
	flame.scrollTo(node);
	flame.draw();

	const [left, right] = flame.boxOf(node);

	showTip(node, box.left + (left + right) / 2, box.top + flame.top(tree.depths[node]));
	$("details").textContent =
		[d.name, d.place, ...d.values.map((cells) => cells.filter(Boolean).join(" "))]
			.filter(Boolean).join(", ");
}

function crumb(node) {
	const b = element("button", "", labelOf(node));

	b.type = "button";
	b.title = labelOf(node);
	b.addEventListener("click", () => node ? zoomTo(node) : resetZoom());
	return b;
}

function showCrumbs() {
	const path = pathTo(tree, view.zoom);
	const shown = path.length > 7 ? [path[0], ...path.slice(-5)] : path;
	const parts = [];

	for (const node of shown) {
		if (parts.length)
			parts.push(element("span", "", node === shown[1] && shown.length < path.length
				? "› … ›" : "›"));
		parts.push(crumb(node));
	}
	parts.push(element("span", "share",
		`${value(tree.sums[view.zoom])} · ${share(tree.sums[view.zoom])}`));
	$("crumbs").replaceChildren(...parts);
}

/* --- searching --------------------------------------------------------------------------------- */

/* What a search looks at, and for what: `module:RE`, `file:RE`, or names. */
function parseSearch(search) {
	const [, field, pattern] = /^(?:(module|file):)?(.*)$/su.exec(search);
	const flags = /\p{Lu}/u.test(pattern.replace(/\\./gsu, "")) ? "u" : "iu";
	let regex;

	try {
		regex = new RegExp(pattern, flags);
	} catch {
		regex = new RegExp(pattern, flags.replace("u", "")); /* what only Unicode mode refuses */
	}
	return { field: field || "name", regex };
}

function search(what) {
	const out = $("matches");

	view.search = what;
	matched = null;
	out.className = "";
	out.textContent = out.title = "";
	$("search").removeAttribute("aria-invalid");
	try {
		if (what) {
			const { field, regex } = parseSearch(what);

			matched = Uint8Array.from(frames, (f, i) =>
				regex.test(field === "name" ? labels[i] : f[field]) ? 1 : 0);
			const n = matched.reduce((a, b) => a + b, 0);

			out.textContent = n
				? `${share(sumMatches(trees.down, matched).sum)} · ${digits(n)}` : "no match";
		}
	} catch (error) {
		out.className = "bad";
		out.textContent = "no pattern";
		out.title = error.message;
		$("search").setAttribute("aria-invalid", "true");
	}
	flame.matched = matched;
	hover(-1);
	showRows();
	keepView();
	redraw();
}

function goToMatch(direction) {
	if (!matched)
		return;
	const start = flame.selected < 0 ? view.zoom : flame.selected;

	for (let k = 1; k <= tree.n; k++) {
		const node = (start + direction * k + tree.n * 2) % tree.n;
		const f = tree.frames[node];

		if (node && f !== CUT && matched[f]) {
			select(node);
			return;
		}
	}
}

function escapeRegex(name) {
	return name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

function searchFor(what) {
	$("search").value = view.search === what ? "" : what;
	search($("search").value);
}

/* --- the table --------------------------------------------------------------------------------- */

function functionRows() {
	return frames.map((f, i) => ({
		name: labels[i], frame: i, flat: sums.flats[i], cum: sums.cums[i],
		change: sums.flats[i] - sums.baseFlats[i],
		search: `^${escapeRegex(labels[i])}$`, title: [labels[i], placeOf(f), f.module].join("\n"),
	})).filter((row) => !matched || matched[row.frame]);
}

function moduleRows() {
	const firsts = new Map(); /* of each module, a frame; in the order of groups */
	const groups = frames.map((f, i) => {
		if (!firsts.has(f.module))
			firsts.set(f.module, { frame: i, group: firsts.size });
		return firsts.get(f.module).group;
	});
	const of = sumFrames(trees.down, firsts.size, (frame) => groups[frame]);

	return [...firsts].map(([module, { frame, group }]) => ({
		name: module ? basename(module) : "(none)", frame, flat: of.flats[group],
		cum: of.cums[group], change: of.flats[group] - of.baseFlats[group],
		search: `module:^${escapeRegex(module)}$`, title: module, module: true,
	}));
}

function numberCell(v, content, className = "") {
	const cell = element("td", `number ${className}`, content);
	const part = data.total ? Math.min(100, Math.abs((100 * v) / data.total)) : 0;

	cell.style.setProperty("--share", `${part.toFixed(1)}%`);
	return cell;
}

function rowElement(row) {
	const tr = document.createElement("tr");
	const name = document.createElement("td");
	const swatch = element("span", "swatch", "");

	swatch.style.background = view.colour === "change" && !row.module
		? changeColour(theme, sums.flats[row.frame], sums.baseFlats[row.frame])
		: frameColour(row.frame, row.module || view.colour === "change" ? "module" : view.colour);
	name.append(swatch, row.name);
	tr.append(numberCell(row.flat, share(row.flat)), numberCell(row.cum, share(row.cum)));
	if (isDiff)
		tr.append(numberCell(0, row.change && data.total ? signed(row.change, share) : "0",
			row.change > 0 ? "more" : row.change < 0 ? "less" : ""));
	tr.append(name);
	tr.title = `${row.title}\nself ${value(row.flat)}, total ${value(row.cum)}`;
	tr.tabIndex = 0;
	tr.setAttribute("aria-selected", String(view.search === row.search));
	tr.addEventListener("click", () => searchFor(row.search));
	tr.addEventListener("keydown", (e) => {
		if (e.key === "Enter")
			searchFor(row.search);
	});
	return tr;
}

function showRows() {
	const rows = view.tab === "functions" ? functionRows() : moduleRows();

	if (!view.table)
		return;
	rows.sort((a, b) => Math.abs(b[view.sort]) - Math.abs(a[view.sort]) || b.cum - a.cum ||
		(a.name < b.name ? -1 : 1));
	$("rows").replaceChildren(...rows.slice(0, ROWS_MAX).map(rowElement));
	$("more").textContent = rows.length > ROWS_MAX
		? `${digits(rows.length - ROWS_MAX)} more with less` : "";
	$("name-head").textContent = view.tab === "functions" ? "Function" : "Module";
	for (const by of ["flat", "cum", "change"])
		$(`by-${by}`).setAttribute("aria-pressed", String(view.sort === by));
	for (const tab of ["functions", "modules"])
		$(`tab-${tab}`).setAttribute("aria-pressed", String(view.tab === tab));
}

/* --- choices ----------------------------------------------------------------------------------- */

function keepView(isStep = false) {
	const kept = new URLSearchParams();

	if (view.search)
		kept.set("s", view.search);
	if (view.zoom)
		kept.set("z", view.zoom);
	if (!view.icicle)
		kept.set("i", "1");
	if (view.callers)
		kept.set("b", "1");
	if (view.colour !== defaultColour())
		kept.set("c", view.colour);
	if (isDiff && view.width !== "both")
		kept.set("w", view.width);
	if (!view.table)
		kept.set("t", "0");
	try {
		if (isStep && `#${kept}` !== (location.hash || "#"))
			history.pushState(null, "", `#${kept}`);
		else
			history.replaceState(null, "", `#${kept}`);
	} catch {
		/* Not everywhere that files are shown. */
	}
}

function readView() {
	const kept = new URLSearchParams(location.hash.slice(1));
	const zoom = Number(kept.get("z"));

	view.icicle = kept.get("i") !== "1";
	view.callers = kept.get("b") === "1";
	view.table = kept.get("t") !== "0" && innerWidth > 760;
	view.colour = ["module", "namespace", "change"].includes(kept.get("c"))
		? kept.get("c") : defaultColour();
	if (isDiff)
		view.width = WIDTHS[kept.get("w")] ? kept.get("w") : "both";
	useTree();
	if (Number.isInteger(zoom) && zoom > 0 && zoom < tree.n)
		view.zoom = zoom;
	$("search").value = kept.get("s") || "";
}

/* What the address says, at the beginning and when somebody goes back. */
function showKept() {
	readView();

	const zoom = view.zoom;

	view.search = $("search").value; /* refresh() keeps it */
	flame.selected = -1;
	refresh();
	search(view.search);
	if (zoom)
		zoomTo(zoom, false);
}

function useTree() {
	if (view.callers)
		trees.up ||= reverseTree(trees.down);
	tree = view.callers ? trees.up : trees.down;
	layOut(tree, WIDTHS[view.width]);
	view.zoom = 0;
	flame.setTree(tree, labelOf, colourOfNode);
}

function showChoices() {
	$("invert").setAttribute("aria-pressed", String(!view.icicle));
	$("callers").setAttribute("aria-pressed", String(view.callers));
	$("table").setAttribute("aria-pressed", String(view.table));
	$("colour").value = view.colour;
	$("width").value = view.width;
	$("side").hidden = !view.table;
	$("legend").hidden = view.colour !== "change";
	$("scale").style.background = `linear-gradient(to right, ${[[0, 1], [1, 2], [1, 1], [2, 1], [1, 0]]
		.map(([after, before]) => changeColour(theme, after, before)).join(", ")})`;
	flame.icicle = view.icicle;
}

/* After a choice that changes what stands where. */
function refresh({ rebuild = false } = {}) {
	const zoom = rebuild ? 0 : view.zoom;

	if (rebuild)
		useTree();
	showChoices();
	view.zoom = flame.zoomed = zoom;
	flame.resize();
	moveTo(zoom, false);
	flame.scrollToRoot();
	if (zoom)
		flame.scrollTo(zoom);
	hover(-1);
	showCrumbs();
	showRows();
	keepView();
	redraw();
}

function chooseNext(id) {
	const options = [...$(id).options].filter((o) => !o.hidden);

	$(id).value = options[($(id).selectedIndex + 1) % options.length].value;
	$(id).dispatchEvent(new Event("change"));
}

function resetAll() {
	$("search").value = "";
	search("");
	resetZoom();
}

/* --- what users do ----------------------------------------------------------------------------- */

const ARROWS = {
	ArrowLeft: "before", ArrowRight: "after", ArrowUp: "up", ArrowDown: "down",
};

function neighbour(node, where) {
	const towardsRoot = (where === "up") === view.icicle;
	const parent = tree.parents[node];

	if (where === "up" || where === "down") {
		if (towardsRoot)
			return parent;
		return node + 1 < tree.ends[node] ? node + 1 : -1;
	}
	if (parent < 0)
		return -1;
	if (where === "after")
		return tree.ends[node] < tree.ends[parent] ? tree.ends[node] : -1;
	for (let i = parent + 1, last = -1; i < tree.ends[parent]; last = i, i = tree.ends[i])
		if (i === node)
			return last;
	return -1;
}

function goTo(where) {
	const next = flame.selected < 0 ? view.zoom : neighbour(flame.selected, where);

	if (next >= 0)
		select(next);
}

/* Of the chosen box, or else of the one below the pointer. */
async function copyName() {
	const node = flame.selected > 0 ? flame.selected : flame.hovered;

	if (!(node > 0))
		return;
	try {
		await navigator.clipboard.writeText(describe(node).name);
		$("details").textContent = `copied: ${describe(node).name}`;
	} catch {
		$("details").textContent = "nothing may be copied from here";
	}
}

function escape() {
	if ($("search").value && document.activeElement === $("search")) {
		$("search").value = "";
		search("");
	} else if (document.activeElement === $("search")) {
		$("flame").focus();
	} else if (view.zoom || flame.selected >= 0) {
		resetZoom();
	} else {
		resetAll();
	}
}

const KEYS = {
	"/": () => $("search").select() || $("search").focus(),
	n: () => goToMatch(1),
	N: () => goToMatch(-1),
	i: () => $("invert").click(),
	b: () => $("callers").click(),
	r: resetAll,
	t: () => $("table").click(),
	c: () => chooseNext("colour"),
	w: () => isDiff && chooseNext("width"),
	y: copyName,
	"?": () => $("keys").showModal(),
	Escape: escape,
	Enter: () => flame.selected >= 0 && zoomTo(flame.selected),
};

function onKey(e) {
	const typing = e.target === $("search");

	if (e.ctrlKey || e.metaKey || e.altKey || $("keys").open)
		return;
	if (typing && e.key === "Enter") {
		$("flame").focus();
		goToMatch(1);
	} else if (typing && e.key === "Escape") {
		escape();
	} else if (typing || e.target.tagName === "SELECT" ||
		(e.key === "Enter" && e.target !== $("flame") && e.target !== document.body)) {
		return;
	} else if (ARROWS[e.key]) {
		goTo(ARROWS[e.key]);
	} else if (Object.hasOwn(KEYS, e.key)) {
		KEYS[e.key]();
	} else {
		return;
	}
	e.preventDefault();
}

/* Holding Ctrl, the wheel zooms around the pointer; without it, it scrolls. */
function onWheel(e) {
	const all = tree.w[0] || 1;

	if (!e.ctrlKey)
		return;
	e.preventDefault();

	const x = e.clientX - $("flame").getBoundingClientRect().left;
	const at = flame.from + (x / flame.width) * (flame.to - flame.from);
	const part = Math.min(Math.max(1.0025 ** e.deltaY, 0.5), 2);
	const size = Math.min(Math.max((flame.to - flame.from) * part, all * 1e-9), all);
	const from = Math.min(Math.max(at - (x / flame.width) * size, 0), all - size);

	cancelAnimationFrame(animation);
	flame.setInterval(from, from + size);
	redraw();
}

function nodeUnder(e) {
	const box = $("flame").getBoundingClientRect();

	return flame.nodeAt(e.clientX - box.left, e.clientY - box.top);
}

function listen() {
	const on = (id, event, handler) => $(id).addEventListener(event, handler);

	on("flame", "mousemove", (e) => hover(nodeUnder(e), e.clientX, e.clientY));
	on("flame", "mouseleave", () => hover(-1));
	on("flame", "click", (e) => {
		const node = nodeUnder(e);

		flame.selected = -1;
		if (node >= 0 && e.detail < 2)
			zoomTo(node);
	});
	on("flame", "dblclick", resetZoom);
	on("flame", "wheel", onWheel);
	on("scroller", "scroll", () => {
		hover(-1);
		redraw();
	});
	on("search", "input", () => search($("search").value));
	on("reset", "click", resetAll);
	on("help", "click", () => $("keys").showModal());
	for (const [id, key] of [["invert", "icicle"], ["table", "table"]])
		on(id, "click", () => {
			view[key] = !view[key];
			refresh();
		});
	on("callers", "click", () => {
		view.callers = !view.callers;
		refresh({ rebuild: true });
	});
	on("colour", "change", () => {
		view.colour = $("colour").value;
		refresh();
	});
	on("width", "change", () => {
		view.width = $("width").value;
		refresh({ rebuild: true });
	});
	for (const by of ["flat", "cum", "change"])
		on(`by-${by}`, "click", () => {
			view.sort = by;
			showRows();
		});
	for (const tab of ["functions", "modules"])
		on(`tab-${tab}`, "click", () => {
			view.tab = tab;
			showRows();
		});
	document.addEventListener("keydown", onKey);
	addEventListener("popstate", showKept);
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
		readTheme();
		refresh();
	});
	new ResizeObserver(() => {
		flame.resize();
		flame.draw();
	}).observe($("scroller"));
}

function begin() {
	const hottest = sums.flats.reduce((best, v, i) => v > sums.flats[best] ? i : best, 0);

	document.title = `${data.title} – flame graph`;
	$("title").textContent = data.title;
	$("facts").textContent = [`${value(tree.sums[0])} of ${data.type}` +
		(isDiff ? `, ${value(tree.baseSums[0])} before` : ""), ...data.facts, ...data.filters].join(" · ");
	$("facts").title = $("facts").textContent;
	$("notes").replaceChildren(...[...data.notes, ...data.comments].map((note) => element("li", "", note)));
	$("width-choice").hidden = !isDiff;
	$("change-head").hidden = !isDiff;
	for (const o of $("colour").options)
		o.hidden = o.disabled = o.value === "change" && !isDiff;
	$("flame").setAttribute("aria-label",
		`Flame graph of ${data.title}: ${value(tree.sums[0])} of ${data.type} in ` +
		`${digits(trees.down.n - 1)} boxes` + (frames.length
			? `, most of it, ${share(sums.flats[hottest])}, in ${frames[hottest].name}. ` : ". ") +
		"Arrow keys go from box to box, Enter zooms; the table beside it has the same figures.");
	readTheme();
	listen();
	showKept();
}

begin();
