//! Calls written `name(key=value, …)`, each between markers or all in one bracketed list: quoted and bare values, any
//! brackets, punctuation and separators, but the same ones throughout a sample.

use super::align::{Alignment, Body, Call, Pair};
use super::layout::{self, Form, Layout, edges, following, pattern};
use crate::derive::compile::JSON_STRING;
use backchat_core::text::{is_word, slice};

/// The punctuation of one call.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Signs<'t> {
    /// The text between the name and the bracket, such as that of a method.
    lead: &'t str,
    bracket: (&'static str, &'static str),
    /// The character between a key and its value.
    sign: &'t str,
    /// The character between two pairs, if there are two.
    separator: Option<&'t str>,
}

/// The layout of the calls between `from` and `to`: this one if it fits, or else other layouts.
pub(super) fn layouts(text: &str, alignment: &Alignment, from: usize, to: usize) -> Vec<Layout> {
    let text = &alignment.with_any_ids(text);
    let own = || layout(text, &alignment.calls, from, to).filter(|_| alignment.has_calls_within(from, to));
    own().map_or_else(|| layout::layouts(text, alignment, from, to), |layout| vec![layout])
}

/// The layout of the calls between `from` and `to`; `None` if they are not written with keywords.
fn layout(text: &str, calls: &[Call], from: usize, to: usize) -> Option<Layout> {
    let (first, last) = (calls.first()?, calls.last()?);
    let mut signs = Signs::find(text, first)?;
    for call in calls {
        let of_call = Signs::find(text, call)?;
        signs.separator = signs.separator.or(of_call.separator);
        let is_same = (of_call.lead, of_call.bracket, of_call.sign) == (signs.lead, signs.bracket, signs.sign);
        if !is_same || of_call.separator.is_some_and(|separator| signs.separator != Some(separator)) {
            return None;
        }
    }
    let end = |call: &Call| {
        let rest = slice(text, call.span.end..);
        call.span.end + rest.len() - rest.trim_start().len() + signs.bracket.1.len()
    };
    let before = slice(text, from..first.span.start);
    let after = text.get(end(last)..to)?;
    let closing = pattern(signs.bracket.1);
    let list = before.trim_end().strip_suffix('[').zip(after.trim_start().strip_prefix(']'));
    let (open, close) = match (list, calls.get(1)) {
        (Some((wrapper, rest)), second) => {
            let between = second.map_or(",", |second| slice(text, end(first)..second.span.start).trim());
            let lead = format!("{}\\[", pattern(wrapper.trim_start()));
            let separator = pattern(between);
            let tail = pattern(rest.trim());
            let item = format!("(?<={closing})\\s*{separator}\\s*");
            let next = format!("(?=\\s*{separator}\\s*{NAME}\\s*{})", signs.opening());
            (format!("(?:{lead}\\s*|{item})"), format!("{closing}(?:\\s*\\]\\s*{tail}|{next})"))
        }
        (None, second) => {
            let between = second.map(|second| slice(text, end(first)..second.span.start));
            let (open, close) = edges(before, between, after);
            let open = pattern(open.trim_start());
            // A bracket alone is also in values: what can follow the call comes after it.
            let guard = match close.trim() {
                "" => following(&open, slice(text, end(last)..)),
                _ => String::new(),
            };
            (open, format!("{closing}{}{guard}", pattern(close)))
        }
    };
    // Without an opening, a call such as `f(a=1)` is prose.
    if open.is_empty() {
        return None;
    }
    let form = Form::Keywords {
        bracket: signs.opening(),
        sign: pattern(signs.sign),
        json: signs.tag(&format!("(?P<value>{JSON_STRING}|{NESTED}|.*?)")),
        quoted: signs.tag(&format!("(?P<value>{SINGLE}|{JSON_STRING}|{NESTED}|.*?)")),
        bare: signs.tag(&format!("(?:'(?P<value>{IN_SINGLE})'|\"(?P<value>{IN_DOUBLE})\"|(?P<value>{NESTED}|.*?))")),
    };
    Some(Layout::new(open, close, form, before, after))
}

/// The name of a call.
const NAME: &str = "[\\w.-]+";
const IN_SINGLE: &str = "(?:[^'\\\\]|\\\\.)*";
const IN_DOUBLE: &str = "(?:[^\"\\\\]|\\\\.)*";
const SINGLE: &str = "'(?:[^'\\\\]|\\\\.)*'";
/// A list or an object with any content.
const NESTED: &str =
    "(?P<deep>[\\[{](?:[^\\[\\]{}'\"]|'(?:[^'\\\\]|\\\\.)*'|\"(?:[^\"\\\\]|\\\\.)*\"|(?&deep))*[\\]}])";

