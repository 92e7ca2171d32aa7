// Draws the chosen phone, and performs actions on it.
import { el, ask, say, tone, badge, clock, dateNotes, localTimes, name } from "/elements.js";
import { lockScreen, islands, isUp, measure } from "/card.js";
import { remedyButtons } from "/remedies.js";
import { tokenButtons } from "/tokens.js";
import { waitText } from "/timeline.js";
import { href } from "/address.js";
import { phoneLabel } from "/phonelist.js";

// The text, with a link for each listed phone that it names.
function linked(text, phones) {
  return text.split(/(\bphone \d+\b)/).map((part) => phones.has(Number(/^phone (\d+)$/.exec(part)?.[1])) ? el("a", { href: href({ phone: part.slice(6) }) }, part) : part);
}

// The phone's status, what it waits for, and what can be done. It is above the phone, because people look for it first.
function standing(phone, phones, said) {
  const verdict = phone.verdict;
  // The note can take the focus of a button that is removed.
  if (!verdict) return el("p", { class: "note info", tabindex: -1 }, phone.textWithoutPush);
  return el("div", { class: `note ${tone(verdict.word)}`, tabindex: -1 },
    el("p", {}, badge(verdict.word), " ", ...linked(localTimes(verdict.text), phones)),
    verdict.wait ? el("p", { class: "wait" }, waitText(verdict.wait)) : null,
    verdict.remedies?.length ? el("div", { class: "row", role: "group", "aria-label": "What can be done" }, remedyButtons(phone, said)) : null);
}

const relevance = (phone) => phone.relevanceScore === null ? "" : `, relevance ${phone.relevanceScore}`;

const has = (phone, action) => (phone.verdict?.remedies ?? []).some((remedy) => remedy.action === action);

// Least time between two changes for which the card moves, in milliseconds. With more movement it would never rest.
const calmMillis = 1500;

// The panel of a phone. Its parts are made once and filled again, so that a button keeps its focus while the card changes.
export class PhonePanel {
  // `phones` holds all phones by their ids.
  constructor(root, phones) {
    Object.assign(this, { root, phones });
    this.drawnMillis = 0;
    this.title = el("h3", { class: "sr" });
    this.device = el("div", { class: "device" });
    this.islands = el("div", { class: "islands" });
    this.standing = el("div", { class: "phone-says" });
    this.dates = el("div", { class: "phone-says" });
    this.facts = el("p", { class: "phone-says phone-facts" });
    this.answer = el("p", { class: "answer", role: "status" });
    this.token = el("div", { class: "row" });
    this.gaps = el("p", { class: "hint phone-says" });
    this.online = this.button("", () => this.phone.online ? "offline" : "online");
    this.reboot = this.button("Restart it", () => "reboot");
    this.swipe = this.button("Swipe the card away", () => "swipe");
    this.remove = this.button("Remove the app", () => "remove-app");
    this.change = this.button("Change the token", () => "change-token");
    this.register = this.button("Register the new token", () => "register-token");
    this.listen = this.button("", () => this.phone.channel ? "unlisten" : "listen");
    this.actions = el("div", { class: "phone-says" }, this.answer,
      el("div", { class: "row", role: "group", "aria-label": "What happens to the phone" }, this.online, this.reboot, this.swipe, this.remove, this.change, this.register, this.listen));
    new ResizeObserver(() => measure(this.root)).observe(root);
  }

  button(label, action) {
    return el("button", { type: "button", class: "small", onclick: async () => {
      say(this.answer, "");
      try {
        await ask(`/api/phones/${this.phone.id}/${action()}`, { method: "POST" });
      } catch (error) { say(this.answer, error.message, true); }
    } }, label);
  }

  // Shows no phone. `areOthers`: there are phones, but the search is for none of them.
  clear(areOthers = false) {
    this.phone = undefined;
    this.drawn = "";
    this.root.replaceChildren(el("p", { class: "empty" }, areOthers ? "No phone that the search is for. Choose one, or end the search." : "No phone yet. Publish an event, and one comes by itself."));
  }

  draw(phone) {
    const isOther = this.phone?.id !== phone.id;
    this.phone = phone;
    if (isOther) {
      this.root.replaceChildren(this.title, this.standing, this.device, this.gaps, this.dates, this.actions, this.islands, this.facts, el("div", { class: "phone-says" }, this.token));
      this.token.replaceChildren(...tokenButtons(phone.id, phone.activity, this.answer));
      say(this.answer, "");
    }
    this.listen.hidden = phone.swiped || !(phone.channel || this.canListen);
    this.listen.textContent = phone.channel ? "Stop listening" : "Listen to the newest channel";
    // Draw only if the phone or a card beside it has changed.
    const others = phone.beside.map((id) => this.phones.get(id)).filter(Boolean);
    const beside = others.filter(isUp);
    const text = JSON.stringify([phone, beside]);
    if (text === this.drawn) return;
    this.drawn = text;
    this.title.replaceChildren(...name(phone.activity ? phoneLabel(phone) : `Phone ${phone.id}`));
    this.device.className = phone.online ? "device" : "device away";
    this.device.replaceChildren(lockScreen(phone, beside, Date.now() - this.drawnMillis > calmMillis));
    this.drawnMillis = Date.now();
    this.islands.replaceChildren(...islands(phone, beside));
    this.drawStanding(phone);
    // If a Swift type says which values are dates, right dates are not mentioned, unless one of the dates is doubtful.
    const dates = phone.isTypeKnown && !phone.dates.some((date) => date.isTrouble) ? [] : phone.dates;
    this.dates.replaceChildren(...dateNotes(dates));
    this.dates.hidden = !dates.length;
    const missing = phone.face?.missing ?? [];
    this.gaps.hidden = !missing.length;
    this.gaps.textContent = missing.length ? `The template names ${missing.join(", ")}: the content has no such key. See App.` : "";
    this.facts.textContent = `Phone ${phone.id}${phone.member ? `, ${phoneLabel(phone)}` : ""}${phone.activity ? "" : ", activity not known: no event with its token is listed"}, app ${phone.app || "unknown"}, token ${phone.token}${phone.tokenHash ? ` (#${phone.tokenHash})` : ""}, alerts ${phone.alertCount}` + (phone.alertText ? `, the newest “${phone.alertText.title}”` : "") +
      (phone.channel ? `, listens to ${phone.channel}` : "") +
      relevance(phone) +
      (phone.staleDate === null ? "" : `, stale from ${clock(phone.staleDate * 1000)}`) +
      (others.length ? `; on one device with ${others.map((one) => phoneLabel(one) + relevance(one)).join("; ")}` : "");
    this.online.textContent = phone.online ? "Take it offline" : "Bring it back";
    const focused = document.activeElement;
    this.online.hidden = phone.rebooting;
    this.reboot.hidden = phone.rebooting;
    this.swipe.hidden = this.remove.hidden = phone.swiped;
    this.change.hidden = phone.swiped || has(phone, "renew-token");
    this.register.hidden = phone.swiped || !phone.hasUntoldToken || !phone.activity || has(phone, "register-token");
    if (focused.hidden && this.actions.contains(focused)) this.standing.firstElementChild.focus();
    measure(this.root);
  }

  drawStanding(phone) {
    const focused = this.standing.contains(document.activeElement) ? document.activeElement.textContent : "";
    this.standing.replaceChildren(standing(phone, this.phones, this.answer));
    if (focused) ([...this.standing.querySelectorAll("button")].find((button) => button.textContent === focused) ?? this.standing.firstElementChild).focus();
  }
}
