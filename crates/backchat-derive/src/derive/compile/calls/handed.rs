//! Calls whose close takes the beginning of the next one.

use super::super::close_pattern;
use super::super::pattern::{Delimiter, any_of, spaced};
use super::{Groups, Plan, json_text, shape};
use crate::wire::structure::{Arguments, CallPart};
use backchat_core::json::Object;

impl Plan<'_> {
    /// The arguments of objects that only a separator parts: `{"name": "f", "arguments": {…}}, {"name": …`. The close of
    /// one takes the next one's beginning up to the quote before its name; the first one has the section before it.
    /// `None` if the calls are written in another way. Ids after the arguments are not read.
    pub(super) fn handed(&self) -> Option<Object> {
        let body = &self.calls.body;
        let section = self.cut.section.trim();
        let is_bare = self.cut.open.trim().is_empty() && self.cut.close.trim().is_empty();
        let [CallPart::Text(first), head @ ..] = body.head.as_slice() else { return None };
        let is_plain = body.left_out.is_none() && body.object.is_some() && body.arguments == Arguments::Json;
        let begin = first.strip_suffix('"').filter(|begin| begin.starts_with('{'))?;
        if !(self.calls.several && is_bare && is_plain && !section.is_empty() && head.first() == Some(&CallPart::Name))
        {
            return None;
        }
        let begin = json_text(begin);
        let mut groups = Groups::default();
        let named = self.pieces(head, "{", &mut groups);
        let section = self.section_starts();
        let mut field = Object::new();
        Delimiter::Pattern(format!("(?:{section}\\s*{begin})?\"{named}")).write(&mut field, "open");

        let mut unread = Groups::unread();
        let tail = self.pieces(&body.tail, "", &mut unread);
        let next = format!("{}\\s*{begin}", spaced(self.cut.separator.trim()));
        let end = Some(self.cut.section_close.trim()).filter(|end| !end.is_empty()).map(|end| self.section_ends(end));
        let stops = self.stops().map(|stop| close_pattern(self.wire, stop));
        let follows = any_of([next].into_iter().chain(end).chain(stops));
        Delimiter::Pattern(format!("{tail}\\s*{follows}\\s*")).write(&mut field, "close");
        field.insert("repeats", true.into());
        field.insert("content", "json".into());
        let id = groups.has_id.then_some("{id}");
        field.insert("transform", shape(id, "{name}", "{content}"));
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::choices::{CallRegion, Choices};
    use crate::derive::by_hand::{object_body, read, said_calls, wire_with};
    use crate::derive::compile::compile;
    use crate::wire::structure::{Arguments, Body, CallPart, WireFormat};
    use backchat_core::json::Value;

    fn template(wire: &WireFormat, region: CallRegion) -> Value {
        compile(wire, &Choices { region, ..Choices::default() }, "thinking")
    }

    fn looks_around(template: &Value) -> bool {
        let calls = template.get("fields").and_then(|fields| fields.get("tool_calls")).unwrap().to_string();
        ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|look| calls.contains(look))
    }

    #[test]
    fn objects_that_a_separator_parts_are_read_without_looking_around() {
        let text = |text: &str| CallPart::Text(text.to_owned());
        let with_id = Body { tail: vec![text(", \"id\": \""), CallPart::Id, text("\"}")], ..object_body() };
        let lines = wire_with(["<calls>\n", "", "", "\n", "\n</calls>"], object_body());
        let array = wire_with(["[", "", "", ", ", "]"], with_id);
        for (wire, turn) in [
            (
                &lines,
                "<calls>\n{\"name\": \"f\", \"arguments\": {\"a\": \"}\\n{\"}}\n{\"name\": \"g\", \"arguments\": {}}\n</calls><end>",
            ),
            (
                &array,
                "[{\"name\": \"f\", \"arguments\": {\"a\": \"}\\n{\"}, \"id\": \"1\"}, {\"name\": \"g\", \"arguments\": {}, \"id\": \"2\"}]<end>",
            ),
        ] {
            let template = template(wire, CallRegion::Handed);
            assert!(!looks_around(&template), "{template}");
            let message = read(&template, turn);
            assert_eq!(said_calls(&message), ["f{\"a\": \"}\\n{\"}", "g{}"], "{template}");
            assert_eq!(message.get("content"), None, "{message}");
        }
    }

    #[test]
    fn calls_that_are_written_in_another_way_are_not_handed_over() {
        let in_a_string = Body { arguments: Arguments::JsonText, ..object_body() };
        for wire in [
            // A mark of its own opens each call.
            wire_with(["", "<call>", "</call>", "", ""], object_body()),
            // Nothing precedes the first call.
            wire_with(["", "", "", "\n", ""], object_body()),
            wire_with(["<calls>", "", "", "\n", "</calls>"], in_a_string),
        ] {
            assert_eq!(template(&wire, CallRegion::Handed), template(&wire, CallRegion::Arguments));
        }
    }
}
