// SPDX-License-Identifier: Apache-2.0
// The state of the daemon: health, figures, models.

import {may} from "./access.js";
import {get, send} from "./api.js";
import {spark} from "./chart.js";
import {concerns, learning} from "./concerns.js";
import {h, put, s} from "./dom.js";
import {bytes, count, duration, number, plural} from "./format.js";
import {parse, total} from "./metrics.js";
import {ModelList} from "./model_list.js";
import {firstOf} from "./model_quarantine.js";
import {isUsable, list} from "./models.js";
import {address} from "./router.js";

const PAUSE = 5000; // milliseconds between two looks
const POINTS = 60;
const LISTED_MOST = 100; // models that still learn
const ASKED_MOST = 20; // models that are asked for their quarantine

// ---- what is asked ------------------------------------------------------------------------------

async function readiness() {
  try {
    const ready = await get("readyz");
    return {unready: null, damaged: ready.damaged ?? [], upgrade: ready.upgrade ?? null};
  } catch (error) {
    if (error.status !== 503) throw error;
    return {unready: error.message, damaged: [], upgrade: null};
  }
}

// Null: the token is for some models, and the metrics are about all. They are then not asked for again.
async function metrics(isAsked) {
  if (!isAsked) return null;
  try {
    return parse(await (await send("GET", "metrics")).text());
  } catch (error) {
    if (error.status === 403) return null;
    throw error;
  }
}

// The verdicts of the last day, {from, seconds, verdicts}; null as for the metrics.
async function traffic(isAsked) {
  if (!isAsked) return null;
  try {
    return await get("v1/traffic");
  } catch (error) {
    if (error.status === 403) return null;
    throw error;
  }
}

// The models, among the first ones, with changes in their quarantine. They are asked at first, and again while changes wait
// or more have come.
async function waitingIn(families, models, before) {
  const came = (all) => total(all, "bayesd_changes_total", {status: "quarantined"});
  if (!families || !may("admin")) return [];
  if (before?.families && before.waiting.length === 0 && came(before.families) === came(families)) return [];
  const waits = async ({name}) => ((await firstOf(name, 1)).quarantine.length > 0 ? name : null);
  return (await Promise.all(models.filter(isUsable).slice(0, ASKED_MOST).map(waits))).filter(Boolean);
}

// `page`: the models that are listed. Only the first ones are searched for what needs attention.
async function look(isFirst, before, listed) {
  const isAsked = isFirst || before?.families;
  const [ready, families, first, day] = await Promise.all([readiness(), metrics(isAsked), list(), traffic(isAsked)]);
  const waiting = await waitingIn(families, first.models, before);
  return {...ready, families, day, waiting, models: first.models, hasMore: Boolean(first.next), page: await listed.ask(first), at: Date.now()};
}

// ---- what is shown ------------------------------------------------------------------------------

function light(found) {
  const level = found.some((one) => one.level === "bad") ? "bad" : found.length > 0 ? "warn" : "good";
  const title = {bad: "Something is wrong", warn: "Needs attention", good: "All is well"}[level];
  const text = (one) => one.view ? h("a", {href: address(one.view, one.model, ...one.rest ?? [])}, one.text) : one.text;
  return h("section", {class: `light ${level}`, "aria-labelledby": "light"},
    h("h2", {id: "light"}, h("span", {class: "lamp", "aria-hidden": "true"}), title),
    found.length > 0 ? h("ul", null, found.map((one) => h("li", {class: one.level}, text(one)))) : null);
}

// How many of many models are ready; which are not, on request.
function readyModels(state) {
  const found = learning(state);
  if (!found) return null;
  const few = found.learning.length, ready = found.all - few;
  const text = `${count(ready)} of ${state.hasMore ? "the first " : ""}${count(found.all)} models ${ready === 1 ? "is" : "are"} ready${few > 0 ? `, ${count(few)} still learn` : ""}.`;
  return few === 0 ? h("p", null, text) : h("details", {id: "learning"}, h("summary", null, text),
    h("ul", null, found.learning.slice(0, LISTED_MOST).map((one) => h("li", null, h("a", {href: address(one.view, one.model)}, one.text)))),
    few > LISTED_MOST ? h("p", {class: "hint"}, `And ${count(few - LISTED_MOST)} more.`) : null);
}

function tile(name, value, detail) {
  return h("div", {class: "tile"}, h("dt", null, name), h("dd", null, h("strong", null, value), detail ? h("span", null, detail) : null));
}

