// Whole source files with the time of each line, linked with the timeline both ways.
function connectLines(t) {
  const article = t.host.closest("article");
  article.querySelector(".sources").replaceChildren(...filesOf(t));
  article.onclick = event => { const row = event.target.closest("tr[data-line]"); if (row) chooseLines(t, linesOfRow(row)); };
  article.onkeydown = event => { if (event.key === "Enter" && event.target.matches("tr[data-line]")) chooseLines(t, linesOfRow(event.target)); };
}

const linesOfRow = row => row.dataset.line.split(",").map(Number);

// Of several profiles the same line of the others is found with it.
function chooseLines(t, lines) {
  const group = t.head.aligned.find(one => one.includes(lines[0])) || lines, chosen = {};
  t.lines = group;
  for (const line of group) chosen[line] = 1;
  if (t.selected >= 0) select(t, -1);
  const stacks = stacksWith(t.events, chosen);
  setText(t, "");
  setFound(t, group.length ? matches(t.events, i => stacks[t.events.stack[i]]) : null);
  markLines(t, group);
}

function markLines(t, lines) {
  const article = t.host.closest("article"), wanted = new Set(lines.map(String));
  for (const row of article.querySelectorAll("tr[aria-current]")) row.removeAttribute("aria-current");
  for (const row of article.querySelectorAll("tr[data-line]"))
    if (row.dataset.line.split(",").some(line => wanted.has(line))) row.setAttribute("aria-current", "true");
}

function openLine(t, line) {
  const article = t.host.closest("article"), place = t.head.places[line], file = place && article.querySelector(`.sources details[data-file="${place[0]}"]`);
  if (file) { fillFile(t, file, place[0]); file.open = true; }
  markLines(t, [line]);
  const row = [...article.querySelectorAll(".sources tr[data-line], tr[data-line]")].filter(one => linesOfRow(one).includes(line))[0];
  const inFile = file && file.querySelector(`tr[data-line="${line}"]`);
  (inFile || row)?.scrollIntoView({ block: "center" });
}

// A file for each that has a text, the one with the longest line first and open.
function filesOf(t) {
  const { head } = t, longest = head.files.map(() => 0);
  for (const [line, , , ns] of head.totals) if (head.places[line]) longest[head.places[line][0]] = Math.max(longest[head.places[line][0]], ns);
  const known = head.files.map((_, file) => file).filter(file => data.texts[head.files[file][1]] !== undefined && longest[file]).sort((a, b) => longest[b] - longest[a]);
  const made = known.map(file => {
    const part = element("details", [element("summary", head.files[file][0])]);
    part.dataset.file = file;
    part.ontoggle = () => fillFile(t, part, file);
    return part;
  });
  if (made.length) { fillFile(t, made[0], known[0]); made[0].open = true; }
  const none = !head.files.length ? "The profile names no source lines." : "The text of these files is not below the directories that were searched; neff-bench view takes --sources DIR.";
  return made.length ? made : [element("p", none, { className: "dim" })];
}

function fillFile(t, part, file) {
  if (part.children.length > 1) return;
  const { head } = t, byNumber = new Map(), longest = Math.max(...head.totals.map(total => total[3])) || 1;
  for (const total of head.totals) { const place = head.places[total[0]]; if (place && place[0] === file) byNumber.set(place[1], total); }
  const us = ns => ns ? (ns / 1000).toFixed(3) : "", onPath = head.path.length > 0;
  const rows = data.texts[head.files[file][1]].split("\n").map((text, at) => {
    const total = byNumber.get(at + 1), row = element("tr", []), cell = (content, className) => row.append(element("td", content, { className }));
    if (onPath) cell(total ? us(total[4]) : "", "n");
    cell(total ? us(total[3]) : "", "n");
    cell(String(at + 1), "n");
    cell(text, "code");
    if (total) {
      row.className = "hot";
      row.style.setProperty("--heat", `${(100 * total[3] / longest).toFixed(1)}%`);
      row.dataset.line = total[0];
      row.tabIndex = 0;
    }
    return row;
  });
  const heads = [...(onPath ? ["path us"] : []), "with calls us", "line", "source"].map(name => element("th", name, { scope: "col" }));
  const table = element("table", [element("thead", [element("tr", heads)]), element("tbody", rows)], { className: "source" });
  const box = element("div", [table], { className: "scroll tall" }), hottest = rows.find(row => row.style.getPropertyValue("--heat") === "100.0%") || rows.find(row => row.dataset.line);
  part.append(box);
  requestAnimationFrame(() => { if (hottest) box.scrollTop = hottest.offsetTop - 80; });
}
