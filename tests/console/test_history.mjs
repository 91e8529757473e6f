// SPDX-License-Identifier: Apache-2.0
import {equal, holds, PHONE} from "./browser.mjs";
import {until} from "./daemon.mjs";

const HOSTILE = "<img src=x onerror=alert(1)> prize";
const mail = (i, subject) => `From: a@example.org\r\nMessage-ID: <${i}@example.org>\r\nSubject: ${subject}\r\n\r\nfree prize number${i} for you\r\n`;

// A model that keeps its verdicts, and some of them.
async function kept(api, daemon = null) {
  daemon ??= await api.daemon();
  await daemon.trainSample("sample");
  const {settings} = await daemon.call("GET", "v1/models/sample");
  await daemon.call("PUT", "v1/models/sample", {...settings, history: 1000, history_subject: true});
  const subjects = ["Hello", HOSTILE, "Third"];
  for (const [i, subject] of subjects.entries()) await daemon.call("POST", `v1/models/sample/classify?remember=1&id=mail-${i}`, mail(i, subject), {"Content-Type": "message/rfc822"});
  await daemon.call("POST", "v1/models/sample/classify?remember=1&id=text-1", "the meeting on Friday", {"Content-Type": "text/plain"});
  await keeps(daemon, 4);
  return daemon;
}

const keeps = (daemon, n) => until(`${n} verdicts are kept`, async () => (await daemon.call("GET", "v1/models/sample/history?limit=1000")).history.length === n);

const rows = (tab) => tab.page.$$eval("tbody tr:not(.below)", (all) => all.map((row) => row.cells[1].textContent));

export async function a_model_begins_to_keep_verdicts(api) {
  const daemon = await api.daemon();
  await daemon.trainSample("sample");
  const tab = await api.tab(daemon);
  await tab.go("history/sample");
  await tab.sees("h2", "keeps no verdicts");
  await tab.looksRight("history-none");
  await tab.click("#keep-subjects");
  await tab.press("Keep the last 10,000");
  await tab.sees(".notice", "No kept verdict matches.");
  const {settings} = await daemon.call("GET", "v1/models/sample");
  equal([settings.history, settings.history_subject], [10000, true], "the settings");
}

export async function verdicts_are_filtered_and_opened(api) {
  const daemon = await kept(api);
  const tab = await api.tab(daemon);
  await tab.go("history/sample");
  await tab.sees("tbody th", "text-1");
  equal((await rows(tab)).sort(), [HOSTILE, "Hello", "Third", "text-1"].sort(), "rows");
  await tab.looksRight("history");
  await tab.write('input[type="search"]', "hello");
  await tab.press("Show");
  await tab.page.waitForFunction(() => document.querySelectorAll("tbody tr:not(.below)").length === 1);
  equal(await rows(tab), ["Hello"], "filtered");
  await tab.click('button[aria-label="Why: Hello"]');
  await tab.sees("tr.below h2", "Why: Hello");
  const [row, below] = await tab.page.evaluate(() => [document.querySelector("tbody tr"), document.querySelector("tr.below:not([hidden])")].map((one) => one.getBoundingClientRect()).map(({top, bottom}) => ({top, bottom})));
  holds(Math.abs(below.top - row.bottom) < 2, `the reasons are ${below.top - row.bottom} pixels below their row`);
  await tab.sees(".bars", "Words");
  await tab.looksRight("history-why");
  await tab.write('input[type="search"]', "nothing has this");
  await tab.press("Show");
  await tab.page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 0);
}

export async function one_click_puts_it_right(api) {
  const daemon = await kept(api);
  const tab = await api.tab(daemon);
  await tab.go("history/sample");
  await tab.page.waitForSelector('button[aria-label="ham: Hello"]');
  await tab.click('button[aria-label="ham: Hello"]');
  await tab.sees(".notice.good", "Hello is ham now. Documents: ham 48, spam 47.");
  equal((await daemon.call("GET", "v1/models/sample/documents/mail-0")).label, "ham", "learned");
  await tab.click('button[aria-label="spam: Hello"]');
  await tab.sees(".notice.good", "spam 48");
  equal((await daemon.call("GET", "v1/models/sample/documents/mail-0")).label, "spam", "relabelled");
  const selects = await tab.page.$$eval("main select", (all) => all.map((one) => one.id));
  await tab.page.select(`#${selects.at(-2)}`, "1");
  await tab.page.waitForFunction(() => document.querySelectorAll("tbody tr:not(.below)").length === 1);
  holds((await tab.text("tbody tr:not(.below)")).includes("spam"), "with its label");
}

