//! Where reasoning begins and ends, for servers that limit it.

use backchat_core::text::slice;
use backchat_derive::wire::structure::WireFormat;
use backchat_derive::wire::written::{Group, TurnPart};

/// The delimiters of reasoning, from the end of the prompt on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Thinking {
    /// What the model writes to begin it: empty if the prompt begins it, `None` if there is no reasoning.
    pub open: Option<String>,
    /// The marker that closes it.
    pub end: Option<String>,
    /// The text that ends it at any point: everything that renders have between it and the next part.
    pub force: Option<String>,
}

/// The assumed end of reasoning that the prompt opens, if no render shows it: if the opening marker is on a line of its
/// own, so is the closing one, followed by an empty line.
pub(crate) fn assumed_close(tail: &str, close: &str) -> String {
    if tail.ends_with('\n') { format!("\n{close}\n\n") } else { close.to_owned() }
}

/// Finds the delimiters in the renders of turns after this prompt.
pub(crate) fn find(
    wire: &WireFormat,
    marks: Option<&(String, String)>,
    group: &Group,
    tail: &str,
    is_inside: bool,
) -> Thinking {
    let Some((_, close)) = marks else { return Thinking::default() };
    let end = Some(close.clone());
    let begun = slice(tail, group.header.len().min(tail.len())..);
    if !is_inside && begun.contains(close.as_str()) {
        return Thinking { end, ..Thinking::default() };
    }
    let mut open = is_inside.then(String::new);
    let mut force: Option<&str> = None;
    for shape in &group.shapes {
        let Some(at) = shape.parts.iter().position(|part| *part == TurnPart::Reasoning) else { continue };
        let lead = shape.text(at.checked_sub(1));
        let own = match at {
            1 => lead.strip_prefix(tail).or_else(|| lead.strip_prefix(group.header.as_str())).unwrap_or(lead),
            _ => lead,
        };
        open.get_or_insert_with(|| own.to_owned());
        let rest = shape.text(Some(at + 1));
        if rest.contains(close.as_str()) {
            force = Some(force.map_or(rest, |known| wire.segmentation.shared_start(known, rest)));
        }
    }
    let assumed = assumed_close(tail, close);
    let own = wire.reasoning.as_ref().filter(|_| is_inside).map(|own| match own.close.trim() == own.close {
        true => assumed.as_str(),
        false => own.close.as_str(),
    });
    let force = force.or(own).filter(|force| force.contains(close.as_str())).map(str::to_owned);
    Thinking { open, end, force }
}
