// What a link keeps: case, zoom, selection, search and chosen lines.
const WRITE_MS = 200; // browsers refuse an address that changes too often
let writing = 0;

function stateOf(t) {
  const { view, whole } = t, state = { case: t.events.number };
  if (view.from !== whole.from || view.to !== whole.to) Object.assign(state, { from: Number(view.from.toFixed(1)), to: Number(view.to.toFixed(1)) });
  if (t.scroll) state.scroll = Math.round(t.scroll);
  if (t.selected >= 0) state.event = t.selected;
  if (t.text) state.find = t.text;
  if (t.lines.length) state.lines = t.lines.join();
  return state;
}

// What stays true when the kernel has changed: events and lines by name. `neffBench.restore` takes it.
function namedState(t) {
  const state = stateOf(t);
  if (t.selected >= 0) state.event = occurrence(t, t.selected);
  if (t.lines.length) state.lines = t.lines.map(line => t.events.lines[line]);
  return { ...state, page: scrollY };
}

function stateInAddress() {
  const state = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  for (const name of ["case", "from", "to", "scroll", "event"]) if (name in state) state[name] = Number(state[name]);
  return state;
}

function remember(t) {
  if (writing || t !== shown) return;
  writing = setTimeout(() => {
    writing = 0;
    const wanted = `#${new URLSearchParams(stateOf(shown))}`;
    if (location.hash !== wanted) history.replaceState(null, "", wanted);
  }, WRITE_MS);
}

async function restore(t, state) {
  const { from, to, event, lines, find = "" } = state, zoomed = from < to;
  look(t, ...(zoomed ? [from, to] : [t.whole.from, t.whole.to]));
  t.scroll = 0;
  scrollBy(t, state.scroll || 0);
  t.lines = [];
  setText(t, find);
  const numbers = (typeof lines === "string" ? lines.split(",").map(Number) : (lines || []).map(name => t.events.lines.indexOf(name))).filter(line => line >= 0 && line < t.events.lines.length);
  if (numbers.length) chooseLines(t, numbers); else setFound(t, find ? await search(t, find) : null);
  const number = typeof event === "object" && event ? locateOccurrence(t, event) : event;
  if (number >= 0 && number < t.events.count) {
    if (!zoomed) zoomTo(t, number);
    select(t, number, !zoomed);
  } else select(t, -1);
}
