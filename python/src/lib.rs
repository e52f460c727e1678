//! The Python module: lists what it exports.

mod batch;
mod bridge;
mod conversation;
mod errors;
mod grammar;
mod model;
mod names;
mod parser;
mod pickled;
mod recovery;
mod tape;
mod template;
mod text_or_ids;
mod tokens;
mod value;
mod workbench;

use pyo3::prelude::*;

/// The compiled part of `backchat`.
#[pymodule(gil_used = false)]
mod _backchat {
    #[pymodule_export]
    use super::batch::parse_batch;
    #[pymodule_export]
    use super::bridge::PyBridge;
    #[pymodule_export]
    use super::grammar::Grammar;
    #[pymodule_export]
    use super::parser::{ResponseParser, parse_response};
    #[pymodule_export]
    use super::template::PyTemplate;
    #[pymodule_export]
    use super::tokens::PyTokenizer;
    #[pymodule_export]
    use super::workbench::{
        add_generation_blocks, check, convert, derive, doctor, fix, input_schema, lint, main, mask, prove, render,
        unrender,
    };
}
