//! Text of the chat template that varies: counters, words that it looks up, and the values of missing variables. The
//! wire has a placeholder for each, which the rules keep until the last step.

use crate::automaton::{Automaton, LAST};
use crate::markers::FreeTexts;
use crate::notes::{Effect, Note};
use crate::rules::{Node, Rules};
use backchat_core::text::slice;
use backchat_derive::derive::FILLED;
use backchat_derive::wire::steady::{self, echo, is_varying};
use backchat_derive::wire::written::Group;
use backchat_parser::pattern::Regular;

/// The text up to the first placeholder.
pub(super) fn fixed_start(text: &str) -> &str {
    let filled = FILLED.iter().filter_map(|filled| text.find(filled));
    let end = text.find(is_varying).into_iter().chain(filled).min();
    slice(text, ..end.unwrap_or(text.len()))
}

/// A prompt with the placeholder of a missing variable in place of its value, and that value.
pub(super) fn with_placeholders(prompt: String, groups: &[Group]) -> (String, Option<String>) {
    let found = groups.iter().find_map(|group| {
        let sign = FILLED.iter().find(|sign| group.prompt.contains(**sign))?;
        let pieces: Vec<&str> = group.prompt.split(sign).collect();
        let [before, between @ .., after] = pieces.as_slice() else { return None };
        let before = Some(before.trim_start()).filter(|before| !before.is_empty())?;
        let (_, values) = prompt.strip_suffix(after)?.rsplit_once(before)?;
        // All placeholders have the same value, so its length follows from the total length.
        let others: usize = between.iter().map(|text| text.len()).sum();
        let value = values.get(..values.len().checked_sub(others)? / (between.len() + 1))?;
        let shown = group.prompt.trim_start().replace(sign, value);
        let start = prompt.strip_suffix(&shown)?;
        (!value.is_empty()).then(|| (format!("{start}{}", group.prompt.trim_start()), value.to_owned()))
    });
    match found {
        Some((prompt, value)) => (prompt, Some(value)),
        None => (prompt, None),
    }
}

/// Replaces the placeholders in these roots and in all rules by the text that varies: the value in the prompt, or any
/// possible one.
pub(crate) fn fill<'n>(
    rules: &'n mut Rules,
    mut roots: Vec<&'n mut Node>,
    free_texts: &FreeTexts,
    value: Option<&str>,
    notes: &mut Vec<Note>,
) {
    let known: Vec<&Node> = roots.iter().map(|root| &**root).collect();
    let Some(placeholders) = Placeholders::find(rules, &known, free_texts, value, notes) else { return };
    roots.extend(rules.rules.iter_mut().map(|rule| &mut rule.node));
    for node in roots {
        *node = placeholders.resolved(std::mem::replace(node, Node::empty()));
    }
}

/// The nodes that replace the placeholders of one grammar.
struct Placeholders {
    number: Node,
    word: Node,
    value: Node,
    /// The texts up to each sign that marks repeat, by their placeholders.
    echoes: Vec<(char, Node)>,
}

impl Placeholders {
    /// The nodes for the placeholders of these rules; `None` if there are none. `value` is the one in the prompt.
    pub fn find(
        rules: &mut Rules,
        roots: &[&Node],
        free_texts: &FreeTexts,
        value: Option<&str>,
        notes: &mut Vec<Note>,
    ) -> Option<Self> {
        let counts = |literal: &str| literal.contains(is_varying);
        let is_filled = |literal: &str| FILLED.iter().any(|sign| literal.len() >= sign.len() && literal.contains(sign));
        // Most grammars have no placeholder, so one pass is enough.
        if !rules.any_literal(roots, &|literal| counts(literal) || is_filled(literal)) {
            return None;
        }
        let (counts, is_filled) = (rules.any_literal(roots, &counts), rules.any_literal(roots, &is_filled));
        if counts {
            let message = "numbers and words that the chat template counts or looks up are unconstrained";
            notes.push(Note::new(Effect::Looser, message));
        }
        if is_filled && value.is_none() {
            let message = "the turn holds the value of a variable that was not given: any text without brackets, quotes and \
                           line breaks is allowed there";
            notes.push(Note::new(Effect::Looser, message));
        }
        let number = repeated(rules, "number", Regular::class(&[('0', '9')]), None);
        let signs = [('-', '-'), ('.', '.'), ('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z'), ('\u{c0}', '\u{24f}')];
        let word = repeated(rules, "word", Regular::class(&signs), None);
        // If a value could contain the text after it, it would never end.
        let line = vec![(32, 33), (35, 59), (61, 61), (63, 90), (92, 92), (94, 122), (126, LAST)];
        let value = match value {
            Some(value) => Node::literal(value),
            None => repeated(rules, "value", Regular::Class(line), Some(&free_texts.content)),
        };
        let signs = ('\u{fdd0}'..='\u{fdef}').filter_map(|sign| Some((sign, echo(sign)?)));
        let shown: Vec<_> =
            signs.filter(|(sign, _)| rules.any_literal(roots, &|literal| literal.contains(*sign))).collect();
        let echoes = shown.into_iter().map(|(sign, (end, lines))| {
            let text = repeated(rules, "echo", other_than(end, lines), Some(&free_texts.content));
            (sign, Node::choice([text, Node::empty()]))
        });
        let echoes = echoes.collect();
        Some(Self { number, word, value, echoes })
    }

