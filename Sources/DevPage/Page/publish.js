// The form that publishes an event, and commands that publish it from a terminal.
import { el, byID, ask, say, silence, copyButton } from "/elements.js";
import { isSeen, show } from "/layout.js";
import { warnings } from "/hints.js";

const parse = (text) => { try { return JSON.parse(text); } catch { return null; } };
const pretty = (text) => { const event = parse(text); return event === null ? text : JSON.stringify(event, null, 2); };

// Fields whose text is kept when the page is loaded again.
const drafts = ["publish-activity", "publish-event", "new-activity-id"];

function keepDrafts() {
  try {
    for (const id of drafts) sessionStorage.setItem(`mailboat-${id}`, byID(id).value);
    sessionStorage.setItem("mailboat-given", given);
    sessionStorage.setItem("mailboat-typed", typed);
    sessionStorage.setItem("mailboat-begun", JSON.stringify(begun));
  } catch { /* not allowed: nothing is kept */ }
}

function restoreDrafts() {
  try {
    for (const id of drafts) byID(id).value = sessionStorage.getItem(`mailboat-${id}`) ?? "";
    given = sessionStorage.getItem("mailboat-given") ?? "";
    typed = sessionStorage.getItem("mailboat-typed") ?? "";
    begun = parse(sessionStorage.getItem("mailboat-begun")) ?? begun;
  } catch { /* not allowed: nothing is kept */ }
}

// What the form asks the page: the shown phone, the phone of an activity, all phones, and an audience by its name.
const known = { shown: () => undefined, of: () => undefined, phones: () => [], audience: () => undefined };

// Samples of events from the server, the moments in them, and when the samples were fetched.
let samples = [];
let moments = [];
let takenMillis = 0;
// The sample that was last put into the form, and the text that it became. Any other text was written by somebody.
let begun = { name: "", text: "" };
// Removes what was said of an event that was published: the form has another key or text now.
function forgetAnswer() {
  say(byID("publish-answer"), "");
  byID("publish-next").replaceChildren();
}

// The key that the form took from a phone, or had at the beginning; "": somebody typed the key, or a button wrote it.
let given = "";
// The key that somebody typed; "": nobody did, or a button or a phone has given another since.
let typed = "";

// What the hints were last drawn for, and the function that draws the commands for the form's event.
let hinted = {};
let drawSnippets = () => {};

// Draws hints about the event in the form: that any token will do, where the event goes, and whose token it holds.
export function drawHints() {
  const [key, text] = [byID("publish-activity").value, byID("publish-event").value];
  byID("publish-tokens").hidden = !/"(start-)?token"\s*:/.test(text);
  const warning = warnings(key, text, known.audience(key), known.phones());
  const place = byID("publish-warning");
  place.hidden = !warning;
  if (place.textContent !== warning) place.textContent = warning;
  drawOffer();
  nameDraft(text);
  if (hinted.key === key && hinted.text === text) return;
  hinted = { key, text };
  drawSnippets();
}

// Moves the moments of a sample on by `millis`, so that they stay as far ahead as at first. Other numbers stay.
const moved = (text, millis) => text.replaceAll(/\b\d{9,10}\b/g, (number) => moments.includes(Number(number)) ? String(Number(number) + Math.floor(millis / 1000)) : number);

// A sample's text for an audience, which its key alone does not reach. `audience` "": for an activity. A start is left as it is, because it names a token.
function addressed(text, audience) {
  const event = parse(text);
  if (!audience || !["update", "end"].includes(event?.event)) return pretty(text);
  const { app, event: kind, to, ...rest } = event;
  return JSON.stringify({ ...(app === undefined ? {} : { app }), event: kind, to: { audience }, ...rest }, null, 2);
}

// Index of the sample whose unchanged text this is; -1: none.
const sampleOf = (text) => text && text === begun.text ? samples.findIndex((sample) => sample.name === begun.name) : -1;

// Puts a sample into the form, for the form's key. If the shown phone has the key as its activity, an audience of that name is not meant.
function begin(index) {
  const key = byID("publish-activity").value;
  const shown = known.shown();
  const audience = known.audience(key) && (shown?.activity !== key || shown.member) ? key : "";
  const sample = samples[index] ?? { name: "", text: "" };
  const text = moved(addressed(sample.text, audience), Date.now() - takenMillis);
  // The sample of a start has the activity's id in its attributes. A sample from the app's type is left as the app decodes it.
  const event = parse(text);
  if (event?.attributes?.order && !isFromApp(sample)) event.attributes.order = key;
  byID("publish-event").value = event?.attributes ? JSON.stringify(event, null, 2) : text;
  begun = { name: sample.name, text: byID("publish-event").value };
}

