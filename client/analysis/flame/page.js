/* SPDX-License-Identifier: MIT */
/* A document that is a flame graph and nothing else: its data is in the element #data. */
import { $ } from "./dom.js";
import { noted, showData } from "./graph.js";
import { listen } from "./input.js";

const data = JSON.parse($("data").textContent);

$("title").textContent = data.title;
showData(data);
listen(document);
document.title = [data.title, noted("Time"), "flame graph"].filter(Boolean).join(" – ");
