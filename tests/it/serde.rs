//! What serde reads and writes says exactly what the library's own JSON says.

use std::io;
use std::path::Path;

use backchat::json::{self, Object};
use backchat::parser::{EventRef, Options, Tools};
use backchat::{Diagnostic, Event, Parser, Template, Value};
use backchat_workbench::check::fixture::{self, TemplateSource};
use proptest::prelude::*;
use serde_json::ser::Formatter;

/// Python's separators, which the library's own JSON has.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }
}

fn written(value: &impl serde_core::Serialize) -> String {
    let mut out = Vec::new();
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut out, Spaced)).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn numbers_keep_their_text_in_both_directions() {
    for text in [
        "0",
        "-0",
        "-0.0",
        "1.50",
        "1e5",
        "1E+05",
        "9223372036854775808",
        "-9223372036854775809",
        "340282366920938463463374607431768211456",
        "123456789012345678901234567890123456789012345678901234567890",
        "0.1000000000000000055511151231257827",
        r#"{"b": 1, "a": [2, {"c": null}], "b2": true}"#,
        r#""\u0001 é 日\n""#,
    ] {
        let value = json::read(text).unwrap();
        assert_eq!(written(&value), text);
        assert_eq!(serde_json::from_str::<Value>(text).unwrap().to_string(), text);
        let embedded: Vec<Value> = serde_json::from_str(&format!("[{text}]")).unwrap();
        assert_eq!(embedded, [value]);
    }
    assert_eq!(written(&json::read("[NaN, -Infinity, 1e400]").unwrap()), "[null, null, 1e400]");
}