// Puts an unchanged sample into the form again, with the present time and the app's type. Text that somebody wrote, or is reading there, stays.
function renew() {
  const index = sampleOf(byID("publish-event").value);
  if (index >= 0 && document.activeElement !== byID("publish-event")) begin(index);
}

// Whether somebody has written the event or the key. Choosing a phone then changes neither.
export function isOwn() {
  const text = byID("publish-event").value;
  return byID("publish-activity").value !== given || (text !== "" && sampleOf(text) < 0);
}

function keyChanged() {
  const index = sampleOf(byID("publish-event").value);
  if (index >= 0) begin(index);
  drawHints();
}

// Takes the key of a phone.
function takeKey(activity) {
  forgetAnswer();
  [given, typed] = [activity, ""];
  byID("publish-activity").value = activity;
  keyChanged();
}

// Takes the key of the shown phone, unless somebody has written a key or an event, or is in the form. `isChosen`: somebody chose the phone.
export function followPhone(phone, isChosen = false) {
  const activity = phone?.activity ?? "";
  // The phone of a key that the page made up has come, so the key is that phone's.
  if (fresh && activity === fresh && byID("publish-activity").value === fresh) [given, fresh] = [fresh, ""];
  if (activity && activity !== byID("publish-activity").value && !isOwn() && (isChosen || !byID("publish").contains(document.activeElement))) takeKey(activity);
  drawOffer();
}

// Offers the shown phone's key if the form has another.
function drawOffer() {
  const activity = known.shown()?.activity ?? "";
  const [place, key] = [byID("publish-use-key"), byID("publish-activity").value];
  place.hidden = !activity || activity === key;
  const text = `Use ${activity} as key`;
  if (!place.hidden && place.textContent !== text) place.textContent = text;
}

// Milliseconds without an answer, after which the page names a possible cause.
const patienceMillis = 2000;

// Prepares the form. `choice` shows the phone of the activity that is published to. `audience` finds an audience by its name.
export function preparePublishing(choice, audience) {
  Object.assign(known, { shown: () => choice.phone(), of: (activity) => choice.of(activity), phones: () => [...choice.phones.values()], audience });
  restoreDrafts();
  drawHints();
  byID("publish-event").addEventListener("input", () => {
    forgetAnswer();
    drawHints();
  });
  byID("publish-activity").addEventListener("input", () => {
    forgetAnswer();
    [given, typed] = ["", byID("publish-activity").value];
    keyChanged();
  });
  byID("publish-use-key").addEventListener("click", () => {
    takeKey(known.shown()?.activity ?? "");
    byID("publish-activity").focus();
  });
  byID("publish-sample").onchange = sampleChosen;
  followSnippets();
  // Keep the drafts when the page is left, also what the page itself wrote into the fields.
  window.addEventListener("pagehide", keepDrafts);
  const form = byID("publish");
  const text = byID("publish-event");
  const answer = byID("publish-answer");
  const next = byID("publish-next");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const late = setTimeout(() => say(answer, "The browser may have no connection left: this page is open in several tabs. Close one.", true), patienceMillis);
    const [activity, body] = [byID("publish-activity").value, text.value];
    try {
      const place = await ask(`/events?activity=${encodeURIComponent(activity)}`, { method: "POST", body });
      text.removeAttribute("aria-invalid");
      // Name the activity, because the form may have another key when somebody reads this.
      say(answer, `Published for ${activity}: partition ${place.partition}, offset ${place.offset}.`);
      const isMember = parse(body)?.to?.audience !== undefined;
      choice.follow(activity, isMember);
      // If the phone is behind a tab, the form stays in view, and a button leads to the card.
      next.replaceChildren(isSeen("phone") ? "" : el("button", { type: "button", class: "small", onclick: () => {
        const phone = choice.of(activity, isMember);
        if (phone) choice.choose(phone.id); else say(answer, `No phone shows ${activity} yet.`);
      } }, "See its card"));
    } catch (error) {
      if (!error.message.endsWith(silence)) text.setAttribute("aria-invalid", "true");
      say(answer, error.message, true);
    } finally { clearTimeout(late); }
  });
  // The browser says what is missing, so remove the earlier complaint.
  form.addEventListener("invalid", () => {
    text.removeAttribute("aria-invalid");
    say(answer, "");
  }, true);
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  byID("new-activity").addEventListener("submit", async (event) => {
    event.preventDefault();
    const field = byID("new-activity-id");
    const said = byID("new-activity-answer");
    try {
      const made = await ask("/api/activities", { method: "POST", body: JSON.stringify({ activity: field.value }) });
      byID("new-phone").open = false;
      choice.follow(made.activity);
      say(said, `Phone ${made.phone} is registered for ${made.activity}.`);
      field.value = nextName(field.value);
    } catch (error) { say(said, error.message, true); }
  });
}

