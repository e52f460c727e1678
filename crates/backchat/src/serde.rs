//! Serde's traits for the library's types, and the bridge to `serde_json`.
//!
//! Numbers keep their text in both directions when the format is JSON read or written by `serde_json`, and keys keep
//! their order. If a target cannot hold a number, converting to it fails; nothing is rounded silently.
//!
//! ```
//! use backchat::{Parser, Template, Value};
//!
//! let template: Template = serde_json::from_str(r#"{"start_anchor": "<bot>", "fields": {"content": {"close": "<end>"}}}"#)?;
//! let mut parser = Parser::new(&template, "", Default::default())?;
//! let events = parser.feed("Hi<end>")?;
//! assert_eq!(
//!     serde_json::to_string(&events[1])?,
//!     r#"{"type":"region_chunk","field":"content","text":"Hi","dirty":false}"#
//! );
//! let message = serde_json::Value::try_from(Value::from(parser.finish()?.message))?;
//! assert_eq!(message["content"], "Hi");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use backchat_core::serde::NumberOutOfRange;

#[cfg(feature = "derive")]
impl serde_core::Serialize for crate::derive::Derivation {
    fn serialize<S: serde_core::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}
