/* SPDX-License-Identifier: MIT */
/*
 * The tree of stacks as parallel arrays, each node before its children and one subtree after the
 * other: node i's subtree is i up to ends[i]. Node 0 is the root, which stands for everything.
 *
 * What the page holds is depths, frames (twice the frame's number, and 1 if it was inlined; -1: what
 * was too light to be kept) and values; the rest follows from them here.
 */
export const CUT = -1;

function makeTree(n) {
	return {
		n,
		frames: new Int32Array(n),
		inlined: new Uint8Array(n),
		depths: new Uint32Array(n),
		parents: new Int32Array(n),
		ends: new Uint32Array(n),
		heights: new Uint32Array(n), /* levels below the node */
		selfs: new Float64Array(n),
		bases: new Float64Array(n),
		waits: new Float64Array(n), /* what of it is waiting, where that is known */
		sums: new Float64Array(n),
		baseSums: new Float64Array(n),
		waitSums: new Float64Array(n),
		x: new Float64Array(n), /* left edge and width, in the unit of values */
		w: new Float64Array(n),
	};
}

/* From depths, frames and own values to all the rest but x and w. */
function finishTree(t) {
	const path = [];

	for (let i = 0; i < t.n; i++) {
		t.parents[i] = i ? path[t.depths[i] - 1] : -1;
		path[t.depths[i]] = i;
		t.sums[i] = t.selfs[i];
		t.baseSums[i] = t.bases[i];
		t.waitSums[i] = t.waits[i];
		t.ends[i] = i + 1;
	}
	for (let i = t.n - 1; i > 0; i--) {
		const p = t.parents[i];

		t.sums[p] += t.sums[i];
		t.baseSums[p] += t.baseSums[i];
		t.waitSums[p] += t.waitSums[i];
		t.ends[p] = Math.max(t.ends[p], t.ends[i]);
		t.heights[p] = Math.max(t.heights[p], t.heights[i] + 1);
	}
	return t;
}

export function treeFromPage(nodes) {
	const n = nodes.depth.length;
	const t = makeTree(n + 1);

	t.frames[0] = CUT;
	t.selfs[0] = nodes.root[0];
	t.bases[0] = nodes.root[1];
	t.waits[0] = nodes.rootWait || 0;
	for (let i = 0; i < n; i++) {
		const frame = nodes.frame[i];

		t.frames[i + 1] = frame < 0 ? CUT : frame >> 1;
		t.inlined[i + 1] = frame < 0 ? 0 : frame & 1;
		t.depths[i + 1] = nodes.depth[i] + 1;
		t.selfs[i + 1] = nodes.self[i];
		t.bases[i + 1] = nodes.base ? nodes.base[i] : 0;
		t.waits[i + 1] = nodes.waits ? nodes.waits[i] : 0;
	}
	return finishTree(t);
}

/* The tree below the root's only child, if all of it is there. */
export function withoutRoot(t) {
	if (t.n < 2 || t.ends[1] !== t.n || t.selfs[0] || t.bases[0])
		return t;

	const below = makeTree(t.n - 1);

	for (const of of ["frames", "inlined", "selfs", "bases", "waits"])
		below[of].set(t[of].subarray(1));
	below.depths.set(t.depths.subarray(1).map((depth) => depth - 1));
	return finishTree(below);
}

/* Which widths boxes have, where there is something to compare with. Values may be negative. */
export const WIDTHS = {
	after: (self, base) => Math.max(self, 0),
	before: (self, base) => Math.max(base, 0),
	both: (self, base) => Math.max(self, base, 0),
};

/* Children stand side by side from their parent's left edge on; the rest of it is its own. */
export function layOut(t, widthOf) {
	const next = new Float64Array(t.n);

	for (let i = 0; i < t.n; i++)
		t.w[i] = widthOf(t.selfs[i], t.bases[i]);
	for (let i = t.n - 1; i > 0; i--)
		t.w[t.parents[i]] += t.w[i];
	for (let i = 0; i < t.n; i++) {
		const p = t.parents[i];

		t.x[i] = i ? next[p] : 0;
		next[i] = t.x[i];
		if (i)
			next[p] += t.w[i];
	}
}

