// SPDX-License-Identifier: Apache-2.0
// Trains and classifies with nothing but fetch: node example.mjs [URL [TOKEN]]
const [url = "http://127.0.0.1:8763", token] = process.argv.slice(2);

// What the daemon refuses is an Error with its reason.
async function call(method, path, value) {
  const headers = { "Content-Type": "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  const reply = await fetch(url + path, { method, headers, body: value && JSON.stringify(value) });
  const told = reply.status === 204 ? null : await reply.json();
  if (!reply.ok) throw new Error(`${told.status} ${told.title}: ${told.detail}`);
  return told;
}

const model = "/v1/models/javascript";
await call("POST", `${model}/train`, { documents: [
  { text: "cheap pills, buy now", label: "spam", id: "note-1" },
  { text: "the meeting is moved to Monday", label: "ham", id: "note-2" },
] });
const verdict = await call("POST", `${model}/classify?explain=3`, { text: "buy the cheap pills" });
console.log(verdict.label, verdict.probability, verdict.explanation);

// A model whose documents have any number of labels.
const tags = "/v1/models/javascript-tags";
await call("PUT", tags, { label_set: "several" });
await call("POST", `${tags}/train`, { documents: [
  { text: "your power bill for May", labels: ["invoice", "power"], id: "1" },
  { text: "bill for the hotel room", labels: ["invoice", "travel"], id: "2" },
  { text: "news of the choir", labels: [], id: "3" },
] });
const { labels, probabilities } = await call("POST", `${tags}/classify`, { text: "the power bill for June" });
console.log(labels, probabilities);
