//! Personal data in texts and JSON.

mod detection;
