//! Fixtures, recorded outputs with the messages they mean, and what comes of checking templates against them.

pub mod fixture;
