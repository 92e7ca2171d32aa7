"""Looks at a page in Chromium as a person would who cannot see or point well: contrast, names, focus, widths, scroll bars."""

import base64
import os

# Contrast of every text, by the colours below it. A gradient counts with each of its colours.
AUDIT = r"""
(() => {
  const faults = [];
  const parse = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
  const over = (top, below) => { const a = top[3] ?? 1; return [0, 1, 2].map((i) => top[i] * a + below[i] * (1 - a)); };
  const luminance = (color) => {
    const [r, g, b] = color.slice(0, 3).map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (one, other) => {
    const [a, b] = [luminance(one), luminance(other)].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  };
  const backgrounds = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const style = getComputedStyle(at);
      const gradient = style.backgroundImage.match(/rgba?\([^)]*\)/g);
      if (style.backgroundImage.includes("gradient") && gradient) return gradient.map(parse);
      const color = parse(style.backgroundColor);
      if ((color[3] ?? 1) === 1) return [color];
      if (color[3] > 0) return backgrounds(at.parentElement).map((below) => over(color, below));
    }
    return [[255, 255, 255]];
  };
  const isSeen = (element) => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) && element.getClientRects().length > 0;
  const check = (element, text, colorText) => {
    const style = getComputedStyle(element);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    for (const below of backgrounds(element)) {
      const found = ratio(over(parse(colorText), below), below);
      if (found < (isLarge ? 3 : 4.5)) faults.push(`contrast ${found.toFixed(2)} of “${text.trim().slice(0, 40)}” (${element.tagName} ${element.className})`);
    }
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let count = 0;
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !isSeen(element) || ["SCRIPT", "STYLE", "NOSCRIPT"].includes(element.tagName)) continue;
    count += 1;
    check(element, walker.currentNode.data, getComputedStyle(element).color);
  }
  for (const field of document.querySelectorAll("input, select, textarea")) if (isSeen(field)) check(field, field.value || "a field", getComputedStyle(field).color);
  // What a field is told from its surroundings by: 3 to 1.
  for (const field of document.querySelectorAll("input:not([type=checkbox]), select, textarea")) {
    if (isSeen(field) && ratio(parse(getComputedStyle(field).borderTopColor), backgrounds(field.parentElement)[0]) < 3) faults.push(`the border of ${field.id} is faint`);
  }
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  for (const id of new Set(ids)) if (ids.filter((other) => other === id).length > 1) faults.push(`the id ${id} is there twice`);
  for (const element of document.querySelectorAll("[aria-labelledby], [aria-describedby]")) {
    for (const id of `${element.getAttribute("aria-labelledby") ?? ""} ${element.getAttribute("aria-describedby") ?? ""}`.trim().split(/\s+/)) {
      if (!document.getElementById(id)) faults.push(`nothing has the id ${id}`);
    }
  }
  for (const element of document.querySelectorAll("label[for]")) if (!document.getElementById(element.htmlFor)) faults.push(`a label is for ${element.htmlFor}`);
  if (document.documentElement.lang !== "en") faults.push("the page names no language");
  let level = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4")) {
    if (!isSeen(heading)) continue;
    if (Number(heading.tagName[1]) > level + 1) faults.push(`“${heading.textContent}” skips a level of headings`);
    level = Number(heading.tagName[1]);
  }
  const width = document.scrollingElement.scrollWidth;
  if (width > innerWidth) faults.push(`the page is ${width} pixels wide, the window ${innerWidth}`);
  for (const button of document.querySelectorAll("button, summary")) {
    const box = button.getBoundingClientRect();
    if (isSeen(button) && (box.width < 24 || box.height < 24)) faults.push(`“${button.textContent}” is smaller than 24 pixels`);
  }
  // One scroll bar a column, and none within another.
  const scrolls = (element) => element.scrollHeight > element.clientHeight + 1 && ["auto", "scroll"].includes(getComputedStyle(element).overflowY);
  const page = document.scrollingElement;
  const isPageScrolled = page.scrollHeight > page.clientHeight + 1 && getComputedStyle(document.body).overflowY !== "hidden";
  for (const element of document.querySelectorAll("body *")) {
    if (element.tagName === "TEXTAREA" || !isSeen(element) || !scrolls(element)) continue;
    let outer = element.parentElement;
    while (outer && outer !== document.body && !scrolls(outer)) outer = outer.parentElement;
    if (isPageScrolled || (outer && outer !== document.body)) faults.push(`${element.id || element.className} scrolls within something that scrolls`);
  }
  return { count, faults };
})()
"""


