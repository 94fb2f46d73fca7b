// The table of rows: sorted by a click on a head, filtered by words. It is one stop of the Tab key; arrows move inside.
function connectRows() {
  const section = document.getElementById("rows");
  if (!section) return;
  const table = section.querySelector("table"), body = table.tBodies[0], filter = document.getElementById("filter"), count = document.getElementById("count");
  const heads = [...table.tHead.rows[0].cells], all = [...body.rows];
  heads.forEach((head, column) => head.firstElementChild.onclick = () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    for (const other of heads) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const value = row => row.cells[column].textContent, sign = up ? 1 : -1;
    all.sort((a, b) => sign * compareCells(value(a), value(b)));
    body.append(...all);
  });
  const show = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of all) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every(word => text.includes(word));
      shown += !row.hidden;
    }
    count.textContent = `${shown} of ${all.length}`;
  };
  const stops = () => [heads, ...all.filter(row => !row.hidden && row.isConnected).map(row => [row.cells[0]])].map(cells => cells.map(cell => cell.querySelector("button, a")).filter(Boolean)).filter(line => line.length);
  for (const line of stops()) for (const one of line) one.tabIndex = -1;
  const first = heads[0].firstElementChild;
  first.tabIndex = 0;
  table.onkeydown = event => {
    const [down, right] = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key] || [];
    if (down === undefined) return;
    const lines = stops(), at = lines.findIndex(line => line.includes(document.activeElement)), line = lines[at + down];
    const next = line && line[Math.max(0, right ? line.indexOf(document.activeElement) + right : 0)];
    if (next) { document.activeElement.tabIndex = -1; next.tabIndex = 0; next.focus(); }
    event.preventDefault();
    event.stopPropagation();
  };
  filter.oninput = show;
  show();
  for (const row of all) if (row.dataset.case) row.onclick = event => {
    event.preventDefault();
    if (stateInAddress().case === Number(row.dataset.case)) openAddress(); else location.hash = `case=${row.dataset.case}`;
  };
}

// Numbers as numbers, before texts.
function compareCells(a, b) {
  const x = a === "" ? NaN : Number(a), y = b === "" ? NaN : Number(b);
  if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y) || a.localeCompare(b, "en", { numeric: true });
  return x - y;
}
