//! Repairs for a misread sample: templates that read it, and the forms that each adds.

use super::align::Alignment;
use super::keywords;
use super::layout::{self, Form, Layout};
use super::merge::{self, delimiter, with_delimiters};
use crate::derive::compile::escape;
use crate::derive::compile::pieces::Branches;
use crate::wire::marks::Segmentation;
use backchat_core::json::{Object, Value, entries_mut};
use backchat_core::push_new;
use backchat_core::text::slice;
use backchat_parser::pattern::Pattern;

/// A template that reads more, and its lessons.
#[derive(Clone, Debug, Default)]
pub(super) struct Edit {
    pub template: Value,
    /// The lessons, in words.
    pub what: Vec<String>,
    /// The learned marks, which prose may mention.
    pub marks: Vec<String>,
    /// Whether it reads all values as text although the quotes of strings distinguish them.
    pub is_untyped: bool,
}

/// A sample as a template reads it: its text, the positions of its parts, and how far the template gets.
pub(super) struct Sighting<'s> {
    pub text: &'s str,
    pub alignment: &'s Alignment,
    /// The end of the reasoning that the template reads, with its mark, or of the marks that it leaves out at the start.
    pub thought_end: usize,
    /// Whether another sample begins with the same text up to there.
    pub is_repeated: bool,
    /// The start of the stop.
    pub stop: usize,
    pub own_reasoning: Option<&'s str>,
    /// The mark that ends the prompt, if the parser reads the prompt up to it.
    pub prompt_end: Option<&'s str>,
    /// The prompt.
    pub prompt: &'s str,
    /// Whether a new form of calls replaces the known one.
    pub replaces: bool,
}

impl Sighting<'_> {
    /// The beginning of the model's own text, as a pattern.
    fn start(&self) -> String {
        match self.prompt_end {
            Some(mark) => format!("(?:^|(?<={}))\\s*", escape(mark)),
            None => "^\\s*".to_owned(),
        }
    }

    /// Where content begins, as a pattern: at the start, or behind the mark that ends what comes before it here.
    fn start_of_content(&self) -> String {
        match Segmentation::Words.last(slice(self.text, ..self.thought_end)) {
            // The same mark may begin a turn without reasoning.
            Some(close) => format!("(?:{}|(?<={}\\s*)\\s*)", self.start(), escape(close)),
            None => self.start(),
        }
    }

    /// The mark that ends the prompt, and the anchor of a template without it, if another anchor is all that precedes
    /// the mark: such a prompt begins the model's own text.
    fn opened_by_prompt(&self, template: &Value) -> Option<(&str, Value)> {
        let mark = Segmentation::Words.last(self.prompt).filter(|mark| self.prompt.trim_end().ends_with(mark))?;
        let anchors = template.get("start_anchor")?.as_list()?;
        let known = || anchors.iter().filter_map(Value::as_str).map(str::trim);
        let begun =
            |anchor: &str| anchor.strip_suffix(mark).is_some_and(|rest| known().any(|known| known == rest.trim()));
        let kept: Vec<Value> =
            anchors.iter().filter(|anchor| !anchor.as_str().is_some_and(|text| begun(text.trim()))).cloned().collect();
        (kept.len() < anchors.len()).then(|| match kept.as_slice() {
            [one] => (mark, one.clone()),
            _ => (mark, Value::List(kept)),
        })
    }
}

impl Edit {
    pub fn new(known: &Self, template: Value, what: String, marks: impl IntoIterator<Item = String>) -> Self {
        let mut edit = Self { template, ..known.clone() };
        push_new(&mut edit.what, what);
        edit.marks.extend(marks);
        edit
    }

    /// The last lesson. Every proposed edit has at least one.
    pub fn lesson(&self) -> &str {
        debug_assert!(!self.what.is_empty(), "an edit that changes nothing is not proposed");
        self.what.last().map_or("", String::as_str)
    }
}

