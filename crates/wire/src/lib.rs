//! What crosses between a client and a model, as events and back.

mod align;
mod api;
mod history;
mod known;
mod refused;
mod reply;
mod request;
mod ruling;
mod segment;
mod splice;
mod sse;
mod stream;

pub use api::{Api, Route};
pub use history::{Change, Fold, Known, Sent};
pub use refused::Refused;
pub use reply::{Reply, Settled};
pub use request::{Hints, Item, Request};
pub use ruling::Ruling;
pub use stream::{Limits, Mask, Move, Stream};
