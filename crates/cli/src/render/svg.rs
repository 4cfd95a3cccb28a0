//! An automaton as an SVG picture, which follows the light or dark mode of the browser.

use std::fmt::Write;

use lictor_logic::{Automaton, AutomatonEdge, AutomatonState, Spelling, Verdict};

use super::automaton::{condition, format_verdict};
use super::layout::{Block, Layout, Link, Point, Route, Size, compute_layout};

/// The width of a character of the monospaced font, relative to the font size.
const CHARACTER_WIDTH: f64 = 0.61;
const STATE_FONT: f64 = 12.0;
const LABEL_FONT: f64 = 11.0;
const LINE: f64 = 1.35;
const MARGIN: f64 = 24.0;
/// The room left of the first state, for the start arrow.
const ENTRY: f64 = 28.0;
const TITLE: f64 = 34.0;
/// The height of an arrow from a state to itself.
const LOOP: f64 = 24.0;

const STYLE: &str = "\
text{font-family:ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#1f2328}
.page{fill:#ffffff}.title{font-size:13px;font-weight:600}
.state{font-size:12px}.standing{font-size:10px;fill:#59636e}.label{font-size:11px;fill:#424a53}
.box{fill:#f6f8fa;stroke:#818b98;stroke-width:1.2}.good{fill:#dafbe1;stroke:#1a7f37}.bad{fill:#ffebe9;stroke:#d1242f}
.way{fill:none;stroke:#818b98;stroke-width:1.2}.late{stroke-dasharray:5 3}.tip{fill:#818b98}.under{fill:#ffffff}
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.page,.under{fill:#0d1117}.standing{fill:#9198a1}.label{fill:#d1d7e0}
.box{fill:#151b23;stroke:#9198a1}.good{fill:#12261e;stroke:#3fb950}.bad{fill:#25171c;stroke:#f85149}
.way{stroke:#9198a1}.tip{fill:#9198a1}}";

/// Returns the automaton as SVG.
pub(crate) fn draw(automaton: &Automaton, title: &str, spelling: Spelling) -> String {
    let states: Vec<StateBox> = automaton.states.iter().map(|state| StateBox::new(state, spelling)).collect();
    let is_drawn = |edge: &&AutomatonEdge| !automaton.states[edge.from].verdict.is_definite();
    let drawn: Vec<&AutomatonEdge> = automaton.edges.iter().filter(is_drawn).collect();
    let arrows: Vec<Arrow> = drawn.iter().map(|edge| Arrow::new(edge, spelling)).collect();
    let (own, between): (Vec<&Arrow>, Vec<&Arrow>) = arrows.iter().partition(|arrow| arrow.from == arrow.to);
    let blocks: Vec<Block> = states
        .iter()
        .enumerate()
        .map(|(number, state)| {
            let loops: Vec<&&Arrow> = own.iter().filter(|arrow| arrow.from == number).collect();
            let label = loops.iter().map(|arrow| arrow.size.height).sum::<f64>();
            let above = if loops.is_empty() { 0.0 } else { LOOP + label };
            let span = loops.iter().map(|arrow| arrow.size.width).fold(0.0, f64::max);
            Block { size: state.size, above, span, is_last: state.verdict.is_definite() }
        })
        .collect();
    let links: Vec<Link> =
        between.iter().map(|arrow| Link { from: arrow.from, to: arrow.to, label: arrow.size }).collect();
    let placed = compute_layout(&blocks, &links);
    Picture { states, own, between, placed, title }.draw()
}

/// A state as it is drawn.
struct StateBox {
    verdict: Verdict,
    standing: String,
    lines: Vec<String>,
    whole: String,
    size: Size,
}

impl StateBox {
    fn new(state: &AutomatonState, spelling: Spelling) -> StateBox {
        let whole = state.residual.show(spelling).to_string();
        let lines = wrap(&whole, 30, 4);
        let standing = format_verdict(state);
        let longest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        let width = (longest as f64 * STATE_FONT * CHARACTER_WIDTH).max(96.0) + 20.0;
        let height = lines.len() as f64 * STATE_FONT * LINE + 28.0;
        StateBox { verdict: state.verdict, standing, lines, whole, size: Size { width, height } }
    }
}

/// An edge as it is drawn.
struct Arrow {
    from: usize,
    to: usize,
    lines: Vec<String>,
    whole: String,
    is_deadline: bool,
    size: Size,
}

impl Arrow {
    fn new(edge: &AutomatonEdge, spelling: Spelling) -> Arrow {
        let whole = condition(edge, spelling);
        let lines = wrap(&whole, 26, 3);
        let longest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        let size = Size {
            width: longest as f64 * LABEL_FONT * CHARACTER_WIDTH + 8.0,
            height: lines.len() as f64 * LABEL_FONT * LINE + 2.0,
        };
        Arrow { from: edge.from, to: edge.to, lines, whole, is_deadline: edge.deadline, size }
    }
}

struct Picture<'a> {
    states: Vec<StateBox>,
    own: Vec<&'a Arrow>,
    between: Vec<&'a Arrow>,
    placed: Layout,
    title: &'a str,
}

impl Picture<'_> {
    fn draw(&self) -> String {
        let title = wrap(self.title, 90, 1).concat();
        let title_width = title.chars().count() as f64 * 13.0 * CHARACTER_WIDTH;
        let width = (self.placed.size.width + ENTRY).max(title_width) + 2.0 * MARGIN;
        let height = self.placed.size.height + TITLE + 2.0 * MARGIN;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n<title>{whole}</title>\n<style>{STYLE}</style>\n\
             <defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
             orient=\"auto\"><path class=\"tip\" d=\"M0 0L8 4L0 8z\"/></marker></defs>\n\
             <rect class=\"page\" width=\"100%\" height=\"100%\"/>\n\
             <text class=\"title\" x=\"{MARGIN}\" y=\"{y}\">{title}</text>\n",
            whole = escaped(self.title),
            title = escaped(&title),
            y = MARGIN + 10.0,
        );
        self.draw_arrows(&mut svg);
        for number in 0..self.states.len() {
            self.state(&mut svg, number);
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// Converts a point of the layout to the page.
    fn to_page(&self, point: Point) -> Point {
        Point { x: point.x + MARGIN + ENTRY, y: point.y + MARGIN + TITLE }
    }

    /// Draws the arrows first, then their labels, so that no line crosses a text.
    fn draw_arrows(&self, svg: &mut String) {
        let mut labels = String::new();
        if let (Some(center), Some(state)) = (self.placed.blocks.first(), self.states.first()) {
            let Point { x, y } = self.to_page(*center);
            let left = x - state.size.width / 2.0;
            draw_arrow(svg, &format!("M{:.1} {y:.1}H{left:.1}", left - ENTRY), false);
        }
        for (arrow, route) in self.between.iter().zip(&self.placed.routes) {
            draw_arrow(svg, &self.path(route), arrow.is_deadline);
            label(&mut labels, arrow, self.to_page(route.label));
        }
        for (number, state) in self.states.iter().enumerate() {
            let center = self.to_page(self.placed.blocks[number]);
            let top = center.y - state.size.height / 2.0;
            let mut bottom = top - LOOP;
            for arrow in self.own.iter().filter(|arrow| arrow.from == number) {
                let (left, right) = (center.x - 13.0, center.x + 13.0);
                let peak = top - LOOP - 6.0;
                let path = format!("M{left:.1} {top:.1}C{left:.1} {peak:.1} {right:.1} {peak:.1} {right:.1} {top:.1}");
                draw_arrow(svg, &path, arrow.is_deadline);
                label(&mut labels, arrow, Point { x: center.x, y: bottom - arrow.size.height / 2.0 });
                bottom -= arrow.size.height;
            }
        }
        svg.push_str(&labels);
    }

    /// Returns a smooth line through the points of a route.
    fn path(&self, route: &Route) -> String {
        let points: Vec<Point> = route.points.iter().map(|point| self.to_page(*point)).collect();
        let mut path = points.first().map_or(String::new(), |start| format!("M{:.1} {:.1}", start.x, start.y));
        for pair in points.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            let turn = if route.turns { from.x.max(to.x) } else { f64::midpoint(from.x, to.x) };
            let _ = write!(path, "C{turn:.1} {:.1} {turn:.1} {:.1} {:.1} {:.1}", from.y, to.y, to.x, to.y);
        }
        path
    }

    fn state(&self, svg: &mut String, number: usize) {
        let state = &self.states[number];
        let Point { x, y } = self.to_page(self.placed.blocks[number]);
        let Size { width, height } = state.size;
        let (left, top) = (x - width / 2.0, y - height / 2.0);
        let class = match state.verdict {
            Verdict::Satisfied => "box good",
            Verdict::Inconclusive => "box",
            Verdict::Violated => "box bad",
        };
        let _ = writeln!(
            svg,
            "<g><title>{}</title><rect class=\"{class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" \
             height=\"{height:.1}\" rx=\"7\"/><text class=\"standing\" x=\"{:.1}\" y=\"{:.1}\">{number}  {}</text>",
            escaped(&state.whole),
            left + 10.0,
            top + 15.0,
            escaped(&state.standing),
        );
        for (index, line) in state.lines.iter().enumerate() {
            let y = top + 32.0 + index as f64 * STATE_FONT * LINE;
            let _ =
                writeln!(svg, "<text class=\"state\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>", left + 10.0, escaped(line));
        }
        svg.push_str("</g>\n");
    }
}

fn draw_arrow(svg: &mut String, path: &str, is_deadline: bool) {
    let class = if is_deadline { "way late" } else { "way" };
    let _ = writeln!(svg, "<path class=\"{class}\" d=\"{path}\" marker-end=\"url(#tip)\"/>");
}

fn label(svg: &mut String, arrow: &Arrow, center: Point) {
    let Size { width, height } = arrow.size;
    let (left, top) = (center.x - width / 2.0, center.y - height / 2.0);
    let _ = writeln!(
        svg,
        "<g><title>{}</title><rect class=\"under\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" \
         height=\"{height:.1}\"/>",
        escaped(&arrow.whole)
    );
    for (index, line) in arrow.lines.iter().enumerate() {
        let y = top + LABEL_FONT + 1.0 + index as f64 * LABEL_FONT * LINE;
        let _ = writeln!(
            svg,
            "<text class=\"label\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
            center.x,
            escaped(line)
        );
    }
    svg.push_str("</g>\n");
}

/// Wraps a text at spaces into lines of at most `width` characters, and truncates it after the last line.
fn wrap(text: &str, width: usize, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        let mut word: Vec<char> = word.chars().collect();
        loop {
            let line = lines.last_mut().map_or(0, |line| line.chars().count());
            let room = if line == 0 { width } else { width.saturating_sub(line + 1) };
            if word.len() <= room || line == 0 {
                let rest = word.split_off(word.len().min(room));
                if let Some(last) = lines.last_mut() {
                    last.push_str(if line == 0 { "" } else { " " });
                    last.extend(word);
                }
                word = rest;
            }
            if word.is_empty() {
                break;
            }
            lines.push(String::new());
        }
    }
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            *last = last.chars().take(width - 1).chain(['…']).collect();
        }
    }
    lines
}

/// Escapes a text for use inside an element.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
