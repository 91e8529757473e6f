// SPDX-License-Identifier: Apache-2.0
// Shows a verdict, as badges and with its reasons.

import {balance, shares} from "./bars.js";
import {field, h, put, table} from "./dom.js";
import {byKind, kindOf, sum, turning} from "./evidence.js";
import {brief, count, evidence, number, percent, plural} from "./format.js";
import {toneOf} from "./models.js";
import {coloured, fold} from "./words.js";

const LABELS_MOST = 10, SEVERAL_MOST = 30, ROWS_MOST = 40, NAMED_MOST = 6, LETTERS_MOST = 50000;

function ranked(verdict) {
  return Object.entries(verdict.probabilities).sort((a, b) => b[1] - a[1]);
}

const runnerUp = (verdict) => ranked(verdict).find(([label]) => label !== verdict.label)?.[0];

// Whether it is about a document that may have several labels.
const isOfSeveral = (verdict) => Array.isArray(verdict.labels);

// The label that the explanation speaks for.
const explainedBy = (verdict) => verdict.explained ?? verdict.label;

// What a verdict gives a document, [{label, probability}]: one label, several, or none of them. All that shows a verdict, in a
// line, as badges or as a headline, shows each of this list.
function givenBy(verdict) {
  if (isOfSeveral(verdict)) return verdict.labels.map((label) => ({label, probability: verdict.probabilities[label]}));
  return verdict.decision === "none" ? [] : [{label: verdict.label, probability: verdict.probability}];
}

// The badge of a label, with its colour among `labels`, those of the model.
export function badge(labels, {label, probability}) {
  return h("span", {class: `badge ${toneOf(labels, label)}`, title: percent(probability)}, h("bdi", null, label), " ", brief(probability));
}

// A badge for each label that a verdict gives, side by side; if it gives none the badge "none of these", with the
// probability that the document is of any of the labels, or of several labels "none of the labels".
export function badges(labels, verdict) {
  const given = givenBy(verdict), {known} = verdict;
  if (isOfSeveral(verdict) && given.length === 0) return h("span", {class: "badge plain"}, "none of the labels");
  return h("span", {class: "badges"}, given.length > 0 ? given.map((one) => badge(labels, one))
    : h("span", {class: "badge plain", title: `That it is of any of the labels: ${percent(known)}`}, `none of these ${brief(known)}`));
}

// The verdict in one line, for the eye and for a screen reader.
export function headline(verdict) {
  const given = givenBy(verdict).map(({label, probability}) => `${label}, ${percent(probability)}`).join("; ");
  if (isOfSeveral(verdict)) return given || "none of the labels";
  return verdict.evidence === "none" ? "no evidence" : given || `none of these; that it is of any of the labels: ${percent(verdict.known)}`;
}

// The same, large.
function title(verdict) {
  if (isOfSeveral(verdict)) return h("p", {class: "verdict"}, badges(Object.keys(verdict.probabilities), verdict));
  const given = givenBy(verdict).map(({label, probability}, i) => [i > 0 ? " " : null, h("strong", {dir: "auto"}, label), " ", h("span", null, percent(probability))]);
  if (verdict.evidence === "none") return h("p", {class: "verdict"}, h("strong", null, "No evidence"));
  return h("p", {class: "verdict"}, given.length > 0 ? given : h("strong", null, "None of these"));
}

// The paragraph that decides, if all of the text would say something else.
function passage(verdict) {
  const {label, from, text, whole} = verdict.passage ?? {};
  return label === undefined ? null : h("div", {class: "notice"},
    h("p", null, "This paragraph decided", text ? ":" : `, from byte ${count(from)} of the text on.`),
    text ? h("blockquote", {dir: "auto"}, text.trim()) : null,
    h("p", null, `By all of the text ${label} would have ${percent(whole)}. The evidence below is the paragraph's.`));
}

export function summary(verdict) {
  const all = ranked(verdict), rows = all.slice(0, isOfSeveral(verdict) ? SEVERAL_MOST : LABELS_MOST).map(([label, p]) => [label, p, percent(p)]);
  const {total, known} = verdict.tokens;
  return [
    title(verdict),
    ["none", "unsure"].includes(verdict.decision) && verdict.evidence !== "none" ? h("p", {class: "notice"}, `Decision: ${verdict.decision}, for ${verdict.decision_reason.replace(/\d*\.\d{4,}/g, (long) => number(Number(long)))}.`) : null,
    verdict.evidence === "none" ? h("p", {class: "notice warn"}, "The model knows nothing of it. The probabilities below are those of any document.") : null,
    verdict.ready ? null : h("p", {class: "notice warn"}, `The model is not ready: ${verdict.missing}.`),
    verdict.calibrated === false ? h("p", {class: "notice"}, "The model's weights are being fitted; the probability is provisional.") : null,
    verdict.truncated ? h("p", {class: "notice"}, "The document is longer than the limit; the rest was left out.") : null,
    passage(verdict),
    shares("Probability of each label", ["Label", "Probability"], rows),
    isOfSeveral(verdict) && rows.length < all.length ? h("p", {class: "hint"}, `And ${plural(all.length - rows.length, "label")} that are less probable.`) : null,
    h("p", {class: "hint"}, `${plural(total, "token")}, of which the model knows ${known}.${verdict.known === undefined ? "" : ` That it is of any of the labels: ${percent(verdict.known)}.`}`),
  ];
}

