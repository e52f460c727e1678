//! A `tokenizer.json`: the text of each id of a model, and of a stream of ids.
//!
//! An unknown id has no text; emitted text is never revised, however the ids are cut into feeds.
//! Encoding takes the feature `tokenizer`; nothing else here needs a dependency.
//!
//! ```
//! # use backchat_parser as backchat;
//! use backchat::tokens::Tokens;
//!
//! let tokens = Tokens::load(
//!     r#"{"added_tokens": [{"id": 2, "content": "<end>"}], "decoder": {"type": "ByteLevel"},
//!         "model": {"vocab": {"Hi": 0, "Ġyou": 1}}}"#,
//! )?;
//! assert_eq!(tokens.decode(&[0, 1, 2]), "Hi you<end>");
//! # Ok::<(), backchat::tokens::TokensError>(())
//! ```

mod configured;
mod decoder;
mod encode;
mod error;
mod load;
mod placed;
mod reader;
mod stream;
mod table;

pub use configured::{Companions, configured};
pub use encode::{Encoded, Tokenizer, encode_without_added};
pub use error::TokensError;
pub use placed::Placed;
pub(crate) use stream::{Sink, TextStream};
pub use table::{Tokens, special};