#[test]
fn a_value_that_serde_json_cannot_hold_is_refused() {
    for (text, error) in [
        (
            r#"{"a": [1, 18446744073709551616]}"#,
            "at a[1]: the number 18446744073709551616 needs serde_json's feature `arbitrary_precision`",
        ),
        ("-9223372036854775809", "the number -9223372036854775809 needs serde_json's feature `arbitrary_precision`"),
        ("[1e400]", "at [0]: the number 1e400 needs serde_json's feature `arbitrary_precision`"),
        (r#"{"x": NaN}"#, "at x: NaN is not a JSON number; replace it before converting"),
    ] {
        let refused = serde_json::Value::try_from(json::read(text).unwrap()).unwrap_err();
        assert_eq!(refused.to_string(), error);
    }
    for text in ["18446744073709551615", "-9223372036854775808", "0.5", "[]", r#"{"a": "b"}"#, "null"] {
        let value = json::read(text).unwrap();
        let theirs = serde_json::Value::try_from(value.clone()).unwrap();
        assert_eq!(theirs, serde_json::from_str::<serde_json::Value>(text).unwrap());
        assert_eq!(Value::from(theirs.clone()), value);
        assert_eq!(serde_json::from_value::<Value>(theirs).unwrap(), value);
    }
}

#[test]
fn a_template_is_read_or_refused_with_every_problem() {
    let text = r#"{"start_anchor": "<bot>", "fields": {"content": {"close": "<end>"}}}"#;
    let template: Template = serde_json::from_str(text).unwrap();
    assert_eq!(template, Template::load(text).unwrap().template);
    assert_eq!(written(&template), template.to_value().to_string());
    let refused = serde_json::from_str::<Template>(r#"{"fields": {"a": {"open": 1, "close_pattern": "("}}}"#);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("`open`") && refused.contains("fields.a.close_pattern"), "{refused}");
}

#[test]
fn tools_come_from_serde_json() {
    let tools = serde_json::json!([{"type": "function", "function": {
        "name": "add", "parameters": {"properties": {"a": {"type": "integer"}}}}}]);
    let tools = Tools::try_from(&tools).unwrap();
    let mut call = json::read(r#"{"function": {"name": "add", "arguments": {"a": "5"}}}"#).unwrap();
    backchat_parser::content::coerce::cast_calls(&tools, &mut call, backchat::parser::Mode::Stable).unwrap();
    assert_eq!(call["function"]["arguments"]["a"].as_i64(), Some(5));
    assert!(Tools::try_from(&serde_json::json!(5)).is_err());
}

#[test]
fn diagnostics_are_written_as_the_json_format_writes_them() {
    let error = Template::load(r#"{"fields": {"a": {"opens": "x"}}}"#).unwrap_err();
    let diagnostic: &Diagnostic = error.diagnostics.first().unwrap();
    assert_eq!(written(diagnostic), diagnostic.to_value().to_string());
    assert!(written(diagnostic).starts_with(r#"{"id": ""#));
}

/// Every event of every fixture, cut in two ways, and the message.
#[test]
fn events_are_written_as_the_command_writes_them() {
    let mut seen = 0;
    for file in backchat_workbench::check::fixture_files(&[Path::new("tests/fixtures").to_owned()]).unwrap() {
        for case in fixture::read(&file).cases.iter().flatten() {
            let template = match &case.template {
                TemplateSource::File(path) => backchat::template::source::open(&path.to_string_lossy()).unwrap().loaded,
                TemplateSource::Inline(value) => Template::from_value(value).unwrap(),
            };
            let tools = case.tools.as_ref().map(|tools| Tools::new(tools).unwrap().into());
            for length in [1, usize::MAX] {
                let options = Options::default().tools(tools.clone());
                let mut parser = Parser::new(&template.template, &case.prefix, options).unwrap();
                let mut events = parser.initial_events().to_vec();
                for feed in backchat_parser::parser::Chunks::Every(length).split(&case.output) {
                    let mut check = |event: EventRef<'_>| {
                        assert_eq!(written(&event), event.to_owned().to_value().to_string());
                        events.push(event.to_owned());
                    };
                    parser.feed_into(feed, &mut check).unwrap();
                }
                let finished = parser.finish().unwrap();
                let own = |events: &[Event]| Value::List(events.iter().map(Event::to_value).collect()).to_string();
                assert_eq!(written(&events), own(&events));
                let message = Value::Object(finished.message.clone());
                let missing: Vec<Value> = finished.missing.iter().map(|name| name.as_str().into()).collect();
                let missing = match missing.is_empty() {
                    true => String::new(),
                    false => format!(r#""missing": {}, "#, Value::List(missing)),
                };
                let mut notes = String::new();
                if !finished.malformed.is_empty() {
                    let listed = finished.malformed.iter().map(|region| region.to_value()).collect();
                    notes += &format!(r#""malformed": {}, "#, Value::List(listed));
                }
                if !finished.problems.is_empty() {
                    let listed = finished.problems.iter().map(|problem| problem.to_value()).collect();
                    notes += &format!(r#""problems": {}, "#, Value::List(listed));
                }
                if !finished.notes.is_empty() {
                    let listed = finished.notes.iter().map(|note| note.as_str().into()).collect();
                    notes += &format!(r#""notes": {}, "#, Value::List(listed));
                }
                let whole = format!(r#"{{"message": {message}, {missing}{notes}"events": {}}}"#, own(&finished.events));
                assert_eq!(written(&finished), whole);
                seen += events.len();
            }
        }
    }
    assert!(seen > 1000, "{seen} events");
}

/// Whether two values differ in the text of numbers at most.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || (!one.is_integer() && one.as_f64().to_bits() == other.as_f64().to_bits())
        }
        (Value::List(one), Value::List(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len() && one.iter().all(|(key, value)| same(value, &other[key]))
        }
        (one, other) => one == other,
    }
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((".{0,4}", inner), 0..20)
                .prop_map(|entries| Value::Object(entries.into_iter().collect::<Object>())),
        ]
    })
}

proptest! {
    #[test]
    fn a_value_survives_serde(value in values()) {
        let text = serde_json::to_string(&value).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Value>(&text).unwrap(), &value);
        prop_assert_eq!(&json::read(&text).unwrap(), &value);
        let theirs = serde_json::Value::try_from(value.clone()).unwrap();
        prop_assert!(same(&Value::from(theirs.clone()), &value), "{theirs:?}");
        prop_assert!(same(&serde_json::from_value(theirs).unwrap(), &value));
    }
}
