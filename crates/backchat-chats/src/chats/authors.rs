//! Who wrote which text of a render: the template, a message, or the definitions of tools.
//!
//! Each text of the conversation is put between two marks, which the render carries along. Only marks that leave the rest of
//! the render as it is count; a text that the template compares or cuts is recognized where the template prints it.

use std::ops::Range;

use backchat_chat::{ChatTemplate, RenderOptions, Rendered};
use backchat_core::json::{self, Object, Value};
use backchat_core::text::slice;

/// The first mark that opens, and the first that closes: private characters, one pair for each author.
const OPENS: u32 = 0x10_0000;
const CLOSES: u32 = 0x10_8000;
/// How many authors have marks.
const MOST_AUTHORS: u32 = 0x7FFF;
/// How many texts are tried alone if not all of them can be marked.
const MOST_ALONE: usize = 300;
/// Keys whose values templates compare, and do not print as somebody's words.
const COMPARED: [&str; 2] = ["role", "type"];

/// The author of text that the template itself did not write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// The message with this index.
    Message(usize),
    /// The definitions of tools.
    Tools,
}

impl Author {
    /// Whether its text may be printed after that of `last` and before that of `next`: messages are printed in order, and
    /// tools in one place.
    fn is_between(self, last: Option<Self>, next: Option<Self>) -> bool {
        let Self::Message(index) = self else { return last.is_none_or(|last| last == self) || next == Some(self) };
        let after = !matches!(last, Some(Self::Message(last)) if last > index);
        after && !matches!(next, Some(Self::Message(next)) if next < index)
    }
}

/// A text of the conversation: its author, and a text that may be printed as it is.
struct Leaf {
    author: Author,
    text: String,
    /// Whether it is a value, which can be marked; keys, numbers and the like cannot.
    is_value: bool,
}

/// The bytes of `text`, a render of `context`, that somebody else than the template wrote, in order.
pub fn authors(
    template: &ChatTemplate,
    context: &Object,
    text: &str,
    options: &RenderOptions,
) -> Vec<(Range<usize>, Author)> {
    let leaves = leaves(context);
    let options = options.clone().origins(true);
    let marked = |is_marked: &[bool]| {
        let context = mark(context, is_marked);
        template.render(&context, &options).ok().filter(|rendered| stripped(&rendered.text) == text)
    };
    let mut is_marked: Vec<bool> = leaves.iter().map(|leaf| leaf.is_value).collect();
    let alone = |index: usize| (0..leaves.len()).map(|other| other == index).collect::<Vec<_>>();
    let rendered = marked(&is_marked).or_else(|| {
        let can_be = |index: usize| index < MOST_ALONE && marked(&alone(index)).is_some();
        is_marked = is_marked.iter().enumerate().map(|(index, is_value)| *is_value && can_be(index)).collect();
        marked(&is_marked)
    });
    let Some(rendered) = rendered.or_else(|| {
        is_marked.fill(false);
        marked(&is_marked)
    }) else {
        return Vec::new();
    };
    let unmarked: Vec<&Leaf> =
        leaves.iter().zip(&is_marked).filter(|(_, is_marked)| !**is_marked).map(|(leaf, _)| leaf).collect();
    attribute(&rendered, template.source(), &unmarked)
}

/// The pieces of a marked render by their authors, in bytes of the render without marks.
fn attribute(rendered: &Rendered, source: &str, unmarked: &[&Leaf]) -> Vec<(Range<usize>, Author)> {
    let pieces: Vec<(&str, bool)> = rendered
        .origins
        .iter()
        .map(|origin| {
            let (text, source) = (slice(&rendered.text, origin.text.clone()), slice(source, origin.source.clone()));
            (text, text == source || source.starts_with(['\'', '"']))
        })
        .collect();
    let first_author = |text: &str| text.chars().find_map(|c| mark_of(c).map(|(author, _)| author));
    let mut found: Vec<(Range<usize>, Author)> = Vec::new();
    let (mut start, mut last) = (0, None);
    for (index, (text, is_template)) in pieces.iter().enumerate() {
        let plain = stripped(text);
        let inner = if *is_template {
            Vec::new()
        } else if let Some(author) = first_author(text) {
            last = Some(author);
            if json::read(&plain).is_ok() { vec![(0..plain.len(), author)] } else { between_marks(text) }
        } else {
            // It is printed between marked texts of its own message, or of the messages around it.
            let next = pieces.iter().skip(index).find_map(|(text, _)| first_author(text));
            let owner = unmarked.iter().find(|leaf| leaf.author.is_between(last, next) && leaf.prints(plain.trim()));
            owner.map(|leaf| (0..plain.len(), leaf.author)).into_iter().collect()
        };
        found.extend(inner.into_iter().map(|(span, author)| (start + span.start..start + span.end, author)));
        start += plain.len();
    }
    found
}

