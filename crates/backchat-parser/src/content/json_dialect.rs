//! Rewrites the `json` parser's dialect to plain JSON: keys without quotes, strings between other marks.
//!
//! The reference rewrites the text by search and replace, one kind of string after the other, and fails on its own
//! sentinel characters. Reference mode does the same. Stable mode reads the text once from left to right.

use std::borrow::Cow;

use super::{Mode, Reason};
use crate::template::JsonArgs;
use backchat_core::json::Value;
use backchat_core::python::text::is_word;
use backchat_core::text::slice;

pub(super) fn to_json<'t>(text: &'t str, args: &JsonArgs, mode: Mode) -> Result<Cow<'t, str>, Reason> {
    match mode {
        _ if !args.is_dialect() => Ok(Cow::Borrowed(text)),
        Mode::Stable => Ok(Cow::Owned(stable(text, args))),
        Mode::Reference => reference(text, args).map(Cow::Owned),
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Rewrites in one pass that tracks strings.
fn stable(text: &str, args: &JsonArgs) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    let mut rest = text;
    // Whether a key may begin here: the last character but white space was `{` or `,`.
    let mut key_may_stand = false;
    // Pairs whose closing mark does not occur again: their opening mark is text.
    let mut exhausted = vec![false; args.string_delims.len()];
    // The longest opening mark counts.
    let mut pairs: Vec<&(String, String)> = args.string_delims.iter().collect();
    pairs.sort_by_key(|(open, _)| std::cmp::Reverse(open.len()));
    while let Some(c) = rest.chars().next() {
        if let Some((inner, length)) = delimited(rest, &pairs, &mut exhausted) {
            out.push_str(&quoted(inner));
            rest = slice(rest, length..);
            key_may_stand = false;
        } else if c == '"' {
            let (string, beyond) = ordinary_string(rest);
            out.push_str(string);
            rest = beyond;
            key_may_stand = false;
        } else if args.unquoted_keys
            && key_may_stand
            && let Some((key, beyond)) = unquoted_key(rest)
        {
            out.push_str(&quoted(key));
            rest = beyond;
            key_may_stand = false;
        } else {
            out.push(c);
            rest = slice(rest, c.len_utf8()..);
            key_may_stand = matches!(c, '{' | ',') || (key_may_stand && c.is_ascii_whitespace());
        }
    }
    out
}

/// The string between a pair of marks that starts here, and its length with them. Of several pairs, the first counts.
fn delimited<'t>(rest: &'t str, pairs: &[&(String, String)], exhausted: &mut [bool]) -> Option<(&'t str, usize)> {
    for ((open, close), exhausted) in pairs.iter().zip(exhausted) {
        if *exhausted {
            continue;
        }
        let Some(beyond) = rest.strip_prefix(open.as_str()) else { continue };
        match beyond.find(close.as_str()) {
            Some(end) if open.len() + end + close.len() > 0 => {
                return Some((beyond.get(..end)?, open.len() + end + close.len()));
            }
            Some(_) => {}
            None => *exhausted = true,
        }
    }
    None
}

/// A string in double quotes, and the text after it; all of the text if it is never closed.
fn ordinary_string(text: &str) -> (&str, &str) {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return text.split_at_checked(at + 1).unwrap_or((text, "")),
            _ => {}
        }
    }
    (text, "")
}

/// A key without quotes, and the text from its colon on.
fn unquoted_key(text: &str) -> Option<(&str, &str)> {
    let ends_a_key = |c: char| c.is_whitespace() || c.is_control() || "\"'`{}[],:".contains(c);
    let (key, beyond) = text.split_at_checked(text.find(ends_a_key).filter(|&length| length > 0)?)?;
    let colon = beyond.trim_ascii_start();
    colon.starts_with(':').then_some((key, colon))
}

/// The algorithm of the reference: pair by pair, each string replaced by a sentinel; then the keys; then the strings
/// put back.
fn reference(text: &str, args: &JsonArgs) -> Result<String, Reason> {
    if !args.string_delims.is_empty() && text.contains(['\u{1}', '\u{2}']) {
        return Err(Reason::Sentinel);
    }
    let mut strings = Vec::new();
    let mut text = text.to_owned();
    for (open, close) in &args.string_delims {
        text = take_strings(&text, open, close, &mut strings);
    }
    if args.unquoted_keys {
        text = quote_keys(&text);
    }
    Ok(if strings.is_empty() { text } else { put_strings_back(&text, &strings) })
}

