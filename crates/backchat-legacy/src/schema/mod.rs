//! Response schemas: JSON Schemas with `x-regex` keys, the format before response templates. They are loaded, and parse
//! an output as `recursive_parse` of transformers 5.12.1 does, with its answers and its errors.
//!
//! A schema reads the whole output at once, and does not stream. Patterns and expressions are those of Python's `re`
//! and `jmespath`; a budget of steps bounds the work of a parse. `convert` turns a schema into a response template.

mod error;
mod fault;
mod jmespath;
mod load;
mod node;
mod parse;
pub mod source;
mod substitute;
mod tool_call;

pub use error::{ErrorKind, SchemaError};
pub use load::Loaded;
pub use node::{Additional, Node, Parser, Substitution};
pub(crate) use parse::parse_node;
pub(crate) use tool_call::STRING_MARK;

use std::sync::Arc;

/// A response schema that loads. Cloning it is cheap.
#[derive(Clone, Debug)]
pub struct Schema {
    root: Arc<Node>,
}

impl Schema {
    pub(crate) fn new(root: Node) -> Self {
        Self { root: Arc::new(root) }
    }

    /// The node of the message itself.
    pub fn root(&self) -> &Node {
        &self.root
    }
}
