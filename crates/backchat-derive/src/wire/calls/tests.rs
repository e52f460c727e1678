//! The cuts around calls, the place of a call in a render, and the parts of one that is an object.

use super::counted::number_between;
use super::*;
use crate::wire::structure::{Encoding, Values};
use crate::wire::structure_of;
use backchat_core::json::Value;

#[test]
fn repeated_text_is_cut_at_marks() {
    let table = [
        ("<calls><call>", "</call><call>", "</call></calls>", ("<calls>", "<call>", "</call>", "", "</calls>")),
        ("<call>\n", "\n</call>\n<call>\n", "\n</call>", ("", "<call>\n", "\n</call>", "\n", "")),
        ("[", ", ", "]", ("[", "", "", ", ", "]")),
        ("*call*", "*call**call*", "*call*", ("", "*call*", "*call*", "", "")),
        ("<a>", "<a>", "", ("", "<a>", "", "", "")),
    ];
    for (pre, mid, post, (section, open, close, separator, section_close)) in table {
        let cut = cut(Segmentation::Words, pre, mid, post).remove(0);
        let found = (&*cut.section, &*cut.open, &*cut.close, &*cut.separator, &*cut.section_close);
        assert_eq!(found, (section, open, close, separator, section_close), "{pre:?} {mid:?} {post:?}");
    }
}

#[test]
fn numbers_that_go_up_are_counters() {
    for (one, other, counter) in [
        (":0>", ":1>", Some((1..2, 0))),
        (" 9\n", " 10\n", Some((1..2, 9))),
        // Digits that two numbers share belong to both.
        ("call_10", "call_11", Some((5..7, 10))),
        ("call_109", "call_110", Some((5..8, 109))),
        ("a", "b", None),
        (":0>", ":2>", None),
        (":1>", ":0>", None),
        (":0>", ":1]", None),
        (":0>", ":0>", None),
    ] {
        assert_eq!(number_between(one, other), counter, "{one:?} {other:?}");
    }
}

#[test]
fn a_counter_replaces_the_number_in_a_piece_of_text() {
    let text = |text: &str| CallPart::Text(text.to_owned());
    let counted = |other: &[CallPart]| {
        let mut pieces = vec![CallPart::Name, text(":0>")];
        count(&mut pieces, other);
        pieces
    };
    assert_eq!(counted(&[CallPart::Name, text(":1>")]), [CallPart::Name, text(":"), CallPart::Counter(0), text(">")]);
    // A call with other parts is not compared.
    assert_eq!(counted(&[text(":1>")]), [CallPart::Name, text(":0>")]);
    assert_eq!(counted(&[text(":1>"), CallPart::Name]), [CallPart::Name, text(":0>")]);
}

#[test]
fn a_number_after_the_arguments_may_count_calls() {
    let answer = "{{ m.content }}{% for c in m.tool_calls or [] %}<call>{\"method\": \"{{ c.function.name }}\", \"params\": \
                  {{ c.function.arguments | tojson }}, \"id\": {{ loop.index }}}</call>{% endfor %}";
    let wire = super::super::support::wire(&super::super::support::chat_template(answer));
    let body = structure_of(&wire).calls.as_ref().unwrap().body.clone();
    let text = |text: &str| CallPart::Text(text.to_owned());
    assert_eq!(body.tail, [text(", \"id\": "), CallPart::Counter(1), text("}")]);
    assert_eq!(body.object.unwrap().id, None);
}

#[test]
fn the_number_after_the_name_of_the_only_call_is_a_counter() {
    let text = |text: &str| CallPart::Text(text.to_owned());
    for (pieces, counted) in [
        (vec![CallPart::Name, text(":0<a>")], vec![CallPart::Name, text(":"), CallPart::Counter(0), text("<a>")]),
        (vec![CallPart::Name, text(":1")], vec![CallPart::Name, text(":"), CallPart::Counter(1)]),
        // Neither a version nor a word numbers a first call.
        (vec![CallPart::Name, text(":20<a>")], vec![CallPart::Name, text(":20<a>")]),
        (vec![CallPart::Name, text(":<a>")], vec![CallPart::Name, text(":<a>")]),
        (vec![text(":0<a>")], vec![text(":0<a>")]),
    ] {
        let mut made = pieces;
        count_alone(&mut made);
        assert_eq!(made, counted);
    }
}

