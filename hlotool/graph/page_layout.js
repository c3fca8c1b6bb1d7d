"use strict";
// Computes rectangles and lines from the data and the set of open boxes. This file does not access
// the document.
//
// The data: `instructions` and `groups` are tables of columns. An item of a group is the number of
// an instruction, or -1 minus the number of a group; `rows`, `columns` and `bends` are positions on
// a grid (hlotool/graph/layout.py). `bodies` lists the computations shown inside an instruction.

function structureOf(data) {
  const { instructions, groups } = data;
  const count = groups.items.length;
  const parent = new Int32Array(count).fill(-1), home = new Int32Array(instructions.name.length).fill(-1);
  groups.items.forEach((items, group) => items.forEach(item => { if (item < 0) parent[-1 - item] = group; else home[item] = group; }));
  const members = groups.items.map(() => null);
  const bends = groups.items.map(() => null);
  const callers = new Map();
  for (const [x, bodies] of Object.entries(instructions.bodies)) {
    for (const body of bodies) callers.set(body, [...(callers.get(body) || []), Number(x)]);
  }
  const users = instructions.name.map(() => []);
  instructions.operands.forEach((operands, x) => new Set(operands).forEach(operand => users[operand].push(x)));
  const structure = {
    data, parent, home, callers, users,
    // The instructions of a group and of its inner groups.
    members(group) {
      if (members[group] === null) {
        const found = [], stack = [group];
        while (stack.length) {
          for (const item of groups.items[stack.pop()]) if (item < 0) stack.push(-1 - item); else found.push(item);
        }
        members[group] = found;
      }
      return members[group];
    },
    bends(group) {
      if (bends[group] === null) {
        bends[group] = new Map(groups.bends[group].map(([a, b, ...points]) => [a * groups.items[group].length + b, points]));
      }
      return bends[group];
    },
    computation(group) {
      while (parent[group] >= 0) group = parent[group];
      return group;
    },
  };
  return structure;
}

// Returns the same function as `_Stretch` in hlotool/graph/placing.py.
function makeStretch(columns, widths) {
  const marks = [...new Set(columns.flatMap(x => [x - 0.5, x + 0.5]))].sort((a, b) => a - b);
  const numbers = new Map(marks.map((mark, k) => [mark, k])), last = marks.length - 1;
  const distances = isReversed => {
    const ending = marks.map(() => []);
    columns.forEach((x, k) => {
      const left = numbers.get(x - 0.5), right = numbers.get(x + 0.5);
      if (isReversed) ending[last - left].push([last - right, widths[k]]); else ending[right].push([left, widths[k]]);
    });
    const values = new Float64Array(last + 1);
    for (let k = 1; k <= last; k++) {
      values[k] = values[k - 1];
      for (const [left, width] of ending[k]) values[k] = Math.max(values[k], values[left] + width);
    }
    return values;
  };
  const fromLeft = distances(false), fromRight = distances(true);
  const at = x => {
    let low = 0, high = last + 1;
    while (low < high) { const middle = (low + high) >> 1; if (marks[middle] <= x) low = middle + 1; else high = middle; }
    const k = Math.min(Math.max(low, 1), last);
    const value = j => (fromLeft[j] - fromRight[last - j]) / 2;
    const share = Math.min(Math.max((x - marks[k - 1]) / (marks[k] - marks[k - 1]), 0), 1);
    return value(k - 1) + share * (value(k) - value(k - 1));
  };
  return { at, center: x => (at(x - 0.5) + at(x + 0.5)) / 2 };
}

