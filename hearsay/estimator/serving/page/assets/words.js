// Numbers and times as people read them. What is exact stands in data attributes, unrounded.

const UNKNOWN = "unknown";
const OWN_BAND = "smooth"; // the method whose answers have an interval of their own, not that of the raw value

/** So many digits that the interval's half width has two. */
function decimals(half) {
  if (!(half > 0)) return 4;
  return Math.min(Math.max(1 - Math.floor(Math.log10(half)), 0), 10);
}

/** A share as a percentage, with as many digits as its interval supports. */
export function percent(value, half) {
  if (value === null || value === undefined) return UNKNOWN;
  return `${(100 * value).toFixed(decimals(100 * half))}%`;
}

/** A number in its own unit; four digits where no interval says how many count. */
export function plain(value, half = 0) {
  if (value === null || value === undefined) return UNKNOWN;
  const digits = Math.abs(value) >= 1000 ? Math.round(value) : Number(value.toPrecision(4));
  return (half > 0 ? Number(value.toFixed(decimals(half))) : digits).toLocaleString("en", { maximumFractionDigits: 10 });
}

export function whole(value) {
  return value === null || value === undefined ? UNKNOWN : Math.round(value).toLocaleString("en");
}

/** An answer in words: value and interval, which is that of the raw value but for OWN_BAND. `unit` is "share" or "own". */
export function interval(answer, unit) {
  const half = halfWidth(answer);
  const write = unit === "share" ? percent : plain;
  if (answer.value === null) return UNKNOWN;
  if (answer.postprocess === OWN_BAND) {
    const { postprocess, raw, ...others } = answer;
    return `${interval(others, unit)}, raw ${raw === null ? UNKNOWN : write(raw, half)}`;
  }
  if (answer.postprocess) {
    const { postprocess, raw, ...others } = answer; // `remark` says once which method, and that it is biased
    return `${write(answer.value, half)}, raw ${interval({ ...others, value: raw }, unit)}`;
  }
  if (answer.low === null || answer.high === null) return write(answer.value, half) + chance(answer);
  return `${write(answer.value, half)} (${write(answer.low, half)} to ${write(answer.high, half)})${chance(answer)}`;
}

/** How likely a difference as large is without a change; of many answers, adjusted for their number. */
function chance(answer) {
  const p = answer.p_adjusted ?? answer.p_value ?? null;
  const from = answer.window ? `, from ${answer.window} on` : "";
  return p === null ? from : `${from}, p ${p < 0.0001 ? "below 0.0001" : p.toPrecision(2)}`;
}

export function halfWidth(answer) {
  return answer.low === null || answer.high === null ? 0 : (answer.high - answer.low) / 2;
}

/** With the intervals that hold for all answers at once, where they were asked for. */
export function together(answers) {
  return answers.map((answer) => (answer.simultaneous ? { ...answer, low: answer.simultaneous[0], high: answer.simultaneous[1] } : answer));
}

/** What is unusual about values and intervals of a chart; "" where nothing is. */
export function remark(answers) {
  const method = answers.find((answer) => answer.postprocess)?.postprocess;
  const whose = method === OWN_BAND ? "the intervals are its own" : "the intervals are those of the raw values";
  const biased = method ? `Values after ${method}, which is biased; ${whose}. ` : "";
  const notes = [...new Set(answers.flatMap((answer) => [answer.note, cut(answer)]).filter(Boolean))].map((note) => `${note}. `).join("");
  return (notes + biased + (answers.some((answer) => answer.simultaneous) ? "The intervals hold for all of these at once." : "")).trim();
}

/** Why a value lies outside its interval, as the command line says it; null where it does not. */
function cut(answer) {
  const { low, high } = answer;
  const value = answer.raw ?? answer.value;
  if (value === null || low === null || high === null || answer.of || answer.coefficient) return null;
  if (/^means?\b/.test(answer.query)) {
    const outside = value < low || value > high;
    return outside ? "A mean outside its interval: noise outweighs so few reports. Values are unbiased and not cut; the interval is cut to what the domain allows" : null;
  }
  // Only a value that no share can have: the band of `smooth` may leave out a raw share that is possible.
  const impossible = (value < 0 && low >= 0) || (value > 1 && high <= 1);
  return impossible ? "A value outside its interval is noise: the true one is near that end, or reports are few. Values are unbiased and not cut; the interval is cut to what is possible" : null;
}

/** What an answer is about, in one line. */
export function name(answer) {
  if (answer.cell) return Object.entries(answer.cell).map(([key, value]) => `${key} ${ends(value)}`).join(", ");
  return answer.item === undefined || answer.item === null ? answer.query : ends(answer.item);
}

/** A label, a number, or the two ends of a stretch. */
export function ends(item) {
  if (!Array.isArray(item)) return typeof item === "number" ? short(item) : String(item);
  const [low, high] = item.map((end) => (typeof end === "number" ? short(end) : end));
  return low === high ? String(low) : `${low} to ${high}`;
}

/** A number on an axis. */
export function short(value) {
  return Number(value.toPrecision(6)).toLocaleString("en", { maximumFractionDigits: 6 });
}

/** A word of a question, quoted where a shell would need it. */
export function quoted(word) {
  const plainWord = String(word);
  return /^[\w@%+=:,./-]+$/.test(plainWord) ? plainWord : `'${plainWord.replaceAll("'", `'"'"'`)}'`;
}

/** A moment in UTC, local time beside it. */
export function moment(when) {
  const date = new Date(when);
  const utc = date.toISOString().slice(0, 19).replace("T", " ");
  const local = date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", timeZoneName: "short" });
  return `${utc} UTC (${local})`;
}

export function ago(seconds) {
  if (seconds === null || seconds === undefined) return "never";
  if (seconds < 90) return `${Math.round(seconds)} s ago`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86400)} days ago`;
}

/** How many more reports make the half width 1 point: it falls with the root of the reports. */
export function moreReports(half, reports, wanted = 0.01) {
  if (!(half > 0) || !(reports > 0)) return 0;
  return Math.max(0, Math.ceil(reports * ((half / wanted) ** 2 - 1)));
}

/** What to say where even the tallest share is hardly above the noise, by the rule of the server's default; else null. */
export function noisy(answers, axes = 1) {
  const halves = answers.map(halfWidth).sort((a, b) => a - b);
  const tallest = Math.max(...answers.map((answer) => answer.value));
  if (tallest >= 4 * (halves[halves.length >> 1] ?? 0)) return null;
  if (answers.length > 4 ** axes) return "So fine a picture is mostly noise: choose a coarser one, or wait for more reports.";
  return "Even this coarse a picture is mostly noise: wait for more reports, or ask for a wide range.";
}
