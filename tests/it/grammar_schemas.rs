//! Tests which JSON Schemas grammars enforce, and what they note of the others.

use backchat::grammar::{self, Choice, Effect, Grammar, Note, Request};
use backchat::json::Value;

use super::grammar::{Model, value, verdict};

/// The parameters of a tool with one required argument of this schema.
fn argument(schema: &str) -> String {
    format!(
        r#"{{"type": "object", "properties": {{"p": {schema}}}, "required": ["p"], "additionalProperties": false}}"#
    )
}

fn tools(parameters: &str) -> Value {
    value(&format!(r#"[{{"name": "f", "parameters": {parameters}}}]"#))
}

fn build(model: &Model, parameters: &str) -> Result<Grammar, String> {
    let tools = tools(parameters);
    let request = Request::default().tools(&tools).choice(&Choice::Required);
    grammar::build(&model.template, &model.wire, &request).map_err(|problems| problems[0].message.to_string())
}

/// The notes about this effect on the schema.
fn notes(grammar: &Grammar, effect: Effect) -> Vec<&Note> {
    grammar.notes().iter().filter(|note| note.effect == effect && note.keyword.is_some()).collect()
}

fn keywords(grammar: &Grammar, effect: Effect) -> Vec<&str> {
    notes(grammar, effect).iter().filter_map(|note| note.keyword.as_deref()).collect()
}

/// The verdict of Hermes' grammar on a call with these arguments.
fn judged(grammar: &Grammar, arguments: &str) -> &'static str {
    verdict(grammar, &format!("<tool_call>\n{{\"name\": \"f\", \"arguments\": {arguments}}}\n</tool_call>"))
}

#[test]
fn a_longer_text_is_never_harder_to_allow_than_a_shorter_one() {
    for name in ["hermes", "deepseek_v3", "qwen3_coder", "lfm_2_5"] {
        let model = Model::named(name);
        for most in [8, 32, 33, 100, 130, 200, 256, 257, 4000] {
            let grammar = build(model, &argument(&format!(r#"{{"type": "string", "maxLength": {most}}}"#))).unwrap();
            assert!(grammar.to_gbnf().len() < 200_000, "{name}, {most}: {}", grammar.to_gbnf().len());
            let is_noted = keywords(&grammar, Effect::Tighter) == ["maxLength"];
            assert_eq!(is_noted, most > 32, "{name}, {most}: {:?}", grammar.notes());
            if name == "hermes" {
                for (length, wanted) in [(most, "accept"), (most + 1, "reject")] {
                    let arguments = format!(r#"{{"p": "{}"}}"#, "é".repeat(length));
                    assert_eq!(judged(&grammar, &arguments), wanted, "{most}: {length}");
                }
            }
        }
    }
}

#[test]
fn forms_of_texts_that_are_too_large_beside_the_markers_are_noted() {
    let model = Model::named("hermes");
    let long = "é".repeat(300);
    for (schema, loose, tight, good, bad) in [
        (r#"{"type": "string", "minLength": 200}"#, None, Some("minLength"), long.as_str(), "é"),
        (r#"{"type": "string", "pattern": "^.{1,400}$"}"#, Some("pattern"), None, &long, "\u{1}"),
        (r#"{"type": "string", "pattern": "^[^\\n]{0,1000}$"}"#, Some("pattern"), None, &long, "\u{1}"),
        (r#"{"type": "string", "pattern": "^é+$", "maxLength": 256}"#, None, None, "éé", &long),
        (r#"{"type": "string", "pattern": "^é+$", "maxLength": 257}"#, Some("maxLength"), None, &long, "e"),
    ] {
        let grammar = build(model, &argument(schema)).unwrap();
        assert_eq!(keywords(&grammar, Effect::Looser).first().copied(), loose, "{schema}");
        assert_eq!(keywords(&grammar, Effect::Tighter).first().copied(), tight, "{schema}");
        for (text, wanted) in [(good, "accept"), (bad, "reject")] {
            assert_eq!(judged(&grammar, &format!(r#"{{"p": "{text}"}}"#)), wanted, "{schema}: {text}");
        }
    }
}

/// Schemas of an argument, with accepted values and rejected ones, as `jsonschema` judges them.
type Rows<'r> = &'r [(&'r str, &'r [&'r str], &'r [&'r str])];

fn assert_judged(rows: Rows<'_>) {
    let model = Model::named("hermes");
    for (schema, good, bad) in rows {
        let grammar = build(model, &argument(schema)).unwrap_or_else(|problem| panic!("{schema}: {problem}"));
        assert!(keywords(&grammar, Effect::Looser).is_empty(), "{schema}: {:?}", grammar.notes());
        for (values, wanted) in [(good, "accept"), (bad, "reject")] {
            for text in *values {
                assert_eq!(judged(&grammar, &format!(r#"{{"p": {text}}}"#)), wanted, "{schema}: {text}");
            }
        }
    }
}

#[test]
fn a_reference_leads_to_an_anchor_and_to_itself() {
    assert_judged(&[
        (r##"{"anyOf": [{"$ref": "#of"}, {"$anchor": "of", "type": "integer"}]}"##, &["1"], &[r#""a""#]),
        (r##"{"type": "array", "items": {"$ref": "#/properties/p"}}"##, &["[]", "[[]]", "[[[], []]]"], &["[1]"]),
        // A member that no finite value satisfies must be absent.
        (
            r##"{"type": "object", "additionalProperties": false, "properties": {"n": {"type": "integer"},
                "all": {"type": "array", "minItems": 1, "items": {"$ref": "#/properties/p/properties/all"}}}}"##,
            &["{}", r#"{"n": 1}"#],
            &[r#"{"all": []}"#],
        ),
    ]);
}
