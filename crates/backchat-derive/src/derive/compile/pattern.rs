//! Texts as patterns.

use super::pieces::{self, Branch, Branches, is_syntax};
use backchat_core::json::{Object, Value};
use backchat_core::push_new;
use backchat_core::text::slice;
use backchat_probe::probe::marks;
use backchat_probe::probe::steady::{self, is_varying};

/// The opening or closing of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Delimiter {
    Literals(Vec<String>),
    Pattern(String),
}

impl Delimiter {
    /// Writes the delimiter into a field as its `open` or `close`.
    pub fn write(self, field: &mut Object, side: &str) {
        let delimiter = match self {
            Delimiter::Literals(texts) if texts.iter().any(|text| text.contains(is_varying)) => {
                Delimiter::Pattern(any_of(texts.iter().map(|text| escape(text))))
            }
            same => same,
        };
        match delimiter {
            Delimiter::Literals(texts) => field.insert(side, one_or_many(texts)),
            Delimiter::Pattern(pattern) => match literal(&pattern) {
                Some(text) => field.insert(side, text.into()),
                None => field.insert(format!("{side}_pattern"), without_doubled_space(&pattern).into()),
            },
        };
    }
}

/// One text by itself, or several as a list.
pub(in crate::derive) fn one_or_many(mut texts: Vec<String>) -> Value {
    match texts.len() {
        1 => texts.remove(0).into(),
        _ => Value::List(texts.into_iter().map(Value::from).collect()),
    }
}

/// A pattern that any of these matches. Patterns that differ only in numbers are one with any number: which numbers there are,
/// such as counts of calls, the conversations chose.
pub(in crate::derive) fn any_of(patterns: impl IntoIterator<Item = String>) -> String {
    let mut alternatives: Vec<String> = Vec::new();
    for pattern in patterns {
        let counted =
            alternatives.iter_mut().find_map(|known| differing_in_numbers(known, &pattern).map(|any| (known, any)));
        match counted {
            Some((known, any)) => *known = any,
            None => {
                push_new(&mut alternatives, pattern);
            }
        }
    }
    match alternatives.as_slice() {
        [only] => only.clone(),
        several => format!("(?:{})", several.join("|")),
    }
}

/// Whether two of these texts differ only in numbers.
pub(super) fn differ_in_numbers(texts: &[String]) -> bool {
    let differs =
        |(at, one): (usize, &String)| texts.iter().skip(at + 1).any(|other| differing_in_numbers(one, other).is_some());
    texts.iter().enumerate().any(differs)
}

/// The pattern of any number in the place of those in which two patterns differ; `None` if they differ in something else, or
/// not at all.
fn differing_in_numbers(one: &str, other: &str) -> Option<String> {
    const ANY: &str = "\\d+";
    // A pattern has numbers in marks only: it writes neither counts of repetitions nor codes of characters.
    if one == other {
        return None;
    }
    let (mut one, mut other, mut made) = (one, other, String::new());
    while let Some(first) = one.chars().next() {
        let number = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let any = |text: &str| if text.starts_with(ANY) { ANY.len() } else { number(text) };
        let (ours, theirs) = (any(one), any(other));
        if ours > 0 && theirs > 0 {
            let same = slice(one, ..ours) == slice(other, ..theirs);
            made.push_str(if same { slice(one, ..ours) } else { ANY });
            (one, other) = (slice(one, ours..), slice(other, theirs..));
        } else {
            other = other.strip_prefix(first)?;
            one = slice(one, first.len_utf8()..);
            made.push(first);
        }
    }
    other.is_empty().then_some(made)
}

/// A text as a pattern that matches only that text, with a class for each varying part. The value of a variable may be
/// several words in quotes, or between a word in open brackets and the sign after it: elsewhere, prose would match.
pub(in crate::derive) fn escape(text: &str) -> String {
    with_values(text, |before, value, next| {
        let is_framed = || before.ends_with(['"', '\'', '=']) || is_behind_name(before);
        // What costs the length of the text is asked last.
        value.contains(steady::VALUE) && !next.is_alphanumeric() && is_framed()
    })
}

/// Whether a text ends within a mark, behind its name.
fn is_behind_name(text: &str) -> bool {
    text.rsplit_once(marks::is_opening).is_some_and(|(_, mark)| {
        // Behind a mark that has ended, there may be prose.
        mark.contains(char::is_alphanumeric) && !mark.contains(marks::is_closing)
    })
}

/// The end of a prompt as a pattern. Words that vary there may be the value of a variable, such as the name of the model:
/// any text on one line, up to the mark after it.
pub(super) fn header(text: &str) -> String {
    with_values(text, |_, value, next| value.contains(steady::is_varying_word) && !next.is_alphanumeric())
}

