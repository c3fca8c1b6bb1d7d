"use strict";
// The data: `lines` and `partner` by instruction number, the left module first; `sections` with groups of
// differences, each [left, right, kinds, notes, old line or 0, new line or 0, old changed parts, new changed parts].
const data = JSON.parse(document.getElementById("data").textContent);
const ALIKE = 2, STEP = 50, OPEN_ENTRIES = 200;
const LEFT = 0, RIGHT = 1, KINDS = 2, NOTES = 3, OLD = 4, NEW = 5, OLD_PARTS = 6, NEW_PARTS = 7;
const byId = id => document.getElementById(id);
const search = byId("search"), main = byId("main"), contents = byId("contents"), count = byId("count");
// Changes that do not affect the computed values are shown initially only if there are no other
// changes.
const isAside = kind => data.asides.includes(kind);
const chosen = new Set(data.kinds.every(isAside) ? data.kinds : data.kinds.filter(kind => !isAside(kind)));
const texts = new Map();
let words = [];

function element(tag, style, ...children) {
  const node = document.createElement(tag);
  if (style) node.className = style;
  node.append(...children);
  return node;
}

function link(target, text) {
  const node = element("a", "", text);
  node.href = "#" + target;
  return node;
}

// ---- filters and texts -------------------------------------------------------------------------------------------------

const lineOf = (entry, side) => entry[side ? NEW : OLD] || (entry[side] < 0 ? "" : data.lines[entry[side]]);

function matches(entry) {
  if (!entry[KINDS].some(kind => chosen.has(data.kinds[kind]))) return false;
  if (!words.length) return true;
  if (!texts.has(entry)) texts.set(entry, (lineOf(entry, 0) + "\n" + lineOf(entry, 1) + "\n" + entry[NOTES].join("\n")).toLowerCase());
  return words.every(word => texts.get(entry).includes(word));
}

const shownGroups = section => section.groups.map(group => group.filter(matches)).filter(group => group.length);
const total = groups => groups.reduce((sum, group) => sum + group.length, 0);

function counts(groups) {
  const numbers = { plus: 0, minus: 0, changed: 0 };
  for (const group of groups) for (const entry of group) numbers[entry[LEFT] < 0 ? "plus" : entry[RIGHT] < 0 ? "minus" : "changed"]++;
  const marks = { plus: "+", minus: "\u2212", changed: "~" };
  const parts = Object.keys(numbers).filter(key => numbers[key]).map(key => element("span", key, marks[key] + numbers[key].toLocaleString("en") + " "));
  return element("span", "counts", ...parts);
}

// ---- differences ---------------------------------------------------------------------------------------------------

function lineElement(entry, side, isOneLine) {
  const text = lineOf(entry, side);
  if (!text) return element("pre", "none");
  const pieces = [];
  let last = 0;
  for (const [start, end] of entry[side ? NEW_PARTS : OLD_PARTS] || []) {
    pieces.push(text.slice(last, start), element("mark", "", text.slice(start, end)));
    last = end;
  }
  pieces.push(text.slice(last));
  // The name links to the instruction in its module.
  const name = pieces[0].match(/^(ROOT )?[^ ]+(?= = )/);
  if (name && data.listing) {
    pieces[0] = pieces[0].slice(name[0].length);
    pieces.unshift(link("i" + entry[side], name[0]));
  }
  return element("pre", isOneLine ? "" : side ? "new" : "old", ...pieces);
}

function entryElement(entry) {
  const node = element("div", "entry");
  node.id = "d" + Math.max(entry[LEFT], entry[RIGHT]);
  const isOneLine = entry[KINDS].every(kind => data.invisible.includes(data.kinds[kind]));
  const notes = element("div", "notes", ...entry[KINDS].map(kind => element("b", "", data.kinds[kind])), " " + entry[NOTES].join("; "));
  node.append(element("div", "sides", lineElement(entry, 0, isOneLine), lineElement(entry, 1, isOneLine)), notes);
  return node;
}

