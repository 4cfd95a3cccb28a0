//! Whole logs audited, guarded and reported.

mod audits;
mod examples;
mod guard;
mod histories;
mod order;
mod pages;
mod reports;
mod skew;
