// SPDX-License-Identifier: MIT
// Functions that the tests know by name, compiled soon and run for ever. No loop without end calls
// them: in time, such a loop would contain them all, under its own name.
'use strict';

function jitAlpha(n) {
	let sum = 0;
	for (let i = 0; i < n; i++)
		sum = (sum * 31 + i) ^ (sum >> 3);
	return sum;
}

function jitBeta(n) {
	let sum = 1;
	for (let i = 0; i < n; i++)
		sum = (sum + i * i) % 1000003;
	return sum;
}

function jitOuter(n) {
	return jitAlpha(n) + jitBeta(n);
}

let total = 0;

function jitTick() {
	total += jitOuter(200000);
	setImmediate(jitTick);
}

jitTick();
