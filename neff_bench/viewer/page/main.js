// The page: which case is shown, its theme, and what tests ask it.
const timelines = new Map();
let shown = null;

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  for (const t of timelines.values()) recolor(t);
}

async function openCase(number) {
  const head = data.cases[number];
  if (!head) return;
  for (const article of document.querySelectorAll(".case")) article.classList.toggle("shown", article.id === `case-${number}`);
  for (const row of document.querySelectorAll("tr[data-case]")) row.toggleAttribute("aria-current", Number(row.dataset.case) === number);
  const choice = document.getElementById("case");
  if (choice) choice.value = number;
  const host = document.querySelector(`#case-${number} .timeline`);
  if (host && !timelines.has(number)) {
    try {
      const t = makeTimeline(host, head, await loadEvents(number, head));
      timelines.set(number, t);
      connectMouse(t); connectControls(t); connectLines(t);
    } catch (error) {
      host.textContent = `The timeline cannot be shown in this browser: ${error}`;
    }
  }
  shown = timelines.get(number) || null;
  hook.ready = number;
  if (shown) {
    layOut(shown);
    const event = asked("event");
    if (event >= 0 && event < shown.events.count && event !== shown.selected) { zoomTo(shown, event); select(shown, event, true); }
    paint(shown);
  }
  hook.firstPaintMs ??= performance.now();
}

// What the address asks for: #case=3&event=120 shows an event of a case.
function asked(name) {
  const value = new URLSearchParams(location.hash.slice(1)).get(name);
  return value === null ? -1 : Number(value);
}

const askedCase = () => data.cases[asked("case")] ? asked("case") : Math.max(0, data.cases.findIndex(one => one.count));

function remember(t) {
  history.replaceState(null, "", `#case=${t.events.number}${t.selected < 0 ? "" : `&event=${t.selected}`}`);
}

const hook = window.neffBench = {
  ready: null,
  firstPaintMs: null,
  get timeline() { return shown; },
  counts: () => data.cases.map(one => one.count),
  locate: event => { const box = boxOf(shown, event), plane = shown.base.getBoundingClientRect(); return { x: plane.left + box.x + Math.min(box.width, 4) / 2, y: plane.top + box.y + box.height / 2 }; },
  bring: event => bring(shown, event),
};

document.documentElement.classList.add("scripted");
const system = matchMedia("(prefers-color-scheme: dark)");
setTheme(system.matches ? "dark" : "light");
system.addEventListener("change", () => setTheme(system.matches ? "dark" : "light"));
document.getElementById("theme").onclick = () => setTheme(dark() ? "light" : "dark");
document.getElementById("print").onclick = () => print();
let before = null;
addEventListener("beforeprint", () => { before = document.documentElement.dataset.theme; setTheme("light"); if (shown) paint(shown); });
addEventListener("afterprint", () => setTheme(before));
addEventListener("resize", () => { if (shown) layOut(shown); });
addEventListener("keydown", event => { if (shown && !document.getElementById("help").open) pressed(shown, event); });
addEventListener("hashchange", () => openCase(askedCase()));
const choice = document.getElementById("case");
if (choice) choice.onchange = () => { location.hash = `case=${choice.value}`; };
connectRows();
openCase(askedCase());
