// Draws the layout on a canvas and implements the controls.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = id => document.getElementById(id);
const canvas = byId("canvas"), context = canvas.getContext("2d"), search = byId("search"), colorChoice = byId("color");
const structure = structureOf(data);
const { instructions, groups } = data;
const MAX_RESULTS = 100, MAX_OPCODES = 12, MAX_ROWS = 30, MAX_CHILDREN = 5, MAX_DEPTH = 6, MIN_SHARE = 0.04, MIN_SHOWN_SHARE = 0.01, MAX_LAYERS = 2, MIN_OPEN_SHARE = 0.012, MIN_TEXT_SCALE = 0.42, MAX_SCALE = 3, MIN_READABLE_SCALE = 0.5;
let root = data.root, open = initiallyOpen(structure, root, data.expand);
let layout = null, scale = 1, shiftX = 0, shiftY = 0, selected = null, found = new Set(), colors = new Map(), isWaiting = false, isStarted = false;

// ---- amounts -------------------------------------------------------------------------------------------------------

const measure = () => colorChoice.value === "flops" ? "flops" : "bytes";
const sums = { bytes: [], flops: [] };
function amountOf(box) {
  if (box.instruction >= 0) return instructions[measure()][box.instruction];
  return amountOfGroup(box.group);
}
function amountOfGroup(group) {
  const known = sums[measure()];
  if (known[group] === undefined) known[group] = structure.members(group).reduce((sum, x) => sum + instructions[measure()][x], 0);
  return known[group];
}

function formatAmount(amount) {
  const units = measure() === "bytes" ? ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] : ["flops", "Kflops", "Mflops", "Gflops", "Tflops", "Pflops"];
  const step = measure() === "bytes" ? 1024 : 1000;
  let unit = 0;
  while (amount >= step && unit < units.length - 1) { amount /= step; unit++; }
  return amount.toLocaleString("en", { maximumFractionDigits: unit ? 1 : 0 }) + " " + units[unit];
}

const formatShare = share => (100 * share).toFixed(share < 0.1 ? 1 : 0) + "%";

// ---- colors --------------------------------------------------------------------------------------------------------

const GROUP_COLOR = "#e6eaf0";
const countText = (number, noun) => number.toLocaleString("en") + " " + noun + (number === 1 ? "" : "s");

