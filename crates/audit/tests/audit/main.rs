//! Whole logs audited, guarded and reported.

mod audits;
mod commands;
mod evidence;
mod examples;
mod guard;
mod histories;
mod join;
mod labels;
mod order;
mod pages;
mod questions;
mod records;
mod reports;
mod rotation;
mod skew;
mod unsaid;
