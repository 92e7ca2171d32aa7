// Follows the state and draws what changed. It decides nothing: the server says what things mean.
import { el, byID, ask, say, silence, clock, many } from "/elements.js";
import { read, href, go, onChange } from "/address.js";
import { drawLayout, followRoom, isNarrow, isSeen } from "/layout.js";
import { followKeys } from "/keys.js";
import { PhonePanel } from "/phones.js";
import { drawPhoneList } from "/phonelist.js";
import { Timeline, line, isPush, pushesOf } from "/timeline.js";
import { Search } from "/search.js";
import { BudgetPanel } from "/budget.js";
import { AudiencesPanel } from "/audiences.js";
import { ChannelsPanel } from "/channels.js";
import { FaultsPanel } from "/faults.js";
import { TemplatesPanel } from "/templates.js";
import { SchemasPanel } from "/schemas.js";
import { PhoneChoice } from "/choice.js";
import { preparePublishing, drawAbout, drawSamples, drawHints, followPhone, isOwn, writeForAudience, writeForChannel } from "/publish.js";

const state = { run: "", phones: new Map(), entries: new Map(), firstEntry: 1, ready: false, trouble: [] };
const choice = new PhoneChoice(state.phones, besideLine);
const panel = new PhonePanel(byID("phone"), state.phones);
const timeline = new Timeline(byID("entries"));
const search = new Search(state, timeline, () => choice.phone()?.activity ?? "");
timeline.redraw = () => search.draw();
search.redraw = draw;
timeline.phoneOf = phoneOf;
timeline.drawPinned = drawNewest;
const audiences = new AudiencesPanel(writeForAudience, (id) => choice.seek(id));
const channels = new ChannelsPanel(writeForChannel);
const budget = new BudgetPanel(byID("budget"), "activity");
const schemas = new SchemasPanel(() => choice.phone(), renewSamples);
const templates = new TemplatesPanel();
const faults = new FaultsPanel(() => choice.phone()?.id ?? 0);
// What some views do when somebody opens them.
const openers = { app: () => { schemas.open(); templates.open(); }, audiences: () => audiences.draw(), numbers };

// Number of scrolled pixels beyond which the newest line is out of view.
const scrolledMin = 120;

// Id of the phone that an entry is about; 0: no listed phone.
function phoneOf(entry, pushes) {
  const id = isPush(entry) || entry.type === "note" ? entry.phone : pushes.at(-1)?.phone;
  return state.phones.has(id) ? id : [...state.phones.values()].findLast((one) => entry.activity && one.activity === entry.activity)?.id ?? 0;
}

// Id of the phone of the open line. Without an open line: the only phone in what a search has found. 0: none; null: the search is for an activity without a listed phone.
function besideLine(id) {
  const activity = !id && search.found?.length === 0 ? /(?:^|\s)activity:(?:"(.+?)"(?=\s|$)|(\S+))/.exec(search.text)?.slice(1).find((one) => one) : undefined;
  if (activity) return [...state.phones.values()].findLast((one) => one.activity === activity)?.id ?? null;
  const ids = new Set((id ? [search.known(id)] : search.found ?? []).map((entry) => entry ? phoneOf(entry, pushesOf(entry, state.entries)) : 0));
  ids.delete(0);
  return ids.size === 1 ? [...ids][0] : 0;
}

// Fetches the samples again, because what the phones decode may have changed, or time has passed.
function renewSamples() { ask("/api/about").then(drawSamples).catch(() => { /* the earlier samples stay */ }); }