function place(rows, columns, bends, sizes, metrics) {
  if (!sizes.length) return { centers: [], width: 0, height: 0, bends: new Map() };
  const position = makeStretch(columns, sizes.map(size => size[0] + metrics.gapX));
  const heights = [];
  rows.forEach((row, k) => { heights[row] = Math.max(heights[row] || 0, sizes[k][1]); });
  const middles = [];
  let top = 0;
  heights.forEach((height, row) => { middles[row] = top + height / 2; top += height + metrics.gapY; });
  const xs = columns.map(position.center);
  const lanes = new Map([...bends].map(([key, points]) => [key, points.map(position.at)]));
  let left = Infinity, right = -Infinity;
  xs.forEach((x, k) => { left = Math.min(left, x - sizes[k][0] / 2); right = Math.max(right, x + sizes[k][0] / 2); });
  for (const points of lanes.values()) for (const x of points) { left = Math.min(left, x); right = Math.max(right, x); }
  const count = sizes.length, routes = new Map();
  for (const [key, points] of lanes) routes.set(key, points.map((x, k) => [x - left, middles[rows[Math.floor(key / count)] + k + 1]]));
  return { centers: xs.map((x, k) => [x - left, middles[rows[k]]]), width: right - left, height: top - metrics.gapY, bends: routes };
}

// ---- boxes ---------------------------------------------------------------------------------------------------------

// A box shows a group or an instruction; the number of the other one is -1. `frame` is the box of
// the computation that contains the box.
function makeBox(structure, parent, index, group, instruction) {
  return { parent, index, group, instruction, depth: parent ? parent.depth + 1 : 0, key: parent ? parent.key + "/" + index : "", isOpen: false,
    children: [], placement: null, frame: null, x: 0, y: 0, width: 0, height: 0 };
}

function insideOf(structure, box) {
  const { groups, instructions } = structure.data;
  return box.group >= 0 ? groups.items[box.group] : (instructions.bodies[box.instruction] || []).map(body => -1 - body);
}

function linesOf(structure, box) {
  const { groups, instructions } = structure.data;
  return box.group >= 0 ? groups.lines[box.group] : instructions.lines[box.instruction];
}

// Returns all boxes, each after the box that contains it.
function boxesOf(structure, root, open) {
  const { groups } = structure.data;
  const boxes = [makeBox(structure, null, 0, root, -1)];
  for (let k = 0; k < boxes.length; k++) {
    const box = boxes[k];
    const startsFrame = box.group >= 0 && groups.kind[box.group] === "computation";
    box.frame = startsFrame ? box : box.parent.frame;
    const inside = insideOf(structure, box);
    if (!inside.length || (k && !open.has(box.key))) continue;
    box.isOpen = true;
    inside.forEach((item, index) => {
      const child = makeBox(structure, box, index, item < 0 ? -1 - item : -1, item < 0 ? -1 : item);
      box.children.push(child);
      boxes.push(child);
    });
  }
  return boxes;
}

function placeBoxes(structure, boxes) {
  const { groups, metrics } = structure.data;
  for (let k = boxes.length - 1; k >= 0; k--) {
    const box = boxes[k], lines = linesOf(structure, box);
    const width = text => text.length * metrics.character + 2 * metrics.margin;
    if (!box.isOpen) {
      // Boxes that can be opened have space for a mark.
      box.width = Math.max(...lines.map(width)) + (insideOf(structure, box).length ? 2 * metrics.character : 0);
      box.height = lines.length * metrics.line + metrics.margin;
      continue;
    }
    const sizes = box.children.map(child => [child.width, child.height]), isGroup = box.group >= 0;
    const rows = isGroup ? groups.rows[box.group] : sizes.map(() => 0), columns = isGroup ? groups.columns[box.group] : sizes.map((_, j) => j);
    box.placement = place(rows, columns, isGroup ? structure.bends(box.group) : new Map(), sizes, metrics);
    box.width = Math.max(box.placement.width, width(lines[0])) + 2 * metrics.padding;
    box.height = box.placement.height + metrics.header + 2 * metrics.padding;
  }
  for (const box of boxes) {
    if (!box.isOpen) continue;
    const { left, top } = originOf(structure, box);
    box.children.forEach((child, k) => {
      child.x = left + box.placement.centers[k][0] - child.width / 2;
      child.y = top + box.placement.centers[k][1] - child.height / 2;
    });
  }
}

