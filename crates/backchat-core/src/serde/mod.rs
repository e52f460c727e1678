//! Serde's traits for values and diagnostics, and the bridge to `serde_json`.

mod bridge;
mod read;
mod write;

pub use bridge::NumberOutOfRange;