/// A text as a pattern, with any text on one line, up to the sign after it, in place of each run of varying words of which
/// `is_value` holds, given the text before it, the run, and the character after it.
fn with_values(text: &str, is_value: impl Fn(&str, &str, char) -> bool) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let after = rest.trim_start_matches(|c| is_varying(c) || c == ' ');
        let (before, run) = (slice(text, ..text.len() - rest.len()), slice(rest, ..rest.len() - after.len()));
        match after.chars().next().filter(|next| first != ' ' && is_value(before, run, *next)) {
            Some(next) => {
                let others = if next == '\n' { String::new() } else { in_class(next) };
                out.push_str(&format!("[^\\n{others}]+"));
                rest = after;
            }
            None => {
                rest = slice(rest, first.len_utf8()..);
                let echo = steady::echo(first).map(|(end, lines)| up_to(end, lines, rest));
                out.push_str(&echo.unwrap_or_else(|| written(first)));
            }
        }
    }
    out
}

/// Any text up to a sign, on one line or several, or up to the rest of the mark: the text may contain the sign with which more
/// than a sign begins.
fn up_to(end: Option<char>, lines: bool, rest: &str) -> String {
    let is_more = |end: &char| rest.starts_with(*end) && rest.chars().nth(1).is_some_and(|c| !is_varying(c));
    match end.filter(|end| !is_more(end)) {
        None if lines => ".*?".to_owned(),
        None => "[^\\n]*?".to_owned(),
        Some('\n') => "[^\\n]*".to_owned(),
        Some(end) if lines => format!("[^{}]*", in_class(end)),
        Some(end) => format!("[^\\n{}]*", in_class(end)),
    }
}

/// A character as one of a class.
fn in_class(c: char) -> String {
    if matches!(c, '[' | ']' | '^' | '\\' | '-') { format!("\\{c}") } else { c.to_string() }
}

/// A character as a pattern.
pub(in crate::derive) fn written(c: char) -> String {
    match c {
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        steady::NUMBER => "\\d+".to_owned(),
        steady::WORD | steady::VALUE => "[\\w.-]+".to_owned(),
        c if is_syntax(c) => format!("\\{c}"),
        c => match (steady::words(c), steady::echo(c)) {
            (Some(words), _) => format!("(?:{})", words.join("|")),
            (None, Some((end, lines))) => up_to(end, lines, ""),
            (None, None) => c.to_string(),
        },
    }
}

/// The text that a pattern matches, if it matches only one.
fn literal(pattern: &str) -> Option<String> {
    let Branches(branches) = Branches::read(pattern)?;
    let [Branch(items)] = branches.as_slice() else { return None };
    items.iter().map(pieces::literal).collect()
}