impl Leaf {
    /// Whether a printed text may be this one, or a part of it that the template cut out.
    fn prints(&self, printed: &str) -> bool {
        !printed.is_empty() && (self.text == printed || self.is_value && self.text.contains(printed))
    }
}

/// The stretches of a piece between its marks, in bytes of the piece without marks. A mark whose partner the template cut
/// off reaches to the end of the piece.
fn between_marks(piece: &str) -> Vec<(Range<usize>, Author)> {
    let mut found: Vec<(Range<usize>, Author)> = Vec::new();
    let (mut at, mut opened) = (0, None);
    for c in piece.chars() {
        match mark_of(c) {
            Some((author, true)) => opened = Some((at, author)),
            Some((author, false)) => {
                let before = found.last().map_or(0, |(span, _)| span.end);
                let start = opened.take().map_or(before, |(start, _)| start);
                found.push((start..at, author));
            }
            None => at += c.len_utf8(),
        }
    }
    found.extend(opened.map(|(start, author)| (start..at, author)));
    found.retain(|(span, _)| !span.is_empty());
    found
}

/// The author of a mark, and whether it opens.
fn mark_of(c: char) -> Option<(Author, bool)> {
    let code = u32::from(c);
    let (base, opens) = if code >= CLOSES { (CLOSES, false) } else { (OPENS, true) };
    let number = code.checked_sub(base).filter(|number| *number < MOST_AUTHORS)?;
    let author = number.checked_sub(1).map_or(Author::Tools, |index| Author::Message(index as usize));
    Some((author, opens))
}

/// The marks of an author; `None` if there are more authors than marks.
fn marks(author: Author) -> Option<(char, char)> {
    let number = match author {
        Author::Tools => 0,
        Author::Message(index) => u32::try_from(index).ok()?.checked_add(1)?,
    };
    let of = |base: u32| char::from_u32(base + number);
    Option::zip(of(OPENS), of(CLOSES)).filter(|_| number < MOST_AUTHORS)
}

fn stripped(text: &str) -> String {
    text.chars().filter(|c| mark_of(*c).is_none()).collect()
}

/// The texts of the tools and the messages, in the order in which [`mark`] visits them.
fn leaves(context: &Object) -> Vec<Leaf> {
    let mut found = Vec::new();
    walk(&mut context.clone(), &mut |author, key, value| {
        if let Some(key) = key {
            found.push(Leaf { author, text: key.to_owned(), is_value: false });
        }
        match value {
            Value::String(text) => found.push(Leaf { author, text: text.trim().to_owned(), is_value: true }),
            Value::Number(_) => found.push(Leaf { author, text: value.to_string(), is_value: false }),
            Value::Bool(flag) => {
                let python = if *flag { "True" } else { "False" };
                found.extend([value.to_string(), python.to_owned()].map(|text| Leaf { author, text, is_value: false }));
            }
            _ => {}
        }
    });
    found
}

/// A copy of the context in which the texts with these indices are between marks.
fn mark(context: &Object, is_marked: &[bool]) -> Object {
    let mut context = context.clone();
    let mut index = 0;
    walk(&mut context, &mut |author, key, value| {
        index += usize::from(key.is_some());
        match value {
            Value::String(text) => {
                let core = text.trim();
                let wanted = is_marked.get(index).is_some_and(|is_marked| *is_marked) && !core.is_empty();
                if let Some((open, close)) = marks(author).filter(|_| wanted) {
                    let start = text.len() - text.trim_start().len();
                    let (before, rest) = text.split_at(start);
                    let (core, after) = rest.split_at(core.len());
                    *text = format!("{before}{open}{core}{close}{after}");
                }
                index += 1;
            }
            Value::Number(_) => index += 1,
            Value::Bool(_) => index += 2,
            _ => {}
        }
    });
    context
}

