// The events as a table: those that are found, and lie in the chosen area. A click on a head sorts.
const PAGE = 200, NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 4 });
const COLUMNS = [
  ["track", (t, i) => t.head.tracks[trackNumbers(t.head, t.events)[i]].title],
  ["event", (t, i) => t.events.names[t.events.name[i]]],
  ["begin us", (t, i) => t.events.start[i] / 1000],
  ["duration us", (t, i) => t.events.duration[i] / 1000],
  ["waited us", (t, i) => kindOf(t, i) === "engine" ? t.events.amount[i] / 1000 : ""],
  ["bytes", (t, i) => kindOf(t, i) === "dma" ? t.events.amount[i] : ""],
  ["source line", (t, i) => t.events.lines[t.events.stacks[t.events.stack[i]][0]] ?? ""],
];
const MORE = ["called from", "instruction or queue", "HLO or kind", "operands"]; // of the CSV alone
const kindOf = (t, i) => t.head.tracks[trackNumbers(t.head, t.events)[i]].kind;

function connectEvents(t) {
  const host = t.host.closest("article").querySelector(".events"), count = element("span", "", { className: "dim" }), body = element("tbody", []);
  count.setAttribute("role", "status");
  t.list = { shown: PAGE, column: -1, up: true, count, body, rows: [] };
  const heads = COLUMNS.map(([name], column) => {
    const head = element("th", [element("button", name, { type: "button", onclick: () => sortEvents(t, column) })], { scope: "col" });
    head.setAttribute("aria-sort", "none");
    return head;
  });
  t.list.heads = heads;
  t.list.more = element("button", "more", { type: "button", onclick: () => { t.list.shown += PAGE; fillEvents(t); } });
  const csv = element("button", "CSV", { type: "button", title: "all of these events as a file", onclick: () => saveCsv(t) });
  body.onclick = event => { const row = event.target.closest("tr"); if (row) select(t, Number(row.dataset.event), true); };
  body.onkeydown = event => { if (event.key === "Enter") body.onclick(event); };
  host.replaceChildren(element("p", [count, " ", csv], { className: "controls" }),
    element("div", [element("table", [element("thead", [element("tr", heads)]), body])], { className: "scroll tall" }), element("p", [t.list.more], { className: "controls" }));
  listEvents(t);
}

// Which events the table has, after a search or the choice of an area.
function listEvents(t) {
  if (!t.list) return;
  const has = i => !t.found || t.found.has(i), rows = [];
  const runs = t.area ? runsOf(t, t.area) : [[null, 0, t.events.count]];
  for (const [, from, to] of runs) for (let i = from; i < to; i++) if (has(i)) rows.push(i);
  Object.assign(t.list, { rows, shown: PAGE });
  if (t.list.column >= 0) sortRows(t);
  fillEvents(t);
}

function sortEvents(t, column) {
  const { list } = t;
  list.up = list.column === column ? !list.up : true;
  list.column = column;
  list.heads.forEach((head, at) => head.setAttribute("aria-sort", at !== column ? "none" : list.up ? "ascending" : "descending"));
  sortRows(t);
  fillEvents(t);
}

function sortRows(t) {
  const { rows, column, up } = t.list, keys = new Map(rows.map(i => [i, COLUMNS[column][1](t, i)])), sign = up ? 1 : -1;
  const empty = key => key === "";
  rows.sort((a, b) => {
    const x = keys.get(a), y = keys.get(b);
    return empty(x) - empty(y) || sign * (x < y ? -1 : x > y ? 1 : 0) || a - b;
  });
}

function fillEvents(t) {
  const { rows, shown, count, body, more } = t.list;
  count.textContent = `${rows.length.toLocaleString("en")} of ${t.events.count.toLocaleString("en")} events`;
  body.replaceChildren(...rows.slice(0, shown).map(i => {
    const row = element("tr", COLUMNS.map(([, value]) => { const cell = value(t, i); return typeof cell === "number" ? element("td", NUMBER.format(cell), { className: "n" }) : element("td", cell); }));
    row.dataset.event = i;
    row.tabIndex = 0;
    return row;
  }));
  more.hidden = rows.length <= shown;
}

// A cell that a spreadsheet takes for text, whatever a profile names.
const csvCell = value => typeof value === "number" ? String(value) : /^[=+\-@\t\r]/.test(value) ? `"'${value.replaceAll('"', '""')}"` : `"${value.replaceAll('"', '""')}"`;

async function csvOf(t) {
  const { events } = t, details = await detailsOf(events), lines = [[...COLUMNS.map(([name]) => name), ...MORE].map(csvCell).join()];
  for (const i of t.list.rows) {
    const [first, second, operands] = details[events.detail[i]].split("\n").concat("", "", "");
    const calls = events.stacks[events.stack[i]].slice(1).map(line => events.lines[line]).join(" ");
    lines.push([...COLUMNS.map(([, value]) => value(t, i)), calls, first, second, operands].map(csvCell).join());
  }
  return lines.join("\r\n") + "\r\n";
}

async function saveCsv(t) {
  const address = URL.createObjectURL(new Blob([await csvOf(t)], { type: "text/csv" }));
  element("a", [], { href: address, download: `${t.head.name.split("/").pop()}.csv` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}