impl<'t> Signs<'t> {
    fn find(text: &'t str, call: &Call) -> Option<Self> {
        let Body::Pairs(pairs) = &call.body else { return None };
        let (first, last) = (pairs.first()?, pairs.last()?);
        let opens = text.get(call.name.end..first.key.start)?.trim();
        let bracket = [("(", ")"), ("[", "]"), ("{", "}")].into_iter().find(|(open, _)| opens.ends_with(open))?;
        let lead = opens.strip_suffix(bracket.0)?;
        let is_method = |lead: &str| lead.strip_prefix('.').is_some_and(|word| word.chars().all(is_word));
        if !lead.is_empty() && !is_method(lead) {
            return None;
        }
        let sign_of = |pair: &Pair| only_sign(text.get(pair.key.end..pair.value.start)?);
        let sign = sign_of(first)?;
        let between = |[one, next]: &[Pair; 2]| only_sign(text.get(one.value.end..next.key.start)?);
        let mut separators = pairs.array_windows().map(between);
        let separator = separators.next();
        let is_regular = pairs.iter().all(|pair| sign_of(pair) == Some(sign))
            && separator != Some(None)
            && separators.all(|other| Some(other) == separator)
            && slice(text, last.value.end..).trim_start().starts_with(bracket.1);
        is_regular.then_some(Self { lead, bracket, sign, separator: separator.flatten() })
    }

    fn opening(self) -> String {
        pattern(&format!("{}{}", self.lead, self.bracket.0))
    }

    /// The pattern of a pair: its value ends where the next pair begins, or with the call.
    fn tag(self, value: &str) -> String {
        let sign = pattern(self.sign);
        let separator = pattern(self.separator.unwrap_or(","));
        format!("(?P<key>{NAME})\\s*{sign}\\s*{value}(?=\\s*{separator}\\s*{NAME}\\s*{sign}|\\s*\\Z)")
    }
}

/// The only character of a text, ignoring white space.
fn only_sign(text: &str) -> Option<&str> {
    let sign = text.trim();
    let mut chars = sign.chars();
    let first = chars.next()?;
    (chars.next().is_none() && !first.is_alphanumeric() && !"\"'".contains(first)).then_some(sign)
}

#[cfg(test)]
mod tests {
    use super::super::align::{align, read as read_message};
    use super::*;
    use backchat_core::json;

    fn layout_of(text: &str, arguments: &str) -> Option<Layout> {
        let message = format!(r#"{{"tool_calls": [{{"function": {{"name": "f", "arguments": {arguments}}}}}]}}"#);
        let said = read_message(json::read(&message).unwrap().as_object().unwrap(), None);
        layout(text, &align(text, &said).unwrap().calls, 0, text.len())
    }

    #[test]
    fn signs_and_brackets_are_those_of_the_sample() {
        for (text, open, close, sign) in [
            ("[f(a='x', b=9)]", r"(?:\[\s*|(?<=\))\s*,\s*)", r"\)(?:\s*\]\s*|(?=\s*,\s*[\w.-]+\s*\())", "="),
            ("<tool>f(a=\"x\", b=9)</tool>", "<tool>", r"\)</tool>", "="),
            ("<tool>f{a: x; b: 9}</tool>", "<tool>", r"\}</tool>", ":"),
            ("<tool>f.call(a=\"x\", b=9)</tool>", "<tool>", r"\)</tool>", "="),
        ] {
            let layout = layout_of(text, r#"{"a": "x", "b": 9}"#).unwrap_or_else(|| panic!("{text}"));
            let Form::Keywords { sign: found, .. } = &layout.form else { panic!("{layout:?}") };
            assert_eq!((layout.open.as_str(), layout.close.as_str(), found.as_str()), (open, close, sign), "{text}");
        }
    }

    #[test]
    fn other_layouts_are_not_keywords() {
        for text in ["<f=f><a>x</a><b>9</b></f>", "f(a='x', b=9)", "<t>f(a='x'; b: 9)</t>", "<t>f of (a=x, b=9)</t>"] {
            assert_eq!(layout_of(text, r#"{"a": "x", "b": 9}"#), None, "{text}");
        }
    }
}
