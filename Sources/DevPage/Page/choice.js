// Which phone is shown: the one that was chosen, that was published to, or the newest.
import { el, byID, name } from "/elements.js";
import { read, href, go } from "/address.js";
import { isNarrow } from "/layout.js";
import { phoneLabel } from "/phonelist.js";
import { followPhone } from "/publish.js";

export class PhoneChoice {
  // `besideLine` names the phone of a line of the timeline, or with 0 that of what a search has found; 0: none that is here; null: the search is for an activity that is not here.
  constructor(phones, besideLine) {
    Object.assign(this, { phones, besideLine });
    // The newest phone, and the one that was the newest when one was last chosen.
    Object.assign(this, { newest: 0, metNewest: 0 });
    // The activity that was published to here and whose phone is still to come; null: none.
    this.awaited = null;
    // The phone that was shown when a newer one came and somebody was writing; 0: none. And one that is asked for and still to come; 0: none.
    Object.assign(this, { held: 0, coming: 0 });
  }

  // Another process answers.
  clear() { Object.assign(this, { newest: 0, awaited: null, held: 0, coming: 0 }); }

  // A phone has come. `isOffered`: somebody writes, and it does not take the view.
  come(id, isOffered) {
    this.held = isOffered ? this.held || this.newest : 0;
    this.newest = id;
  }

  // The phone that the address names, while it is there; else that of the open line or of the search; else the newest.
  // Returns undefined without a phone, and for a search for an activity that is not here.
  phone() {
    const { phone, entry } = read();
    const beside = phone ? 0 : this.besideLine(Number(entry));
    if (beside === null) return undefined;
    return this.phones.get(Number(phone)) ?? this.phones.get(beside) ?? this.phones.get(this.held) ?? this.phones.get(this.newest) ?? [...this.phones.values()].at(-1);
  }

  // Somebody has chosen a phone.
  choose(id) {
    this.show(id, { tab: isNarrow() ? "phone" : read().tab });
    followPhone(this.phones.get(id), true);
    document.querySelector(`#phone-list [data-phone="${id}"]`)?.focus();
  }

  // The phone is seen as soon as it is here.
  seek(id) {
    this.coming = this.phones.has(id) ? 0 : id;
    if (!this.coming) this.show(id, isNarrow() ? { tab: "phone" } : {});
  }

  // The phone is seen, however many were unfolded. Back leads to the one before.
  show(id, changes = {}) {
    Object.assign(this, { metNewest: this.newest, held: 0 });
    byID("quiet-phones").open = false;
    byID("phones").scrollTop = 0;
    go({ phone: String(id), ...changes });
  }

  // The phone to which an event with this key goes. `isMember`: it is for an audience, and any phone of a member will do; else for the activity.
  // The chosen one, if it is among several; else the newest. One that another has replaced comes last.
  of(activity, isMember = false) {
    const all = [...this.phones.values()].filter((one) => one.activity === activity && Boolean(one.member) === isMember);
    const reached = all.filter((one) => one.verdict?.word !== "replaced");
    const chosen = this.phone();
    return reached.includes(chosen) ? chosen : reached.at(-1) ?? all.at(-1);
  }

  // Somebody has published here and wants to see what a phone makes of it, and goes on writing. The phone may be still to come.
  follow(activity, isMember = false) {
    const phone = this.of(activity, isMember);
    this.awaited = phone ? null : { activity, isMember, beside: read().phone };
    if (phone && phone !== this.phone()) this.show(phone.id);
  }

  // Phones have come. One that is awaited is shown, unless another was chosen meanwhile.
  met(isFirst) {
    if (isFirst) this.metNewest = this.newest;
    if (this.awaited && this.awaited.beside !== read().phone) this.awaited = null;
    if (this.awaited && this.of(this.awaited.activity, this.awaited.isMember)) this.follow(this.awaited.activity, this.awaited.isMember);
    if (this.phones.has(this.coming)) this.seek(this.coming);
  }

  // A link may name a phone that is not here: another is not passed off as it.
  drawGone(shown) {
    const wanted = Number(read().phone);
    const text = wanted && wanted !== shown?.id ? `Phone ${wanted} is not listed here.${shown ? ` This is phone ${shown.id}.` : ""} Search activity:NAME to bring one back.` : "";
    const place = byID("gone-phone");
    if (place.textContent !== text) place.textContent = text;
    place.hidden = !text;
  }

  // A phone that came while another is shown is offered.
  drawNewcomer(shown) {
    if (shown?.id === this.newest) this.metNewest = this.newest;
    const phone = this.newest === this.metNewest ? undefined : this.phones.get(this.newest);
    const place = byID("newcomer");
    place.hidden = !phone;
    const target = phone ? href({ phone: String(phone.id) }) : "";
    if (!phone || place.dataset.drawn === target) return;
    place.dataset.drawn = target;
    place.replaceChildren("A phone has come: ", el("a", { href: target, onclick: (event) => {
      event.preventDefault();
      this.choose(phone.id);
    } }, name(phoneLabel(phone))));
  }
}