/// Reads reasoning between other marks, or after another opening mark if nothing closes it. The prompt may have written the
/// opening mark.
pub(super) fn reasoning(known: &Edit, seen: &Sighting<'_>) -> Vec<Edit> {
    let Some(place) = &seen.alignment.reasoning else { return no_reasoning(known, seen).into_iter().collect() };
    let own = slice(seen.text, ..place.start).trim();
    let opened = if own.is_empty() { seen.opened_by_prompt(&known.template) } else { None };
    let before = opened.as_ref().map_or(own, |(mark, _)| mark);
    let after = slice(seen.text, place.end..);
    let name = seen.own_reasoning.unwrap_or("thinking");
    let field = self::field(&known.template, name);
    let delimiter = |side: &str| field.and_then(|field| delimiter(field, side));
    let Some(open) = reasoning_open(delimiter("open"), before, seen) else { return Vec::new() };
    let is_known_open = delimiter("open").as_deref() == Some(&open);
    let ends = delimiter("close");
    let is_read = ends.as_deref().is_some_and(|ends| begins_with_branch(after.trim_start(), ends));
    let closings = match (Segmentation::Words.first(after), ends) {
        (_, Some(_)) if is_read && is_known_open && opened.is_none() => return Vec::new(),
        (_, Some(ends)) if is_read => vec![ends],
        (Some(close), Some(ends)) => closes(after, close, seen).map(|guarded| format!("{guarded}|{ends}")).collect(),
        (Some(close), None) => closes(after, close, seen).collect(),
        (None, Some(ends)) if !is_known_open => vec![ends],
        (None, _) => return Vec::new(),
    };
    let close = Segmentation::Words.first(after).unwrap_or_default();
    let edits = closings.into_iter().map(|closing| {
        let new = with_delimiters(field.unwrap_or(&Object::new()), open.clone(), Some(closing));
        let what = match close {
            "" => format!("reasoning also begins with `{before}`"),
            close => format!("reasoning is also written between `{before}` and `{close}`"),
        };
        let mut template = with_field(&known.template, name, new, true);
        if let (Some((_, anchor)), Some(entries)) = (&opened, entries_mut(&mut template)) {
            entries.insert("start_anchor", anchor.clone());
        }
        Edit::new(known, template, what, [before.to_owned(), close.to_owned()])
    });
    edits.collect()
}

/// Leaves out what is written in place of reasoning, if another sample has the same: the one may be a thought.
fn no_reasoning(known: &Edit, seen: &Sighting<'_>) -> Option<Edit> {
    let text = slice(seen.text, ..seen.thought_end).trim();
    if text.is_empty() || !seen.is_repeated {
        return None;
    }
    let template = swallow(&known.template, &[format!("{}{}\\s*", seen.start(), layout::pattern(text))]);
    Some(Edit::new(known, template, format!("reasoning is absent where `{text}` is written"), [text.to_owned()]))
}

/// The openings of reasoning including this mark; `None` if there is no mark at all.
fn reasoning_open(opens: Option<String>, mark: &str, seen: &Sighting<'_>) -> Option<String> {
    let learned = format!("{}{}", seen.start(), escape(mark));
    Some(match opens {
        Some(opens) if mark.is_empty() || is_branch(&opens, mark) => opens,
        Some(opens) if branches(&opens).any(|known| known == learned) => opens,
        // A prefix of a known mark, with white space before it, would match first.
        Some(opens) if branches(&opens).any(|known| known.starts_with(&escape(mark))) => {
            format!("{opens}|{}(?!{opens}){}", seen.start(), escape(mark))
        }
        Some(opens) => format!("{opens}|{learned}"),
        None if mark.is_empty() => return None,
        None => learned,
    })
}

fn branches(pattern: &str) -> impl Iterator<Item = String> {
    let read = Branches::read(pattern).unwrap_or_default();
    read.0.into_iter().map(|branch| Branches(vec![branch]).to_string())
}

/// Whether a pattern has this mark as one of its alternatives.
fn is_branch(pattern: &str, mark: &str) -> bool {
    branches(pattern).any(|known| known == escape(mark))
}

/// Whether a text begins with a match of one of the alternatives of a pattern, which may be more than a mark.
fn begins_with_branch(text: &str, pattern: &str) -> bool {
    let matches = |branch: String| Some(Pattern::new(&branch).ok()?.find_at(text, 0).ok()??.span());
    branches(pattern).filter_map(matches).any(|(start, end)| start == 0 && end > 0)
}