fn take_strings(text: &str, open: &str, close: &str, strings: &mut Vec<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, beyond)) = rest.split_once(open) {
        let Some((inner, beyond)) = beyond.split_once(close) else { break };
        out.push_str(before);
        out.push_str(&format!("\u{1}{}\u{2}", strings.len()));
        strings.push(inner.to_owned());
        rest = beyond;
        if open.is_empty() && inner.is_empty() && close.is_empty() {
            let Some(c) = rest.chars().next() else { break };
            out.push(c);
            rest = slice(rest, c.len_utf8()..);
        }
    }
    out.push_str(rest);
    out
}

/// Quotes each word between `{` or `,` and `:`, with white space around it. Strings stay as they are.
fn quote_keys(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    let mut rest = text;
    let mut before = None;
    // How much of the rest is in a string that does not end: every quote there is escaped.
    let mut open = 0;
    while let Some(c) = rest.chars().next() {
        let string = match (c, open) {
            ('"', 0) => whole_string(rest).map_err(|length| open = length).ok(),
            _ => None,
        };
        let key = matches!(before, Some('{' | ',')).then(|| spaced_key(rest)).flatten();
        let length = match (string, key) {
            (Some(length), _) => length,
            (None, Some((word, length))) => {
                let quoted = slice(rest, ..length).replacen(word, &format!("\"{word}\""), 1);
                out.push_str(&quoted);
                before = Some(':');
                (rest, open) = (slice(rest, length..), open.saturating_sub(length));
                continue;
            }
            (None, None) => c.len_utf8(),
        };
        out.push_str(slice(rest, ..length));
        before = slice(rest, ..length).chars().next_back();
        (rest, open) = (slice(rest, length..), open.saturating_sub(length));
    }
    out
}

/// The length of the string in double quotes that the text begins with, or, if it does not end, of what was read of it.
/// No backslash escapes a line feed.
fn whole_string(text: &str) -> Result<usize, usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\n' if escaped => return Err(at),
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Ok(at + 1),
            _ => {}
        }
    }
    Err(text.len())
}

/// A word and a colon after it, with white space around the word, and the length of all of it.
fn spaced_key(text: &str) -> Option<(&str, usize)> {
    let word = text.trim_start();
    let (word, after) = word.split_at_checked(word.find(|c| !is_word(c))?).filter(|(word, _)| !word.is_empty())?;
    let beyond = after.trim_start().strip_prefix(':')?;
    Some((word, text.len() - beyond.len()))
}

