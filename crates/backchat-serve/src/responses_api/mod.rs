//! The Responses API (`/v1/responses`), without a store: a request is a chat request, and its answer is a list of items.

pub mod answer;
mod item;
pub mod request;

/// What stands before the reasoning in the member that other servers encrypt. A client that asks for it sends it back.
const PLAIN: &str = "plain:";
