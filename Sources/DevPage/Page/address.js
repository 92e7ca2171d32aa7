// The page's address: the chosen phone, the search, the open entry and the tab. Back goes back, and a link can be sent.
// What one sees has an address: #phone=3&search=status:410&entry=12&tab=faults. Back goes back, and a link can be sent.
const names = ["phone", "search", "only", "entry", "after", "tab"];

export function read() {
  const given = new URLSearchParams(location.hash.slice(1));
  return Object.fromEntries(names.map((name) => [name, given.get(name) ?? ""]));
}

// A colon stays readable.
const spell = (value) => encodeURIComponent(value).replaceAll("%3A", ":");

function format(values) {
  const parts = names.filter((name) => values[name]).map((name) => `${name}=${spell(values[name])}`);
  return parts.length ? `#${parts.join("&")}` : "";
}

// The address with these changes: for links.
export const href = (changes) => format({ ...read(), ...changes }) || "#";

let follow = () => {};
// Who draws by the address is told of each change, also of those by Back and by links.
export function onChange(act) {
  follow = act;
  window.addEventListener("popstate", act);
}

// `isStep` false: Back does not lead to what was there before.
export function go(changes, isStep = true) {
  const next = format({ ...read(), ...changes });
  if (next === format(read())) return;
  history[isStep ? "pushState" : "replaceState"](null, "", next || location.pathname);
  follow();
}