/// A closing mark as a pattern, the strictest first: prose that only mentions the mark must not match.
fn closes(after: &str, close: &str, seen: &Sighting<'_>) -> impl Iterator<Item = String> {
    let mark = escape(close);
    let lead = slice(after, ..after.len() - after.trim_start().len());
    let rest = slice(after.trim_start(), close.len()..);
    let next = rest.chars().next();
    let mut found = Vec::new();
    if lead.contains('\n') {
        found.push(format!("\\n{mark}\\s*"));
    }
    if next == Some('\n') {
        found.push(format!("{mark}\\n\\s*"));
    }
    if next.is_some_and(|c| !c.is_whitespace()) && seen.stop > seen.text.len() - rest.len() {
        found.push(format!("{mark}(?=[^\\s\"'`.,;:!?)])"));
    }
    found.push(mark);
    found.into_iter()
}

/// Reads content between additional marks, or without its opening mark.
pub(super) fn content(known: &Edit, seen: &Sighting<'_>) -> Vec<Edit> {
    let Some(field) = field(&known.template, "content") else { return Vec::new() };
    let Some(place) = &seen.alignment.content else { return no_content(known, seen).into_iter().collect() };
    let call_open = || {
        let open = delimiter(self::field(&known.template, "tool_calls")?, "open")?;
        Some(Pattern::new(&open).ok()?.find_at(seen.text, place.end).ok()??.span().0)
    };
    let first_call = || seen.alignment.calls.first().map(|call| call.span.start);
    let calls = if seen.alignment.has_calls() { call_open().or_else(first_call) } else { None };
    let end = calls.unwrap_or(seen.stop);
    let before = slice(seen.text, seen.thought_end.min(place.start)..place.start).trim();
    let after = slice(seen.text, place.end..end.max(place.end)).trim();
    let opens = delimiter(field, "open");
    let start = seen.start_of_content();
    if let Some(opens) = opens.filter(|_| before.is_empty()) {
        // Text that does not begin like a mark is content without its opening mark.
        let new = with_delimiters(field, format!("{opens}|{start}(?=[^\\s<\\[{{|])"), None);
        let template = with_field(&known.template, "content", new, false);
        let beside = Edit::new(known, template, UNOPENED.to_owned(), []);
        return [beside].into_iter().chain(outside(known, seen)).collect();
    }
    if before.is_empty() && after.is_empty() {
        return Vec::new();
    }
    if let (Some(opens), Some(closes)) = (delimiter(field, "open"), delimiter(field, "close")) {
        // Content that has marks has others as well.
        let close = if after.is_empty() { closes } else { format!("{}|{closes}", escape(after)) };
        let new = with_delimiters(field, format!("{opens}|{start}{}", escape(before)), Some(close));
        let template = with_field(&known.template, "content", new, false);
        let what = format!("content is also written between `{before}` and `{after}`");
        return vec![Edit::new(known, template, what, [before.to_owned(), after.to_owned()])];
    }
    let mut swallowed = Vec::new();
    if !before.is_empty() {
        swallowed.push(format!("{start}{}\\s*", escape(before)));
    }
    if !after.is_empty() {
        let guard = if before.is_empty() { String::new() } else { format!("(?<={}.*)", escape(before)) };
        swallowed.push(format!("{guard}{}\\s*", escape(after)));
    }
    let what = format!("content is also written between `{before}` and `{after}`");
    let edit = |patterns: &[String]| {
        let marks = [before.to_owned(), after.to_owned()];
        Edit::new(known, swallow(&known.template, patterns), what.clone(), marks)
    };
    let mut found = vec![edit(&swallowed)];
    if let (true, Some(stop)) = (before.is_empty(), delimiter(field, "close")) {
        // Prose may mention the mark: it ends content only before the stop. White space behind it would be content again.
        found.insert(0, edit(&[format!("{}\\s*(?=(?:{stop}|\\Z))", escape(after))]));
    }
    found
}

