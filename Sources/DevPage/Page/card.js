// Draws a Lock Screen and the Dynamic Island, cut where iOS cuts them.
import { el, clock, momentText, name } from "/elements.js";
import { phoneLabel } from "/phonelist.js";

const words = { untouched: "nothing yet", active: "", stale: "stale", ended: "ended", dismissed: "gone" };
const two = (number) => String(number).padStart(2, "0");

// Dates that a phone reads: from a number, right or wrong, but never from text.
const read = (dates) => dates.filter((one) => one.momentSeconds !== null);

// The text for an island, which has room only for a time of day, or for the year of a wrong date. The server has cut a long text, which then ends with “…”.
function islandText(text, dates) {
  const date = read(dates).find((one) => text.endsWith("…") ? one.value.startsWith(text.slice(0, -1)) : one.value === text);
  if (!date || text === "…") return text;
  return date.isTrouble ? String(new Date(date.momentSeconds * 1000).getFullYear()) : momentText(date.momentSeconds).split(" ").at(-1);
}

// A path with each index as a part of its own, as a template may write it: stops[1].at becomes stops.1.at.
const dotted = (path) => path.replaceAll(/\[(\d+)\]/g, ".$1");

function momentOf(row, dates) {
  const date = read(dates).find((one) => dotted(one.path) === dotted(row.key));
  return date && momentText(date.momentSeconds);
}

// A timer as SwiftUI draws it: it counts down to the moment, and up after it.
function timerText(seconds) {
  const left = Math.abs(Math.round(seconds - Date.now() / 1000));
  const [days, hours] = [Math.floor(left / 86400), Math.floor(left / 3600)];
  if (days > 99) return new Date(seconds * 1000).toLocaleDateString("en-GB");
  return `${hours ? `${hours}:` : ""}${hours ? two(Math.floor(left / 60) % 60) : Math.floor(left / 60)}:${two(left % 60)}`;
}

const lockDate = (now) => now.toLocaleDateString("en-GB", { weekday: "long", day: "numeric", month: "long" });
const lockTime = (now) => `${two(now.getHours())}:${two(now.getMinutes())}`;

// Moves the clocks on, unless the page is hidden.
function tick() {
  if (document.hidden) return;
  const now = new Date();
  for (const [selector, text] of [[".lock-date", lockDate(now)], [".lock-time", lockTime(now)]]) {
    for (const place of document.querySelectorAll(selector)) if (place.textContent !== text) place.textContent = text;
  }
}

document.addEventListener("visibilitychange", tick);
setInterval(() => {
  tick();
  for (const timer of document.querySelectorAll("[data-timer]")) timer.textContent = timerText(Number(timer.dataset.timer));
}, 1000);

// Draws what a card shows. A number that looks like a date is drawn as the Date that Swift reads, even in a wrong year. An app would hardly draw the number.
function face(face, dates) {
  if (!face) return el("div", { class: "face" });
  const parts = [];
  if (face.sides.length === 2) {
    const [home, away] = face.sides;
    parts.push(el("div", { class: "sides" }, el("span", {}, home.name),
      el("span", { class: "score" }, `${home.score} : ${away.score}`), el("span", {}, away.name)));
  }
  if (face.headline) parts.push(el("p", { class: "headline" }, face.headline));
  if (face.progress !== null) parts.push(el("progress", { max: 1, value: face.progress, "aria-label": "progress" }));
  if (face.timer !== null) parts.push(el("p", { class: "timer", "data-timer": String(face.timer) }, timerText(face.timer)));
  if (face.rows.length) parts.push(el("dl", {}, face.rows.flatMap((row) => [el("dt", {}, name(row.name)), el("dd", {}, momentOf(row, dates) ?? name(row.value))])));
  return el("div", { class: "face" }, parts);
}

const isGone = (phone) => !phone.face || phone.card === "dismissed" || phone.card === "ended";

// Whether the Lock Screen shows the phone's card.
export const isUp = (phone) => phone.face && ["active", "stale", "ended"].includes(phone.card);

// Cards in the order in which iOS stacks them: the most relevant first; of equally relevant cards, the newest.
const moreRelevant = (one, other) => (other.relevanceScore ?? 0) - (one.relevanceScore ?? 0);
const stacked = (phones) => [...phones].sort((one, other) => moreRelevant(one, other) || other.id - one.id);

// Cards in the order in which iOS chooses one for the Dynamic Island: the most relevant first; of equally relevant cards, the one that started first. Cards that have ended are left out.
const inIsland = (phones) => phones.filter((one) => !isGone(one)).sort((one, other) => moreRelevant(one, other) || one.id - other.id);

