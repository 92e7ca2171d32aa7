// Decides which phone is shown: the one that was chosen, the one that was published to, or the newest.
import { el, byID, name } from "/elements.js";
import { read, href, go } from "/address.js";
import { isNarrow } from "/layout.js";
import { phoneLabel } from "/phonelist.js";
import { followPhone } from "/publish.js";

export class PhoneChoice {
  // `besideLine` gives the id of the phone of a line in the timeline; for line 0, of the phone that a search has found. 0: no listed phone; null: the search is for an activity without a listed phone.
  constructor(phones, besideLine) {
    Object.assign(this, { phones, besideLine });
    // Ids of the newest phone, and of the phone that was the newest when one was last chosen.
    Object.assign(this, { newest: 0, metNewest: 0 });
    // The activity that was published to on this page and whose phone has not come yet; null: none.
    this.awaited = null;
    // `held`: the phone that stays shown although a newer one came, because somebody was writing. `coming`: a phone that is asked for and has not come yet. 0: none.
    Object.assign(this, { held: 0, coming: 0 });
  }

  // Forgets all phones, because another process answers now.
  clear() { Object.assign(this, { newest: 0, awaited: null, held: 0, coming: 0 }); }

  // Adds a phone that has come. `isOffered`: somebody is writing, so the phone is only offered.
  come(id, isOffered) {
    this.held = isOffered ? this.held || this.newest : 0;
    this.newest = id;
  }

  // The phone to show: the one that the address names, if it is listed; else the phone of the open line or of the search; else the newest.
  // undefined: there is no phone, or the search is for an activity without a listed phone.
  phone() {
    const { phone, entry } = read();
    const beside = phone ? 0 : this.besideLine(Number(entry));
    if (beside === null) return undefined;
    return this.phones.get(Number(phone)) ?? this.phones.get(beside) ?? this.phones.get(this.held) ?? this.phones.get(this.newest) ?? [...this.phones.values()].at(-1);
  }

  // Shows the phone that somebody has chosen.
  choose(id) {
    this.show(id, { tab: isNarrow() ? "phone" : read().tab });
    followPhone(this.phones.get(id), true);
    document.querySelector(`#phone-list [data-phone="${id}"]`)?.focus();
  }

  // Shows a phone, or waits until it has come.
  seek(id) {
    this.coming = this.phones.has(id) ? 0 : id;
    if (!this.coming) this.show(id, isNarrow() ? { tab: "phone" } : {});
  }

  // Shows a phone, and folds the long list of phones. Back returns to the previous phone.
  show(id, changes = {}) {
    Object.assign(this, { metNewest: this.newest, held: 0 });
    byID("quiet-phones").open = false;
    byID("phones").scrollTop = 0;
    go({ phone: String(id), ...changes });
  }

  // The phone to which an event with this key goes. `isMember`: the event is for an audience, and the phone is one of its members.
  // If several phones have the key, the chosen one gets the event, or else the newest. A phone that another has replaced comes last.
  of(activity, isMember = false) {
    const all = [...this.phones.values()].filter((one) => one.activity === activity && Boolean(one.member) === isMember);
    const reached = all.filter((one) => one.verdict?.word !== "replaced");
    const chosen = this.phone();
    return reached.includes(chosen) ? chosen : reached.at(-1) ?? all.at(-1);
  }

  // Shows the phone of an event that was published on this page, as soon as the phone has come.
  follow(activity, isMember = false) {
    const phone = this.of(activity, isMember);
    this.awaited = phone ? null : { activity, isMember, beside: read().phone };
    if (phone && phone !== this.phone()) this.show(phone.id);
  }

  // Shows the phone to which pushes of a shown phone's activity go from now on, unless somebody has a line open.
  replace(id, other) {
    if (read().phone === String(id) && !read().entry && this.phones.has(other)) this.show(other);
  }

  // Called when phones have come. Shows the awaited phone, unless another was chosen meanwhile.
  met(isFirst) {
    if (isFirst) this.metNewest = this.newest;
    if (this.awaited && this.awaited.beside !== read().phone) this.awaited = null;
    if (this.awaited && this.of(this.awaited.activity, this.awaited.isMember)) this.follow(this.awaited.activity, this.awaited.isMember);
    if (this.phones.has(this.coming)) this.seek(this.coming);
  }

  // Says so if the address names a phone that is not listed, because another phone is shown then.
  drawGone(shown) {
    const wanted = Number(read().phone);
    const text = wanted && wanted !== shown?.id ? `Phone ${wanted} is not listed here.${shown ? ` This is phone ${shown.id}.` : ""} Search activity:NAME to bring one back.` : "";
    const place = byID("gone-phone");
    if (place.textContent !== text) place.textContent = text;
    place.hidden = !text;
  }

  // Offers a phone that came while another is shown.
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