fn put_strings_back(text: &str, strings: &[String]) -> String {
    let Some((first, rest)) = text.split_once('\u{1}') else { return text.to_owned() };
    let mut out = String::with_capacity(text.len());
    out.push_str(first);
    for part in rest.split('\u{1}') {
        let string = part.split_once('\u{2}').and_then(|(index, beyond)| {
            let index = index.parse::<usize>().ok().filter(|number| number.to_string() == index)?;
            Some((strings.get(index)?, beyond))
        });
        match string {
            Some((string, beyond)) => {
                out.push_str(&quoted(string));
                out.push_str(beyond);
            }
            None => {
                out.push('\u{1}');
                out.push_str(part);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::json::json;

    type Pairs = &'static [(&'static str, &'static str)];

    fn args(unquoted_keys: bool, pairs: Pairs) -> JsonArgs {
        let string_delims = pairs.iter().map(|&(open, close)| (open.to_owned(), close.to_owned())).collect();
        JsonArgs { strip: true, unquoted_keys, string_delims, allow_non_json: false }
    }

    fn line(text: &str, args: &JsonArgs, mode: Mode) -> Option<String> {
        json(text, args, mode).ok().map(|value| value.to_string())
    }

    const NONE: Pairs = &[];
    const SINGLE: Pairs = &[("'", "'")];
    const TICK_SINGLE: Pairs = &[("`", "`"), ("'", "'")];
    const TRIPLE_SINGLE: Pairs = &[("'''", "'''"), ("'", "'")];

    /// If the reference gives a value, both modes give it.
    #[test]
    fn bodies_that_the_reference_reads() {
        let cases: &[(bool, Pairs, &str, &str)] = &[
            (true, NONE, "{a:1}", r#"{"a": 1}"#),
            (true, NONE, "{a:{b:1},c:[{d:2}]}", r#"{"a": {"b": 1}, "c": [{"d": 2}]}"#),
            (true, NONE, "[{a:1},{b:2}]", r#"[{"a": 1}, {"b": 2}]"#),
            (true, NONE, r#"{"a":1,b:2}"#, r#"{"a": 1, "b": 2}"#),
            (true, NONE, "{a: {b: 1}}", r#"{"a": {"b": 1}}"#),
            (true, NONE, "{1:2}", r#"{"1": 2}"#),
            (true, NONE, "{_:1}", r#"{"_": 1}"#),
            (true, NONE, "{é:1}", r#"{"é": 1}"#),
            (true, NONE, "{e\u{301}:1}", "{\"e\u{301}\": 1}"),
            (true, NONE, "{a:null,NaN:1}", r#"{"a": null, "NaN": 1}"#),
            (true, NONE, "{a:1,a:2}", r#"{"a": 2}"#),
            (true, NONE, r#"{a:"u:1"}"#, r#"{"a": "u:1"}"#),
            (true, NONE, "{a:1, b:2}", r#"{"a": 1, "b": 2}"#),
            (true, NONE, "{\n a:1}", r#"{"a": 1}"#),
            (true, NONE, "{a :1}", r#"{"a": 1}"#),
            (true, NONE, r#"{"a":"x,b:c"}"#, r#"{"a": "x,b:c"}"#),
            (true, NONE, r#"{a:"{b:"}"#, r#"{"a": "{b:"}"#),
            (true, NONE, r#"{a:"\",b:"}"#, r#"{"a": "\",b:"}"#),
            (true, SINGLE, "{a:1, b:'y'}", r#"{"a": 1, "b": "y"}"#),
            (false, SINGLE, "'a'", r#""a""#),
            (false, SINGLE, "['a','b']", r#"["a", "b"]"#),
            (false, SINGLE, "{'a':1}", r#"{"a": 1}"#),
            (false, SINGLE, "'a\nb'", r#""a\nb""#),
            (false, SINGLE, r"'\n'", r#""\\n""#),
            (false, SINGLE, r"'a\'", r#""a\\""#),
            (false, SINGLE, r"'\u0041'", r#""\\u0041""#),
            (false, SINGLE, "'a\"b'", r#""a\"b""#),
            (false, SINGLE, "\"it's\"", r#""it's""#),
            (false, SINGLE, "{'a':'x,b:c'}", r#"{"a": "x,b:c"}"#),
            (false, SINGLE, "''", r#""""#),
            (true, SINGLE, "{a:'x,b:c'}", r#"{"a": "x,b:c"}"#),
            (true, SINGLE, "{'a':1,b:2}", r#"{"a": 1, "b": 2}"#),
            (false, TICK_SINGLE, "['a',`b`]", r#"["a", "b"]"#),
            (false, TICK_SINGLE, "`a 'b' c`", r#""a 'b' c""#),
            (false, TICK_SINGLE, "[`0`,`1`,'2','3']", r#"["0", "1", "2", "3"]"#),
            (false, TRIPLE_SINGLE, "'''it's'''", r#""it's""#),
            (false, TRIPLE_SINGLE, "'a'", r#""a""#),
            (false, &[("<", "<")], "[<a<,<b<]", r#"["a", "b"]"#),
            (false, &[("'", "")], "[',']", r#"["", ""]"#),
            (false, &[("", "'")], "a'", r#""a""#),
            (false, &[("a", "b"), ("c", "d")], "[axb,cxd]", r#"["x", "x"]"#),
        ];
        for &(unquoted_keys, pairs, text, want) in cases {
            for mode in [Mode::Stable, Mode::Reference] {
                assert_eq!(line(text, &args(unquoted_keys, pairs), mode).as_deref(), Some(want), "{text:?} {mode:?}");
            }
        }
    }

    /// Cases in which the reference's rewriting is plainly broken; `None` is its ValueError.
    #[test]
    fn bodies_that_stable_mode_repairs() {
        let cases: &[(bool, Pairs, &str, Option<&str>, &str)] = &[
            (true, NONE, "{a-b:1,$c:2,d.e:3}", None, r#"{"a-b": 1, "$c": 2, "d.e": 3}"#),
            (false, SINGLE, "'\u{1}'", None, r#""\u0001""#),
            (false, SINGLE, r#"["it's","it's"]"#, None, r#"["it's", "it's"]"#),
            (false, &[("'", "'"), ("'''", "'''")], "'''a'''", None, r#""a""#),
            (false, TICK_SINGLE, "'a `b` c'", Some(r#""a \u00010\u0002 c""#), r#""a `b` c""#),
            (false, TICK_SINGLE, "['a `b`', `c`]", Some(r#"["a \u00010\u0002", "c"]"#), r#"["a `b`", "c"]"#),
            (false, TICK_SINGLE, "['a`','b`']", Some(r#"["a\u00010\u0002"]"#), r#"["a`", "b`"]"#),
        ];
        for &(unquoted_keys, pairs, text, reference, stable) in cases {
            let args = args(unquoted_keys, pairs);
            assert_eq!(line(text, &args, Mode::Reference).as_deref(), reference, "{text:?} in reference mode");
            assert_eq!(line(text, &args, Mode::Stable).as_deref(), Some(stable), "{text:?} in stable mode");
        }
    }

    #[test]
    fn bodies_that_neither_mode_reads() {
        let cases: &[(bool, Pairs, &str)] = &[
            (true, NONE, "{a:b}"),
            (true, NONE, "{a:1"),
            (true, NONE, "{:1}"),
            (true, NONE, "{a:1,,b:2}"),
            (true, NONE, ",a:1"),
            (true, NONE, "{a:http://x}"),
            (false, NONE, "{a:1}"),
            (false, SINGLE, "'a"),
            (false, SINGLE, "''n''"),
            (false, SINGLE, "'a' 'b'"),
            (false, &[("'", "")], "['a]"),
            (false, &[("", "'")], "a'b'"),
            (false, &[("", "")], "a"),
        ];
        for &(unquoted_keys, pairs, text) in cases {
            for mode in [Mode::Stable, Mode::Reference] {
                assert_eq!(line(text, &args(unquoted_keys, pairs), mode), None, "{text:?} in {mode:?} mode");
            }
        }
    }

    /// An open string is read once, not again from each of its escaped quotes, which would take minutes here.
    #[test]
    fn keys_are_quoted_in_linear_time() {
        let escaped = "\\\"".repeat(300_000);
        assert_eq!(quote_keys(&format!("{{a: \"{escaped}, b:")), format!("{{\"a\": \"{escaped}, \"b\":"));
        let broken = format!("{{a: \"{escaped}\\\n\", b:\"c:\"");
        assert_eq!(quote_keys(&broken), broken.replace("{a", "{\"a\""));
    }

    #[test]
    fn with_allow_non_json_text_of_the_reference_stays_text() {
        let args = JsonArgs { allow_non_json: true, ..args(true, TICK_SINGLE) };
        for mode in [Mode::Stable, Mode::Reference] {
            for text in ["{$a:1}", "{a-b:1}", "it's 'x'"] {
                assert_eq!(json(text, &args, mode), Ok(text.into()), "{text:?} in {mode:?} mode");
            }
        }
        assert_eq!(json("'a `b` c'", &args, Mode::Stable), Ok("a `b` c".into()), "no text to the reference either");
    }

    #[test]
    fn reference_mode_rejects_sentinels_even_with_allow_non_json() {
        let args = JsonArgs { allow_non_json: true, ..args(false, SINGLE) };
        assert_eq!(json("\u{2}", &args, Mode::Reference), Err(Reason::Sentinel));
        assert_eq!(json("\u{2}", &args, Mode::Stable), Ok("\u{2}".into()));
        let without_pairs = JsonArgs { string_delims: Vec::new(), ..args };
        assert_eq!(json("\u{2}", &without_pairs, Mode::Reference), Ok("\u{2}".into()));
    }
}
