// The list of phones: the chosen one, those that fail, and the others folded away.
import { el, byID, badge, name, tone } from "/elements.js";
import { Roving } from "/roving.js";

// Maximum number of phones for which nothing is folded away.
const fewMax = 5;
// Maximum number of failing phones that are listed outside the fold.
const openMax = 6;

const stops = new Roving(byID("phones"), "#phone-list button, #quiet-phones[open] button", (button) => button.ariaPressed === "true");

// The phone's name. Members of an audience are told apart by their numbers, because all have the audience's name.
export const phoneLabel = (phone) => phone.member ? `member ${phone.member.number.toLocaleString("en")} of ${phone.member.audience}` : phone.activity || `phone ${phone.id}`;

const ranks = { bad: 0, warn: 1, info: 2, good: 3 };
const rank = (phone) => phone.verdict ? ranks[tone(phone.verdict.word)] : 2;

function fill(list, phones, chosen, nameOf, choose) {
  const text = JSON.stringify(phones.map((phone) => [phone.id, nameOf(phone), phone.verdict?.word, phone.id === chosen]));
  if (list.dataset.drawn === text) return;
  list.dataset.drawn = text;
  list.replaceChildren(...phones.map((phone) => el("li", {},
    el("button", { type: "button", "data-phone": String(phone.id), "aria-pressed": String(phone.id === chosen), onclick: () => choose(phone.id) },
      el("span", {}, name(nameOf(phone))), phone.verdict ? badge(phone.verdict.word) : null))));
}

// Number of phones for each word, the worst first: “2 refused, 60 shown”.
function countsOf(phones, isCleared) {
  const counts = new Map();
  for (const phone of phones) {
    const word = isCleared(phone) ? "cleared" : phone.verdict?.word ?? "without a push";
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return [...counts].map(([word, count]) => `${count} ${word}`).join(", ");
}

// Draws a button for each phone. The chosen one is pressed and comes first, then those that fail. Phones that are well are folded away.
// A phone whose failure is not newer than the entry `after`, up to which the timeline was cleared, is folded away, too.
export function drawPhoneList(phones, metCount, chosen, choose, after) {
  const [list, quiet] = [byID("phone-list"), byID("quiet-list")];
  const focused = document.activeElement?.dataset?.phone;
  const named = new Map();
  for (const phone of phones) named.set(phoneLabel(phone), (named.get(phoneLabel(phone)) ?? 0) + 1);
  const nameOf = (phone) => phoneLabel(phone) + (named.get(phoneLabel(phone)) > 1 ? `, phone ${phone.id}` : "");
  const sorted = [...phones].sort((one, other) => rank(one) - rank(other) || other.id - one.id);
  const first = sorted.filter((phone) => phone.id === chosen);
  const isCleared = (phone) => rank(phone) < 2 && phone.id !== chosen && Math.max(phone.lastPush, phone.waitingEvent) <= after;
  const others = sorted.filter((phone) => phone.id !== chosen);
  const open = others.filter((phone) => !isCleared(phone));
  const failing = phones.length <= fewMax ? open : open.filter((phone) => rank(phone) < 2).slice(0, openMax);
  const rest = others.filter((phone) => !failing.includes(phone));
  fill(list, [...first, ...failing], chosen, nameOf, choose);
  const fold = byID("quiet-phones");
  fold.hidden = rest.length === 0;
  const title = `${rest.length} more: ${countsOf(rest, isCleared)}`;
  if (byID("quiet-title").textContent !== title) byID("quiet-title").textContent = title;
  // Draw the folded phones only when the fold is opened.
  const unfold = () => {
    if (fold.open) fill(quiet, rest, chosen, nameOf, choose);
    stops.draw();
  };
  fold.ontoggle = unfold;
  unfold();
  const unlisted = metCount > phones.length ? `. ${phones.length} of ${metCount.toLocaleString("en")} are listed; search activity:NAME to find another` : "";
  const counts = phones.length ? countsOf(sorted, isCleared) + unlisted : "";
  if (byID("phone-counts").textContent !== counts) byID("phone-counts").textContent = counts;
  if (focused && document.activeElement?.dataset?.phone !== focused) document.querySelector(`#phones [data-phone="${CSS.escape(focused)}"]`)?.focus();
}
