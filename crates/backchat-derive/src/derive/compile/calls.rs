//! The field that reads calls.

mod closing;
mod handed;
mod list;
mod opening;
#[cfg(test)]
mod tests;

use super::Choices;
use super::channels::Channels;
use super::choices::{CallRegion, Guard};
use super::frame::is_value_alone;
use super::pairs;
use super::pattern::{Delimiter, any_of, escape, spaced, written};
use crate::wire::structure::{Arguments, CallPart, Calls, Cut, LeftOut, ObjectBody, Place, WireFormat};
use backchat_core::json::{Object, Value};

/// Whether calls are written as a list of Python's.
pub(in crate::derive) fn are_python_list(wire: &WireFormat, choices: &Choices) -> bool {
    let list = |calls| Plan { wire, calls, choices, cut: choices.cut(calls) }.python_marks();
    wire.calls.as_ref().and_then(list).is_some()
}

pub(super) fn field(wire: &WireFormat, calls: &Calls, choices: &Choices) -> Object {
    let plan = Plan { wire, calls, choices, cut: choices.cut(calls) };
    if choices.region == CallRegion::List
        && let Some(field) = plan.python_list()
    {
        return field;
    }
    if choices.region == CallRegion::Handed
        && let Some(field) = plan.handed()
    {
        return field;
    }
    // If the name is a key of the object, no path leads to it.
    let named = calls.body.object.as_ref().and_then(|object| Some((object, object.name.as_deref()?)));
    match (named.filter(|_| calls.body.left_out.is_none()), choices.region) {
        (Some((object, name)), CallRegion::Natural) if object.in_array => plan.json_list(object, name),
        (Some((object, name)), CallRegion::Natural) if plan.reads_whole() => plan.object(object, name),
        (Some((object, name)), CallRegion::Whole) => plan.object(object, name),
        _ => plan.arguments(),
    }
}

/// The beginning of a call, as a pattern that ends the content before it.
pub(super) fn opening(wire: &WireFormat, calls: &Calls, choices: &Choices) -> String {
    let plan = Plan { wire, calls, choices, cut: choices.cut(calls) };
    let first = format!("{}{}", plan.cut.section, plan.cut.open);
    match wire.segmentation.is_distinctive(&first) {
        // Another part may begin with the mark, too: then a text that holds it alone is none.
        true if choices.guard == Guard::Always
            && plan.other_parts().any(|part| part.trim().starts_with(first.trim())) =>
        {
            plan.begin()
        }
        true => spaced(first.trim()),
        // A section mark that is not distinctive counts only if a call follows.
        false if !plan.cut.section.trim().is_empty() => {
            format!("{}\\s*{}", spaced(plan.cut.section.trim()), plan.begin())
        }
        false if calls.body.head.iter().filter_map(CallPart::text).any(|text| plan.is_mark(text)) => plan.next(),
        false => plan.guarded(&plan.next()),
    }
}

struct Plan<'w> {
    wire: &'w WireFormat,
    calls: &'w Calls,
    choices: &'w Choices,
    cut: &'w Cut,
}

