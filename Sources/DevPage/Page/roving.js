// One tab stop for many similar elements: Tab leads to one of them, and arrow keys lead to the others.
export class Roving {
  // `home` contains the elements that `selector` finds. `preferred` says which of them Tab leads to at first.
  constructor(home, selector, preferred) {
    Object.assign(this, { home, selector, preferred });
    home.addEventListener("focusin", ({ target }) => { if (target.matches(selector)) this.stay(target); });
  }

  // Makes an element the tab stop.
  stay(element) {
    this.at = element;
    this.draw();
  }

  // Sets the tab stop again. Call this after elements have changed.
  draw() {
    const all = [...this.home.querySelectorAll(this.selector)];
    const stop = all.includes(this.at) ? this.at : all.find(this.preferred) ?? all[0];
    for (const one of all) {
      const index = one === stop ? 0 : -1;
      if (one.tabIndex !== index) one.tabIndex = index;
    }
  }
}
