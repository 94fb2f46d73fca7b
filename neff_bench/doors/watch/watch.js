"use strict";
// One event says all that the page shows. A new picture is loaded behind the old one, shows what is looked at there, and then takes its place.
const $ = id => document.getElementById(id), hook = window.neffBenchWatch = { state: null, shown: null, numbered: null, numberMs: null, pictureMs: null };
const us = value => value === null ? "–" : `${value.toFixed(2)} us`;

function make(name, text, cls) {
  const node = document.createElement(name);
  node.textContent = text;
  if (cls) node.className = cls;
  return node;
}

function delta(change) {
  if (change.before_us === null) return make("span", "new", "dim");
  if (change.after_us === null) return make("span", "gone", "dim");
  const by = change.after_us - change.before_us;
  return make("span", `${by < 0 ? "−" : "+"}${Math.abs(by).toFixed(2)}`, Math.abs(by) < 0.005 ? "dim" : by < 0 ? "better" : "worse");
}

function total(row, since) {
  const found = since.find(one => one.case === row.case), node = make("span", us(row.total_time_us));
  if (row.total_time_low_us !== null) node.append(make("span", ` (${row.total_time_low_us.toFixed(0)}–${row.total_time_high_us.toFixed(0)})`, "dim"));
  if (found) node.append(" ", delta(found.total));
  if (row.check) node.append(" ", make("span", row.check, row.check === "passed" ? "better" : row.check === "unchecked" ? "dim" : "worse"));
  return node;
}

function table(caption, changes) {
  const made = make("table", "");
  made.append(make("caption", caption));
  for (const one of changes) {
    const line = made.insertRow();
    line.insertCell().textContent = one.place ? `${one.place.replace(/^.*\//, "")}  ${one.name}` : one.name;
    for (const cell of [us(one.before_us), us(one.after_us)]) { const n = line.insertCell(); n.className = "n"; n.textContent = cell; }
    const by = line.insertCell();
    by.className = "n";
    by.append(delta(one));
  }
  return made;
}

function showChanges(state) {
  const parts = [];
  for (const [what, since] of [["since the last save", state.since_last], [`since the pinned save ${state.pinned}`, state.since_pinned]])
    for (const one of since)
      for (const [name, list] of [["engines", one.engines], ["lines", one.lines], ["critical path", one.path]])
        if (list.length) parts.push(table(`${since.length > 1 ? `${one.case}: ` : ""}${name} ${what}`, list));
  $("changes").replaceChildren(...parts);
}

function show(state) {
  hook.state = state;
  const number = $("number");
  number.replaceChildren(...state.rows.map(row => { const line = make("span", state.rows.length > 1 ? `${row.case} ` : ""); line.append(total(row, state.since_last)); return line; }).flatMap((node, at) => at ? [document.createElement("br"), node] : [node]));
  if (!state.rows.length) number.textContent = state.busy ? "looking…" : "no number yet";
  $("about").textContent = `${state.rows[0] ? `${state.rows[0].kernel} · ${state.rows[0].target} · LNC ${state.rows[0].lnc} · simulated · ` : ""}save ${state.save} at ${state.at}${state.busy ? " …" : ""}`;
  document.title = state.broken ? "broken · neff-bench watch" : state.rows[0] ? `${us(state.rows[0].total_time_us)} · ${state.rows[0].kernel}` : "neff-bench watch";
  $("broken").hidden = !state.broken;
  $("broken").textContent = state.broken || "";
  $("diagnostics").hidden = !state.diagnostics.length || Boolean(state.broken);
  $("diagnostics").replaceChildren(...state.diagnostics.map(one => make("p", `${one.file.replace(/^.*\//, "")}:${one.line}: ${one.code ? `${one.code} ` : ""}${one.message}`, one.severity)));
  showChanges(state);
  for (const name of ["pictures", "number"]) $(name).classList.toggle("old", Boolean(state.broken));
  $("pin").disabled = state.good === null || state.good === state.pinned;
  $("unpin").hidden = state.pinned === null;
  if (state.numbered !== hook.numbered) requestAnimationFrame(() => { hook.numbered = state.numbered; hook.numberMs = performance.timeOrigin + performance.now(); });
  if (state.good !== null && address() !== hook.shown) picture(address());
}

// Where the picture is that is wanted: of the newest good save, maybe over another one.
function address() {
  const state = hook.state, over = state[$("over").value], words = [];
  if (over && over !== state.good) words.push(`over=${over}`);
  if ($("constants").checked) words.push("constants");
  return `picture/${state.good}${words.length ? `?${words.join("&")}` : ""}`;
}

function picture(wanted) {
  hook.shown = wanted;
  const save = hook.state.good;
  const old = document.querySelector("iframe:not(.next)"), frame = document.createElement("iframe");
  for (const waiting of document.querySelectorAll("iframe.next")) waiting.remove();
  frame.className = "next";
  frame.title = "The picture of the last good save";
  frame.src = wanted;
  frame.onload = () => painted(frame, async () => {
    const seen = old && old.contentWindow.neffBench.state();
    if (seen) await frame.contentWindow.neffBench.restore(seen);
    if (!frame.isConnected) return;
    if (old) frame.contentWindow.scrollTo(0, old.contentWindow.scrollY);
    frame.className = "";
    if (old) old.remove();
    requestAnimationFrame(() => { hook.pictureMs = performance.timeOrigin + performance.now(); hook.painted = save; hook.paintedAt = wanted; });
  });
  $("pictures").append(frame);
}

// Calls back when the timeline of a frame is drawn.
function painted(frame, then) {
  const inner = frame.contentWindow && frame.contentWindow.neffBench;
  if (!inner || inner.ready === null || !inner.timeline || !inner.timeline.painted) frame.isConnected && setTimeout(painted, 4, frame, then);
  else then();
}

for (const name of ["over", "constants"]) $(name).onchange = () => { if (hook.state.good !== null) picture(address()); };
$("pin").onclick = () => fetch(`pin?save=${hook.state.good}`, { method: "POST" });
$("unpin").onclick = () => fetch("pin", { method: "POST" });
const source = new EventSource("events");
source.onmessage = event => show(JSON.parse(event.data));
source.onerror = () => { $("about").textContent = "neff-bench watch has ended, or cannot be reached"; };
