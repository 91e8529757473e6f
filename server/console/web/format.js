// SPDX-License-Identifier: Apache-2.0
// Numbers and times for people.

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", {maximumSignificantDigits: 3});

export const count = (n) => whole.format(n);
export const number = (n) => (n === null || n === undefined ? "-" : short.format(n));
export const plural = (n, one, more = `${one}s`) => `${count(n)} ${n === 1 ? one : more}`;

// A share of one. Near 0 and 1 it keeps the digits that tell it from them, and never says 100 % of what is less.
export function percent(share) {
  if (share === null || share === undefined) return "-";
  const distance = Math.min(share, 1 - share);
  const digits = distance === 0 ? 0 : Math.min(6, Math.max(1, Math.ceil(-Math.log10(distance)) - 1));
  return `${(100 * share).toFixed(digits)} %`;
}

// To three digits, for a column of many.
export function brief(share) {
  if (share === null || share === undefined) return "-";
  return share >= 0.9995 ? ">99.9 %" : `${(100 * share).toFixed(1)} %`;
}

export function bytes(n) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let at = 0;
  for (; n >= 1000 && at < units.length - 1; at++) n /= 1000;
  return `${short.format(n)} ${units[at]}`;
}

export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "-";
  if (seconds < 60) return plural(Math.round(seconds), "second");
  if (seconds < 3600) return plural(Math.round(seconds / 60), "minute");
  if (seconds < 2 * 86400) return plural(Math.round(seconds / 3600), "hour");
  return plural(Math.round(seconds / 86400), "day");
}

// Today's times without the day, those of this year without the year.
export function moment(milliseconds) {
  const time = new Date(milliseconds), now = new Date();
  const clock = {hour: "2-digit", minute: "2-digit", hourCycle: "h23"};
  if (time.toDateString() === now.toDateString()) return time.toLocaleTimeString("en", clock);
  return time.toLocaleString("en", {month: "short", day: "numeric", ...time.getFullYear() === now.getFullYear() ? clock : {year: "numeric"}});
}

// Natural log-odds with their sign.
export const evidence = (x) => (x === null ? "all" : `${x < 0 ? "−" : "+"}${Math.abs(x).toFixed(2)}`);
