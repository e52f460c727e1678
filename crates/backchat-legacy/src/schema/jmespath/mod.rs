//! JMESPath over our own values: an expression gives the result of Python's `jmespath` 1.1.0, and fails where it
//! raises.
//!
//! Objects keep the order of their keys, integers stay integers, and the work of an evaluation is bounded.

mod eval;
mod functions;
mod lex;
mod number;
mod parse;

use crate::schema::fault::Fault;
use backchat_core::json::Value;

/// An expression that was read.
#[derive(Clone, Debug)]
pub struct Expression(parse::Ast);

impl Expression {
    pub fn read(source: &str) -> Result<Self, Fault> {
        parse::parse(lex::tokens(source)?).map(Self)
    }

    /// The names of the fields it accesses.
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        self.0.walk(&mut |node| {
            if let parse::Ast::Field(name) = node {
                names.push(name.clone());
            }
        });
        names
    }

    pub fn search(&self, value: Value) -> Result<Value, Fault> {
        eval::Evaluator::new(&value).eval(&self.0, value)
    }
}
