// The findings, a page at a time; what a finding unfolds is made when it is first unfolded.

const PAGE = 25;
const FEW = 6;

const listing = { found: [], page: 0 };

const showFindings = () => {
  listing.found = shownFindings();
  if (at("rank").value === "severity") {
    // Sorting is stable, so within a severity the order is that of the log.
    listing.found.sort((a, b) => isSuppressed(a) - isSuppressed(b) || a.about.rank - b.about.rank);
  }
  listing.page = 0;
  showPage();
};

const isSuppressed = (finding) => Number(finding.suppressed !== undefined);

const showPage = () => {
  const start = listing.page * PAGE;
  const shown = listing.isWhole ? listing.found : listing.found.slice(start, start + PAGE);
  const isOpen = listing.found.length <= FEW || listing.isWhole;
  const nothing = findings.length === 0 ? "Nothing was found." : "No finding matches.";
  at("finding-list").replaceChildren(...shown.map((finding) => article(finding, isOpen)));
  if (shown.length === 0) at("finding-list").append(make("p", { class: "nothing" }, nothing));
  showPages();
};

const showPages = () => {
  const pages = Math.ceil(listing.found.length / PAGE);
  at("pages").replaceChildren();
  if (pages < 2) return;
  const turn = (name, page) => {
    const button = make("button", { type: "button", class: "quiet", disabled: page < 0 || page >= pages }, name);
    button.addEventListener("click", () => {
      listing.page = page;
      showPage();
      at("findings").scrollIntoView();
      at("findings").focus({ preventScroll: true });
    });
    return button;
  };
  const from = listing.page * PAGE + 1;
  const to = Math.min(listing.found.length, from + PAGE - 1);
  const where = make("span", {}, `${number(from)} to ${number(to)} of ${number(listing.found.length)}`);
  at("pages").append(
    turn("First", listing.page === 0 ? -1 : 0),
    turn("Previous", listing.page - 1),
    where,
    turn("Next", listing.page + 1),
    turn("Last", listing.page === pages - 1 ? pages : pages - 1),
  );
};

const article = (finding, isOpen) => {
  const { about } = finding;
  const facts = [
    code(about.id),
    make("span", {}, "session ", make("bdi", {}, show(sessionName(finding)))),
    make("span", {}, occasion(finding)),
    code(eventName(finding)),
  ];
  if (finding.binding !== undefined) facts.push(code(finding.binding));
  if (finding.suppressed !== undefined) facts.push(make("span", { class: "tag" }, "suppressed"));
  const summary = make(
    "summary",
    {},
    sign(about.severity),
    make("div", {}, make("h3", {}, show(finding.headline)), make("p", { class: "meta" }, ...facts)),
  );
  const details = make("details", {}, summary);
  const fill = () => {
    if (details.open && details.childElementCount === 1) details.append(account(finding));
  };
  details.addEventListener("toggle", fill);
  details.open = isOpen;
  fill();
  const suppressed = finding.suppressed === undefined ? "" : " suppressed";
  return make("article", { class: `finding ${about.severity}${suppressed}`, id: `finding-${finding.id}` }, details);
};

const account = (finding) => {
  const { about } = finding;
  const notes = make("dl", { class: "notes" });
  const note = (name, value) => {
    if (value !== undefined) notes.append(make("dt", {}, name), make("dd", {}, ...[value].flat()));
  };
  note("property", show(about.says));
  note("accepted", finding.suppressed === undefined ? undefined : show(finding.suppressed));
  note("risk", finding.risk === undefined ? undefined : show(finding.risk));
  note("witness", finding.basis === undefined ? undefined : show(finding.basis));
  note("owed", finding.owed === undefined || finding.decided === "end" ? undefined : show(finding.owed));
  note("help", about.remedy === undefined ? undefined : show(about.remedy));
  note("source", about.source === undefined ? undefined : show(about.source));
  note("formula", make("details", {}, make("summary", {}, "show"), code(about.formula)));
  const goTo = (kind, name, text) => make("a", { href: link(kind, name) }, text);
  note("see also", [
    goTo("property", about.id, "this property"),
    finding.session === undefined ? "" : goTo("session", sessions[finding.session].key, "this session"),
    goTo("finding", finding.id, "a link to this finding"),
  ]);
  const events = finding.witness.map((proof, index) => evidence(finding, proof, index));
  if (finding.decided === "end") events.push(ending(finding));
  return make("div", { class: "account" }, timeline(finding), make("ol", { class: "witness" }, ...events), notes);
};

const fact = (kind, word, text) => make("li", { class: `fact ${kind}` }, make("span", { class: "word" }, word), code(text));

const ending = (finding) => {
  const where = make("span", { class: "where" }, placeName(finding));
  const what = make("p", { class: "what" }, make("span", { class: "step" }, `after step ${number(finding.step)}`), "the session ended", where);
  const owed = finding.owed === undefined ? "" : make("ul", { class: "facts" }, fact("absent", "still owed", finding.owed));
  return make("li", { class: "event" }, make("span", { class: "badge stop", "aria-hidden": "true" }, "■"), make("div", {}, what, owed));
};

const evidence = (finding, proof, index) => {
  const isDeciding = finding.decided !== "end" && proof.session === undefined && proof.step === finding.step;
  const session = proof.session === undefined ? "" : `session ${show(proof.session)}`;
  const what = make(
    "p",
    { class: "what" },
    make("span", { class: "step" }, `step ${number(proof.step)}`),
    make("span", { class: "kind" }, show(proof.kind)),
    proof.tool === undefined ? "" : code(proof.tool, { class: "tool" }),
    make("span", { class: "where" }, [session, placeName(proof), proof.time].filter(Boolean).join(" · ")),
  );
  const facts = [
    ...(proof.present ?? []).map((text) => fact("present", "holds", text)),
    ...(proof.absent ?? []).map((text) => fact("absent", "absent", text)),
  ];
  const parts = [what];
  if (facts.length > 0) parts.push(make("ul", { class: "facts" }, ...facts));
  if (proof.content !== undefined) parts.push(make("pre", { tabindex: "0" }, make("bdi", {}, proof.content.split("\n").map(show).join("\n"))));
  const badge = make("span", { class: isDeciding ? "badge deciding" : "badge", "aria-hidden": "true" }, String(index + 1));
  return make("li", { class: "event" }, badge, make("div", {}, ...parts));
};

// Shows one finding, wherever it is; makes it match first if the filter hides it.
const revealFinding = (finding) => {
  if (!listing.found.includes(finding)) {
    clearFilter();
    changed();
  }
  listing.page = Math.floor(listing.found.indexOf(finding) / PAGE);
  showPage();
  const element = at(`finding-${finding.id}`);
  if (!element) return;
  const details = element.querySelector("details");
  details.open = true;
  element.classList.add("target");
  element.scrollIntoView({ block: "start" });
  details.querySelector("summary").focus({ preventScroll: true });
};

