// SPDX-License-Identifier: Apache-2.0
import {equal, holds, PHONE} from "./browser.mjs";
import {until} from "./daemon.mjs";

async function opened(api, train, options) {
  const daemon = await api.daemon();
  await train(daemon);
  const tab = await api.tab(daemon, options);
  await tab.go("quality/sample");
  return {daemon, tab};
}

const trained = (daemon) => daemon.trainSample("sample");

export async function figures_are_those_of_the_api(api) {
  const {daemon, tab} = await opened(api, trained);
  const {windows, progress, positive} = await daemon.call("GET", "v1/models/sample/evaluation");
  const one = windows.at(-1);
  await tab.sees("caption", `Of ${one.documents} documents`);
  const figures = Object.fromEntries(await tab.page.$$eval("main section:first-of-type tbody tr", (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent))));
  holds(Math.abs(parseFloat(figures.Accuracy) - 100 * one.accuracy) < 0.06, figures.Accuracy);
  equal(positive, "spam", "the positive label");
  const area = (1 - one.one_minus_roca_percent / 100).toFixed(6);
  await tab.sees("svg.chart text.area", area);
  await tab.sees("figcaption", `${percentOf(progress.at(-1))} wrong`);
  const bins = one.reliability.filter((bin) => bin.documents > 0);
  const shares = await tab.page.$$eval("svg.chart .share title", (all) => all.map((one) => one.textContent));
  equal(shares.length, bins.length, "bars");
  bins.forEach((bin, i) => holds(shares[i].includes(`of ${bin.documents} document`), shares[i]));
  equal(await tab.page.$$eval("svg.chart .whisker", (all) => all.length), 3 * bins.length, "intervals");
  const cells = await tab.page.$$eval("table", (all) => [...all].find((one) => one.caption.textContent.startsWith("All labels")).tBodies[0].innerText.split(/\s+/));
  equal(cells, ["ham", "spam"].flatMap((truth) => [truth, ...["ham", "spam"].map((given) => String(one.confusion[truth][given]))]), "the table");
  await tab.looksRight("quality");
}

const percentOf = ({documents, errors}) => `${errors === 0 || errors === documents ? (100 * errors) / documents : ((100 * errors) / documents).toFixed(1)} %`;

export async function the_slider_says_what_a_threshold_costs(api) {
  const {daemon, tab} = await opened(api, trained);
  const one = (await daemon.call("GET", "v1/models/sample/evaluation")).windows.at(-1);
  const negatives = one.labels.ham.documents, positives = one.labels.spam.documents;
  const points = one.roc.filter((point) => point.threshold <= 1).sort((a, b) => a.threshold - b.threshold);
  const cost = (point, a, b) => Math.round(a * point.false_positive_rate * negatives + b * (1 - point.true_positive_rate) * positives);
  await tab.sees("[role=status] strong", String(Math.min(...points.map((point) => cost(point, 10, 1)))));
  const at = Math.floor(points.length / 2);
  await tab.write("input[type=range]", String(at));
  const strong = await tab.page.$$eval("[role=status] strong", (all) => all.map((one) => one.textContent));
  equal(Number(strong[2]), cost(points[at], 10, 1), "the cost");
  const threshold = async (place) => {
    await tab.write("input[type=range]", String(place));
    const lines = await tab.text("pre.lines");
    holds(lines.startsWith("[filter]\nmodel = sample\nadd_header = "), lines);
    return Number(lines.split("add_header = ")[1]);
  };
  const [low, middle, high] = [await threshold(0), await threshold(at), await threshold(points.length - 1)];
  holds(low < middle && middle < high, `the threshold rises to the right: ${low}, ${middle}, ${high}`);
  holds(middle <= points[at].threshold && middle > points[at].threshold - 2e-6, `${middle} is ${points[at].threshold}`);
}

export async function the_threshold_becomes_a_setting(api) {
  const {daemon, tab} = await opened(api, trained);
  const {settings} = await daemon.call("GET", "v1/models/sample");
  await daemon.call("PUT", "v1/models/sample", {...settings, thresholds: {ham: 0.25}});
  const points = (await daemon.call("GET", "v1/models/sample/evaluation")).windows.at(-1).roc.filter((point) => point.threshold <= 1);
  await tab.write("input[type=range]", String(points.length - 1));
  await tab.press("Use for all decisions");
  await tab.sees("[role=status]", "a verdict of spam is decided unsure");
  const now = (await daemon.call("GET", "v1/models/sample")).settings;
  equal(now.thresholds.ham, 0.25, "that of another label");
  holds(Math.abs(now.thresholds.spam - Math.max(...points.map((point) => point.threshold))) < 2e-6, JSON.stringify(now.thresholds));
  equal({...now, thresholds: {}}, {...settings, thresholds: {}}, "the other settings");
}

