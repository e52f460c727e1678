//! Finds markers that a template probably misspells: one edit away from a marker that it writes elsewhere.
//!
//! The evidence is in the template alone. A marker is suspected if another one has the opener or the closer that it
//! lacks, or is written more often. Singular and plural, numbers and short words (`<|eot|>`, `<|eom|>`) are different
//! markers.

use std::collections::HashMap;
use std::ops::Range;

use super::nodes::{NodeKind, nodes};
use super::typo::{Edit, typo};
use super::value_kind::ROLES;

/// A marker that is probably misspelt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MisspeltMarker {
    /// The marker as it is written.
    pub written: String,
    /// Its other spelling.
    pub meant: String,
    /// Whether the marker may be right and its other spelling misspelt: each is written as often.
    pub is_either: bool,
    /// The bytes of the marker in the normalized source.
    pub span: Range<usize>,
    /// The bytes of a marker in the other spelling.
    pub other: Range<usize>,
}

/// How many are reported of one template.
const MOST: usize = 100;

/// How many names are compared with each other.
const MOST_NAMES: usize = 500;

/// The longest name, in bytes.
const LONGEST: usize = 64;

/// The markers that a normalized source probably misspells, in its order; none if it does not parse.
pub fn misspelt_markers(source: &str) -> Vec<MisspeltMarker> {
    let names = named_markers(source);
    let mut found = Vec::new();
    for (index, one) in names.iter().enumerate() {
        for other in names.iter().skip(index + 1).filter(|other| one.form == other.form) {
            if let Some(edit) = typo(one.name, other.name) {
                suspect(source, edit, one, other, &mut found);
            }
        }
    }
    lacking_bar(source, &names, &mut found);
    found.sort_by_key(|found| (found.span.start, found.span.end));
    found.dedup_by(|next, found| next.span == found.span);
    found.truncate(MOST);
    found
}

/// What is around the name of a marker. Markers of different forms are not misspellings of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Form {
    bracket: char,
    has_bars: bool,
}

/// One occurrence of a marker.
struct Marker<'s> {
    form: Form,
    name: &'s str,
    is_closer: bool,
    /// Whether the literal has all of it: `<name>`, or `<name=` before a value.
    is_whole: bool,
    span: Range<usize>,
}

/// The markers of one name.
struct Named<'s> {
    form: Form,
    name: &'s str,
    markers: Vec<Marker<'s>>,
}

impl Named<'_> {
    fn has(&self, is_closer: bool) -> bool {
        self.markers.iter().any(|marker| marker.is_closer == is_closer)
    }

    fn is_paired(&self) -> bool {
        self.has(false) && self.has(true)
    }

    /// Whether the other one is more likely to be right.
    fn is_less_likely_than(&self, other: &Self) -> bool {
        let lacks_its_pair = !self.is_paired() && other.is_paired();
        lacks_its_pair || self.markers.len() == 1 && other.markers.len() > 1 && !self.is_paired()
    }

    /// Whether one of them only opens what the other one only closes.
    fn completes(&self, other: &Self) -> bool {
        !self.is_paired() && !other.is_paired() && self.has(false) == other.has(true)
    }
}

fn suspect(source: &str, edit: Edit, one: &Named<'_>, other: &Named<'_>, found: &mut Vec<MisspeltMarker>) {
    let is_single = one.markers.len() == 1 && other.markers.len() == 1;
    let (wrong, right, is_either) = match () {
        () if one.is_less_likely_than(other) => (one, other, false),
        () if other.is_less_likely_than(one) => (other, one, false),
        // Names are in the order of the source, and a reader looks at the second one.
        () if one.completes(other) || is_single && edit == Edit::Swap => (other, one, true),
        () => return,
    };
    // A role is a word of its own: `<user>` beside `<use>` opens a turn.
    if ROLES.contains(&wrong.name) {
        return;
    }
    let Some(first) = right.markers.first() else { return };
    for marker in wrong.markers.iter().filter(|marker| marker.is_whole) {
        let same_side = right.markers.iter().find(|other| other.is_whole && other.is_closer == marker.is_closer);
        let Some(written) = source.get(marker.span.clone()) else { continue };
        found.push(MisspeltMarker {
            written: written.to_owned(),
            meant: written.replace(wrong.name, right.name),
            is_either,
            span: marker.span.clone(),
            other: same_side.unwrap_or(first).span.clone(),
        });
    }
}

