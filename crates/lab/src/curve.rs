//! Curves as an SVG picture that follows the light or dark mode of the browser.

use std::fmt::Write;

/// The place and the size of the plot.
const LEFT: f64 = 56.0;
const TOP: f64 = 36.0;
const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 260.0;

/// The room for the names of the curves.
const LEGEND: f64 = 110.0;

const STYLE: &str = "text{font:11px system-ui,sans-serif;fill:#59636e}.title{font-size:13px;fill:#1f2328}.page{fill:#fff}\
    .grid{stroke:#d1d9e0;fill:none}.c0{stroke:#0969da;fill:#0969da}.c1{stroke:#1a7f37;fill:#1a7f37}\
    .c2{stroke:#bc4c00;fill:#bc4c00}.c3{stroke:#8250df;fill:#8250df}\
    .c4{stroke:#59636e;fill:#59636e}path.c0,path.c1,path.c2,path.c3,path.c4{fill:none;stroke-width:2}\
    @media(prefers-color-scheme:dark){text{fill:#9198a1}.title{fill:#f0f6fc}.page{fill:#0d1117}.grid{stroke:#3d444d}\
    .c0{stroke:#4493f8;fill:#4493f8}.c1{stroke:#3fb950;fill:#3fb950}.c2{stroke:#db6d28;fill:#db6d28}\
    .c3{stroke:#ab7df8;fill:#ab7df8}.c4{stroke:#9198a1;fill:#9198a1}}";

/// A named curve through points.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// Its points, each with a label that is shown when the pointer rests on it.
    pub points: Vec<(f64, f64, String)>,
}

/// Draws up to five curves over two axes that begin at zero.
pub fn draw_curves(title: &str, (across, down): (&str, &str), curves: &[Curve]) -> String {
    let greatest = |read: &dyn Fn(&(f64, f64, String)) -> f64| {
        let most = curves.iter().flat_map(|curve| &curve.points).map(read).fold(0.0, f64::max);
        round_up(most)
    };
    let (most_x, most_y) = (greatest(&|point| point.0), greatest(&|point| point.1));
    let x = |value: f64| LEFT + WIDTH * value / most_x;
    let y = |value: f64| TOP + HEIGHT * (1.0 - value / most_y);
    let (width, height) = (LEFT + WIDTH + LEGEND, TOP + HEIGHT + 48.0);
    let title = escape(title);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\">\
         <title>{title}</title><style>{STYLE}</style><rect class=\"page\" width=\"{width}\" height=\"{height}\"/>\
         <text class=\"title\" x=\"{LEFT}\" y=\"22\">{title}</text>\n"
    );
    let (right, bottom) = (LEFT + WIDTH, TOP + HEIGHT);
    for step in 0..=4 {
        let share = f64::from(step) / 4.0;
        let (at_x, at_y) = (x(share * most_x), y(share * most_y));
        _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M{at_x:.1} {TOP}V{bottom}M{LEFT} {at_y:.1}H{right}\"/>\
             <text x=\"{at_x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            bottom + 16.0,
            share * most_x,
            LEFT - 6.0,
            at_y + 4.0,
            share * most_y,
        );
    }
    let (middle_x, middle_y) = (LEFT + WIDTH / 2.0, TOP + HEIGHT / 2.0);
    _ = writeln!(
        svg,
        "<text x=\"{middle_x}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
         <text x=\"14\" y=\"{middle_y}\" text-anchor=\"middle\" transform=\"rotate(-90 14 {middle_y})\">{}</text>",
        bottom + 36.0,
        escape(across),
        escape(down),
    );
    for (number, curve) in curves.iter().enumerate() {
        let class = format!("c{}", number % 5);
        let path: Vec<String> = curve.points.iter().map(|(a, b, _)| format!("{:.1} {:.1}", x(*a), y(*b))).collect();
        _ = writeln!(svg, "<path class=\"{class}\" d=\"M{}\"/>", path.join("L"));
        for (a, b, label) in &curve.points {
            _ = writeln!(
                svg,
                "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.5\"><title>{}</title></circle>",
                x(*a),
                y(*b),
                escape(label),
            );
        }
        let line = TOP + 12.0 + 18.0 * number as f64;
        _ = writeln!(
            svg,
            "<circle class=\"{class}\" cx=\"{}\" cy=\"{}\" r=\"3.5\"/><text x=\"{}\" y=\"{line}\">{}</text>",
            right + 16.0,
            line - 4.0,
            right + 26.0,
            escape(&curve.name),
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// Returns the least of 1, 2, 4 and 8, times a power of ten, that is not below a number.
fn round_up(most: f64) -> f64 {
    let mut scale = 1e-6;
    while scale < most {
        if let Some(fits) = [1.0, 2.0, 4.0, 8.0].iter().map(|step| step * scale).find(|fits| *fits >= most) {
            return fits;
        }
        scale *= 10.0;
    }
    scale
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_are_drawn_with_their_names() {
        let curve = Curve { name: "a < b".into(), points: vec![(1.0, 2.0, "0.1".into()), (3.0, 1.0, "0.9".into())] };
        let svg = draw_curves("t & u", ("x", "y"), &[curve]);
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
        assert!(svg.contains("a &lt; b") && svg.contains("t &amp; u") && svg.contains("<title>0.9</title>"));
        assert_eq!(svg.matches("<circle").count(), 3);
    }

    #[test]
    fn axis_ends_at_a_round_number() {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9 * b;
        for (most, end) in [(0.03, 0.04), (1.0, 1.0), (5.0, 8.0), (9.0, 10.0), (81.0, 100.0), (150.0, 200.0)] {
            assert!(near(round_up(most), end), "{most}: {}", round_up(most));
        }
        assert!(round_up(0.0) > 0.0);
    }
}