function apply(change) {
  const isFirst = change.run !== state.run;
  if (isFirst) {
    // Another process answers, so forget what the earlier one listed. At the first answer, keep what the address asks for, and what was found for it.
    if (state.run) {
      byID("restarted").textContent = "mailboat dev was started again; what it had listed is gone.";
      go({ phone: "", entry: "", after: "" }, false);
      search.clear();
    }
    state.run = change.run;
    choice.clear();
    state.phones.clear();
    state.entries.clear();
    audiences.clear();
    ask("/api/about").then((about) => {
      state.makesPhones = about.makesPhones;
      drawAbout(about);
      schemas.take(about.apps);
    }).catch((error) => status(error.message, "bad"));
  }
  // Entries have come, so the note about the restart is no longer needed.
  else if (change.entries.length) byID("restarted").textContent = "";
  const known = new Set(change.phoneIDs);
  for (const id of state.phones.keys()) if (!known.has(id)) state.phones.delete(id);
  const replaced = [];
  for (const phone of change.phones) {
    if (!state.phones.has(phone.id)) choice.come(phone.id, !isFirst && isOwn());
    else if (phone.replacedBy && phone.replacedBy !== state.phones.get(phone.id).replacedBy) replaced.push(phone);
    state.phones.set(phone.id, phone);
  }
  for (const id of state.entries.keys()) if (id < change.firstEntry) state.entries.delete(id);
  // An old entry that has changed and is not listed here would leave a gap after it, which “Older entries” does not fill.
  // What changed while the page was hidden is in no answer, except for the newest entries.
  if (isWhole) state.entries.clear();
  isWhole = false;
  const oldest = Math.min(...state.entries.keys());
  for (const entry of change.entries) if (isFirst || oldest === Infinity || entry.id > oldest || state.entries.has(entry.id)) state.entries.set(entry.id, entry);
  Object.assign(state, { ready: change.ready, trouble: change.trouble, firstEntry: change.firstEntry, phonesMet: change.phonesMet, unlisted: change.unlisted, hasChannels: change.channels.length > 0 });
  choice.met(isFirst);
  for (const phone of replaced) choice.replace(phone.id, phone.replacedBy);
  // Somebody gave or removed a type by a request, or in another window.
  if (!isFirst && change.schemaChanges !== state.schemaChanges) {
    renewSamples();
    schemas.renew();
  }
  state.schemaChanges = change.schemaChanges;
  drawState();
  search.renew();
  drawNewest();
  audiences.take(change.audiences);
  drawHints();
  channels.draw(change.channels);
  faults.draw(change.faults);
  drawUnlisted(change);
}

function drawUnlisted({ sampling, unlisted: { events, pushes } }) {
  const isSample = sampling.isSample;
  const text = [
    isSample ? `This is a sample: ${many(sampling.events, "event")} and ${many(sampling.pushes, "push", "pushes")} came in the last second. ` +
      `${many(sampling.activities, "activity is", "activities are")} listed whole: the newest phones’ and those you look at.` : "",
    events + pushes ? `${many(events, "event")} and ${many(pushes, "push", "pushes")} came too fast to be listed here.` : "",
    !state.makesPhones ? "" : !sampling.makesPhones ? "Meanwhile no phone comes by itself." : events ? "An activity without a phone gets one with its next event." : "",
  ].filter(Boolean).join(" ");
  const place = byID("unlisted");
  if (place.textContent !== text) place.textContent = text;
  place.className = isSample ? "note warn" : "hint";
}

function status(text, name) {
  const line = byID("status");
  if (line.textContent !== text) line.textContent = text;
  line.className = name;
}

function draw() {
  drawState();
  search.draw();
  drawNewest();
}

function drawState() {
  if (state.trouble.length) status(state.trouble.join("; "), "bad");
  else if (!state.ready) status("The worker joins its consumer group, which takes a few seconds. Events wait.", "waits");
  else status("Ready", "good");
  const view = drawLayout();
  if (view !== state.view) {
    // A tab opens at its top. A page that is loaded again stays where it was.
    if (state.view) byID("tools").scrollTop = 0;
    if (state.view && isNarrow()) scrollTo(0, 0);
    state.view = view;
    openers[view]?.();
  }
  const phone = choice.phone();
  panel.canListen = state.hasChannels;
  if (isSeen("phone")) {
    drawPhoneList([...state.phones.values()], state.phonesMet ?? 0, phone?.id, (id) => choice.choose(id), Number(read().after));
    if (state.run) choice.drawGone(phone);
    choice.drawNewcomer(phone);
    if (phone) panel.draw(phone); else panel.clear(state.phones.size > 0);
  }
  followPhone(phone);
  budget.follow(phone?.activity ?? "", phone?.lastPush ?? 0);
}

// The newest event that the page itself did not publish. Entries are not in order, because older ones may have been fetched later.
function newestEvent() {
  return [...state.entries.values()].filter((one) => one.type === "event" && !one.isByPage)
    .reduce((newest, one) => newest?.id > one.id ? newest : one, undefined);
}

