/* SPDX-License-Identifier: MIT */
/*
 * The picture. What is seen is an interval [from, to) of the tree's values, as wide as the canvas:
 * zooming changes the interval and nothing else, and those who lie around it, the callers, fill it
 * by themselves. Boxes below one pixel are not drawn, nor is what lies below them: those that
 * stand side by side are one grey box, or one of a match's colour if there is one among them. Calls
 * that nearly all stacks begin with are folded into the root's box, if they are many. The canvas is as large as the window's part of it,
 * however deep the stacks are, and scrolls over the rest. On paper it is what could be seen when it
 * was laid there, whatever becomes of the window.
 */
import { CUT } from "./model.js";
import { shortForms } from "./shorten.js";
import { digits } from "./units.js";

const ROW = 20;
const LEAST = 0.5;      /* pixels: the narrowest box that is drawn of several */
const LEAST_BOX = 1;    /* pixels: the narrowest one that is drawn for itself */
const NEARLY_ALL = 0.99;
const FOLDED_LEAST = 6; /* calls that nearly all stacks begin with: fewer are drawn */
const LEAST_TEXT = 24;  /* pixels: the narrowest one with a name */
const PADDING = 5;

/* Widths of texts from those of their characters, measured once each, as are forms of names. */
class TextMeter {
	constructor(context) {
		this.context = context;
		this.widths = new Map();
		this.forms = new Map();
	}

	clear() {
		this.widths.clear();
		this.forms.clear();
	}

	widthOf(character) {
		let w = this.widths.get(character);

		if (w === undefined) {
			w = this.context.measureText(character).width;
			this.widths.set(character, w);
		}
		return w;
	}

	widthOfText(text) {
		let w = 0;

		for (const character of text)
			w += this.widthOf(character);
		return w;
	}

	/* [form, its width] from the whole name to the shortest. */
	formsOf(name) {
		let forms = this.forms.get(name);

		if (!forms) {
			forms = shortForms(name).map((form) => [form, this.widthOfText(form)]);
			this.forms.set(name, forms);
		}
		return forms;
	}

	/* The longest form of @name that @room pixels hold. */
	fit(name, room) {
		const forms = this.formsOf(name);
		const form = forms.find(([, width]) => width <= room);

		return form ? form[0] : this.cut(forms.at(-1)[0], room);
	}

	/* As much of @text as @room pixels hold, or nothing if that tells nobody anything. */
	cut(text, room) {
		const dots = this.widthOf("…");
		let used = 0, fits = 0;

		for (const character of text) {
			used += this.widthOf(character);
			if (used <= room - dots)
				fits += character.length;
			if (used > room)
				return fits < 2 ? "" : `${text.slice(0, fits)}…`;
		}
		return text;
	}
}

/* How many nodes behind the root have nearly all of it, but for the last of these. The heaviest child
 * is the first one. */
function foldedCalls(t) {
	let node = 0;

	while (node + 1 < t.ends[node] && t.w[node + 1] >= NEARLY_ALL * t.w[0] && t.frames[node + 1] !== CUT)
		node++;
	return node > FOLDED_LEAST ? node - 1 : 0;
}

export class Flame {
	/* @canvas and @overlay lie on each other in @scroller, whose contents @spacer makes as high
	 * as the picture is. */
	constructor(canvas, overlay, scroller, spacer) {
		this.canvas = canvas;
		this.overlay = overlay;
		this.scroller = scroller;
		this.spacer = spacer;
		this.context = canvas.getContext("2d", { alpha: false });
		this.over = overlay.getContext("2d");
		this.meter = new TextMeter(this.context);
		this.from = 0;
		this.to = 1;
		this.zoomed = 0;
		this.icicle = true;
		this.folds = false; /* whether trees that are set are folded */
		this.folded = 0;
		this.matched = null;
		this.hovered = -1;
		this.selected = -1;
		this.paper = null; /* { scale, scrolled, height } while it is printed */
		this.rows = []; /* what was drawn: per level, nodes from left to right */
		this.merged = []; /* per level, what was drawn as one: { left, right, from, to, n ... } */
	}

	/* --- what is shown ------------------------------------------------------------------- */

	setTree(tree, labels, colours) {
		this.tree = tree;
		this.folded = this.folds ? foldedCalls(tree) : 0;
		this.before = null;
		this.labels = labels;
		this.colours = colours;
		this.zoomed = 0;
		this.hovered = this.selected = -1;
		this.setInterval(0, tree.w[0] || 1);
	}

	/* @matched: a byte a frame, or null. */
	setMatched(matched) {
		this.matched = matched;
		this.before = null; /* per node, how many matches are before it */
	}

	hasMatch(node) {
		const t = this.tree;

		if (!this.before) {
			this.before = new Uint32Array(t.n + 1);
			for (let i = 0; i < t.n; i++)
				this.before[i + 1] = this.before[i] +
					(t.frames[i] !== CUT && this.matched[t.frames[i]] ? 1 : 0);
		}
		return this.before[t.ends[node]] > this.before[node];
	}

