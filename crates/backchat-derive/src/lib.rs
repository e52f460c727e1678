//! Response templates derived from chat templates, and proved.

pub mod derive;
#[cfg(feature = "serde")]
pub mod serde;
pub mod targets;
pub mod wire;