function originOf(structure, box) {
  const { metrics } = structure.data;
  return { left: box.x + (box.width - box.placement.width) / 2, top: box.y + metrics.header + metrics.padding };
}

// ---- edges ---------------------------------------------------------------------------------------------------------

// Returns the box that shows each instruction of a computation: its own box or that of a closed
// group.
function visibleBoxes(structure, frame) {
  const seen = new Map(), stack = [...frame.children];
  while (stack.length) {
    const box = stack.pop();
    if (box.instruction >= 0) seen.set(box.instruction, box);
    else if (box.isOpen) stack.push(...box.children);
    else for (const x of structure.members(box.group)) seen.set(x, box);
  }
  return seen;
}

function edgesOf(structure, boxes) {
  const { groups, instructions } = structure.data;
  const edges = [];
  boxes.forEach((box, k) => { box.number = k; });
  for (const frame of boxes) {
    if (!frame.isOpen || frame.frame !== frame) continue;
    const seen = frame.seen = visibleBoxes(structure, frame), known = new Set();
    const add = (source, target, isControl) => {
      if (!source || !target || source === target) return;
      const key = (source.number * boxes.length + target.number) * 2 + isControl;
      if (known.has(key)) return;
      known.add(key);
      edges.push(edgeBetween(structure, source, target, Boolean(isControl)));
    };
    for (const [x, target] of seen) {
      for (const operand of instructions.operands[x]) add(seen.get(operand), target, 0);
      for (const before of instructions.before[x] || []) add(seen.get(before), target, 1);
    }
  }
  return edges;
}

function edgeBetween(structure, source, target, isControl) {
  const points = [[source.x + source.width / 2, source.y + source.height]];
  const parent = source.parent;
  let isRouted = parent === target.parent;
  if (isRouted && parent.group >= 0) {
    const bends = parent.placement.bends.get(source.index * parent.children.length + target.index);
    const { left, top } = originOf(structure, parent);
    if (bends) for (const [x, y] of bends) points.push([left + x, top + y]);
    isRouted = Boolean(bends) || target.y - source.y - source.height < 60;
  }
  points.push([target.x + target.width / 2, target.y]);
  const xs = points.map(point => point[0]), ys = points.map(point => point[1]);
  const box = { left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) };
  return { source, target, points, isControl, isRouted, ...box };
}

function layoutOf(structure, root, open) {
  const boxes = boxesOf(structure, root, open);
  placeBoxes(structure, boxes);
  return { boxes, edges: edgesOf(structure, boxes) };
}

// Returns the keys of the boxes that are initially open, as in hlotool/graph/picture.py.
function initiallyOpen(structure, root, expand) {
  const { groups, autoBoxes, layerBoxes, ranks, maxBoxes } = structure.data;
  const open = new Set(), waiting = [[makeBox(structure, null, 0, root, -1)], [], []];
  const rankOf = box => box.group >= 0 ? ranks[groups.kind[box.group]] || 0 : 0;
  const limitOf = box => {
    if (expand === "all") return maxBoxes;
    const isLayer = box.parent.group >= 0 && groups.kind[box.parent.group] === "layers";
    return isLayer || rankOf(box) === 2 ? layerBoxes : autoBoxes;
  };
  let closed = 1;
  for (let found; (found = waiting.find(boxes => boxes.length));) {
    const next = [];
    for (const box of found.splice(0)) {
      const inside = insideOf(structure, box);
      if (!inside.length || (box.parent && (expand === "none" || closed + inside.length > limitOf(box)))) continue;
      open.add(box.key);
      closed += inside.length - 1;
      inside.forEach((item, index) => next.push(makeBox(structure, box, index, item < 0 ? -1 - item : -1, item < 0 ? -1 : item)));
    }
    for (const box of next) waiting[rankOf(box)].push(box);
  }
  return open;
}
