/* SPDX-License-Identifier: MIT */
/*
 * Shorter forms of a name, for boxes that do not hold all of it: what C++, Rust and Go put around a
 * function's own name tells least, and goes first. std::vector<std::pair<int, A>>::at(unsigned long)
 * is std::vector<std::pair<…>>::at(…), std::vector<…>::at(…), then without (…), vector<…>::at, and at.
 */
const OPERATOR = /operator\s*(<=>|<<=?|>>=?|->\*?|<=?|>=?|\(\))/uy;

/* Brackets with what is in them, as [from, to, depth]; null if they do not match. */
function brackets(name) {
	const open = [], found = [];

	for (let i = 0; i < name.length; i++) {
		const c = name[i];

		OPERATOR.lastIndex = i;
		if (c === "o" && !/\w/u.test(name[i - 1] || " ") && OPERATOR.test(name)) {
			i = OPERATOR.lastIndex - 1;
		} else if (c === "<" || c === "(") {
			open.push(i);
		} else if ((c === ">" && name[i - 1] !== "-") || c === ")") {
			const from = open.pop();

			if (from === undefined || name[from] !== (c === ">" ? "<" : "("))
				return null;
			found.push([from, i, open.length]);
		}
	}
	return open.length ? null : found;
}

/* Go's (*T).f and C++'s (anonymous namespace)::f have parts of the name in parentheses. */
function isArguments(name, [from, to]) {
	return name[from] === "<" ? to > from + 1 : to > from + 1 && !/^(\.|::)/u.test(name.slice(to + 1));
}

function without(name, gone) {
	let at = 0, left = "";

	for (const [from, to] of gone) {
		if (from < at)
			continue; /* within the one before */
		left += `${name.slice(at, from + 1)}…`;
		at = to;
	}
	return left + name.slice(at);
}

/* Where a name may begin, namespaces and folders left out: behind each :: and / outside brackets. */
function beginnings(name, found) {
	const end = found.filter(([from, to]) => name[from] === "(" && isArguments(name, [from, to]))
		.reduce((least, [from]) => Math.min(least, from), name.length);
	const places = [];

	for (const { index, 0: { length } } of name.slice(0, end).matchAll(/::|\//gu))
		if (index && index + length < end &&
		    !found.some(([from, to]) => from < index && index < to))
			places.push(index + length);
	return name[0] === "[" ? [] : places;
}

/* From the whole name on, each shorter than the one before. */
export function shortForms(name) {
	const forms = [name];
	const add = (form) => form.length < forms.at(-1).length && forms.push(form.trimEnd());
	const found = brackets(name);

	if (!found)
		return forms;

	const gone = found.filter((pair) => isArguments(name, pair)).sort((a, b) => a[0] - b[0]);
	const deepest = gone.reduce((most, [, , depth]) => Math.max(most, depth), 0);

	for (let depth = deepest; depth >= 0; depth--)
		add(without(name, gone.filter((pair) => pair[2] >= depth)));
	add(forms.at(-1).replace(/\(…\)[^():]*$/u, ""));

	const short = forms.at(-1);

	for (const place of beginnings(short, brackets(short) || []))
		add(short.slice(place));
	add(forms.at(-1).replace(/<…>$/u, ""));
	return forms;
}
