//! A chat template, rendered as transformers renders it.

mod render;

pub use render::{ChatTemplate, RenderError, RenderOptions, Rendered, Watched};