/* --- other orders: by other values, and callers: the same stacks, read from their leaves -------- */

/* Finds, or adds, the child of @parent for @frame: open addressing over numbers only. */
class ChildTable {
	constructor() {
		this.slots = new Int32Array(1 << 12).fill(-1);
		this.parents = [-1];
		this.frames = [CUT];
		this.inlined = [0];
		this.selfs = [0];
		this.bases = [0];
		this.waits = [0];
	}

	slotOf(parent, frame) {
		const mask = this.slots.length - 1;
		let h = Math.imul(parent ^ Math.imul(frame + 1, 0x9e3779b1), 0x85ebca6b);

		h = (h ^ (h >>> 15)) & mask;
		for (;;) {
			const node = this.slots[h];

			if (node < 0 || (this.parents[node] === parent && this.frames[node] === frame))
				return h;
			h = (h + 1) & mask;
		}
	}

	child(parent, frame) {
		let slot = this.slotOf(parent, frame);

		if (this.slots[slot] >= 0)
			return this.slots[slot];
		if (this.parents.length * 2 > this.slots.length) {
			this.slots = new Int32Array(this.slots.length * 2).fill(-1);
			for (let i = 1; i < this.parents.length; i++)
				this.slots[this.slotOf(this.parents[i], this.frames[i])] = i;
			slot = this.slotOf(parent, frame);
		}
		this.slots[slot] = this.parents.length;
		this.parents.push(parent);
		this.frames.push(frame);
		this.inlined.push(0);
		this.selfs.push(0);
		this.bases.push(0);
		this.waits.push(0);
		return this.slots[slot];
	}
}

/* Numbers of @table's nodes in the order of a tree: the heaviest child first, what was cut last. */
function depthFirst(table) {
	const n = table.parents.length;
	const weights = new Float64Array(n);
	const isCut = (node) => table.frames[node] === CUT;
	const children = Array.from({ length: n }, () => null);
	const order = [];
	const pending = [0];

	for (let i = n - 1; i >= 0; i--) {
		weights[i] += Math.abs(table.selfs[i]) + Math.abs(table.bases[i]);
		if (i)
			weights[table.parents[i]] += weights[i];
	}
	for (let i = 1; i < n; i++)
		(children[table.parents[i]] ||= []).push(i);
	while (pending.length) {
		const node = pending.pop();
		const list = children[node] || [];

		order.push(node);
		list.sort((a, b) => isCut(b) - isCut(a) || weights[a] - weights[b] || b - a);
		for (const child of list)
			pending.push(child);
	}
	return order;
}

/* The tree that @table's nodes are, where @order has each before its children. */
function treeInOrder(table, order) {
	const places = new Int32Array(order.length);
	const t = makeTree(order.length);

	order.forEach((node, place) => {
		places[node] = place;
		t.frames[place] = table.frames[node];
		t.inlined[place] = table.inlined[node];
		t.selfs[place] = table.selfs[node];
		t.bases[place] = table.bases[node];
		t.waits[place] = table.waits[node];
		t.depths[place] = node ? t.depths[places[table.parents[node]]] + 1 : 0;
	});
	return finishTree(t);
}

/* The same tree, whose children may have been in the order of other values. */
export function heaviestFirst(t) {
	return treeInOrder(t, depthFirst(t));
}

/* A tree whose first level is the functions that ran, and below each its callers. */
export function reverseTree(t) {
	const table = new ChildTable();

	for (let i = 0; i < t.n; i++) {
		let node = 0;

		if (!t.selfs[i] && !t.bases[i])
			continue;
		for (let up = i; up > 0; up = t.parents[up]) {
			node = table.child(node, t.frames[up]);
			table.inlined[node] |= t.inlined[up];
		}
		table.selfs[node] += t.selfs[i];
		table.bases[node] += t.bases[i];
		table.waits[node] += t.waits[i];
	}
	return treeInOrder(table, depthFirst(table));
}

