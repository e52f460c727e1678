//! A turn that is one JSON object: each member that carries a part of the message is a region.

use super::calls::object_shape;
use super::pattern::{Delimiter, any_of, escape};
use crate::wire::structure::{MessageObject, WireFormat};
use backchat_core::json::{Object, Value};

/// Writes the fields of the members.
pub(super) fn fields(wire: &WireFormat, message: &MessageObject, reasoning_field: &str, fields: &mut Object) {
    let text = |key: &str| field(wire, message, key, '"', '"');
    if let Some(key) = &message.reasoning {
        fields.insert(reasoning_field, Value::Object(text(key)));
    }
    if let Some((key, object)) = &message.calls {
        let mut list = field(wire, message, key, '[', ']');
        list.insert("transform_each", true.into());
        list.insert("transform", object_shape(None, object, object.name.as_deref().unwrap_or_default()));
        fields.insert("tool_calls", Value::Object(list));
    }
    fields.insert("content", Value::Object(text(&message.content)));
}

/// The region of a member whose value begins and ends with these characters. It ends before the next key or at the end of
/// the turn.
fn field(wire: &WireFormat, message: &MessageObject, key: &str, first: char, last: char) -> Object {
    let [first, last] = [first, last].map(|sign| escape(&sign.to_string()));
    let mut field = Object::new();
    let open = format!("[{{,]\\s*\"{}\"\\s*:\\s*(?={first})", escape(key));
    Delimiter::Pattern(open).write(&mut field, "open");
    let others = message.keys.iter().filter(|other| *other != key);
    let next = others.map(|other| format!(",\\s*\"{}\"\\s*:", escape(other)));
    let stops: Vec<String> = wire.stops.iter().map(|stop| escape(stop.trim_start_matches(['"', '}']).trim())).collect();
    let ends = stops.into_iter().filter(|stop| !stop.is_empty()).chain(["\\Z".to_owned()]);
    let end = format!("\\}}\\s*{}", any_of(ends));
    let close = format!("(?<={last})(?=\\s*{})", any_of(next.chain([end])));
    Delimiter::Pattern(close).write(&mut field, "close");
    field.insert("content", "json".into());
    field
}

#[cfg(test)]
mod tests {
    use crate::derive::by_hand::{draft, object_body, read, said_calls, wire};
    use crate::wire::structure::{MessageObject, WireFormat};

    #[test]
    fn members_of_one_object_are_read_in_any_order() {
        let message = MessageObject {
            keys: ["why", "say", "do"].map(str::to_owned).to_vec(),
            content: "say".to_owned(),
            reasoning: Some("why".to_owned()),
            calls: object_body().object.map(|object| ("do".to_owned(), object)),
        };
        let wire = WireFormat { message: Some(message), ..wire() };
        for (text, content, calls) in [
            (r#"{"say": "A \"b\",\nc"}<end>"#, Some("A \"b\",\nc"), &[][..]),
            (r#"{"say":"Yes."}"#, Some("Yes."), &[]),
            (
                r#"{"do": [{"name": "f", "arguments": {"a": ["]}"]}}], "say": "}"}<end>"#,
                Some("}"),
                &["f{\"a\": [\"]}\"]}"],
            ),
            (r#"{"why": "Hm.", "say": "", "do": [{"name": "f", "arguments": {}}]}<end>"#, None, &["f{}"]),
        ] {
            let message = read(&draft(&wire), text);
            assert_eq!(message.get("content").and_then(|content| content.as_str()), content, "{text}");
            assert_eq!(said_calls(&message), calls, "{text}");
        }
    }
}
