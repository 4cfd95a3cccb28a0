//! Reliability: chances of about equal size against how often what they say comes true; as text and as a picture.

use std::fmt::Write;

/// The width of the plot, in characters.
const WIDTH: usize = 41;

/// The place and the size of the picture's plot.
const PLOT_LEFT: f64 = 52.0;
const PLOT_TOP: f64 = 36.0;
const PLOT_SIZE: f64 = 320.0;

/// The longest title that fits above the plot.
const MAX_TITLE_CHARACTERS: usize = 46;

/// One row of a reliability table: chances of about equal size, and how often what they say comes true.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReliabilityBin {
    /// The number of chances.
    pub count: u64,
    /// The number of them that came true.
    pub positives: u64,
    /// Their mean.
    pub mean_chance: f64,
    /// The lower 95 % bar of the share that comes true (Clopper and Pearson).
    pub least: f64,
    /// The upper one.
    pub most: f64,
}

impl ReliabilityBin {
    /// Returns the share that came true.
    pub fn rate(&self) -> f64 {
        self.positives as f64 / self.count.max(1) as f64
    }

    /// Whether the mean chance lies between the bars.
    pub fn is_within(&self) -> bool {
        self.least <= self.mean_chance && self.mean_chance <= self.most
    }

    fn plot(&self) -> [char; WIDTH] {
        let place = |value: f64| ((value * (WIDTH - 1) as f64).round() as usize).min(WIDTH - 1);
        let mut line = [' '; WIDTH];
        let (least, most) = (place(self.least), place(self.most));
        line.iter_mut().take(most).skip(least).for_each(|cell| *cell = '-');
        line[least] = '[';
        line[most] = ']';
        line[place(self.rate())] = 'o';
        line[place(self.mean_chance)] = if self.is_within() { '*' } else { 'X' };
        line
    }
}

/// Returns a reliability table as text: for each bin the chance, the rate, its 95 % bars and a plot from 0 to 1. `[` and
/// `]` are the bars, `o` is the rate, `*` the chance where it lies within, and `X` where it does not. Where both fall on
/// one place, the chance is shown. `counted` says what is counted.
pub fn write_reliability_table(bins: &[ReliabilityBin], counted: &str) -> String {
    let width = counted.len().max(7);
    let mut table = format!(
        "  {counted:>width$}  {:>6} {:>6}  {:^13}  0{:>plot$}\n",
        "chance",
        "rate",
        "95 % bars",
        1,
        plot = WIDTH - 1
    );
    for bin in bins {
        let line: String = bin.plot().into_iter().collect();
        let (chance, rate) = (bin.mean_chance, bin.rate());
        let bars = format!("{:.3} - {:.3}", bin.least, bin.most);
        _ = writeln!(table, "  {:>width$}  {chance:>6.3} {rate:>6.3}  {bars:>13}  {}", bin.count, line.trim_end());
    }
    table
}

/// Returns a reliability table as an SVG picture that follows the light or dark mode of the browser. The further a bin is
/// from the diagonal, the further its chance is from what happens. `caption` is a line below the plot.
pub fn draw_reliability(bins: &[ReliabilityBin], title: &str, caption: &str) -> String {
    const STYLE: &str = "text{font:11px system-ui,sans-serif;fill:#59636e}.title{font-size:13px;fill:#1f2328}\
         .page{fill:#fff}.grid{stroke:#d1d9e0;fill:none}.even{stroke:#818b98;stroke-dasharray:4 3}\
         .in{stroke:#1a7f37;fill:#1a7f37}.out{stroke:#d1242f;fill:#d1242f}path.in,path.out{stroke-width:2}\
         @media(prefers-color-scheme:dark){text{fill:#9198a1}.title{fill:#f0f6fc}.page{fill:#0d1117}\
         .grid{stroke:#3d444d}.in{stroke:#3fb950;fill:#3fb950}.out{stroke:#f85149;fill:#f85149}}";
    let x = |value: f64| PLOT_LEFT + PLOT_SIZE * value;
    let y = |value: f64| PLOT_TOP + PLOT_SIZE * (1.0 - value);
    let (width, height) = (PLOT_LEFT + PLOT_SIZE + 16.0, PLOT_TOP + PLOT_SIZE + 64.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\"><title>{}</title><style>{STYLE}</style><rect class=\"page\" width=\"{width}\" \
         height=\"{height}\"/><text class=\"title\" x=\"{PLOT_LEFT}\" y=\"22\">{}</text>",
        escape_xml(title),
        escape_xml(&shorten(title)),
    );
    let (left, right, top, bottom) = (x(0.0), x(1.0), y(1.0), y(0.0));
    for step in 0..=4 {
        let value = f64::from(step) / 4.0;
        let (across, down) = (x(value), y(value));
        _ = write!(
            svg,
            "<path class=\"grid\" d=\"M{across} {top}V{bottom}M{left} {down}H{right}\"/>\
             <text x=\"{across}\" y=\"{}\" text-anchor=\"middle\">{value}</text>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{value}</text>",
            bottom + 16.0,
            left - 6.0,
            down + 4.0,
        );
    }
    let middle = y(0.5);
    _ = write!(
        svg,
        "<path class=\"even\" d=\"M{left} {bottom}L{right} {top}\"/>\
         <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">chance</text>\
         <text x=\"12\" y=\"{middle}\" text-anchor=\"middle\" transform=\"rotate(-90 12 {middle})\">share that comes true</text>",
        x(0.5),
        bottom + 34.0,
    );
    for bin in bins {
        let class = if bin.is_within() { "in" } else { "out" };
        let (x, least, rate, most) = (x(bin.mean_chance), y(bin.least), y(bin.rate()), y(bin.most));
        _ = write!(
            svg,
            "<path class=\"{class}\" d=\"M{x:.1} {least:.1}V{most:.1}M{:.1} {least:.1}h6M{:.1} {most:.1}h6\"/>\
             <circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{rate:.1}\" r=\"3.5\"/>",
            x - 3.0,
            x - 3.0,
        );
    }
    _ = writeln!(svg, "<text x=\"{left}\" y=\"{}\">{}</text></svg>", bottom + 52.0, escape_xml(caption));
    svg
}

fn escape_xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Returns a title that fits above the plot.
fn shorten(title: &str) -> String {
    match title.char_indices().nth(MAX_TITLE_CHARACTERS) {
        Some((end, _)) => format!("{}…", &title[..end]),
        None => title.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins() -> [ReliabilityBin; 2] {
        [0.3, 0.9].map(|mean_chance| ReliabilityBin { count: 200, positives: 50, mean_chance, least: 0.2, most: 0.35 })
    }

    #[test]
    fn table_marks_chance_outside_its_bars() {
        assert_eq!(
            write_reliability_table(&bins(), "answers"),
            concat!(
                "  answers  chance   rate    95 % bars    0                                       1\n",
                "      200   0.300  0.250  0.200 - 0.350          [-o-*-]\n",
                "      200   0.900  0.250  0.200 - 0.350          [-o---]                     X\n",
            )
        );
    }

    #[test]
    fn picture_escapes_its_title() {
        let svg = draw_reliability(&bins(), "a < b & c", "400 answers");
        assert!(
            svg.contains("a &lt; b &amp; c") && svg.matches("<circle").count() == 2 && svg.contains("class=\"out\"")
        );
        let long = draw_reliability(&bins(), &"é".repeat(99), "");
        assert!(long.contains(&format!("{}…</text>", "é".repeat(46))), "{long}");
    }
}
