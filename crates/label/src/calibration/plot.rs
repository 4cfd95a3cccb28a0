//! The check of a calibration as text for a terminal, and as a picture.

use lictor_math::{draw_reliability, write_reliability_table};

use super::reliability::FactCheck;

impl FactCheck {
    /// Returns the reliability table as text, with a plot of each bin.
    pub fn to_table(&self) -> String {
        write_reliability_table(&self.bins, "answers")
    }

    /// Returns the reliability table as an SVG picture.
    pub fn to_svg(&self, title: &str) -> String {
        let verdict = if self.passed { "passed" } else { "did not pass" };
        let caption = format!("{} answers in {} bins with 95 % bars; {verdict}", self.examples, self.bins.len());
        draw_reliability(&self.bins, title, &caption)
    }
}