export async function thresholds_for_a_precision_are_told(api) {
  const {daemon, tab} = await opened(api, async (daemon) => {
    await trained(daemon);
    const {settings} = await daemon.call("GET", "v1/models/sample");
    await daemon.call("PUT", "v1/models/sample", {...settings, thresholds: {ham: {precision: 0.5}, spam: {precision: 0.999999}}});
  });
  const {ham} = (await daemon.call("GET", "v1/models/sample/evaluation")).thresholds;
  holds(ham.threshold !== null, JSON.stringify(ham));
  const rows = await tab.page.$$eval("table", (all) => [...[...all].find((one) => one.caption.textContent.startsWith("Decided from")).tBodies[0].rows].map((row) => [...row.children].map((cell) => cell.textContent)));
  equal(rows.map((row) => row[0]), ["ham", "spam"], "labels");
  equal(rows[1].slice(1), ["never", "0.999999", ""], "a label that no threshold keeps");
  holds(rows[0][3].endsWith(` of ${ham.given}`), rows[0][3]);
  await tab.go("model/sample/settings");
  await tab.sees("label", "thresholds");
  equal(JSON.parse(await tab.page.$eval("#setting-thresholds", (input) => input.value)), {ham: {precision: 0.5}, spam: {precision: 0.999999}}, "as JSON");
}

export async function the_pointer_reads_a_chart(api) {
  const {daemon, tab} = await opened(api, trained);
  const {progress} = await daemon.call("GET", "v1/models/sample/evaluation");
  const charts = await tab.page.$$("svg.chart");
  equal(charts.length, 4, "charts");
  for (const chart of charts) {
    await chart.scrollIntoView();
    const box = await chart.boundingBox();
    await tab.page.mouse.move(box.x + 0.96 * box.width, box.y + box.height / 2);
    const [text, isShown] = await chart.$$eval("text", (all) => [all.at(-1).textContent, all.at(-1).getAttribute("visibility")]);
    equal(isShown, "visible", text);
    holds(/\d %/.test(text), text);
    for (let share = 0; share <= 1; share += 0.125) {
      await tab.page.mouse.move(box.x + share * (box.width - 1), box.y + box.height / 2);
      const {left, right} = await chart.$$eval("text", (all) => all.at(-1).getBoundingClientRect().toJSON());
      holds(left >= box.x && right <= box.x + box.width, `the text at ${share} goes from ${left} to ${right}, the picture from ${box.x} to ${box.x + box.width}`);
    }
    await tab.page.mouse.move(0, 0);
  }
  const last = await charts[2].$$eval("text", (all) => all.at(-1).textContent);
  equal(last, `${percentOf(progress.at(-1))} wrong at 94`, "errors over time");
}

export async function a_challenger_is_shown_beside_the_model(api) {
  const {daemon, tab} = await opened(api, async (d) => {
    await d.trainSample("sample");
    await d.call("POST", "v1/models/sample/challenger", {settings: {decision: "bayes"}});
    await until("it has learned all", async () => (await d.call("GET", "v1/models/sample/evaluation")).challenger.state === "following");
  });
  const {challenger} = await daemon.call("GET", "v1/models/sample/evaluation");
  const one = challenger.windows.at(-1);
  await tab.sees("h2", "Challenger");
  await tab.sees("p", "It has learned all that the model has.");
  const rows = await tab.page.$$eval("table", (all) => [...[...all].find((table) => table.caption.textContent.startsWith("The same")).tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent)));
  equal(rows[2].slice(1, 3), [String(one.only_champion_right), String(one.only_challenger_right)], "who is right alone");
  holds(Math.abs(parseFloat(rows[0][2]) - 100 * one.challenger.accuracy) < 0.06, rows[0].join(" "));
  equal(await tab.page.$$eval('svg[aria-label^="Wrong verdicts of both"] polyline', (all) => all.length), 2, "two curves");
  await tab.looksRight("quality-challenger");
}