// The verdicts of the last day: a bar for each ten minutes.
function dayPicture({from, seconds, verdicts}) {
  const most = Math.max(1, ...verdicts), all = verdicts.reduce((sum, n) => sum + n, 0);
  const clock = (i) => new Date(Date.parse(from) + 1000 * seconds * i).toLocaleTimeString("en", {hour: "2-digit", minute: "2-digit", hourCycle: "h23"});
  return h("section", {class: "panel day"}, h("h2", null, `${plural(all, "verdict")} in the last 24 hours`),
    s("svg", {class: "traffic", viewBox: `0 0 ${verdicts.length} 40`, preserveAspectRatio: "none", role: "img", "aria-label": `Verdicts in each ten minutes since ${clock(0)} yesterday; at most ${count(most)}.`},
      verdicts.map((n, i) => s("g", null, s("title", null, `${clock(i)}: ${plural(n, "verdict")}`), s("rect", {class: "back", x: i, y: 0, width: 1, height: 40}),
        s("rect", {class: "share", x: i + 0.1, y: 40 - (39 * n) / most, width: 0.8, height: (39 * n) / most})))),
    h("p", {class: "hint ends"}, h("span", null, clock(0)), h("span", null, all === 0 ? "none in ten minutes" : `at most ${count(most)} in ten minutes`), h("span", null, "now")));
}

function tiles({families, models, hasMore}, rates) {
  if (!families) return h("p", {class: "hint"}, "This token is for some models, so the figures of the whole daemon are not shown.");
  const uptime = Date.now() / 1000 - total(families, "process_start_time_seconds");
  const verdicts = total(families, "bayesd_verdicts_total");
  const known = models.reduce((sum, model) => sum + (model.documents ?? 0), 0);
  const mean = (60 * verdicts) / Math.max(1, uptime);
  return h("dl", {class: "tiles"},
    tile("Verdicts per minute", rates.length > 0 ? number(rates.at(-1)) : number(mean), [rates.length > 1 ? spark(rates) : null, `${count(verdicts)} since the start`]),
    tile("Documents learned", count(known), hasMore ? `in the first ${plural(models.length, "model")}` : plural(models.length, "model")),
    tile("Disk", bytes(total(families, "bayesd_store_bytes")), `${bytes(total(families, "bayesd_disk_free_bytes"))} free on the disk`),
    tile("Memory", bytes(total(families, "process_resident_memory_bytes")), `${bytes(total(families, "bayesd_model_memory_bytes"))} of models`),
    tile("Running for", duration(uptime), `version ${families.bayesd_info?.[0]?.labels.version ?? "?"}`));
}

// ---- again and again ----------------------------------------------------------------------------

// Verdicts a minute between two looks.
function rateBetween(before, now) {
  if (!before?.families || !now.families) return null;
  const more = total(now.families, "bayesd_verdicts_total") - total(before.families, "bayesd_verdicts_total");
  return more < 0 ? null : (60000 * more) / Math.max(1, now.at - before.at);
}

export async function show(place) {
  const health = h("div"), figures = h("div"), ready = h("div"), models = h("div");
  const rates = [];
  let before = null, timer = null, isGone = false, turn = 0;
  const draw = (state) => {
    const rate = rateBetween(before, state);
    if (rate !== null) rates.push(rate);
    if (rates.length > POINTS) rates.shift();
    put(health, light(concerns(state)));
    put(figures, tiles(state, rates), state.day ? dayPicture(state.day) : null);
    figures.classList.remove("away");
    const isOpen = ready.querySelector("details")?.open;
    put(ready, readyModels(state));
    if (isOpen) ready.querySelector("details")?.setAttribute("open", "");
    listed.draw(state.page, state.families);
    before = state;
  };
  // The answer to an earlier question is dropped: it may be of another page.
  const lookAndDraw = async (isFirst) => {
    const mine = ++turn;
    const state = await look(isFirst, before, listed);
    if (mine === turn && !isGone) draw(state);
  };
  const failed = (error) => {
    figures.classList.toggle("away", error.status === 0); // the figures are old
    if (!isGone && error.status !== 401) put(health, light([{level: "bad", text: error.status === 0 ? "Can't reach bayesd, retrying." : error.message}]));
  };
  const again = async () => {
    if (!document.hidden) await lookAndDraw(false).catch(failed);
    if (!isGone) timer = setTimeout(again, PAUSE);
  };
  const listed = new ModelList(models, () => lookAndDraw(false).catch(failed));
  put(place, health, figures, ready, models);
  await lookAndDraw(true);
  timer = setTimeout(again, PAUSE);
  return () => {
    isGone = true;
    clearTimeout(timer);
  };
}