/// Markers that lack one of the bars that the same name has elsewhere, such as `<|im_end>` beside `<|im_end|>`. With the
/// other bar missing too, the two are a pair.
fn lacking_bar(source: &str, names: &[Named<'_>], found: &mut Vec<MisspeltMarker>) {
    let is_bar = |c: char| matches!(c, '|' | '｜');
    let whole = names.iter().filter(|named| named.form.bracket == '<' && named.form.has_bars);
    let literals = nodes(source).into_iter().filter(|node| matches!(node.kind, NodeKind::Text | NodeKind::Str(_)));
    let literals: Vec<Range<usize>> = literals.map(|node| node.span).collect();
    for named in whole {
        let Some(first) = named.markers.iter().find(|marker| marker.is_whole) else { continue };
        let mut halves: [Vec<Range<usize>>; 2] = Default::default();
        for literal in &literals {
            let Some((start, literal)) = source.get(literal.clone()).map(|text| (literal.start, text)) else {
                continue;
            };
            for (at, name) in literal.match_indices(named.name) {
                let (before, after) = (literal.get(..at).unwrap_or(""), literal.get(at + name.len()..).unwrap_or(""));
                let (opened, closed) = (before.strip_suffix(is_bar), after.strip_prefix(is_bar));
                let (is_left, is_right) = (opened.is_some(), closed.is_some());
                let (opened, closed) = (opened.unwrap_or(before), closed.unwrap_or(after));
                if is_left != is_right && opened.ends_with('<') && closed.starts_with('>') {
                    let span = start + opened.len() - 1..start + literal.len() - closed.len() + 1;
                    if let Some(half) = halves.get_mut(usize::from(is_right)) {
                        half.push(span);
                    }
                }
            }
        }
        if halves.iter().all(|half| !half.is_empty()) {
            continue;
        }
        for span in halves.into_iter().flatten() {
            let (Some(written), Some(meant)) = (source.get(span.clone()), source.get(first.span.clone())) else {
                continue;
            };
            let (written, meant) = (written.to_owned(), meant.to_owned());
            found.push(MisspeltMarker { written, meant, is_either: false, span, other: first.span.clone() });
        }
    }
}

/// The markers in the texts and strings of a source, by their names.
fn named_markers(source: &str) -> Vec<Named<'_>> {
    let mut places: HashMap<(Form, &str), usize> = HashMap::new();
    let mut names: Vec<Named<'_>> = Vec::new();
    for node in nodes(source) {
        if !matches!(node.kind, NodeKind::Text | NodeKind::Str(_)) {
            continue;
        }
        let Some(literal) = source.get(node.span.clone()) else { continue };
        for marker in markers(literal, node.span.start) {
            let key = (marker.form, marker.name);
            let place = *places.entry(key).or_insert(names.len());
            if place == names.len() && names.len() < MOST_NAMES {
                names.push(Named { form: marker.form, name: marker.name, markers: Vec::new() });
            }
            if let Some(named) = names.get_mut(place) {
                named.markers.push(marker);
            }
        }
    }
    names
}

