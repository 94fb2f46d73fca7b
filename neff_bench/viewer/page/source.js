// Source lines beside the timeline: a click on a line finds its events, the selected event marks its line.
function markLines(t, lines) {
  const article = t.host.closest("article");
  for (const row of article.querySelectorAll("tr[aria-current]")) row.removeAttribute("aria-current");
  for (const line of lines) for (const row of article.querySelectorAll(`tr[data-line="${line}"]`)) row.setAttribute("aria-current", "true");
}

function openLine(t, line) {
  const rows = t.host.closest("article").querySelectorAll(`tr[data-line="${line}"]`);
  if (rows.length) rows[rows.length - 1].scrollIntoView({ block: "center" });
}

function connectLines(t) {
  const find = row => {
    const line = Number(row.dataset.line);
    markLines(t, [line]);
    const stacks = stacksWith(t.events, { [line]: 1 });
    setFound(t, matches(t.events, i => stacks[t.events.stack[i]]));
  };
  for (const row of t.host.closest("article").querySelectorAll("tr[data-line]")) {
    row.onclick = () => find(row);
    row.onkeydown = event => { if (event.key === "Enter") find(row); };
  }
}