    /// A node without placeholders.
    pub fn resolved(&self, node: Node) -> Node {
        match node {
            Node::Literal(text) => self.spelled(&text),
            Node::Sequence(items) => Node::sequence(items.into_iter().map(|item| self.resolved(item))),
            Node::Choice(items) => Node::choice(items.into_iter().map(|item| self.resolved(item))),
            Node::Repeat(node, min, max) => Node::Repeat(Box::new(self.resolved(*node)), min, max),
            Node::Rule(_) | Node::Text(..) => node,
        }
    }

    fn spelled(&self, text: &str) -> Node {
        let fixed = fixed_start(text);
        let rest = slice(text, fixed.len()..);
        let (sign, length) = match (rest.chars().next(), FILLED.iter().find(|sign| rest.starts_with(**sign))) {
            (None, _) => return Node::literal(text),
            (_, Some(sign)) => (&self.value, sign.len()),
            (Some(steady::NUMBER), _) => (&self.number, steady::NUMBER.len_utf8()),
            (Some(sign), _) => {
                let echo = self.echoes.iter().find_map(|(known, text)| (*known == sign).then_some(text));
                (echo.unwrap_or(&self.word), sign.len_utf8())
            }
        };
        Node::sequence([Node::literal(fixed), sign.clone(), self.spelled(slice(rest, length..))])
    }
}

/// Any character but the sign that ends an echo, and the end of a line if it has only one.
fn other_than(end: Option<char>, lines: bool) -> Regular {
    let mut ranges = Vec::new();
    let mut low = 0;
    for sign in [Some('\n').filter(|line| !lines && end != Some(*line)), end].into_iter().flatten().map(u32::from) {
        ranges.push((low, sign - 1));
        low = sign + 1;
    }
    ranges.push((low, LAST));
    Regular::Class(ranges)
}

/// One or more of these characters that contain no marker.
fn repeated(rules: &mut Rules, name: &str, character: Regular, free_texts: Option<&Automaton>) -> Node {
    let text = Automaton::from_pattern(&character.repeat(1, None));
    let text = match free_texts {
        Some(free_texts) => text.and_then(|text| text.both(free_texts)),
        None => text,
    };
    text.map_or_else(Node::never, |text| rules.text(name, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_of_a_missing_variable_is_found_in_the_prompt() {
        let filled = FILLED[0];
        let group = |prompt: String| Group { header: prompt.clone(), prompt, shapes: Vec::new() };
        for (shown, prompt, value) in [
            (format!("<end><bot {filled}>\n"), "hi<end><bot kind one>\n", Some("kind one")),
            (format!("<end><bot {filled}>\n"), "hi<bot x><end><bot kind>\n", Some("kind")),
            (format!("<bot {filled}> {filled}:"), "hi<bot kind> kind:", Some("kind")),
            (format!("<bot {filled}> {filled}:"), "hi<bot kind> other:", None),
            (format!("<bot {filled}>"), "hi<bot>", None),
            ("<bot>".to_owned(), "hi<bot>", None),
        ] {
            let (signed, found) = with_placeholders(prompt.to_owned(), &[group(shown.clone())]);
            assert_eq!(found.as_deref(), value, "{shown} {prompt}");
            assert_eq!(signed.ends_with(&shown), value.is_some() || prompt.ends_with(&shown), "{signed}");
        }
    }

    #[test]
    fn a_text_is_fixed_up_to_its_first_placeholder() {
        let filled = FILLED[0];
        for (text, fixed) in [("<do_\u{fdd0}>", "<do_"), ("<end>", "<end>"), (&format!("<{filled} \u{fdd1}>"), "<")] {
            assert_eq!(fixed_start(text), fixed, "{text:?}");
        }
    }
}
