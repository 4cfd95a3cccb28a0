// Which part of the report is shown.

const filter = { terms: [], severities: new Set(), property: -1, session: -1, verdict: "", suppressed: "" };

const listeners = [];
const changed = () => listeners.forEach((listener) => listener());

const showsProperty = (place) =>
  (filter.property < 0 || filter.property === place) &&
  (filter.severities.size === 0 || filter.severities.has(properties[place].severity));

const mentions = (text) => filter.terms.every((term) => text.includes(term));

// The worst letter of a session in the columns that are shown.
const worst = (session, columns) => {
  let letter = "s";
  for (const column of columns) {
    const here = session.letters[column];
    if (here === "v") return "v";
    if (here === "a" || (here === "i" && letter === "s")) letter = here;
  }
  return letter;
};

const LETTERS = { violated: "v", accepted: "a", inconclusive: "i", satisfied: "s" };

const shownColumns = () => properties.map((_, place) => place).filter(showsProperty);

const hasVerdict = (session, columns) => filter.verdict === "" || worst(session, columns) === LETTERS[filter.verdict];

const shownFindings = () => {
  const columns = shownColumns();
  return findings.filter(
    (finding) =>
      showsProperty(finding.property) &&
      (filter.session < 0 || filter.session === finding.session) &&
      (filter.suppressed === "" || (filter.suppressed === "suppressed") === (finding.suppressed !== undefined)) &&
      (finding.session === undefined ? filter.verdict === "" : hasVerdict(sessions[finding.session], columns)) &&
      mentions(searchable(finding)),
  );
};

const shownSessions = () => {
  const columns = shownColumns();
  const found = (session) =>
    filter.terms.length === 0 ||
    mentions(`${session.name}\n${session.file}`.toLowerCase()) ||
    session.findings.some((finding) => showsProperty(finding.property) && mentions(searchable(finding)));
  const isShown = (session) =>
    (filter.session < 0 || filter.session === session.place) && hasVerdict(session, columns) && found(session);
  return sessions.filter(isShown);
};

const clearFilter = () => {
  Object.assign(filter, { terms: [], severities: new Set(), property: -1, session: -1, verdict: "", suppressed: "" });
  at("query").value = "";
};

// The controls say what the filter says.
const showFilter = () => {
  at("property").value = filter.property < 0 ? "" : String(filter.property);
  at("verdict").value = filter.verdict;
  at("suppressed").value = filter.suppressed;
  for (const button of at("severities").querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(filter.severities.has(button.value)));
  }
  const chip = at("session-chip");
  chip.replaceChildren();
  if (filter.session >= 0) {
    const name = sessions[filter.session].name;
    const remove = make("button", { type: "button", class: "chip" }, "session ", make("bdi", {}, show(name)), " ✕");
    remove.setAttribute("aria-label", `show all sessions again, not only ${show(name)}`);
    remove.addEventListener("click", () => {
      filter.session = -1;
      changed();
    });
    chip.append(remove);
  }
};

const wireFilter = () => {
  const present = SEVERITIES.filter((severity) => properties.some((property) => property.severity === severity));
  for (const severity of present) {
    const button = make("button", { type: "button", class: "toggle", value: severity }, sign(severity), severity);
    button.addEventListener("click", () => {
      if (!filter.severities.delete(severity)) filter.severities.add(severity);
      if (filter.severities.size === present.length) filter.severities.clear();
      changed();
    });
    at("severities").append(button);
  }
  properties.forEach((property, place) => {
    at("property").append(make("option", { value: place }, show(property.id)));
  });
  const choose = (id, set) =>
    at(id).addEventListener("change", (event) => {
      set(event.target.value);
      changed();
    });
  choose("property", (value) => (filter.property = value === "" ? -1 : Number(value)));
  choose("verdict", (value) => (filter.verdict = value));
  choose("suppressed", (value) => (filter.suppressed = value));
  let waiting;
  at("query").addEventListener("input", (event) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      filter.terms = event.target.value.toLowerCase().split(/\s+/u).filter(Boolean);
      changed();
    }, 90);
  });
  at("clear").addEventListener("click", () => {
    clearFilter();
    changed();
  });
};

