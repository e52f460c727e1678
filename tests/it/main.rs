//! All integration tests, with a module per theme, in one binary that links the library once.
//!
//! `INSTA_UPDATE=always cargo test --test it THEME::` updates the expectations (snapshots, `derived/`, the documents, the lists
//! of public items); review the change.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop where its own data is wrong"
)]

mod action;
mod arriving;
mod audit;
mod budget;
mod calls;
mod canonical;
mod chat_dialect;
mod chat_hostile;
mod chat_source;
mod chat_templates;
mod chats;
mod check;
mod cli_derive;
mod cli_parse;
mod cli_render;
mod command;
mod complete;
mod convert;
mod dependencies;
mod derive;
mod derive_samples;
mod derive_targets;
mod derived;
mod diff;
mod docs;
mod fixture;
mod grammar;
mod grammar_requests;
mod grammar_schemas;
mod hostile;
mod hub;
mod hunt;
mod init;
mod invariance;
mod json;
mod lint;
mod load;
#[cfg(feature = "lsp")]
mod lsp;
mod pages;
mod parser_size;
mod problems;
mod prove;
mod public_api;
mod recovery;
mod renderings;
mod repairs;
mod report;
mod report_browser;
mod report_links;
mod reports;
mod response_schemas;
mod review;
mod robust;
mod rooms;
mod schema;
mod second_renderer;
mod serde;
mod serve;
mod serve_engine;
mod source;
mod support;
mod svg;
mod targets;
mod terminal;
mod unusual;
mod watch;
mod wheel;
mod workbench;

/// Whether to update expectations instead of comparing them, by insta's own variable.
fn blesses() -> bool {
    std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always")
}
