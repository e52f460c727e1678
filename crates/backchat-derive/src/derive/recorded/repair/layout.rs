//! How a sample writes its calls, as patterns: split where calls repeat, or at the edges of marks.

use super::align::{Alignment, Body, Call, OF_ID, Pair};
use crate::derive::compile::{JSON_STRING, escape};
use crate::wire::marks::Segmentation;
use backchat_core::text::{runs, slice};

/// One way to write calls.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    /// The opening of a call, up to its name or its object.
    pub open: String,
    /// The closing, after its arguments or its object.
    pub close: String,
    pub form: Form,
    /// The text once after the last call.
    pub section_close: String,
    /// The text before and after a name that belongs to the call's id, as patterns.
    pub id: Option<(String, String)>,
    /// The texts that open and close, as the sample has them.
    pub marks: Vec<String>,
    pub words: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Form {
    /// One JSON object with these keys.
    Object { name: String, arguments: String, is_adjacent: bool, listed: Listed },
    /// The name, this, and one JSON object.
    Json { between: String },
    /// The name, this, and pairs that this pattern reads; with the quotes of their values, if any have quotes.
    Pairs { between: String, tag: String, quoted: Option<String>, first: String },
    /// The name, and `key=value` between these brackets: the pairs with values in JSON, with the quotes of their values,
    /// and without.
    Keywords { bracket: String, sign: String, json: String, quoted: String, bare: String },
    /// The name and no arguments; this follows it.
    Nothing { end: String },
}

/// Whether the objects of calls are items of a JSON list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listed {
    No,
    /// They are; the opening and closing are those of the list.
    Whole,
    /// They are; the opening and closing are those of any item.
    Item,
}

/// Where a pattern captures the id.
const ID: &str = "(?P<id>";

impl Layout {
    /// Whether the text before the arguments has the id.
    pub fn captures_id(&self) -> bool {
        let (Form::Json { between } | Form::Pairs { between, .. }) = &self.form else { return self.open.contains(ID) };
        self.open.contains(ID) || between.contains(ID)
    }

    /// A layout whose openings and closings are all in these texts, without a section or an id.
    pub fn new(open: String, close: String, form: Form, before: &str, after: &str) -> Self {
        let (marks, words) = (distinctive(&[before, after]), words(before, after));
        Self { open, close, form, section_close: String::new(), id: None, marks, words }
    }
}

/// How the calls of a text between `from` and `to` are written: several readings if one call leaves it open.
pub(super) fn layouts(text: &str, alignment: &Alignment, from: usize, to: usize) -> Vec<Layout> {
    let (Some(first), Some(last)) = (alignment.calls.first(), alignment.calls.last()) else { return Vec::new() };
    if !alignment.has_calls_within(from, to) {
        return Vec::new();
    }
    let get = |a: usize, b: usize| slice(text, a..b);
    let pairs = first.pairs(text);
    let end = |call: &Call| {
        let close = pairs.map_or("", |pairs| pairs.value_close);
        call.span.end + if get(call.span.end, to).starts_with(close) { close.len() } else { 0 }
    };
    let before = get(from, first.span.start);
    let after = get(end(last), to);
    let listed = list(&first.body, before, after);
    if !listed.is_empty() {
        return listed;
    }
    let between = alignment.calls.get(1).map(|second| get(end(first), second.span.start));
    let (open, close) = edges(before, between, after);
    let rest = |close: &str| slice(text, end(last) + close.len()..);
    let split = CallCut { section: without_end(before, open), open, close, rest: rest(close) };
    let whole = CallCut { section: "", open: before, close: after, rest: rest(after) };
    let cuts = match between {
        Some(_) => vec![split],
        None if split.section.trim().is_empty() && split.close == after => vec![whole],
        None => vec![split, whole],
    };
    // What is between two calls does not say what ends one without arguments.
    let is_alone = between.is_none() || !matches!(first.body, Body::Nothing);
    cuts.into_iter().filter(|_| is_alone).filter_map(|cut| layout(text, first, pairs, &cut, after)).collect()
}

/// The opening and closing of a call, given the text before the first call, between two if there are several, and after
/// the last.
pub(super) fn edges<'t>(before: &'t str, between: Option<&'t str>, after: &'t str) -> (&'t str, &'t str) {
    let words = Segmentation::Words;
    let Some(between) = between else { return (words.from_last(before), words.to_first(after)) };
    let open = words.shared_end(before, between);
    (open, words.shared_start(without_end(between, open), after))
}

/// The text before a key and after a value.
#[derive(Clone, Copy)]
struct PairCut<'t> {
    key_open: &'t str,
    value_close: &'t str,
}

impl Call {
    fn pairs<'t>(&self, text: &'t str) -> Option<PairCut<'t>> {
        let Body::Pairs(pairs) = &self.body else { return None };
        let first = pairs.first()?;
        let before = text.get(self.name.end..first.key.start)?;
        Some(match pairs.get(1) {
            Some(second) => {
                let between = text.get(first.value.end..second.key.start)?;
                let key_open = Segmentation::Words.shared_end(before, between);
                PairCut { key_open, value_close: between.strip_suffix(key_open)? }
            }
            None => PairCut {
                key_open: Segmentation::Words.from_last(before),
                value_close: Segmentation::Words.to_first(text.get(first.value.end..)?),
            },
        })
    }
}

