// The form that publishes, and the commands that do so elsewhere.
import { el, byID, ask, say, silence, copyButton } from "/elements.js";
import { isSeen, show } from "/layout.js";

const parse = (text) => { try { return JSON.parse(text); } catch { return null; } };
const pretty = (text) => { const event = parse(text); return event === null ? text : JSON.stringify(event, null, 2); };

// What is being written stays when the page is loaded again.
const drafts = ["publish-activity", "publish-event", "new-activity-id"];

function keepDrafts() {
  try { for (const id of drafts) sessionStorage.setItem(`mailboat-${id}`, byID(id).value); sessionStorage.setItem("mailboat-given", given); } catch { /* not allowed: nothing is kept */ }
}

function restoreDrafts() {
  try { for (const id of drafts) byID(id).value = sessionStorage.getItem(`mailboat-${id}`) ?? ""; given = sessionStorage.getItem("mailboat-given") ?? ""; } catch { /* not allowed: nothing is kept */ }
}

// What the form has to know: the phone that is shown, that of an activity, and the audience of a name.
const known = { shown: () => undefined, of: () => undefined, audience: () => undefined };

// Whether the event of the form is one of the samples; so is one that nobody has written.
let isSample = (written) => !written;
// The key that the form has from a phone. Another one was typed.
let given = "";

// What the hints were drawn for; and the commands for what is in the form.
let hinted = {};
let drawSnippets = () => {};

// What is to be known before it is published: that any token will do, and that the key is that of an audience.
export function drawHints() {
  const [key, text] = [byID("publish-activity").value, byID("publish-event").value];
  byID("publish-tokens").hidden = !/"(start-)?token"\s*:/.test(text);
  const audience = known.audience(key);
  const event = audience ? parse(text) : null;
  const hint = event && !event.to && ["start", "update", "end"].includes(event.event)
    ? `${key} is an audience of ${audience.members.toLocaleString("en")} ${audience.members === 1 ? "phone" : "phones"}. Without "to": {"audience": ${JSON.stringify(key)}} this goes to an activity of the same name.` : "";
  const place = byID("publish-audience");
  place.hidden = !hint;
  if (place.textContent !== hint) place.textContent = hint;
  if (hinted.key === key && hinted.text === text) return;
  hinted = { key, text };
  drawSnippets();
}

// The sample of a start has the activity's id in its attributes.
const order = /"order": "(?:[^"\\]|\\.)*"/;
const ordered = (text) => text.replace(order, () => `"order": ${JSON.stringify(byID("publish-activity").value)}`);

// A sample is for the audience whose key is in the form; for any other key it names no audience. A start has its token.
const audienceLine = /\n  "to": \{\n    "audience": "(?:[^"\\]|\\.)*"\n  \},/;

function addressed(text) {
  const event = parse(text);
  if (!["update", "end"].includes(event?.event) || event.to && !event.to.audience) return text;
  const key = byID("publish-activity").value;
  const { event: kind, to: former, ...rest } = event;
  return former || known.audience(key) ? JSON.stringify({ event: kind, ...(known.audience(key) ? { to: { audience: key } } : {}), ...rest }, null, 2) : text;
}

function keyChanged() {
  const text = byID("publish-event");
  if (isSample(text.value)) text.value = addressed(ordered(text.value));
  drawHints();
}

// Takes the key of a phone.
export function takeKey(activity) {
  given = activity;
  byID("publish-activity").value = activity;
  keyChanged();
}

// The key is that of the phone that is shown, unless somebody has typed another one or an event, or is about to.
export function followPhone(activity) {
  const key = byID("publish-activity").value;
  if (key === activity) given = key;
  else if (activity && key === given && isSample(byID("publish-event").value) && !byID("publish").contains(document.activeElement)) takeKey(activity);
}

// Milliseconds without an answer, after which the page says what may be the matter.
const patienceMillis = 2000;

// `choice` shows the phone of the activity that is published to. `audience` finds one by its name.
export function preparePublishing(choice, audience) {
  Object.assign(known, { shown: () => choice.phone(), of: (activity) => choice.of(activity), audience });
  restoreDrafts();
  drawHints();
  byID("publish-event").addEventListener("input", drawHints);
  byID("publish-activity").addEventListener("input", keyChanged);
  followSnippets();
  // Also what this page wrote into the fields.
  window.addEventListener("pagehide", keepDrafts);
  const form = byID("publish");
  const text = byID("publish-event");
  const answer = byID("publish-answer");
  const next = byID("publish-next");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const late = setTimeout(() => say(answer, "The browser may have no connection left: this page is open in several tabs. Close one.", true), patienceMillis);
    try {
      const place = await ask(`/events?activity=${encodeURIComponent(byID("publish-activity").value)}`, { method: "POST", body: text.value });
      text.removeAttribute("aria-invalid");
      say(answer, `Published: partition ${place.partition}, offset ${place.offset}.`);
      const activity = byID("publish-activity").value;
      choice.follow(activity);
      // Where the phone is behind a tab, the form stays.
      next.replaceChildren(isSeen("phone") ? "" : el("button", { type: "button", class: "small", onclick: () => {
        const phone = choice.of(activity);
        if (phone) choice.choose(phone.id); else say(answer, `No phone shows ${activity} yet.`);
      } }, "See its card"));
    } catch (error) {
      if (!error.message.endsWith(silence)) text.setAttribute("aria-invalid", "true");
      say(answer, error.message, true);
    } finally { clearTimeout(late); }
  });
  // The browser says what is missing: what was wrong before no longer stands beside it.
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
      takeKey(made.activity);
      byID("new-phone").open = false;
      choice.follow(made.activity);
      say(said, `Phone ${made.phone} is registered for ${made.activity}.`);
      field.value = nextName(field.value);
    } catch (error) { say(said, error.message, true); }
  });
}

