//! A chat server in front of an engine's completion endpoint, without its sockets: requests in, orders for the engine
//! out; the engine's bytes in, deltas, chunks and rows of the record out.
//!
//! Nothing here reads or writes; `cli/serve` moves the bytes.

pub mod answer;
pub mod api_error;
pub mod chunk;
pub mod engine;
mod identifier;
mod messages;
pub mod metrics;
pub mod model;
pub mod order;
pub mod record;
pub mod reply;
pub mod request;
pub mod stop_strings;
