//! The Trucks world: five packages, one truck with four load areas, deadlines.

pub mod agent;
pub mod client;
pub mod measure;
pub mod oracle;
mod preference;
pub mod report;
pub mod run;
pub mod serve;
pub mod world;
