//! What a server in front of an engine's completion endpoint needs, without sockets: requests in, requests to the engine
//! out; the engine's bytes in, deltas, chunks and rows of the record out.
//!
//! Nothing here reads or writes: who embeds it moves the bytes.

pub mod answer;
pub mod api_error;
pub mod chunk;
pub mod engine;
pub mod engine_request;
mod identifier;
mod messages;
pub mod metrics;
pub mod model;
pub mod record;
pub mod reply;
pub mod request;
pub mod stop_strings;