/// Visits the keys and the values of tools and messages, except those that templates only compare.
fn walk(context: &mut Object, visit: &mut impl FnMut(Author, Option<&str>, &mut Value)) {
    if let Some(tools) = context.get_mut("tools") {
        descend(Author::Tools, None, tools, visit);
    }
    let Some(Value::List(messages)) = context.get_mut("messages") else { return };
    for (index, message) in messages.iter_mut().enumerate() {
        descend(Author::Message(index), None, message, visit);
    }
}

fn descend(
    author: Author,
    key: Option<&str>,
    value: &mut Value,
    visit: &mut impl FnMut(Author, Option<&str>, &mut Value),
) {
    visit(author, key, value);
    match value {
        Value::List(items) => items.iter_mut().for_each(|item| descend(author, None, item, visit)),
        Value::Object(entries) => {
            for (key, value) in entries.iter_mut().filter(|(key, _)| !COMPARED.contains(key)) {
                descend(author, Some(key), value, visit);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces of a render that messages and tools wrote.
    fn written(source: &str, context: &str) -> Vec<(String, Author)> {
        let template = ChatTemplate::compile(source).unwrap();
        let context = json::read(context).unwrap();
        let context = context.as_object().unwrap();
        let text = template.render(context, &RenderOptions::default()).unwrap().text;
        let found = authors(&template, context, &text, &RenderOptions::default());
        found.into_iter().map(|(span, author)| (text[span].to_owned(), author)).collect()
    }

    #[test]
    fn each_text_has_the_author_that_wrote_it() {
        use Author::{Message, Tools};
        let each = |body: &str| format!("{{% for m in messages %}}<{{{{ m.role }}}}>{body}<end>{{% endfor %}}");
        let two =
            r#"{"messages": [{"role": "user", "content": " user "}, {"role": "assistant", "content": "<user>"}]}"#;
        let thought = r#"{"messages": [{"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "<think>Hm.</think>Yo"}]}"#;
        let call = r#"{"tools": [{"name": "get", "strict": true}], "messages": [{"role": "assistant", "tool_calls":
            [{"function": {"name": "get", "arguments": {"city": "Oslo", "days": 3}}}]}, {"role": "tool", "content": "3"}]}"#;
        let pair = |text: &str, author| (text.to_owned(), author);
        for (source, context, expected) in [
            // A text that looks like the template's is still the message's.
            (each("{{ m.content | trim }}"), two, vec![pair("user", Message(0)), pair("<user>", Message(1))]),
            // Text in one expression with the template's.
            (
                each("{{ '[' ~ m.content ~ ']' }}"),
                thought,
                vec![pair("Hi", Message(0)), pair("<think>Hm.</think>Yo", Message(1))],
            ),
            // Parts that the template cuts out.
            (
                each("{{ m.content.split('</think>')[-1] }}"),
                thought,
                vec![pair("Hi", Message(0)), pair("Yo", Message(1))],
            ),
            // A text that the template compares cannot be marked.
            (
                each("{% if m.content.startswith('<think>') %}T{% endif %}{{ m.content }}"),
                thought,
                vec![pair("Hi", Message(0)), pair("<think>Hm.</think>Yo", Message(1))],
            ),
            // JSON belongs to its author as a whole; keys and numbers that are printed alone do, too.
            (
                format!(
                    "{{{{ tools | tojson }}}}{}",
                    each(
                        "{% for c in m.tool_calls or [] %}{{ c.function.name }}{% for k, v in c.function.arguments.items() \
                         %}[{{ k }}={{ v }}]{% endfor %}{{ c.function.arguments | tojson }}{% endfor %}{{ m.content or '' }}"
                    )
                ),
                call,
                vec![
                    pair(r#"[{"name": "get", "strict": true}]"#, Tools),
                    pair("get", Message(0)),
                    pair("city", Message(0)),
                    pair("Oslo", Message(0)),
                    pair("days", Message(0)),
                    pair("3", Message(0)),
                    pair(r#"{"city": "Oslo", "days": 3}"#, Message(0)),
                    pair("3", Message(1)),
                ],
            ),
        ] {
            assert_eq!(written(&source, context), expected, "{source}");
        }
    }

    #[test]
    fn a_conversation_without_texts_has_no_authors() {
        assert_eq!(written("{{ messages }}<bot>", r#"{"messages": []}"#), []);
        assert_eq!(written("<bot>", r#"{"messages": [{"role": "user", "content": "Hi"}]}"#), []);
    }
}
