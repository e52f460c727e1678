//! Facts from renders of a chat template: what input it takes, and which of its lines conversations run.

pub mod coverage;
pub mod diff;
pub mod doctor;
pub mod probe;
