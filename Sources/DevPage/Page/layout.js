// Decides which views are side by side and which are tabs, depending on the window's width.
import { el, byID } from "/elements.js";
import { read, href, go } from "/address.js";

// All views, with the labels of their tabs.
const views = [["timeline", "Timeline"], ["phone", "Phone"], ["publish", "Publish"], ["audiences", "Audiences"], ["channels", "Channels"],
  ["faults", "Faults"], ["app", "App"], ["numbers", "Numbers"]];
const [wide, middle] = [matchMedia("(min-width: 72rem)"), matchMedia("(min-width: 52rem)")];

const always = () => wide.matches ? ["phone", "timeline"] : middle.matches ? ["phone"] : [];
const tabs = () => views.filter(([name]) => !always().includes(name));

// The tab that the address names, or the first.
export const current = () => (tabs().find(([name]) => name === read().tab) ?? tabs()[0])[0];
export const isSeen = (name) => always().includes(name) || current() === name;
export const isNarrow = () => !middle.matches;

// Shows a view: opens its tab if the view is behind one.
export function show(name, isStep = true) { if (!isSeen(name)) go({ tab: name }, isStep); }

export function drawLayout() {
  const [nav, main] = [byID("tabs"), byID("main")];
  const chosen = current();
  // Put the tabs where they are seen, so that the Tab key reaches them in that order.
  const place = wide.matches ? byID("tools") : middle.matches ? byID("timeline") : main.firstElementChild;
  if (nav !== place && nav.nextElementSibling !== place) main.insertBefore(nav, place);
  const links = tabs().map(([name, label]) => [label, href({ tab: name }), name === chosen]);
  const text = JSON.stringify(links);
  if (nav.dataset.drawn !== text) {
    nav.dataset.drawn = text;
    const focused = document.activeElement?.parentElement === nav ? document.activeElement.textContent : "";
    nav.replaceChildren(...links.map(([label, target, isCurrent]) => el("a", { href: target, "aria-current": isCurrent ? "page" : null }, label)));
    if (focused) [...nav.children].find((link) => link.textContent === focused)?.focus();
  }
  for (const section of document.querySelectorAll("[data-view]")) section.hidden = !isSeen(section.dataset.view);
  byID("tools").hidden = !document.querySelector("#tools > section:not([hidden])");
  return chosen;
}

// Calls `act` when the window becomes wide or narrow enough for another layout.
export function followRoom(act) { for (const query of [wide, middle]) query.addEventListener("change", act); }
