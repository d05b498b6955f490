// SPDX-License-Identifier: MIT
// node_shapes.js SECONDS: spins below many shapes of calls, for so much CPU time.
//
// Prints, as JSON, each stack (name, file and line; innermost first, without spin()'s own) that spin()
// was called with, by what V8 itself says. A function without a name has null. The last shape is a hot
// one, which V8 compiles, and may merge into its callers: hotLeaf() is below hotMiddle() and
// hotOuter() there.
'use strict';
const fs = require('fs');

const stacks = new Set();
const seconds = Number(process.argv[2]);

Error.stackTraceLimit = 100;

function ownStack() {
	const before = Error.prepareStackTrace;
	Error.prepareStackTrace = (_, sites) => sites
		.filter((site) => site.getFileName())
		.map((site) => [site.getFunctionName(), site.getFileName(), site.getLineNumber()]);
	const stack = new Error().stack;
	Error.prepareStackTrace = before;
	return stack.slice(2);
}

function spin() {
	stacks.add(JSON.stringify(ownStack()));
	const end = process.cpuUsage().user + 4000;
	let sum = 0;
	while (process.cpuUsage().user < end)
		for (let i = 0; i < 5000; i++)
			sum = (sum * 31 + i) ^ (sum >> 3);
	return sum;
}

function recursion(n = 20) {
	return n ? recursion(n - 1) : spin();
}

function bySort() {
	[3, 1, 2].sort(function compare(a, b) {
		if (a === 1)
			spin();
		return a - b;
	});
}

function byReduce() {
	[1, 2, 3].reduce((a, b) => b === 2 ? spin() : b);
}

function byReplace() {
	'abc'.replace(/b/, () => String(spin()));
}

function* generate() {
	yield spin();
	yield* [spin()];
}

function byGenerator() {
	return [...generate()];
}

class Shape {
	#side = 1;

	constructor() {
		spin();
	}

	get area() {
		spin();
		return this.#side;
	}

	static of() {
		return new Shape();
	}

	toString() {
		spin();
		return '';
	}
}

function byClass() {
	const shape = Shape.of();
	return shape.area + `${shape}`;
}

function byClosure() {
	let a = 1, b = 2, c = 3;
	const inner = (n) => {
		a += n;
		b += a;
		return () => spin() + a + b + c++;
	};
	return inner(1)();
}

function byException() {
	try {
		throw new Error('');
	} catch (_) {
		spin();
	} finally {
		spin();
	}
}

function byEval() {
	return new Function('spin', '\n\nreturn spin();')(spin);
}

function byJson() {
	return JSON.stringify({toJSON() {
		return spin();
	}});
}

function byProxy() {
	return new Proxy({}, {get: function trap() {
		return spin();
	}}).any;
}

function café() {
	return spin();
}

async function wait(n) {
	await null;
	return n ? wait(n - 1) : spin();
}

function hotLeaf(n) {
	let sum = 0;
	for (let i = 0; i < n; i++)
		sum = (sum * 31 + i) ^ (sum >> 3);
	return sum;
}

function hotMiddle(n) {
	return hotLeaf(n) + hotLeaf(n >> 1);
}

function hotOuter(n) {
	return hotMiddle(n) + 1;
}

function byHot() {
	const end = process.cpuUsage().user + 20000;
	let sum = 0;
	while (process.cpuUsage().user < end)
		sum += hotOuter(3000);
	return sum;
}

async function round() {
	for (const shape of [recursion, bySort, byReduce, byReplace, byGenerator, byClass, byClosure,
			     byException, byEval, byJson, byProxy, café, byHot])
		shape();
	await wait(2);
	if (process.cpuUsage().user < seconds * 1e6)
		setImmediate(round);
	else
		fs.writeSync(1, JSON.stringify([...stacks].map(JSON.parse)));
}

round();
