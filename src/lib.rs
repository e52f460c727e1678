//! The `backchat` command, as its own program and Python's run it.

pub mod cli;
