// The page: which case is shown, its theme, and what others ask it.
const timelines = new Map();
let shown = null;

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  for (const t of timelines.values()) recolor(t);
}

// Show a case as a state has it. `events`: of the case, where they are known already.
async function openCase(state, events = null) {
  const number = data.cases[state.case] ? state.case : Math.max(0, data.cases.findIndex(one => one.count)), head = data.cases[number];
  if (!head) return;
  for (const article of document.querySelectorAll(".case")) article.classList.toggle("shown", article.id === `case-${number}`);
  for (const row of document.querySelectorAll("tr[data-case]")) row.toggleAttribute("aria-current", Number(row.dataset.case) === number);
  const choice = document.getElementById("case"), host = document.querySelector(`#case-${number} .timeline`);
  if (choice) choice.value = number;
  const isNew = host && !timelines.has(number);
  if (isNew) {
    try {
      const t = makeTimeline(host, head, events || await loadEvents(number, head));
      timelines.set(number, t);
      connectMouse(t); connectControls(t); connectLines(t);
      requestAnimationFrame(() => setTimeout(connectEvents, 0, t)); // it stands below, and the timeline is painted before it
      new ResizeObserver(() => layOut(t)).observe(t.base.parentElement);
    } catch (error) {
      host.textContent = `The timeline cannot be shown in this browser: ${error}`;
    }
  }
  shown = timelines.get(number) || null;
  showDetails();
  if (shown) {
    layOut(shown);
    if (isNew || Object.keys(state).length > 1) await restore(shown, state); else select(shown, shown.selected);
    paint(shown);
  }
  hook.ready = number;
  hook.firstPaintMs ??= performance.now();
}

async function openAddress() {
  await openCase(stateInAddress());
  if (location.hash.includes("case=")) document.querySelector(".case.shown")?.scrollIntoView();
}

const hook = window.neffBench = {
  ready: null,
  firstPaintMs: null,
  get timeline() { return shown; },
  counts: () => data.cases.map(one => one.count),
  locate: event => { const box = boxOf(shown, event), plane = shown.base.getBoundingClientRect(); return { x: plane.left + box.x + Math.min(box.width, 4) / 2, y: plane.top + box.y + box.height / 2 }; },
  bring: event => bring(shown, event),
  state: () => shown && namedState(shown),
  restore: openCase,
  csv: () => csvOf(shown),
};

document.documentElement.classList.add("scripted");
const system = matchMedia("(prefers-color-scheme: dark)");
setTheme(system.matches ? "dark" : "light");
system.addEventListener("change", () => setTheme(system.matches ? "dark" : "light"));
document.getElementById("theme").onclick = () => setTheme(dark() ? "light" : "dark");
document.getElementById("print").onclick = () => print();
document.getElementById("close").onclick = () => { if (shown) select(shown, -1); };
let before = null;
addEventListener("beforeprint", () => { before = document.documentElement.dataset.theme; setTheme("light"); if (shown) paint(shown); });
addEventListener("afterprint", () => setTheme(before));
addEventListener("resize", () => { if (shown) layOut(shown); });
addEventListener("keydown", event => { if (shown && !document.getElementById("help").open) pressed(shown, event); });
addEventListener("hashchange", openAddress);
const choice = document.getElementById("case");
if (choice) choice.onchange = () => { location.hash = `case=${choice.value}`; };
connectRows();
openAddress();