/// Leaves out what is written in place of an answer's text: a mark, or words that begin with a sign if nothing else is
/// written.
fn no_content(known: &Edit, seen: &Sighting<'_>) -> Option<Edit> {
    let first_call = seen.alignment.calls.first().map(|call| call.span.start);
    let text = slice(seen.text, seen.thought_end..first_call.unwrap_or(seen.stop).max(seen.thought_end)).trim();
    let is_mark = Segmentation::Words.first(text) == Some(text) && Segmentation::Words.is_distinctive(text);
    let behind = match first_call {
        _ if is_mark => String::new(),
        // Other words are an answer.
        None if text.len() > 1 && !text.starts_with(char::is_alphanumeric) => {
            let stop = delimiter(field(&known.template, "content")?, "close")?;
            format!("(?=\\s*(?:{stop}|\\Z))")
        }
        _ => return None,
    };
    let pattern = format!("{}{}{behind}\\s*", seen.start_of_content(), escape(text));
    let what = format!("content is empty behind `{text}`");
    Some(Edit::new(known, swallow(&known.template, &[pattern]), what, [text.to_owned()]))
}

const UNOPENED: &str = "content is also written without its opening marker";

/// Reads all text outside other fields as content, without the opening mark at the start of a turn.
pub(super) fn outside(known: &Edit, seen: &Sighting<'_>) -> Option<Edit> {
    let field = field(&known.template, "content")?;
    let opens = delimiter(field, "open")?;
    let mut new = field.clone();
    new.retain(|key, _| !key.starts_with("open"));
    let template = with_field(&known.template, "content", new, false);
    let template = swallow(&template, &[format!("{}(?:{opens})\\s*", seen.start())]);
    Some(Edit::new(known, template, UNOPENED.to_owned(), []))
}

/// Reads calls in another form: in addition to the known one, or instead of it.
pub(super) fn calls(known: &Edit, seen: &Sighting<'_>) -> Vec<Edit> {
    let content_end = seen.alignment.content.as_ref().map_or(0, |place| place.end);
    let from = seen.thought_end.max(content_end);
    let of_fields = |name: &str| field(&known.template, name);
    let field = of_fields("tool_calls");
    let stop = of_fields("content").and_then(|content| delimiter(content, "close"));
    let mut found = Vec::new();
    for layout in keywords::layouts(seen.text, seen.alignment, from, seen.stop) {
        // A field that reads no calls of the conversations is replaced.
        let (found_fields, also) = match field.filter(|_| !seen.replaces) {
            Some(field) => (merge::combined(field, &layout), "also "),
            None => (merge::alone(&layout, stop.as_deref()), ""),
        };
        for made in found_fields {
            let is_untyped = matches!(layout.form, Form::Keywords { .. }) && !merge::has_typed_values(&made);
            let mut template = with_field(&known.template, "tool_calls", made, true);
            if !layout.section_close.is_empty() {
                template = swallow(&template, &[section_end(&layout)]);
            }
            let what = format!("calls are {also}written `{}`", layout.words);
            let edit = Edit::new(known, template, what, layout.marks.iter().cloned());
            found.push(Edit { is_untyped: known.is_untyped || is_untyped, ..edit });
        }
    }
    found
}

/// Reads the text around known calls: before the first, as an optional part of the opening, and after the last.
pub(super) fn around_calls(known: &Edit, seen: &Sighting<'_>) -> Option<Edit> {
    let field = field(&known.template, "tool_calls")?;
    let open = delimiter(field, "open")?;
    let content_end = seen.alignment.content.as_ref().map_or(0, |place| place.end);
    let from = seen.thought_end.max(content_end);
    let last = seen.alignment.calls.last().filter(|_| seen.alignment.has_calls_within(from, seen.stop))?;
    let text = slice(seen.text, from..seen.stop);
    let (opens, _) = Pattern::new(&open).ok()?.find_at(text, 0).ok()??.span();
    let before = slice(text, ..opens).trim();
    let close = delimiter(field, "close");
    let last = last.span.end - from;
    let closes = close.as_ref().and_then(|close| Some(Pattern::new(close).ok()?.find_at(text, last).ok()??.span()));
    // Calls that nothing closes end with the text.
    let after = closes.map_or("", |(_, end)| slice(text, end..).trim());
    if before.is_empty() && after.is_empty() {
        return None;
    }
    let mut template = known.template.clone();
    if !before.is_empty() {
        let new = with_delimiters(field, format!("(?:{}\\s*)?(?:{open})", layout::pattern(before)), None);
        template = with_field(&template, "tool_calls", new, false);
    }
    if let (false, Some(close)) = (after.is_empty(), close) {
        template = swallow(&template, &[format!("(?<={close}){}\\s*", layout::pattern(after))]);
    }
    let what = match (before, after) {
        (before, "") => format!("calls also follow `{before}`"),
        ("", after) => format!("calls are also followed by `{after}`"),
        (before, after) => format!("calls are also written between `{before}` and `{after}`"),
    };
    Some(Edit::new(known, template, what, [before.to_owned(), after.to_owned()]))
}

