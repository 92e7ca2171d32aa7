// Functions that all scripts draw with. Text becomes text nodes, never markup.
// An element: el("p", {class: "note"}, "text", child). Attributes that are null, undefined or false are left out.
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

// A name that may be broken where its words meet (estimatedDeliveryTime, order_id, driver.name), and only as a last resort elsewhere.
export function name(text) {
  return text.split(/(?<=\p{Ll}|\d)(?=\p{Lu})|(?<=[_.:\/-])(?=.)/u).flatMap((word, index) => index ? [el("wbr"), word] : [word]);
}

// A number with its noun: “1 push”, “1,200 pushes”.
export const many = (count, one, more = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : more}`;

export const byID = (id) => document.getElementById(id);

const two = (number) => String(number).padStart(2, "0");

export function clock(millis) {
  const date = new Date(millis);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

// A sentence of the server with its times by the browser's clock. The server writes them in UTC.
export const localTimes = (text) => text.replace(/\b(\d{9,11}) \(\d\d:\d\d:\d\d UTC\)/g, (_, seconds) => `${seconds} (${clock(seconds * 1000)})`);

// How each word of a verdict or an outcome is coloured. The word itself is always there, too.
const tones = {
  shown: "good", sent: "good", delivered: "good", applied: "good", "fanned-out": "good",
  unseen: "info", renewed: "info", replaced: "info", retrying: "warn", "needs-token": "warn", "date?": "warn", stale: "warn", ended: "info", gone: "info",
  ignored: "warn", waiting: "warn", waited: "info", dropped: "warn", superseded: "info", pending: "info", late: "warn", duplicate: "warn", expired: "warn", unknown: "warn",
  undecodable: "bad", budget: "bad", refused: "bad", unanswered: "bad", rejected: "bad", unregistered: "bad", "dead-lettered": "bad",
};
export const tone = (word) => tones[word] ?? "info";
export const badge = (word, more = "") => el("span", { class: `badge ${tone(word)}` }, word + more);

// Puts text on the clipboard, and says on the button that it did.
export function copyButton(label, text) {
  const button = el("button", { type: "button", class: "small", onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed by the browser";
    }
    setTimeout(() => { button.textContent = label; }, 1500);
  } }, label);
  return button;
}

// The end of a message that the server does not answer. The next answer removes the message.
export const silence = `nobody answers at ${location.host}.`;

// Asks the page's API. Throws the API's own words if it refuses.
export async function ask(path, options = {}) {
  const answer = await fetch(path, options).catch(() => { throw new Error(`${options.method ? "Not sent" : "Nothing came"}: ${silence}`); });
  const text = await answer.text();
  let body = null;
  try { body = JSON.parse(text); } catch { /* not JSON: the error names the status */ }
  if (!answer.ok) throw new Error(body?.error ?? `${answer.status} ${answer.statusText}`);
  return body;
}

export function say(element, text, isBad = false) {
  // A screen reader reads the text once, because equal text is not set again.
  if (element.textContent !== text) element.textContent = text;
  element.classList.toggle("bad", isBad && text !== "");
  element.classList.toggle("good", !isBad && text !== "");
}

// A moment by the browser's clock: “today 17:02”, “28 Nov 2026 17:02”.
export function momentText(seconds) {
  const date = new Date(seconds * 1000);
  const time = `${two(date.getHours())}:${two(date.getMinutes())}`;
  const isToday = date.toDateString() === new Date().toDateString();
  return `${isToday ? "today" : date.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" })} ${time}`;
}

// How far a moment is from now: “in 25 min”.
function distanceText(seconds) {
  const left = Math.round(seconds - Date.now() / 1000);
  const [size, unit] = [[86400, "days"], [3600, "h"], [60, "min"], [1, "s"]].find(([size]) => Math.abs(left) >= size) ?? [1, "s"];
  const count = Math.round(Math.abs(left) / size);
  return left >= 0 ? `in ${count} ${unit}` : `${count} ${unit} ago`;
}

// Notes about dates: one line for a right date; for a doubtful one also what it is, counted from 1970 and from 2001.
export function dateNotes(dates) {
  const reading = (label, isNear, seconds) => el("tr", {}, el("th", { scope: "row" }, label), el("td", {}, isNear ? momentText(seconds) : "a year far away"));
  return dates.map((date) => !date.isTrouble
    ? el("p", { class: "hint" }, el("b", {}, `${date.path} `), `${date.value} is right for a Date: ${momentText(date.momentSeconds)}, ${distanceText(date.momentSeconds)}.`)
    : el("div", { class: "note warn" }, el("b", {}, `${date.path} is ${date.meaning === "text" ? `“${date.value}”` : date.value}. `), date.advice,
      date.meaning === "text" ? null : el("table", {}, el("tbody", {},
        reading("read as seconds since 1970", date.asSecondsSince1970, Number(date.value)), reading("read as a Date in Swift, seconds since 2001", date.asSecondsSince2001, date.momentSeconds)))));
}