// Returns the values in a column with their counts, most frequent first.
function frequencies(members, column) {
  const counts = new Map();
  for (const x of members) counts.set(instructions[column][x], (counts.get(instructions[column][x]) || 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}

function updateColors() {
  const closed = layout.boxes.filter(box => !box.isOpen), mode = colorChoice.value;
  colors = new Map();
  let legend = [];
  if (mode === "opcode") {
    for (const box of closed) colors.set(box, box.group >= 0 ? GROUP_COLOR : data.families[instructions.family[box.instruction]][1]);
    const present = new Set(closed.filter(box => box.group < 0).map(box => instructions.family[box.instruction]));
    legend = data.families.filter((_, k) => present.has(k)).map(([name, color]) => [color, name]);
  } else if (mode === "source") {
    const sourceOf = box => box.group >= 0 ? (frequencies(structure.members(box.group), "source")[0] || [0])[0] : instructions.source[box.instruction];
    const present = new Map();
    for (const box of closed) {
      const source = sourceOf(box);
      colors.set(box, data.sources[source][1]);
      present.set(source, (present.get(source) || 0) + 1);
    }
    const most = [...present].sort((a, b) => b[1] - a[1]).slice(0, 12);
    legend = most.map(([source]) => [data.sources[source][1], data.sources[source][0].split("/").pop() || "unknown"]);
  } else {
    const largest = Math.max(1, ...closed.slice(0, 100000).map(amountOf));
    for (const box of closed) {
      const amount = amountOf(box), position = amount > 0 ? 1 + Math.log10(amount / largest) / data.decades : 0;
      colors.set(box, data.heat[Math.max(0, Math.min(data.heat.length - 1, Math.floor(position * data.heat.length)))]);
    }
    legend = data.heat.map((color, k) => [color, k === 0 ? "low" : k === data.heat.length - 1 ? "up to " + formatAmount(largest) : ""]);
  }
  byId("legend").replaceChildren(...legend.map(([color, text]) => {
    const mark = element("i", "");
    mark.style.background = color;
    return element("span", "", mark, text);
  }));
}

// ---- drawing -------------------------------------------------------------------------------------------------------

let theme = {};
function readTheme() {
  const styles = getComputedStyle(document.documentElement);
  theme = Object.fromEntries(["back", "text", "edge", "frame", "link"].map(name => [name, styles.getPropertyValue("--" + name).trim()]));
}

function redraw() {
  if (isWaiting) return;
  isWaiting = true;
  requestAnimationFrame(() => { isWaiting = false; draw(); });
}

function draw() {
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = theme.back;
  context.fillRect(0, 0, width, height);
  context.setTransform(ratio * scale, 0, 0, ratio * scale, ratio * shiftX, ratio * shiftY);
  const view = { left: -shiftX / scale, top: -shiftY / scale, right: (width - shiftX) / scale, bottom: (height - shiftY) / scale };
  const isSeen = box => box.x < view.right && box.y < view.bottom && box.x + box.width > view.left && box.y + box.height > view.top;
  const visible = layout.boxes.filter(isSeen);
  drawFrames(visible.filter(box => box.isOpen));
  drawEdges(layout.edges.filter(edge => edge.left < view.right && edge.top < view.bottom && edge.right > view.left && edge.bottom > view.top));
  const closed = visible.filter(box => !box.isOpen);
  drawBoxes(closed);
  if (scale >= MIN_TEXT_SCALE) drawTexts(closed);
  drawMarks(visible);
}

function drawFrames(boxes) {
  context.lineWidth = 1 / Math.min(scale, 1);
  for (const box of boxes) {
    if (box.width * scale < 4) continue;
    context.fillStyle = box.instruction >= 0 ? "rgba(130,80,223,0.06)" : "rgba(140,149,159,0.09)";
    context.strokeStyle = box.instruction >= 0 ? "rgba(130,80,223,0.6)" : theme.frame;
    context.beginPath();
    context.roundRect(box.x, box.y, box.width, box.height, 8);
    context.fill();
    context.stroke();
  }
  drawTitles(boxes);
}

// Titles stay readable when zoomed out, as long as they fit.
function drawTitles(boxes) {
  context.fillStyle = theme.text;
  for (const box of boxes) {
    const size = Math.min(Math.max(11, 11 / scale), 60), title = linesOf(structure, box)[0];
    const room = box.width - 2 * data.metrics.padding - 20;
    const fitting = Math.min(size, 11 * room / Math.max(title.length * data.metrics.character, 1));
    if (fitting * scale < 6) continue;
    context.font = "600 " + Math.min(fitting, data.metrics.header + data.metrics.padding - 8) + "px ui-monospace, monospace";
    context.fillText("\u25be " + title, box.x + data.metrics.padding, box.y + data.metrics.header - 5);
  }
}

function tracePath(edge) {
  let [x, y] = edge.points[0];
  context.moveTo(x, y);
  for (let k = 1; k < edge.points.length; k++) {
    const [endX, endY] = edge.points[k], middle = Math.max((endY - y) / 2, 12);
    if (scale < 0.15) context.lineTo(endX, endY); else context.bezierCurveTo(x, y + middle, endX, endY - middle, endX, endY);
    x = endX;
    y = endY;
  }
}

function drawEdges(edges) {
  const shown = edges.filter(edge => (edge.right - edge.left + edge.bottom - edge.top) * scale > 3);
  const width = 1 / Math.max(Math.min(scale, 1), 0.2);
  for (const [isChosen, alpha, dashes] of [
    [edge => !edge.isRouted && !edge.isControl, 0.16, []], [edge => edge.isRouted && !edge.isControl, 0.75, []], [edge => edge.isControl, 0.5, [4, 3]],
  ]) {
    context.globalAlpha = shown.length > 6000 ? alpha / 3 : alpha;
    context.strokeStyle = theme.edge;
    context.lineWidth = width;
    context.setLineDash(dashes);
    context.beginPath();
    for (const edge of shown) if (isChosen(edge)) tracePath(edge);
    context.stroke();
  }
  context.setLineDash([]);
  context.globalAlpha = 1;
  if (selected) drawEdgesOf(selected, edges, width);
}

// Edges from operands are blue, and edges to users are red.
function drawEdgesOf(box, edges, width) {
  for (const [end, color] of [["target", "#0969da"], ["source", "#cf222e"]]) {
    context.strokeStyle = color;
    context.lineWidth = 2 * width;
    context.beginPath();
    for (const edge of edges) if (edge[end] === box) tracePath(edge);
    context.stroke();
  }
}

function drawBoxes(boxes) {
  const byColor = new Map();
  for (const box of boxes) {
    const color = colors.get(box);
    if (!byColor.has(color)) byColor.set(color, []);
    byColor.get(color).push(box);
  }
  const isLarge = scale >= 0.25;
  context.lineWidth = 1 / Math.min(scale, 1);
  context.strokeStyle = "rgba(87,96,106,0.7)";
  for (const [color, sameColor] of byColor) {
    context.fillStyle = color;
    context.beginPath();
    for (const box of sameColor) {
      if (isLarge && box.group >= 0) context.rect(box.x + 3, box.y + 3, box.width, box.height);
      if (isLarge) context.roundRect(box.x, box.y, box.width, box.height, box.group >= 0 ? 2 : 6);
      else context.rect(box.x, box.y, box.width, box.height);
    }
    context.fill("nonzero");
    if (isLarge) context.stroke();
  }
}

function drawTexts(boxes) {
  const { margin, line } = data.metrics, isMeasured = colorChoice.value === "bytes" || colorChoice.value === "flops";
  const total = Math.max(1, amountOfGroup(root));
  for (const bold of [true, false]) {
    context.font = (bold ? "600 " : "") + "11px ui-monospace, Menlo, Consolas, monospace";
    context.fillStyle = bold ? "#1f2328" : "#424a53";
    for (const box of boxes) {
      const lines = linesOf(structure, box);
      if (bold) { context.fillText(lines[0], box.x + margin, box.y + line, box.width - 2 * margin); continue; }
      for (let k = 1; k < lines.length; k++) {
        const isAmount = isMeasured && k === lines.length - 1 && (box.group >= 0 || amountOf(box) > 0);
        const text = isAmount ? formatAmount(amountOf(box)) + " " + formatShare(amountOf(box) / total) : lines[k];
        context.fillText(text, box.x + margin, box.y + (k + 1) * line, box.width - 2 * margin);
      }
    }
  }
  context.font = "11px ui-monospace, monospace";
  for (const box of boxes) if (insideOf(structure, box).length) context.fillText("\u25b8", box.x + box.width - 12, box.y + line);
}

function drawMarks(boxes) {
  context.lineWidth = 3 / Math.min(Math.max(scale, 0.05), 1);
  const named = new Set(data.named);
  for (const box of boxes) {
    const isFound = found.size && !box.isOpen && (box.group >= 0 ? structure.members(box.group).some(x => found.has(x)) : found.has(box.instruction));
    if (!isFound && box !== selected && !named.has(box.instruction)) continue;
    context.strokeStyle = box === selected ? theme.link : isFound ? "#bf3989" : "#cf222e";
    context.strokeRect(box.x - 2, box.y - 2, box.width + 4, box.height + 4);
  }
}

// ---- moving --------------------------------------------------------------------------------------------------------

function zoom(factor, x, y) {
  const next = Math.min(Math.max(scale * factor, 0.002), MAX_SCALE);
  shiftX = x - (x - shiftX) * next / scale;
  shiftY = y - (y - shiftY) * next / scale;
  scale = next;
  redraw();
}

function show(box, largest) {
  const width = canvas.clientWidth, height = canvas.clientHeight;
  scale = Math.min(largest, 0.94 * width / box.width, 0.94 * height / box.height);
  shiftX = width / 2 - (box.x + box.width / 2) * scale;
  shiftY = height / 2 - (box.y + box.height / 2) * scale;
  redraw();
}

const fit = () => show(layout.boxes[0], 1);

// A picture that would be too small to read is shown from its beginning.
function showBeginning() {
  fit();
  if (scale >= MIN_READABLE_SCALE) return;
  const whole = layout.boxes[0];
  scale = MIN_READABLE_SCALE;
  shiftX = (canvas.clientWidth - whole.width * scale) / 2 - whole.x * scale;
  shiftY = 10 - whole.y * scale;
}

function boxAt(x, y) {
  x = (x - shiftX) / scale;
  y = (y - shiftY) / scale;
  for (let k = layout.boxes.length - 1; k >= 0; k--) {
    const box = layout.boxes[k];
    if (x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height) return box;
  }
  return null;
}

// ---- opening and closing -------------------------------------------------------------------------------------------

const byKey = key => layout.boxes.find(box => box.key === key) || null;

function update(keep) {
  const before = keep && { x: keep.x * scale + shiftX, y: keep.y * scale + shiftY };
  const key = selected ? selected.key : null;
  layout = layoutOf(structure, root, open);
  selected = key === null ? null : byKey(key);
  const same = keep && byKey(keep.key);
  if (same) { shiftX = before.x - same.x * scale; shiftY = before.y - same.y * scale; }
  updateColors();
  byId("computation").value = root;
  redraw();
}

function toggle(box) {
  if (!insideOf(structure, box).length || !box.parent) return;
  if (open.has(box.key)) open.delete(box.key); else openWithOnlyItem(box);
  update(box);
  select(byKey(box.key));
}

// A box with a single item is opened together with that item, so that a click shows something new.
function openWithOnlyItem(box) {
  let key = box.key, current = box;
  open.add(key);
  for (let inside = insideOf(structure, current); inside.length === 1; inside = insideOf(structure, current)) {
    current = makeBox(structure, current, 0, inside[0] < 0 ? -1 - inside[0] : -1, inside[0] < 0 ? -1 : inside[0]);
    if (!insideOf(structure, current).length) break;
    open.add(current.key);
  }
}

// Returns the indices of items on the way from a computation down to an instruction or a group.
function stepsTo(item) {
  const steps = [];
  let group = item < 0 ? structure.parent[-1 - item] : structure.home[item];
  while (group >= 0) {
    steps.unshift(groups.items[group].indexOf(item));
    item = -1 - group;
    group = structure.parent[group];
  }
  return { steps, computation: -1 - item };
}

// Returns the key of an item's box, found through the first caller of each computation, or null if
// these callers do not lead to the root.
function keyTo(item, limit = 64) {
  let { steps, computation } = stepsTo(item);
  let key = steps.map(step => "/" + step).join("");
  while (computation !== root && limit--) {
    const caller = (structure.callers.get(computation) || [])[0];
    if (caller === undefined) return null;
    const above = stepsTo(caller);
    key = above.steps.map(step => "/" + step).join("") + "/" + instructions.bodies[caller].indexOf(computation) + key;
    computation = above.computation;
  }
  return computation === root ? key : null;
}

function reveal(item) {
  let key = keyTo(item);
  if (key === null) {
    root = stepsTo(item).computation;
    open = initiallyOpen(structure, root, "auto");
    key = keyTo(item);
  }
  const parts = key.split("/");
  for (let k = 1; k < parts.length; k++) open.add(parts.slice(0, k).join("/"));
  update(null);
  select(byKey(key));
  show(selected, 1);
}

function changeRoot(group) {
  root = group;
  open = initiallyOpen(structure, root, "auto");
  selected = null;
  update(null);
  select(null);
  showBeginning();
}

// ---- the panel -----------------------------------------------------------------------------------------------------

function element(tag, style, ...children) {
  const node = document.createElement(tag);
  if (style) node.className = style;
  node.append(...children);
  return node;
}

function button(text, action, style = "") {
  const node = element("button", style, text);
  node.onclick = action;
  return node;
}

function itemButton(item, share, amount) {
  const node = button(item < 0 ? groups.title[-1 - item] : instructions.name[item], () => reveal(item), "item");
  if (amount !== undefined) {
    node.prepend(element("b", "", formatAmount(amount) + "  " + formatShare(share)));
    const bar = element("span", "bar");
    bar.style.width = Math.max(100 * share, 0.5) + "%";
    node.append(bar);
    if (item < 0 && groups.lines[-1 - item][2]) bar.before(element("span", "faint", " " + groups.lines[-1 - item][2]));
  } else if (item >= 0) node.append(element("b", "", instructions.lines[item][1]));
  return node;
}

function list(title, items) {
  if (!items.length) return [];
  const nodes = items.slice(0, MAX_RESULTS).map(item => itemButton(item));
  const rest = items.length > MAX_RESULTS ? [element("p", "faint", "and " + (items.length - MAX_RESULTS).toLocaleString("en") + " more")] : [];
  return [element("h2", "", title + " (" + items.length.toLocaleString("en") + ")"), ...nodes, ...rest];
}

function select(box) {
  selected = box;
  if (box !== null && box.instruction >= 0) announce(box.instruction);
  byId("details").replaceChildren(...(box === null ? help() : box.group >= 0 ? groupDetails(box) : instructionDetails(box)));
  showHeaviest();
  redraw();
}

// Lets an editor that shows this document jump to the selected instruction. Positions in the editor
// are counted from 0.
function announce(x) {
  if (!isStarted || !instructions.line[x]) return;
  const detail = { name: instructions.name[x], line: instructions.line[x] - 1, character: instructions.column[x] - 1 };
  document.dispatchEvent(new CustomEvent("hlotool-select", { detail }));
}

function help() {
  return [element("p", "faint", "Click a box to see its text, operands and users; double-click to open or close it. Use the wheel to zoom, and drag to move.")];
}

function actions(box) {
  const nodes = [];
  if (insideOf(structure, box).length && box.parent) nodes.push(button(box.isOpen ? "Close" : "Open", () => toggle(box)));
  nodes.push(button("Zoom", () => show(selected, 1.5)));
  if (box.group >= 0 && groups.kind[box.group] === "computation" && box.group !== root) nodes.push(button("Show alone", () => changeRoot(box.group)));
  if (root !== data.root) nodes.push(button("Back", () => changeRoot(data.root)));
  return element("div", "actions", ...nodes);
}

function groupDetails(box) {
  const members = structure.members(box.group), numbers = frequencies(members, "opcode").slice(0, MAX_OPCODES);
  const text = countText(members.length, "instruction") + ": " + numbers.map(([opcode, number]) => number + " " + data.opcodes[opcode]).join(", ");
  const callers = structure.callers.get(box.group) || [];
  return [element("h3", "", groups.title[box.group]), element("p", "faint", text), actions(box), ...list("Called by", callers)];
}

function instructionDetails(box) {
  const x = box.instruction, source = data.sources[instructions.source[x]][0], scope = data.scopes[instructions.scope[x]];
  const line = instructions.line[x] ? "line " + instructions.line[x].toLocaleString("en") : "";
  const locations = [line, source && source + ":" + instructions.sourceLine[x], scope].filter(Boolean).map(text => element("p", "faint", text));
  const numbers = ["bytes", "flops"].map(name => name + " " + instructions[name][x].toLocaleString("en")).join(" \u00b7 ");
  return [
    element("h3", "", instructions.name[x]), actions(box), element("pre", "", instructions.text[x]), ...places, element("p", "faint", numbers),
    ...list("Operands", instructions.operands[x]), ...list("Users", structure.users[x]),
    ...list("Runs after", instructions.before[x] || []), ...list("Calls", (instructions.bodies[x] || []).map(group => -1 - group)),
  ];
}

// Shows the most expensive items of the selected box or of the whole picture, and the most expensive
// items inside each of them. Shares are relative to the selection; the share of a loop's body covers
// all iterations.
function showHeaviest() {
  const box = selected && insideOf(structure, selected).length ? selected : layout.boxes[0];
  const amount = item => item < 0 ? amountOfGroup(-1 - item) : instructions[measure()][item];
  const total = box.parent ? amountOf(box) : amountOfGroup(root);
  const heaviest = (inside, share, depth, most, least) => {
    // If only one computation is called, show its contents instead.
    if (inside.length === 1 && inside[0] < 0) inside = groups.items[-1 - inside[0]];
    const sum = inside.reduce((sum, item) => sum + amount(item), 0) || 1;
    const rows = inside.map(item => ({ item, share: share * amount(item) / sum, depth }));
    return rows.filter(row => row.share > least * share && row.share >= (least ? MIN_SHOWN_SHARE : 0)).sort((a, b) => b.share - a.share).slice(0, most);
  };
  const nodes = [], stack = heaviest([...insideOf(structure, box)], 1, 0, MAX_CHILDREN, MIN_SHARE).reverse();
  while (stack.length && nodes.length < MAX_ROWS) {
    const row = stack.pop(), { item, share, depth } = row;
    const node = itemButton(item, share, share * total);
    node.style.paddingLeft = 6 + 12 * depth + "px";
    nodes.push(node);
    const inside = insideOf(structure, { group: item < 0 ? -1 - item : -1, instruction: item });
    // Only the largest layers are shown, because the others are similar.
    const isLayers = item < 0 && groups.kind[-1 - item] === "layers";
    if (depth < MAX_DEPTH && share >= MIN_OPEN_SHARE) stack.push(...(isLayers
      ? heaviest([...inside], share, depth + 1, MAX_LAYERS, 0) : heaviest([...inside], share, depth + 1, MAX_CHILDREN, MIN_SHARE)).reverse());
  }
  const title = "Most " + measure() + " in " + linesOf(structure, box)[0] + (total ? ": " + formatAmount(total) : "");
  byId("heaviest").replaceChildren(...(nodes.length ? [element("h2", "", title), ...nodes] : []));
}

const searched = instructions.name.map((name, x) => null);
function matches(x, words) {
  if (searched[x] === null) searched[x] = (instructions.text[x] + "\n" + data.scopes[instructions.scope[x]]).toLowerCase();
  return words.every(word => searched[x].includes(word));
}

function showResults() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const results = words.length ? instructions.name.map((_, x) => x).filter(x => matches(x, words)) : [];
  // Matching names come first, since users who type a name want to jump to it.
  const rank = x => words.some(word => instructions.name[x].toLowerCase() === word) ? 0 : words.every(word => instructions.name[x].toLowerCase().includes(word)) ? 1 : 2;
  results.sort((a, b) => rank(a) - rank(b) || a - b);
  found = new Set(results);
  byId("results").replaceChildren(...(words.length && !results.length ? [element("p", "faint", "Nothing found.")] : list("Found", results)));
  redraw();
}

// ---- events --------------------------------------------------------------------------------------------------------

let dragged = null;
canvas.addEventListener("pointerdown", event => {
  dragged = { x: event.offsetX, y: event.offsetY, hasMoved: false };
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener("pointermove", event => {
  if (!dragged) {
    const box = boxAt(event.offsetX, event.offsetY);
    canvas.title = !box ? "" : box.group >= 0 ? groups.title[box.group] : instructions.name[box.instruction];
    return;
  }
  const x = event.offsetX - dragged.x, y = event.offsetY - dragged.y;
  if (!dragged.hasMoved && Math.hypot(x, y) < 4) return;
  shiftX += x;
  shiftY += y;
  dragged = { x: event.offsetX, y: event.offsetY, hasMoved: true };
  redraw();
});
canvas.addEventListener("pointerup", event => {
  if (dragged && !dragged.hasMoved) select(boxAt(event.offsetX, event.offsetY));
  dragged = null;
});
canvas.addEventListener("pointercancel", () => { dragged = null; });
canvas.addEventListener("dblclick", event => { const box = boxAt(event.offsetX, event.offsetY); if (box) toggle(box); });
canvas.addEventListener("wheel", event => {
  event.preventDefault();
  zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.offsetX, event.offsetY);
}, { passive: false });
const KEYS = {
  ArrowLeft: () => { shiftX += 60; }, ArrowRight: () => { shiftX -= 60; }, ArrowUp: () => { shiftY += 60; }, ArrowDown: () => { shiftY -= 60; },
  "+": () => zoom(1.25, canvas.clientWidth / 2, canvas.clientHeight / 2), "-": () => zoom(0.8, canvas.clientWidth / 2, canvas.clientHeight / 2),
  f: fit, Enter: () => { if (selected) toggle(selected); }, Escape: () => select(null),
};
canvas.addEventListener("keydown", event => {
  if (!KEYS[event.key] || event.ctrlKey || event.metaKey) return;
  KEYS[event.key]();
  event.preventDefault();
  redraw();
});
document.addEventListener("keydown", event => {
  if (event.key !== "/" || event.target === search) return;
  search.focus();
  event.preventDefault();
});
search.addEventListener("input", showResults);
search.addEventListener("keydown", event => { if (event.key === "Enter" && found.size) reveal(found.values().next().value); });
byId("computation").addEventListener("change", event => changeRoot(Number(event.target.value)));
colorChoice.addEventListener("change", () => { updateColors(); showHeaviest(); redraw(); });
byId("fit").onclick = fit;
byId("expand").onclick = () => { open = initiallyOpen(structure, root, "all"); update(null); fit(); };
byId("collapse").onclick = () => { open = new Set(); selected = null; update(null); select(null); fit(); };
new ResizeObserver(redraw).observe(canvas);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readTheme(); redraw(); });

// The fragment of a link can set the initial view: #color=bytes&open=all&search=dot&select=dot.1
function start() {
  readTheme();
  byId("title").textContent = data.module;
  byId("computation").append(...data.computations.map(group => new Option(groups.title[group], group)));
  const wanted = new URLSearchParams(location.hash.slice(1));
  colorChoice.value = wanted.get("color") || data.color;
  if (wanted.get("open")) open = initiallyOpen(structure, root, wanted.get("open"));
  update(null);
  showBeginning();
  select(null);
  if (wanted.get("search")) { search.value = wanted.get("search"); showResults(); }
  const named = wanted.get("select"), item = named === null ? data.named[0] ?? -1 : instructions.name.indexOf(named);
  if (item >= 0) reveal(item);
  isStarted = true;
}
start();