function addGroup(body, group) {
  const first = group.length <= ALIKE + 1 || words.length ? Math.min(group.length, words.length ? STEP : group.length) : ALIKE;
  let shown = 0;
  const button = element("button", "more");
  const add = number => {
    const next = group.slice(shown, shown + number).map(entryElement);
    shown += next.length;
    if (button.parentNode) button.before(...next); else body.append(...next);
    button.textContent = "and " + (group.length - shown).toLocaleString("en") + " more like this";
    if (shown === group.length) button.remove();
  };
  add(first);
  if (shown < group.length) {
    button.onclick = () => add(STEP);
    button.showAll = () => add(group.length);
    body.append(button);
  }
}

function sectionElement(section, number) {
  const groups = shownGroups(section);
  const node = element("details", "computation");
  node.id = "s" + number;
  node.append(element("summary", "", section.title, element("i", "", section.remark), counts(groups)));
  // The content of a closed section is created when it is opened.
  const fill = () => {
    if (node.children.length > 1) return;
    for (const group of groups) addGroup(node, group);
    if (section.similar.length) {
      const names = [];
      for (const other of section.similar) {
        const anchor = link("s" + other, data.sections[other].title);
        anchor.onclick = () => showAlike(other);
        names.push(names.length ? ", " : "", anchor);
      }
      node.append(element("div", "similar", "and the same in " + section.similar.length.toLocaleString("en") + " more: ", ...names));
    }
  };
  node.addEventListener("toggle", () => node.open && fill());
  node.fill = fill;
  return node;
}

// Computations with the same differences as another computation are shown on demand.
const unfolded = new Set();
function showAlike(number) {
  unfolded.add(number);
  update();
}

function moduleElement() {
  const items = data.module.map(line => element("li", "", line));
  const node = element("details", "computation", element("summary", "", "HloModule"), element("ul", "list", ...items));
  node.open = items.length <= 12;
  return node;
}

function update() {
  words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  main.replaceChildren();
  contents.replaceChildren();
  let shown = 0, all = 0;
  if (data.module.length && !words.length) main.append(moduleElement());
  data.sections.forEach((section, number) => {
    all += total(section.groups);
    const size = total(shownGroups(section));
    shown += size;
    if (!size && (words.length || section.groups.length)) return;
    if (section.isSimilar && !words.length && !unfolded.has(number)) return;
    const node = sectionElement(section, number);
    const isFew = main.querySelectorAll(".entry").length < OPEN_ENTRIES;
    node.open = isFew && !section.isOneSided;
    if (node.open) node.fill();
    main.append(node);
    const anchor = link(node.id, "");
    anchor.append(element("span", "", section.title), counts(shownGroups(section)));
    anchor.title = section.title;
    contents.append(anchor);
  });
  count.value = all ? shown.toLocaleString("en") + " of " + all.toLocaleString("en") + " differences" : "";
  if (data.listing) main.append(listing);
}

// ---- both modules --------------------------------------------------------------------------------------------------

function lineInModule(number) {
  const other = data.partner[number], node = element("a", data.state[number], data.lines[number]);
  node.id = "i" + number;
  node.href = "#" + (other < 0 ? "d" : "i") + (other < 0 ? number : other);
  node.onmouseenter = node.onmouseleave = event => {
    const counterpart = other < 0 ? null : byId("i" + other);
    if (counterpart) counterpart.classList.toggle("here", event.type === "mouseenter");
  };
  return node;
}

function computationElement([name, start, end]) {
  const node = element("details", "", element("summary", "", name + " (" + (end - start).toLocaleString("en") + ")"));
  node.fill = () => {
    for (let k = start; k < end && node.children.length < 2 + end - start; k++) if (!byId("i" + k)) node.append(lineInModule(k));
  };
  node.addEventListener("toggle", () => node.open && node.children.length === 1 && node.fill());
  node.range = [start, end];
  return node;
}

