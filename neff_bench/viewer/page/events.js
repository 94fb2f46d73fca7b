// The events of a case: columns by event, `rows` of events that do not overlap, and searches in them.
const INSTANT_NS = 0.25; // how long an event without a duration is drawn

async function loadEvents(number, head) {
  const columns = columnsOf(head.columns, await unpacked(`columns-${number}`));
  const { duration, name } = columns, count = head.count, gaps = columns.start, start = new Float64Array(count), end = new Float64Array(count), busy = new Float64Array(count + 1);
  const gapped = head.columns.find(column => column[0] === "start")[3] === "row";
  for (const track of head.tracks)
    for (const [first, last] of track.rows)
      for (let i = first, at = 0; i < last; i++) start[i] = at = gapped ? at + gaps[i] : gaps[i];
  for (let i = 0; i < count; i++) {
    const shown = duration[i] || INSTANT_NS;
    end[i] = start[i] + shown;
    busy[i + 1] = busy[i] + shown;
  }
  const events = { number, count, start, end, busy, duration, name, names: head.names, lines: head.lines, stacks: head.stacks, details: null, after: null };
  for (const column of ["stack", "amount", "detail", "pc"]) later(events, column, () => columns[column]);
  later(events, "edges", () => edgesOf(count, columns));
  return events;
}

// What each event came after: `before[k]` by `reason[k]`, for k from `first[event]` up to `first[event + 1]`.
function edgesOf(count, columns) {
  const { before: backs, before_count: counts, reason } = columns, first = new Uint32Array(count + 1), before = new Uint32Array(backs.length);
  for (let i = 0, k = 0; i < count; i++) {
    for (const stop = k + counts[i]; k < stop; k++) before[k] = backs[k] & 1 ? i + (backs[k] + 1) / 2 : i - backs[k] / 2;
    first[i + 1] = k;
  }
  return { first, before, reason };
}

async function detailsOf(events) {
  events.details ??= JSON.parse(new TextDecoder().decode(await unpacked(`details-${events.number}`)));
  return events.details;
}

// First index in [from, to) at which values[index] > limit; near `from` it takes few steps.
function firstAbove(values, from, to, limit) {
  let step = 1, low = from, high = from;
  while (high < to && values[high] <= limit) { low = high + 1; high += step; step *= 2; }
  if (high > to) high = to;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= limit) low = middle + 1; else high = middle;
  }
  return low;
}

function trackOf(head, event) {
  return head.tracks.findIndex(track => event < track.rows[track.rows.length - 1][1]);
}

function predecessors(events, event) {
  const { first, before, reason } = events.edges, found = [];
  for (let k = first[event]; k < first[event + 1]; k++) found.push([before[k], reason[k]]);
  return found.sort((a, b) => events.end[b[0]] - events.end[a[0]]);
}

function successors(events, event) {
  if (!events.after) {
    const { first, before, reason } = events.edges;
    events.after = new Map();
    for (let i = 0; i < events.count; i++)
      for (let k = first[i]; k < first[i + 1]; k++) {
        const list = events.after.get(before[k]);
        if (list) list.push([i, reason[k]]); else events.after.set(before[k], [[i, reason[k]]]);
      }
  }
  return (events.after.get(event) || []).slice().sort((a, b) => events.start[a[0]] - events.start[b[0]]);
}

// The events of one track of one side: how often an event of its name came before it, and the event of that name and number elsewhere.
function occurrence(t, event) {
  const { events, head } = t, track = head.tracks[trackOf(head, event)];
  return { kind: track.kind, name: track.name, core: track.core, letter: track.letter, event: events.names[events.name[event]],
    number: namedAlike(events, track, events.name[event]).indexOf(event) };
}

function locateOccurrence(t, wanted, letter = wanted.letter) {
  const { events, head } = t;
  const track = head.tracks.find(one => one.kind === wanted.kind && one.name === wanted.name && one.core === wanted.core && one.letter === letter);
  return (track && namedAlike(events, track, events.names.indexOf(wanted.event))[wanted.number]) ?? -1;
}

function namedAlike(events, track, name) {
  const found = [];
  for (const [first, last] of track.rows) for (let i = first; i < last; i++) if (events.name[i] === name) found.push(i);
  return track.rows.length > 1 ? found.sort((a, b) => events.start[a] - events.start[b]) : found;
}

// Which events hold all words of a text, in their name, source line or operands: one byte for each, how many, and how many before each.
// `/./` finds those that have a source line, as in AWS's viewer; `us>1.5` and the like compare a number, `track=` finds a part of a track's name.
const NUMBERS = {
  us: (events, i) => events.duration[i] / 1000, begin: (events, i) => events.start[i] / 1000,
  wait: (events, i) => events.amount[i] / 1000, bytes: (events, i) => events.amount[i],
};
const KIND_OF = { wait: "engine", bytes: "dma" };
const COMPARE = { "<": (a, b) => a < b, ">": (a, b) => a > b, "=": (a, b) => a === b, "<=": (a, b) => a <= b, ">=": (a, b) => a >= b };

async function search(t, text) {
  const { events, head } = t, details = await detailsOf(events);
  const tests = text.split(/\s+/).filter(Boolean).map(word => testOf(head, events, details, word));
  return matches(events, i => tests.every(test => test(i)));
}

function testOf(head, events, details, word) {
  if (word === "/./") return i => events.stacks[events.stack[i]].length > 0;
  const number = word.match(/^(us|begin|wait|bytes)(<=|>=|<|>|=)([\d.]+)$/), wanted = word.toLowerCase().replace(/^track=/, "");
  const onTrack = chosen => { const of = trackNumbers(head, events), has = head.tracks.map(chosen); return i => has[of[i]]; };
  if (number) {
    const value = NUMBERS[number[1]], compare = COMPARE[number[2]], limit = Number(number[3]);
    const fits = KIND_OF[number[1]] ? onTrack(track => track.kind === KIND_OF[number[1]]) : () => true;
    return i => fits(i) && compare(value(events, i), limit);
  }
  if (word.startsWith("track=")) return onTrack(track => track.title.toLowerCase().includes(wanted));
  const has = list => Uint8Array.from(list, one => one.toLowerCase().includes(wanted) ? 1 : 0);
  const names = has(events.names), stacks = stacksWith(events, has(events.lines)), texts = has(details);
  return i => names[events.name[i]] | stacks[events.stack[i]] | texts[events.detail[i]];
}

function trackNumbers(head, events) {
  if (!events.track) {
    events.track = new Uint16Array(events.count);
    head.tracks.forEach((track, number) => events.track.fill(number, track.rows[0][0], track.rows.at(-1)[1]));
  }
  return events.track;
}

// The stacks that hold one of the chosen lines.
function stacksWith(events, lines) {
  return Uint8Array.from(events.stacks, stack => stack.some(line => lines[line]) ? 1 : 0);
}

function matches(events, chosen) {
  const before = new Uint32Array(events.count + 1);
  for (let i = 0; i < events.count; i++) before[i + 1] = before[i] + (chosen(i) ? 1 : 0);
  return { before, count: before[events.count], has: i => before[i + 1] > before[i] };
}
