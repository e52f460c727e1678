//! Facts from renders of a chat template: what input it takes, which text the model wrote, and how one turn becomes the
//! next.

pub mod bridge;
pub mod chats;
pub mod coverage;
pub mod diff;
pub mod doctor;
pub mod mending;
pub mod probe;