/// The text after the last call of a section, anchored there.
fn section_end(layout: &Layout) -> String {
    // A call without a close ends with its object.
    let close = if layout.close.is_empty() { "\\}" } else { &layout.close };
    format!("(?<={close}\\s*){}\\s*", layout::pattern(&layout.section_close))
}

/// The template with content that leaves out texts matching these patterns.
fn swallow(template: &Value, patterns: &[String]) -> Value {
    let field = self::field(template, "content");
    let Some(field) = field else { return template.clone() };
    let mut all = patterns.to_vec();
    let known = delimiter(field, "close");
    // A text that is left out anywhere need not be named again for one place.
    let has = |known: &String| patterns.iter().any(|new| new == known || covers(new, known));
    all.extend(known.iter().flat_map(|known| branches(known)).filter(|known| !has(known)));
    let mut new = field.clone();
    new.retain(|key, _| !key.starts_with("close"));
    new.insert("close_pattern", all.join("|").into());
    with_field(template, "content", new, false)
}

/// Whether a pattern that begins a turn or follows a mark also matches where one that only begins a turn does.
fn covers(pattern: &str, other: &str) -> bool {
    let parts =
        (pattern.strip_prefix("(?:^\\s*|").and_then(|rest| rest.split_once("\\s*)\\s*)")), other.strip_prefix("^\\s*"));
    matches!(parts, (Some((_, mark)), Some(known)) if mark == known)
}

fn field<'t>(template: &'t Value, name: &str) -> Option<&'t Object> {
    template.get("fields")?.get(name)?.as_object()
}

/// The template with this field; with `first`, a new field comes before the others.
fn with_field(template: &Value, name: &str, field: Object, first: bool) -> Value {
    let mut template = template.clone();
    match entries_mut(&mut template).and_then(|entries| entries_mut(entries.get_mut("fields")?)) {
        Some(fields) if first && !fields.contains_key(name) => fields.insert_at(0, name, Value::Object(field)),
        Some(fields) => drop(fields.insert(name, Value::Object(field))),
        None => debug_assert!(false, "a draft that loads has fields"),
    }
    template
}

#[cfg(test)]
mod tests {
    use super::super::align::{align, read as read_message};
    use super::*;
    use crate::derive::by_hand::{ANSWER, object, read, value};

    fn draft() -> Edit {
        Edit { template: value(ANSWER), ..Edit::default() }
    }

    /// A sample of which the template reads no reasoning.
    fn sighting<'s>(text: &'s str, alignment: &'s Alignment) -> Sighting<'s> {
        Sighting {
            text,
            alignment,
            thought_end: 0,
            is_repeated: false,
            stop: text.find("<end>").unwrap_or(text.len()),
            own_reasoning: None,
            prompt_end: None,
            prompt: "",
            replaces: false,
        }
    }

