//! Response templates: the typed model, loading with the exact position of every problem, canonical writing.

mod content;
mod keys;
mod load;
mod model;
mod schema;
pub mod source;
mod transform;
mod write;

// How bodies are parsed and values shaped: for modules that judge and explain templates.
pub(crate) use content::Respell;
pub use content::{ContentParser, ContentSpec, JsonArgs, LineArgs, TAGGED, TagArgs, Unusable};
pub use load::{LoadError, LoadErrorKind, Loaded};
pub use model::Delimiter;
pub(crate) use model::Regions;
pub use model::{Field, Template};
pub use schema::schema;
pub use transform::{Placeholder, Shape, Transform};
