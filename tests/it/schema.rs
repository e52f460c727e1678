//! The JSON Schema beside the loader: a template that loads without a complaint satisfies it, one with a value of the
//! wrong kind does not.

use backchat::json::{self, Value};
use backchat::template::Template;
use backchat_parser::template::{ContentParser, TAGGED, schema};

use crate::support::integer;

/// Whether a value satisfies a schema, as far as draft 7 is used in ours. Any other keyword fails the test.
fn satisfies(value: &Value, schema: &Value, root: &Value) -> bool {
    let Some(rules) = schema.as_object() else { return schema.as_bool().unwrap() };
    let all = |schemas: &Value| schemas.as_list().unwrap().iter().all(|schema| satisfies(value, schema, root));
    let count =
        |schemas: &Value| schemas.as_list().unwrap().iter().filter(|schema| satisfies(value, schema, root)).count();
    let at_least = |length: Option<usize>, bound: &Value| {
        length.is_none_or(|length| length >= usize::try_from(integer(bound)).unwrap())
    };
    let length = value.as_str().map(|text| text.chars().count());
    let items = value.as_list().map(<[_]>::len);
    let keys = value.as_object().map(|entries| entries.len());
    let properties = rules.get("properties").and_then(Value::as_object);
    rules.iter().all(|(keyword, rule)| match keyword {
        "$schema" | "title" | "description" | "definitions" | "then" => true,
        "$ref" => {
            let name = rule.as_str().unwrap().strip_prefix("#/definitions/").unwrap();
            satisfies(value, root.get("definitions").unwrap().get(name).unwrap(), root)
        }
        "type" => match rule {
            Value::List(types) => types.iter().any(|name| is_of_type(value, name)),
            name => is_of_type(value, name),
        },
        "const" => value == rule,
        "enum" => rule.as_list().unwrap().contains(value),
        "not" => !satisfies(value, rule, root),
        "allOf" => all(rule),
        "anyOf" => count(rule) > 0,
        "oneOf" => count(rule) == 1,
        "if" => !satisfies(value, rule, root) || satisfies(value, rules.get("then").unwrap(), root),
        "minLength" => at_least(length, rule),
        "minItems" => at_least(items, rule),
        "maxItems" => items.is_none_or(|items| items <= usize::try_from(integer(rule)).unwrap()),
        "minProperties" => at_least(keys, rule),
        "maxProperties" => keys.is_none_or(|keys| keys <= usize::try_from(integer(rule)).unwrap()),
        "minimum" | "maximum" => match value {
            Value::Number(value) if keyword == "minimum" => value.as_i64().unwrap() >= integer(rule),
            Value::Number(value) => value.as_i64().unwrap() <= integer(rule),
            _ => true,
        },
        "items" => value.as_list().is_none_or(|items| items.iter().all(|item| satisfies(item, rule, root))),
        "required" => value.as_object().is_none_or(|entries| {
            rule.as_list().unwrap().iter().all(|key| entries.contains_key(key.as_str().unwrap()))
        }),
        "properties" => value.as_object().is_none_or(|entries| {
            rule.as_object()
                .unwrap()
                .iter()
                .all(|(key, schema)| entries.get(key).is_none_or(|value| satisfies(value, schema, root)))
        }),
        "additionalProperties" => value.as_object().is_none_or(|entries| {
            let others = entries.iter().filter(|(key, _)| properties.is_none_or(|known| !known.contains_key(key)));
            others.into_iter().all(|(_, value)| satisfies(value, rule, root))
        }),
        other => panic!("the test does not know the keyword {other}"),
    })
}

fn is_of_type(value: &Value, name: &Value) -> bool {
    match name.as_str().unwrap() {
        "null" => matches!(value, Value::Null),
        "boolean" => matches!(value, Value::Bool(_)),
        "string" => matches!(value, Value::String(_)),
        "integer" => matches!(value, Value::Number(number) if number.as_i64().is_some()),
        "array" => matches!(value, Value::List(_)),
        "object" => matches!(value, Value::Object(_)),
        other => panic!("the test does not know the type {other}"),
    }
}

/// One sample of each kind of value that a key could have.
const SAMPLES: [&str; 14] = [
    "null",
    "true",
    "false",
    "1",
    "2",
    "\"\"",
    "\"x\"",
    "\"json\"",
    "[]",
    "[\"x\"]",
    "[\"\"]",
    "[[\"a\", \"b\"]]",
    "{}",
    "{\"name\": \"int\"}",
];

/// What the schema says of a template, which must be what the loader says: no complaint of any severity.
fn check(template: &str) {
    let value = json::read(template).unwrap();
    let schema = schema();
    let (complaints, is_clean) = match Template::from_value(&value) {
        Ok(loaded) => (format!("{:#?}", loaded.warnings), loaded.warnings.is_empty()),
        Err(error) => (error.to_string(), false),
    };
    assert_eq!(satisfies(&value, &schema, &schema), is_clean, "{template}\nThe loader says: {complaints}");
}

