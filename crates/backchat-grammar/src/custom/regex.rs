//! Reads regular expressions in Rust's syntax, which match whole texts: `^` and `$` at the ends are redundant.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

use super::Unsupported;
use backchat_parser::pattern::Regular;

/// The texts that an expression with flags (`i`, `s`, `x`) matches; `anchored` allows anchors at its ends.
pub(super) fn read(source: &str, flags: &str, anchored: bool) -> Result<Regular, Unsupported> {
    let mut builder = ParserBuilder::new();
    builder.nest_limit(100);
    for flag in flags.chars() {
        match flag {
            'i' => drop(builder.case_insensitive(true)),
            's' => drop(builder.dot_matches_new_line(true)),
            'x' => drop(builder.ignore_whitespace(true)),
            other => return Err(format!("has the unknown flag `{other}`").into()),
        }
    }
    let parsed = builder.build().parse(source).map_err(|error| {
        let (what, place) = match &error {
            regex_syntax::Error::Parse(error) => (error.kind().to_string(), error.span().start),
            regex_syntax::Error::Translate(error) => (error.kind().to_string(), error.span().start),
            other => return format!("is not supported: {other}"),
        };
        format!("is not supported at line {}, column {}: {what}", place.line, place.column)
    })?;
    regular(&parsed, anchored, anchored)
}

/// A part of the expression; `start` and `end` say whether it reaches the edges of the text.
fn regular(part: &Hir, start: bool, end: bool) -> Result<Regular, Unsupported> {
    Ok(match part.kind() {
        HirKind::Empty => Regular::Empty,
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).map_err(|_| "matches bytes that are no text".to_owned())?;
            Regular::text(text)
        }
        HirKind::Class(Class::Unicode(class)) if class.ranges().is_empty() => Regular::Never,
        HirKind::Class(Class::Unicode(class)) => {
            Regular::Class(class.ranges().iter().map(|range| (range.start().into(), range.end().into())).collect())
        }
        HirKind::Class(Class::Bytes(class)) => {
            Regular::Class(class.ranges().iter().map(|range| (range.start().into(), range.end().into())).collect())
        }
        HirKind::Look(Look::Start) if start => Regular::Empty,
        HirKind::Look(Look::End) if end => Regular::Empty,
        HirKind::Look(_) => {
            return Err("has an anchor or a boundary inside: `^` and `$` are allowed at its ends".into());
        }
        HirKind::Repetition(repeat) => regular(&repeat.sub, false, false)?.repeat(repeat.min, repeat.max),
        HirKind::Capture(capture) => regular(&capture.sub, start, end)?,
        HirKind::Concat(items) => {
            let last = items.len().saturating_sub(1);
            let items = items.iter().enumerate();
            let items = items.map(|(at, item)| regular(item, start && at == 0, end && at == last));
            Regular::Concat(items.collect::<Result<_, _>>()?)
        }
        HirKind::Alternation(items) => {
            Regular::Alternate(items.iter().map(|item| regular(item, start, end)).collect::<Result<_, _>>()?)
        }
    })
}