// Draws the commands for a terminal, which publish the form's event.
function followSnippets() {
  const fold = byID("snippets");
  const draw = async () => {
    if (!fold.open) return;
    try {
      const snippets = await ask(`/api/snippets?activity=${encodeURIComponent(byID("publish-activity").value)}`, { method: "POST", body: byID("publish-event").value });
      const isBroken = parse(byID("publish-event").value) === null;
      byID("snippet-list").replaceChildren(byID("snippet-list").firstElementChild ?? "",
        isBroken ? el("p", { class: "note warn" }, "The event is not valid JSON: a worker refuses what these commands publish.") : "", ...snippets.map((snippet) => el("div", { class: "snippet" },
        el("div", { class: "row" }, el("h3", {}, snippet.name), copyButton("Copy", snippet.text)),
        el("pre", { tabindex: 0, role: "region", "aria-label": `Command: ${snippet.name}` }, snippet.text))));
    } catch { /* the answer to publishing will say what cannot be read */ }
  };
  let later;
  drawSnippets = () => {
    clearTimeout(later);
    later = setTimeout(draw, 300);
  };
  fold.addEventListener("toggle", draw);
}

// Puts an event into the form, to be edited or published as it is.
export function write(key, event) {
  forgetAnswer();
  byID("publish-activity").value = key;
  [given, typed] = ["", ""];
  chooseSample(-1);
  const text = byID("publish-event");
  text.value = JSON.stringify(event, null, 2);
  drawHints();
  show("publish");
  text.focus();
}

// Whether a sample is made from what the app decodes.
const isFromApp = (sample) => sample.name.startsWith("From your");

// A `content-state` that the app decodes, if its type is known; else that of a match.
function firstContent() {
  const own = samples.find(isFromApp);
  return own ? parse(moved(own.text, Date.now() - takenMillis))["content-state"] : { homeTeam: "Lions", awayTeam: "Bears", homeScore: 0, awayScore: 0 };
}

// The attributes of a start of the app, if they are known; else those of a match.
function firstAttributes() {
  const own = samples.filter(isFromApp).map((sample) => parse(sample.text)).find((event) => event?.event === "start");
  return { "attributes-type": own?.["attributes-type"] ?? "MatchAttributes", attributes: own?.attributes ?? { home: "Lions", away: "Bears" } };
}

// Puts an event for a channel into the form.
export function writeForChannel(channel) {
  const shown = channel.contentState ?? firstContent();
  write(channel.id, { event: "update", to: { channel: channel.id }, priority: 10,
    "content-state": typeof shown.homeScore === "number" ? { ...shown, homeScore: shown.homeScore + 1 } : shown });
}

// Puts an event for an audience into the form. The first update has no alert. In a match it says 0:0, and the next is a goal with an alert.
export function writeForAudience(audience) {
  const before = audience.shown[0]?.contentState;
  const isStart = audience.members > 0 && audience.counts.untouched === audience.members && audience.startMembers > 0;
  const event = { event: isStart ? "start" : "update", to: { audience: audience.name }, priority: 10 };
  if (isStart) Object.assign(event, firstAttributes());
  event["content-state"] = !before ? firstContent()
    : typeof before.homeScore === "number" ? { ...before, homeScore: before.homeScore + 1 } : before;
  if (isStart) event.alert = { title: "Kick-off", body: "The match begins." };
  else if (typeof before?.homeScore === "number") event.alert = { title: "Goal!", body: "Lions score." };
  write(audience.name, event);
}

// The next name: order-1 becomes order-2.
function nextName(name) {
  const parts = /^(.*?)(\d+)$/.exec(name);
  return parts ? parts[1] + (Number(parts[2]) + 1) : `${name}-2`;
}