// Keeps room at the top, so that what is pinned there does not hide a line that is scrolled to.
function leaveRoom() {
  const [place, column] = [byID("newest"), byID("timeline")];
  const pinned = isNarrow() ? byID("tabs").offsetHeight + place.offsetHeight : 0;
  const room = `${column.querySelector(".head").offsetHeight}px`;
  if (column.style.scrollPaddingTop !== room) column.style.scrollPaddingTop = room;
  const page = isNarrow() ? `${pinned}px` : "";
  const root = document.documentElement;
  if (root.style.scrollPaddingTop !== page) root.style.scrollPaddingTop = page;
}

function drawNewest() {
  drawNewestLine();
  leaveRoom();
}

// Shows what became of the newest event if its line is out of sight: behind a tab, scrolled away, or not found by the search.
function drawNewestLine() {
  const [place, column] = [byID("newest"), byID("timeline")];
  const isBeside = isSeen("timeline") && !isNarrow();
  const home = isBeside ? column.querySelector(".head") : byID("main");
  if (place.parentElement !== home) home.insertBefore(place, isBeside ? null : byID("phones"));
  const isHere = isSeen("timeline") && (isNarrow() ? window.scrollY : column.scrollTop) < scrolledMin;
  const newest = newestEvent();
  const isFound = !newest || search.lists(newest, place.hidden);
  // A link that has the focus stays, and keeps the focus: without one the Tab key would begin at the top of the page.
  const hasFocus = place.contains(document.activeElement);
  const entry = isHere && isFound && !hasFocus ? undefined : newest;
  place.hidden = !entry;
  if (!entry) return;
  const pushes = pushesOf(entry, state.entries);
  // The link must lead to a listed line, so it ends a search that has not found the event.
  const target = href({ tab: "timeline", entry: String(entry.id), ...(isFound ? {} : { search: "", only: "" }) });
  const text = JSON.stringify([entry, pushes, target]);
  if (place.dataset.drawn === text) return;
  place.dataset.drawn = text;
  place.replaceChildren(el("a", { href: target }, isFound ? null : el("span", { class: "hint unfound" }, "Not among what is searched for. This ends the search and opens it: "),
    el("span", { class: "hint" }, clock(entry.atMillis)), " ", ...line(entry, pushes)));
  if (hasFocus) place.firstChild.focus({ preventScroll: true });
}

async function numbers() {
  if (document.hidden || !isSeen("numbers")) return;
  try {
    const rows = await ask("/api/numbers");
    byID("numbers").replaceChildren(...rows.map((row) => el("div", { title: row.metric }, el("dt", {}, row.label), el("dd", {}, row.value))));
  } catch { /* the status line says that nobody answers */ }
}

let source;
// Whether the next answer is the whole state, because a new stream was opened.
let isWhole = false;

// Follows the state while the page is visible. A browser has six connections to a host, and each stream takes one. A page that becomes visible again gets the whole state.
function follow() {
  source?.close();
  source = undefined;
  if (document.hidden) return;
  const stream = new EventSource("/api/stream");
  isWhole = true;
  source = stream;
  stream.onopen = () => { for (const place of document.querySelectorAll(".answer.bad")) if (place.textContent.endsWith(silence)) say(place, ""); };
  stream.onmessage = (event) => apply(JSON.parse(event.data));
  stream.onerror = () => {
    status("Nobody answers. Is mailboat dev still running? Trying again …", "bad");
    // The browser tries again by itself, unless it was refused.
    if (stream.readyState === EventSource.CLOSED) setTimeout(() => { if (source === stream) follow(); }, 2000);
  };
}

for (const [link, tab, target] of [[byID("skip"), "timeline", () => timeline.firstStop() ?? byID("timeline")], [byID("skip-publish"), "publish", () => byID("publish-activity")]]) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    go({ tab });
    target().focus();
  });
}
for (const reached of ["pointerenter", "focus"]) byID("publish-sample").addEventListener(reached, renewSamples);
preparePublishing(choice, (name) => [...audiences.audiences.values()].find((one) => one.name === name));
for (const scrolled of [byID("timeline"), window]) scrolled.addEventListener("scroll", drawNewest, { passive: true });
followKeys(() => search.end());
followRoom(draw);
onChange(() => { search.follow(); draw(); });
search.follow();
drawLayout();
panel.clear();
follow();
document.addEventListener("visibilitychange", follow);
setInterval(numbers, 3000);
