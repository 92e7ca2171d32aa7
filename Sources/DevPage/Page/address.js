// The page's address has the chosen phone, the search, the open entry and the tab: #phone=3&search=status:410&entry=12&tab=faults.
// The browser's Back returns to the previous view, and a link to a view can be sent to others.
const names = ["phone", "search", "only", "entry", "after", "tab"];

export function read() {
  const given = new URLSearchParams(location.hash.slice(1));
  return Object.fromEntries(names.map((name) => [name, given.get(name) ?? ""]));
}

// Encodes a value for the address. A colon stays as it is, so that people can read the address.
const spell = (value) => encodeURIComponent(value).replaceAll("%3A", ":");

function format(values) {
  const parts = names.filter((name) => values[name]).map((name) => `${name}=${spell(values[name])}`);
  return parts.length ? `#${parts.join("&")}` : "";
}

// The current address with these changes, for links.
export const href = (changes) => format({ ...read(), ...changes }) || "#";

let follow = () => {};
// Calls `act` at each change of the address, also at changes by Back and by links.
export function onChange(act) {
  follow = act;
  window.addEventListener("popstate", act);
}

// Changes the address. With `isStep` false, Back does not return to the address before the change.
export function go(changes, isStep = true) {
  const next = format({ ...read(), ...changes });
  if (next === format(read())) return;
  history[isStep ? "pushState" : "replaceState"](null, "", next || location.pathname);
  follow();
}
