//! The JSON that Backchat reads and writes, beside Python's `json`.

use backchat::json::{ErrorKind, Number, Object, Value};
use backchat_core::json::{self, Path};
use proptest::prelude::*;

#[test]
fn values_are_read_and_written() {
    // Each right-hand side is `json.dumps(json.loads(left), ensure_ascii=False)`, with the number's own text and with
    // null for what JSON cannot hold.
    for (text, written) in [
        ("null", "null"),
        (" [ 1 ,\t2\r\n] ", "[1, 2]"),
        (r#"{"b":1,"a":2,"b":3}"#, r#"{"b": 3, "a": 2}"#),
        ("[1.50, -0, 1E5, 123456789012345678901234567890]", "[1.50, -0, 1E5, 123456789012345678901234567890]"),
        ("[NaN, Infinity, -Infinity]", "[null, null, null]"),
        (r#""\u00e9\n\ud83d\ude00\/""#, "\"é\\n😀/\""),
        (r#""\ud800 \udc00 \ud800\u0041""#, "\"\u{FFFD} \u{FFFD} \u{FFFD}A\""),
        ("\"\u{7f}\u{2028}\"", "\"\\u007f\\u2028\""),
        ("\"\u{85}Â\u{a0}\"", "\"\\u0085Â\u{a0}\""),
    ] {
        assert_eq!(json::read(text).map(|value| value.to_string()), Ok(written.to_owned()), "{text}");
    }
}

#[test]
fn invalid_json_is_rejected_at_its_position() {
    for (text, message, offset) in [
        ("", "the text ends before a value", 0),
        ("\u{feff}1", "the text begins with a byte order mark, which JSON does not allow", 0),
        ("[1,]", "expected a value", 3),
        ("[1 2]", "expected `,` or `]`", 3),
        ("{\"a\" 1}", "expected `:` after the key", 5),
        ("{a: 1}", "expected a key in double quotes", 1),
        ("{\"a\": 1", "the text ends inside an object", 7),
        ("[1", "the text ends inside a list", 2),
        ("01", "text after the end of the value", 1),
        ("1.", "text after the end of the value", 1),
        (".5", "expected a value", 0),
        ("-", "expected a digit", 1),
        ("nul", "expected a value", 0),
        ("\"a\nb\"", "a control character must be escaped in a string", 2),
        ("  \"abc", "the string is never closed", 2),
        (r#""\x""#, r"unknown escape; a backslash itself is written `\\`", 1),
        (r#""\u12""#, r"`\u` needs four hexadecimal digits", 1),
        ("\u{a0}1", "expected a value", 0),
    ] {
        let error = json::read(text).unwrap_err();
        assert_eq!(
            (error.to_string(), error.kind()),
            (format!("{message} (at byte {offset})"), ErrorKind::Syntax),
            "{text:?}"
        );
    }
}

#[test]
fn deep_nesting_is_refused_with_one_message() {
    let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(json::read(&deep(json::MAX_DEPTH)).is_ok());
    for open in ["[", "{\"a\":"] {
        let error = json::read(&open.repeat(100_000)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooDeep);
        assert!(error.to_string().starts_with("lists and objects nest more than 990 deep here (at byte "), "{error}");
        assert_eq!(error.offset(), open.len() * json::MAX_DEPTH);
    }
}

#[test]
fn places_refer_to_the_text() {
    let text = r#" {"a": [1, {"é": "x"}], "a": [true, {"b c": null, "": {}}]} "#;
    let (_, places) = json::read_with_places(text).unwrap();
    let root = Path::root();
    let a = root.key("a");
    for (path, shown, key, value) in [
        (root.clone(), "$", None, text.trim()),
        (a.clone(), "a", Some("\"a\""), r#"[true, {"b c": null, "": {}}]"#),
        (a.index(0), "a[0]", None, "true"),
        (a.index(1).key("b c"), "a[1][\"b c\"]", Some("\"b c\""), "null"),
        (a.index(1).key(""), "a[1][\"\"]", Some("\"\""), "{}"),
    ] {
        let place = places.at(&path).unwrap();
        assert_eq!(path.to_string(), shown);
        assert_eq!(&text[place.value.clone()], value, "{path}");
        assert_eq!(place.key.clone().map(|key| &text[key]), key, "{path}");
    }
    assert_eq!(places.overridden, [("a".to_owned(), 2..5)]);
    assert_eq!(places.at(&a.key("x")), None);
    assert_eq!(places.at(&a.index(2)), None);
}

#[test]
fn entries_are_read_without_their_values() {
    let text = r#" {"a": [1, {"b": 2}], "c d": "x", "a": {"e": {}}} "#;
    let (document, entries) = json::read_entries(text).unwrap();
    assert_eq!(&text[document], text.trim());
    let entries = entries.unwrap();
    let found: Vec<_> =
        entries.iter().map(|entry| (&*entry.name, &text[entry.key.clone()], &text[entry.value.clone()])).collect();
    assert_eq!(
        found,
        [("a", "\"a\"", r#"[1, {"b": 2}]"#), ("c d", "\"c d\"", "\"x\""), ("a", "\"a\"", r#"{"e": {}}"#)]
    );

    assert_eq!(json::read_entries(r#"[{"a": 1}]"#), Ok((0..10, None)));
    assert_eq!(json::read_entries(r#"{"a": [1,}"#).unwrap_err().offset(), 9);
    assert_eq!(json::read_entries(&"{\"a\":".repeat(100_000)).unwrap_err().kind(), ErrorKind::TooDeep);
}

#[test]
fn doubles_round_trip() {
    for (value, text) in [(0.1, "0.1"), (5.0, "5.0"), (-0.0, "-0.0"), (1e300, "1e300"), (100_000.0, "100000.0")] {
        assert_eq!(Number::from(value).as_str(), text);
    }
    assert!(!Number::from(f64::NAN).is_json() && !Number::from(f64::NEG_INFINITY).is_json());
    assert!(Number::from_text("1e400").is_json());
}

#[test]
fn pretty_output_breaks_long_values() {
    let text = r#"{"a": [], "b": {}, "c": [["<s>", "</s>"]], "d": {"e": {"f": "a text that is too long to stay", "g": "on one line"}}}"#;
    insta::assert_snapshot!(json::read(text).unwrap().to_pretty("  "));
}

fn any_value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON", |number| number.is_finite()).prop_map(Value::from),
        "\\PC{0,6}|[\\x00-\\x20\"\\\\\u{80}-\u{a0}]{0,4}".prop_map(Value::from),
    ];
    scalar.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::List),
            proptest::collection::vec(("\\PC{0,5}", inner), 0..5)
                .prop_map(|entries| Value::Object(Object::from_iter(entries))),
        ]
    })
}

proptest! {
    #[test]
    fn written_values_read_back(value in any_value()) {
        prop_assert_eq!(json::read(&value.to_string()), Ok(value.clone()));
        prop_assert_eq!(json::read(&value.to_pretty("\t")), Ok(value));
    }

    #[test]
    fn serde_json_reads_written_values(value in any_value()) {
        prop_assert!(serde_json::from_str::<serde_json::Value>(&value.to_string()).is_ok());
    }

    #[test]
    fn the_reader_never_panics(text in "[\\[\\]{}\",:0-9eE.\\-+\\\\ua-f nrtlsINfy\u{e9}\u{0}]{0,40}") {
        if let Ok((value, places)) = json::read_with_places(&text) {
            prop_assert_eq!(&text[places.value], text.trim_matches([' ', '\t', '\n', '\r']));
            prop_assert_eq!(json::read(&text), Ok(value));
            prop_assert!(json::read_entries(&text).is_ok());
        } else {
            prop_assert_eq!(json::read_entries(&text).err(), json::read(&text).err());
        }
    }
}