/* Calls @see for each node of @frame that is not called by another one of it. */
function eachOutermost(t, frame, see) {
	for (let i = 1; i < t.n;) {
		if (t.frames[i] === frame) {
			see(i);
			i = t.ends[i];
		} else {
			i++;
		}
	}
}

/* A tree with @frame as its root, and below it all that it called, wherever it was called. */
export function treeOfCallees(t, frame) {
	const table = new ChildTable();

	table.frames[0] = frame;
	eachOutermost(t, frame, (top) => {
		const path = [0];

		for (let i = top; i < t.ends[top]; i++) {
			const depth = t.depths[i] - t.depths[top];
			const node = depth ? table.child(path[depth - 1], t.frames[i]) : 0;

			path[depth] = node;
			table.inlined[node] |= t.inlined[i];
			table.selfs[node] += t.selfs[i];
			table.bases[node] += t.bases[i];
			table.waits[node] += t.waits[i];
		}
	});
	return treeInOrder(table, depthFirst(table));
}

/* The same of what called it: the way to the root is the way up from the leaves. */
export function treeOfCallers(t, frame) {
	const table = new ChildTable();

	table.frames[0] = frame;
	eachOutermost(t, frame, (top) => {
		let node = 0;

		for (let up = t.parents[top]; up > 0; up = t.parents[up])
			node = table.child(node, t.frames[up]);
		table.selfs[node] += t.sums[top];
		table.bases[node] += t.baseSums[top];
		table.waits[node] += t.waitSums[top];
	});
	return treeInOrder(table, depthFirst(table));
}

/* --- what is asked of a tree ------------------------------------------------------------------- */

/* Per frame, or group of frames: its own values, and those of all stacks that it is in, each once. */
export function sumFrames(t, nGroups, groupOf = (frame) => frame) {
	const rows = {
		flats: new Float64Array(nGroups),
		cums: new Float64Array(nGroups),
		baseFlats: new Float64Array(nGroups),
		baseCums: new Float64Array(nGroups),
		waitFlats: new Float64Array(nGroups),
		waitCums: new Float64Array(nGroups),
	};
	const within = new Uint32Array(nGroups); /* where the subtree ends that counted for it */

	for (let i = 0; i < t.n; i++) {
		if (t.frames[i] === CUT)
			continue;

		const g = groupOf(t.frames[i]);

		rows.flats[g] += t.selfs[i];
		rows.baseFlats[g] += t.bases[i];
		rows.waitFlats[g] += t.waits[i];
		if (i >= within[g]) {
			rows.cums[g] += t.sums[i];
			rows.baseCums[g] += t.baseSums[i];
			rows.waitCums[g] += t.waitSums[i];
			within[g] = t.ends[i];
		}
	}
	return rows;
}

/* The values of all stacks below @node with one of the frames of @matched (a byte a frame). */
export function sumMatches(t, matched, node = 0) {
	let sum = 0, base = 0, wait = 0;

	for (let i = node; i < t.ends[node];) {
		if (t.frames[i] !== CUT && matched[t.frames[i]]) {
			sum += t.sums[i];
			base += t.baseSums[i];
			wait += t.waitSums[i];
			i = t.ends[i];
		} else {
			i++;
		}
	}
	return { sum, base, wait };
}

export function pathTo(t, node) {
	const path = [];

	for (; node >= 0; node = t.parents[node])
		path.push(node);
	return path.reverse();
}

/* The node that a path of frames leads to from the root, as far as there are boxes on it. */
export function follow(t, path) {
	let node = 0;

	for (const frame of path) {
		let child = node + 1;

		while (child < t.ends[node] && t.frames[child] !== frame)
			child = t.ends[child];
		if (child >= t.ends[node] || !t.w[child])
			break;
		node = child;
	}
	return node;
}
