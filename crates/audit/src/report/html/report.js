// The report, and what can be asked of it.

const SEVERITIES = ["critical", "high", "medium", "low", "info"];
const MARKS = { v: "✕", a: "–", i: "?", s: "·" };
const VERDICTS = { v: "violated", a: "violated, accepted", i: "inconclusive", s: "satisfied" };

const report = JSON.parse(at("data").textContent);
const { properties, files, findings } = report;
const sessions = report.sessions.map(([name, file, steps, letters], place) => ({
  place,
  name,
  file: files[file],
  steps,
  letters: letters.toLowerCase(),
  live: letters,
  findings: [],
}));
for (const property of properties) {
  property.rank = SEVERITIES.indexOf(property.severity);
  const slash = property.id.indexOf("/");
  property.pack = slash > 0 ? property.id.slice(0, slash) : "";
  property.name = slash > 0 ? property.id.slice(slash + 1) : property.id;
}

// What a link calls a session: its name, and its file where another session has the same name.
const named = new Map();
for (const session of sessions) named.set(session.name, (named.get(session.name) ?? 0) + 1);
for (const session of sessions) session.key = named.get(session.name) > 1 ? `${session.name} in ${session.file}` : session.name;

findings.forEach((finding, place) => {
  finding.place = place;
  finding.about = properties[finding.property];
  if (finding.session !== undefined) sessions[finding.session].findings.push(finding);
});

const sessionName = (finding) => (finding.session === undefined ? finding.stray : sessions[finding.session].name);

const breaks = new Map(report.broken.map(([row, column, step, times]) => [row * properties.length + column, { step, times }]));

const eventName = (event) => (event.tool === undefined ? show(event.kind) : `${show(event.kind)} ${show(event.tool)}`);

const placeName = (event) => (event.line > 0 ? `${show(files[event.file])}:${event.line}` : show(files[event.file]));

const occasion = (finding) =>
  ({
    event: `step ${finding.step}`,
    deadline: `deadline passed by step ${finding.step}`,
    end: `at the end, after step ${finding.step}`,
  })[finding.decided];

// What a search looks through, made when it is first needed.
const searchable = (finding) => {
  finding.text ??= [
    sessionName(finding),
    files[finding.file],
    finding.about.id,
    finding.about.says,
    finding.headline,
    finding.kind,
    finding.tool,
    finding.owed,
    finding.suppressed,
    finding.binding,
    ...finding.witness.flatMap((proof) => [proof.tool, proof.content, ...(proof.present ?? []), ...(proof.absent ?? [])]),
  ]
    .filter((part) => part !== undefined)
    .join("\n")
    .toLowerCase();
  return finding.text;
};

