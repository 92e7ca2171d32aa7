// One tab stop for many alike: Tab leads to one of them, and arrows lead on to the others.
export class Roving {
  // `home` holds those that `selector` finds. `preferred` finds the one that Tab leads to before any had the focus.
  constructor(home, selector, preferred) {
    Object.assign(this, { home, selector, preferred });
    home.addEventListener("focusin", ({ target }) => { if (target.matches(selector)) this.stay(target); });
  }

  // Tab leads to this one from now on.
  stay(element) {
    this.at = element;
    this.draw();
  }

  // After what is there has changed.
  draw() {
    const all = [...this.home.querySelectorAll(this.selector)];
    const stop = all.includes(this.at) ? this.at : all.find(this.preferred) ?? all[0];
    for (const one of all) {
      const index = one === stop ? 0 : -1;
      if (one.tabIndex !== index) one.tabIndex = index;
    }
  }
}