export async function on_a_phone_the_ticks_can_be_read(api) {
  const {tab} = await opened(api, trained);
  await tab.page.setViewport(PHONE);
  const heights = await tab.page.$$eval("svg.chart .tick", (all) => all.map((one) => parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().d));
  holds(heights.length > 0 && Math.min(...heights) >= 10, `letters of ${Math.min(...heights)} pixels`);
}

export async function other_scores_and_labels_can_be_chosen(api) {
  const {daemon, tab} = await opened(api, trained);
  const selects = await tab.page.$$eval("main select", (all) => all.map((one) => one.id));
  await tab.page.select(`#${selects[1]}`, "leave-one-out");
  const {windows} = await daemon.call("GET", "v1/models/sample/evaluation?scores=leave-one-out");
  await tab.sees("svg.chart text.area", (1 - windows.at(-1).one_minus_roca_percent / 100).toFixed(6));
  holds(!(await tab.text("main")).includes("Errors over time"), "they have no order");
  await tab.page.select(`#${selects[1]}`, "before-learning");
  await tab.sees("h2", "Errors over time");
  await tab.page.select(`#${selects[2]}`, "ham");
  await tab.sees("th", "False positives (ham)");
}

export async function many_labels_show_the_worst_pairs_first(api) {
  const documents = [];
  for (let i = 0; i < 300; i++) documents.push({text: `topic${i % 15} word${(i * 7) % 31}`, label: `<label> ${i % 14}`});
  const {daemon, tab} = await opened(api, (d) => d.call("POST", "v1/models/sample/train", {documents}));
  const one = (await daemon.call("GET", "v1/models/sample/evaluation")).windows.at(-1);
  const first = await tab.page.$$eval("table", (all) => [...[...all].find((one) => one.caption.textContent === "Most confused").tBodies[0].rows[0].children].map((cell) => cell.textContent));
  const {label, given, documents: n} = one.worst_pairs[0];
  equal(first.slice(0, 3), [label, given, String(n)], "the worst pair");
  const squares = await tab.page.$$eval('svg[aria-label^="Confusion matrix of 14 labels"] title', (all) => all.map((one) => one.textContent));
  holds(squares.includes(`${label}, verdict ${given}: ${n} document${n === 1 ? "" : "s"} of ${one.labels[label].documents}`), squares.slice(0, 5).join("; "));
  await tab.looksRight("quality-many");
}

export async function a_picture_is_saved_with_its_styles(api) {
  const {tab} = await opened(api, trained);
  await tab.page.evaluate(() => {
    window.saved = [];
    const old = URL.createObjectURL;
    URL.createObjectURL = (blob) => {
      blob.text().then((text) => window.saved.push(text));
      return old.call(URL, blob);
    };
  });
  await tab.click('button[aria-label="Save as SVG: sample-roc"]');
  await tab.page.waitForFunction(() => window.saved.length > 0);
  const svg = await tab.page.evaluate(() => window.saved[0]);
  holds(svg.startsWith("<svg ") && svg.includes("xmlns=") && svg.includes('fill="none"') && !svg.includes("class="), svg.slice(0, 300));
}

export async function a_model_without_scores_says_so(api) {
  const {tab} = await opened(api, (daemon) => daemon.call("PUT", "v1/models/sample", {}));
  await tab.sees(".notice", "no evaluation yet");
}

export async function verdicts_that_drift_are_told(api) {
  const {daemon, tab} = await opened(api, async (daemon) => {
    await daemon.trainSample("sample");
    const many = (text) => ({documents: Array.from({length: 1000}, (_, i) => ({text: `${text} ${i % 7}`}))});
    await daemon.call("POST", "v1/models/sample/classify", many("the meeting about the figures on Friday"));
    await daemon.call("POST", "v1/models/sample/classify", many("claim your free prize now"));
  });
  const {drift} = await daemon.call("GET", "v1/models/sample");
  holds(drift.distance > 0.25, `drift ${JSON.stringify(drift)}`);
  await tab.sees("main", "of the last 1,000 verdicts");
  await tab.sees("strong", "The documents have changed");
  await tab.go("overview");
  await tab.sees(".light.warn li", "sample: the last 1,000 verdicts are distributed differently");
}
