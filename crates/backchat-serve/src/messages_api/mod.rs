//! The Messages API (`/v1/messages`): a request is a chat request, and its answer is a message of blocks.

pub mod answer;
pub mod request;