    /// The edits of a repair for a sample: its text, its message, and the end of the reasoning that is read.
    fn made(repair: fn(&Edit, &Sighting<'_>) -> Vec<Edit>, text: &str, message: &str, thought_end: usize) -> Vec<Edit> {
        let alignment = align(text, &read_message(&object(message), None)).unwrap();
        let own_reasoning = Some("reasoning_content");
        let seen = Sighting { thought_end, is_repeated: true, own_reasoning, ..sighting(text, &alignment) };
        repair(&draft(), &seen)
    }

    #[test]
    fn what_is_written_in_place_of_reasoning_is_left_out_if_it_is_repeated() {
        let text = "<weigh>\nnone\n</weigh>Yes.<end>";
        let [edit] = made(reasoning, text, r#"{"content": "Yes."}"#, 21).try_into().unwrap();
        let read = read(&edit.template, text);
        assert_eq!((read.get("content"), read.get("reasoning_content")), (Some(&"Yes.".into()), None), "{read:?}");
        let alignment = align(text, &read_message(&object(r#"{"content": "Yes."}"#), None)).unwrap();
        let once = Sighting { thought_end: 21, ..sighting(text, &alignment) };
        assert!(reasoning(&draft(), &once).is_empty(), "it may be a thought");
    }

    #[test]
    fn a_mark_of_an_answer_without_text_is_left_out() {
        let thought = r#"{"reasoning_content": "Hm."}"#;
        let [edit] = made(content, "<weigh>Hm.</weigh><say><end>", thought, 18).try_into().unwrap();
        for text in ["<weigh>Hm.</weigh><say><end>", "<weigh>Hm.</weigh>\n<say> <end>", "<weigh>Hm.</weigh><end>"] {
            assert_eq!(read(&edit.template, text).get("content"), None, "{text}");
        }
        assert_eq!(read(&edit.template, "<say>Yes.<end>").get("content"), Some(&"Yes.".into()));
        let [edit] = made(content, "<weigh>Hm.</weigh>(no text)<end>", thought, 18).try_into().unwrap();
        for (text, said) in [
            ("<weigh>Hm.</weigh>(no text)<end>", None),
            ("<weigh>Hm.</weigh>(no text) is what it says.<end>", Some("(no text) is what it says.")),
            ("<weigh>Hm.</weigh>It says (no text)<end>", Some("It says (no text)")),
        ] {
            assert_eq!(read(&edit.template, text).get("content"), said.map(Value::from).as_ref(), "{text}");
        }
        let words = made(content, "<weigh>Hm.</weigh>Well.<end>", thought, 18);
        assert!(words.is_empty(), "words are an answer: {words:?}");
    }

    #[test]
    fn an_opening_that_is_known_with_its_place_is_not_added_again() {
        let text = "<plan>Hm.</weigh><end>";
        let planned = r#"{"reasoning_content": "Hm."}"#;
        let [edit] = made(reasoning, text, planned, 17).try_into().unwrap();
        let open = edit.template.get("fields").unwrap().get("reasoning_content").unwrap().get("open_pattern");
        let opens = open.and_then(Value::as_str).unwrap().to_owned();
        let alignment = align(text, &read_message(&object(planned), None)).unwrap();
        let seen = sighting(text, &alignment);
        assert_eq!(reasoning_open(Some(opens.clone()), "<plan>", &seen), Some(opens));
    }

    #[test]
    fn a_known_mark_is_recognized_in_any_spelling() {
        for (pattern, mark) in [(r"<a\tb>|<c>", "<a\tb>"), (r"<a>|\[b\]", "[b]"), (r"<a\nb>", "<a\nb>")] {
            assert!(is_branch(pattern, mark), "{pattern}");
        }
        assert!(!is_branch("<a>b", "<a>"));
    }

    #[test]
    fn reasoning_is_read_between_the_marks_of_the_sample() {
        let text = "<plan>Hm.</plan>Yes.<end>";
        let message = r#"{"thinking": "Hm.", "content": "Yes."}"#;
        let edits = made(reasoning, text, message, 0);
        assert!(!edits.is_empty());
        for edit in &edits {
            assert_eq!(edit.what, ["reasoning is also written between `<plan>` and `</plan>`"]);
            assert_eq!(edit.marks, ["<plan>", "</plan>"]);
            assert_eq!(read(&edit.template, text).get("reasoning_content"), Some(&"Hm.".into()));
            assert_eq!(
                read(&edit.template, "<weigh>Hm.</weigh>Yes.<end>").get("reasoning_content"),
                Some(&"Hm.".into())
            );
        }
        // From the strictest close to the plainest.
        let closes = |edit: &Edit| field(&edit.template, "reasoning_content").unwrap().get("close_pattern").cloned();
        assert_eq!(closes(edits.last().unwrap()), Some("</plan>|</weigh>".into()));
        assert_eq!(edits.len(), 2);
        assert!(made(reasoning, "Yes.<end>", r#"{"content": "Yes."}"#, 0).is_empty());
    }

    #[test]
    fn marks_around_content_are_left_out_only_there() {
        let stopped = made(content, "Which?<ask><end>", r#"{"content": "Which?"}"#, 0);
        let read_as = |text: &str| read(&stopped[0].template, text).get("content").cloned();
        assert_eq!(read_as("Which?<ask><end>"), Some("Which?".into()));
        assert_eq!(read_as("The mark <ask> asks.<end>"), Some("The mark <ask> asks.".into()));
        let text = "<say>Yes.</say><end>";
        let [edit] = made(content, text, r#"{"content": "Yes."}"#, 0).try_into().unwrap();
        assert_eq!(edit.what, ["content is also written between `<say>` and `</say>`"]);
        assert_eq!(read(&edit.template, text).get("content"), Some(&"Yes.".into()));
        let prose = "It ends with </say>, they say.<end>";
        assert_eq!(read(&edit.template, prose).get("content"), Some(&"It ends with </say>, they say.".into()));
        assert!(made(content, "Yes.<end>", r#"{"content": "Yes."}"#, 0).is_empty(), "nothing is around it");
        // Content that has marks already has both pairs then.
        let marked = ANSWER.replace("\"content\": {", "\"content\": {\"open\": \"<text>\", ");
        let draft = Edit { template: value(&marked), ..Edit::default() };
        let alignment = align(text, &read_message(&object(r#"{"content": "Yes."}"#), None)).unwrap();
        let [edit] = content(&draft, &sighting(text, &alignment)).try_into().unwrap();
        for text in [text, "<text>Yes.<end>"] {
            assert_eq!(read(&edit.template, text).get("content"), Some(&"Yes.".into()), "{text}");
        }
    }

    #[test]
    fn text_around_calls_is_read_with_them() {
        let call = r#"<call>{"name": "f", "arguments": {"a": "x"}}</call>"#;
        let message = r#"{"tool_calls": [{"function": {"name": "f", "arguments": {"a": "x"}}}]}"#;
        let text = format!("<calls>{call}</calls><end>");
        let around = |known: &Edit, seen: &Sighting<'_>| around_calls(known, seen).into_iter().collect();
        let [edit] = made(around, &text, message, 0).try_into().unwrap();
        assert_eq!(edit.what, ["calls are also written between `<calls>` and `</calls>`"]);
        for text in [text, format!("{call}<end>")] {
            let message = read(&edit.template, &text);
            assert_eq!(message.get("content"), None, "{text}");
            assert_eq!(message.get("tool_calls").and_then(Value::as_list).map(<[Value]>::len), Some(1), "{text}");
        }
        assert!(made(around, &format!("{call}<end>"), message, 0).is_empty());
    }

    #[test]
    fn a_lesson_is_listed_once() {
        let once = Edit::new(&draft(), value("{}"), "a".to_owned(), ["<a>".to_owned()]);
        let twice = Edit::new(&once, value("{}"), "a".to_owned(), ["<b>".to_owned()]);
        assert_eq!((twice.what, twice.marks), (vec!["a".to_owned()], vec!["<a>".to_owned(), "<b>".to_owned()]));
    }

    #[test]
    fn a_new_field_comes_first_on_request_and_an_old_one_keeps_its_place() {
        let names = |name: &str, first: bool| -> Vec<String> {
            let template = with_field(&value(r#"{"fields": {"a": {}, "b": {}}}"#), name, Object::new(), first);
            template.get("fields").and_then(Value::as_object).unwrap().keys().map(str::to_owned).collect()
        };
        assert_eq!(names("c", true), ["c", "a", "b"]);
        assert_eq!(names("c", false), ["a", "b", "c"]);
        assert_eq!(names("b", true), ["a", "b"]);
    }
}
