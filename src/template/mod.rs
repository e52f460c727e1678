//! What a response template is: the typed model, loading with exact places for every complaint, canonical writing.

mod content;
mod keys;
mod load;
mod model;
mod schema;
pub mod source;
mod transform;
mod write;

pub use content::{ContentParser, ContentSpec, JsonArgs, KvLinesArgs, XmlInlineArgs};
pub use load::{LoadError, Loaded};
pub use model::{Delimiter, Field, Template};
pub use schema::schema;
pub use transform::{Placeholder, Shape, Transform};
