/* SPDX-License-Identifier: MIT */
/* Choosing a range in the plot, with the pointer or with keys, in whole steps of it. */
import { brushX } from "d3-brush";
import { event, select } from "d3-selection";

const LEAST_PIXELS = 3;

/*
 * In @group, an SVG element, of @box = [[left, top], [right, bottom]]. @onChoose gets two moments,
 * or nulls where a click chooses all.
 */
export class RangeBrush {
	constructor(group, onChoose) {
		this.group = select(group);
		this.onChoose = onChoose;
		this.isMoving = false;
		this.brush = brushX()
			.filter(() => !event.button && !event.ctrlKey)
			.on("end", () => this.isMoving || this.end());
	}

	place(box, scale, stepMs) {
		this.scale = scale;
		this.stepMs = stepMs;
		this.group.call(this.brush.extent(box));
	}

	/* Shows what is chosen. */
	move(from, to) {
		this.isMoving = true;
		this.group.call(this.brush.move, from === null ? null
			: [from, to].map((t) => Math.min(Math.max(this.scale(t), this.scale.range()[0]),
				this.scale.range()[1])));
		this.isMoving = false;
	}

	end() {
		const seen = event.selection;

		if (!event.sourceEvent)
			return;
		if (!seen || seen[1] - seen[0] < LEAST_PIXELS) {
			this.onChoose(null, null);
			return;
		}
		this.onChoose(...this.inSteps(...seen.map((x) => this.scale.invert(x).getTime())));
	}

	inSteps(from, to) {
		const [start, end] = this.scale.domain().map(Number);
		const whole = (t) => start + Math.round((t - start) / this.stepMs) * this.stepMs;
		const first = Math.max(whole(from), start);

		return [first, Math.min(Math.max(whole(to), first + this.stepMs), end)];
	}
}

/* The range that a key makes of [from, to], within [start, end]; null: it is no such key. */
export function movedByKey(e, [from, to], [start, end], stepMs) {
	const towards = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
	const step = Math.max(stepMs, e.shiftKey ? stepMs : (to - from) / 4);

	if (!towards)
		return null;
	if (e.shiftKey)
		return [from, Math.min(Math.max(to + towards * step, from + stepMs), end)];

	const moved = Math.min(Math.max(from + towards * step, start), end - (to - from));

	return [moved, moved + (to - from)];
}
