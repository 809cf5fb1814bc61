// A device of a hearsay survey for browsers. The value stays here; only a randomised report is sent.
// docs/device.md specifies the draws, the bytes and the ledger. No build step, no other module.

const WORD = 1n << 64n, DAY = 86_400_000, OUTBOX = 1_000, SLACK = 1e-9;
export class Refused extends Error {}      // by the survey, the gateway, or this application's own limits
export class BudgetSpent extends Error {}  // this window or survey is answered, or the lifetime's epsilon is spent

// ---- words: coins, choices and uniform integers from 64-bit words ----
function draws(next) {
  return {
    coin: (threshold) => next() < BigInt(threshold),
    choose: (ends) => { const word = next(); return ends.filter((end) => BigInt(end) <= word).length; },
    below(bound) {
      const size = BigInt(bound), end = WORD - WORD % size;
      let word;
      do word = next(); while (word >= end);
      return Number(word % size);
    },
  };
}

const pool = new BigUint64Array(512);  // 4 KiB: getRandomValues gives at most 64 KiB a call
let used = pool.length;
export const secure = () => draws(() => {
  if (used === pool.length) { crypto.getRandomValues(pool); used = 0; }
  const word = pool[used];
  pool[used++] = 0n;
  return word;
});

// Words from a list, for tests of the bytes; they protect nobody.
export function given(words) {
  const list = words.map(BigInt);
  return { ...draws(() => { if (!list.length) throw new Error("no words left"); return list.shift(); }),
    left: () => list.length };
}

// ---- a value becomes a cell ----
function along(axis, value) {
  if (axis.labels) return axis.labels.indexOf(value);
  if (typeof value !== "number") return -1;
  if (axis.bins === undefined) {
    const cell = value - axis.first;
    return Number.isInteger(cell) && cell >= 0 && cell < axis.size ? cell : -1;
  }
  const width = (axis.high - axis.low) / axis.bins, slack = SLACK * width;
  if (!(value >= axis.low - slack && value <= axis.high + slack)) return -1;
  const nearest = Math.floor((value - axis.low) / width + 0.5);
  const before = value - (axis.start + axis.step * nearest) / axis.scale < -slack;
  return Math.min(Math.max(nearest - (before ? 1 : 0), 0), axis.bins - 1);
}

const sizeOf = (axis) => axis.labels?.length ?? axis.bins ?? axis.size;

export function cellOf(axes, value) {
  let parts = [value];
  if (Array.isArray(value)) parts = value;
  else if (value && typeof value === "object")
    parts = Object.keys(value).length === axes.length ? axes.map((axis) => value[axis.name]) : [];
  if (parts.length !== axes.length) throw new RangeError("value must have one entry for each axis");
  return axes.reduce((cell, axis, index) => {
    const own = along(axis, parts[index]);
    if (own < 0) throw new RangeError(`${axis.name} must be a value of the survey`);  // never the value itself
    return cell * sizeOf(axis) + own;
  }, 0);
}

// ---- a cell becomes a symbol: a number, or an array of bits ----
function parity(number) {
  let odd = 0;
  for (; number; number &= number - 1) odd ^= 1;
  return odd;
}

const NODES = {
  coin(node, cell, words) {
    const drawn = words.below(node.size);
    return words.coin(node.truth) ? cell : drawn;
  },
  bits: (node, cell, words) =>
    Array.from({ length: node.size }, (_, at) => words.coin(at === cell ? node.own : node.other)),
  hash(node, cell, words) {
    const buckets = 2 ** node.rows, vector = words.below(2 ** node.bits - 1), kept = words.coin(node.keep);
    const inside = words.below(node.named), outside = node.named + words.below(buckets - node.named);
    let row = vector + 1, bucket = 0;
    for (let bit = 0; bit < node.rows; bit++) {
      bucket |= parity(row & cell) << bit;
      row = ((row << 1) & (2 ** node.bits - 1)) ^ (row >> (node.bits - 1) ? node.low : 0);
    }
    return vector * buckets + (bucket ^ (kept ? inside : outside));
  },
  haar(node, cell, words) {
    const character = words.below(node.nodes), flipped = words.coin(node.flip);
    return 2 * character + ((cell & 1) ^ parity((cell >> 1) & character) ^ (flipped ? 1 : 0));
  },
  table: (node, cell, words) => node.outputs[cell][words.choose(node.ends[cell])],
  signs(node, cell, words) {
    const cells = node.axes.map(() => 0);
    for (let axis = cells.length - 1; axis >= 0; axis--) {
      cells[axis] = cell % node.axes[axis].size;
      cell = Math.floor(cell / node.axes[axis].size);
    }
    return node.axes.flatMap(({ length, flip }, axis) =>
      Array.from({ length }, (_, at) => (at >= cells[axis]) !== words.coin(flip)));
  },
};

