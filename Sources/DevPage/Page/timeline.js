// Draws events, what became of them, and pushes.
import { el, badge, clock, localTimes, name } from "/elements.js";
import { go } from "/address.js";
import { fillEntry } from "/entry.js";
import { Roving } from "/roving.js";

// How long a push has no line of its own, in milliseconds. Most pushes arrive before their event's outcome, and then become part of the event's line.
const unlinkedMillis = 1500;

export const isPush = (entry) => entry?.type === "push" || entry?.type === "broadcast";

export const pushesOf = (entry, entries) => entry.related.map((id) => entries.get(id)).filter((other) => isPush(other)).sort((a, b) => a.id - b.id);

const activityOf = (entry) => entry.activity ? el("span", { class: "mono" }, name(entry.activity)) : null;

// The pushes that count for an event. Once the event has its outcome, only the last attempt counts.
const counting = (entry, pushes) => entry.outcome ? pushes.slice(-1) : pushes;

// One badge for each word of a verdict, with the number of attempts if there are several.
function verdictBadges(pushes) {
  const counts = new Map();
  for (const push of pushes) counts.set(push.word, (counts.get(push.word) ?? 0) + 1);
  return [...counts].map(([word, count]) => badge(word, count > 1 ? ` ${count}×` : ""));
}

// How strongly the kind of an entry is drawn. Starts and ends stand out. Registrations and notes are weak.
const weights = { start: "strong", end: "strong", update: "", event: "" };
const kindOf = (kind) => el("span", { class: `kind ${weights[kind] ?? "weak"}` }, kind);

function badgesOf(entry, pushes) {
  if (isPush(entry)) return [badge(entry.word)];
  return entry.type === "event" ? [badge(entry.rejection && !entry.outcome ? "rejected" : entry.outcome?.name ?? "pending"),
    entry.outcome?.isDowngraded ? badge("downgraded") : null, ...verdictBadges(counting(entry, pushes))] : [];
}

// A line: kind, activity and outcome, each in its place; then what it brings, and what became of it.
export function line(entry, pushes) {
  const kind = entry.type === "note" ? entry.phone ? `phone ${entry.phone}` : "note" : entry.event || entry.type;
  const badges = badgesOf(entry, pushes);
  return [
    el("span", { class: "head" }, kindOf(kind), activityOf(entry),
      isPush(entry) ? el("span", { class: "hint" }, entry.type + (entry.phone ? `, phone ${entry.phone}` : "") + (entry.activity ? "" : ", activity not known")) : null,
      badges.length ? el("span", { class: "badges" }, badges) : null),
    el("span", { class: "says" }, entry.gist ? el("span", { class: "gist" }, entry.gist) : null, entry.gist ? " · " : null, says(entry, pushes)),
  ];
}

// What an event waits for. Moments are by the browser's clock, rounded up to whole seconds as in the API.
export const waitText = (wait) => wait.untilMillis === null ? wait.text : `${wait.text} ${wait.untilText} ${clock(Math.ceil(wait.untilMillis / 1000) * 1000)}.`;
export const became = (entry) => entry.wait ? waitText(entry.wait) : localTimes(entry.text);

// What the phone did with a push. If the phone has shown a newer push, says until when the card showed this one.
export const verdictText = (push) => push.shownUntilMillis ? `The card showed it until the push of ${clock(push.shownUntilMillis)}.` : localTimes(push.verdict.text);

// What the phone did with a push, and advice for each value that the app misreads as a date.
const pushText = (push) => [verdictText(push), ...(push.word === "date?" ? push.dates.filter((date) => date.isTrouble).map((date) => `“${date.path}”: ${date.advice}`) : [])].join(" ");

function says(entry, pushes) {
  if (isPush(entry)) return pushText(entry);
  if (entry.type === "note") return entry.text;
  const own = entry.isByPage ? "By this page, as an app’s server does. " : "";
  const others = counting(entry, pushes).filter((push) => push.word !== "shown" || push.type === "broadcast").map(pushText);
  return own + [became(entry), ...new Set(others)].join(" ");
}

