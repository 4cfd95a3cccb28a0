//! Sessions judged step by step, and the ports around them.

mod categories;
mod effects;
mod forecasts;
mod foreign;
mod guidance;
mod limits;
mod objectives;
mod policy_moves;
mod ports;
mod question_share;
mod risks;
mod secrets;
mod session;

/// Returns a number of cases for an ordinary run, multiplied by `LICTOR_CASES` for a long one.
fn cases(ordinary: u32) -> u32 {
    let factor = std::env::var("LICTOR_CASES").ok().and_then(|text| text.parse::<u32>().ok());
    ordinary * factor.unwrap_or(1)
}
