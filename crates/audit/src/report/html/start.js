// Brings the page to life: the theme, the links into it, the keyboard, paper.

const THEMES = ["auto", "light", "dark"];

const setTheme = (theme) => {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  at("theme").textContent = `Theme: ${theme}`;
  at("theme").value = theme;
};

const startTheme = () => {
  let theme = "auto";
  // A page from a file may have no storage.
  try {
    theme = localStorage.getItem("lictor-theme") ?? "auto";
  } catch {}
  setTheme(THEMES.includes(theme) ? theme : "auto");
  at("theme").hidden = false;
  at("theme").addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(at("theme").value) + 1) % THEMES.length];
    setTheme(next);
    try {
      localStorage.setItem("lictor-theme", next);
    } catch {}
  });
};

// `#finding-…` shows a finding; `#session-…` and `#property-…` show what belongs to one.
const follow = () => {
  let target;
  try {
    target = decodeURIComponent(location.hash.slice(1));
  } catch {
    return;
  }
  const [, kind, name] = /^(finding|session|property)-(.*)$/su.exec(target) ?? [];
  if (kind === "finding") {
    const finding = findings.find((one) => one.id === name);
    if (finding) revealFinding(finding);
  } else if (kind === "session" || kind === "property") {
    const place = kind === "session" ? sessions.findIndex((one) => one.key === name) : properties.findIndex((one) => one.id === name);
    if (place < 0) return;
    clearFilter();
    filter[kind] = place;
    changed();
    at("findings").scrollIntoView();
    at("findings").focus({ preventScroll: true });
  }
};

const startKeyboard = () => {
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input, select, textarea");
    if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      at("query").focus();
    }
  });
};

// On paper there is nothing to unfold and nothing to scroll.
const startPaper = () => {
  const most = 200;
  addEventListener("beforeprint", () => {
    listing.isWhole = listing.found.length <= most;
    matrix.isWhole = matrix.rows.length <= most;
    document.body.classList.toggle("too-tall", !matrix.isWhole);
    showPage();
    drawRows();
    document.querySelectorAll("details.more").forEach((details) => (details.open = true));
  });
  addEventListener("afterprint", () => {
    listing.isWhole = matrix.isWhole = false;
    showPage();
    drawRows();
  });
};

const tellCount = () => {
  const all = listing.found.length === findings.length && matrix.rows.length === sessions.length;
  const shown = `${count(listing.found.length, "finding")}, ${count(matrix.rows.length, "session")}`;
  at("count").textContent = all ? "" : shown;
  at("clear").hidden = all;
};

startTheme();
if (sessions.length > 0) {
  for (const id of ["toolbar", "matrix-section", "findings-section"]) at(id).hidden = false;
  wireFilter();
  buildMatrix();
  at("rank").addEventListener("change", showFindings);
  listeners.push(showFilter, showMatrix, showFindings, tellCount);
  changed();
  startKeyboard();
  startPaper();
  addEventListener("hashchange", follow);
  follow();
}
