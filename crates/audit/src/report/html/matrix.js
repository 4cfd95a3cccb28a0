// The matrix of sessions and properties. Only the rows in view are elements of the page, so that ten thousand sessions
// cost no more than forty.

const ROW = 28;
const AHEAD = 8;
const WEIGHTS = [4096, 512, 64, 8, 1];

const matrix = { columns: [], rows: [], drawn: new Map(), active: { row: 0, column: 0 } };

const buildMatrix = () => {
  matrix.head = make("div", { class: "head", role: "row", "aria-rowindex": 1 });
  matrix.body = make("div", { class: "rows", role: "rowgroup" });
  matrix.grid = make(
    "div",
    { class: "grid", role: "grid", tabindex: "-1", "aria-label": "verdicts by session and property" },
    make("div", { role: "rowgroup", class: "heads" }, matrix.head),
    matrix.body,
  );
  matrix.nothing = make("p", { class: "nothing", hidden: true }, "No session matches.");
  at("matrix").append(matrix.grid, matrix.nothing);
  matrix.grid.addEventListener("scroll", () => requestAnimationFrame(drawRows), { passive: true });
  new ResizeObserver(() => drawRows()).observe(matrix.grid);
  matrix.body.addEventListener("mouseover", (event) => tellCell(event.target));
  matrix.body.addEventListener("focusin", (event) => activate(event.target));
  matrix.body.addEventListener("click", (event) => openCell(event.target));
  matrix.body.addEventListener("keydown", moveInMatrix);
  at("order").addEventListener("change", showMatrix);
};

const showMatrix = () => {
  matrix.columns = shownColumns();
  matrix.rows = shownSessions();
  if (at("order").value === "worst") {
    const weigh = (session) =>
      matrix.columns.reduce((sum, column) => {
        const letter = session.letters[column];
        const weight = WEIGHTS[properties[column].rank];
        return sum + (letter === "v" ? weight : letter === "a" ? weight / 1e4 : letter === "i" ? 1e-6 : 0);
      }, 0);
    const weights = new Map(matrix.rows.map((session) => [session, weigh(session)]));
    matrix.rows.sort((a, b) => weights.get(b) - weights.get(a) || a.place - b.place);
  }
  matrix.active = { row: 0, column: 0 };
  matrix.grid.setAttribute("aria-rowcount", matrix.rows.length + 1);
  matrix.grid.setAttribute("aria-colcount", matrix.columns.length + 1);
  matrix.grid.hidden = matrix.rows.length === 0;
  matrix.nothing.hidden = matrix.rows.length > 0;
  matrix.body.style.height = `${matrix.rows.length * ROW}px`;
  matrix.grid.scrollTop = 0;
  at("cell-status").textContent = "";
  drawHead();
  matrix.drawn.clear();
  matrix.body.replaceChildren();
  drawRows();
};

const drawHead = () => {
  const heads = matrix.columns.map((column, place) => {
    const property = properties[column];
    const isFirst = place === 0 || properties[matrix.columns[place - 1]].pack !== property.pack;
    const name = make("a", { href: link("property", property.id), title: `${show(property.id)}: ${show(property.says)}` });
    name.append(make("bdi", {}, show(property.name)));
    const cell = make("div", { class: isFirst ? "column first" : "column", role: "columnheader", "aria-colindex": place + 2 });
    if (isFirst && property.pack !== "") {
      const next = matrix.columns.findIndex((other, after) => after > place && properties[other].pack !== property.pack);
      const pack = make("span", { class: "pack", title: show(property.pack) }, show(property.pack));
      pack.style.setProperty("--span", (next < 0 ? matrix.columns.length : next) - place);
      cell.append(pack);
    }
    cell.append(sign(property.severity), name);
    return cell;
  });
  const corner = make("div", { class: "corner", role: "columnheader", "aria-colindex": 1 }, count(matrix.rows.length, "session"), make("span", { class: "steps" }, "steps"));
  matrix.head.replaceChildren(corner, ...heads);
};

const drawRows = () => {
  const height = matrix.isWhole ? Infinity : matrix.grid.clientHeight;
  const first = Math.max(0, Math.floor(matrix.grid.scrollTop / ROW) - AHEAD);
  const last = Math.min(matrix.rows.length, Math.ceil((matrix.grid.scrollTop + height) / ROW) + AHEAD);
  for (const [row, element] of matrix.drawn) {
    // The row with the focus stays, wherever it was scrolled to.
    if ((row < first || row >= last) && !element.contains(document.activeElement)) {
      element.remove();
      matrix.drawn.delete(row);
    }
  }
  const fresh = document.createDocumentFragment();
  for (let row = first; row < last; row += 1) {
    if (!matrix.drawn.has(row)) {
      const element = rowOf(row);
      matrix.drawn.set(row, element);
      fresh.append(element);
    }
  }
  matrix.body.append(fresh);
};

