/* SPDX-License-Identifier: MIT */
/* What is said to those who are read to. */
import { $ } from "../../analysis/flame/dom.js";

export function announce(text) {
	$("announced").textContent = text;
}
