//! Tests that the joined deltas are the message.

use super::{CallDelivery, Delta, Deltas};
use crate::parser::{Options, Parser, Reasoning};
use crate::template::Template;
use backchat_core::json::{Object, Value};

const TEMPLATE: &str = r#"{"start_anchor": "<bot>", "fields": {
    "thinking": {"open": "<t>", "close": "</t>"},
    "content": {"close": "<end>"},
    "tool_calls": {"open": "<c>", "close": "</c>", "repeats": true, "content": "json"}
}}"#;

/// The message of a text in pieces of this many characters, and the content that a client assembles.
fn read(text: &str, options: &Options, size: usize) -> (Object, String) {
    read_by(TEMPLATE, text, options, size)
}

fn read_by(template: &str, text: &str, options: &Options, size: usize) -> (Object, String) {
    let template = Template::load(template).unwrap().template;
    let mut parser = Parser::new(&template, "<bot>", options.clone()).unwrap();
    let mut deltas = Deltas::new(&parser, CallDelivery::Growing);
    let mut content = String::new();
    let mut sink = |delta: Delta<'_>| {
        if let Delta::Content(more) = delta {
            content.push_str(more);
        }
    };
    let characters: Vec<char> = text.chars().collect();
    for piece in characters.chunks(size) {
        let piece: String = piece.iter().collect();
        deltas.add_text(&piece);
        parser.feed_into(&piece, &mut |event| deltas.take(event, &mut sink)).unwrap();
    }
    let finished = parser.finish_into(&mut |event| deltas.take(event, &mut sink)).unwrap();
    (finished.message, content)
}

#[test]
fn each_text_with_delimiters_of_its_own_is_trimmed_before_it_is_joined() {
    let template =
        TEMPLATE.replace(r#""close": "<end>""#, r#""open": "<m>", "close": "</m>", "repeats": true, "join": "--""#);
    for (options, text, wanted) in [
        (Options::default(), "<m> A \n</m><m> B \n</m>", "A--B"),
        (Options::default().tools_off(true), "<m> A \n</m>\n<m> B \n</m>", "A--B"),
        // A call that is kept makes one text of those around it.
        (Options::default().tools_off(true), "<m> A \n</m><c>{}</c><m> B </m>", "A--<c>{}</c>-- B"),
    ] {
        for size in [1, 2, 3, 100] {
            let case = format!("{text:?} in pieces of {size}");
            let (message, sent) = read_by(&template, text, &options, size);
            assert_eq!(message.get("content"), Some(&Value::from(wanted)), "{case}");
            assert_eq!(sent, wanted, "{case}");
        }
    }
}

#[test]
fn content_with_more_in_it_is_trimmed_as_a_whole() {
    let (tools_off, in_content) =
        (Options::default().tools_off(true), Options::default().reasoning(Reasoning::InContent));
    for (options, text, wanted) in [
        (&tools_off, "<t>Hm.</t>\n\nHi\n<end>\n", "Hi"),
        (&tools_off, "\n<t>Hm.</t>\n\nHi<end>", "Hi"),
        (&tools_off, "<t>Hm.</t>\n\nHi \n<c> {} </c>\n<c>{}</c>\n ok\n<end>", "Hi \n<c> {} </c>\n<c>{}</c>\n ok"),
        (&tools_off, "\n<c>{}</c>\n<end>", "<c>{}</c>"),
        (&tools_off, " Hi <c>{} ", "Hi <c>{}"),
        (&in_content, "\n<t>\nHm.\n</t>\n\nHi\n<end>\n", "<t>\nHm.\n</t>\n\nHi"),
        (
            &in_content,
            " A <c>{\"type\": \"function\", \"function\": {\"name\": \"f\", \"arguments\": {}}}</c> B ",
            "A  B",
        ),
    ] {
        for size in [1, 2, 3, 100] {
            let case = format!("{text:?} in pieces of {size}");
            let (message, sent) = read(text, options, size);
            assert_eq!(message.get("content"), Some(&Value::from(wanted)), "{case}");
            assert_eq!(sent, wanted, "{case}");
        }
    }
}