# Name, width, height: two windows of a desktop, a small one, and a phone.
WINDOWS = (("desktop", 1440, 900), ("laptop", 1280, 720), ("tablet", 1024, 768), ("phone", 390, 844))


def set_window(browser, name, scheme="light"):
    width, height = next((width, height) for window, width, height in WINDOWS if window == name)
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=name == "phone")
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])


def look_at(browser, faults, pictures, name, views=("",), texts_min=50):
    """In each window, light and dark, each view: what its address is after the `#`."""
    for window, _, _ in WINDOWS:
        for view in views:
            for scheme in ("light", "dark"):
                set_window(browser, window, scheme)
                if view:
                    browser.run(f"location.hash = '#{view}'")
                    browser.until(f"document.querySelector('#tabs a[aria-current]').hash.includes({view!r}) || {view!r} === 'tab=timeline' || {view!r} === 'tab=phone'", f"the view {view}")
                where = "-".join(filter(None, [name, view.replace("tab=", ""), window, scheme]))
                audit(browser, faults, where, texts_min)
                if pictures:
                    keep_picture(browser, pictures, where)
            if window == "desktop":
                tab_through(browser, faults)
    set_window(browser, "desktop")


def audit(browser, faults, where, texts_min):
    found = browser.run(AUDIT)
    if found["count"] < texts_min:
        faults.append(f"{where}: only {found['count']} texts were looked at")
    faults.extend(f"{where}: {fault}" for fault in found["faults"])
    for node in browser.call("Accessibility.getFullAXTree")["nodes"]:
        role = node.get("role", {}).get("value")
        if node.get("ignored") or role not in ("meter", "button", "link", "textbox", "searchbox", "combobox", "checkbox", "progressbar"):
            continue
        if not node.get("name", {}).get("value", "").strip():
            faults.append(f"{where}: a {role} has no name")


def keep_picture(browser, directory, name):
    """What the window shows."""
    os.makedirs(directory, exist_ok=True)
    picture = browser.call("Page.captureScreenshot", format="png")["data"]
    with open(os.path.join(directory, f"{name}.png"), "wb") as file:
        file.write(base64.b64decode(picture))


def tab_through(browser, faults):
    """Everything that can be pressed is reached by Tab, or by arrows from what is, and shows that it is."""
    # Lines of the timeline and phones: one of each is a tab stop.
    for stops in ("#entries summary", "#phones .chips button"):
        count = browser.run(f"(() => {{ const all = [...document.querySelectorAll('{stops}')].filter((one) => one.checkVisibility()); return all.length ? all.filter((one) => one.tabIndex >= 0).length : 1; }})()")
        if count != 1:
            faults.append(f"{count} of {stops} are tab stops")
    pressable = "[...document.querySelectorAll('button, a[href], input, select, textarea, summary')].filter((one) => one.checkVisibility() && !one.disabled && !(one.tabIndex < 0 && one.matches('#entries summary, #phones .chips button')))"
    wanted = browser.run(f"(window.wanted = {pressable}).length")
    browser.run("document.activeElement?.blur(); window.reached = new Set(); window.faint = []; document.body.tabIndex = -1; document.body.focus()")
    # Once around, and again to what has come into view meanwhile. What comes later still is not judged: the page changes by itself.
    for _ in range(wanted + 40):
        browser.press("Tab", 9)
        browser.run(
            "(() => { const one = document.activeElement; if (!one || one === document.body) return; window.reached.add(one); "
            "const style = getComputedStyle(one); if (style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 2) window.faint.push(one.outerHTML.slice(0, 80)); })()")
    missed = browser.run(f"{pressable}.filter((one) => window.wanted.includes(one) && !window.reached.has(one)).map((one) => one.outerHTML.slice(0, 80))")
    faults.extend(f"Tab does not reach {one}" for one in missed)
    faults.extend(f"focus does not show on {one}" for one in browser.run("window.faint"))
