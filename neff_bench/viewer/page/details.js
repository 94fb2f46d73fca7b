// What is selected, in words: one event with what it waited for, or the totals of an area.
const NO_LINE = new Map([["unaligned", "not known: this instruction could not be laid over the NEFF's"], ["runtime", "none: an instruction of the runtime"]]);
const NAMES_SHOWN = 12, LINKS_SHOWN = 20;
const data = JSON.parse(document.getElementById("data").textContent);

function element(name, content, properties = {}) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...[content].flat());
  return made;
}

async function showEvent(t, event) {
  const { events, head } = t, track = head.tracks[trackOf(head, event)], number = t.selected;
  const [first, second, operands, placed] = (await detailsOf(events))[events.detail[event]].split("\n").concat("", "", "", "");
  if (t.selected !== number) return;
  const facts = [["event", events.names[events.name[event]]], ["track", track.title],
    ["begin", timeText(events.start[event])], ["duration", timeText(events.duration[event])]];
  if (track.kind === "engine") {
    facts.push(["waited", timeText(events.amount[event])], ["instruction", first], ["HLO", second], ["place in stream", events.pc[event] ? String(events.pc[event] - 1) : ""]);
  } else if (track.kind === "dma") facts.push(["bytes", events.amount[event].toLocaleString("en")], ["queue and engine", first], ["kind", second]);
  else facts.push(["value", String(events.amount[event])]);
  const list = element("dl", []);
  const row = (name, content, className = "") => list.append(element("dt", name, { className }), element("dd", content, { className }));
  const add = (name, content) => row(name, content, "wide");
  for (const [name, content] of facts) if (content) row(name, content);
  const stack = events.stacks[events.stack[event]];
  stack.forEach((line, depth) => add(depth ? "called from" : "source line", lineButton(t, line)));
  if (!stack.length && track.kind === "engine") add("source line", element("span", NO_LINE.has(placed) ? NO_LINE.get(placed) : events.lines.length ? "none: not made by a line of the kernel" : "not in this profile", { className: "dim" }));
  if (operands) add("operands", [element("span", operands, { className: "operands" })]);
  if (t.onPath.has(event)) add("critical path", "yes");
  const before = predecessors(events, event);
  if (before.length) add("waited for", links(t, event, before, true));
  if (!before.length && track.kind === "engine" && events.amount[event]) {
    const update = lastUpdate(t, event, track);
    if (update >= 0) add("last signal before it", links(t, event, [[update, null]], true));
  }
  const after = successors(events, event);
  if (after.length) add("waited for this", links(t, event, after, false));
  t.details.replaceChildren(list);
  markLines(t, stack);
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
    const name = `${events.names[events.name[other]]}, ${head.tracks[trackOf(head, other)].title}`;
    const kind = `${reason === null ? "" : `${data.dependences[reason]}, `}${gap >= 0 ? `${timeText(gap)} between` : `overlaps ${timeText(-gap)}`}${earlier && at === 0 && reason !== null ? ", the last to end" : ""}`;
    return element("div", [element("button", name, { type: "button", onclick: () => select(t, other, true) }), ` ${kind}`]);
  });
  if (found.length > LINKS_SHOWN) list.push(element("div", `and ${found.length - LINKS_SHOWN} more`));
  return list;
}

function lineButton(t, line) {
  return element("button", t.events.lines[line], { type: "button", className: "line", onclick: () => openLine(t, line) });
}

function showArea(t) {
  const { events, head, area } = t, lines = [], names = new Map(), places = new Map();
  const add = (sums, key, ns) => {
    const sum = sums.get(key) || [0, 0];
    sum[0]++; sum[1] += ns;
    sums.set(key, sum);
  };
  for (const lane of t.lanes) {
    if (lane.kind !== "track" || lane.y + lane.height <= area.top || lane.y >= area.bottom) continue;
    const track = head.tracks[lane.track];
    let count = 0, busy = 0, bytes = 0;
    for (const [first, last] of track.rows) {
      const from = firstAbove(events.end, first, last, area.from), to = Math.max(from, firstAbove(events.start, from, last, area.to));
      for (let i = from; i < to; i++) {
        const inside = Math.min(events.end[i], area.to) - Math.max(events.start[i], area.from), line = events.stacks[events.stack[i]][0];
        count++; busy += inside;
        add(names, events.name[i], inside);
        if (line !== undefined) add(places, line, inside);
        if (track.kind === "dma") bytes += events.amount[i];
      }
    }
    if (count && track.kind !== "semaphore") lines.push([track.title, String(count), timeText(busy), bytes ? bytes.toLocaleString("en") : ""]);
  }
  const top = (sums, shown) => [...sums].sort((a, b) => b[1][1] - a[1][1]).slice(0, NAMES_SHOWN)
    .map(([key, [count, ns]]) => [shown(key), String(count), timeText(ns)]);
  t.details.replaceChildren(
    element("p", `${timeText(area.from)} to ${timeText(area.to)}: ${timeText(area.to - area.from)}`),
    tableOf(["track", "events", "summed", "bytes"], lines),
    tableOf(["event", "count", "summed"], top(names, name => events.names[name])),
    ...(places.size ? [tableOf(["source line", "count", "summed"], top(places, line => lineButton(t, line)))] : []));
}

function tableOf(heads, lines) {
  const cells = (kind, line) => element("tr", line.map((cell, at) => element(kind, cell, { className: at ? "n" : "" })));
  return element("table", [element("thead", [cells("th", heads)]), element("tbody", lines.map(line => cells("td", line)))]);
}

function select(t, event, bringIntoView = false) {
  t.selected = event;
  t.area = null;
  if (event < 0) { t.details.replaceChildren(element("p", "Click an event, or drag over an area.", { className: "dim" })); markLines(t, []); }
  else {
    if (bringIntoView) bring(t, event);
    showEvent(t, event);
  }
  remember(t);
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
