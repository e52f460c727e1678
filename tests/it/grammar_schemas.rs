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
            let is_noted = keywords(&grammar, Effect::Tighter).contains(&"maxLength");
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
        // The fragment is decoded before the pointer is read.
        (
            r##"{"allOf": [{"$ref": "#/properties/p/$defs/a%3Cb%3E%C3%A9%2525"}, {"$ref": "#/properties/p/$defs/c~1d%7E0%e"}],
                "$defs": {"a<b>é%25": {"type": "integer"}, "c/d~%e": {"minimum": 5}}}"##,
            &["5"],
            &["4", "5.5"],
        ),
        // A member that no finite value satisfies must be absent.
        (
            r##"{"type": "object", "additionalProperties": false, "properties": {"n": {"type": "integer"},
                "all": {"type": "array", "minItems": 1, "items": {"$ref": "#/properties/p/properties/all"}}}}"##,
            &["{}", r#"{"n": 1}"#],
            &[r#"{"all": []}"#],
        ),
    ]);
}

#[test]
fn a_member_satisfies_every_schema_that_its_name_has() {
    assert_judged(&[
        // A branch that does not list a name applies its `additionalProperties`.
        (
            r#"{"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": false},
                {"properties": {"b": {"type": "integer"}}}]}"#,
            &["{}", r#"{"a": 1}"#],
            &[r#"{"b": 1}"#, r#"{"a": 1, "b": 1}"#],
        ),
        (
            r#"{"type": "object", "properties": {"kind": {"enum": ["k"]}}, "required": ["kind"],
                "allOf": [{"properties": {"v": {"type": "integer"}}, "additionalProperties": {"type": "string"}}]}"#,
            &[r#"{"kind": "k", "v": 1}"#, r#"{"kind": "k", "z": "s"}"#],
            &[r#"{"kind": "k", "z": 1}"#],
        ),
        (
            r#"{"type": "object", "patternProperties": {"^x": {"type": "integer"}}, "required": ["xa"],
                "additionalProperties": false}"#,
            &[r#"{"xa": 1}"#, r#"{"xa": 1, "xb": 2}"#],
            &["{}", r#"{"xa": "s"}"#, r#"{"xa": 1, "y": 1}"#],
        ),
        (
            r#"{"type": "object", "patternProperties": {"a": {"type": "integer"}, "b": {"maximum": 5}},
                "additionalProperties": false}"#,
            &[r#"{"a": 9}"#, r#"{"ab": 3}"#, r#"{"b": "x"}"#],
            &[r#"{"ab": 9}"#, r#"{"ba": "x"}"#, r#"{"b": 9}"#],
        ),
        (
            r#"{"type": "object", "propertyNames": {"pattern": "^x"}, "additionalProperties": false,
                "properties": {"a": {"type": "integer"}, "xa": {"type": "integer"}}}"#,
            &["{}", r#"{"xa": 1}"#],
            &[r#"{"a": 1}"#],
        ),
        (
            r#"{"type": "object", "propertyNames": {"anyOf": [{"const": "a"}, {"pattern": "^x"}]}}"#,
            &["{}", r#"{"a": 1}"#, r#"{"xa": 1}"#],
            &[r#"{"b": 1}"#],
        ),
    ]);
    let required = argument(r#"{"type": "object", "propertyNames": {"pattern": "^[a-z]$"}, "required": ["AA"]}"#);
    let problem = build(Model::named("hermes"), &required).unwrap_err();
    assert!(problem.contains("nothing satisfies"), "{problem}");
}

#[test]
fn arguments_that_are_written_one_by_one_may_have_names_of_a_pattern() {
    let parameters = r#"{"type": "object", "patternProperties": {"^x": {"type": "integer"}}, "required": ["xa"],
        "additionalProperties": false}"#;
    let grammar = build(Model::named("qwen3_coder"), parameters).unwrap();
    let argument = |name: &str, value: &str| format!("<parameter={name}>\n{value}\n</parameter>\n");
    for (arguments, wanted) in [
        (argument("xa", "1"), "accept"),
        (argument("xa", "1") + &argument("xb", "2"), "accept"),
        (argument("xb", "2"), "reject"),
        (argument("xa", "1") + &argument("b", "2"), "reject"),
        (argument("xa", "s"), "reject"),
    ] {
        let call = format!("<tool_call>\n<function=f>\n{arguments}</function>\n</tool_call>");
        assert_eq!(verdict(&grammar, &call), wanted, "{arguments}");
    }
}

#[test]
fn an_item_satisfies_the_schemas_of_all_branches() {
    assert_judged(&[
        (
            r#"{"allOf": [{"prefixItems": [{"type": "integer"}]}, {"type": "array", "items": {"type": "string"}}]}"#,
            &["[]"],
            &["[1]", r#"["a"]"#],
        ),
        (
            r#"{"allOf": [{"prefixItems": [{"type": "integer"}], "items": {"type": "string"}},
                {"type": "array", "prefixItems": [{}, {"maxLength": 1}]}]}"#,
            &["[1]", r#"[1, "a"]"#, r#"[1, "a", "abc"]"#],
            &[r#"["a"]"#, r#"[1, "ab"]"#, "[1, 2]"],
        ),
    ]);
}

#[test]
fn listed_values_satisfy_the_keywords_beside_them() {
    assert_judged(&[
        (
            r#"{"enum": [{"a": 1}, {"a": 2}], "type": "object", "properties": {"a": {"minimum": 2}}}"#,
            &[r#"{"a": 2}"#],
            &[r#"{"a": 1}"#],
        ),
        (
            r#"{"enum": [{"a": 1}, {"b": 1}, {"a": 1, "c": 2}], "required": ["a"], "additionalProperties": false,
                "properties": {"a": {"type": "integer"}, "b": {}}}"#,
            &[r#"{"a": 1}"#],
            &[r#"{"b": 1}"#, r#"{"a": 1, "c": 2}"#],
        ),
        (r#"{"enum": [{"ab": 1}, {"c": 1}], "propertyNames": {"pattern": "a"}}"#, &[r#"{"ab": 1}"#], &[r#"{"c": 1}"#]),
        (r#"{"enum": [[1, 2], [1]], "minItems": 2}"#, &["[1, 2]"], &["[1]"]),
        (
            r#"{"enum": [[1], [1, "a"], ["a"], [1, 2]], "prefixItems": [{"type": "integer"}], "items": {"type": "string"}}"#,
            &["[1]", r#"[1, "a"]"#],
            &[r#"["a"]"#, "[1, 2]"],
        ),
        (r#"{"enum": [[1], [2]], "not": {"const": [1]}}"#, &["[2]"], &["[1]"]),
        // As chat templates write them, and escaped.
        (
            r#"{"enum": ["a\u2028b", "\u2029", "\u007f", "\u0085", "\u00e9"]}"#,
            &[
                "\"a\u{2028}b\"",
                r#""a\u2028b""#,
                "\"\u{2029}\"",
                "\"\u{7f}\"",
                r#""\u007f""#,
                "\"\u{85}\"",
                r#""\u0085""#,
                "\"é\"",
            ],
            &["\"a\u{2029}b\"", r#""\u0084""#],
        ),
        (
            r#"{"type": "object", "properties": {"a\u0085": {"type": "integer"}}, "additionalProperties": false}"#,
            &["{\"a\u{85}\": 1}", r#"{"a\u0085": 1}"#],
            &[r#"{"a": 1}"#],
        ),
        // Numbers are equal if their values are.
        (r#"{"allOf": [{"enum": [1, 2]}, {"enum": [1.0]}]}"#, &["1"], &["2"]),
    ]);
    let model = Model::named("hermes");
    for (schema, noted) in [
        (r#"{"not": {"const": {"a": 1}}}"#, vec!["not"]),
        (r#"{"not": {"enum": [[1], "x"]}}"#, vec!["not"]),
        (r#"{"type": "string", "not": {"const": [1]}}"#, vec![]),
        (r#"{"oneOf": [{"enum": [1, 2]}, {"enum": [1.0]}]}"#, vec!["oneOf"]),
    ] {
        let grammar = build(model, &argument(schema)).unwrap();
        assert_eq!(keywords(&grammar, Effect::Looser), noted, "{schema}");
    }
}

#[test]
fn arguments_may_be_listed_as_a_whole() {
    let parameters = r#"{"enum": [{"a": 1}, {"a": 2}, "a"], "properties": {"a": {"maximum": 1}}}"#;
    let grammar = build(Model::named("hermes"), parameters).unwrap();
    for (arguments, wanted) in [(r#"{"a": 1}"#, "accept"), (r#"{"a": 2}"#, "reject"), ("{}", "reject")] {
        assert_eq!(judged(&grammar, arguments), wanted, "{arguments}");
    }
    let grammar = build(Model::named("qwen3_coder"), parameters).unwrap();
    assert_eq!(keywords(&grammar, Effect::Looser), ["enum"]);
}

#[test]
fn counts_are_read_in_any_spelling_and_others_are_noted() {
    assert_judged(&[
        (r#"{"type": "array", "items": {"type": "null"}, "minItems": 2e0}"#, &["[null, null]"], &["[null]"]),
        (r#"{"type": "string", "minLength": 1.0}"#, &[r#""a""#], &[r#""""#]),
        (r#"{"type": "integer", "multipleOf": 5.0}"#, &["5"], &["6"]),
    ]);
    let model = Model::named("hermes");
    for (schema, keyword, words) in [
        (r#"{"type": "array", "minItems": "1"}"#, "minItems", r#"`"1"` has no effect"#),
        (r#"{"type": "array", "minItems": -1}"#, "minItems", "`-1` has no effect"),
        (r#"{"type": "string", "maxLength": 1.5}"#, "maxLength", "`1.5` has no effect"),
        (r#"{"type": 5}"#, "type", "`5` is not a type of JSON Schema"),
        (r#"{"type": ["string", 5]}"#, "type", "`5` is not a type of JSON Schema"),
    ] {
        let grammar = build(model, &argument(schema)).unwrap();
        let noted = notes(&grammar, Effect::Assumed);
        assert_eq!(noted.iter().filter_map(|note| note.keyword.as_deref()).collect::<Vec<_>>(), [keyword], "{schema}");
        assert!(noted[0].message.starts_with(words), "{schema}: {}", noted[0].message);
    }
}

#[test]
fn keywords_with_values_of_a_wrong_kind_have_no_effect_and_are_noted() {
    let model = Model::named("hermes");
    for (schema, keyword, words, good) in [
        (
            r#"{"type": "object", "required": "x"}"#,
            "required",
            r#"`"x"` has no effect: it must be a list of names"#,
            "{}",
        ),
        (r#"{"type": "string", "required": true}"#, "required", "`true` has no effect", r#""""#),
        (r#"{"type": "object", "required": [5]}"#, "required", "`5` has no effect: it must be a name", "{}"),
        (
            r#"{"type": "object", "properties": []}"#,
            "properties",
            "a list has no effect: it must be an object",
            r#"{"x": 1}"#,
        ),
        (r#"{"type": "object", "patternProperties": 1}"#, "patternProperties", "`1` has no effect", r#"{"x": 1}"#),
        (r#"{"type": "integer", "minimum": "1"}"#, "minimum", r#"`"1"` has no effect: it must be a number"#, "0"),
        (r#"{"type": "integer", "exclusiveMaximum": null}"#, "exclusiveMaximum", "`null` has no effect", "9"),
        (r#"{"type": "integer", "multipleOf": "2"}"#, "multipleOf", r#"`"2"` has no effect"#, "3"),
        (r#"{"type": "string", "enum": "a"}"#, "enum", r#"`"a"` has no effect: it must be a list"#, r#""b""#),
        (
            r#"{"type": "string", "anyOf": {"enum": ["a"]}}"#,
            "anyOf",
            "an object has no effect: it must be a list",
            r#""b""#,
        ),
        (r#"{"type": "string", "allOf": {"enum": ["a"]}}"#, "allOf", "an object has no effect", r#""b""#),
        (r#"{"type": "string", "oneOf": null}"#, "oneOf", "`null` has no effect", r#""b""#),
        (r#"{"type": "array", "uniqueItems": "yes"}"#, "uniqueItems", r#"`"yes"` has no effect"#, "[1, 1]"),
        (
            r#"{"type": "array", "prefixItems": {}, "items": {"type": "null"}}"#,
            "prefixItems",
            "an object has no effect",
            "[null]",
        ),
    ] {
        let grammar = build(model, &argument(schema)).unwrap_or_else(|problem| panic!("{schema}: {problem}"));
        let noted = notes(&grammar, Effect::Assumed);
        assert_eq!(noted.iter().filter_map(|note| note.keyword.as_deref()).collect::<Vec<_>>(), [keyword], "{schema}");
        assert!(noted[0].message.starts_with(words), "{schema}: {}", noted[0].message);
        assert_eq!(judged(&grammar, &format!(r#"{{"p": {good}}}"#)), "accept", "{schema}");
    }
    // `items` holds for all items if no first ones are listed.
    assert_judged(&[(r#"{"type": "array", "prefixItems": {}, "items": {"type": "null"}}"#, &["[null]"], &["[1]"])]);
    let grammar = build(model, &argument(r#"{"type": "string", "not": {"type": "float"}}"#)).unwrap();
    assert_eq!(keywords(&grammar, Effect::Looser), ["not"]);
}

#[test]
fn numbers_are_refused_in_every_spelling() {
    assert_judged(&[
        (r#"{"type": "number", "not": {"const": 0}}"#, &["0.1", "-0.1", "10"], &["0", "0.0", "-0", "-0.00", "0e0"]),
        (r#"{"type": "number", "not": {"const": -1.5}}"#, &["1.5", "-1.25", "-15"], &["-1.5", "-1.50"]),
        (r#"{"type": "integer", "not": {"enum": [0, -5.0]}}"#, &["5", "-55"], &["0", "-5"]),
        (r#"{"type": "number", "not": {"type": "integer"}}"#, &["5.5", "-0.5", "5.05"], &["5", "5.0", "-5.00"]),
        (r#"{"enum": [5.0, 5.5, 1], "not": {"type": "integer"}}"#, &["5.5"], &["5.0", "1"]),
        (r#"{"enum": [5.0, 5.5], "type": "integer"}"#, &["5.0"], &["5.5"]),
    ]);
}

#[test]
fn numbers_that_have_no_exponent_are_noted() {
    let model = Model::named("hermes");
    for (schema, keyword) in [
        (r#"{"type": "number"}"#, None),
        (r#"{"type": "integer", "minimum": 1}"#, None),
        (r#"{"type": "number", "minimum": 0}"#, Some("minimum")),
        (r#"{"type": "number", "exclusiveMaximum": 0}"#, Some("maximum")),
        (r#"{"type": "number", "not": {"const": 1}}"#, Some("not")),
    ] {
        let grammar = build(model, &argument(schema)).unwrap();
        assert_eq!(keywords(&grammar, Effect::Tighter).first().copied(), keyword, "{schema}");
    }
}

#[test]
fn items_of_few_listed_values_differ() {
    assert_judged(&[
        (
            r#"{"type": "array", "uniqueItems": true, "items": {"enum": ["a", "b", "c"]}}"#,
            &["[]", r#"["a"]"#, r#"["b", "a"]"#, r#"["c", "a", "b"]"#],
            &[r#"["a", "a"]"#, r#"["a", "b", "a"]"#, r#"["d"]"#],
        ),
        (
            r#"{"type": "array", "uniqueItems": true, "items": {"enum": ["a", "b", "c", 1]}, "minItems": 2, "maxItems": 3}"#,
            &[r#"["a", "b"]"#, r#"["b", 1, "a"]"#],
            &["[]", r#"["a"]"#, r#"["a", "b", "a"]"#, r#"["a", "b", "c", 1]"#],
        ),
        (
            r#"{"type": "array", "uniqueItems": true, "items": {"anyOf": [{"const": 1}, {"enum": [1.0, 2]}]}}"#,
            &["[1, 2]", "[2]"],
            &["[1, 1]", "[2, 1, 2]"],
        ),
        (r#"{"enum": [[1, 2], [1, 1.0]], "uniqueItems": true}"#, &["[1, 2]"], &["[1, 1.0]"]),
        // One item has nothing to differ from.
        (r#"{"type": "array", "uniqueItems": true, "maxItems": 1}"#, &["[]", "[7]"], &["[7, 7]"]),
    ]);
    let model = Model::named("hermes");
    let few = argument(r#"{"type": "array", "uniqueItems": true, "items": {"enum": ["a", "b"]}, "minItems": 3}"#);
    assert!(build(model, &few).unwrap_err().contains("nothing satisfies"));
    let many = argument(r#"{"type": "array", "uniqueItems": true, "items": {"enum": [1, 2, 3, 4, 5]}}"#);
    assert_eq!(keywords(&build(model, &many).unwrap(), Effect::Looser), ["uniqueItems"]);
}

#[test]
fn texts_of_a_pattern_have_the_spellings_of_json_writers() {
    let any =
        [r#""\u001b[0m""#, r#""it\u0027s \u003cb\u003e""#, r#""\u00e9""#, r#""\ud83d\ude00""#, r#""\u0022 \u005C""#];
    assert_judged(&[
        (r#"{"type": "string", "pattern": "^.*$"}"#, &any, &[r#""\u000a""#, r#""\ud83d""#]),
        (r#"{"type": "string", "pattern": "^[^x]*$"}"#, &any, &[r#""\u0078""#, r#""\u001bx""#]),
        (r#"{"type": "string", "pattern": "^[\\x00-\\x1f]+$"}"#, &[r#""\u001b\f\u000C""#], &[r#""\u0020""#]),
        (r#"{"type": "string", "pattern": "^\\v$"}"#, &[r#""\u000b""#, r#""\u000B""#], &[r#""\u000c""#, r#""v""#]),
        (r#"{"type": "string", "pattern": "^é$"}"#, &[r#""é""#, r#""\u00e9""#], &[r#""\u00e8""#, r#""\u00e9\u00e9""#]),
        // Too long to be counted beside the markers: one character is repeated.
        (
            r#"{"type": "string", "maxLength": 40}"#,
            &[r#""\u001b\u00e9""#],
            &[&format!(r#""{}""#, r"\u00e9".repeat(41))],
        ),
        (r#"{"type": "string", "pattern": "^.$"}"#, &[r#""\ud83d\ude00""#], &[r#""\u0027\u0027""#]),
    ]);
}

#[test]
fn listed_texts_have_the_spellings_of_json_writers() {
    assert_judged(&[
        (
            r#"{"enum": ["it's é"]}"#,
            &[r#""it's é""#, r#""it's \u00e9""#, r#""it\u0027s é""#, r#""it\u0027s \u00e9""#],
            &[r#""it\u0028s é""#, r#""it's e""#],
        ),
        // The text as it is would end the call.
        (
            r#"{"const": "a</tool_call>"}"#,
            &[r#""a\u003c/tool_call\u003e""#, r#""a\u003c\u002ftool\u005fcall\u003e""#],
            &[r#""a</tool_call>""#],
        ),
    ]);
}

#[test]
fn patterns_have_the_escapes_and_sets_of_ecmascript() {
    assert_judged(&[
        (r#"{"type": "string", "pattern": "^\\u{43}$"}"#, &[r#""C""#], &[r#""u""#, r#""u{43}""#]),
        (r#"{"type": "string", "pattern": "^[\\u{1F600}-\\u{1F64F}]$"}"#, &[r#""😀""#], &[r#""a""#]),
        (r#"{"type": "string", "pattern": "^[^]$"}"#, &[r#""a""#, r#""]""#, r#""\n""#], &[r#""""#, r#""ab""#]),
        (r#"{"type": "string", "pattern": "^a[]?$"}"#, &[r#""a""#], &[r#""a]""#]),
        (r#"{"type": "string", "pattern": "^[^\\cA]$"}"#, &[r#""A""#], &[r#""\u0001""#]),
    ]);
    for pattern in [r"^\\u{}$", r"^\\u{110000}$", r"^\\c1$", "^[^$"] {
        let schema = argument(&format!(r#"{{"type": "string", "pattern": "{pattern}"}}"#));
        let problem = build(Model::named("hermes"), &schema).unwrap_err();
        assert!(problem.contains("not a regular expression"), "{pattern}: {problem}");
    }
}
