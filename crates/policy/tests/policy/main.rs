//! Policy files, expressions, and the packs.

mod effects;
mod expression;
mod files;
mod injections;
mod packs;
