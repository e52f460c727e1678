//! Markers in a text that a template's delimiters are made of, exactly or nearly.

use std::collections::HashSet;

use backchat_core::diagnostic::escape;
use backchat_core::json::{Object, Value};
use backchat_core::text::{LONGEST_MARKER, markers};
use backchat_parser::template::{Delimiter, Field, Template};

/// A marker in an answer's content that is read as text: it looks like one of the template, or like a special token that
/// the template does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadMarker {
    /// The field whose text has it.
    pub within: String,
    /// The marker.
    pub written: String,
    /// The marker of the template that it looks like.
    pub meant: Option<Known>,
}

impl UnreadMarker {
    /// What it is, in one sentence without its period.
    pub fn describe(&self) -> String {
        let (within, written) = (&self.within, escape(&self.written));
        match &self.meant {
            Some(Known { text, field, closes }) => {
                let does = if *closes { "closes" } else { "opens" };
                let meant = escape(text);
                format!("`{written}` in `{within}` looks like `{meant}`, which {does} `{field}`, and is read as text")
            }
            None => {
                format!("`{written}` in `{within}` looks like a special token, and no field of the template knows it")
            }
        }
    }

    /// What to do.
    pub fn help(&self) -> String {
        let written = escape(&self.written);
        match &self.meant {
            Some(Known { field, closes, .. }) => {
                let key = if *closes { "close" } else { "open" };
                format!("if the model means the marker, add `{written}` to `{key}` of `{field}` in the template")
            }
            None => format!(
                "if it delimits a part of the turn, add `{written}` to `open` or `close` of a field; if it ends the turn, \
                 to `close` of `content`"
            ),
        }
    }
}

/// The likely reason that the closer of a region is not in its text. `at_end`: the region ran to the end of the text.
pub fn why_unclosed(template: &Template, field: &str, body: &str, at_end: bool) -> String {
    if let Some((written, meant)) = near_closer(template, field, body) {
        let (written, meant) = (escape(written), escape(&meant));
        return format!(
            "its text has `{written}`, and the template expects `{meant}`: if the model always writes it so, correct \
             `close` of `{field}`"
        );
    }
    match last_marker(body) {
        _ if !at_end => "the model left its closer out: compare the region with the output".to_owned(),
        Some(marker) => format!(
            "the text ends with `{}`, so the output may be complete: if that ends the turn, add it to `close` of \
             `{field}`, and compare its other closers with the output",
            escape(marker)
        ),
        None => "the output was cut off: do not act on what this region says".to_owned(),
    }
}

/// Whether a text ends with a marker that closes a field, apart from white space: such an output was not cut off.
pub fn ends_with_closer(template: &Template, text: &str) -> bool {
    let is_closer = |last: &str| known_markers(template).iter().any(|known| known.closes && known.text == last);
    last_marker(text).is_some_and(is_closer)
}

/// The first text of an answer's content that looks like a marker of the template or, if there is none, like a special
/// token that it does not know, unless it is quoted there.
///
/// Only text that no marker opens is searched: reasoning may mention markers.
pub fn unread_marker(template: &Template, message: &Object) -> Option<UnreadMarker> {
    let is_searched = |field: &&Field| field.content.is_text() && (field.open.is_none() || field.name == "content");
    let texts = template.fields().iter().filter(is_searched);
    let texts = texts.filter_map(|field| Some((field, message.get(&field.name).and_then(Value::as_str)?)));
    // Almost no text has brackets, and then nothing needs the markers of the template.
    let texts: Vec<_> = texts.filter(|(_, text)| markers(text).next().is_some()).collect();
    texts.first()?;
    let known = known_markers(template);
    let unread = |is_it: &dyn Fn(&str) -> bool| {
        texts.iter().find_map(|(field, text)| {
            let found = markers(text).take(MOST_MARKERS).find(|written| is_it(written) && !is_quoted(text, written))?;
            Some((field.name.clone(), found.to_owned()))
        })
    };
    let near = unread(&|written| is_near(written, &known));
    let found =
        near.or_else(|| unread(&|written| is_special(written) && known.iter().all(|known| known.text != written)));
    found.map(|(within, written)| {
        let meant = nearest(&written, &known).filter(|_| is_near(&written, &known)).cloned();
        UnreadMarker { within, written, meant }
    })
}

/// Whether a marker is written as special tokens are, which prose has only in quotes: `<|word|>`.
fn is_special(marker: &str) -> bool {
    [("<|", "|>"), ("<｜", "｜>")].iter().any(|(open, close)| marker.starts_with(open) && marker.ends_with(close))
}

