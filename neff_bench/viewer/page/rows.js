// The table of rows: sorted by a click on a head, filtered by words.
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
  filter.oninput = show;
  show();
  for (const row of all) if (row.dataset.case) row.onclick = () => { location.hash = `case=${row.dataset.case}`; };
}

// Numbers as numbers, before texts.
function compareCells(a, b) {
  const x = a === "" ? NaN : Number(a), y = b === "" ? NaN : Number(b);
  if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y) || a.localeCompare(b, "en", { numeric: true });
  return x - y;
}