function drawNode(node, cell, words) {
  if (!Object.hasOwn(NODES, node.node)) throw new Refused(`the form has an unknown node: ${node.node}`);
  return NODES[node.node](node, cell, words);
}

// ---- a symbol becomes bytes ----
function littleEndian(symbol, length) {
  const bytes = new Uint8Array(length);
  if (Array.isArray(symbol)) symbol.forEach((bit, at) => { if (bit) bytes[at >> 3] |= 1 << (at & 7); });
  else for (let at = 0; symbol; at++, symbol = Math.floor(symbol / 256)) bytes[at] = symbol % 256;
  return bytes;
}

function bigEndian(number, length) { return [...littleEndian(number, length)].reverse(); }

function integer(number) {
  if (number < 128) return Uint8Array.of(number);
  const [head, length] = number < 256 ? [0xcc, 1] : number < 65_536 ? [0xcd, 2] : [0xce, 4];
  return Uint8Array.of(head, ...bigEndian(number, length));
}

function bin(bytes) {
  const size = bytes.length;
  const [head, length] = size < 256 ? [0xc4, 1] : size < 65_536 ? [0xc5, 2] : [0xc6, 4];
  const packed = new Uint8Array(1 + length + size);
  packed.set([head, ...bigEndian(size, length)]);
  packed.set(bytes, 1 + length);
  return packed;
}

// The bytes of a private report of a value in the survey's own units.
export function report(form, value, words = secure()) {
  if (form?.version !== 1) throw new Refused("the form must be of version 1");
  let cell = cellOf(form.axes, value), node = form.draw, variant = 0;
  if (node.node === "level") {
    variant = node.parts.length > 1 ? words.choose(node.ends) : 0;
    const { span, shift, units, width, draw } = node.parts[variant];
    const shifted = Math.floor(cell / span) + shift;
    cell = Math.floor((units ? shifted % units : shifted) / width);
    node = draw;
  }
  const symbol = drawNode(node, cell, words), { as, starts, rows, numbered } = form.bytes;
  if (as === "integer") {
    const number = Array.isArray(symbol) ? symbol.reduceRight((sum, bit) => 2 * sum + (bit ? 1 : 0), 0) : symbol;
    return integer(starts[variant] + number);
  }
  const row = littleEndian(symbol, rows[variant].length);
  if (rows[variant].order === "big") row.reverse();
  return bin(numbered ? Uint8Array.of(variant, ...row) : row);
}

// ---- what a report spends at most, from the thresholds themselves ----
const ratio = (more, less) => more === less ? 0 : Math.abs(Math.log(Number(more)) - Math.log(Number(less)));
const rest = (threshold) => WORD - BigInt(threshold);
const SPENT = {
  coin: (node) => ratio(BigInt(node.truth) * BigInt(node.size) + rest(node.truth), rest(node.truth)),
  bits: (node) => ratio(BigInt(node.own) * rest(node.other), BigInt(node.other) * rest(node.own)),
  hash: (node) => ratio(BigInt(node.keep) * BigInt(2 ** node.rows - node.named), rest(node.keep) * BigInt(node.named)),
  haar: (node) => ratio(rest(node.flip), BigInt(node.flip)),
  table(node) {
    const chances = new Map();
    node.outputs.forEach((outputs, cell) => outputs.forEach((output, at) => {
      const row = node.ends[cell], end = at < row.length ? BigInt(row[at]) : WORD;
      if (!chances.has(output)) chances.set(output, node.outputs.map(() => 0n));
      chances.get(output)[cell] += end - (at ? BigInt(row[at - 1]) : 0n);
    }));
    const ends = (column) => column.reduce(([least, most], each) =>
      [each < least ? each : least, each > most ? each : most], [column[0], column[0]]);
    return Math.max(...[...chances.values()].map((column) => ratio(...ends(column))));
  },
  signs: (node) => node.axes.reduce((sum, { size, length, flip }) =>
    sum + Math.min(length, size - 1) * ratio(rest(flip), BigInt(flip)), 0),
  level: (node) => Math.max(...node.parts.map((part) => epsilon({ draw: part.draw }))),
};
export const epsilon = (form) => SPENT[form.draw.node](form.draw);
