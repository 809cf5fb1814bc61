// A device: only a randomised report leaves it. docs/how-to/devices.md

const WORD = 1n << 64n, DAY = 864e5, SLACK = 1e-9;
export class Refused extends Error { name = "Refused"; }
const refuse = (why) => { throw new Refused(why); };
export class BudgetSpent extends Error { name = "BudgetSpent"; }
const MENDED = ["key", "not-for-key", "unknown-survey", "too-early", "too-late"], NOT_STORED = [...MENDED, "rate"];

export const draws = (next) => ({
	coin: (threshold) => next() < BigInt(threshold),
	choose: (ends, word = next()) => ends.filter((end) => BigInt(end) <= word).length,
	below(bound) {
		const size = BigInt(bound), end = WORD - WORD % size;
		let word;
		do word = next(); while (word >= end);
		return Number(word % size);
	},
});

const pool = new BigUint64Array(512);
let used = 512;
const secure = draws(() => {
	if (used === 512) { crypto.getRandomValues(pool); used = 0; }
	const word = pool[used];
	pool[used++] = 0n;
	return word;
});

// Value to cell; -1: outside
function along({ labels, first, size, low, high, bins, start, step, scale }, value) {
	if (labels) return labels.indexOf(value);
	if (typeof value !== "number") return -1;
	if (!bins) return Number.isInteger(value) && value >= first && value < first + size ? value - first : -1;
	const width = (high - low) / bins, slack = SLACK * width, nearest = Math.floor((value - low) / width + 0.5);
	if (!(value >= low - slack && value <= high + slack)) return -1;
	const before = value - (start + step * nearest) / scale < -slack;
	return Math.min(Math.max(nearest - before, 0), bins - 1);
}

function cellOf(axes, value) {
	const parts = Array.isArray(value) ? value : Object(value) === value ? axes.map(({name}) => value[name]) : [value];
	if (parts.length !== axes.length) throw new RangeError("an entry for each axis");
	return axes.reduce((cell, axis, index) => {
		const own = along(axis, parts[index]);
		if (own < 0) throw new RangeError(`${axis.name} is no value of the survey`);
		return cell * (axis.labels?.length ?? axis.bins ?? axis.size) + own;
	}, 0);
}

function parity(number) {
	for (const half of [16, 8, 4, 2, 1]) number ^= number >> half;
	return number & 1;
}
const list = (length, each) => Array.from({length}, (_, at) => each(at));

const NODES = {
	coin({ size, truth }, cell, words) {
		const drawn = words.below(size);
		return words.coin(truth) ? cell : drawn;
	},
	bits: ({ size, own, other }, cell, words) => list(size, (at) => words.coin(at === cell ? own : other)),
	hash({ bits, rows, low, named, keep }, cell, words) {
		const buckets = 1 << rows, vector = words.below(2 ** bits - 1), kept = words.coin(keep);
		const inside = words.below(named), outside = named + words.below(buckets - named);
		let row = vector + 1, bucket = kept ? inside : outside;
		for (let bit = 0; bit < rows; bit++) {
			bucket ^= parity(row & cell) << bit;
			row = row << 1 & 2 ** bits - 1 ^ (row >> bits - 1 && low);
		}
		return vector * buckets + bucket;
	},
	haar({ nodes, flip }, cell, words) {
		const character = words.below(nodes);
		return 2 * character + (cell & 1 ^ parity(cell >> 1 & character) ^ words.coin(flip));
	},
	table: ({ outputs, ends }, cell, words) => outputs[cell][words.choose(ends[cell])],
	signs({axes}, cell, words) {
		let unit = axes.reduce((product, {size}) => product * size, 1);
		return axes.flatMap(({ size, length, flip }) => {
			const own = Math.floor(cell % unit / (unit /= size));
			return list(length, (at) => at >= own !== words.coin(flip));
		});
	},
};

function littleEndian(symbol, length) {
	const bytes = new Uint8Array(length);
	if (symbol.length) symbol.forEach((bit, at) => { bytes[at >> 3] |= bit << (at & 7); });
	else for (let at = 0; symbol; at++, symbol = Math.floor(symbol / 256)) bytes[at] = symbol % 256;
	return bytes;
}
const bigEndian = (number, length) => littleEndian(number, length).reverse();

const join = (head, bytes) => Uint8Array.from([...head, ...bytes]);

// msgpack: 1, 2 or 4 bytes.
function sized(header, number) {
	const wide = (number > 255) + (number > 65535);
	return join([header + wide], bigEndian(number, 1 << wide));
}
const bin = (bytes) => join(sized(0xc4, bytes.length), bytes);

