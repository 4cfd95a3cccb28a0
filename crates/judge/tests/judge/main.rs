//! Sessions judged step by step, and the ports around them.

mod ports;
mod session;
