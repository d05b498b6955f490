/* SPDX-License-Identifier: MIT */
/* Elements: texts are only ever set as text, whatever characters names have. */
export const $ = (id) => document.getElementById(id);

export function element(name, className, content) {
	const e = document.createElement(name);

	e.className = className;
	e.textContent = content;
	return e;
}