export function report(form, value, words = secure) {
	if (form.version !== 1) refuse("the form must be of version 1");
	let cell = cellOf(form.axes, value), node = form.draw, variant = 0;
	if (node.node === "level") {
		if (node.parts.length > 1) variant = words.choose(node.ends);
		const { span, shift, units, width, draw } = node.parts[variant];
		const shifted = Math.floor(cell / span) + shift;
		cell = Math.floor((units ? shifted % units : shifted) / width);
		node = draw;
	}
	if (!Object.hasOwn(NODES, node.node)) refuse(`unknown node ${node.node}`);
	const symbol = NODES[node.node](node, cell, words), { starts, rows, numbered } = form.bytes;
	if (starts) {
		const number = starts[variant] + (symbol.reduceRight?.((sum, bit) => 2 * sum + bit, 0) ?? symbol);
		return number < 128 ? Uint8Array.of(number) : sized(0xcc, number);
	}
	const row = littleEndian(symbol, rows[variant].length);
	if (rows[variant].order === "big") row.reverse();
	return bin(numbered ? join([variant], row) : row);
}

const ratio = (more, less) => more === less ? 0 : Math.abs(Math.log(Number(more) / Number(less)));
const rest = (threshold) => WORD - BigInt(threshold);
const SPENT = {
	coin: ({ truth, size }) => ratio(BigInt(truth) * BigInt(size) + rest(truth), rest(truth)),
	bits: ({ own, other }) => ratio(BigInt(own) * rest(other), BigInt(other) * rest(own)),
	hash: ({ rows, named, keep }) => ratio(BigInt(keep) * BigInt(2 ** rows - named), rest(keep) * BigInt(named)),
	haar: ({flip}) => ratio(rest(flip), BigInt(flip)),
	table({ outputs, ends }) {
		const chances = {};
		outputs.forEach((row, cell) => row.forEach((output, at) => {
			chances[output] ??= outputs.map(() => 0);
			chances[output][cell] += Number(BigInt(ends[cell][at] ?? WORD) - BigInt(ends[cell][at - 1] ?? 0));
		}));
		return Math.max(...Object.values(chances).map((each) => ratio(Math.max(...each), Math.min(...each))));
	},
	signs: ({axes}) => axes.reduce((sum, { size, flip }) => sum + (size - 1) * SPENT.haar({flip}), 0),
	level: ({parts}) => Math.max(...parts.map(epsilon)),
};
export const epsilon = ({draw}) => SPENT[draw.node](draw);

// All is on disk before it is sent.
const STORES = ["spent", "outbox", "surveys"], UNITS = { s: 1e3, m: 6e4, h: 36e5, d: DAY }, ANSWERS = {};
const asked = (request) => new Promise((done, failed) =>
	Object.assign(request, { onsuccess: () => done(request.result), onerror: () => failed(request.error) }));