const rowOf = (row) => {
  const session = matrix.rows[row];
  const name = make("a", { class: "name", href: link("session", session.key), title: `${show(session.name)} in ${show(session.file)}, ${count(session.steps, "step")}` });
  name.append(make("bdi", {}, show(session.name)));
  const header = make("div", { class: "session", role: "rowheader", "aria-colindex": 1 }, name, make("span", { class: "steps" }, number(session.steps)));
  const cells = matrix.columns.map((column, place) => {
    const letter = session.letters[column] ?? "s";
    const isActive = row === matrix.active.row && place === matrix.active.column;
    const attributes = { class: `cell ${letter}`, role: "gridcell", "aria-colindex": place + 2, "aria-label": VERDICTS[letter], tabindex: isActive ? 0 : -1 };
    return make("div", attributes, MARKS[letter]);
  });
  const element = make("div", { class: "line", role: "row", "aria-rowindex": row + 2 }, header, ...cells);
  element.style.transform = `translateY(${row * ROW}px)`;
  element.dataset.row = row;
  return element;
};

const describeCell = (row, place) => {
  const session = matrix.rows[row];
  const column = matrix.columns[place];
  const letter = session.letters[column] ?? "s";
  const broken = breaks.get(session.place * properties.length + column);
  let text = `${show(properties[column].id)}: ${VERDICTS[letter]}`;
  if (broken && broken.step > 0) text += ` at step ${broken.step} of ${session.steps}`;
  if (broken && broken.times > 1) text += `, ${broken.times} times`;
  if (!broken && session.live[column] !== letter) text += " before the end";
  return `${text}, in session ${show(session.name)}`;
};

const cellAt = (target) => {
  const cell = target.closest(".cell");
  const line = target.closest(".line");
  return cell && line ? { row: Number(line.dataset.row), column: Number(cell.getAttribute("aria-colindex")) - 2 } : undefined;
};

const tellCell = (target) => {
  const cell = cellAt(target);
  if (cell) at("cell-status").textContent = describeCell(cell.row, cell.column);
};

const activate = (target) => {
  const cell = cellAt(target);
  if (!cell) return;
  elementAt(matrix.active)?.setAttribute("tabindex", "-1");
  matrix.active = cell;
  target.setAttribute("tabindex", "0");
  tellCell(target);
};

const elementAt = ({ row, column }) => matrix.drawn.get(row)?.children[column + 1];

// A cell leads to its findings.
const openCell = (target) => {
  const cell = cellAt(target);
  if (!cell) return;
  const session = matrix.rows[cell.row];
  const column = matrix.columns[cell.column];
  const first = session.findings.find((finding) => finding.property === column);
  if (first) location.hash = link("finding", first.id);
};

const moveInMatrix = (event) => {
  const cell = cellAt(event.target);
  if (!cell || event.altKey || event.metaKey) return;
  const lastRow = matrix.rows.length - 1;
  const lastColumn = matrix.columns.length - 1;
  const page = Math.max(1, Math.floor(matrix.grid.clientHeight / ROW) - 4);
  let { row, column } = cell;
  switch (event.key) {
    case "ArrowUp": row -= 1; break;
    case "ArrowDown": row += 1; break;
    case "ArrowLeft": column -= 1; break;
    case "ArrowRight": column += 1; break;
    case "PageUp": row -= page; break;
    case "PageDown": row += page; break;
    case "Home": column = 0; if (event.ctrlKey) row = 0; break;
    case "End": column = lastColumn; if (event.ctrlKey) row = lastRow; break;
    case "Enter": case " ": event.preventDefault(); openCell(event.target); return;
    default: return;
  }
  event.preventDefault();
  row = Math.min(lastRow, Math.max(0, row));
  column = Math.min(lastColumn, Math.max(0, column));
  revealRow(row);
  elementAt({ row, column })?.focus({ preventScroll: true });
  elementAt({ row, column })?.scrollIntoView({ block: "nearest", inline: "nearest" });
};

const revealRow = (row) => {
  const head = matrix.head.offsetHeight;
  const top = row * ROW;
  const room = matrix.grid.clientHeight - head - ROW;
  if (top < matrix.grid.scrollTop) matrix.grid.scrollTop = top;
  else if (top > matrix.grid.scrollTop + room) matrix.grid.scrollTop = top - room;
  drawRows();
};

