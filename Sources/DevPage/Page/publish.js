// The form that publishes, and the commands that do so elsewhere.
import { el, byID, ask, say, copyButton } from "/elements.js";
import { show } from "/layout.js";

const pretty = (text) => { try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; } };

// What is being written stays when the page is loaded again.
const drafts = ["publish-activity", "publish-event", "new-activity-id"];

function keepDrafts() {
  try { for (const id of drafts) sessionStorage.setItem(`mailboat-${id}`, byID(id).value); } catch { /* not allowed: nothing is kept */ }
}

function restoreDrafts() {
  try { for (const id of drafts) byID(id).value = sessionStorage.getItem(`mailboat-${id}`) ?? ""; } catch { /* not allowed: nothing is kept */ }
}

// Whether the event in the form brings a token.
const drawTokenHint = () => { byID("publish-tokens").hidden = !/"(start-)?token"\s*:/.test(byID("publish-event").value); };

// `see` shows the phone of an activity.
export function preparePublishing(see) {
  restoreDrafts();
  drawTokenHint();
  byID("publish-event").addEventListener("input", drawTokenHint);
  followSnippets();
  // Also what this page wrote into the fields.
  window.addEventListener("pagehide", keepDrafts);
  const form = byID("publish");
  const text = byID("publish-event");
  const answer = byID("publish-answer");
  const next = byID("publish-next");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const place = await ask(`/events?activity=${encodeURIComponent(byID("publish-activity").value)}`, { method: "POST", body: text.value });
      text.removeAttribute("aria-invalid");
      say(answer, `Published: partition ${place.partition}, offset ${place.offset}.`);
      const activity = byID("publish-activity").value;
      next.replaceChildren(el("button", { type: "button", class: "small", onclick: () => { if (!see(activity)) say(answer, `No phone shows ${activity} yet.`); } }, "See its card"));
    } catch (error) {
      text.setAttribute("aria-invalid", "true");
      say(answer, error.message, true);
    }
  });
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  byID("new-activity").addEventListener("submit", async (event) => {
    event.preventDefault();
    const field = byID("new-activity-id");
    const said = byID("new-activity-answer");
    try {
      const made = await ask("/api/activities", { method: "POST", body: JSON.stringify({ activity: field.value }) });
      byID("publish-activity").value = made.activity;
      byID("new-phone").open = false;
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
  const soon = () => {
    clearTimeout(later);
    later = setTimeout(draw, 300);
  };
  fold.addEventListener("toggle", draw);
  for (const id of ["publish-activity", "publish-event", "publish-sample"]) byID(id).addEventListener("input", soon);
}

// An event to be published as it is or edited first.
export function write(key, event) {
  byID("publish-activity").value = key;
  const text = byID("publish-event");
  text.value = JSON.stringify(event, null, 2);
  drawTokenHint();
  show("publish");
  text.focus();
}

// One for all phones that listen.
export function writeForChannel(channel) {
  const shown = channel.contentState ?? { homeTeam: "Lions", awayTeam: "Bears", homeScore: 0, awayScore: 0 };
  write(channel.id, { event: "update", to: { channel: channel.id }, priority: 10,
    "content-state": typeof shown.homeScore === "number" ? { ...shown, homeScore: shown.homeScore + 1 } : shown });
}

export function writeForAudience(audience) {
  const shown = audience.shown[0]?.contentState ?? { homeTeam: "Lions", awayTeam: "Bears", homeScore: 0, awayScore: 0 };
  const isStart = audience.members > 0 && audience.counts.untouched === audience.members && audience.startMembers > 0;
  const event = { event: isStart ? "start" : "update", to: { audience: audience.name }, priority: 10 };
  if (isStart) Object.assign(event, { "attributes-type": "MatchAttributes", attributes: { home: "Lions", away: "Bears" } });
  event["content-state"] = typeof shown.homeScore === "number" && !isStart ? { ...shown, homeScore: shown.homeScore + 1 } : shown;
  event.alert = isStart ? { title: "Kick-off", body: "The match begins." } : { title: "Goal!", body: "Lions score." };
  write(audience.name, event);
}

// order-1 becomes order-2.
function nextName(name) {
  const parts = /^(.*?)(\d+)$/.exec(name);
  return parts ? parts[1] + (Number(parts[2]) + 1) : `${name}-2`;
}

export function drawAbout(about) {
  if (about.workerPage) {
    byID("worker-page").hidden = false;
    byID("worker-page").firstChild.href = about.workerPage;
  }
  const samples = byID("publish-sample");
  samples.replaceChildren(...about.samples.map((sample, index) => el("option", { value: String(index) }, sample.name)));
  const text = byID("publish-event");
  const begin = () => {
    text.value = pretty(about.samples[Number(samples.value)]?.text ?? "");
    drawTokenHint();
  };
  const isSample = (written) => about.samples.some((sample) => pretty(sample.text) === written);
  samples.onchange = () => {
    const before = text.value;
    begin();
    // What somebody has written is not lost.
    byID("publish-next").replaceChildren(before && !isSample(before) ? el("button", { type: "button", class: "small", onclick: (event) => {
      text.value = before;
      drawTokenHint();
      event.target.remove();
    } }, "Bring back what I had written") : "");
  };
  if (!text.value) begin();
  if (!byID("publish-activity").value) byID("publish-activity").value = "order-1";
  if (!byID("new-activity-id").value) byID("new-activity-id").value = "order-2";
  byID("snippet-list").replaceChildren(
    el("p", { class: "hint" }, `Kafka listens at ${about.bootstrap}; events go to the topic ${about.eventsTopic}.` +
      (about.apns ? ` The simulated APNs takes pushes at ${about.apns}, over TLS.` : "") +
      (about.makesPhones ? " An activity without a phone gets one." : " Register a phone first: this page makes none by itself.")));
}
