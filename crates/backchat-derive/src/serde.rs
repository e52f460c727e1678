//! Serde's trait for the report of a derivation, with the keys of `to_value`.

use serde_core::ser::{Serialize, Serializer};

use crate::derive::Derivation;

impl Serialize for Derivation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}