impl Plan<'_> {
    fn text(&self, text: &str) -> String {
        if self.choices.exact_space || self.begins_line() { escape(text) } else { spaced(text) }
    }

    /// Whether calls are lines that begin after any content: nothing but the exact text tells them from prose.
    fn begins_line(&self) -> bool {
        self.choices.after_content && (self.cut.separator.starts_with('\n') || self.opens_line())
    }

    /// Whether the opening of each call begins with a line break and a sign that prose contains, too.
    fn opens_line(&self) -> bool {
        self.choices.after_content && self.cut.begins_lines()
    }

    /// Whether a call's object is best read whole: it has its own mark, more members after the arguments, or arguments in a
    /// string, whose braces are not structural.
    fn reads_whole(&self) -> bool {
        let own = if self.calls.several { self.cut.open.trim() } else { self.first_mark() };
        let body = &self.calls.body;
        !own.is_empty()
            || body.arguments == Arguments::JsonText
            || body.tail.iter().any(|piece| matches!(piece, CallPart::Name | CallPart::Id))
    }

    /// A text without its trailing white space, which every content parser ignores, so that a call that is cut off before
    /// it is read as well.
    fn bare_end<'t>(&self, text: &'t str) -> &'t str {
        let bare = text.trim_end();
        if self.choices.exact_space || self.begins_line() || bare.is_empty() { text } else { bare }
    }

    /// Whether content without an opening mark or a label follows the calls.
    fn text_follows(&self) -> bool {
        let is_bare = self.wire.content.open.trim().is_empty() && self.answer_label().is_none();
        self.wire.content.place == Place::After && is_bare
    }

    /// Looks ahead that the text does not continue JSON. A string may hold brackets as the end of JSON has them: then its own
    /// end follows. A quote may also begin an answer, so only the strictest guard excludes it.
    fn no_json_follows(&self) -> String {
        let string_end = "(?:[^\"\\\\\\n]|\\\\.)*\"\\s*[\\]},]";
        match self.choices.guard {
            Guard::Weak => "(?!\\s*[\\]},])".to_owned(),
            Guard::Behind => format!("(?!\\s*[\\]}},]|{string_end})"),
            Guard::Always => format!("(?!\\s*[\\]}},\"]|{string_end})"),
        }
    }

    /// Whether a text is safe to read as a mark anywhere in prose.
    fn is_mark(&self, text: &str) -> bool {
        self.wire.segmentation.is_distinctive(text) && !is_value_alone(text)
    }

    fn first_mark(&self) -> &str {
        if self.cut.open.trim().is_empty() { self.cut.section.trim() } else { self.cut.open.trim() }
    }

    /// Each call as one object, read whole.
    fn object(&self, object: &ObjectBody, name: &[String]) -> Object {
        let mut field = Object::new();
        let open = self.before_call(self.bare_end(&self.cut.open));
        let own = format!("{}{}", self.cut.section, self.cut.open);
        let guarded = !self.is_mark(&own) || self.choices.guard == Guard::Always;
        let start = if guarded { format!("\\s*(?={})", object_start(object)) } else { String::new() };
        Delimiter::Pattern(format!("{open}{start}")).write(&mut field, "open");
        if self.is_mark(&self.cut.close) || !self.cut.close.trim().is_empty() {
            self.close(&mut field, "", &self.cut.close);
        } else {
            // The end of the object closes it if a call can end there.
            let mut followers = self.followers();
            followers.push("\\Z".to_owned());
            let pattern = match self.text_follows() {
                true => format!("(?<={}){}", object_end(object), self.no_json_follows()),
                false => {
                    let ends = format!("(?={})", self.followed_by(&followers));
                    // White space before the end of the section is not content.
                    let section = self.cut.section_close.as_str();
                    let is_parted = section.starts_with(char::is_whitespace) && !section.trim().is_empty();
                    let parted = is_parted.then(|| format!("\\s+(?={})", spaced(section.trim())));
                    let ends = parted.map_or(ends.clone(), |parted| any_of(vec![parted, ends]));
                    format!("(?<=\\}}){ends}{}", self.optional_label())
                }
            };
            Delimiter::Pattern(pattern).write(&mut field, "close");
        }
        field.insert("repeats", true.into());
        field.insert("content", "json".into());
        field.insert("transform", object_shape(Some("content"), object, name));
        field
    }

    /// The arguments alone, with the name and id captured before them.
    fn arguments(&self) -> Object {
        let mut field = Object::new();
        let body = &self.calls.body;
        let mut groups = Groups::default();
        let mut opens = self.cut.open.as_str();
        let pieces = numbered_id(&body.head, &mut opens);
        let mut pieces = self.without_left_out(pieces.as_ref().unwrap_or(&body.head));
        let left_out = body.left_out.as_ref();
        match pieces.last_mut() {
            Some(CallPart::Text(text)) if body.object.is_none() => *text = self.bare_end(text).to_owned(),
            Some(_) => {}
            None => opens = self.bare_end(opens),
        }
        let around = self.around_arguments();
        let head = self.pieces(&pieces, &around.follows, &mut groups) + &around.head_end;
        let mut open = self.before_call(opens);
        if !self.choices.exact_space
            && matches!(pieces.first(), Some(CallPart::Name | CallPart::Id | CallPart::NamedId))
            && self.wire.segmentation.marks(opens).last().is_some_and(|mark| self.wire.is_closed_mark(mark))
        {
            open.push_str("\\s*");
        }
        // A look-ahead captures text after the arguments.
        let is_late = body
            .tail
            .iter()
            .any(|piece| *piece == CallPart::Name && !groups.has_name || *piece == CallPart::Id && !groups.has_id);
        // A string may hold what is written between the arguments and the name.
        let is_object = body.arguments == Arguments::Json && left_out.is_none();
        let skipped = match body.arguments {
            Arguments::Json => format!("(?:[^\"]|{})*?\\}}", pairs::JSON_STRING),
            _ => ".*?".to_owned(),
        };
        let late = match is_late {
            false => String::new(),
            true => format!("(?={skipped}{})", self.pieces(&body.tail, self.after_tail(), &mut groups)),
        };
        let after_object = if is_late && is_object { "(?<=\\})" } else { "" };
        let guard = self.guard(&self.cut.section, ANY_ARGUMENTS);
        let channel = Channels::find(self.wire).map_or_else(String::new, |channels| channels.before_name());
        Delimiter::Pattern(format!("{channel}{open}{head}{late}{guard}")).write(&mut field, "open");
        self.close(&mut field, &format!("{after_object}{}", around.tail), around.close);
        if self.ends_instead() {
            let mut unread = Groups::unread();
            let head = self.pieces(&pieces, &around.follows, &mut unread);
            self.close_instead(&mut field, &format!("{}{head}", self.text(opens.trim_start())));
        }
        field.insert("repeats", true.into());
        pairs::content((self.wire.segmentation, self.choices), &mut field, &body.arguments, left_out.is_some());
        let id = groups.has_id.then_some("{id}");
        field.insert("transform", shape(id, "{name}", "{content}"));
        field
    }

    /// The parts of a call's head without the text that a call without arguments leaves out.
    fn without_left_out(&self, head: &[CallPart]) -> Vec<CallPart> {
        let mut pieces = head.to_vec();
        if let (Some(left_out), Some(CallPart::Text(text))) = (&self.calls.body.left_out, pieces.last_mut())
            && let Some(kept) = text.strip_suffix(left_out.before.as_str())
        {
            *text = kept.to_owned();
        }
        pieces.retain(|piece| piece.text() != Some(""));
        pieces
    }

    /// Looks ahead for the first character of arguments if the text before a call and its opening have no mark.
    fn guard(&self, before: &str, first: &str) -> String {
        match &self.calls.body.arguments {
            _ if self.calls.body.left_out.is_some() || self.is_mark(&format!("{before}{}", self.cut.open)) => {
                String::new()
            }
            Arguments::Pairs(pairs) => self.first_of_pairs(pairs),
            _ if self.begins_line() => format!("(?={first})"),
            _ => format!("(?=\\s*{first})"),
        }
    }

    /// The text that a call without arguments leaves out is optional if the rest of the call, or the text in place of the
    /// arguments, follows.
    fn around_arguments(&self) -> AroundArguments<'_> {
        let body = &self.calls.body;
        let close = self.cut.close.as_str();
        let mut unread = Groups::unread();
        let Some(left_out) = &body.left_out else {
            let follows = match &body.arguments {
                Arguments::Pairs(pairs) => format!("{}{}", pairs.cut.section, pairs.cut.open),
                Arguments::JsonText => "\"".to_owned(),
                _ => "{".to_owned(),
            };
            let tail = self.pieces(&body.tail, close, &mut unread);
            return AroundArguments { head_end: String::new(), follows, tail, close };
        };
        let LeftOut { before: lead, after: trail, instead } = left_out;
        let text = |text: &str| if body.object.is_some() { json_text(text) } else { self.text(text) };
        let inner: String = body.tail.iter().filter_map(CallPart::text).collect();
        let (rest, close) = match inner.strip_prefix(trail.as_str()) {
            Some(rest) => (rest, close),
            None => (inner.as_str(), close.strip_prefix(trail.as_str()).unwrap_or(close)),
        };
        if self.ends_instead() {
            // The whole end of the call is another one.
            let tail = self.pieces(&body.tail, &self.cut.close, &mut unread);
            let head_end = format!("(?:{}|(?={}))", text(lead), escape(instead));
            return AroundArguments { head_end, follows: instead.clone(), tail, close: &self.cut.close };
        }
        let optional = match (trail.is_empty(), instead.is_empty()) {
            (true, true) => String::new(),
            (false, true) => format!("(?:{})?", text(trail)),
            (true, false) => format!("(?:{})?", text(instead)),
            (false, false) => format!("(?:{}|{})", text(trail), text(instead)),
        };
        let follows = format!("{instead}{rest}{close}");
        let head_end = match (lead.trim(), instead.trim()) {
            ("", "") => text(lead),
            ("", _) => format!("{}(?=\\s*(?:{ANY_ARGUMENTS}|{}))", text(lead), text(instead.trim())),
            _ => format!("(?:{}|(?=\\s*{}))", text(lead), text(follows.trim())),
        };
        AroundArguments { head_end, follows, tail: optional + &text(rest), close }
    }

    /// Whether a call without arguments ends with another text than any other call.
    fn ends_instead(&self) -> bool {
        let inner: usize = self.calls.body.tail.iter().filter_map(CallPart::text).map(str::len).sum();
        let left_out = self.calls.body.left_out.as_ref().filter(|left_out| !left_out.instead.is_empty());
        left_out.is_some_and(|left_out| left_out.after.len() >= (inner + self.cut.close.len()).max(1))
    }

    /// Adds the end of a call without arguments to the close: it comes directly after the head.
    fn close_instead(&self, field: &mut Object, head: &str) {
        let Some(left_out) = self.calls.body.left_out.as_ref().filter(|_| self.ends_instead()) else { return };
        let end = format!("(?<={head}){}\\s*", escape(&left_out.instead));
        let known = match (field.shift_remove("close"), field.shift_remove("close_pattern")) {
            (Some(Value::List(texts)), _) => {
                texts.iter().filter_map(Value::as_str).map(escape).collect::<Vec<_>>().join("|")
            }
            (Some(text), _) => escape(text.as_str().unwrap_or_default()),
            (None, Some(pattern)) => pattern.as_str().unwrap_or_default().to_owned(),
            (None, None) => return,
        };
        Delimiter::Pattern(any_of([end, known])).write(field, "close");
    }
}

