// Mouse and keys of a timeline.
const DRAG = 4, HIT = 3; // pixels

const laneAt = (t, y) => t.lanes.find(one => y + t.scroll >= one.y && y + t.scroll < one.y + one.height);

function eventAt(t, x, y) {
  const lane = laneAt(t, y);
  if (!lane || lane.kind === "usage" || x < t.labels) return -1;
  const near = HIT / t.size.plot * (t.view.to - t.view.from), time = toTime(t, x);
  const hit = (events, first, last) => {
    const i = firstAbove(events.end, first, last, time - near);
    if (i >= last || events.start[i] > time + near) return -1;
    const next = firstAbove(events.end, i, last, time); // the one under the pointer, before one that is only near
    return next < last && events.start[next] <= time ? next : i;
  };
  if (lane.kind === "path") { const i = t.showPath ? hit(t.path, 0, t.path.start.length) : -1; return i < 0 ? -1 : t.path.event[i]; }
  const rows = t.head.tracks[lane.track].rows, row = rows[Math.min(rows.length - 1, Math.floor((y + t.scroll - lane.y) / lane.row))];
  return hit(t.events, row[0], row[1]);
}

function connectMouse(t) {
  let down = null;
  const fingers = new Map(), place = event => { const box = t.base.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  t.base.addEventListener("wheel", event => {
    const { deltaX, deltaY } = event, [x] = place(event), scrolled = Math.max(0, Math.min(t.height - t.size.height, t.scroll + deltaY));
    // The wheel scrolls the tracks first, and the page once they are at their end.
    if (event.ctrlKey || event.metaKey) zoom(t, Math.exp(Math.max(-100, Math.min(100, deltaY)) * 0.003), toTime(t, Math.max(t.labels, x)));
    else if (event.shiftKey || Math.abs(deltaX) > Math.abs(deltaY)) pan(t, (deltaX || deltaY) / t.size.plot);
    else if (scrolled !== t.scroll) scrollBy(t, deltaY);
    else return; // the page scrolls
    event.preventDefault();
  }, { passive: false });
  t.base.addEventListener("pointerdown", event => {
    const [x, y] = place(event), touch = event.pointerType === "touch";
    fingers.set(event.pointerId, [x, y]);
    down = { x, y, view: t.view, scroll: t.scroll, pans: touch || event.shiftKey || event.button === 1, moved: false };
    t.base.setPointerCapture(event.pointerId);
  });
  t.base.addEventListener("pointermove", event => {
    const [x, y] = place(event);
    if (fingers.size > 1) return pinch(t, fingers, event.pointerId, [x, y]);
    if (!down || !down.moved) hover(t, down ? null : [x, y]);
    if (!down) return;
    // A hand that clicks moves a little: less than DRAG is no drag.
    if (!down.moved && Math.hypot(x - down.x, y - down.y) < DRAG) return;
    down.moved = true;
    if (down.pans) {
      const by = (down.x - x) / t.size.plot * (t.view.to - t.view.from);
      look(t, down.view.from + by, down.view.to + by);
      scrollBy(t, down.scroll + down.y - y - t.scroll);
      return;
    }
    const times = [toTime(t, down.x), toTime(t, x)].sort((a, b) => a - b), heights = [down.y, y].map(at => at + t.scroll).sort((a, b) => a - b);
    // What is dragged over becomes the area; an event and an area are never selected together.
    t.selected = -1;
    t.area = { from: times[0], to: times[1], top: heights[0], bottom: heights[1] };
    redraw(t);
  });
  const up = event => {
    fingers.delete(event.pointerId);
    const [x, y] = place(event), lane = laneAt(t, y);
    if (down && !down.moved && event.type === "pointerup") {
      if (lane && lane.kind === "usage" && x >= t.labels) showMemory(t, lane, toTime(t, x)); else select(t, eventAt(t, x, y));
    } else if (down && !down.pans && t.area) showArea(t);
    down = null;
  };
  t.base.addEventListener("pointerup", up);
  t.base.addEventListener("pointercancel", up);
  t.base.addEventListener("pointerleave", () => hover(t, null));
}

// What is under the pointer, in lines beside it. `place`: null where the pointer is away.
async function hover(t, place) {
  const tip = t.host.querySelector(".tip"), [x, y] = place || [-1, -1], lane = place && laneAt(t, y), event = place ? eventAt(t, x, y) : -1;
  const asked = t.hovered = {}, ofMemory = lane && lane.kind === "usage" && x >= t.labels;
  const said = ofMemory ? await memoryTip(t, lane, toTime(t, x)) : event < 0 ? "" : eventTip(t.events, event);
  if (t.hovered !== asked) return; // the pointer has moved on
  tip.hidden = !said;
  tip.textContent = said;
  tip.style.left = `${Math.max(0, Math.min(x + 12, t.size.width - tip.offsetWidth - 4))}px`;
  tip.style.top = `${y + 26 + tip.offsetHeight < t.size.height ? y + 18 : Math.max(0, y - 8 - tip.offsetHeight)}px`;
}

function eventTip(events, event) {
  const line = events.stacks[events.stack[event]][0];
  return [events.names[events.name[event]], timeText(events.duration[event]), line === undefined ? "" : events.lines[line]].filter(Boolean).join(" · ");
}

// Two fingers: what was between them stays between them.
function pinch(t, fingers, moved, now) {
  const [still] = [...fingers].filter(([id]) => id !== moved).map(([, at]) => at), old = fingers.get(moved);
  const distance = at => Math.max(20, Math.abs(at[0] - still[0])), middle = toTime(t, (old[0] + still[0]) / 2);
  zoom(t, distance(old) / distance(now), middle);
  pan(t, (old[0] - now[0]) / 2 / t.size.plot);
  fingers.set(moved, now);
}

function fit(t) {
  const goal = t.area || (t.selected >= 0 ? { from: t.events.start[t.selected], to: t.events.end[t.selected] } : t.whole);
  const span = goal.to - goal.from, wanted = goal === t.whole ? goal : { from: goal.from - span / 2, to: goal.to + span / 2 };
  const there = Math.abs(t.view.from - wanted.from) + Math.abs(t.view.to - wanted.to) < span / 100;
  if (there) look(t, t.whole.from, t.whole.to); else look(t, wanted.from, wanted.to);
}

// An event with what is around it.
function zoomTo(t, event) {
  const { start, end } = t.events, around = 8 * Math.max(end[event] - start[event], t.whole.to / 1000);
  look(t, start[event] - around, end[event] + around);
}

function setText(t, text) {
  t.text = t.host.querySelector(".search").value = text;
}

function setFound(t, found) {
  t.found = found;
  t.host.querySelector(".matches").textContent = found ? `${found.count} found` : "";
  listEvents(t);
  redraw(t);
}

async function searchFor(t, text) {
  t.text = text;
  t.lines = [];
  const found = text.trim() ? await search(t, text) : null;
  if (t.text === text) setFound(t, found);
}

function nextMatch(t, step) {
  if (!t.found || !t.found.count) return;
  let i = t.selected;
  do { i = (i + step + t.events.count) % t.events.count; } while (!t.found.has(i));
  select(t, i, true);
}

// The next event of the row; where nothing is selected, the first one that is shown.
function neighbour(t, step) {
  if (t.selected < 0) {
    const [first, last] = t.head.tracks.find(track => track.kind === "engine")?.rows[0] || [0, 0], shown = firstAbove(t.events.end, first, last, t.view.from);
    if (shown < last) select(t, shown, true);
    return;
  }
  const row = t.head.tracks.flatMap(track => track.rows).find(([first, last]) => t.selected >= first && t.selected < last);
  const next = t.selected + step;
  if (next >= row[0] && next < row[1]) select(t, next, true);
}

function follow(t, found) {
  if (t.selected >= 0 && found.length) select(t, found[0][0], true);
}

const KEYS = {
  w: t => zoom(t, 0.7), s: t => zoom(t, 1 / 0.7), a: t => pan(t, -0.15), d: t => pan(t, 0.15), f: fit,
  "+": t => zoom(t, 0.7), "-": t => zoom(t, 1 / 0.7), ArrowLeft: t => pan(t, -0.15), ArrowRight: t => pan(t, 0.15),
  ArrowUp: t => scrollBy(t, -60), ArrowDown: t => scrollBy(t, 60), ".": t => neighbour(t, 1), ",": t => neighbour(t, -1),
  "[": t => follow(t, predecessors(t.events, t.selected)), "]": t => follow(t, successors(t.events, t.selected)),
  n: t => nextMatch(t, 1), N: t => nextMatch(t, -1), Escape: t => { setText(t, ""); t.lines = []; setFound(t, null); select(t, -1); },
  "/": t => t.host.querySelector(".search").focus(), "?": () => document.getElementById("help").showModal(),
};

const BUTTONS = { fit, in: KEYS.w, out: KEYS.s, left: KEYS.a, right: KEYS.d, help: KEYS["?"], match: KEYS.n };

function connectControls(t) {
  for (const button of t.host.querySelectorAll("button[data-do]")) button.onclick = () => BUTTONS[button.dataset.do](t);
  const path = t.host.querySelector("input[data-do=path]"), box = t.host.querySelector(".search");
  path.parentElement.hidden = !t.path;
  path.onchange = () => { t.showPath = path.checked; redraw(t); };
  box.oninput = () => searchFor(t, box.value);
  box.onkeydown = event => {
    if (event.key === "Enter") nextMatch(t, event.shiftKey ? -1 : 1);
    if (event.key === "Escape") { KEYS.Escape(t); t.base.focus(); }
  };
}

function pressed(t, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  const act = KEYS[event.key.length === 1 && event.key !== "N" ? event.key.toLowerCase() : event.key];
  const scrolls = /^Arrow/.test(event.key) && event.target !== t.base;
  if (act && !scrolls) { act(t); event.preventDefault(); }
}
