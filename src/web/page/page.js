/* SPDX-License-Identifier: MIT */
/* Keeps the page current, sorts, filters, draws. The page is complete without it; embed.py builds it in. */
(() => {
"use strict";

const PERIOD_MS = 2000;
const FIRST_MS = 1000;
const WAIT_MS = 8000;
const FAULT_MS = 60000;
const POINTS = 60;
const POINTS_LEAST = 15;
const SVG = "http://www.w3.org/2000/svg";
/* Numbers with a line of their history, in a row and in a card; totals that show how fast they grow. */
const LINES = new Set(["rate", "bytes_to_server", "bytes_to_client"]);
const CARD_LINES = new Set(["sessions", "rate", "queued", "bytes_to_server", "bytes_to_client", "busy_ns"]);
const RATES = new Set(["bytes_to_server", "bytes_to_client", "busy_ns"]);

const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const make = (name, text, attributes = {}) => {
	const element = document.createElement(name);
	if (text !== undefined) element.textContent = text;
	for (const key in attributes) element.setAttribute(key, attributes[key]);
	return element;
};

/* ---- numbers ---- */

function scaled(value, base, units) {
	let unit = 0;
	while (value >= base - 0.5 && unit < units.length - 1) {
		value /= base;
		unit++;
	}
	const digits = unit === 0 ? 0 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
	return value.toFixed(digits) + " " + units[unit];
}

const perSecond = (value) => scaled(value, 1024, ["B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s"]);

/* What a cell is measured by; an empty one is less than anything. */
function valueOf(cell) {
	if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
	const text = cell.dataset.plain ?? cell.textContent;
	return text === "" ? -1 : /^\d+$/.test(text) ? Number(text) : text;
}

/* ---- lines of history ---- */

const histories = new Map();

function remember(key, value) {
	let points = histories.get(key);
	if (!points) histories.set(key, points = []);
	points.push(value);
	if (points.length > POINTS) points.shift();
	return points;
}

function makeSvg(name, attributes) {
	const element = document.createElementNS(SVG, name);
	for (const key in attributes) element.setAttribute(key, attributes[key]);
	return element;
}

/* In front of the number in a table, so that numbers stay aligned; below it in a card. */
function placeLine(holder, line) {
	if (holder.matches("dd")) holder.append(line);
	else holder.prepend(line);
}

function drawLine(holder, points) {
	let svg = $(".spark", holder);
	if (!svg) {
		svg = makeSvg("svg", {class: "spark", viewBox: "0 0 " + (POINTS - 1) + " 16",
			preserveAspectRatio: "none", "aria-hidden": "true"});
		svg.append(makeSvg("path", {class: "area"}), makeSvg("path", {class: "line"}));
		placeLine(holder, svg);
	}
	/* A short history begins on the right, and is not stretched too far. */
	const most = Math.max(1, ...points);
	const count = Math.max(POINTS_LEAST, points.length);
	const x = (i) => ((count - points.length + i) * (POINTS - 1) / (count - 1)).toFixed(1);
	const line = points.map((p, i) => x(i) + "," + (15 - 14 * p / most).toFixed(1)).join(" ");
	svg.firstChild.setAttribute("d", "M" + x(0) + ",16 L" + line + " " + (POINTS - 1) + ",16 Z");
	svg.lastChild.setAttribute("d", "M" + line);
}

/* How fast totals grow, by the element that shows them. */
const rates = new WeakMap();

/* The total follows in small type. */
function showRate(holder, rate) {
	let per = $(".per", holder);
	if (!per) $("span", holder).before(per = make("span", "", {class: "per"}));
	const parts = Number(holder.dataset.parts);
	const text = parts > 0 ? Math.min(100, rate / parts / 1e7).toFixed(0) + " %" : perSecond(rate);
	if (per.textContent !== text) per.textContent = text;
	holder.classList.add("rated");
	rates.set(holder, rate);
}

/* Adds to the history of the number in `holder`, which was `before` until `stepS` ago. */
function measure(holder, id, key, before, stepS, drawn) {
	const now = valueOf(holder);
	let point = now;
	if (typeof now !== "number" || now < 0) return;
	if (RATES.has(id)) {
		if (stepS === 0) return;
		point = Math.max(0, now - Math.max(0, before)) / stepS;
		showRate(holder, point);
	}
	const points = remember(key + " " + id, point);
	if (drawn) drawLine(holder, points);
}

/* ---- what has changed ---- */

const served = new WeakMap();

/* As it was served: without what this script has added. */
function servedOf(element) {
	let html = served.get(element);
	if (html === undefined) served.set(element, html = element.innerHTML);
	return html;
}

/* True if it differs; nodes that have not changed are not touched. */
function replaceIn(old, fresh) {
	const html = fresh.innerHTML;
	if (rates.has(old)) fresh.classList.add("rated");
	for (const name of ["class", "data-v"]) {
		const value = fresh.getAttribute(name);
		if (value === null) old.removeAttribute(name);
		else if (old.getAttribute(name) !== value) old.setAttribute(name, value);
	}
	if (servedOf(old) === html) return false;
	served.set(old, html);
	old.dataset.plain = fresh.textContent;
	const own = $$(".spark, .per", old);
	old.replaceChildren(...fresh.childNodes);
	const line = own.find((node) => node.matches(".spark"));
	const per = own.find((node) => node.matches(".per"));
	if (per) $("span", old).before(per);
	if (line) placeLine(old, line);
	return true;
}

function idsOf(table) {
	return $$("thead th", table).map((th) => th.dataset.id);
}

/* Lines are drawn only in rows that are in view. */
const watched = new WeakSet();
const inView = new WeakSet();
const watcher = new IntersectionObserver((entries) => {
	for (const entry of entries) {
		if (entry.isIntersecting) inView.add(entry.target);
		else inView.delete(entry.target);
	}
});

function isInView(row) {
	if (!watched.has(row)) {
		watched.add(row);
		watcher.observe(row);
	}
	return inView.has(row);
}

/* When the sessions of a row last failed. */
const faults = new WeakMap();

function hasFault(row) {
	return faults.has(row) && performance.now() - faults.get(row) < FAULT_MS;
}

/* Numbers that have grown are marked, if they count trouble. */
function patchRow(row, fresh, ids, stepS) {
	const before = [...row.cells].map(valueOf);
	[...row.cells].forEach((cell, i) => {
		const trouble = fresh.cells[i].classList.contains("t");
		replaceIn(cell, fresh.cells[i]);
		const grown = trouble && valueOf(cell) > before[i];
		cell.classList.toggle("hot", grown);
		if (grown && ids[i] === "failures") faults.set(row, performance.now());
	});
	ids.forEach((id, i) => {
		if (LINES.has(id)) measure(row.cells[i], id, row.dataset.key, before[i], stepS, isInView(row));
	});
}

function patchBody(body, fresh, ids, stepS) {
	const rows = new Map([...body.rows].map((row) => [row.dataset.key, row]));
	const order = [];
	for (const row of [...fresh.rows]) {
		const old = rows.get(row.dataset.key);
		const kept = old !== undefined && old.cells.length === row.cells.length;
		if (kept) {
			rows.delete(row.dataset.key);
			patchRow(old, row, ids, stepS);
		} else {
			body.append(row);
		}
		order.push(kept ? old : row);
	}
	for (const row of rows.values()) row.remove();
	if ($("th[aria-sort]", body.parentElement)) return;
	order.forEach((row, i) => {
		if (body.rows[i] !== row) body.insertBefore(row, body.rows[i]);
	});
}

/* A table that is sorted keeps its order until sortTable(). */
function patchTable(table, fresh, stepS) {
	const bodies = new Map([...table.tBodies].map((body) => [body.dataset.key, body]));
	const ids = idsOf(table);
	for (const body of [...fresh.tBodies]) {
		const old = bodies.get(body.dataset.key);
		bodies.delete(body.dataset.key);
		if (old) patchBody(old, body, ids, stepS);
		else table.append(body);
	}
	for (const body of bodies.values()) body.remove();
	sortTable(table);
}

/* When what a root shows was taken. */
const taken = new WeakMap();

/* Both have the same structure, or the whole is replaced. */
function patch(root, fresh) {
	const tables = $$("table", root), others = $$("table", fresh);
	const lives = $$("[data-live]", root), newer = $$("[data-live]", fresh);
	const same = tables.length === others.length && lives.length === newer.length &&
		lives.every((element, i) => element.dataset.live === newer[i].dataset.live);
	const nowMs = performance.now();
	const stepS = taken.has(root) ? (nowMs - taken.get(root)) / 1000 : 0;
	taken.set(root, nowMs);
	if (!same) {
		root.replaceChildren(...fresh.childNodes);
		return;
	}
	lives.forEach((element, i) => {
		const before = valueOf(element), id = element.dataset.live;
		replaceIn(element, newer[i]);
		if (CARD_LINES.has(id)) measure(element, id, root.tagName, before, stepS, true);
	});
	tables.forEach((table, i) => patchTable(table, others[i], stepS));
}

/* ---- sorting and filtering ---- */

function compare(a, b) {
	if (typeof a === "number" && typeof b === "number") return a - b;
	return String(a).localeCompare(String(b), undefined, {numeric: true});
}

/* Within each backend, whose own row stays first. */
function sortTable(table) {
	const head = $("th[aria-sort]", table);
	if (!head) return;
	const sign = head.getAttribute("aria-sort") === "ascending" ? 1 : -1;
	for (const body of table.tBodies) {
		const rows = [...body.rows].filter((row) => !row.matches(".backend"));
		const keyed = rows.map((row) => {
			const cell = row.cells[head.cellIndex];
			return [rates.get(cell) ?? valueOf(cell), row];
		});
		keyed.sort((a, b) => sign * compare(a[0], b[0]));
		const last = rows.length < body.rows.length ? 1 : 0;
		keyed.forEach(([, row], i) => {
			if (body.rows[i + last] !== row) body.insertBefore(row, body.rows[i + last]);
		});
	}
}

function sortBy(head) {
	const table = head.closest("table");
	const first = ["name", "help", "check", "reason"].includes(head.dataset.id) ? "ascending" : "descending";
	const now = head.getAttribute("aria-sort");
	const next = now === null ? first : now === "ascending" ? "descending" : "ascending";
	for (const other of $$("th[aria-sort]", table)) other.removeAttribute("aria-sort");
	head.setAttribute("aria-sort", next);
	sortTable(table);
}

const filter = {text: "", trouble: false};

/* Does the row contain each word: of its name, address, state or reason? */
function isWanted(row) {
	if (filter.trouble && !$(".state.bad, .state.warn, .state.off", row) && !hasFault(row)) return false;
	const text = (row.dataset.key + " " + row.textContent).toLowerCase();
	return filter.text.split(" ").every((word) => text.includes(word));
}

/* Frontends and servers; a backend stays visible with any of its servers. */
function applyFilter() {
	for (const body of $$("main > section tbody")) {
		let shown = 0;
		for (const row of $$("tr[data-key^='f:'], tr[data-key^='s:']", body)) {
			row.hidden = !isWanted(row);
			shown += !row.hidden;
		}
		const head = $("tr.backend", body);
		if (head) head.hidden = shown === 0 && !isWanted(head);
	}
}

/* ---- updates ---- */

let paused = false;
let busy = false;
let timer = 0;
let lastGood = Date.now();
let opened = null;

const NO_ANSWER = "weir does not answer";

/* Browsers have words of their own for this. */
function failed() {
	throw new Error(NO_ANSWER);
}

async function load(search) {
	const url = location.pathname + (search ? search + "&" : "?") + "update";
	const wish = {cache: "no-store", signal: AbortSignal.timeout(WAIT_MS)};
	const answer = await fetch(url, wish).catch(failed);
	if (!answer.ok && answer.status !== 404) throw new Error("it answers with status " + answer.status);
	return new DOMParser().parseFromString(await answer.text().catch(failed), "text/html");
}

function say(text) {
	const news = $("#news");
	news.hidden = text === "";
	if (news.textContent !== text) news.textContent = text;
	document.body.classList.toggle("stale", text !== "");
}

/* The head of the page and the tab, until the next good answer. */
function showLost(state) {
	const about = $("header [data-live]"), shown = $(".state", about);
	shown.className = "state bad";
	shown.textContent = state;
	served.delete(about);
	document.title = document.title.replace(/^(\(.*?\) )?/, "(!) ");
}

async function update() {
	try {
		const fresh = await load(location.search);
		const about = $("header [data-live]");
		replaceIn(about, $("header [data-live]", fresh));
		if (document.title !== fresh.title) document.title = fresh.title;
		patch($("main"), $("main", fresh));
		if (opened) await updateOpened();
		readyHeads();
		applyFilter();
		lastGood = Date.now();
		say("");
	} catch (error) {
		const ago = Math.round((Date.now() - lastGood) / 1000);
		say("No update for " + ago + " s: " + error.message + ". The numbers below are old.");
		showLost(error.message === NO_ANSWER ? "no answer" : "no update");
	}
}

async function loop() {
	if (busy) return;
	busy = true;
	clearTimeout(timer);
	const beganMs = performance.now();
	if (!paused && !document.hidden) await update();
	busy = false;
	timer = setTimeout(loop, Math.max(PERIOD_MS, 5 * (performance.now() - beganMs)));
}

/* ---- the details of a server, on top of the list ---- */

const dialog = make("dialog");

async function updateOpened() {
	const search = opened;
	const main = $("main", await load(search));
	if (search !== opened) return;
	const body = $("div", dialog);
	if (taken.has(body)) {
		patch(body, main);
	} else {
		taken.set(body, performance.now());
		body.replaceChildren(...main.childNodes);
		drawKnown(body);
	}
	/* The way back to the list is the button. */
	for (const link of $$("a[href='?']", body)) link.parentElement.hidden = true;
}

/* What is known of it from its row in the list. */
function drawKnown(body) {
	for (const card of $$("dd[data-live]", body)) {
		const points = histories.get(body.tagName + " " + card.dataset.live) ?? [];
		if (points.length === 0) continue;
		if (RATES.has(card.dataset.live)) showRate(card, points[points.length - 1]);
		drawLine(card, points);
	}
}

function openServer(link) {
	opened = new URL(link.href).search;
	for (const id of CARD_LINES) {
		const points = histories.get(link.closest("tr").dataset.key + " " + id) ?? [];
		histories.set("DIV " + id, [...points]);
	}
	const close = make("button", "Close", {type: "button"});
	close.addEventListener("click", () => dialog.close());
	dialog.replaceChildren(close, make("div"));
	dialog.showModal();
	updateOpened().catch(() => { location.href = link.href; });
}

/* ---- the tools ---- */

function readyHeads() {
	for (const head of $$("thead th:not([tabindex])")) head.tabIndex = 0;
}

function pressButton(text, title, act) {
	const button = make("button", text, {type: "button", title: title, "aria-pressed": "false"});
	button.addEventListener("click", () => {
		const pressed = button.getAttribute("aria-pressed") !== "true";
		button.setAttribute("aria-pressed", String(pressed));
		act(pressed);
	});
	return button;
}

/* The browser may refuse to store anything. */
function stored(key, value) {
	try {
		if (value !== undefined) localStorage.setItem(key, value);
		return localStorage.getItem(key);
	} catch {
		return null;
	}
}

function setTheme(theme) {
	if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
	else delete document.documentElement.dataset.theme;
}

function themeButton() {
	const button = make("button", "Theme", {type: "button", title: "light or dark"});
	button.addEventListener("click", () => {
		const dark = getComputedStyle(document.documentElement).colorScheme === "dark";
		stored("weir-theme", dark ? "light" : "dark");
		setTheme(dark ? "light" : "dark");
	});
	return button;
}

function makeTools() {
	const search = make("input", undefined,
		{type: "search", placeholder: "Filter", "aria-label": "Filter by name, address, state or reason"});
	search.addEventListener("input", () => {
		filter.text = search.value.trim().toLowerCase();
		applyFilter();
	});
	const wide = pressButton("All columns", "show all columns", (on) => {
		for (const table of $$("main table")) table.classList.toggle("all", on);
	});
	const tools = $("#tools");
	wide.classList.add("wide");
	tools.append(search,
		pressButton("Not up", "show only what is not up, or failed in the last minute", (on) => {
			filter.trouble = on;
			applyFilter();
		}),
		wide,
		pressButton("Pause", "stop updating", (on) => {
			paused = on;
			if (!on) loop();
		}),
		themeButton());
	tools.hidden = false;
}

function start() {
	setTheme(stored("weir-theme"));
	makeTools();
	readyHeads();
	document.body.append(dialog);
	dialog.addEventListener("close", () => { opened = null; });
	document.addEventListener("click", (event) => {
		const head = event.target.closest("thead th[tabindex]");
		const link = event.target.closest("tbody a[href^='?backend=']");
		const plain = !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0;
		if (head) sortBy(head);
		if (!link || !plain) return;
		event.preventDefault();
		openServer(link);
	});
	document.addEventListener("keydown", (event) => {
		const head = event.target.closest("thead th[tabindex]");
		if (!head || event.key !== "Enter" && event.key !== " ") return;
		event.preventDefault();
		sortBy(head);
	});
	document.addEventListener("visibilitychange", () => { if (!document.hidden) loop(); });
	taken.set($("main"), performance.getEntriesByType("navigation")[0]?.responseStart ?? 0);
	timer = setTimeout(loop, FIRST_MS);
}

start();
})();
