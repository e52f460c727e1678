//! The `backchat` command, as its own program and Python's run it.

pub mod cli;

/// The Rust of the documents, as examples that are compiled and run.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../README.md")]
    mod readme {}
    #[doc = include_str!("../docs/diff.md")]
    mod diff {}
    #[doc = include_str!("../docs/grammar.md")]
    mod grammar {}
    #[doc = include_str!("../docs/library.md")]
    mod library {}
    #[doc = include_str!("../docs/tokens.md")]
    mod tokens {}
}
