// What lives in SBUF and PSUM: the operands of instructions tell which buffers they write and read.
const ALIVE_SHOWN = 8;

// The lives of all buffers, from the write that begins a value to the last use of it.
async function livesOf(t) {
  if (t.lives) return t.lives;
  const { events, head } = t, operands = (await detailsOf(events)).map(buffersIn), open = new Map();
  const found = [];
  const order = head.tracks.flatMap(track => track.kind === "engine" ? track.rows.flatMap(([first, last]) => Array.from({ length: last - first }, (_, at) => first + at)) : []);
  order.sort((a, b) => events.start[a] - events.start[b]);
  for (const event of order) {
    const track = head.tracks[trackOf(head, event)], of = operands[events.detail[event]];
    for (const { memory, buffer, bytes, writes } of of) {
      const key = `${track.letter} ${track.core} ${memory} ${buffer}`;
      let life = open.get(key);
      if (!life || (writes && life.read && !of.some(one => !one.writes && one.buffer === buffer))) {
        life = { letter: track.letter, core: track.core, memory, buffer, bytes, event, from: events.start[event], to: 0, read: false };
        open.set(key, life);
        found.push(life);
      }
      life.read ||= !writes;
      life.bytes = Math.max(life.bytes, bytes);
      life.to = Math.max(life.to, events.end[event]);
    }
  }
  return t.lives = found;
}

// Buffers in the operands of an instruction, with the bytes that they take in each partition.
function buffersIn(detail) {
  const found = [];
  for (const { groups } of detail.matchAll(new RegExp(data.operand.replaceAll("?P<", "?<"), "g"))) {
    const address = Number(groups.place), [low, high] = data.psum;
    const memory = groups.memory || (address < low ? "sbuf" : address < high ? "psum" : "hbm");
    if (memory !== "sbuf" && memory !== "psum") continue;
    const steps = groups.steps.split(",").map(Number), counts = groups.counts.split(",").map(Number);
    const elements = groups.memory ? steps[0] : steps.reduce((sum, step, at) => sum + Math.abs(step) * (counts[at] - 1), 1);
    const buffer = groups.memory ? groups.place.slice(groups.memory.length + 1, groups.place.lastIndexOf("+")) : groups.place;
    found.push({ memory, buffer, bytes: elements * (data.itemBytes[groups.dtype] || 4), writes: groups.name === "dst" });
  }
  return found;
}

async function aliveAt(t, lane, time) {
  const usage = t.head.usage[lane.usage], at = (await livesOf(t)).filter(life => life.memory === usage.memory && life.core === usage.core
    && life.letter === usage.letter && life.from <= time && life.to >= time);
  return at.sort((a, b) => b.bytes - a.bytes || a.from - b.from);
}

function shareAt(usage, time) {
  let share = 0;
  for (let i = 0; i < usage.values.length && usage.values[i] <= time; i += 2) share = usage.values[i + 1];
  return `${(100 * share).toFixed(1)} %`;
}

const kib = bytes => `${(bytes / 1024).toLocaleString("en", { maximumFractionDigits: 2 })} KiB`;

async function memoryTip(t, lane, time) {
  const usage = t.head.usage[lane.usage], alive = await aliveAt(t, lane, time);
  const more = alive.length > ALIVE_SHOWN ? [`and ${alive.length - ALIVE_SHOWN} more`] : [];
  return [`${usage.title} ${shareAt(usage, time)}, ${timeText(time)}`, ...alive.slice(0, ALIVE_SHOWN).map(life => `${life.buffer} · ${kib(life.bytes)} a partition`), ...more].join("\n");
}

async function showMemory(t, lane, time) {
  select(t, -1);
  t.moment = time;
  const usage = t.head.usage[lane.usage], alive = await aliveAt(t, lane, time), { events } = t;
  if (t.moment !== time) return;
  const rows = alive.map(life => {
    const line = events.stacks[events.stack[life.event]][0];
    const named = element("button", life.buffer, { type: "button", onclick: () => select(t, life.event, true) });
    return [named, kib(life.bytes), timeText(life.from), timeText(life.to), line === undefined ? "" : lineButton(t, line)];
  });
  showDetails(element("p", `${usage.title} at ${timeText(time)}: ${shareAt(usage, time)} in use, ${rows.length} buffers`),
    rows.length ? tableOf(["buffer", "a partition", "written", "last used", "by"], rows) : element("p", "The operands of this profile name no buffer that lives here.", { className: "dim" }));
}