	setTheme(theme) {
		this.theme = theme;
		this.meter.clear();
	}

	setInterval(from, to) {
		this.from = from;
		this.to = to > from ? to : from + 1;
	}

	intervalOf(node) {
		return [this.tree.x[node], this.tree.x[node] + (this.tree.w[node] || 1)];
	}

	/* @scale: pixels of the picture for one of CSS; 0: back to the window. */
	setPaper(scale) {
		const left = this.levels() * ROW + 2 * PADDING - (this.icicle ? this.scrolled() : 0);

		this.paper = scale
			? { scale, scrolled: this.scrolled(), height: Math.min(this.height, left) }
			: null;
	}

	scrolled() {
		return this.paper ? this.paper.scrolled : this.scroller.scrollTop;
	}

	levels() {
		const { depths, heights } = this.tree;

		return Math.max(depths[this.zoomed] + heights[this.zoomed] + 1 - this.folded, 1);
	}

	/* Where @node is drawn; folded ones are where the root is. */
	levelOf(node) {
		return Math.max(this.tree.depths[node] - this.folded, 0);
	}

	isFolded(node) {
		return node > 0 && this.tree.depths[node] <= this.folded;
	}

	unfold() {
		this.folded = 0;
	}

	/* What is in the box of @node. */
	textOf(node, room) {
		if (node || !this.folded)
			return this.meter.fit(this.labels(node), room);
		return this.meter.cut(`${this.labels(0)} › ${this.labels(1)} › … › ${this.labels(this.folded)}` +
			` (${digits(this.folded)} calls that nearly all stacks begin with)`, room);
	}

	resize() {
		const box = this.scroller.getBoundingClientRect();
		const scale = this.paper ? this.paper.scale : window.devicePixelRatio || 1;

		this.width = Math.max(1, this.scroller.clientWidth);
		this.height = Math.max(1, Math.floor(this.paper ? this.paper.height : box.height));
		for (const c of [this.canvas, this.overlay]) {
			c.width = Math.round(this.width * scale);
			c.height = Math.round(this.height * scale);
			c.style.width = `${this.width}px`;
			c.style.height = `${this.height}px`;
			c.getContext("2d").setTransform(scale, 0, 0, scale, 0, 0);
		}
		this.meter.clear();
		this.setHeight();
	}

	setHeight() {
		this.contentHeight = Math.max(this.height, this.levels() * ROW + 2 * PADDING);
		this.spacer.style.height = `${this.contentHeight}px`;
	}

	top(level) {
		const y = this.icicle
			? PADDING + level * ROW
			: this.contentHeight - PADDING - (level + 1) * ROW;

		return y - this.scrolled();
	}

	levelAt(y) {
		const down = y + this.scrolled() - PADDING;

		return Math.floor((this.icicle ? down : this.contentHeight - 2 * PADDING - down) / ROW);
	}

	/* Pixels from the left, clipped to the canvas. */
	boxOf(node) {
		const scale = this.width / (this.to - this.from);
		const left = (this.tree.x[node] - this.from) * scale;

		return [Math.max(left, 0), Math.min(left + this.tree.w[node] * scale, this.width)];
	}

	/* --- drawing ------------------------------------------------------------------------- */

	draw() {
		const c = this.context;
		const t = this.tree;
		const scale = this.width / (this.to - this.from);

		c.fillStyle = this.theme.background;
		c.fillRect(0, 0, this.width, this.height);
		c.font = this.theme.font;
		c.textBaseline = "middle";
		this.rows = [];
		this.merged = [];
		for (let i = 0; i < t.n;) {
			const left = (t.x[i] - this.from) * scale;
			const width = t.w[i] * scale;
			const y = this.top(this.levelOf(i));

			if (left + width <= 0 || left >= this.width || width <= 0 ||
			    (this.icicle ? y > this.height : y + ROW < 0)) {
				i = t.ends[i];
			} else if (width < LEAST_BOX) {
				if (!this.isFolded(i))
					this.merge(i, left, width);
				i = t.ends[i];
			} else {
				if (y > -ROW && y < this.height && !this.isFolded(i))
					this.drawBox(i, Math.max(left, 0),
						Math.min(left + width, this.width), y);
				i++;
			}
		}
		this.merged.forEach((all, level) => all.forEach((one) => this.drawMerged(one, level)));
		this.drawOver();
	}

