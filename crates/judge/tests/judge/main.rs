//! Sessions judged step by step, and the ports around them.

mod categories;
mod effects;
mod forecasts;
mod foreign;
mod guidance;
mod objectives;
mod ports;
mod question_share;
mod risks;
mod secrets;
mod session;
