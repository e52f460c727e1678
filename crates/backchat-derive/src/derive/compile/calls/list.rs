//! Calls that together are one list, read as one region: a JSON array of objects, or a list of calls as Python writes it.

use super::super::choices::Guard;
use super::super::pattern::{Delimiter, any_of, escape, spaced};
use super::{Plan, object_end, object_shape, object_start, shape};
use crate::wire::structure::{CallPart, ObjectBody, Place};
use backchat_core::json::{Object, Value};
use backchat_parser::template::ContentParser;

/// What is particular about a list.
struct List<'t> {
    /// The text before its opening bracket, and after its closing one.
    around: (&'t str, &'t str),
    /// The beginning and the end of an item, as patterns.
    item: (String, &'t str),
    content: &'static str,
    shape: Value,
}

impl Plan<'_> {
    /// The field of a JSON array of calls.
    pub(super) fn json_list(&self, object: &ObjectBody, name: &[String]) -> Object {
        let section = self.cut.section.trim();
        let before = match section.strip_suffix('[') {
            Some(mark) => mark.to_owned(),
            None => format!("{section}{}", self.cut.open.trim()),
        };
        let close = format!("{}{}", self.cut.close, self.cut.section_close);
        let close = close.trim_start();
        self.list(&List {
            around: (before.trim(), close.strip_prefix(']').unwrap_or(close).trim()),
            item: (object_start(object), object_end(object)),
            content: "json",
            shape: object_shape(None, object, name),
        })
    }

    /// The field of a list of calls as Python writes it; `None` if calls are written differently.
    pub(super) fn python_list(&self) -> Option<Object> {
        let (before, after) = self.python_marks()?;
        let first = self.wire.pairs().map(|pairs| self.first_of_pairs(pairs)).unwrap_or_default();
        Some(self.list(&List {
            around: (&before, &after),
            item: (format!("[\\w.-]+\\({first}"), "\\)"),
            content: ContentParser::CallList.name(),
            shape: shape(None, "{name}", "{arguments}"),
        }))
    }

    /// The marks before and after the brackets of a list of calls as Python writes it: `[f(a='x', b=1), g()]`.
    pub(super) fn python_marks(&self) -> Option<(String, String)> {
        let body = &self.calls.body;
        let pairs = self.wire.pairs().filter(|_| body.left_out.is_none())?;
        let is_keywords = pairs.gap.trim() == "=" && pairs.cut.separator.trim() == "," && pairs.braces.is_none();
        let is_bare = [&pairs.cut.open, &pairs.cut.close].into_iter().all(|text| text.trim().is_empty());
        let is_quoted = ["'", "\""].contains(&pairs.values.quotes().0);
        let name = body.head.iter().position(|piece| *piece == CallPart::Name)?;
        let text = |pieces: Option<&[CallPart]>| pieces?.iter().map(CallPart::text).collect::<Option<String>>();
        let (begin, opening, end) =
            (text(body.head.get(..name))?, text(body.head.get(name + 1..))?, text(Some(&body.tail))?);
        let between = format!("{end}{}{}{}{begin}", self.cut.close, self.cut.separator, self.cut.open);
        let is_listed = !self.calls.several || between.split_whitespace().collect::<String>() == "),";
        if !(is_keywords && is_bare && is_quoted && is_listed && opening.trim() == "(") {
            return None;
        }
        let before = format!("{}{}{begin}", self.cut.section, self.cut.open);
        let after = format!("{end}{}{}", self.cut.close, self.cut.section_close);
        let before = before.trim_end().strip_suffix('[')?.trim().to_owned();
        let after = after.trim_start().strip_prefix(')')?.trim_start().strip_prefix(']')?.trim().to_owned();
        Some((before, after))
    }

    fn list(&self, list: &List<'_>) -> Object {
        let mut field = Object::new();
        let (mark, close) = list.around;
        let (item_start, item_end) = &list.item;
        let start = format!("(?=\\[\\s*{item_start})");
        if mark.is_empty() {
            let begins = if self.wire.content.place == Place::Dropped { self.start_of_turn() } else { String::new() };
            Delimiter::Pattern(format!("{begins}{start}")).write(&mut field, "open");
        } else if self.is_mark(mark) && self.choices.guard != Guard::Always {
            Delimiter::Pattern(spaced(mark)).write(&mut field, "open");
        } else {
            Delimiter::Pattern(format!("{}\\s*{start}", spaced(mark))).write(&mut field, "open");
        }
        if close.is_empty() && self.text_follows() {
            let pattern = format!("(?<={item_end}\\s*\\]){}", self.no_json_follows());
            Delimiter::Pattern(pattern).write(&mut field, "close");
        } else if let Some(next) = self.content_follows().filter(|_| close.is_empty()) {
            let ends = [format!("(?={next})")].into_iter().chain(self.stops().map(escape));
            Delimiter::Pattern(format!("\\s*{}", any_of(ends))).write(&mut field, "close");
        } else if close.is_empty() {
            let stops = self.stops_with_space();
            if !stops.is_empty() {
                Delimiter::Literals(stops).write(&mut field, "close");
            }
        } else if self.is_mark(close) {
            self.close(&mut field, "", close);
        } else if !close.chars().all(|c| "]})".contains(c)) {
            // Items contain a fence only inside a string.
            let patterns = [spaced(close)].into_iter().chain(self.wire.sure_stops().map(escape));
            Delimiter::Pattern(format!("{}\\s*", any_of(patterns))).write(&mut field, "close");
        } else {
            // Punctuation that items also use closes the list only after its bracket and before the end of the turn.
            let pattern = format!("(?<=\\]){}(?=\\s*(?:{}))\\s*", self.text(close), self.ends_of_turn());
            Delimiter::Pattern(pattern).write(&mut field, "close");
        }
        field.insert("content", list.content.into());
        field.insert("transform_each", true.into());
        field.insert("transform", list.shape.clone());
        field
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{object_body, pairs, python_list, read, said_calls, wire_with};
    use crate::derive::compile::choices::{CallRegion, Choices};
    use crate::derive::compile::{are_python_list, compile};
    use crate::wire::structure::{Arguments, Calls, Cut, Pairs, WireFormat};

    /// The wire with other calls.
    fn with(change: impl FnOnce(&mut Calls)) -> WireFormat {
        let mut wire = python_list();
        change(wire.calls.as_mut().unwrap());
        wire
    }

    fn with_pairs(change: impl FnOnce(&mut Pairs)) -> WireFormat {
        with(|calls| {
            if let Arguments::Pairs(pairs) = &mut calls.body.arguments {
                change(pairs);
            }
        })
    }

    fn with_cut(cut: [&str; 5]) -> WireFormat {
        with(|calls| calls.cuts = vec![Cut::of(cut)])
    }

    fn list() -> Choices {
        Choices { region: CallRegion::List, ..Choices::default() }
    }

    /// The content and the calls that are read.
    fn found(wire: &WireFormat, choices: Choices, text: &str) -> (String, Vec<String>) {
        let message = read(&compile(wire, &choices, "thinking"), text);
        let content = message.get("content").and_then(Value::as_str).map_or_else(String::new, str::to_owned);
        (content, said_calls(&message))
    }

    #[test]
    fn a_list_of_pythons_is_recognized_wherever_it_is_cut() {
        for (wire, is_list, what) in [
            (python_list(), true, "a list between marks"),
            (with_cut(["[", "", ")", ", ", "]"]), true, "a list without marks"),
            (with_cut(["<calls>", "[", ")", ",\n[", "]</calls>"]), false, "a bracket before each call"),
            (with_cut(["<calls>[", "", ")]", "; ", "</calls>"]), false, "a list for each call"),
            (with_cut(["<calls>", "", ")", ", ", "</calls>"]), false, "no brackets"),
            (with_cut(["<calls>[", "", ")", "\n", "]</calls>"]), false, "no commas"),
            (with_cut(["<calls>[", "", "", "), ", ")]</calls>"]), true, "the parenthesis in other parts"),
            (with(|calls| calls.several = false), true, "one call at most"),
            (with_pairs(|pairs| pairs.gap = ": ".to_owned()), false, "colons"),
            (with_pairs(|pairs| pairs.gap = " = ".to_owned()), true, "spaces around the sign"),
            (with_pairs(|pairs| pairs.cut.separator = "; ".to_owned()), false, "semicolons"),
            (with_pairs(|known| known.values = pairs(["", "", "", ""]).values), false, "strings without quotes"),
            (wire_with(["<calls>[", "", "", ", ", "]</calls>"], object_body()), false, "JSON"),
        ] {
            assert_eq!(are_python_list(&wire, &list()), is_list, "{what}");
        }
    }

    #[test]
    fn white_space_after_the_stop_of_a_list_is_no_answer() {
        let mut wire = wire_with(["<calls>[", "", "", ", ", "]"], object_body());
        if let Some(object) = wire.calls.as_mut().and_then(|calls| calls.body.object.as_mut()) {
            object.in_array = true;
        }
        wire.end = "<end>\n\n".to_owned();
        let plain = Choices::default();
        let close = compile(&wire, &plain, "thinking")
            .get("fields")
            .and_then(|fields| fields.get("tool_calls")?.get("close").cloned());
        assert_eq!(close.unwrap().to_string(), r#"["<end>\n\n", "<end>\n", "<end>"]"#);
        let text = "Hi. <calls>[{\"name\": \"f\", \"arguments\": {}}]<end>";
        for space in ["", "\n", "\n\n"] {
            assert_eq!(found(&wire, plain, &format!("{text}{space}")), ("Hi.".to_owned(), vec!["f{}".to_owned()]));
        }
    }

    #[test]
    fn a_list_of_pythons_is_read_with_its_escapes_and_nested_values() {
        let text = r#"Hi. <calls>[f(a='it\'s\n', b={'c': [1, None]}), g()]</calls><end>"#;
        let calls = vec![r#"f{"a": "it's\n", "b": {"c": [1, null]}}"#.to_owned(), "g{}".to_owned()];
        for guard in [Guard::Weak, Guard::Always] {
            assert_eq!(found(&python_list(), Choices { guard, ..list() }, text), ("Hi.".to_owned(), calls.clone()));
        }
        // Without marks, the name and its parenthesis open the list.
        let bare = with_cut(["[", "", ")", ", ", "]"]);
        assert_eq!(
            found(&bare, list(), &text.replace("<calls>", "").replace("</calls>", "")),
            ("Hi.".to_owned(), calls)
        );
        let prose = "A list [1] of [it] and [more](links).<end>";
        assert_eq!(found(&bare, list(), prose), (prose.replace("<end>", ""), Vec::new()));
    }
}