/// What closes a region of this field, as it is written in the region's text, and the closer that it looks like.
fn near_closer<'b>(template: &Template, field: &str, body: &'b str) -> Option<(&'b str, String)> {
    let known: Vec<Known> =
        known_markers(template).into_iter().filter(|known| known.closes && known.field == field).collect();
    let mut found = markers(body).take(MOST_MARKERS).filter(|written| is_near(written, &known));
    let written = found.next()?;
    Some((written, nearest(written, &known)?.text.clone()))
}

/// The marker that a text ends with, apart from white space.
fn last_marker(text: &str) -> Option<&str> {
    let text = text.trim_end();
    let tail = text.get(text.floor_char_boundary(text.len().saturating_sub(LONGEST_MARKER))..)?;
    markers(tail).last().filter(|marker| tail.ends_with(marker))
}

/// A marker of a template.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Known {
    /// The marker.
    pub text: String,
    /// The field that it delimits.
    pub field: String,
    /// Whether it closes the field.
    pub closes: bool,
}

fn known_markers(template: &Template) -> Vec<Known> {
    let mut all = Vec::new();
    for field in template.fields() {
        let delimiters = [(false, &field.open), (true, &field.close)];
        for (closes, delimiter) in delimiters.into_iter().filter_map(|(closes, found)| Some((closes, found.as_ref()?)))
        {
            let written = written(delimiter);
            let found =
                markers(&written).map(|text| Known { text: text.to_owned(), field: field.name.clone(), closes });
            all.extend(found);
        }
    }
    all
}

/// Whether a text is none of the markers and looks like one.
fn is_near(written: &str, known: &[Known]) -> bool {
    known.iter().all(|known| known.text != written) && known.iter().any(|known| is_similar(written, &known.text))
}

/// The marker that a text is most similar to.
fn nearest<'k>(written: &str, known: &'k [Known]) -> Option<&'k Known> {
    let similar = known.iter().filter(|known| is_similar(written, &known.text));
    similar.min_by_key(|known| strsim::damerau_levenshtein(&known.text, written))
}

/// Whether two markers differ in typos, in case or punctuation, or in the end of their word.
fn is_similar(one: &str, other: &str) -> bool {
    if one.starts_with("</") != other.starts_with("</") {
        return false;
    }
    let (first, second) = (word(one), word(other));
    let is_begun = |short: &str, long: &str| short.len() >= SHORTEST_WORD && long.starts_with(short);
    is_close(one, other) || first == second || is_begun(&first, &second) || is_begun(&second, &first)
}

/// The shortest word that longer ones may begin with, as `think` begins `thinking`.
const SHORTEST_WORD: usize = 5;

/// The letters and digits of a marker.
fn word(marker: &str) -> String {
    marker.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether the first occurrence of a part of a text is in quotes or backticks.
fn is_quoted(text: &str, part: &str) -> bool {
    let Some((before, after)) = text.split_once(part) else { return false };
    let is_quote =
        |c: Option<char>| c.is_some_and(|c| matches!(c, '`' | '"' | '\'' | '“' | '”' | '‘' | '’' | '«' | '»'));
    is_quote(before.chars().next_back()) || is_quote(after.chars().next())
}

/// The markers that the delimiters of a template are made of: `<word>`, `</word>`, `<|word|>`, `[WORD]`.
pub(super) struct Markers<'t> {
    known: Vec<String>,
    /// Markers that were found in a text and are not among these.
    others: HashSet<&'t str>,
}

/// The most markers of a text that are examined.
const MOST_MARKERS: usize = 10_000;

impl<'t> Markers<'t> {
    pub fn new(template: &Template) -> Self {
        let delimiters = template.fields().iter().flat_map(|field| field.open.iter().chain(&field.close));
        let known =
            delimiters.flat_map(|delimiter| markers(&written(delimiter)).map(str::to_owned).collect::<Vec<_>>());
        Self { known: known.collect(), others: HashSet::new() }
    }