struct CallCut<'t> {
    section: &'t str,
    open: &'t str,
    close: &'t str,
    /// The text after the last of these closings.
    rest: &'t str,
}

/// Looks ahead for the next call, for the mark that comes next in a text, or for its end.
pub(super) fn following(open: &str, rest: &str) -> String {
    let open = open.replace(ID, "(?:");
    let next = pattern(Segmentation::Words.to_first(rest).trim());
    let nexts: Vec<&str> = [&*open, &next, "\\Z"].into_iter().filter(|next| !next.is_empty()).collect();
    format!("(?=\\s*(?:{}))", nexts.join("|"))
}

fn layout(text: &str, call: &Call, cuts: Option<PairCut<'_>>, cut: &CallCut<'_>, after: &str) -> Option<Layout> {
    let get = |a: usize, b: usize| slice(text, a..b);
    // An id is of one call, a section of all.
    if cut.section.contains(OF_ID) {
        return None;
    }
    let section = match cut.section.trim() {
        "" => String::new(),
        section => format!("(?:{}\\s*)?", pattern(section)),
    };
    let around = call.around.filter(|(before, _)| cut.open.len() >= *before);
    let id_start = around.map_or(cut.open.len(), |(before, _)| cut.open.len() - before);
    let id_end = call.name.end + around.map_or(0, |(_, after)| after);
    let id = around.map(|_| (pattern(slice(cut.open, id_start..)), pattern(get(call.name.end, id_end))));
    let open = format!("{section}{}", pattern(slice(cut.open, ..id_start).trim_start()));
    if open.is_empty() {
        return None;
    }
    let form = match &call.body {
        Body::Object { name, arguments, is_adjacent } => {
            let (name, arguments) = (name.clone(), arguments.clone());
            Form::Object { name, arguments, is_adjacent: *is_adjacent, listed: Listed::No }
        }
        Body::Json(arguments) => Form::Json { between: pattern(get(id_end, arguments.start)) },
        Body::Pairs(_) | Body::Nothing if cut.close.is_empty() => return None,
        Body::Pairs(pairs) => pair_form(text, call.name.end, pairs, cuts?)?,
        Body::Nothing if id.is_some() => return None,
        Body::Nothing => Form::Nothing { end: pattern(cut.close) },
    };
    let close = closing(&open, cut, &form);
    let section_close = slice(after, cut.close.len()..).trim().to_owned();
    let marks = distinctive(&[cut.section, cut.open, cut.close, &section_close]);
    Some(Layout { open, close, form, section_close, id, marks, words: words(cut.open, after) })
}

/// The form of arguments that are written pair by pair after a name that ends here.
fn pair_form(text: &str, name_end: usize, pairs: &[Pair], cut: PairCut<'_>) -> Option<Form> {
    let first = pairs.first()?;
    let before_key = slice(text, name_end..first.key.start);
    let PairCut { key_open, value_close } = cut;
    let key_open = key_open.trim_start();
    let gap = slice(text, first.key.end..first.value.start);
    if key_open.is_empty() || value_close.trim().is_empty() {
        return None;
    }
    let is_quoted = pairs.iter().any(|pair| pair.is_quoted);
    let word = match gap.chars().find(|c| !c.is_whitespace()) {
        Some(c) if !c.is_alphanumeric() => format!("[^\\s{}]", pattern(c.encode_utf8(&mut [0; 4]))),
        _ => "[\\w.-]".to_owned(),
    };
    let key = format!("{}(?P<key>{word}+){}", pattern(key_open), framed(gap));
    let value_end = framed(value_close);
    // Quotes around a text are not part of it; other values never have any.
    let unquoted = if is_quoted { format!("{key}\"(?P<value>[^\"]*)\"{value_end}|") } else { String::new() };
    let tag = format!("{unquoted}{key}(?P<value>.*?){value_end}");
    let quoted = is_quoted.then(|| format!("{key}(?P<value>{JSON_STRING}|.*?){value_end}"));
    let between = pattern(without_end(before_key, key_open));
    Some(Form::Pairs { between, tag, quoted, first: pattern(key_open) })
}

/// The closing of a call as a pattern. Values may contain the same text: after a name without arguments it is the end, and if
/// it is no mark, what can follow a call comes after it.
fn closing(open: &str, cut: &CallCut<'_>, form: &Form) -> String {
    let close = pattern(cut.close);
    match form {
        Form::Nothing { .. } => format!("(?<={}[\\w.-]+){close}", open.replace(ID, "(?:")),
        _ if close.is_empty() || Segmentation::Words.is_distinctive(cut.close) => close,
        _ => close + &following(open, cut.rest),
    }
}