function listingElement() {
  const node = element("details", "computation", element("summary", "", "Both modules", element("i", "", "each line links to its counterpart")));
  const sides = [0, 1].map(side => element("div", "", ...data.computations[side].map(computationElement)));
  const box = element("input");
  box.type = "checkbox";
  box.onchange = () => both.classList.toggle("only-changes", box.checked);
  const both = element("div", "both", ...sides);
  node.append(element("div", "tools", element("label", "", box, " only differences")), both);
  node.addEventListener("toggle", () => {
    if (!node.open || both.querySelector("details[open]")) return;
    sides.forEach((side, k) => { side.children[data.entries[k]].open = true; });
  });
  node.show = number => {
    for (const side of sides) for (const computation of side.children) {
      if (computation.range[0] <= number && number < computation.range[1]) {
        computation.open = true;
        if (computation.children.length === 1) computation.fill();
        const line = byId("i" + number);
        side.scrollTop += line.getBoundingClientRect().top - side.getBoundingClientRect().top - side.clientHeight / 3;
        for (const marked of side.querySelectorAll(".here")) marked.classList.remove("here");
        line.classList.add("here");
      }
    }
  };
  return node;
}

// ---- links ---------------------------------------------------------------------------------------------------------

function showEntry(number) {
  const isIt = entry => Math.max(entry[LEFT], entry[RIGHT]) === number;
  const section = data.sections.findIndex(({ groups }) => groups.some(group => group.some(isIt)));
  if (section < 0) return null;
  if (data.sections[section].isSimilar) unfolded.add(section);
  if (!byId("s" + section)) update();
  const node = byId("s" + section);
  if (!node) return null;
  node.open = true;
  node.fill();
  for (const button of byId("d" + number) ? [] : node.querySelectorAll(".more")) button.showAll();
  return byId("d" + number);
}

function follow() {
  const hash = decodeURIComponent(location.hash.slice(1));
  for (const node of document.querySelectorAll(".entry.target")) node.classList.remove("target");
  if (hash.startsWith("search=")) {
    search.value = hash.slice(7);
    update();
  } else if (/^d\d+$/.test(hash)) {
    const node = showEntry(Number(hash.slice(1)));
    if (!node) return;
    node.classList.add("target");
    node.scrollIntoView({ block: "center" });
  } else if (/^i\d+$/.test(hash) && data.listing) {
    const number = Number(hash.slice(1)), other = data.partner[number];
    listing.open = true;
    listing.show(number);
    if (other >= 0) listing.show(other);
    listing.scrollIntoView({ block: "end" });
  } else if (/^s\d+$/.test(hash)) {
    const node = byId(hash);
    if (!node) return;
    node.open = true;
    node.fill();
    node.scrollIntoView();
  }
}

// ---- controls ------------------------------------------------------------------------------------------------------

for (const kind of data.kinds) {
  const button = element("button", "", kind + " ", element("span", "", data.counts[kind].toLocaleString("en")));
  button.setAttribute("aria-pressed", String(chosen.has(kind)));
  button.title = data.meanings[kind] + "; double-click to see only these";
  const show = () => {
    for (const other of byId("kinds").children) other.setAttribute("aria-pressed", String(chosen.has(other.dataset.kind)));
    update();
  };
  button.dataset.kind = kind;
  button.onclick = () => { if (!chosen.delete(kind)) chosen.add(kind); show(); };
  button.ondblclick = () => {
    const isOnly = chosen.size === 1 && chosen.has(kind);
    chosen.clear();
    for (const name of isOnly ? data.kinds : [kind]) chosen.add(name);
    show();
  };
  byId("kinds").append(button, " ");
}

let timer = 0;
search.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(update, 120); });
addEventListener("keydown", event => {
  if (event.target === search) {
    if (event.key === "Escape") { search.value = ""; search.blur(); update(); }
  } else if (event.key === "/") {
    event.preventDefault();
    search.focus();
  } else if (event.key === "n" || event.key === "p") {
    // The next or the previous difference.
    const entries = [...document.querySelectorAll(".entry")], middle = innerHeight / 2;
    const tops = entries.map(node => node.getBoundingClientRect().top + node.offsetHeight / 2 - middle);
    const next = event.key === "n" ? entries[tops.findIndex(top => top > 8)] : entries[tops.findLastIndex(top => top < -8)];
    if (next) next.scrollIntoView({ block: "center" });
  }
});
addEventListener("hashchange", follow);
const listing = data.listing ? listingElement() : null;
update();
follow();