export class Timeline {
  constructor(list) {
    // Draws the timeline again, and what is around its lines.
    this.redraw = () => {};
    // Id of the phone that an entry is about; 0: no listed phone.
    this.phoneOf = () => 0;
    // Draws what is pinned above the lines, once they have moved.
    this.drawPinned = () => {};
    this.list = list;
    this.stops = new Roving(list, "summary", (summary) => summary.parentElement.open);
    this.items = new Map();
    this.opened = 0;
  }

  // Draws the entries of `shown`, newest first. `open` is the id of the open entry, or of a push in its line. That line is drawn however old it is.
  // Returns how many lines there are, and how many of them are drawn.
  draw(shown, entries, open, drawnMax) {
    clearTimeout(this.later);
    const now = Date.now();
    const isFresh = (entry) => isPush(entry) && now - entry.atMillis < unlinkedMillis;
    const isHidden = (entry) => isPush(entry) && (entry.related.some((id) => entries.has(id)) || isFresh(entry));
    if (shown.some(isFresh)) this.later = setTimeout(this.redraw, unlinkedMillis);
    const rows = shown.filter((entry) => !isHidden(entry));
    const target = rows.findIndex((entry) => entry.id === open || (entry.type === "event" && entry.related.includes(open)));
    // A line with the focus stays drawn, however many newer lines there are.
    const focused = rows.findIndex((entry) => this.items.get(entry.id)?.element.contains(document.activeElement));
    const wanted = rows.slice(0, Math.max(drawnMax, target + 1, focused + 1));
    const kept = new Set(wanted.map((entry) => entry.id));
    for (const [id, item] of this.items) if (!kept.has(id)) { item.element.remove(); this.items.delete(id); }
    let before = null;
    for (const entry of wanted) {
      const item = this.item(entry, entries);
      const place = before ? before.nextSibling : this.list.firstChild;
      // Move an element only if it is at another place, because moving takes its focus.
      if (item.element !== place) this.list.insertBefore(item.element, place);
      before = item.element;
    }
    this.open(rows[target]?.id ?? 0, open);
    this.stops.draw();
    return { rows: rows.length, drawn: wanted.length };
  }

  item(entry, entries) {
    const pushes = pushesOf(entry, entries);
    const text = JSON.stringify([entry, pushes]);
    let item = this.items.get(entry.id);
    if (!item) {
      const summary = el("summary", { onclick: (event) => {
        // The address says which line is open. The line's phone is shown beside it.
        event.preventDefault();
        const phone = this.phoneOf(item.entry, pushesOf(item.entry, item.entries));
        go(item.details.open ? { entry: "" } : { entry: String(entry.id), ...(phone ? { phone: String(phone) } : {}) });
      } });
      const body = el("div", { class: "body" });
      const details = el("details", {}, summary, body);
      item = { element: el("li", { id: `entry-${entry.id}` }, details), details, summary, body, filled: "" };
      this.items.set(entry.id, item);
    }
    Object.assign(item, { entry, entries });
    if (item.text !== text) {
      item.text = text;
      item.summary.replaceChildren(el("time", { datetime: new Date(entry.atMillis).toISOString() }, clock(entry.atMillis)),
        ...line(entry, pushes));
    }
    return item;
  }

  // The line at which somebody begins who comes here by keyboard: the open one, or else the newest.
  firstStop() { return this.list.querySelector("details[open] > summary") ?? this.list.querySelector("summary"); }

  // Scrolls to a line, and to its details as far as there is room.
  bringIntoView(element) {
    const column = this.list.parentElement.getBoundingClientRect();
    const [place, bottom] = [element.getBoundingClientRect(), Math.min(column.bottom, window.innerHeight)];
    element.scrollIntoView({ block: place.bottom > bottom ? "start" : "nearest" });
    // Scrolling may have pinned the newest line, which would hide the head of this line.
    this.drawPinned();
    element.querySelector("summary").scrollIntoView({ block: "nearest" });
  }

  open(id, asked) {
    for (const [other, item] of this.items) {
      item.details.open = other === id;
      if (other === id && item.filled !== item.text) {
        item.filled = item.text;
        const filling = fillEntry(item);
        if (asked !== this.opened) filling.then(() => this.bringIntoView(item.element));
      }
    }
    if (asked === this.opened || (asked && !id)) return;
    this.opened = asked;
    if (!id) return;
    this.stops.stay(this.items.get(id).summary);
    this.bringIntoView(this.items.get(id).element);
  }
}
