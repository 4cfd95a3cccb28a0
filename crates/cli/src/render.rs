//! Output formats: text, one JSON document, JSON lines, and pictures.

pub(crate) mod automaton;
pub(crate) mod check;
pub(crate) mod dot;
pub(crate) mod json;
pub(crate) mod jsonl;
mod layout;
pub(crate) mod paint;
pub(crate) mod plots;
pub(crate) mod svg;
pub(crate) mod text;
pub(crate) mod witness;
pub(crate) mod word;