function newId(now) { // UUIDv7
	const bytes = crypto.getRandomValues(new Uint8Array(16));
	bytes.set(bigEndian(now, 6));
	bytes[6] = bytes[6] & 15 | 112;
	bytes[8] = bytes[8] & 63 | 128;
	return Array.from(bytes, (byte) => (byte + 256).toString(16).slice(1)).join("")
		.replace(/(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

export class Device {
	static async open(url, survey, { tag, maxEpsilon = Infinity, key } = {}) {
		const { href: at, protocol, hostname } = new URL(`v1/surveys/${survey}`, url.replace(/\/?$/, "/"));
		const local = ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
		if (protocol !== "https:" && !local) refuse("use https beyond this machine");
		const request = indexedDB.open("hearsay", 1);
		request.onupgradeneeded = () =>
			[["tag", "window"], "id", "at"].forEach((keyPath, of) => request.result.createObjectStore(STORES[of], {keyPath}));
		const device = Object.assign(new Device(), { at, key, survey, local, database: await asked(request) });
		const answer = await fetch(at).then((it) => it.json())
			.catch(() => device.step(({surveys}) => asked(surveys.get(at)))); // offline
		if (!answer?.device) refuse(answer?.device_reason ?? answer?.error ?? "no answer: no gateway there, or its --origins lack this page's");
		if (tag && answer.tag !== tag) refuse("the survey has another tag");
		const own = epsilon(answer.device), { definition, guarantee, participation: { repeat, of, lifetime_epsilon } } = answer;
		if (!(own <= maxEpsilon + SLACK))
			refuse(`a report spends ${+own.toPrecision(6)} between some two values, above maxEpsilon ${maxEpsilon}`);
		if (repeat === "memoised") refuse(repeat);
		const [, count, unit] = /(\d+)(.)/.exec(definition.window?.every) ?? [];
		await device.step(({surveys}) => surveys.put({ ...answer, at }));
		addEventListener("online", () => device.flush());
		Object.assign(device, {
			form: answer.device, tag: answer.tag, open: answer.open, of, every: repeat !== "once" && count * UNITS[unit],
			lifetime: lifetime_epsilon ?? Infinity,
			epsilon: guarantee.kind === "pure" && own > definition.epsilon + SLACK ? own : definition.epsilon,
		});
		device.flush();
		return device;
	}

	async step(work) { // one transaction
		const change = this.database.transaction(STORES, "readwrite", { durability: "strict" });
		const over = new Promise((oncomplete, onabort) => Object.assign(change, { oncomplete, onabort }));
		const result = (async () => work(Object.fromEntries(STORES.map((name) => [name, change.objectStore(name)]))))();
		await Promise.all([result.catch((error) => { change.abort(); throw error; }), over]);
		return result;
	}

	window(now) { return this.every ? String(now - now % this.every) : "all"; }

	async submit(value) {
		const now = Date.now(), window = this.window(now), id = newId(now), { at, tag, survey, epsilon, of } = this;
		if (this.open === false) refuse("closed");
		const skips = await this.step(async ({ spent, outbox }) => {
			if (of) { // drawn once
				const turn = Math.floor(now / this.every), key = [tag, "of " + Math.floor(turn / of)];
				const drawn = await asked(spent.get(key)) ?? { tag, window: key[1], survey, epsilon: 0, turn: secure.below(of) };
				spent.put(drawn);
				if (turn % of !== drawn.turn) return true;
			}
			if (await asked(spent.get([tag, window]))) throw new BudgetSpent("answered already");
			const add = (sum, each) => sum + (each.survey === survey && each.epsilon);
			if ((await asked(spent.getAll())).reduce(add, epsilon) > this.lifetime + SLACK)
				throw new BudgetSpent("the lifetime's epsilon is spent");
			if (await asked(outbox.count()) >= 1e3) refuse("1,000 reports wait");
			const body = join([0x91], bin(report(this.form, value)));
			spent.put({ tag, window, survey, epsilon, at: now });
			outbox.put({ id, at, tag, window, body, made: now, tries: 0 });
		}).catch((error) => this.flush().finally(() => { throw error; }));
		if (skips) return "skipped";
		const { [id]: answer = "kept" } = await this.flush();
		if (answer !== "sent" && answer !== "kept") refuse(answer);
		return answer;
	}

	spent() { return this.step(({spent}) => asked(spent.getAll())); }

	async flush() { return navigator.locks.request(`hearsay ${this.tag}`, () => this.send()); }

	async send() {
		const answers = ANSWERS[this.tag] ??= {}, all = await this.step(({outbox}) => asked(outbox.getAll()));
		const here = all.filter(({at}) => at === this.at), waiting = here.filter(({tag}) => tag === this.tag);
		if (here.length > waiting.length) console.warn("kept: made for another definition of the survey");
		for (let each of waiting) {
			// lost: attempts that may be stored; with none of them the id may change
			const now = Date.now(), age = now - each.made, lost = each.lost ?? each.tries;
			const gone = each.window !== this.window(now) || age > DAY && lost;
			const renew = !lost && !(age > -DAY / 24 && age < DAY / 2);
			if (!(gone || this.local || navigator.onLine)) { console.warn("kept: offline"); break; }
			await this.step(({ spent, outbox }) => {
				if (gone || renew) outbox.delete(each.id);
				if (gone) return each.tries || spent.delete([each.tag, each.window]); // never left: given back
				if (renew) each = { ...each, id: newId(now), made: now };
				each = { ...each, tries: each.tries + 1, lost: lost + 1 };
				outbox.put(each);
			});
			if (gone) continue;
			const { id, body } = each, headers = { "Content-Type": "application/vnd.hearsay.v1+msgpack",
				"Idempotency-Key": id, ...this.key && { Authorization: "Bearer " + this.key } };
			const response = await fetch(this.at + "/reports",
				{ method: "POST", headers, body, keepalive: body.length < 6e4 }).catch(String);
			const wait = response.headers?.get("Retry-After");
			const { code, accepted, error = response.status ?? response } = await response.json?.().catch(() => 0) || {};
			if (NOT_STORED.includes(code)) await this.step(({outbox}) => outbox.put({ ...each, lost }));
			// a page that is no gateway's has neither
			const became = accepted ? "sent" : accepted === 0 ? "rejected" : code;
			if (wait || !became || !(response.status < 500) || MENDED.includes(code)) {
				console.warn("kept:", error);
				clearTimeout(this.timer);
				const backoff_s = Math.min(2 ** each.tries, 3600) * (0.5 + Math.random());
				this.timer = setTimeout(() => this.flush(), 1e3 * (wait || backoff_s));
				break;
			}
			answers[id] = became;
			await this.step(({outbox}) => outbox.delete(id));
		}
		return answers;
	}
}