// `isCalm`: nothing came just before, so the card moves to show that something has come. `isNamed`: the card's name is above it, because other cards are beside it. `rings`: a new alert is shown.
function lockCard(phone, isCalm, isNamed = false, rings = true) {
  const named = isNamed ? [el("p", { class: "card-name" }, name(phoneLabel(phone)))] : [];
  if (phone.card === "untouched") return [...named, el("p", { class: "lock-empty" }, "No push has been shown yet.")];
  if (phone.card === "dismissed") return [...named, el("p", { class: "lock-empty" }, phone.appRemoved ? "The app was removed." : phone.swiped ? "The card was swiped away." : "The card has left the Lock Screen.")];
  const until = phone.dismissedAt ? `, leaves ${clock(phone.dismissedAt * 1000)}` : "";
  const title = isNamed ? ` of ${phoneLabel(phone)}` : "";
  return [
    ...named,
    phone.alertText && phone.isAlertNew && rings ? el("div", { class: "card-alert" }, el("b", {}, `🔔 ${phone.alertText.title}`), phone.alertText.body) : null,
    words[phone.card] ? el("p", { class: `card-state ${phone.card}` }, words[phone.card] + until) : null,
    el("article", { class: `lock-card ${phone.card} ${isCalm ? "fresh" : ""}`, "aria-label": `Lock Screen card${title}` }, face(phone.face, phone.dates)),
    el("p", { class: "cut", hidden: true }),
  ].filter(Boolean);
}

function compact(phone) {
  if (!phone) return el("div", { class: "island compact", "aria-hidden": "true" });
  return el("div", { class: "island compact", role: "group", "aria-label": "Dynamic Island, compact" },
    el("span", {}, islandText(phone.face.leading, phone.dates)), el("span", { "aria-hidden": "true" }), el("span", {}, islandText(phone.face.trailing, phone.dates)));
}

// `beside`: the phones of other cards on the same device. Another card's alert is shown only while no card on the device has got a newer push.
export function lockScreen(phone, beside, isCalm) {
  const now = new Date();
  const newest = Math.max(phone.lastPush, ...beside.map((one) => one.lastPush));
  return el("div", { class: "screen", role: "group", "aria-label": `Lock Screen of phone ${phone.id}` },
    compact(inIsland([phone, ...beside])[0]),
    el("div", { "aria-hidden": "true" },
      el("p", { class: "lock-date" }, lockDate(now)),
      el("p", { class: "lock-time" }, lockTime(now))),
    phone.online ? null : el("p", { class: "away-note" }, phone.rebooting ? "⟳ starting up: nothing reaches it" : "✈ away: nothing reaches it"),
    beside.length ? stacked([phone, ...beside]).flatMap((one) => lockCard(one, isCalm && one === phone, true, one === phone || one.lastPush === newest)) : lockCard(phone, isCalm));
}

// Why the island of a device with several cards shows this one.
function islandReason(shown, others) {
  const label = phoneLabel(shown);
  if (!others.length) return `The Dynamic Island shows ${label}: no other card on this device is active.`;
  return others.every((one) => moreRelevant(shown, one) < 0)
    ? `The Dynamic Island shows ${label}: its relevance-score is the highest on this device.`
    : `The Dynamic Island shows ${label}: of cards with one relevance-score, the one that started first.`;
}

export function islands(phone, beside) {
  const [shown, ...others] = inIsland([phone, ...beside]);
  if (!shown) return [];
  return [
    others.length || shown !== phone ? el("p", { class: "hint" }, islandReason(shown, others)) : null,
    el("figure", {}, el("figcaption", {}, "Dynamic Island, expanded"), el("div", { class: "island expanded" }, face(shown.face, shown.dates)), el("p", { class: "cut", hidden: true })),
    el("figure", {}, el("figcaption", {}, "Minimal, beside another app’s activity"), el("div", { class: "island minimal" }, islandText(shown.face.minimal, shown.dates) || "•")),
  ].filter(Boolean);
}

// Writes below a card or an expanded island that it is cut. iOS cuts both at 160 points.
export function measure(root) {
  for (const note of root.querySelectorAll(".cut")) {
    const card = note.previousElementSibling;
    const isCut = card.scrollHeight > card.clientHeight + 1;
    note.hidden = !isCut;
    const text = isCut ? `Cut at 160 points, as on an iPhone. All of it would take ${card.scrollHeight}.` : "";
    if (note.textContent !== text) note.textContent = text;
  }
}