// The choice of the label that is explained, of those of a verdict with several; changed(label).
export function explainedChoice(verdict, changed) {
  const labels = ranked(verdict).map(([label]) => label);
  return field("Explained label", h("select", {value: verdict.explained, onchange: (event) => changed(event.target.value)}, labels.map((label) => h("option", {value: label}, label))));
}

// What would turn the verdict to the second label. With several labels each is judged by itself.
export function change(verdict) {
  if (isOfSeveral(verdict)) return null;
  const other = runnerUp(verdict);
  const rows = verdict.explanation ?? [];
  if (!other || rows.length === 0) return null;
  const gone = turning(rows);
  const distance = sum(rows);
  const names = (list) => list.slice(0, NAMED_MOST).map((row, i) => [i > 0 ? ", " : "", h("q", null, row.token)]);
  const text = gone === null ? `No set of words alone would make it ${other}.`
    : gone.length === 0 ? `It is as likely ${other}.`
    : [`Without ${gone.length > NAMED_MOST ? `its ${gone.length} strongest features (` : ""}`, names(gone),
      gone.length > NAMED_MOST ? ", ...)" : "", ` it would be ${other}.`];
  return h("section", null, h("h3", null, `What ${other} would need`),
    h("p", null, `The log-odds for ${verdict.label} are ${evidence(distance)}. `, text));
}

export function kinds(verdict, fields) {
  const rows = byKind(verdict.explanation ?? [], fields).map(([kind, value]) => [kind, value, evidence(value)]);
  return rows.length > 0 ? balance(`What speaks for ${explainedBy(verdict)} (right) and against it (left)`, ["Kind", "Evidence"], rows) : null;
}

// ---- the text -----------------------------------------------------------------------------------

// Four steps each way, so that the colours need no style of their own in the page.
function step(total, most) {
  const share = Math.abs(total) / most;
  const size = share > 0.6 ? 4 : share > 0.3 ? 3 : share > 0.12 ? 2 : share > 0.04 ? 1 : 0;
  return size === 0 ? null : `${total > 0 ? "for" : "against"}${size}`;
}

// How often a word occurs in the documents of each label, if the model knows it.
const countsText = (row) => Object.entries(row?.counts ?? {}).map(([label, n]) => `${n} in ${label}`).join(", ");

function explainPart(part, verdict, rows) {
  const row = rows.find((one) => one.token === part.prefix + fold(part.text));
  const parts = [["the word", part.own], ["pairs with its neighbours", part.pairs], ["its letters", part.letters], ["its capitals", part.capitals]]
    .filter(([, value]) => Math.abs(value) >= 0.005).map(([name, value]) => `${name} ${evidence(value)}`);
  return `“${part.text}”${row ? `, ${plural(row.count, "time")} here${row.counts ? `, ${countsText(row)}` : ""}` : ""}: ${evidence(part.total)} for ${explainedBy(verdict)}` +
    (parts.length > 0 ? ` (${parts.join(", ")})` : "");
}

// sections: [{name, text, prefix}]. The words can be pointed at, tapped, or read in the table that follows.
export function textWithEvidence(verdict, sections) {
  const rows = verdict.explanation ?? [];
  const read = sections.filter((section) => section.text).map((section) => ({...section, parts: coloured(section.text.slice(0, LETTERS_MOST), rows, section.prefix)}));
  const isCut = sections.some((section) => section.text.length > LETTERS_MOST);
  const most = Math.max(0.2, ...read.flatMap((section) => section.parts.map((part) => Math.abs(part.total))));
  const details = h("p", {class: "details"}, "Point at a coloured word, or tap it, to see its evidence.");
  const known = new Map();
  const mark = (prefix) => (part) => {
    const kind = step(part.total, most);
    if (!kind) return part.text;
    const element = h("mark", {class: kind}, part.text);
    known.set(element, {...part, prefix});
    return element;
  };
  const look = (event) => {
    const part = known.get(event.target);
    if (part) put(details, explainPart(part, verdict, rows));
  };
  const body = h("div", {class: "document", tabindex: 0, role: "region", "aria-label": "The text with its evidence", onpointerover: look, onclick: look},
    read.map((section) => h("p", null, section.name ? h("b", null, `${section.name}: `) : null, section.parts.map(mark(section.prefix)))));
  return h("section", null, h("h3", null, "The text with its evidence"),
    h("p", {class: "legend"}, h("mark", {class: "for3"}, `for ${explainedBy(verdict)}`), " ", h("mark", {class: "against3"}, "against it")),
  isCut ? h("p", {class: "hint"}, `Only the first ${count(LETTERS_MOST)} letters are shown; the verdict is about the whole.`) : null, details, body);
}

export function strongest(verdict, fields) {
  const rows = (verdict.explanation ?? []).filter((row) => row.token !== null).slice(0, ROWS_MOST);
  return rows.length === 0 ? null : h("details", null, h("summary", null, `The ${rows.length} strongest features`),
    table("Strongest features", [{name: "Feature"}, {name: "Kind"}, {name: "Times", number: true}, {name: "Occurrences"}, {name: `For ${explainedBy(verdict)}`, number: true}],
      rows.map((row) => [row.token, kindOf(row.token, fields), String(row.count), countsText(row), evidence(row.evidence)])));
}