/// A pattern with adjacent repeats of optional white space merged.
pub(in crate::derive) fn without_doubled_space(pattern: &str) -> String {
    const SPACE: &str = "\\s*";
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern;
    let mut after_space = false;
    while let Some(first) = rest.chars().next() {
        // Escapes are skipped whole, so that the `s*` after an escaped backslash is not mistaken for white space.
        let is_space = rest.starts_with(SPACE) && !rest.starts_with("\\s*?");
        let length = match first {
            _ if is_space => SPACE.len(),
            '\\' => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
            _ => first.len_utf8(),
        };
        let (part, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        if !(is_space && after_space) {
            out.push_str(part);
        }
        (after_space, rest) = (is_space, after);
    }
    out
}

/// A text as a pattern in which white space at the edges, and white space with a line break, may vary.
pub(super) fn spaced(text: &str) -> String {
    let inner = text.trim();
    let edge = |is_spaced: bool| if is_spaced { "\\s*" } else { "" };
    let lead = edge(inner.len() < text.trim_end().len());
    let tail = edge(text.trim_end().len() < text.len());
    let lines = inner.split('\n').map(str::trim).filter(|line| !line.is_empty()).map(escape);
    format!("{lead}{}{tail}", lines.collect::<Vec<_>>().join("\\s*"))
}

/// The class of characters of a word that ends before `next`.
pub(super) fn word_before(next: &str) -> String {
    match next.trim_start().chars().next() {
        Some(c) if c.is_alphanumeric() || c == '_' => "[\\w.-]".to_owned(),
        Some('"') if next.starts_with('"') => "[^\"]".to_owned(),
        // A word that ends with white space may contain the character after it, as in `a-b -> c`.
        Some('-') if next.starts_with(char::is_whitespace) => "\\S".to_owned(),
        Some(c) => format!("[^\\s{}]", in_class(c)),
        None => "[\\w.-]".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_vary_in_a_header_are_any_text_up_to_its_next_mark() {
        let (word, number) = (steady::WORD, steady::NUMBER);
        let table = [
            (format!("<bot {word}>"), "<bot [^\\n>]+>"),
            (format!("<bot {word} {word} {number}>\n"), "<bot [^\\n>]+>\\n"),
            (format!("bot {word}\n"), "bot [^\\n]+\\n"),
            (format!("<bot {number}>"), "<bot \\d+>"),
            (format!("{number} {word}"), "\\d+ [\\w.-]+"),
            (format!("{word}T{number}]"), "[\\w.-]+T\\d+\\]"),
        ];
        for (text, pattern) in table {
            assert_eq!(header(&text), pattern, "{text:?}");
        }
    }

    #[test]
    fn a_value_in_a_mark_may_be_several_words_and_a_word_of_the_clock_is_one_of_its_words() {
        let (word, value, noon) = (steady::WORD, steady::VALUE, steady::clock_word("AM").unwrap());
        for (text, pattern) in [
            (format!("<think for=\"{value}\">"), "<think for=\"[^\\n\"]+\">"),
            (format!("to='{value} {value}'"), "to='[^\\n']+'"),
            (format!("[call for {value}:"), "\\[call for [^\\n:]+:"),
            // Prose is like this, too.
            (format!("{value} thoughts:"), "[\\w.-]+ thoughts:"),
            (format!("for {value}:"), "for [\\w.-]+:"),
            (format!("[note] to {value}:"), "\\[note\\] to [\\w.-]+:"),
            (format!("<{value}>"), "<[\\w.-]+>"),
            // A counter is one word.
            (format!("<call {word}>"), "<call [\\w.-]+>"),
            (format!("at {noon}:"), "at (?:AM|PM):"),
        ] {
            assert_eq!(escape(&text), pattern, "{text:?}");
            assert_eq!(spaced(&text), pattern, "{text:?}");
        }
    }

    #[test]
    fn what_a_mark_repeats_is_any_text_up_to_the_rest_of_the_mark() {
        let place = |end: Option<char>, lines: bool| {
            ('\u{fdd0}'..='\u{fdef}').find(|sign| steady::echo(*sign) == Some((end, lines))).unwrap()
        };
        let [tag, line, quote] = ['>', '\n', '"'].map(|end| place(Some(end), false));
        let (text, other) = (place(Some('<'), true), place(None, false));
        for (mark, pattern) in [
            (format!("<seen {tag}>"), "<seen [^\\n>]*>"),
            (format!("Re: {line}\n"), "Re: [^\\n]*\\n"),
            // The text may contain the sign with which the rest of the mark begins.
            (format!("<of>{text}</of>"), "<of>.*?</of>"),
            (format!("《of：{other}》"), "《of：[^\\n]*?》"),
            (format!("<f about=\"{quote}\">"), "<f about=\"[^\\n]*?\">"),
        ] {
            assert_eq!(escape(&mark), pattern, "{mark:?}");
        }
    }

    #[test]
    fn alternatives_that_differ_in_numbers_are_one() {
        for (alternatives, pattern) in [
            (&["<n=1>", "<n=2>", "<n=30>"][..], "<n=\\d+>"),
            (&["<1/2>", "<2/2>"], "<\\d+/2>"),
            (&["<n=1>", "<m=2>"], "(?:<n=1>|<m=2>)"),
            (&["<n=\\d+>", "<n=2>"], "<n=\\d+>"),
            (&["<n=1>", "<n=1>"], "<n=1>"),
            (&["<n=1>", "<n=>"], "(?:<n=1>|<n=>)"),
            (&["<n=1>", "<n=2>a"], "(?:<n=1>|<n=2>a)"),
        ] {
            assert_eq!(any_of(alternatives.iter().map(|one| (*one).to_owned())), pattern);
        }
    }

    #[test]
    fn white_space_with_a_line_break_may_vary() {
        let table =
            [("<a>\n<b>", "<a>\\s*<b>"), ("\n<a> x", "\\s*<a> x"), ("<a>\n", "<a>\\s*"), ("\n", "\\s*"), ("", "")];
        for (text, pattern) in table {
            assert_eq!(spaced(text), pattern, "{text:?}");
        }
    }

    #[test]
    fn repeated_optional_white_space_is_written_once() {
        let table = [
            ("\\}\\s*\\s*a", "\\}\\s*a"),
            ("\\\\s*\\s*", "\\\\s*\\s*"),
            ("\\s*\\s*?", "\\s*\\s*?"),
            ("é\\s*", "é\\s*"),
        ];
        for (pattern, once) in table {
            assert_eq!(without_doubled_space(pattern), once);
        }
    }

    #[test]
    fn a_pattern_that_matches_one_text_becomes_a_literal() {
        let table = [("<\\|a\\|>", Some("<|a|>")), ("x\\n", Some("x\n")), ("a\\s", None), ("a|b", None), ("a+", None)];
        for (pattern, text) in table {
            assert_eq!(literal(pattern).as_deref(), text, "{pattern:?}");
        }
    }
}
