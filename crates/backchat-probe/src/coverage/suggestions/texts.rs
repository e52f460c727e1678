//! Texts in the place of one that a condition or a filter takes.

use super::{LONGEST, Made};
use backchat_chat::Relation;
use backchat_core::json::Value;
use backchat_core::{distinct, push_new};

/// How many letters a condition compares at most that looks at an end of a text.
const LONGEST_EDGE: usize = 3;

/// The texts of an operand, or of the items of one.
pub(super) fn constants(value: &Value) -> Vec<String> {
    let items = value.as_list().map_or(std::slice::from_ref(value), |items| items);
    items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

/// Whether a value in a condition is this text of the answer: equal to it except for white space and case, or the end
/// or the beginning of it, such as its first word.
pub(super) fn is_from(text: &str, value: &str) -> bool {
    let (text, value) = (text.trim(), value.trim());
    if value.is_empty() || text.is_empty() {
        return false;
    }
    let (lower, wanted) = (text.to_lowercase(), value.to_lowercase());
    let has_edge = |word: Option<&str>| word == Some(wanted.as_str());
    lower == wanted
        || (value.chars().count() > 3 && (lower.starts_with(&wanted) || lower.ends_with(&wanted)))
        || has_edge(lower.split_whitespace().next())
        || has_edge(lower.split_whitespace().next_back())
}

/// Whether a value in a condition is a few letters at the beginning or the end of this text.
pub(super) fn is_edge(text: &str, value: &str) -> bool {
    let is_short = !value.is_empty() && value.chars().count() <= LONGEST_EDGE && value.len() < text.len();
    is_short && (text.starts_with(value) || text.ends_with(value))
}

/// What may stand in place of a few letters that a condition seeks: the items of a list, or the first and the last letters
/// of a text.
fn parts(among: &Value, sought: &str) -> Vec<String> {
    let Some(text) = among.as_str() else { return constants(among) };
    let letters: Vec<char> = text.chars().collect();
    let length = sought.chars().count();
    let ends = [letters.get(..length), letters.len().checked_sub(length).and_then(|at| letters.get(at..))];
    distinct(ends.into_iter().flatten().map(|letters| letters.iter().collect()))
}

/// The text with other letters at that end.
fn at_edge(text: &str, edge: &str, other: &str) -> String {
    match (text.strip_prefix(edge), text.strip_suffix(edge)) {
        (Some(rest), _) => format!("{other}{rest}"),
        (None, Some(rest)) => format!("{rest}{other}"),
        (None, None) => other.to_owned(),
    }
}

impl Made<'_> {
    /// Whether the condition asks about the letters of a text.
    fn tests_letters(&self) -> bool {
        [".is", " is upper", " is lower"].iter().any(|test| self.condition.contains(test))
    }

    /// Texts in the place of one that a condition compares with a constant or tests, or in which it seeks a constant.
    pub(super) fn instead(&self, relation: Relation, (left, right): (&Value, &Value), text: &str) -> Vec<String> {
        let is_operand = |value: &Value| value.as_str().is_some_and(|value| is_from(text, value));
        let begins_or_ends = |value: &Value| {
            let value = value.as_str().filter(|value| !value.is_empty());
            value.is_some_and(|value| text.starts_with(value) || text.ends_with(value))
        };
        let mut made = Vec::new();
        match relation {
            Relation::Equal if self.goal.wanted => {
                for (from, to) in [(left, right), (right, left)] {
                    let edge = from.as_str().filter(|edge| is_edge(text, edge));
                    if let Some(edge) = edge {
                        made.extend(constants(to).iter().map(|to| at_edge(text, edge, to)));
                    } else if is_operand(from) {
                        made.extend(constants(to));
                    }
                }
            }
            Relation::In | Relation::Key => {
                made.extend(constants(right).into_iter().filter(|_| is_operand(left)));
                if let Some(edge) = left.as_str().filter(|edge| is_edge(text, edge)) {
                    made.extend(parts(right, edge).iter().map(|part| at_edge(text, edge, part)));
                }
                // A list of names, say.
                let is_item = |item: &Value| item.as_str().is_some_and(|item| item.trim() == text.trim());
                if right.as_list().is_some_and(|items| items.iter().any(is_item)) {
                    made.extend(constants(left));
                }
                for constant in constants(left).into_iter().filter(|_| is_operand(right)) {
                    made.extend([
                        format!("{text} {constant} {text}"),
                        format!("{text}{constant}"),
                        format!("{constant}{text}"),
                    ]);
                }
            }
            Relation::StartsWith | Relation::EndsWith if is_operand(left) => {
                for constant in constants(right) {
                    let joined = match relation {
                        Relation::StartsWith => format!("{constant}{text}"),
                        _ => format!("{text}{constant}"),
                    };
                    // The operand may be the first or the last line.
                    let line = left.as_str().unwrap_or_default();
                    let lines = match relation {
                        Relation::StartsWith => format!("{text}\n{constant}{line}"),
                        _ => format!("{line}{constant}\n{text}"),
                    };
                    let by_lines = self.condition.contains("line") || self.condition.contains("split");
                    made.extend([joined, constant].into_iter().chain(by_lines.then_some(lines)));
                }
            }
            // A method such as `isdigit` or a test such as `upper`, of the text, of its first letters or of what a filter
            // leaves of it.
            Relation::Test if self.tests_letters() && (is_operand(left) || begins_or_ends(left)) => {
                made.extend(["12".to_owned(), text.to_uppercase(), text.to_lowercase(), "Word".to_owned()]);
            }
            _ => {}
        }
        made
    }
}

