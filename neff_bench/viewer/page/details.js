// The side panel: one event with what it waited for, the totals of an area, or what lives in a memory.
const NO_LINE = new Map([["unaligned", "not known: this instruction could not be laid over the NEFF's"], ["runtime", "none: an instruction of the runtime"]]);
const NAMES_SHOWN = 12, LINKS_SHOWN = 20;

function showDetails(...content) {
  const side = document.getElementById("side");
  side.classList.toggle("filled", content.length > 0);
  side.querySelector(".details").replaceChildren(...(content.length ? content : [element("p", "Click an event, or drag over an area.", { className: "dim" })]));
}

async function showEvent(t, event) {
  const { events, head } = t, track = head.tracks[trackOf(head, event)];
  const [first, second, operands, placed] = (await detailsOf(events))[events.detail[event]].split("\n").concat("", "", "", "");
  if (t.selected !== event || t !== shown) return;
  const facts = [["event", events.names[events.name[event]]], ["track", track.title],
    ["begin", timeText(events.start[event])], ["duration", timeText(events.duration[event])]];
  if (track.kind === "engine") {
    facts.push(["waited", timeText(events.amount[event])], ["instruction", first], ["HLO", second], ["place in stream", events.pc[event] ? String(events.pc[event] - 1) : ""]);
  } else if (track.kind === "dma") facts.push(["bytes", events.amount[event].toLocaleString("en")], ["queue and engine", first], ["kind", second]);
  else facts.push(["value", String(events.amount[event])]);
  const list = element("dl", []), add = (name, content) => list.append(element("dt", name), element("dd", content));
  for (const [name, content] of facts) if (content) add(name, content);
  const stack = events.stacks[events.stack[event]];
  stack.forEach((line, depth) => add(depth ? "called from" : "source line", lineButton(t, line)));
  if (!stack.length && track.kind === "engine") add("source line", element("span", NO_LINE.has(placed) ? NO_LINE.get(placed) : events.lines.length ? "none: not made by a line of the kernel" : "not in this profile", { className: "dim" }));
  if (operands) add("operands", [element("span", operands, { className: "operands" })]);
  if (t.onPath.has(event)) add("critical path", "yes");
  for (const [letter, other] of twins(t, event)) {
    const later = events.start[other] - events.start[event], longer = events.duration[other] - events.duration[event];
    add(`the same in ${letter}`, [eventButton(t, other), ` begins ${signed(later)}, takes ${signed(longer)}`]);
  }
  const before = predecessors(events, event);
  if (before.length) add("waited for", links(t, event, before, true));
  if (!before.length && track.kind === "engine" && events.amount[event]) {
    const update = lastUpdate(t, event, track);
    if (update >= 0) add("last signal before it", links(t, event, [[update, null]], true));
  }
  const after = successors(events, event);
  if (after.length) add("waited for this", links(t, event, after, false));
  showDetails(list);
  markLines(t, stack);
}

const signed = ns => `${ns < 0 ? "−" : "+"}${timeText(Math.abs(ns))}`;

// In a comparison: the event of that name and number on the same track of each other side.
function twins(t, event) {
  const letters = new Set(t.head.tracks.map(track => track.letter));
  if (letters.size < 2) return [];
  const wanted = occurrence(t, event);
  return [...letters].filter(letter => letter !== wanted.letter).map(letter => [letter, locateOccurrence(t, wanted, letter)]).filter(([, other]) => other >= 0);
}

// The semaphore update on its core that came last before an event began, where the file does not say what it waited for.
function lastUpdate(t, event, track) {
  const semaphores = t.head.tracks.find(one => one.kind === "semaphore" && one.core === track.core && one.letter === track.letter);
  if (!semaphores) return -1;
  const [first, last] = semaphores.rows[0], i = firstAbove(t.events.start, first, last, t.events.start[event]) - 1;
  return i >= first ? i : -1;
}

