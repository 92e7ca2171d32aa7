// Follows the state and draws what changed. Decides nothing: what things mean is said by the server.
import { el, byID, ask, clock } from "/elements.js";
import { read, href, go, onChange } from "/address.js";
import { drawLayout, followRoom, isNarrow, isSeen } from "/layout.js";
import { followKeys } from "/keys.js";
import { PhonePanel } from "/phones.js";
import { drawPhoneList } from "/phonelist.js";
import { Timeline, head, isPush, pushesOf, says } from "/timeline.js";
import { Search } from "/search.js";
import { BudgetPanel } from "/budget.js";
import { AudiencesPanel } from "/audiences.js";
import { ChannelsPanel } from "/channels.js";
import { FaultsPanel } from "/faults.js";
import { TemplatesPanel } from "/templates.js";
import { SchemasPanel } from "/schemas.js";
import { preparePublishing, drawAbout, writeForAudience, writeForChannel } from "/publish.js";

const state = { run: "", phones: new Map(), entries: new Map(), firstEntry: 1, newestPhone: 0, ready: false, trouble: [] };
const panel = new PhonePanel(byID("phone"));
const timeline = new Timeline(byID("entries"));
const search = new Search(state, timeline, () => chosenPhone()?.activity ?? "");
timeline.redraw = () => search.draw();
timeline.phoneOf = phoneOf;
const audiences = new AudiencesPanel(writeForAudience);
const channels = new ChannelsPanel(writeForChannel);
const budget = new BudgetPanel(byID("budget"), "activity");
const schemas = new SchemasPanel(() => chosenPhone());
const templates = new TemplatesPanel();
const faults = new FaultsPanel(() => chosenPhone()?.id ?? 0);
// What is asked for once it is looked at.
const openers = { app: () => { schemas.open(); templates.open(); }, audiences: () => audiences.draw(), numbers };

// Pixels scrolled, from which on the newest line is out of view.
const scrolledMin = 120;

// The one that the address names, while it is there; else that of the open line; else the newest.
function chosenPhone() {
  const { phone, entry } = read();
  const opened = entry && !phone ? search.known(Number(entry)) : undefined;
  const beside = opened && phoneOf(opened, pushesOf(opened, state.entries));
  return state.phones.get(Number(phone)) ?? state.phones.get(beside) ?? state.phones.get(state.newestPhone) ?? [...state.phones.values()].at(-1);
}

// The phone that an entry is about; 0: none that is here.
function phoneOf(entry, pushes) {
  const id = isPush(entry) || entry.type === "note" ? entry.phone : pushes.at(-1)?.phone;
  return state.phones.has(id) ? id : [...state.phones.values()].findLast((one) => entry.activity && one.activity === entry.activity)?.id ?? 0;
}

// Shows the phone of an activity. Says whether there is one.
function see(activity) {
  const phone = [...state.phones.values()].findLast((one) => one.activity === activity);
  if (phone) choose(phone.id);
  return phone !== undefined;
}

// A link may name a phone that is not here: another is not passed off as it.
function drawGonePhone(shown) {
  const wanted = Number(read().phone);
  const text = wanted && state.run && !state.phones.has(wanted)
    ? `Phone ${wanted} is not listed here.${shown ? ` This is phone ${shown.id}.` : ""} Search activity:NAME to bring one back.` : "";
  const place = byID("gone-phone");
  if (place.textContent !== text) place.textContent = text;
  place.hidden = !text;
}

function apply(change) {
  if (change.run !== state.run) {
    // Another process answers: what is shown here is not its. At the first answer, what the page's address asks for stays, and so does what was found for it.
    if (state.run) {
      go({ phone: "", search: "", entry: "", after: "" }, false);
      search.clear();
    }
    Object.assign(state, { run: change.run, newestPhone: 0 });
    state.phones.clear();
    state.entries.clear();
    audiences.clear();
    ask("/api/about").then((about) => {
      state.makesPhones = about.makesPhones;
      drawAbout(about);
      schemas.take(about.apps);
    }).catch((error) => status(error.message, "bad"));
  }
  const known = new Set(change.phoneIDs);
  for (const id of state.phones.keys()) if (!known.has(id)) state.phones.delete(id);
  for (const phone of change.phones) {
    if (!state.phones.has(phone.id)) state.newestPhone = phone.id;
    state.phones.set(phone.id, phone);
  }
  for (const id of state.entries.keys()) if (id < change.firstEntry) state.entries.delete(id);
  for (const entry of change.entries) state.entries.set(entry.id, entry);
  Object.assign(state, { ready: change.ready, trouble: change.trouble, firstEntry: change.firstEntry, phonesMet: change.phonesMet, hasChannels: change.channels.length > 0 });
  drawState();
  search.renew();
  audiences.take(change.audiences);
  channels.draw(change.channels);
  faults.draw(change.faults);
  drawUnlisted(change);
}

