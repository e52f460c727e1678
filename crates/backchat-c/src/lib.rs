//! The parser as a C library: every call returns a status, and no argument but a dangling pointer is undefined behavior.
//!
//! `include/backchat.h` is generated from these files. `unsafe` is confined to `argument` (what callers pass), `handle`
//! (what they keep) and the callbacks that `running` calls.
#![allow(non_camel_case_types, reason = "the names are those of the header")]

mod argument;
mod call;
mod chat;
mod chosen;
mod error;
mod event;
mod failure;
mod handle;
#[cfg(target_arch = "wasm32")]
mod memory;
mod options;
mod parser;
mod running;
mod shared;
mod status;

pub use argument::bc_text;
pub use call::{bc_abi_version, bc_free, bc_version};
pub use error::{bc_error, bc_last_error};
pub use event::{
    BC_EVENT_CALL_ARGUMENTS, BC_EVENT_CALL_START, BC_EVENT_CHUNK, BC_EVENT_CLOSE, BC_EVENT_MALFORMED, BC_EVENT_OPEN,
    BC_EVENT_PROBLEM, bc_callback, bc_capture, bc_event,
};
pub use handle::{bc_parser, bc_template, bc_tokens, bc_tools};
pub use options::{
    BC_CHAT_GROWING, BC_CHAT_OFF, BC_CHAT_WHOLE, BC_CLOSERS_END, BC_CLOSERS_TEXT, BC_MODE_REFERENCE, BC_MODE_STABLE,
    BC_POLICY_EITHER, BC_POLICY_EXACT, BC_REASONING_DROPPED, BC_REASONING_IN_CONTENT, BC_REASONING_KEPT, bc_options,
};
pub use parser::{
    bc_parser_chat_delta, bc_parser_events, bc_parser_feed, bc_parser_feed_ids, bc_parser_finish,
    bc_parser_finish_reason, bc_parser_message, bc_parser_new, bc_parser_new_after_ids, bc_parser_prefix_length,
    bc_parser_report,
};
pub use shared::{bc_template_load, bc_template_with_tokens, bc_tokens_load, bc_tools_load};
pub use status::*;
