// Draws the details of a line: the way of its event, its pushes, and what can be copied.
import { el, ask, say, copyButton, dateNotes } from "/elements.js";
import { href } from "/address.js";
import { tokenButtons } from "/tokens.js";
import { isPush, pushesOf, became, verdictText } from "/timeline.js";

function pushParts(push) {
  const parts = [el("ol", { class: "chain" },
    el("li", {}, el("b", {}, push.type === "push" ? "Push" : "Broadcast"), el("span", {}, `${push.event || "unreadable"} at priority ${push.priority}, timestamp ${push.stamp ?? "none"}`)),
    el("li", {}, el("b", {}, "APNs"), el("span", {}, push.status === null ? "no answer now" : `${push.status} ${push.reason}`)),
    el("li", {}, el("b", {}, push.type === "push" ? `Phone ${push.phone}` : "Phones"), el("span", {}, verdictText(push))))];
  if (push.changes.length) {
    parts.push(el("table", {}, el("caption", {}, "Against the push before"),
      el("thead", {}, el("tr", {}, ["key", "before", "after"].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, push.changes.map((change) => el("tr", {}, el("th", { scope: "row", class: "mono" }, change.path || "all"),
        el("td", { class: "mono" }, change.before ?? "—"), el("td", { class: "mono" }, change.after ?? "—"))))));
  }
  parts.push(...dateNotes(push.dates));
  return parts;
}

// How long the event was in the worker, and what it waited for there.
function tookText(entry) {
  const millis = entry.outcome.queuedMillis;
  const took = millis < 10000 ? `${millis} ms` : millis < 600000 ? `${Math.round(millis / 1000)} s` : `${Math.round(millis / 60000)} min`;
  return entry.waitedFor ? `${took}, waiting for ${entry.waitedFor}` : `${took} in the worker`;
}

function eventParts(entry) {
  const into = entry.outcome?.into;
  return [el("ol", { class: "chain" },
    el("li", {}, el("b", {}, "Event"), el("span", {}, `number ${entry.id}, partition ${entry.partition}, offset ${entry.offset}` +
      (entry.priority === null ? "" : `, asks for priority ${entry.priority}`))),
    el("li", {}, el("b", {}, "Became"), el("span", {}, became(entry), into ? el("a", { href: href({ entry: String(into) }) }, ` Show event ${into}`) : null)),
    entry.outcome?.queuedMillis != null ? el("li", {}, el("b", {}, "Took"), el("span", {}, tookText(entry) +
      (entry.outcome.apnsMillis != null ? `, ${entry.outcome.apnsMillis} ms at APNs` : ""))) : null)];
}

export async function publishAgain(id, answer) {
  try {
    await ask(`/api/entries/${id}/replay`, { method: "POST" });
    say(answer, `Event ${id} was published again.`);
  } catch (error) { say(answer, error.message, true); }
}

const copyNames = { curl: "Copy as curl", kcat: "Copy as kcat", swift: "Copy as Swift", test: "Copy as Swift test", json: "Copy as JSON", fixture: "Copy as test fixture" };

// Fetches related pushes that are too old to be in `entries`.
async function missing(entry, entries) {
  const ids = entry.related.filter((id) => !entries.has(id));
  const found = await Promise.all(ids.map((id) => ask(`/api/entries/${id}`).catch(() => null)));
  return found.filter(isPush);
}

const isLoopback = /^(localhost|127\.[\d.]+|\[::1\])$/.test(location.hostname);

// Fills the details of a line.
export async function fillEntry(item) {
  const { entry, entries, body, text } = item;
  const pushes = isPush(entry) ? [entry] : entry.type === "event" ? [...pushesOf(entry, entries), ...await missing(entry, entries)] : [];
  if (item.filled !== text) return;
  const row = el("div", { class: "row" });
  const said = el("p", { class: "answer", role: "status" });
  const focused = body.contains(document.activeElement) ? document.activeElement.textContent : "";
  body.replaceChildren(...(entry.type === "event" ? eventParts(entry) : []), ...pushes.flatMap(pushParts), row, said);
  const link = [copyButton("Copy a link", `${location.origin}/#entry=${entry.id}`),
    isLoopback ? el("span", { class: "hint" }, "On another machine this needs --host and --expose.") : ""];
  if (entry.type === "note") return row.replaceChildren(...(entry.phone ? tokenButtons(entry.phone, entry.activity, said) : []), ...link);
  try {
    const copies = await ask(`/api/entries/${entry.id}/copies`);
    // Stop if something has come meanwhile, because the line is being filled again.
    if (item.filled !== text) return;
    const buttons = Object.keys(copyNames).filter((name) => copies[name]).map((name) => copyButton(copyNames[name], copies[name]));
    if (entry.type === "event" && !entry.rejection) {
      buttons.unshift(el("button", { type: "button", class: "small", onclick: () => publishAgain(entry.id, said) }, "Publish again"));
    }
    row.replaceChildren(...buttons, ...link);
    // Show the JSON as it was spelt, because the browser's own numbers could lose digits.
    const shown = copies.shown ?? copies.json;
    if (shown) body.append(el("pre", { tabindex: 0, role: "region", "aria-label": `Entry ${entry.id} as JSON` }, shown));
  } catch (error) { if (item.filled === text) row.replaceChildren(el("span", { class: "hint" }, error.message), ...link); }
  if (focused) [...row.children].find((button) => button.textContent === focused)?.focus();
}
