// SPDX-License-Identifier: Apache-2.0
// The public API of the daemon, and nothing else. The token is kept in memory, in the tab's session storage if the
// user wishes so, never in a cookie.

const KEPT = "bayesd-token";
let token = sessionStorage.getItem(KEPT) ?? "";

// What the daemon refuses: the status and the reason that it gives (RFC 9457).
class Refusal extends Error {
  constructor(status, problem) {
    super(problem?.detail ?? problem?.title ?? `the daemon answers ${status}`);
    this.status = status;
  }
}

export function hasToken() {
  return token !== "";
}

// An empty token forgets the one there was.
export function useToken(value, isKept) {
  token = value;
  if (isKept && value) sessionStorage.setItem(KEPT, value);
  else sessionStorage.removeItem(KEPT);
}

// The address of a path of the API: segments are quoted, parameters that are undefined left out.
export function path(segments, query = {}) {
  const parameters = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(parameters).toString();
  return segments.map(encodeURIComponent).join("/") + (text ? `?${text}` : "");
}

export const model = (name, rest = [], query = {}) => path(["v1", "models", name, ...rest], query);

// ---- what is sent -------------------------------------------------------------------------------

const SLOW = 300; // milliseconds: a request that takes longer shows a sign
const waiting = new Set();

// Shows the sign while a slow request is under way.
function showBusy() {
  window.document.getElementById("busy").hidden = waiting.size === 0;
}

// Counts a request as slow once it takes long. Returns what is to be called at its end.
function watch() {
  const mine = {};
  const timer = setTimeout(() => {
    waiting.add(mine);
    showBusy();
  }, SLOW);
  return () => {
    clearTimeout(timer);
    waiting.delete(mine);
    showBusy();
  };
}

// Sends a request and gives the response if it says yes. Whoever watches for a token that no longer works gets an
// event "signed-out".
export async function send(method, address, {body, type, signal} = {}) {
  const headers = {};
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = type;
  let response;
  const done = watch();
  try {
    response = await fetch(address, {method, headers, body, signal, cache: "no-store", credentials: "omit"});
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, {detail: "Can't reach bayesd."});
  } finally {
    done();
  }
  if (response.ok) return response;
  const problem = await response.json().catch(() => null);
  if (response.status === 401) window.dispatchEvent(new Event("signed-out"));
  throw new Refusal(response.status, problem);
}

export async function json(method, address, value) {
  const what = value === undefined ? {} : {body: JSON.stringify(value), type: "application/json"};
  const response = await send(method, address, what);
  return response.status === 204 ? null : response.json();
}

export const get = (address) => json("GET", address);

// A document {body, type}: what is sent is what was given.
export async function document(address, given) {
  return (await send("POST", address, given)).json();
}
