//! Reliability tables as text for a terminal, and as pictures.

use std::fmt::Write;

use super::reliability::{FactCheck, ReliabilityBin};

/// The width of the plot, in characters.
const WIDTH: usize = 41;

/// The place and the size of the picture's plot.
const PLOT_LEFT: f64 = 52.0;
const PLOT_TOP: f64 = 36.0;
const PLOT_SIZE: f64 = 320.0;

/// The longest title that fits above the plot.
const MAX_TITLE_CHARACTERS: usize = 46;

impl FactCheck {
    /// Returns the reliability table as text: for each bin the chance, the rate, its 95 % bars and a plot from 0 to 1.
    /// `[` and `]` are the bars, `o` is the rate, `*` the chance where it lies within, and `X` where it does not. Where
    /// both fall on one place, the chance is shown.
    pub fn to_table(&self) -> String {
        let mut table = format!(
            "  {:>7}  {:>6} {:>6}  {:^13}  0{:>width$}\n",
            "answers",
            "chance",
            "rate",
            "95 % bars",
            1,
            width = WIDTH - 1
        );
        for bin in &self.bins {
            let line: String = plot_bin(bin).into_iter().collect();
            let (chance, rate) = (bin.mean_chance, bin.rate());
            let bars = format!("{:.3} - {:.3}", bin.least, bin.most);
            _ = writeln!(table, "  {:>7}  {chance:>6.3} {rate:>6.3}  {bars:>13}  {}", bin.count, line.trim_end());
        }
        table
    }

    /// Returns the reliability table as an SVG picture that follows the light or dark mode of the browser. The further a
    /// bin is from the diagonal, the further its chance is from what happens.
    pub fn to_svg(&self, title: &str) -> String {
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
             <text x=\"12\" y=\"{middle}\" text-anchor=\"middle\" transform=\"rotate(-90 12 {middle})\">share that holds</text>",
            x(0.5),
            bottom + 34.0,
        );
        for bin in &self.bins {
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
        let verdict = if self.passed { "passed" } else { "did not pass" };
        _ = writeln!(
            svg,
            "<text x=\"{left}\" y=\"{}\">{} answers in {} bins with 95 % bars; {verdict}</text></svg>",
            bottom + 52.0,
            self.examples,
            self.bins.len(),
        );
        svg
    }
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

fn plot_bin(bin: &ReliabilityBin) -> [char; WIDTH] {
    let place = |value: f64| ((value * (WIDTH - 1) as f64).round() as usize).min(WIDTH - 1);
    let mut line = [' '; WIDTH];
    let (least, most) = (place(bin.least), place(bin.most));
    line.iter_mut().take(most).skip(least).for_each(|cell| *cell = '-');
    line[least] = '[';
    line[most] = ']';
    line[place(bin.rate())] = 'o';
    line[place(bin.mean_chance)] = if bin.is_within() { '*' } else { 'X' };
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check() -> FactCheck {
        let bin = |mean_chance: f64| ReliabilityBin { count: 200, positives: 50, mean_chance, least: 0.2, most: 0.35 };
        FactCheck {
            examples: 400,
            bins: vec![bin(0.3), bin(0.9)],
            brier: 0.1,
            raw_brier: 0.2,
            ece: 0.1,
            raw_ece: 0.2,
            log_loss: 0.3,
            raw_log_loss: 0.4,
            shift_error: 0.1,
            brier_error: 0.1,
            passed: false,
        }
    }

    #[test]
    fn table_marks_chance_outside_its_bars() {
        assert_eq!(
            check().to_table(),
            concat!(
                "  answers  chance   rate    95 % bars    0                                       1\n",
                "      200   0.300  0.250  0.200 - 0.350          [-o-*-]\n",
                "      200   0.900  0.250  0.200 - 0.350          [-o---]                     X\n",
            )
        );
    }

    #[test]
    fn picture_escapes_its_title() {
        let svg = check().to_svg("a < b & c");
        assert!(
            svg.contains("a &lt; b &amp; c") && svg.matches("<circle").count() == 2 && svg.contains("class=\"out\"")
        );
        let long = check().to_svg(&"é".repeat(99));
        assert!(long.contains(&format!("{}…</text>", "é".repeat(46))), "{long}");
    }
}
