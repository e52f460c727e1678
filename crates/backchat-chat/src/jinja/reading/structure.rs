//! The blocks of a template with their tags.

use std::ops::Range;

use super::pieces::{Tag, TagKind};
use crate::jinja::syntax::tree::{Body, Statement, StatementKind};

/// A block: a tag, what belongs to it, and its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The name of its tag.
    pub name: &'static str,
    /// From its first tag to its last one.
    pub span: Range<usize>,
    /// Its opening tag, and those of its other branches.
    pub parts: Vec<Part>,
    /// Its closing tag, if it has one.
    pub end: Option<Range<usize>>,
    /// What a loop runs over.
    pub over: Option<Range<usize>>,
}

/// A branch of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub tag: Range<usize>,
    /// The name in the tag.
    pub name: Range<usize>,
    /// The condition of an `if` or `elif`.
    pub test: Option<Range<usize>>,
}

/// The blocks of a body, each after the one around it.
pub(super) fn blocks(body: &Body<'_>, tags: &[Tag]) -> Vec<Block> {
    let mut found = Vec::new();
    walk(body, &mut found);
    for tag in tags.iter().filter(|tag| tag.kind == TagKind::Raw || tag.kind == TagKind::Comment) {
        let name = if tag.kind == TagKind::Raw { "raw" } else { "comment" };
        found.push(Block { name, span: tag.span.clone(), parts: Vec::new(), end: None, over: None });
    }
    found.sort_by_key(|block| (block.span.start, usize::MAX - block.span.end));
    assign_tags(&mut found, tags);
    found
}

/// Gives each block the tags that are directly in it.
fn assign_tags(blocks: &mut [Block], tags: &[Tag]) {
    let mut open: Vec<usize> = Vec::new();
    let mut next = 0;
    for tag in tags.iter().filter(|tag| tag.kind == TagKind::Block) {
        while blocks.get(next).is_some_and(|block| block.span.start <= tag.span.start) {
            open.push(next);
            next += 1;
        }
        while open.last().and_then(|at| blocks.get(*at)).is_some_and(|block| block.span.end <= tag.span.start) {
            open.pop();
        }
        let Some(block) = open.last().and_then(|at| blocks.get_mut(*at)) else { continue };
        let is_last = tag.span.end >= block.span.end && !block.parts.is_empty();
        match block.parts.iter_mut().find(|part| part.tag.is_empty()) {
            Some(part) => (part.tag, part.name) = (tag.span.clone(), tag.name.clone()),
            None if is_last => block.end = Some(tag.span.clone()),
            None => {}
        }
    }
    for block in blocks {
        block.parts.retain(|part| !part.tag.is_empty());
    }
}

fn walk(body: &Body<'_>, found: &mut Vec<Block>) {
    for statement in body {
        let Some((name, bodies, tests)) = block_of(statement) else { continue };
        let over = match &statement.kind {
            StatementKind::For { over, .. } => Some(over.span.clone()),
            _ => None,
        };
        let part = |test: Option<Range<usize>>| Part { tag: 0..0, name: 0..0, test };
        let parts = tests.into_iter().map(part).collect();
        found.push(Block { name, span: statement.span.clone(), parts, end: None, over });
        bodies.into_iter().for_each(|body| walk(body, found));
    }
}

type Shape<'t, 's> = (&'static str, Vec<&'t Body<'s>>, Vec<Option<Range<usize>>>);

/// The name of a block, its bodies, and the tests of its branches.
fn block_of<'t, 's>(statement: &'t Statement<'s>) -> Option<Shape<'t, 's>> {
    let plain = |name, body| Some((name, vec![body], vec![None]));
    match &statement.kind {
        StatementKind::If { branches, otherwise } => {
            let mut bodies: Vec<&Body<'s>> = branches.iter().map(|(_, body)| body).collect();
            let mut tests: Vec<_> = branches.iter().map(|(test, _)| Some(test.span.clone())).collect();
            bodies.push(otherwise);
            tests.extend((!otherwise.is_empty()).then_some(None));
            Some(("if", bodies, tests))
        }
        StatementKind::For { body, otherwise, .. } => {
            let tests = if otherwise.is_empty() { vec![None] } else { vec![None, None] };
            Some(("for", vec![body, otherwise], tests))
        }
        StatementKind::Macro { body, .. } => plain("macro", body),
        StatementKind::CallBlock { body, .. } => plain("call", body),
        StatementKind::Generation(body) => plain("generation", body),
        StatementKind::With { body, .. } => plain("with", body),
        StatementKind::FilterBlock { body, .. } => plain("filter", body),
        StatementKind::AutoEscape { body, .. } => plain("autoescape", body),
        StatementKind::Block { body, .. } => plain("block", body),
        StatementKind::SetBlock { body, .. } => plain("set", body),
        _ => None,
    }
}
