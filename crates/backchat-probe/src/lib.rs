//! What renders of a chat template show: what it takes, which text a model wrote, and how one turn becomes the next.

pub mod bridge;
pub mod chats;
pub mod diff;
pub mod doctor;
pub mod probe;