// The first key order-N that no phone has, because a start needs an id of its own.
function freshKey() {
  let number = 1;
  while (known.of(`order-${number}`)) number += 1;
  return `order-${number}`;
}

// Selects a sample in the menu; -1: none.
function chooseSample(index) { byID("publish-sample").value = index < 0 ? "" : String(index); }

// Says in the menu what the text is: an unchanged sample, an event that somebody wrote, or nothing yet.
function nameDraft(text) {
  const own = byID("publish-sample").options[0];
  if (!own) return;
  const name = text ? "your own text" : "empty: choose a sample";
  if (own.text !== name) own.text = name;
  chooseSample(sampleOf(text));
}

// Fills the menu of samples. The last ones may be made from what the app's code decodes.
export function drawSamples(about) {
  const menu = byID("publish-sample");
  const names = JSON.stringify(about.samples.map((sample) => sample.name));
  const wasSample = sampleOf(byID("publish-event").value) >= 0;
  [samples, moments, takenMillis] = [about.samples, about.sampleMoments, Date.now()];
  // The sample may have gone with the type that it was made from.
  if (wasSample && !samples.some((sample) => sample.name === begun.name) && document.activeElement !== byID("publish-event")) {
    begin(Math.max(0, samples.findIndex(isFromApp)));
    drawHints();
  }
  renew();
  if (menu.dataset.drawn === names) return;
  menu.dataset.drawn = names;
  const chosen = menu.value;
  menu.replaceChildren(el("option", { value: "" }), ...samples.map((sample, index) => el("option", { value: String(index) }, sample.name)));
  chooseSample(chosen && Number(chosen) < samples.length ? Number(chosen) : -1);
  nameDraft(byID("publish-event").value);
}

// The key that the page made up for a start, because a phone or an audience had the form's key already; "": none.
let fresh = "";

function sampleChosen() {
  const [text, key, index] = [byID("publish-event"), byID("publish-activity"), Number(byID("publish-sample").value)];
  if (byID("publish-sample").value === "") return;
  const [before, keyBefore, givenBefore, typedBefore] = [text.value, key.value, given, typed];
  const wasOwn = isOwn();
  const wasWritten = before !== "" && sampleOf(before) < 0;
  // A key that is not the shown phone's stays.
  if (wasOwn && key.value !== known.shown()?.activity) given = "";
  const isStart = parse(samples[index]?.text)?.event === "start";
  forgetAnswer();
  // A key that somebody typed stays, and so does that of a card that is gone, which a start may put up again.
  const isTaken = known.of(keyBefore) && known.of(keyBefore).card !== "dismissed" || known.audience(keyBefore);
  if (isStart && keyBefore !== typed && isTaken) {
    key.value = fresh = freshKey();
    say(byID("publish-answer"), `${keyBefore} is in use, and a start needs a key of its own: the key is ${fresh} now.`);
  }
  // No start was published with the made-up key, so another sample is for the shown phone again.
  else if (!isStart && fresh && key.value === fresh && !known.of(fresh)) given = key.value = known.shown()?.activity || fresh;
  begin(index);
  drawHints();
  // Offer to bring back what somebody had written.
  byID("publish-next").replaceChildren(wasWritten ? el("button", { type: "button", class: "small", onclick: (event) => {
    [text.value, key.value, given, typed] = [before, keyBefore, givenBefore, typedBefore];
    chooseSample(-1);
    drawHints();
    event.target.remove();
  } }, "Bring back what I had written") : "");
}

export function drawAbout(about) {
  if (about.workerPage) {
    byID("worker-page").hidden = false;
    byID("worker-page").firstChild.href = about.workerPage;
  }
  const [text, key] = [byID("publish-event"), byID("publish-activity")];
  if (!key.value) key.value = given = "order-1";
  drawSamples(about);
  if (!text.value) begin(Math.max(0, samples.findIndex(isFromApp)));
  chooseSample(sampleOf(text.value));
  if (!byID("new-activity-id").value) byID("new-activity-id").value = "order-2";
  drawHints();
  byID("snippet-list").replaceChildren(
    el("p", { class: "hint" }, `Kafka listens at ${about.bootstrap}; events go to the topic ${about.eventsTopic}.` +
      (about.apns ? ` The simulated APNs takes pushes at ${about.apns}, over TLS.` : "") +
      (about.makesPhones ? " An activity without a phone gets one." : " Register a phone first: this page makes none by itself.")));
  drawSnippets();
}
