/* SPDX-License-Identifier: MIT */
/* Moments and spans as people write them, in the browser's time zone, which zone() names. */
import { axisBottom } from "d3-axis";
import { timeFormat } from "d3-time-format";

const clock = timeFormat("%H:%M:%S");
const clockShort = timeFormat("%H:%M");
const day = timeFormat("%a %-d %b");
const dayShort = timeFormat("%a %-d");
const stamp = timeFormat("%Y-%m-%dT%H:%M:%S");

export function zone() {
	const minutes = -new Date().getTimezoneOffset();
	const sign = minutes < 0 ? "\u2212" : "+";
	const hours = Math.floor(Math.abs(minutes) / 60), rest = Math.abs(minutes) % 60;

	return minutes ? `UTC${sign}${hours}${rest ? `:${String(rest).padStart(2, "0")}` : ""}` : "UTC";
}

/* As exact as a range of @span needs. */
function timeOf(ms, span) {
	if (span >= 3600e3 || (span >= 300e3 && ms % 60e3 === 0))
		return clockShort(ms);
	return clock(ms) + (span < 10e3 ? `.${Math.floor((ms % 1000) / 100)}` : "");
}

const isSameDay = (a, b) => new Date(a).toDateString() === new Date(b).toDateString();

/* @step: what tells it from the moments beside it. */
export function printMoment(ms, step = 1000) {
	return `${day(ms)} ${clock(ms)}${step < 1000 ? `.${Math.floor((ms % 1000) / 100)}` : ""}`;
}

/* The same, of what is in a range that all is of. */
export const printWithin = (ms, [from, to]) => isSameDay(from, to) ? clock(ms) : printMoment(ms);

/* 14:03 – 14:10, with the days unless both are today. */
export function printRange(from, to) {
	const span = to - from;
	const first = isSameDay(from, Date.now()) && isSameDay(from, to) ? "" : `${day(from)} `;
	const second = isSameDay(from, to) ? "" : `${day(to)} `;

	return `${first}${timeOf(from, span)} – ${second}${timeOf(to, span)}`;
}

/* Days where they begin, and no more of the time than is needed. */
function printTick(date) {
	if (date.getHours() === 0 && date.getMinutes() === 0 && date.getSeconds() === 0)
		return dayShort(date);
	return date.getSeconds() ? clock(date) : clockShort(date);
}

/* Of the scale @x below a drawing of @width pixels, with a tick about each @apart of them. */
export const timeAxis = (x, width, apart = 110) =>
	axisBottom(x).ticks(Math.max(Math.floor(width / apart), 2)).tickFormat(printTick).tickSizeOuter(0);

const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

/* Two units at most: 1 h 20 min. */
export function printSpan(ms) {
	const seconds = Math.abs(ms) / 1000;
	const at = UNITS.findIndex(([, size]) => seconds >= size);

	if (at < 0)
		return `${Math.round(ms)}\u202fms`;
	if (at === UNITS.length - 1)
		return `${Number(seconds.toFixed(1))}\u202fs`;

	const [[unit, size], [less, part]] = UNITS.slice(at, at + 2);
	const rest = Math.floor((seconds % size) / part);

	return `${Math.floor(seconds / size)}\u202f${unit}${rest ? ` ${rest}\u202f${less}` : ""}`;
}

/* What an input of type datetime-local has, and back. */
export const toInput = (ms) => stamp(ms);
export const fromInput = (text) => text ? new Date(text).getTime() : NaN;

/* As the server takes it: Unix seconds. */
export const toSeconds = (ms) => (ms / 1000).toFixed(3).replace(/\.?0+$/, "");
/* For the address: as people write it, if it is of a whole second. */
export const toMoment = (ms) => Math.round(ms) % 1000 ? toSeconds(ms)
	: new Date(Math.round(ms)).toISOString().replace(".000Z", "Z");
