//! Response templates derived from chat templates, and proved.

pub mod derive;
pub mod targets;
pub mod wire;