/// The markers in a literal that begins at a byte of the source: `<name>`, `</name>`, `<name=`, `<|name|>`, `[NAME]`.
fn markers(literal: &str, base: usize) -> impl Iterator<Item = Marker<'_>> {
    let starts = literal.match_indices(['<', '[']);
    starts.filter_map(move |(at, bracket)| {
        let rest = literal.get(at + bracket.len()..)?;
        let is_bar = |c: char| matches!(c, '|' | '｜');
        let inner = rest.strip_prefix(is_bar).unwrap_or(rest);
        let named = inner.strip_prefix('/').unwrap_or(inner);
        let form = Form { bracket: if bracket == "<" { '<' } else { '[' }, has_bars: inner.len() < rest.len() };
        let end = named.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '▁')))?;
        let (name, after) = named.split_at_checked(end).filter(|(name, _)| (1..=LONGEST).contains(&name.len()))?;
        let is_loud = form.bracket == '<' || form.has_bars || !name.chars().any(char::is_lowercase);
        let close = if form.bracket == '<' { '>' } else { ']' };
        let tail = if form.has_bars { after.strip_prefix(is_bar)? } else { after };
        let is_whole = tail.starts_with(close) || form.bracket == '<' && tail.starts_with('=');
        let is_marker = is_loud && (is_whole || form.bracket == '<' && !form.has_bars);
        let end = literal.len() - tail.len() + usize::from(is_whole);
        is_marker.then(|| Marker {
            form,
            name,
            is_closer: named.len() < inner.len(),
            is_whole,
            span: base + at..base + end,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::misspelt_markers;

    fn found(source: &str) -> Vec<String> {
        let found = misspelt_markers(source).into_iter();
        found
            .map(|found| {
                let other = &source[found.other];
                assert_eq!(source[found.span], found.written);
                let how = if found.is_either { "or" } else { "for" };
                format!("{} {how} {} as in {other}", found.written, found.meant)
            })
            .collect()
    }

    #[test]
    fn markers_one_edit_from_another_one_are_found() {
        for (source, wanted) in [
            ("<think>{{ a }}</think>{{ b.split('</thnik>') }}", "</thnik> for </think> as in </think>"),
            ("write <tol_call>: <tool_call>{{ a }}</tool_call>", "<tol_call> for <tool_call> as in <tool_call>"),
            (
                "<tool_call>{{ a }}</tool_call>{{ '<tool_call>\\n' }}{{ b }}</tool_cal>",
                "</tool_cal> for </tool_call> as in </tool_call>",
            ),
            (
                "<|im_start|>{{ a }}{{ '<|im_strat|>' ~ b }}<|im_start|>",
                "<|im_strat|> for <|im_start|> as in <|im_start|>",
            ),
            (
                "<｜User｜>{{ a }}<｜Asistant｜>{{ b }}<｜Assistant｜>{{ c }}<｜Assistant｜>",
                "<｜Asistant｜> for <｜Assistant｜> as in <｜Assistant｜>",
            ),
            ("[INST]{{ a }}[/ISNT][INST]{{ b }}[/INST]", "[/ISNT] for [/INST] as in [/INST]"),
            (
                "<function={{ f }}><paramter={{ a }}>1</parameter><parameter={{ b }}>2</parameter></function>",
                "<paramter= for <parameter= as in <parameter=",
            ),
            (
                "<|im_start|>{{ a }}<|im_end>{{ '<|im_start|>' ~ b }}<|im_end|>",
                "<|im_end> for <|im_end|> as in <|im_end|>",
            ),
            // Nothing says which of the two is right.
            ("<thnik>{{ a }}</think>", "</think> or </thnik> as in <thnik>"),
            ("<|im_edn|>{{ a }}<|im_end|>", "<|im_end|> or <|im_edn|> as in <|im_edn|>"),
        ] {
            assert_eq!(found(source).join(", "), wanted, "{source}");
        }
    }

    #[test]
    fn different_markers_are_left_alone() {
        for source in [
            "<tools>{{ a }}</tools><tool>{{ b }}</tool> or <tool>",
            "<tool_calls><tool_call>{{ a }}</tool_call></tool_calls><tool_calls>",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{{ a }}<｜tool▁call▁begin｜>",
            // A pair of markers, each with one bar.
            "<|tool_call|>{{ a }}<|tool_call>{{ b }}<tool_call|>",
            "<|image_1|>{{ a }}<|image_2|><|image_2|>",
            "<|eot|>{{ a }}<|eom|><|eot|><|eot_id|><|eom_id|><|eot_id|>",
            "<bos>{{ a }}<eos><eos>",
            "<function-name> <function_name>{{ a }}</function_name> <Think> <think>{{ b }}</think>",
            "<content>{{ a }}</content><context>{{ b }}</context>",
            "{# <thnik> #}<think>{{ a }}</think>",
            "a <thnik b <think>{{ a }}</think>",
            "<user>{{ a }}<use>{{ b }}</use>",
            "<think>{{ a }}</thnik>{% if %}",
        ] {
            assert!(found(source).is_empty(), "{source}: {:?}", found(source));
        }
    }
}
