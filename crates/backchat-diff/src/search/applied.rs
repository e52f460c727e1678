//! The filters, methods and slices of one template, and whether any conversation had something for them to change.

use std::collections::BTreeMap;
use std::ops::Range;

use super::candidates::ParsedSource;
use super::rich::is_rich;
use backchat_chat::{Change, NodeKind};
use backchat_core::diagnostic::line_column;
use backchat_core::json::Value;

/// Filters that are there for what is no text, list or number, and hand on most of these as they are: they say little about
/// an edit.
const NEVER_CHANGE: [&str; 5] = ["default", "d", "list", "safe", "string"];

/// A filter, method or slice that an edit touches and that changed nothing: its effect was not seen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Idle {
    /// The 1-based line it is on.
    pub line: usize,
    /// Its name; `[]` for a slice.
    pub name: String,
}

/// What is known of a filter, method or slice.
#[derive(Clone, Debug)]
struct Known {
    name: String,
    /// Whether its effect was seen.
    is_seen: bool,
    /// A conversation in which it ran, and the values that it took there.
    witness: usize,
    values: Vec<Value>,
}

/// What ran, by place.
#[derive(Clone, Debug, Default)]
pub(super) struct Applied {
    known: BTreeMap<(usize, usize), Known>,
}

impl Applied {
    pub(super) fn add(&mut self, changes: Vec<Change>, conversation: usize) {
        for Change { span, name, arguments, changed, values } in changes {
            // One without arguments changes a rich text, unless another has done so before it.
            let is_seen = changed || arguments.is_empty() && values.iter().any(is_rich);
            let new = || Known { name, is_seen: false, witness: conversation, values };
            self.known.entry((span.start, span.end)).or_insert_with(new).is_seen |= is_seen;
        }
    }

    /// Those that an edit touches and whose effect was not seen, each with the place of what is its own.
    fn unseen<'a>(
        &'a self,
        edited: &'a [Range<usize>],
        source: &'a ParsedSource,
    ) -> impl Iterator<Item = (&'a Known, Range<usize>)> {
        self.known.iter().filter(|(_, known)| !known.is_seen).filter_map(|((start, end), known)| {
            let own = own_part(source, &(*start..*end))?;
            let is_touched = edited.iter().any(|edit| edit.start < own.end && own.start < edit.end);
            (is_touched && !known.is_idle_by_itself(source.written(&own))).then_some((known, own))
        })
    }

    /// Those that an edit touches and that changed nothing.
    pub(super) fn idle_within(&self, edited: &[Range<usize>], source: &ParsedSource) -> Vec<Idle> {
        let idle = |(known, own): (&Known, Range<usize>)| {
            let written = source.written(&own);
            let start = own.start + written.len() - written.trim_start().len();
            Idle { line: line_column(source.text(), start).0, name: known.name.clone() }
        };
        let mut found: Vec<Idle> = self.unseen(edited, source).map(idle).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Conversations in which these ran, and the texts that they took there.
    pub(super) fn witnesses(&self, edited: &[Range<usize>], source: &ParsedSource) -> Vec<(usize, Vec<String>)> {
        let texts = |known: &Known| known.values.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        self.unseen(edited, source).map(|(known, _)| (known.witness, texts(known))).collect()
    }
}

impl Known {
    /// Whether no value that it can take is changed, which the code alone shows.
    fn is_idle_by_itself(&self, written: &str) -> bool {
        match self.name.as_str() {
            "[]" => ["[:]", "[0:]"].contains(&written.trim()),
            "int" => self.values.iter().all(|value| value.as_i64().is_some()),
            name => NEVER_CHANGE.contains(&name),
        }
    }
}

/// What is written of a filter, method or slice behind the value that it takes.
fn own_part(source: &ParsedSource, span: &Range<usize>) -> Option<Range<usize>> {
    let nodes = source.nodes();
    let at = nodes.iter().position(|node| node.span == *span)?;
    let (node, first) = (nodes.get(at)?, nodes.get(at + 1)?);
    let taken = match (&node.kind, &first.kind) {
        (NodeKind::Call { .. }, NodeKind::Lookup { of, .. }) => of,
        _ => &first.span,
    };
    // What a constant becomes is known without a conversation.
    let is_constant = matches!(first.kind, NodeKind::Str(_));
    (!is_constant && taken.start >= span.start && taken.end < span.end).then_some(taken.end..span.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_edited_of_a_chain_is_the_filter_and_not_the_value_that_it_takes() {
        let source = "{{ m.a.strip() | upper }}\n{{ m.a[:2] | string }}{{ m.a[0:] }}{{ 'x' | trim }}{{ n | int }}";
        let parsed = ParsedSource::new(source);
        let at = |part: &str| source.find(part).map(|start| start..start + part.len()).unwrap();
        let change = |part: &str, name: &str, changed| Change {
            span: at(part),
            name: name.to_owned(),
            arguments: Vec::new(),
            changed,
            values: Vec::new(),
        };
        let mut applied = Applied::default();
        applied.add(
            vec![
                change("m.a.strip()", "strip", false),
                change("m.a.strip() | upper", "upper", true),
                change("m.a[:2]", "[]", false),
                change("m.a[:2] | string", "string", false),
                change("m.a[0:]", "[]", false),
                change("'x' | trim", "trim", false),
                Change { values: vec![3.into()], ..change("n | int", "int", false) },
            ],
            0,
        );
        for (edit, idle) in [
            (".strip", &[(1, "strip")][..]),
            ("m.a", &[]),
            ("upper", &[]),
            ("[:2]", &[(2, "[]")]),
            ("string", &[]),
            ("[0:]", &[]),
            ("trim", &[]),
            ("int", &[]),
            (source, &[(1, "strip"), (2, "[]")]),
        ] {
            let found = applied.idle_within(&[at(edit)], &parsed);
            let found: Vec<_> = found.iter().map(|idle| (idle.line, idle.name.as_str())).collect();
            assert_eq!(found, idle, "{edit}");
        }
        applied.add(vec![change("m.a[:2]", "[]", true)], 1);
        assert_eq!(applied.idle_within(&[at("[:2]")], &parsed), []);
    }
}
