//! The format as a JSON Schema, for editors.

use super::content::{parser_names, parsers};
use super::keys::{self, Key, Kind};
use backchat_core::json::{Object, Value, texts};

/// The JSON Schema (draft 7) of a response template, made from the loader's own table of keys.
pub fn schema() -> Value {
    let mut out = Object::from([
        ("$schema", "http://json-schema.org/draft-07/schema#".into()),
        ("title", "Response template".into()),
        ("description", "How the raw text of a chat model's output becomes a structured message.".into()),
    ]);
    out.extend(object_of(keys::TEMPLATE));
    out.extend([
        ("required", texts(&["fields"])),
        ("oneOf", Value::List(vec![required("start_anchor"), required("start_anchor_pattern")])),
        ("definitions", Value::Object(definitions())),
    ]);
    Value::Object(out)
}

fn definitions() -> Object {
    let mut out = Object::from([("literals", literals()), ("field", field()), ("valueParser", value_parser())]);
    for parser in parsers() {
        let mut arguments = Object::from(object_of(parser.arguments()));
        if !parser.required_arguments().is_empty() {
            arguments.extend([("required", texts(parser.required_arguments()))]);
        }
        out.insert(arguments_name(parser.name()), Value::Object(arguments));
    }
    out
}

fn field() -> Value {
    let mut out = Object::from(object_of(keys::FIELD));
    let exclusive = |one, other| Value::from([("not", Value::from([("required", texts(&[one, other]))]))]);
    let mut rules = vec![
        exclusive("open", "open_pattern"),
        exclusive("close", "close_pattern"),
        implies(
            Value::from([("required", texts(&["join"])), ("properties", is("join", [("type", "string".into())]))]),
            Value::from([("required", texts(&["repeats"])), ("properties", is("repeats", [("const", true.into())]))]),
        ),
        implies(
            Value::from([
                ("required", texts(&["transform_each"])),
                ("properties", is("transform_each", [("const", true.into())])),
            ]),
            Value::from([
                ("required", texts(&["transform"])),
                ("properties", is("transform", [("not", Value::from([("type", "null".into())]))])),
            ]),
        ),
    ];
    rules.extend(arguments_rules("content", "content_args"));
    out.extend([("allOf", Value::List(rules))]);
    Value::Object(out)
}

fn value_parser() -> Value {
    let mut out = Object::from(object_of(keys::VALUE_PARSER));
    out.extend([("allOf", Value::List(arguments_rules("name", "args").collect()))]);
    Value::Object(out)
}

/// The arguments of each parser; without a parser, those of `text`.
fn arguments_rules(parser_key: &'static str, args_key: &'static str) -> impl Iterator<Item = Value> {
    parsers().map(move |parser| {
        let mut chosen = Object::from([("properties", is(parser_key, [("const", parser.name().into())]))]);
        if !parser.is_default() {
            chosen.extend([("required", texts(&[parser_key]))]);
        }
        let arguments = reference(&arguments_name(parser.name()));
        let mut then = Object::from([("properties", Value::from([(args_key, arguments)]))]);
        if !parser.required_arguments().is_empty() {
            then.extend([("required", texts(&[args_key]))]);
        }
        implies(Value::Object(chosen), Value::Object(then))
    })
}

fn arguments_name(parser: &str) -> String {
    format!("arguments-{parser}")
}

/// An object with the keys of a table and no others.
fn object_of(table: &[Key]) -> [(&'static str, Value); 3] {
    let described = |key: &Key| {
        let mut schema = Object::from([("description", key.about.into())]);
        // Draft 7 ignores every key next to `$ref`, so a reference is wrapped.
        match of_kind(key.kind) {
            reference @ Value::Object(_) if reference.get("$ref").is_some() => {
                schema.extend([("allOf", Value::List(vec![reference]))]);
            }
            Value::Object(entries) => schema.extend(entries),
            _ => {}
        }
        (key.name, Value::Object(schema))
    };
    [
        ("type", "object".into()),
        ("properties", Value::Object(table.iter().map(described).collect())),
        ("additionalProperties", false.into()),
    ]
}

fn of_kind(kind: Kind) -> Value {
    let a = |name: &str| ("type", name.into());
    let names = || ("enum", texts(&parser_names()));
    match kind {
        Kind::Version => Value::from([("const", 1_i64.into())]),
        Kind::Object | Kind::ContentArgs => Value::from([a("object")]),
        Kind::Literals => reference("literals"),
        Kind::Pattern => Value::from([a("string")]),
        Kind::Fields => {
            Value::from([a("object"), ("minProperties", 1_i64.into()), ("additionalProperties", reference("field"))])
        }
        Kind::Flag => Value::from([a("boolean")]),
        Kind::TextOrNull => Value::from([("type", texts(&["string", "null"]))]),
        Kind::Separator => Value::from([a("string"), ("minLength", 1_i64.into())]),
        Kind::LineSeparator => Value::from([("type", texts(&["string", "null"])), ("minLength", 1_i64.into())]),
        Kind::ParserName => Value::from([a("string"), names()]),
        Kind::Shape => Value::Object(Object::new()),
        Kind::Pairs => Value::from([
            a("array"),
            (
                "items",
                Value::from([
                    a("array"),
                    ("items", Value::from([a("string")])),
                    ("minItems", 2_i64.into()),
                    ("maxItems", 2_i64.into()),
                ]),
            ),
        ]),
        Kind::ValueParser => {
            Value::from([("anyOf", Value::List(vec![reference("valueParser"), Value::from([a("null")])]))])
        }
    }
}

fn literals() -> Value {
    let text = || Value::from([("type", "string".into()), ("minLength", 1_i64.into())]);
    let several = Value::from([("type", "array".into()), ("items", text()), ("minItems", 1_i64.into())]);
    Value::from([("anyOf", Value::List(vec![text(), several]))])
}

fn reference(definition: &str) -> Value {
    Value::from([("$ref", format!("#/definitions/{definition}").into())])
}

fn required(key: &str) -> Value {
    Value::from([("required", texts(&[key]))])
}

fn is<const N: usize>(key: &str, schema: [(&str, Value); N]) -> Value {
    Value::from([(key, Value::from(schema))])
}

fn implies(condition: Value, consequence: Value) -> Value {
    Value::from([("if", condition), ("then", consequence)])
}