/// The first character of arguments: an object, or JSON text, which some models write.
const ANY_ARGUMENTS: &str = "[{\"]";

/// What is written around the arguments of a call.
struct AroundArguments<'c> {
    /// A pattern for the end of the head.
    head_end: String,
    /// The text that follows the rest of the head.
    follows: String,
    /// A pattern for the tail.
    tail: String,
    /// The text that closes the call.
    close: &'c str,
}

/// The parts with a name and its number as one id, which the template itself makes up. A word before the name belongs to
/// the id instead of the text that opens the call.
fn numbered_id(pieces: &[CallPart], open: &mut &str) -> Option<Vec<CallPart>> {
    let [CallPart::Name, CallPart::Text(sign), CallPart::Counter(_), rest @ ..] = pieces else { return None };
    let is_ended = matches!(rest.first(), Some(CallPart::Text(text)) if !text.trim().is_empty());
    if sign != ":" || !is_ended || rest.iter().any(|piece| matches!(piece, CallPart::Id | CallPart::NamedId)) {
        return None;
    }
    let bare = open.strip_suffix('.').map(|word| word.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_'));
    *open = bare.unwrap_or(open);
    Some([CallPart::NamedId].into_iter().chain(rest.iter().cloned()).collect())
}

/// The captures of the parts before and after the arguments.
#[derive(Default)]
struct Groups {
    has_name: bool,
    has_id: bool,
    /// Nothing is captured.
    bare: bool,
}

impl Groups {
    fn unread() -> Self {
        Self { has_name: true, has_id: true, bare: true }
    }
}

/// A piece of JSON as a pattern, with white space where JSON allows it.
fn json_text(text: &str) -> String {
    let mut out = String::new();
    let mut quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                quoted = !quoted;
                out.push('"');
            }
            c if !quoted && "{}[]:,".contains(c) => {
                out.push_str(&written(c));
                while chars.next_if(|next| next.is_whitespace()).is_some() {}
                out.push_str("\\s*");
            }
            c => out.push_str(&written(c)),
        }
    }
    out
}