/// Texts, made from one that a filter leaves as it is, that it may change.
pub(super) fn changed_by(name: &str, argument: Option<&str>, limit: Option<usize>, text: &str) -> Vec<String> {
    let around = |sign: &str| vec![format!("{text}{sign}{text}"), format!("{sign}{text}"), format!("{text}{sign}")];
    match (name, argument) {
        ("trim" | "strip", None) => vec![format!("  {text}\n")],
        ("lstrip", None) => vec![format!("  {text}")],
        ("rstrip", None) => vec![format!("{text}\n")],
        ("lower" | "upper" | "capitalize" | "title" | "swapcase" | "casefold", _) => {
            let mut words = text.chars();
            let first: String = words.next().into_iter().flat_map(char::to_uppercase).collect();
            let lower: String = text.chars().take(1).flat_map(char::to_lowercase).chain(text.chars().skip(1)).collect();
            vec![format!("{first}{}", words.as_str()), lower, text.to_uppercase(), text.to_lowercase()]
        }
        ("[]" | "truncate" | "wordwrap", _) => {
            limit.filter(|limit| *limit <= LONGEST).map(|limit| sized(limit + 30)).into_iter().collect()
        }
        (_, Some(sign)) if !sign.is_empty() => around(sign),
        ("escape" | "e" | "forceescape" | "urlencode" | "striptags", _) => around(" <b> & 'c' "),
        ("split" | "splitlines", None) => around("\n"),
        ("title()" | "indent", _) => around("\n"),
        _ => Vec::new(),
    }
}

/// A text of words with this many characters.
pub(super) fn sized(length: usize) -> String {
    let text: String = "Word by word it goes on, ".chars().cycle().take(length).collect();
    // White space at the end would not be part of the text.
    if text.ends_with(' ') { format!("{}.", text.trim_end()) } else { text }
}

/// A name with this many characters.
pub(super) fn named(length: usize) -> String {
    "look_it_up_for_me_".chars().cycle().take(length).collect()
}

/// The texts in quotes of an expression.
pub(super) fn literals(expression: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = expression;
    while let Some((at, quote)) = rest.match_indices(['\'', '"']).next() {
        let Some((text, after)) = rest.get(at + 1..).and_then(|rest| rest.split_once(quote)) else { break };
        if !text.is_empty() {
            push_new(&mut found, text.replace("\\n", "\n").replace("\\t", "\t"));
        }
        rest = after;
    }
    found
}

/// What an expression selects from a list: its texts in quotes but for tests and keys.
pub(super) fn selected(expression: &str) -> Vec<String> {
    const TESTS: [&str; 6] = ["equalto", "eq", "in", "defined", "function.name", "role"];
    literals(expression).into_iter().filter(|literal| !TESTS.contains(&literal.as_str())).collect()
}

/// Whether a tool may have this name.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/'))
}

pub(super) fn quoted(text: &str) -> String {
    format!("{:?}", backchat_core::diagnostic::shortened(text, 40))
}