	/* Puts @node to the one before it, if there is no gap between the two. */
	merge(node, left, width) {
		const t = this.tree;
		const level = (this.merged[this.levelOf(node)] ||= []);
		let one = level.at(-1);

		if (!one || left - one.right >= 1) {
			one = { left, from: t.x[node], n: 0, sum: 0, base: 0, wait: 0, isMatch: false };
			level.push(one);
		}
		one.right = left + width;
		one.to = t.x[node] + t.w[node];
		one.n++;
		one.sum += t.sums[node];
		one.base += t.baseSums[node];
		one.wait += t.waitSums[node];
		one.isMatch ||= !!this.matched && this.hasMatch(node);
	}

	drawMerged(one, level) {
		const width = one.right - one.left;

		if (width < LEAST && !one.isMatch)
			return;
		this.context.fillStyle = one.isMatch ? this.theme.match : this.theme.faint;
		this.context.fillRect(one.left, this.top(level),
			Math.max(width > 3 ? width - 1 : width, one.isMatch ? 1 : 0), ROW - 1);
		if (width < LEAST_TEXT)
			return;
		this.context.fillStyle = one.isMatch ? this.theme.matchText : this.theme.dim;
		this.context.fillText(this.meter.cut(`… (${digits(one.n)} smaller)`, width - 2 * PADDING),
			one.left + PADDING, this.top(level) + ROW / 2);
	}

	fillOf(node) {
		const f = this.tree.frames[node];

		if (this.isMatch(node))
			return this.theme.match;
		if (this.matched && f !== CUT)
			return this.theme.faint;
		if (node === 0)
			return this.theme.root;
		if (f === CUT)
			return this.theme.faint;
		return this.colours(node);
	}

	/* A root is one by what is folded into it, too. */
	isMatch(node) {
		const all = node ? [this.tree.frames[node]] : this.tree.frames.subarray(0, this.folded + 1);

		return !!this.matched && all.some((f) => f !== CUT && this.matched[f]);
	}

	/* @fill: a colour, or [colour, part] from left to right. */
	fillBox(fill, left, y, width) {
		for (const [colour, part] of Array.isArray(fill) ? fill : [[fill, 1]]) {
			this.context.fillStyle = colour;
			this.context.fillRect(left, y, width * part, ROW - 1);
			left += width * part;
		}
	}

	drawBox(node, left, right, y) {
		const c = this.context;
		const t = this.tree;
		const width = right - left;
		const around = t.depths[node] < t.depths[this.zoomed];
		let text;

		(this.rows[this.levelOf(node)] ||= []).push(node);
		c.globalAlpha = around ? 0.55 : 1;
		/* A gap between neighbours, as long as there is something left of them. */
		this.fillBox(this.fillOf(node), left, y, width > 3 ? width - 1 : width);
		if (width >= LEAST_TEXT) {
			text = this.textOf(node, width - 2 * PADDING);
			c.globalAlpha = 1;
			c.fillStyle = this.isMatch(node) ? this.theme.matchText
				: this.matched && t.frames[node] !== CUT ? this.theme.dim : this.theme.text;
			if (text)
				c.fillText(text, left + PADDING, y + ROW / 2);
		}
		c.globalAlpha = 1;
	}

	drawOver() {
		const c = this.over;

		c.clearRect(0, 0, this.width, this.height);
		if (this.selected >= 0)
			this.outline(this.selected, this.theme.text, 2);
		if (this.hovered >= 0 && this.hovered !== this.selected)
			this.outline(this.hovered, this.theme.text, 1.25);
	}

	outline(node, style, line) {
		const [left, right] = this.boxOf(node);

		if (right - left < LEAST)
			return;
		this.over.strokeStyle = style;
		this.over.lineWidth = line;
		this.over.strokeRect(left + line / 2, this.top(this.levelOf(node)) + line / 2,
			Math.max(right - left - 1 - line, 1), ROW - 1 - line);
	}

	/* --- where things are ---------------------------------------------------------------- */

	/* The node drawn at a point of the canvas, or -1. */
	nodeAt(x, y) {
		const row = this.rows[this.levelAt(y)] || [];
		const value = this.from + (x / this.width) * (this.to - this.from);
		let low = 0, high = row.length;

		while (low < high) {
			const middle = (low + high) >> 1;

			if (this.tree.x[row[middle]] + this.tree.w[row[middle]] > value)
				high = middle;
			else
				low = middle + 1;
		}
		return low < row.length && this.tree.x[row[low]] <= value ? row[low] : -1;
	}

	/* What was drawn as one at a point of the canvas, or undefined. */
	mergedAt(x, y) {
		return (this.merged[this.levelAt(y)] || []).find((one) =>
			one.left <= x && x < Math.max(one.right, one.left + 1));
	}

	isVisible(node) {
		const [left, right] = this.boxOf(node);

		return right - left >= 3;
	}

	scrollTo(node) {
		const y = this.top(this.levelOf(node));

		if (y < ROW || y + 2 * ROW > this.height)
			this.scroller.scrollTop += y - this.height / 2;
	}

	scrollToRoot() {
		this.scroller.scrollTop = this.icicle ? 0 : this.contentHeight;
	}
}