#[test]
fn the_loader_and_the_schema_agree_on_each_key_and_kind_of_value() {
    for sample in SAMPLES {
        for key in ["version", "defaults", "start_anchor_pattern", "unknown"] {
            let anchor = if key == "start_anchor_pattern" { "" } else { "\"start_anchor\": \"a\", " };
            check(&format!("{{{anchor}\"fields\": {{\"c\": {{}}}}, \"{key}\": {sample}}}"));
        }
        check(&format!("{{\"start_anchor\": {sample}, \"fields\": {{\"c\": {{}}}}}}"));
        check(&format!("{{\"start_anchor\": \"a\", \"fields\": {sample}}}"));
        check(&format!("{{\"start_anchor\": \"a\", \"fields\": {{\"c\": {sample}}}}}"));
        let field = |rest: &str| check(&format!("{{\"start_anchor\": \"a\", \"fields\": {{\"c\": {{{rest}}}}}}}"));
        for key in ["open", "open_pattern", "close", "close_pattern", "repeats", "optional", "transform", "unknown"] {
            field(&format!("\"{key}\": {sample}"));
        }
        field(&format!("\"repeats\": true, \"join\": {sample}"));
        field(&format!("\"transform\": {{}}, \"content\": \"json\", \"transform_each\": {sample}"));
        for parser in ContentParser::ALL.iter().copied() {
            let name = parser.name();
            let required = if name == TAGGED { "\"tag_pattern\": \"(?P<key>a)(?P<value>b)\", " } else { "" };
            field(&format!("\"content\": \"{name}\", \"content_args\": {sample}"));
            for argument in [
                "strip",
                "unquoted_keys",
                "string_delims",
                "allow_non_json",
                "value_parser",
                "merge_duplicates",
                "line_sep",
                "kv_sep",
                "unknown",
            ] {
                field(&format!("\"content\": \"{name}\", \"content_args\": {{{required}\"{argument}\": {sample}}}"));
            }
            let value_parser = |rest: &str| {
                field(&format!("\"content\": \"kv-lines\", \"content_args\": {{\"value_parser\": {{{rest}}}}}"));
            };
            value_parser(&format!("\"name\": \"{name}\", \"args\": {{{required}\"strip\": {sample}}}"));
            value_parser(&format!("\"name\": {sample}"));
            value_parser(&format!("\"unknown\": {sample}"));
        }
    }
}

#[test]
fn every_content_parser_is_documented_with_its_arguments() {
    let docs = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/format.md")).unwrap();
    let quoted = |text: &str| text.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let (_, section) = docs.split_once("\n## Content parsers\n").unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| [`")).map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").collect();
        (quoted(cells[0]).concat(), quoted(cells[2]))
    });
    let schema = schema();
    let arguments = |parser: &ContentParser| {
        let definition = &schema["definitions"][format!("arguments-{}", parser.name()).as_str()];
        definition["properties"].as_object().unwrap().keys().map(str::to_owned).collect()
    };
    let known: Vec<(String, Vec<String>)> =
        ContentParser::ALL.iter().map(|parser| (parser.name().to_owned(), arguments(parser))).collect();
    assert_eq!(rows.collect::<Vec<_>>(), known);
}

#[test]
fn exclusive_and_dependent_keys() {
    for fields in [
        r#"{"a": {"open": "x", "open_pattern": "x"}}"#,
        r#"{"a": {"close": "x", "close_pattern": "x"}}"#,
        r#"{"a": {"join": "x"}}"#,
        r#"{"a": {"join": null}}"#,
        r#"{"a": {"join": "x", "repeats": true}}"#,
        r#"{"a": {"join": "x", "repeats": false}}"#,
        r#"{"a": {"transform_each": true}}"#,
        r#"{"a": {"transform_each": true, "transform": null}}"#,
        r#"{"a": {"transform_each": false}}"#,
        r#"{"a": {"content": "xml-inline"}}"#,
        r#"{"a": {"content_args": {"unquoted_keys": true}}}"#,
    ] {
        check(&format!("{{\"start_anchor\": \"a\", \"fields\": {fields}}}"));
    }
    check(r#"{"fields": {"a": {}}}"#);
    check(r#"{"start_anchor": "a", "start_anchor_pattern": "a", "fields": {"a": {}}}"#);
}

#[test]
fn every_key_is_described() {
    let schema = schema();
    let mut objects = vec![&schema];
    objects.extend(schema.get("definitions").and_then(Value::as_object).unwrap().values());
    let properties = objects.into_iter().filter_map(|object| object.get("properties")?.as_object()).flatten();
    for (key, schema) in properties {
        let about = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        assert!(about.ends_with(['.', ';']) && about.len() > 10, "{key} is described as {about:?}");
    }
}

#[test]
fn json_grammars_match_their_schema() {
    use backchat::derive::{Model, Options};
    use backchat::grammar::Request;
    use backchat_grammar as grammar;

    let read = |name: &str| std::fs::read_to_string(format!("{}/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let schema = json::read(grammar::SCHEMA).unwrap();
    let tools = json::read(&read("examples/weather/tools.json")).unwrap();
    for name in ["hermes", "qwen3_coder", "gemma_4", "kimi_k2"] {
        let template = Template::load(&read(&format!("derived/{name}.json"))).unwrap().template;
        let chat_template = read(&format!("chat_templates/{name}.jinja"));
        let Model { template, wire, .. } = Model::open(&chat_template, Some(template), &Options::default()).unwrap();
        let request = Request::default().tools(&tools);
        let mut grammar = grammar::build(&template, &wire, &request).unwrap().to_json();
        assert!(satisfies(&grammar, &schema, &schema), "{name}: {grammar}");
        // It says no to what is none.
        if let Value::Object(entries) = &mut grammar {
            entries.insert("start", json::read(r#"{"lit": "a", "seq": []}"#).unwrap());
        }
        assert!(!satisfies(&grammar, &schema, &schema), "{name}");
    }
}
