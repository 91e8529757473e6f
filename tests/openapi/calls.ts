// SPDX-License-Identifier: Apache-2.0
// The calls that the README shows, with the types that openapi.json gives: `tsc` checks that they fit.
import createClient from "openapi-fetch";
import type { paths } from "./bayesd.d.ts";

const daemon = createClient<paths>({ baseUrl: process.argv[2] ?? "http://127.0.0.1:8763" });

function given<T>(told: { data?: T; error?: unknown }): T {
  if (told.data === undefined) throw new Error(JSON.stringify(told.error));
  return told.data;
}

function asText(body: unknown): string {
  return String(body);
}

const model = { path: { model: "typed" } };

// No setting must be there.
given(await daemon.PUT("/v1/models/{model}", { params: model, body: { preset: "book" } }));

const text = { bodySerializer: asText, headers: { "Content-Type": "text/plain" } };
const receipt = given(await daemon.POST("/v1/models/{model}/train", {
  params: { ...model, query: { label: "spam", id: "note-1" } }, body: "cheap pills, buy now", ...text,
}));
if (typeof receipt === "string" || !("status" in receipt) || receipt.status !== "learned") throw new Error("not learned");

const batch = given(await daemon.POST("/v1/models/{model}/train", {
  params: model,
  body: { documents: [{ text: "the meeting is moved to Monday", label: "ham" }, { text: "", label: "" }] },
}));
if (typeof batch === "string" || !("results" in batch)) throw new Error("no results");
const failed = batch.results[1];
if (failed === undefined || !("error" in failed) || failed.error.status !== 422) throw new Error("no error in its place");

const verdict = given(await daemon.POST("/v1/models/{model}/classify", {
  params: { ...model, query: { explain: 2 } }, body: { text: "buy the cheap pills today" },
}));
if (typeof verdict === "string" || !("probability" in verdict) || verdict.label !== "spam") throw new Error("not spam");

// Lines are a string.
const lines = await daemon.POST("/v1/models/{model}/classify", {
  params: model, body: '{"text": "pills"}\n{"text": "Monday"}\n', bodySerializer: asText, parseAs: "text",
  headers: { "Content-Type": "application/x-ndjson" },
});
const verdicts = String(lines.data).trim().split("\n").map((line) => JSON.parse(line).label);
if (verdicts.join() !== "spam,ham") throw new Error(`lines: ${verdicts}`);

const row = given(await daemon.GET("/v1/models/{model}", { params: model }));
if (!("settings" in row) || row.settings?.smoothing !== 1) throw new Error("a reply has all settings");

given(await daemon.POST("/v1/models/{model}/untrain", { params: model, body: { id: "note-1" } }));
given(await daemon.PATCH("/v1/models/{model}/labels/{label}", {
  params: { path: { model: "typed", label: "ham" } }, body: { name: "wanted" },
}));
given(await daemon.DELETE("/v1/models/{model}/labels/{label}", {
  params: { path: { model: "typed", label: "wanted" } },
}));
const wrong = await daemon.GET("/v1/models/{model}", { params: { path: { model: "none" } } });
if (wrong.error?.status !== 404) throw new Error("a problem has a status");
console.log("every call was answered as its type says");