const count = (number) => number.toLocaleString("en");

function drawUnlisted({ sampling, unlisted: { events, pushes } }) {
  const isSample = sampling.isSample;
  const text = [
    isSample ? `This is a sample: ${count(sampling.events)} events and ${count(sampling.pushes)} pushes came in the last second. ` +
      `${count(sampling.activities)} activities are listed whole: the newest phones’ and those you look at.` : "",
    events + pushes ? `${count(events)} events and ${count(pushes)} pushes came too fast to be listed here.` : "",
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
}

function drawState() {
  if (state.trouble.length) status(state.trouble.join("; "), "bad");
  else if (!state.ready) status("The worker joins its consumer group, which takes a few seconds. Events wait.", "waits");
  else status("Ready", "good");
  const view = drawLayout();
  if (view !== state.view) {
    state.view = view;
    openers[view]?.();
  }
  const phone = chosenPhone();
  panel.canListen = state.hasChannels;
  if (isSeen("phone")) {
    drawPhoneList([...state.phones.values()], state.phonesMet ?? 0, phone?.id, choose);
    drawGonePhone(phone);
    if (phone) panel.draw(phone); else panel.clear();
  }
  budget.follow(phone?.activity ?? "", phone?.lastPush ?? 0);
  drawNewest();
}

function choose(id) {
  const activity = state.phones.get(id)?.activity;
  if (activity) byID("publish-activity").value = activity;
  // The chosen one is seen, however many were unfolded.
  byID("quiet-phones").open = false;
  byID("phones").scrollTop = 0;
  go({ phone: String(id), tab: isNarrow() ? "phone" : read().tab });
  document.querySelector(`#phone-list [data-phone="${id}"]`)?.focus();
}

// Older entries that were asked for stand behind the newer ones.
function newestEvent() {
  return [...state.entries.values()].filter((one) => one.type === "event" && !one.isByPage)
    .reduce((newest, one) => newest?.id > one.id ? newest : one, undefined);
}

// What became of the newest event, where its line is behind a tab or was scrolled away.
function drawNewest() {
  const [place, column] = [byID("newest"), byID("timeline")];
  const isBeside = isSeen("timeline") && !isNarrow();
  const home = isBeside ? column.querySelector(".head") : byID("main");
  if (place.parentElement !== home) home.insertBefore(place, isBeside ? null : byID("phones"));
  const isHere = isSeen("timeline") && (isNarrow() ? window.scrollY : column.scrollTop) < scrolledMin;
  const entry = isHere ? undefined : newestEvent();
  place.hidden = !entry;
  if (!entry) return;
  const pushes = pushesOf(entry, state.entries);
  const text = JSON.stringify([entry, pushes]);
  if (place.dataset.drawn === text) return;
  place.dataset.drawn = text;
  place.replaceChildren(el("a", { href: href({ tab: "timeline", entry: String(entry.id) }) },
    el("span", { class: "hint" }, clock(entry.atMillis)), " ", head(entry, pushes), el("span", { class: "says" }, says(entry, pushes))));
}

async function numbers() {
  if (document.hidden || !isSeen("numbers")) return;
  try {
    const rows = await ask("/api/numbers");
    byID("numbers").replaceChildren(...rows.map((row) => el("div", { title: row.metric }, el("dt", {}, row.label), el("dd", {}, row.value))));
  } catch { /* the status line says that nobody answers */ }
}

function follow() {
  const source = new EventSource("/api/stream");
  source.onmessage = (event) => apply(JSON.parse(event.data));
  source.onerror = () => {
    status("Nobody answers. Is mailboat dev still running? Trying again …", "bad");
    // The browser tries again by itself, unless it was refused.
    if (source.readyState === EventSource.CLOSED) setTimeout(follow, 2000);
  };
}

for (const [link, tab, target] of [[byID("skip"), "timeline", byID("timeline")], [byID("skip-publish"), "publish", byID("publish-event")]]) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    go({ tab });
    target.focus();
  });
}
preparePublishing(see);
for (const scrolled of [byID("timeline"), window]) scrolled.addEventListener("scroll", drawNewest, { passive: true });
followKeys(() => search.end());
followRoom(draw);
onChange(() => { search.follow(); draw(); });
search.follow();
drawLayout();
panel.clear();
follow();
setInterval(numbers, 3000);