// From a terminal: the event that is in the form.
function followSnippets() {
  const fold = byID("snippets");
  const draw = async () => {
    if (!fold.open) return;
    try {
      const snippets = await ask(`/api/snippets?activity=${encodeURIComponent(byID("publish-activity").value)}`, { method: "POST", body: byID("publish-event").value });
      byID("snippet-list").replaceChildren(byID("snippet-list").firstElementChild ?? "", ...snippets.map((snippet) => el("div", { class: "snippet" },
        el("div", { class: "row" }, el("h3", {}, snippet.name), copyButton("Copy", snippet.text)),
        el("pre", { tabindex: 0, role: "region", "aria-label": `Command: ${snippet.name}` }, snippet.text))));
    } catch { /* what cannot be read is told when it is published */ }
  };
  let later;
  drawSnippets = () => {
    clearTimeout(later);
    later = setTimeout(draw, 300);
  };
  fold.addEventListener("toggle", draw);
}

// An event to be published as it is or edited first.
export function write(key, event) {
  byID("publish-activity").value = key;
  const text = byID("publish-event");
  text.value = JSON.stringify(event, null, 2);
  drawHints();
  show("publish");
  text.focus();
}

// One for all phones that listen.
export function writeForChannel(channel) {
  const shown = channel.contentState ?? { homeTeam: "Lions", awayTeam: "Bears", homeScore: 0, awayScore: 0 };
  write(channel.id, { event: "update", to: { channel: channel.id }, priority: 10,
    "content-state": typeof shown.homeScore === "number" ? { ...shown, homeScore: shown.homeScore + 1 } : shown });
}

// The first is quiet and says 0:0. The next is a goal.
export function writeForAudience(audience) {
  const before = audience.shown[0]?.contentState;
  const isStart = audience.members > 0 && audience.counts.untouched === audience.members && audience.startMembers > 0;
  const event = { event: isStart ? "start" : "update", to: { audience: audience.name }, priority: 10 };
  if (isStart) Object.assign(event, { "attributes-type": "MatchAttributes", attributes: { home: "Lions", away: "Bears" } });
  event["content-state"] = !before ? { homeTeam: "Lions", awayTeam: "Bears", homeScore: 0, awayScore: 0 }
    : typeof before.homeScore === "number" ? { ...before, homeScore: before.homeScore + 1 } : before;
  if (isStart) event.alert = { title: "Kick-off", body: "The match begins." };
  else if (before) event.alert = { title: "Goal!", body: "Lions score." };
  write(audience.name, event);
}

// Moments of a sample, seconds since 1970: they lie as far ahead however long the page has been open.
const moments = /\b\d{10}\b/g;
const moved = (text, millis) => text.replaceAll(moments, (seconds) => String(Number(seconds) + Math.floor(millis / 1000)));
const undated = (text) => text.replaceAll(moments, "");

// order-1 becomes order-2.
function nextName(name) {
  const parts = /^(.*?)(\d+)$/.exec(name);
  return parts ? parts[1] + (Number(parts[2]) + 1) : `${name}-2`;
}

// The first order that no phone has: a start needs an id of its own.
function freshKey() {
  let number = 1;
  while (known.of(`order-${number}`)) number += 1;
  return `order-${number}`;
}

export function drawAbout(about) {
  if (about.workerPage) {
    byID("worker-page").hidden = false;
    byID("worker-page").firstChild.href = about.workerPage;
  }
  const samples = byID("publish-sample");
  samples.replaceChildren(...about.samples.map((sample, index) => el("option", { value: String(index) }, sample.name)));
  const text = byID("publish-event");
  const takenMillis = Date.now();
  const key = byID("publish-activity");
  let fresh = "";
  const begin = () => {
    text.value = addressed(ordered(pretty(moved(about.samples[Number(samples.value)]?.text ?? "", Date.now() - takenMillis))));
    drawHints();
  };
  const plain = (event) => undated(pretty(event)).replace(order, "").replace(audienceLine, "");
  isSample = (written) => !written || about.samples.some((sample) => plain(sample.text) === plain(written));
  samples.onchange = () => {
    const [before, keyBefore] = [text.value, key.value];
    const isStart = parse(about.samples[Number(samples.value)]?.text)?.event === "start";
    if (isStart && (known.of(key.value) || known.audience(key.value))) key.value = fresh = freshKey();
    // Nothing was started by it: the others are for the phone that is shown.
    else if (!isStart && fresh && key.value === fresh && !known.of(fresh)) takeKey(known.shown()?.activity || fresh);
    begin();
    // What somebody has written is not lost.
    byID("publish-next").replaceChildren(before && !isSample(before) ? el("button", { type: "button", class: "small", onclick: (event) => {
      [text.value, key.value] = [before, keyBefore];
      drawHints();
      event.target.remove();
    } }, "Bring back what I had written") : "");
  };
  if (!text.value) begin();
  if (!key.value) key.value = given = "order-1";
  if (!byID("new-activity-id").value) byID("new-activity-id").value = "order-2";
  byID("snippet-list").replaceChildren(
    el("p", { class: "hint" }, `Kafka listens at ${about.bootstrap}; events go to the topic ${about.eventsTopic}.` +
      (about.apns ? ` The simulated APNs takes pushes at ${about.apns}, over TLS.` : "") +
      (about.makesPhones ? " An activity without a phone gets one." : " Register a phone first: this page makes none by itself.")));
  drawSnippets();
}