// Links to other events. Of what an event waited for, the one that ended last comes first: it held the event up.
function links(t, event, found, earlier) {
  const { events, head } = t;
  const list = found.slice(0, LINKS_SHOWN).map(([other, reason], at) => {
    const gap = earlier ? events.start[event] - events.end[other] : events.start[other] - events.end[event];
    const kind = `${reason === null ? "" : `${data.dependences[reason]}, `}${gap >= 0 ? `${timeText(gap)} between` : `overlaps ${timeText(-gap)}`}${earlier && at === 0 && reason !== null ? ", the last to end" : ""}`;
    return element("div", [eventButton(t, other), ` ${kind}`]);
  });
  if (found.length > LINKS_SHOWN) list.push(element("div", `and ${found.length - LINKS_SHOWN} more`));
  return list;
}

function eventButton(t, event) {
  const name = `${t.events.names[t.events.name[event]]}, ${t.head.tracks[trackOf(t.head, event)].title}`;
  return element("button", name, { type: "button", onclick: () => select(t, event, true) });
}

function lineButton(t, line) {
  const name = t.events.lines[line];
  return element("button", name.split("/").pop(), { type: "button", className: "line", title: name, onclick: () => openLine(t, line) });
}

// The events of an area, a run of them for each row of its tracks.
function* runsOf(t, area) {
  const { events, head } = t;
  for (const lane of t.lanes) {
    if (lane.kind !== "track" || lane.y + lane.height <= area.top || lane.y >= area.bottom) continue;
    const track = head.tracks[lane.track];
    for (const [first, last] of track.rows) {
      const from = firstAbove(events.end, first, last, area.from);
      yield [track, from, Math.max(from, firstAbove(events.start, from, last, area.to))];
    }
  }
}

function showArea(t) {
  const { events, area } = t, tracks = new Map(), names = new Map(), places = new Map();
  const add = (sums, key, ns, bytes = 0) => {
    const sum = sums.get(key) || [0, 0, 0];
    sum[0]++; sum[1] += ns; sum[2] += bytes;
    sums.set(key, sum);
  };
  for (const [track, from, to] of runsOf(t, area))
    for (let i = from; i < to; i++) {
      const inside = Math.min(events.end[i], area.to) - Math.max(events.start[i], area.from), line = events.stacks[events.stack[i]][0];
      add(names, events.name[i], inside);
      if (line !== undefined) add(places, line, inside);
      if (track.kind !== "semaphore") add(tracks, track.title, inside, track.kind === "dma" ? events.amount[i] : 0);
    }
  const lines = [...tracks].map(([title, [count, ns, bytes]]) => [title, String(count), timeText(ns), bytes ? bytes.toLocaleString("en") : ""]);
  const top = (sums, named) => [...sums].sort((a, b) => b[1][1] - a[1][1]).slice(0, NAMES_SHOWN)
    .map(([key, [count, ns]]) => [named(key), String(count), timeText(ns)]);
  showDetails(
    element("p", `${timeText(area.from)} to ${timeText(area.to)}: ${timeText(area.to - area.from)}`),
    tableOf(["track", "events", "summed", "bytes"], lines),
    tableOf(["event", "count", "summed"], top(names, name => events.names[name])),
    ...(places.size ? [tableOf(["source line", "count", "summed"], top(places, line => lineButton(t, line)))] : []));
  listEvents(t);
}

function tableOf(heads, lines) {
  const cells = (kind, line) => element("tr", line.map((cell, at) => element(kind, cell, { className: at ? "n" : "" })));
  return element("table", [element("thead", [cells("th", heads)]), element("tbody", lines.map(line => cells("td", line)))]);
}

function select(t, event, bringIntoView = false) {
  const had = t.area;
  t.selected = event;
  t.area = t.moment = null;
  if (event < 0) { showDetails(); markLines(t, t.lines); }
  else {
    if (bringIntoView) bring(t, event);
    showEvent(t, event);
  }
  if (had) listEvents(t);
  redraw(t);
}

// Move the view as little as needed to have an event in it.
function bring(t, event) {
  const span = t.view.to - t.view.from, { start, end } = t.events;
  if (start[event] < t.view.from || end[event] > t.view.to) look(t, start[event] - span / 3, start[event] - span / 3 + span);
  const box = boxOf(t, event);
  if (box.y < AXIS) scrollBy(t, box.y - AXIS - 8);
  else if (box.y + box.height > t.size.height) scrollBy(t, box.y + box.height - t.size.height + 8);
}