/// The constant beginning of a call's object.
fn object_start(object: &ObjectBody) -> String {
    if object.name.is_none() {
        return "\\{\\s*\"[^\"]+\"\\s*:\\s*\\{".to_owned();
    }
    let mut pattern = String::from("\\{");
    if let Some(first) = object.keys.first() {
        pattern.push_str(&format!("\\s*\"{}\"\\s*:", escape(first)));
        let is_name = object.name.as_ref().is_some_and(|name| name.len() == 1 && name.first() == Some(first));
        if let Some(second) = object.keys.get(1).filter(|_| is_name) {
            pattern.push_str(&format!("\\s*\"[^\"]*\"\\s*,\\s*\"{}\"\\s*:", escape(second)));
        }
    }
    pattern
}

/// The end of a call's object: its own brace, and that of the value before it.
fn object_end(object: &ObjectBody) -> &'static str {
    let is_last = |path: &[String]| path.first().is_some_and(|key| object.keys.last() == Some(key));
    if is_last(&object.arguments) { "\\}\\s*\\}" } else { "\"\\s*\\}" }
}

fn placeholder(root: Option<&str>, path: &[String]) -> String {
    let parts: Vec<&str> = root.into_iter().chain(path.iter().map(String::as_str)).collect();
    format!("{{{}}}", parts.join("."))
}

pub(super) fn object_shape(root: Option<&str>, object: &ObjectBody, name: &[String]) -> Value {
    let id = object.id.as_ref().map(|id| placeholder(root, id));
    shape(id.as_deref(), &placeholder(root, name), &placeholder(root, &object.arguments))
}

/// The shape of a call: type, id if there is one, name and arguments.
fn shape(id: Option<&str>, name: &str, arguments: &str) -> Value {
    let mut shape = Object::from([("type".to_owned(), "function".into())]);
    shape.extend(id.map(|id| ("id".to_owned(), id.into())));
    let function = Value::from([("name", name.into()), ("arguments", arguments.into())]);
    shape.insert("function", function);
    Value::Object(shape)
}
