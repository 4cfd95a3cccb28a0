//! Reliability tables as text for a terminal, and as pictures.

use std::fmt::Write;

use super::reliability::{FactCheck, ReliabilityBin};

/// The width of the plot, in characters.
const WIDTH: usize = 41;

impl FactCheck {
    /// Returns the reliability table as text: for each bin the chance, the rate, its 95 % bars and a plot from 0 to 1.
    /// `[` and `]` are the bars, `o` is the rate, `*` the chance where it lies within, and `X` where it does not.
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

    /// Returns the reliability table as an SVG picture that follows the light or dark mode of the browser.
    pub fn to_svg(&self, title: &str) -> String {
        const STYLE: &str = "text{font:12px sans-serif;fill:#1f2328}.page{fill:#fff}.line{stroke:#818b98;fill:none}\
             .bar{stroke:#1a7f37;stroke-width:2}.out{stroke:#d1242f;stroke-width:2}\
             @media(prefers-color-scheme:dark){text{fill:#f0f6fc}.page{fill:#0d1117}}";
        let escaped = title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 340 370\"><title>{escaped}</title><style>{STYLE}</style>\
             <rect class=\"page\" width=\"340\" height=\"370\"/><text x=\"20\" y=\"18\">{escaped}</text>\
             <path class=\"line\" d=\"M20 30V330H320V30ZM20 330L320 30\"/>\
             <text x=\"20\" y=\"346\">0</text><text x=\"313\" y=\"346\">1</text><text x=\"150\" y=\"360\">chance</text>"
        );
        let place = |value: f64| 300.0 * value;
        for bin in &self.bins {
            let class = if bin.is_within() { "bar" } else { "out" };
            let x = 20.0 + place(bin.mean_chance);
            let [least, rate, most] = [bin.least, bin.rate(), bin.most].map(|value| 330.0 - place(value));
            _ = write!(
                svg,
                "<path class=\"{class}\" d=\"M{x:.1} {least:.1}V{most:.1}\"/>\
                 <circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{rate:.1}\" r=\"3\"/>"
            );
        }
        svg.push_str("</svg>\n");
        svg
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
    }
}
