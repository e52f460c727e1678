//! What the text of a template says, for editors: its tags and blocks, its names and their scopes, its lookups and
//! literals, and every error. Nothing is rendered, and a text with errors is read to its end.

mod kinds;
mod pieces;
mod resolve;
mod structure;

use std::collections::HashSet;
use std::ops::Range;

use super::syntax;
use crate::builtins::filters::FILTERS;
use crate::builtins::functions::FUNCTIONS;
use crate::builtins::tests::TESTS;
use resolve::collect::Collector;

pub use super::value_kind::ValueKind;
pub use pieces::{Piece, PieceKind, Tag, TagKind};
pub use resolve::{Binding, BindingKind, Mention, Role, Scope};
pub use structure::{Block, Part};

/// An error in the text of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxProblem {
    pub message: String,
    /// Bytes of the normalized source.
    pub span: Range<usize>,
    /// The known name that was probably meant by the one there.
    pub meant: Option<String>,
    /// Whether transformers compiles the template all the same: it refuses an unknown filter or test in a branch only
    /// when that runs.
    pub compiles: bool,
}

/// `of.key` or `of['key']`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    pub span: Range<usize>,
    pub of: Range<usize>,
    pub key: String,
    /// The key without its quotes.
    pub key_span: Range<usize>,
    /// What it is looked up in.
    pub value: ValueKind,
}

/// A string constant of an expression, or a text between tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal {
    /// A string with its quotes.
    pub span: Range<usize>,
    pub text: String,
    pub is_string: bool,
}

/// What the text of a template says. All spans are bytes of the normalized source.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// In the order of the text.
    pub problems: Vec<SyntaxProblem>,
    pub pieces: Vec<Piece>,
    pub tags: Vec<Tag>,
    /// Each after the one around it.
    pub blocks: Vec<Block>,
    pub scopes: Vec<Scope>,
    pub bindings: Vec<Binding>,
    pub mentions: Vec<Mention>,
    pub lookups: Vec<Lookup>,
    pub literals: Vec<Literal>,
}

/// Reads a normalized source.
pub fn reading(source: &str) -> Reading {
    let recovered = syntax::recovered(source);
    let (pieces, tags) = pieces::pieces(source, &recovered);
    let blocks = structure::blocks(&recovered.body, &tags);
    let mut collector = Collector::new(source);
    collector.body(&recovered.body);
    let resolved = resolve::resolve(collector);
    let problem = |error: syntax::SyntaxError| SyntaxProblem {
        message: error.message,
        span: error.span.start.min(source.len())..error.span.end.min(source.len()),
        meant: error.meant,
        compiles: error.is_soft,
    };
    Reading {
        problems: recovered.errors.into_iter().map(problem).collect(),
        pieces,
        tags,
        blocks,
        scopes: resolved.scopes,
        bindings: resolved.bindings,
        mentions: resolved.mentions,
        lookups: resolved.lookups,
        literals: resolved.literals,
    }
}

impl Reading {
    /// The innermost scope at a byte.
    pub fn scope_at(&self, byte: usize) -> usize {
        let inside = |scope: &Scope| scope.span.start <= byte && byte <= scope.span.end;
        let found = self.scopes.iter().enumerate().filter(|(_, scope)| inside(scope));
        found.min_by_key(|(_, scope)| scope.span.len()).map_or(0, |(at, _)| at)
    }

    /// The bindings that a scope sees, the innermost first; none hides another.
    pub fn visible(&self, scope: usize) -> Vec<usize> {
        let mut names = HashSet::new();
        let mut found = Vec::new();
        let mut here = Some(scope);
        while let Some(scope) = here.and_then(|at| self.scopes.get(at)) {
            for at in &scope.bindings {
                let Some(binding) = self.bindings.get(*at) else { continue };
                if names.insert(binding.name.as_str()) {
                    found.push(*at);
                }
            }
            here = scope.around;
        }
        found
    }

    /// The binding of a name at a byte.
    pub fn binding_at(&self, name: &str, byte: usize) -> Option<usize> {
        let mut visible = self.visible(self.scope_at(byte)).into_iter();
        visible.find(|at| self.bindings.get(*at).is_some_and(|binding| binding.name == name))
    }

    /// What an expression gives that is written at a byte.
    pub fn kind_of(&self, expression: &str, byte: usize) -> ValueKind {
        kinds::of_text(expression, &|name| {
            let binding = self.binding_at(name, byte).and_then(|at| self.bindings.get(at).map(|found| (at, found)));
            match binding {
                Some((at, binding)) if binding.is_namespace => ValueKind::Namespace(at),
                Some((_, binding)) => binding.value,
                None => kinds::of_free(name),
            }
        })
    }
}

/// The names of all filters.
pub fn filter_names() -> impl Iterator<Item = &'static str> {
    FILTERS.names()
}

/// The names of all tests that are words.
pub fn test_names() -> impl Iterator<Item = &'static str> {
    TESTS.names().filter(|name| name.starts_with(|c: char| c.is_alphabetic()))
}

/// The names of the functions that every template can call.
pub fn function_names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.names()
}

/// The tags that are allowed anywhere.
pub fn tag_names() -> &'static [&'static str] {
    &syntax::TAGS
}

#[cfg(test)]
mod tests;