export async function on_a_phone_the_answers_are_in_sight(api) {
  const daemon = await kept(api);
  const tab = await api.tab(daemon, {device: PHONE});
  await tab.go("history/sample");
  await tab.sees("tbody th", "text-1");
  const [edge, ...ends] = await tab.page.$$eval(".scroll, tbody button", (all) => all.map((one) => one.getBoundingClientRect().right));
  equal(ends.length, 12, "answers and reasons");
  holds(Math.max(...ends) <= edge, `answers end at ${ends}, and what is in sight at ${edge}`);
  const lowest = await tab.page.$$eval("tbody tr:not(.below)", (all) => Math.max(...all.map((one) => one.getBoundingClientRect().bottom)));
  holds(lowest <= PHONE.height, `the rows end at ${lowest}: the filters are folded`);
  const widths = await tab.page.$$eval("tbody th", (all) => all.map((one) => one.getBoundingClientRect().width));
  holds(Math.min(...widths) >= PHONE.width / 2, `the documents have ${widths} pixels`);
  equal(await tab.page.$eval(".scroll", (one) => one.scrollWidth - one.clientWidth), 0, "pixels out of sight");
  await tab.press("Filters");
  await tab.page.waitForSelector('input[type="search"]', {visible: true});
}

export async function rows_are_low(api) {
  const daemon = await kept(api);
  const tab = await api.tab(daemon);
  await tab.go("history/sample");
  await tab.sees("tbody th", "text-1");
  const heights = await tab.page.$$eval("tbody tr:not(.below)", (all) => all.map((row) => row.getBoundingClientRect().height));
  holds(Math.max(...heights) <= 34, `rows are ${heights} pixels high`);
}

export async function selected_verdicts_get_one_label(api) {
  const daemon = await kept(api);
  const tab = await api.tab(daemon);
  await tab.go("history/sample");
  await tab.click('input[aria-label="Select Hello"]');
  await tab.click('input[aria-label="Select Third"]');
  await tab.sees(".actions", "2 selected");
  await tab.looksRight("history-selected");
  await tab.press("All are ham");
  await tab.sees(".notice.good", "2 documents now ham.");
  for (const id of ["mail-0", "mail-2"]) equal((await daemon.call("GET", `v1/models/sample/documents/${id}`)).label, "ham", id);
  await tab.click('input[aria-label="Select all shown"]');
  await tab.sees(".actions", "4 selected");
  await tab.press("Undo");
  await tab.sees(".notice.good", "4 documents as before.");
  equal((await daemon.call("GET", "v1/models/sample")).documents, 94, "documents");
}

export async function filters_are_in_the_address(api) {
  const daemon = await kept(api);
  const tab = await api.tab(daemon);
  await tab.go("history/sample?contains=hello&sort=unsure");
  await tab.page.waitForFunction(() => document.querySelectorAll("tbody tr:not(.below)").length === 1);
  equal(await rows(tab), ["Hello"], "filtered");
  await tab.sees("caption", "1 of 1 verdicts that match, the least sure of the last 1,000 first");
  await tab.write('input[type="search"]', "");
  await tab.press("Show");
  await tab.page.waitForFunction(() => document.querySelectorAll("tbody tr:not(.below)").length === 4);
  holds((await tab.page.evaluate(() => location.hash)) === "#/history/sample?sort=unsure", "the address has the filters");
  const shares = await tab.page.$$eval("tbody .badge[title]", (all) => all.map((one) => parseFloat(one.title)));
  equal(shares, [...shares].sort((a, b) => a - b), "sorted");
  await tab.write('input[type="date"]', "2001-01-01"); // From
  await tab.sees("caption", "4 of 4");
  await tab.page.$$eval('input[type="date"]', ([, to]) => {
    to.value = "2001-01-02";
    to.dispatchEvent(new Event("change", {bubbles: true}));
  });
  await tab.sees(".notice", "No kept verdict matches.");
}

// A verdict below the setting min_known is "none of these", with the probability to be of any label.
export async function none_of_these_is_shown(api) {
  const daemon = await kept(api);
  await daemon.call("POST", "v1/models/sample/classify?remember=1&id=far", "penguins swim under ice xylophone zebra quartz", {"Content-Type": "text/plain"});
  await keeps(daemon, 5);
  const {settings} = await daemon.call("GET", "v1/models/sample");
  const known = Object.fromEntries((await daemon.call("GET", "v1/models/sample/history")).history.map((row) => [row.id, row.known]));
  const own = Math.max(...Object.values(known));
  holds(own > known.far, `known: ${JSON.stringify(known)}`);
  await daemon.call("PUT", "v1/models/sample", {...settings, min_known: (own + known.far) / 2});
  const tab = await api.tab(daemon);
  await tab.go("history/sample");
  await tab.sees("tbody th", "far");
  const share = `${(100 * known.far).toFixed(1)} %`;
  const shown = await tab.page.$$eval("tbody tr:not(.below)", (all) => Object.fromEntries(all.map((row) => [row.cells[1].textContent, row.querySelector(".badges").textContent])));
  equal(shown.far, `none of these ${share}`, "the row");
  equal(Object.values(shown).filter((text) => /^(ham|spam) /.test(text)).length, Object.values(known).filter((one) => one >= (own + known.far) / 2).length, `others: ${JSON.stringify(shown)}`);
  await tab.click('button[aria-label="Why: far"]');
  await tab.sees("tr.below .verdict", "None of these");
  await tab.sees("tr.below p", `was none of these; that it is of any of the labels: ${share}`);
  await tab.page.setViewport(PHONE);
  const [edge, ...ends] = await tab.page.$$eval(".scroll, tbody button, .unfolded, .unfolded .panel", (all) => all.map((one) => one.getBoundingClientRect().right));
  holds(ends.length >= 15 && Math.max(...ends) <= edge, `on a phone answers and reasons end at ${ends}, and what is in sight at ${edge}`);
  const cut = await tab.page.$$eval("tbody .first", (all) => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent));
  equal(cut, [], "verdicts that are cut on a phone");
  await tab.sees("tr.below .notice", "the model's setting min_known");
  await tab.looksRight("history-none-of-these");
}