#[test]
fn the_end_of_the_turn_is_removed_from_the_text_after_the_last_call() {
    for (post, end, rest, own) in [
        ("</call><|end|>", "<|end|>", "</call>", None),
        // A single mark that shares no word with the opening ends the turn.
        ("<|wait|>", "<|end|>", "", Some("<|wait|>")),
        ("</call>\n<|end|>\n<|rest|>", "<|end|>", "</call>\n", None),
        // The part of the end that is there is a separate stop.
        ("</call><|end|>", "</turn><|end|>", "</call>", Some("<|end|>")),
        // Another mark replaces the end after calls.
        ("</call><|wait|>", "<|end|>", "</call>", Some("<|wait|>")),
        // A single mark that shares a word with the opening closes the call.
        ("</call>", "<|end|>", "</call>", None),
        ("</call><|wait|>", "", "</call><|wait|>", None),
    ] {
        let mut left = post.to_owned();
        let found = own_end(Segmentation::Words, &mut left, "<call>", end);
        assert_eq!((left.as_str(), found.as_deref()), (rest, own), "{post:?} {end:?}");
    }
}

#[test]
fn an_object_is_a_call_if_it_contains_the_name_and_the_arguments() {
    let call = Call {
        id: "c1".to_owned(),
        name: "add".to_owned(),
        arguments: [("n".to_owned(), Value::from("x"))].into_iter().collect(),
    };
    let path = |path: &str| -> Vec<String> { path.split('.').map(str::to_owned).collect() };
    for (text, name, arguments, id) in [
        (r#"{"name": "add", "arguments": {"n": "x"}}"#, Some("name"), "arguments", None),
        (r#"{"name": "add", "input": "{\"n\": \"x\"}"}"#, Some("name"), "input", None),
        (
            r#"{"id": "c1", "function": {"name": "add", "arguments": {"n": "x"}}}"#,
            Some("function.name"),
            "function.arguments",
            Some("id"),
        ),
        // The template may write its own id under a key that is named like an id.
        (r#"{"call_id": "7", "name": "add", "arguments": {"n": "x"}}"#, Some("name"), "arguments", Some("call_id")),
        // The name may be the key of the arguments.
        (r#"{"add": {"n": "x"}}"#, None, "add", None),
    ] {
        let found = object(&backchat_core::json::read(text).unwrap(), &call).unwrap();
        assert_eq!((found.name, found.arguments, found.id), (name.map(path), path(arguments), id.map(path)), "{text}");
        assert!(!found.in_array);
    }
    for text in [
        r#"{"name": "add"}"#,
        r#"{"name": "add", "arguments": {"n": "y"}}"#,
        r#"{"name": "other", "arguments": {"n": "x"}}"#,
        r#"[{"name": "add", "arguments": {"n": "x"}}]"#,
        r#""add""#,
    ] {
        assert!(object(&backchat_core::json::read(text).unwrap(), &call).is_none(), "{text}");
    }
}

/// A trace of as many calls as a text shows, and the first of them.
fn traced(text: &str, count: usize) -> (Trace, Call) {
    let calls = shapes::calls(count);
    (Trace::new(text, &Answer::calls(calls.clone())), calls.into_iter().next().unwrap())
}

const ARGUMENTS: [&str; 2] = [
    r#"{"qzkey_a_a": "Qzvalueaaq", "qzkey_a_e": "Qzvalueaeq"}"#,
    r#"{"qzkey_e_a": "Qzvalueeaq", "qzkey_e_e": "Qzvalueeeq"}"#,
];

#[test]
fn a_call_spans_its_values_or_its_object() {
    let arguments = ARGUMENTS[0];
    let whole = format!(r#"{{"name": "qzname_one", "arguments": {arguments}}}"#);
    for (text, call, is_object) in [
        (format!("<call>qzname_one {arguments}</call>"), format!("qzname_one {arguments}"), false),
        (format!("<call>{whole}</call>"), whole.clone(), true),
        // An id outside the object belongs to the call.
        (format!("<call>qzId1aaaa {whole}</call>"), format!("qzId1aaaa {whole}"), true),
        // The widest object that is a call; an object with a list of calls is not.
        (format!(r#"{{"calls": [{{"function": {whole}}}]}}"#), format!(r#"{{"function": {whole}}}"#), true),
    ] {
        let (trace, first) = traced(&text, 1);
        let located = locate(&trace, 0, &first, None).unwrap();
        assert_eq!((&text[located.range], located.object.is_some()), (call.as_str(), is_object), "{text}");
    }
    let (trace, first) = traced("<call>qzname_one</call>", 1);
    assert!(locate(&trace, 0, &first, None).is_none(), "without its arguments a call is not found");
}

#[test]
fn calls_are_in_a_list_if_a_json_array_has_that_many_objects() {
    let [first, second] = [0, 1].map(|at| format!(r#"{{"{}": {}}}"#, needle::NAMES[at], ARGUMENTS[at]));
    for (text, is_list) in [
        (format!("[{first}, {second}]"), true),
        (format!("{first}, {second}"), false),
        (format!("[{first}] [{second}]"), false),
        (format!("[{first}, {second}, {{}}]"), false),
        (format!(r#"[{first}, {second}, "more"]"#), false),
    ] {
        assert_eq!(list_with(&traced(&text, 2).0, 2), is_list, "{text}");
    }
}

#[test]
fn a_call_in_pairs_spans_the_opening_of_its_first_key_to_the_close_of_its_last_value() {
    let pairs = Pairs {
        cut: Cut { open: "<arg ".to_owned(), close: "</\u{1}>".to_owned(), ..Cut::default() },
        gap: ">".to_owned(),
        key_again: true,
        braces: None,
        values: Values { strings: Encoding::Bare, python: false, frame: None, typed: None },
        written: Vec::new(),
        forms: Vec::new(),
    };
    let body = "<arg qzkey_a_a>Qzvalueaaq</qzkey_a_a><arg qzkey_a_e>Qzvalueaeq</qzkey_a_e>";
    for (text, call) in [
        (format!("<call>qzname_one{body}</call>"), format!("qzname_one{body}")),
        // The name comes last.
        (format!("<call>{body}qzname_one</call>"), format!("{body}qzname_one")),
        // Other text before the first key and after the last value, in any script, is not part of the call.
        ("「「「qzkey_a_a>Qzvalueaaq」」".to_owned(), "qzkey_a_a>Qzvalueaaq".to_owned()),
    ] {
        let (trace, first) = traced(&text, 1);
        assert_eq!(&text[locate(&trace, 0, &first, Some(&pairs)).unwrap().range], call, "{text}");
    }
}

#[test]
fn marks_around_only_some_calls_of_a_conversation_belong_to_a_section() {
    let call = "<call>{{ c.function | tojson }}</call>";
    let of = |calls: &str| {
        let answer = format!("{{{{ m.content }}}}{{% for c in (m.tool_calls or [])[:1] %}}{calls}{{% endfor %}}");
        let source = format!("{{% set ns = namespace(seen=false) %}}{}", super::super::support::chat_template(&answer));
        let wire = super::super::support::wire(&source);
        let cut = structure_of(&wire).calls.as_ref().unwrap().cuts[0].clone();
        [cut.section, cut.open, cut.close, cut.section_close]
    };
    let first = format!("{{% if not ns.seen %}}<calls>{{% endif %}}{call}{{% set ns.seen = true %}}");
    assert_eq!(of(&first), ["<calls>", "<call>", "</call>", ""]);
    let later = format!("{call}{{% if ns.seen %}}</calls>{{% endif %}}{{% set ns.seen = true %}}");
    assert_eq!(of(&later), ["", "<call>", "</call>", "</calls>"]);
    assert_eq!(of(&format!("<calls>{call}")), ["", "<calls><call>", "</call>", ""]);
}

#[test]
fn only_a_whole_mark_before_calls_closes_reasoning() {
    let fence = |open: &str, close: &str| {
        let answer = format!(
            "{{% if m.thinking %}}{open}{{{{ m.thinking }}}}{close}{{% endif %}}{{{{ m.content }}}}\
             {{% for c in (m.tool_calls or [])[:1] %}}~~~run\n{{{{ c.function | tojson }}}}\n~~~{{% endfor %}}"
        );
        let source = super::super::support::chat_template(&answer);
        let wire = super::super::support::wire(&source);
        structure_of(&wire).calls.as_ref().unwrap().cuts[0].open.clone()
    };
    for (open, close) in [("<think>", "</think>"), ("~~~why\n", "\n~~~\n")] {
        assert_eq!(fence(open, close), "~~~run\n", "{open}");
    }
}