/// The two readings of a JSON list of calls, as a whole and item by item; none if it is not a list.
fn list(body: &Body, before: &str, after: &str) -> Vec<Layout> {
    let Body::Object { name, arguments, is_adjacent } = body else { return Vec::new() };
    let ends = before.trim_end().strip_suffix('[').zip(after.trim_start().strip_prefix(']'));
    let Some((lead, tail)) = ends else { return Vec::new() };
    let (lead, tail) = (pattern(lead.trim_start()), pattern(tail.trim()));
    let head = format!("\\{{\\s*\"{}\"\\s*:\\s*\"[^\"]*\"\\s*,\\s*\"{}\"", pattern(name), pattern(arguments));
    let item = |listed: Listed, open: String, close: String| {
        let (name, arguments) = (name.clone(), arguments.clone());
        Layout::new(open, close, Form::Object { name, arguments, is_adjacent: *is_adjacent, listed }, before, after)
    };
    // A list within the arguments continues after its end.
    let last = format!("(?<=\\}})\\s*\\](?!\\s*[,\\]}}])\\s*{tail}");
    vec![
        item(Listed::Whole, lead.clone(), tail),
        item(
            Listed::Item,
            format!("(?:{lead}\\s*\\[\\s*|(?<=\\}})\\s*,\\s*(?={head}))"),
            format!("(?:{last}|(?<=\\}})(?=\\s*,\\s*{head}))"),
        ),
    ]
}

/// The distinctive marks of some texts, which prose may mention.
fn distinctive(texts: &[&str]) -> Vec<String> {
    let marks = texts.iter().flat_map(|text| Segmentation::Words.marks(text));
    marks.filter(|mark| Segmentation::Words.is_distinctive(mark)).map(|mark| mark.replace(OF_ID, "")).collect()
}

/// The text around a call, for a report.
fn words(before: &str, after: &str) -> String {
    let spaced = |text: &str| text.replace(OF_ID, "").split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{} … {}", spaced(before), spaced(after))
}

/// A text without this end.
fn without_end<'t>(text: &'t str, end: &str) -> &'t str {
    debug_assert!(text.ends_with(end), "{text:?} ends with {end:?}");
    slice(text, ..text.len() - end.len())
}

/// A text as a pattern in which white space varies, numbers outside marks, and the id, which it captures.
pub(super) fn pattern(text: &str) -> String {
    if let Some((before, after)) = text.split_once(OF_ID) {
        let after = after.trim_start_matches(OF_ID);
        let next = after.chars().next().filter(|c| !c.is_alphanumeric() && !c.is_whitespace());
        let next = next.map_or_else(String::new, |next| escape(next.encode_utf8(&mut [0; 4])));
        return format!("{}{ID}[^\\s{next}]+){}", pattern(before), pattern(after));
    }
    let mut out = String::new();
    for mark in Segmentation::Words.marks(text) {
        let is_mark = Segmentation::Words.is_distinctive(mark) && mark.chars().any(char::is_alphabetic);
        let is_number = |c: char| c.is_ascii_digit() && !is_mark;
        let kind = |c: char| if c.is_whitespace() { Some(0) } else { is_number(c).then_some(1) };
        for run in runs(mark, kind) {
            if run.starts_with(is_number) {
                out.push_str("\\d+");
            } else if !run.starts_with(char::is_whitespace) {
                out.push_str(&escape(run));
            } else if !out.ends_with("\\s*") {
                out.push_str("\\s*");
            }
        }
    }
    out
}

/// A text next to a value: a line break between them is optional, other white space belongs to the value.
fn framed(text: &str) -> String {
    let inner = pattern(text.trim());
    let side = |text: &str| if text.contains('\n') { "\\n?" } else { "" };
    let lead = slice(text, ..text.len() - text.trim_start().len());
    let tail = slice(text, text.trim_end().len()..);
    format!("{}{inner}{}", side(lead), side(tail))
}

#[cfg(test)]
mod tests {
    use super::super::align::{align, read as read_message};
    use super::*;
    use backchat_core::json;

    fn first(text: &str) -> Layout {
        let message = r#"{"tool_calls": [{"function": {"name": "f", "arguments": {"a": "x"}}}]}"#;
        let said = read_message(json::read(message).unwrap().as_object().unwrap(), None);
        layouts(text, &align(text, &said).unwrap(), 0, text.len()).remove(0)
    }

    #[test]
    fn a_call_is_split_at_the_edges_of_marks() {
        let layout = first("<calls>\n<call>\nf({\"a\": \"x\"})\n</call>\n</calls>");
        assert_eq!(layout.open, r"(?:<calls>\s*)?<call>\s*");
        assert_eq!(layout.form, Form::Json { between: r"\(".to_owned() });
        assert_eq!((layout.close.as_str(), layout.section_close.as_str()), (r"\)\s*</call>", "</calls>"));
    }

    #[test]
    fn pairs_have_their_own_pattern() {
        let layout = first("<call=f>\n<arg=a>\nx\n</arg>\n</call>");
        let Form::Pairs { between, tag, .. } = layout.form else { panic!("{layout:?}") };
        assert_eq!(between, r">\s*");
        assert_eq!(tag, r"<arg=(?P<key>[^\s>]+)>\n?(?P<value>.*?)\n?</arg>");
        assert_eq!((layout.open.as_str(), layout.close.as_str()), ("<call=", r"\s*</call>"));
    }
}
