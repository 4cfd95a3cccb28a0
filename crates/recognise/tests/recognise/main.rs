//! Personal data in texts and JSON.

mod detection;
mod samples;
