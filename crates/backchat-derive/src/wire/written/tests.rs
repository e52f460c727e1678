//! Turns of small chat templates, part by part, and the spelling of their values.

use super::super::found::{structure_of, written_of};
use super::super::support::{chat_template, wire};
use super::*;

fn written(source: &str) -> Written {
    written_of(&wire(source)).clone()
}

/// Content, and calls written with a piece of Jinja about the call `c`.
fn calling(call: &str) -> String {
    chat_template(&format!("{{{{ m.content }}}}{{% for c in m.tool_calls %}}{call}{{% endfor %}}"))
}

/// A shape with its parts in braces.
fn drawn(shape: &Shape) -> String {
    let part = |part: &TurnPart| match part {
        TurnPart::Text(text) => text.clone(),
        TurnPart::Reasoning => "{reasoning}".to_owned(),
        TurnPart::Content => "{content}".to_owned(),
        TurnPart::Call => "{call}".to_owned(),
    };
    shape.parts.iter().map(part).collect()
}

#[test]
fn every_kind_of_turn_is_recorded_up_to_its_stop() {
    let source = chat_template(
        "{% if m.thinking %}<think>{{ m.thinking }}</think>{% endif %}{{ m.content }}\
         {% for c in m.tool_calls %}<call>{{ c.function | tojson }}</call>{% endfor %}",
    );
    let written = written(&source);
    assert_eq!(written.stops, ["<|end|>"]);
    let [group] = written.groups.as_slice() else { panic!("{:?}", written.groups) };
    assert_eq!((group.prompt.as_str(), group.header.as_str()), ("<|end|><|assistant|>", "<|end|><|assistant|>"));
    let call = "<call>{call}</call>";
    let calls = [String::new(), call.to_owned(), call.repeat(2), call.repeat(3)];
    let mut expected = Vec::new();
    for thought in ["", "<think>{reasoning}</think>"] {
        for content in ["{content}", ""] {
            let turns = calls.iter().map(|calls| format!("<|end|><|assistant|>{thought}{content}{calls}"));
            // A turn without any part is skipped.
            expected.extend(turns.skip(usize::from(thought.is_empty() && content.is_empty())));
        }
    }
    assert_eq!(group.shapes.iter().map(drawn).collect::<Vec<_>>(), expected);
}

#[test]
fn a_turn_in_which_the_template_drops_a_part_is_not_a_shape() {
    let source = calling("<call>{{ c.function | tojson }}</call>")
        .replace("{{ m.content }}{% for", "{{ m.content if not m.tool_calls }}{% for");
    let shapes = &written(&source).groups[0].shapes;
    assert!(
        shapes.iter().any(|shape| shape.has(&TurnPart::Call))
            && shapes.iter().any(|shape| shape.has(&TurnPart::Content))
    );
    assert!(shapes.iter().all(|shape| !(shape.has(&TurnPart::Call) && shape.has(&TurnPart::Content))), "{shapes:?}");
}

#[test]
fn a_stop_begins_at_its_first_mark_that_no_turn_contains() {
    let group = |texts: &[&str]| {
        let mut parts = vec![TurnPart::Text("<|bot|>".to_owned()), TurnPart::Content];
        for text in texts {
            parts.extend([TurnPart::Text((*text).to_owned()), TurnPart::Call]);
        }
        Group { prompt: "<|bot|>".to_owned(), header: "<|bot|>".to_owned(), shapes: vec![Shape { parts }] }
    };
    let wire = wire(&chat_template("{{ m.content }}"));
    for (texts, known, expected) in [
        (&["<call>"][..], &["<|end|>"][..], &["<|end|>"][..]),
        // The first mark also closes content inside a turn.
        (&["</part><call>"], &["</part><|end|>"], &["<|end|>"]),
        // The next turn's header is not part of the stop.
        (&["<call>"], &["<|end|>\n<|user|>"], &["<|end|>"]),
        // A text between two calls cannot stop the turn.
        (&["<call>", "<|next|>"], &["<|next|>", "<|end|>"], &["<|end|>"]),
        (&["<call>"], &["<|end|>", "\n<|end|>"], &["<|end|>"]),
        (&[], &[], &[]),
    ] {
        let wire =
            WireFormat { stops: known.iter().map(|stop| (*stop).to_owned()).collect(), ..structure_of(&wire).clone() };
        assert_eq!(stops(&[group(texts)], &wire), expected, "{texts:?} {known:?}");
    }
}

#[test]
fn keys_are_sorted_if_their_order_differs_from_the_input() {
    let sorting =
        "<call>{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson(sort_keys=true) }}</call>";
    for (call, sorted, inside) in [
        ("<call>{{ c.function | tojson }}</call>", false, false),
        (sorting, true, true),
        (
            "{{ c.function.name }}{% for k, v in c.function.arguments | dictsort %}<{{ k }}>{{ v | tojson }}</>{% endfor %};",
            true,
            false,
        ),
    ] {
        let written = written(&calling(call));
        assert_eq!((written.sorted, written.sorted_inside), (sorted, inside), "{call}");
    }
}

#[test]
fn json_may_be_written_in_ascii_only() {
    let ascii =
        "<call>{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson(ensure_ascii=true) }}</call>";
    assert!(written(&calling(ascii)).ascii);
    assert!(!written(&calling("<call>{{ c.function | tojson }}</call>")).ascii);
}

#[test]
fn the_spelling_of_a_value_is_the_text_around_it_that_depends_on_its_type() {
    let call = "<call {{ c.function.name }}>{% for k, v in c.function.arguments.items() %}<arg {{ k }}{{ ' string>' if v is \
                string else '>' }}{{ v if v is string else v | tojson }}</arg>{% endfor %}</call>";
    let spellings = written(&calling(call)).spellings;
    let string = Spelling { kind: "string", before: " string>".to_owned(), after: String::new(), python: false };
    assert_eq!(spellings.first(), Some(&string));
    let kinds: Vec<&str> = spellings.iter().map(|spelling| spelling.kind).collect();
    assert_eq!(kinds, ["string", "integer", "number", "boolean", "null", "array", "object"]);
    for spelling in &spellings[1..] {
        assert_eq!(
            (spelling.before.as_str(), spelling.after.as_str(), spelling.python),
            (">", "", false),
            "{spelling:?}"
        );
    }
}

#[test]
fn quotes_around_strings_are_part_of_their_spelling() {
    let call = "<call {{ c.function.name }}>{% for k, v in c.function.arguments.items() %}<arg {{ k }}>{{ \"'\" ~ v ~ \"'\" if v \
                is string else v }}</arg>{% endfor %}</call>";
    let spellings = written(&calling(call)).spellings;
    let spelling = |kind: &str| spellings.iter().find(|spelling| spelling.kind == kind).unwrap();
    assert_eq!((&*spelling("string").before, &*spelling("string").after), (">'", "'"));
    assert_eq!((&*spelling("boolean").before, &*spelling("boolean").after), (">", ""));
    assert!(spelling("boolean").python && !spelling("string").python);
}

#[test]
fn an_object_in_a_dialect_is_written_with_its_braces() {
    let call = "call:{{ c.function.name }}{{ '{' }}{% for k, v in c.function.arguments.items() %}{{ k }}:{{ v | tojson }}\
                {% if not loop.last %}, {% endif %}{% endfor %}{{ '}' }};";
    let braced = written(&calling(call)).braced.unwrap();
    assert_eq!(braced, ("{".to_owned(), ":".to_owned(), ", ".to_owned()));
    assert_eq!(written(&calling("<call>{{ c.function | tojson }}</call>")).braced, None);
}
