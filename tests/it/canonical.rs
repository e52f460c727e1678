//! What a template is written as.

use backchat::json::{Object, Value};
use backchat::template::Template;
use backchat_parser::template::ContentParser;
use proptest::prelude::*;

#[test]
fn keys_are_written_in_conventional_order() {
    let shuffled = r#"{
        "fields": {
            "tool_calls": {
                "transform_each": false,
                "transform": {"function": {"name": "{name}", "arguments": "{content}"}},
                "content_args": {"allow_non_json": true, "string_delims": [["<s>", "</s>"]], "strip": true},
                "content": "json",
                "optional": true,
                "repeats": true,
                "close": ["</call>"],
                "open_pattern": "<call (?P<name>\\w+)>"
            },
            "thinking": {"close": ["</think>", "</thought>"], "open": "<think>", "join": "\n", "repeats": 1},
            "content": {"optional": false, "content": "text", "content_args": {}}
        },
        "start_anchor_pattern": "<\\|assistant\\|>\\n?",
        "defaults": {"role": "assistant"}
    }"#;
    insta::assert_snapshot!(Template::load(shuffled).unwrap().template.to_json());
}

fn any_delimiter(key: &'static str) -> impl Strategy<Value = Vec<(String, Value)>> {
    let literal = "[<>a-z/|\\\\\u{e9}\n]{1,6}".prop_map(Value::from);
    let literals = proptest::collection::vec(literal.clone(), 1..3).prop_map(Value::List);
    let pattern = prop_oneof![Just("a+\\s*"), Just("(?=<b>)"), Just("x|$")].prop_map(Value::from);
    prop_oneof![
        prop_oneof![literal, literals].prop_map(move |value| vec![(key.to_owned(), value)]),
        pattern.prop_map(move |value| vec![(format!("{key}_pattern"), value)]),
    ]
}

fn any_arguments() -> impl Strategy<Value = Vec<(String, Value)>> {
    let args = prop_oneof![
        Just(r#"{}"#),
        Just(r#"{"strip": false}"#),
        Just(r#"{"unknown": 1, "strip": "yes"}"#),
        Just(r#"{"value_parser": {"name": "json", "args": {"unquoted_keys": true}}}"#),
        Just(r#"{"tag_pattern": "<(?P<key>a)>(?P<value>b)", "merge_duplicates": true}"#),
        Just(r#"{"line_sep": null, "kv_sep": 5}"#),
        Just("null"),
        Just("[1]"),
    ];
    let parsers = proptest::sample::select(ContentParser::ALL).prop_map(ContentParser::name);
    (parsers, args).prop_map(|(parser, args)| {
        vec![("content".to_owned(), parser.into()), ("content_args".to_owned(), backchat::json::read(args).unwrap())]
    })
}

fn any_field() -> impl Strategy<Value = Value> {
    let shape = prop_oneof![
        Just("\"{content}\""),
        Just("{\"a\": [\"{content.x.y}\", \"{ no }\"], \"b\": null}"),
        Just("{}"),
        Just("false"),
        Just("null"),
    ];
    let rest = (
        proptest::option::of(any::<bool>()),
        proptest::option::of(any::<bool>()),
        proptest::option::of(shape),
        any::<bool>(),
    )
        .prop_map(|(repeats, optional, shape, each)| {
            let mut entries = Vec::new();
            entries.extend(repeats.map(|repeats| ("repeats".to_owned(), repeats.into())));
            if repeats == Some(true) {
                entries.push(("join".to_owned(), "\n".into()));
            }
            entries.extend(optional.map(|optional| ("optional".to_owned(), optional.into())));
            if let Some(shape) = shape {
                entries.push(("transform".to_owned(), backchat::json::read(shape).unwrap()));
                entries.push(("transform_each".to_owned(), (each && shape != "null").into()));
            }
            entries
        });
    (any_delimiter("open"), proptest::option::of(any_delimiter("close")), any_arguments(), rest).prop_map(
        |(open, close, arguments, rest)| {
            let entries = open.into_iter().chain(close.unwrap_or_default()).chain(arguments).chain(rest);
            Value::Object(Object::from_iter(entries))
        },
    )
}

fn any_template() -> impl Strategy<Value = Value> {
    (any_delimiter("start_anchor"), proptest::collection::vec(("[a-z ]{0,5}", any_field()), 1..4)).prop_map(
        |(anchor, fields)| {
            let fields = Value::Object(Object::from_iter(fields));
            let entries = anchor.into_iter().chain([
                ("defaults".to_owned(), Value::from([("role", "assistant".into())])),
                ("fields".to_owned(), fields),
            ]);
            Value::Object(Object::from_iter(entries))
        },
    )
}

/// Any JSON made of the format's words, most of which does not load.
fn any_json() -> impl Strategy<Value = Value> {
    let words = prop_oneof![
        Just("version"),
        Just("defaults"),
        Just("start_anchor"),
        Just("start_anchor_pattern"),
        Just("fields"),
        Just("open"),
        Just("open_pattern"),
        Just("close"),
        Just("close_pattern"),
        Just("repeats"),
        Just("join"),
        Just("optional"),
        Just("content"),
        Just("content_args"),
        Just("transform"),
        Just("transform_each"),
        Just("strip"),
        Just("string_delims"),
        Just("tag_pattern"),
        Just("value_parser"),
        Just("name"),
        Just("args"),
        Just("json"),
        Just("xml-inline"),
        Just("kv-lines"),
        Just("{content}"),
        Just("x{a}"),
        Just("(?P<key>a"),
        Just(""),
    ];
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3_i64).prop_map(Value::from),
        words.clone().prop_map(Value::from),
    ];
    scalar.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::List),
            proptest::collection::vec((words.clone().prop_map(str::to_owned), inner), 0..6)
                .prop_map(|entries| Value::Object(Object::from_iter(entries))),
        ]
    })
}

proptest! {
    #[test]
    fn a_written_template_loads_unchanged(value in any_template()) {
        let template = Template::from_value(&value).unwrap().template;
        let again = Template::load(&template.to_json()).unwrap().template;
        prop_assert_eq!(&again, &template);
        prop_assert_eq!(again.to_json(), template.to_json());
    }

    #[test]
    fn the_loader_never_panics(value in any_json()) {
        let text = value.to_pretty(" ");
        match (Template::load(&text), Template::from_value(&value)) {
            (Ok(loaded), Ok(other)) => prop_assert_eq!(loaded.template, other.template),
            (Err(error), Err(other)) => {
                prop_assert_eq!(error.diagnostics.len(), other.diagnostics.len());
                for diagnostic in error.diagnostics {
                    let place = diagnostic.place.clone().unwrap_or_default();
                    let known = place.path.is_some() && place.line_column.is_some() && diagnostic.help.is_some();
                    prop_assert!(known, "{:?}", diagnostic);
                }
            }
            (loaded, other) => prop_assert!(false, "{:?} and {:?}", loaded.is_ok(), other.is_ok()),
        }
    }
}
