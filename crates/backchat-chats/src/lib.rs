//! Rendered chats: which text the model wrote, the way back to the messages, how one turn becomes the next, and repairs of
//! the chat template.

pub mod bridge;
pub mod chats;
mod line_ends;
pub mod mending;