// A document may get several labels one day: the badges of a row have a place for them.
export async function a_row_has_room_for_several_labels(api) {
  const daemon = await kept(api);
  for (const device of [undefined, PHONE]) {
    const tab = await api.tab(daemon, device ? {device} : {});
    await tab.go("history/sample");
    await tab.sees("tbody th", "text-1");
    const [before, after, tops, width] = await tab.page.evaluate(async () => {
      const {badge} = await import("/console/verdict.js");
      const place = document.querySelector(".badges"), row = place.closest("tr"), before = row.getBoundingClientRect().height;
      place.append(badge(["ham", "spam"], {label: "ham", probability: 0.75}), badge(["ham", "spam"], {label: "spam", probability: 0.5}));
      return [before, row.getBoundingClientRect().height, [...place.children].map((one) => one.getBoundingClientRect().top), document.documentElement.scrollWidth];
    });
    equal([after, new Set(tops).size, tops.length], [before, 1, 3], "one row of badges, of the same height");
    holds(width <= (device?.width ?? 1280), `the page is ${width} pixels wide`);
  }
}

export async function pages_follow_each_other(api) {
  const daemon = await kept(api);
  const documents = Array.from({length: 60}, (_, i) => ({id: `more-${i}`, text: `text number ${i}`}));
  await daemon.call("POST", "v1/models/sample/classify?remember=1", {documents});
  const tab = await api.tab(daemon);
  await keeps(daemon, 64);
  await tab.go("history/sample");
  await tab.page.waitForFunction(() => document.querySelectorAll("tbody tr:not(.below)").length === 50);
  await tab.press("More");
  await tab.page.waitForFunction(() => document.querySelectorAll("tbody tr:not(.below)").length === 64);
  equal(new Set(await rows(tab)).size, 64, "each once");
  const all = await rows(tab);
  await tab.write(".filters input[type=number][step='1']", "41");
  await tab.press("Go");
  await tab.sees("caption", "41 to 64 of 64 verdicts that match, newest first");
  equal(await rows(tab), all.slice(40), "from the forty-first on");
  equal(await tab.page.evaluate(() => location.hash), "#/history/sample?at=41", "the address has it");
  await tab.looksRight("history-jump");
  await tab.page.reload();
  await tab.sees("caption", "41 to 64 of 64 verdicts that match, newest first");
  await tab.press("Show");
  await tab.sees("caption", "50 of 64 verdicts that match");
}

export async function keys_label_and_undo(api) {
  const daemon = await kept(api);
  const tab = await api.tab(daemon);
  await tab.go("history/sample");
  await tab.sees("tbody th", "text-1");
  const first = await tab.text("tbody tr th");
  await tab.page.focus("tbody tr");
  await tab.page.keyboard.press("j");
  const title = await tab.page.evaluate(() => document.activeElement.cells[1].textContent);
  holds(title !== first, "j goes to the next row");
  const id = (await daemon.call("GET", "v1/models/sample/history")).history[1].id;
  await tab.page.keyboard.press("1");
  await tab.sees("tr.below", `${title} is ham now.`);
  equal((await daemon.call("GET", `v1/models/sample/documents/${id}`)).label, "ham", "learned");
  equal(await tab.page.evaluate(() => document.activeElement.cells?.[1].textContent), title, "the row keeps the focus");
  await tab.page.keyboard.press("2");
  await tab.sees("tr.below", `${title} is spam now.`);
  await tab.page.keyboard.press("u");
  await tab.sees("tr.below", `${title} is ham again.`);
  equal((await daemon.call("GET", `v1/models/sample/documents/${id}`)).label, "ham", "the label before");
  await tab.page.keyboard.press("k");
  equal(await tab.page.evaluate(() => document.activeElement.cells[1].textContent), first, "k goes back");
}

export async function a_label_is_undone_in_its_row(api) {
  const daemon = await kept(api);
  const tab = await api.tab(daemon);
  await tab.go("history/sample");
  await tab.click('button[aria-label="ham: Hello"]');
  await tab.sees("tr.below", "Hello is ham now.");
  await tab.click('button[aria-label="Undo: Hello"]');
  await tab.sees("tr.below", "Hello has no label again.");
  equal((await daemon.call("GET", "v1/models/sample")).documents, 94, "documents");
  equal((await daemon.call("GET", "v1/models/sample/history")).history.length, 4, "the verdicts stay");
}
