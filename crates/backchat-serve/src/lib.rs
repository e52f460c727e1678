//! What a server in front of an engine's completion endpoint needs, without sockets: requests in, requests to the engine
//! out; the engine's bytes in, deltas, chunks and rows of the record out.
//!
//! Nothing here reads or writes: who embeds it moves the bytes.

mod answer;
pub mod api;
pub mod api_error;
mod call_ids;
mod chat_api;
mod conversation;
mod custom;
pub mod engine;
pub mod engine_request;
pub mod fault;
mod identifier;
mod members;
mod messages;
mod messages_api;
pub mod metrics;
pub mod model;
mod parts;
pub mod record;
pub mod reply;
pub mod request;
mod responses_api;
mod stop_strings;
pub mod text_completion;
pub mod turn;
mod writer;