    /// The first marker of a text that is one of these, or nearly.
    pub fn left_in(&mut self, text: &'t str) -> Option<&'t str> {
        let mut left = markers(text).take(if self.known.is_empty() { 0 } else { MOST_MARKERS });
        left.find(|marker| {
            if self.others.contains(marker) {
                return false;
            }
            let is_left = self.known.iter().any(|known| is_close(known, marker));
            if !is_left && self.others.len() < MOST_MARKERS {
                self.others.insert(marker);
            }
            is_left
        })
    }
}

/// The text of a delimiter in which markers are searched.
pub(super) fn written(delimiter: &Delimiter) -> String {
    match delimiter {
        Delimiter::Literals { literals, .. } => literals.join("\n"),
        // The name of a group is not a marker, and an escape means the character after it.
        Delimiter::Pattern(pattern) => pattern.source().replace("(?P<", "(").replace('\\', ""),
    }
}

/// Whether two markers are equal up to one typo per four characters.
pub(super) fn is_close(one: &str, other: &str) -> bool {
    let (first, second) = (one.chars().count(), other.chars().count());
    let most = first.max(second) / 4;
    one.starts_with('<') == other.starts_with('<')
        && first.abs_diff(second) <= most
        && strsim::damerau_levenshtein(one, other) <= most
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_core::json;

    const TEMPLATE: &str = r#"{"start_anchor": "<bot>", "fields": {
        "thinking": {"open": "<think>", "close": "</think>"},
        "tool_calls": {"open": "<tool_call>", "close": "</tool_call>", "content": "json", "repeats": true},
        "content": {"close": "<|im_end|>"}}}"#;

    fn template() -> Template {
        Template::load(TEMPLATE).unwrap().template
    }

    #[test]
    fn markers_in_content_that_are_read_as_text_are_found() {
        for (content, found) in [
            ("<toolcall>{}</toolcall>", Some("<toolcall> for <tool_call>")),
            ("Hi.<Tool_Call>{}", Some("<Tool_Call> for <tool_call>")),
            ("<tool_cal>{}", Some("<tool_cal> for <tool_call>")),
            ("<tool_calls>[{}]", Some("<tool_calls> for <tool_call>")),
            ("<thinking>Hm.", Some("<thinking> for <think>")),
            ("Bye.<|im_ned|>", Some("<|im_ned|> for <|im_end|>")),
            ("Write `<toolcall>` here.", None),
            ("a < b and <b>bold</b>, <table>, Vec<String>, [1], [TODO]", None),
            ("<tool_call>", None),
            // A special token that the template does not know, unless another marker is nearly one that it does.
            ("Hi.<|turn|>", Some("<|turn|>, unknown")),
            ("Hi.<|turn|><|im_end|>", Some("<|turn|>, unknown")),
            ("Hi.<|turn|><tool_cal>", Some("<tool_cal> for <tool_call>")),
            ("Write `<|turn|>`, or <turn>.<|im_end|>", None),
            ("", None),
        ] {
            let message = json::read(&format!("{{\"content\": {}}}", Value::from(content))).unwrap();
            let unread = unread_marker(&template(), message.as_object().unwrap());
            let shown = unread.map(|unread| match unread.meant {
                Some(meant) => format!("{} for {}", unread.written, meant.text),
                None => format!("{}, unknown", unread.written),
            });
            assert_eq!(shown.as_deref(), found, "{content}");
        }
        let message = json::read(r#"{"thinking": "<toolcall>"}"#).unwrap();
        assert_eq!(unread_marker(&template(), message.as_object().unwrap()), None);
    }

    #[test]
    fn the_closer_of_an_open_region_may_be_written_otherwise() {
        for (body, found) in [
            ("Hm.</thinking>Hi<|im_end|>", Some(("</thinking>", "</think>"))),
            ("Hm.</tihnk>Hi", Some(("</tihnk>", "</think>"))),
            ("Hm.<thinking>", None),
            ("Hm.", None),
        ] {
            let near = near_closer(&template(), "thinking", body);
            assert_eq!(near.as_ref().map(|(written, meant)| (*written, meant.as_str())), found, "{body}");
        }
    }

    #[test]
    fn the_last_marker_ends_the_text() {
        for (text, last) in [("Hi<|im_end|>\n", Some("<|im_end|>")), ("<b>Hi", None), ("", None)] {
            assert_eq!(last_marker(text), last, "{text}");
        }
    }

    #[test]
    fn a_closer_at_the_end_completes_an_output() {
        for (text, is_complete) in [
            ("<tool_call>{}<|im_end|>\n", true),
            ("<tool_call>{}</tool_call>", true),
            ("<tool_call>{}<|eot|>", false),
            ("Hi<tool_call>", false),
            ("<|im_end|><tool_call>{", false),
        ] {
            assert_eq!(ends_with_closer(&template(), text), is_complete, "{text}");
        }
    }
}
