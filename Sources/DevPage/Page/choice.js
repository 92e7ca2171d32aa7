// Which phone is shown: the one that was chosen, that was published to, or the newest.
import { el, byID, name } from "/elements.js";
import { read, href, go } from "/address.js";
import { isNarrow } from "/layout.js";
import { takeKey } from "/publish.js";

export class PhoneChoice {
  // `besideLine` names the phone of a line of the timeline, or with 0 that of what a search has found; 0: none that is here; null: the search is for an activity that is not here.
  constructor(phones, besideLine) {
    Object.assign(this, { phones, besideLine });
    // The newest phone, and the one that was the newest when one was last chosen.
    Object.assign(this, { newest: 0, metNewest: 0 });
    // The activity that was published to here and whose phone is still to come; null: none.
    this.awaited = null;
  }

  // Another process answers.
  clear() { Object.assign(this, { newest: 0, awaited: null }); }

  // The phone that the address names, while it is there; else that of the open line or of the search; else the newest.
  // Returns undefined without a phone, and for a search for an activity that is not here.
  phone() {
    const { phone, entry } = read();
    const beside = phone ? 0 : this.besideLine(Number(entry));
    if (beside === null) return undefined;
    return this.phones.get(Number(phone)) ?? this.phones.get(beside) ?? this.phones.get(this.newest) ?? [...this.phones.values()].at(-1);
  }

  // Somebody has chosen a phone.
  choose(id) {
    const activity = this.phones.get(id)?.activity;
    if (activity) takeKey(activity);
    this.show(id, { tab: isNarrow() ? "phone" : read().tab });
    document.querySelector(`#phone-list [data-phone="${id}"]`)?.focus();
  }

  // The phone is seen, however many were unfolded. Back leads to the one before.
  show(id, changes = {}) {
    this.metNewest = this.newest;
    byID("quiet-phones").open = false;
    byID("phones").scrollTop = 0;
    go({ phone: String(id), ...changes });
  }

  // The phone of an activity: the chosen one, if it is among several.
  of(activity) {
    const chosen = this.phone();
    return chosen?.activity === activity ? chosen : [...this.phones.values()].findLast((one) => one.activity === activity);
  }

  // Somebody has published here and wants to see what a phone makes of it, and goes on writing. The phone may be still to come.
  follow(activity) {
    const phone = this.of(activity);
    this.awaited = phone ? null : { activity, beside: read().phone };
    if (phone && phone !== this.phone()) this.show(phone.id);
  }

  // Phones have come. One that is awaited is shown, unless another was chosen meanwhile.
  met(isFirst) {
    if (isFirst) this.metNewest = this.newest;
    if (this.awaited && this.awaited.beside !== read().phone) this.awaited = null;
    if (this.awaited && this.of(this.awaited.activity)) this.follow(this.awaited.activity);
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
    } }, name(phone.activity || `phone ${phone.id}`)));
  }
}
