//! Policy files, expressions, and the packs.

mod expression;
mod files;
mod packs;
