// The session of a finding as a line, with the events of the witness on it.

const APART = 3.2;

// Moves marks apart that would cover each other; each stays as near to its true place as the others let it.
const spread = (places) => {
  const moved = [...places];
  for (let i = 1; i < moved.length; i += 1) moved[i] = Math.max(moved[i], moved[i - 1] + APART);
  let most = 98;
  for (let i = moved.length - 1; i >= 0; i -= 1, most -= APART) moved[i] = Math.min(moved[i], most);
  return moved;
};

const timeline = (finding) => {
  // Events of several sessions have no common line.
  if (finding.witness.some((proof) => proof.session !== undefined)) return "";
  const steps = Math.max(finding.session === undefined ? 0 : sessions[finding.session].steps, finding.step, 1);
  const along = (step) => (steps === 1 ? 50 : 2 + (96 * (Math.max(step, 1) - 1)) / (steps - 1));
  const percent = (value) => `${value.toFixed(2)}%`;
  const line = (x1, y1, x2, y2, kind) => draw("line", { x1: percent(x1), y1, x2: percent(x2), y2, class: kind });
  const said = finding.witness.map((proof) => `step ${proof.step} ${eventName(proof)}`).join(", then ");
  const ends = finding.decided === "end" ? ", then the end" : "";
  const picture = draw("svg", {
    class: "timeline",
    role: "img",
    "aria-label": `${steps} steps; the witness is ${said}${ends}`,
  });
  picture.append(line(2, 44, 98, 44, "axis"));
  // A tick for every step, or for every ten, hundred, … where they would run together.
  let every = 1;
  while (steps / every > 150) every *= 10;
  for (let step = 1; step <= steps; step += every) picture.append(line(along(step), 41, along(step), 47, "tick"));
  const label = (value, text, anchor) =>
    picture.append(draw("text", { x: percent(value), y: 64, "text-anchor": anchor, class: "scale" }, text));
  label(2, "1", "start");
  if (steps > 1) label(98, finding.decided === "end" ? `${number(steps)} end` : number(steps), "end");

  const places = finding.witness.map((proof) => along(proof.step));
  spread(places).forEach((place, index) => {
    const isDeciding = finding.decided !== "end" && finding.witness[index].step === finding.step;
    picture.append(line(places[index], 44, place, 26, "stem"));
    picture.append(draw("circle", { cx: percent(places[index]), cy: 44, r: 3.5, class: isDeciding ? "point deciding" : "point" }));
    picture.append(draw("circle", { cx: percent(place), cy: 16, r: 11, class: isDeciding ? "mark deciding" : "mark" }));
    picture.append(draw("text", { x: percent(place), y: 20, "text-anchor": "middle", class: isDeciding ? "deciding" : "" }, String(index + 1)));
  });
  if (finding.decided === "end") picture.append(line(98, 34, 98, 54, "stop"));
  return picture;
};

