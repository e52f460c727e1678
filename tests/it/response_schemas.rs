//! Response schemas: what they read in an output, how they fail, and where they are recognized.

use backchat::json;
use backchat_legacy::schema::Schema;

/// The message, or the kind and the place of the error.
fn answer(schema: &str, text: &str) -> String {
    let loaded = Schema::load(schema).unwrap_or_else(|found| panic!("{schema}: {found:?}"));
    match loaded.schema.parse(text) {
        Ok(message) => message.to_string(),
        Err(error) => format!("{} {}", error.kind.name(), error.path),
    }
}

#[test]
fn a_schema_parses_like_recursive_parse() {
    for (schema, text, want) in [
        // A constant needs no content, and a null content nothing at all.
        (r#"{"const": 1}"#, "x", "1"),
        (r#"{"x-regex": "b(.)?", "x-parser": "yaml"}"#, "a", "null"),
        // Groups.
        (r#"{"x-regex": "<(.*?)>"}"#, "a<b>c", r#""b""#),
        (r#"{"x-regex": "(?P<a>a)?(?P<b>b)(.)"}"#, "bc", r#"{"b": "b"}"#),
        (r#"{"x-regex": "(?:(x)|b)", "type": "array"}"#, "b", "[]"),
        (r#"{"x-regex": "(?:(x)|b)", "type": "string"}"#, "b", "type $"),
        (r#"{"x-regex": "b"}"#, "b", "groups $"),
        (r#"{"x-regex": "(a)(b)"}"#, "ab", "groups $"),
        (r#"{"x-regex": "(a"}"#, "ab", "pattern $"),
        // Substitutions come first, and read `\1`, `\g<0>` and escapes.
        (r#"{"x-regex-substitutions": [["a(.)", "<\\1\\g<0>\\n>"], ["b", ""]]}"#, "ab", r#""<a\n>""#),
        (r#"{"x-regex-substitutions": [["x*", "-"]]}"#, "axb", r#""-a--b-""#),
        (r#"{"x-regex-substitutions": [["a", "\\q"]]}"#, "b", "pattern $"),
        (r#"{"x-regex-substitutions": [["a", "\\1"]]}"#, "b", "pattern $"),
        // Iterators and pairs.
        (r#"{"type": "array", "x-regex-iterator": "<(.)>", "items": {"type": "integer"}}"#, "<1><2>", "[1, 2]"),
        (r#"{"type": "array", "x-regex-iterator": "<(.)>", "items": {}}"#, "", "null"),
        (r#"{"x-regex-iterator": "<(.)>"}"#, "<1>", "node $"),
        (
            r#"{"type": "object", "x-regex-key-value": "(?P<key>.)=(?P<value>.);?"}"#,
            "a=1;b=2;a=3",
            r#"{"a": "3", "b": "2"}"#,
        ),
        (r#"{"type": "object", "x-regex-key-value": "(?P<key>.)=(?P<v>.)"}"#, "a=1", "groups $"),
        // Parsers.
        (r#"{"x-parser": "json"}"#, "[1, 1.50, 12345678901234567890123]", "[1, 1.50, 12345678901234567890123]"),
        (r#"{"x-parser": "json"}"#, "{", "json $"),
        (r#"{"x-parser": "json", "x-parser-args": {"allow_non_json": true}}"#, "{", r#""{""#),
        (r#"{"x-parser": "yaml"}"#, "a", "parser $"),
        (
            r#"{"x-parser": "json", "x-parser-args": {"transform": "[*].{n: name, all: @}"}}"#,
            r#"[{"name": "f", "b": 1}]"#,
            r#"[{"n": "f", "all": {"name": "f", "b": 1}}]"#,
        ),
        (r#"{"x-parser": "json", "x-parser-args": {"transform": "abs(@)"}}"#, r#""a""#, "transform $"),
        (
            r#"{"x-parser": "gemma4-tool-call"}"#,
            r#"{a:<|"|>x, y:"z"<|"|>,b:[{c:1}]}"#,
            r#"{"a": "x, y:\"z\"", "b": [{"c": 1}]}"#,
        ),
        // Types.
        (r#"{"type": "number", "x-parser": "json"}"#, "3", "3.0"),
        (r#"{"type": "number"}"#, "1_0", "10.0"),
        (r#"{"type": "integer", "x-parser": "json"}"#, "true", "true"),
        (r#"{"type": "integer"}"#, " ٣ ", "3"),
        (r#"{"type": "integer"}"#, "3.0", "value $"),
        (r#"{"type": "boolean"}"#, "TRUE", "true"),
        (r#"{"type": "boolean"}"#, "yes", "value $"),
        (r#"{"type": "string", "x-parser": "json"}"#, "3", "type $"),
        (r#"{"type": "wish"}"#, "3", "node $"),
        // Objects from a string, and from an object.
        (
            r#"{"type": "object", "properties": {"b": {"x-regex": "(b)"}, "c": {"x-regex": "(c)"}, "r": {"const": null}}}"#,
            "b",
            r#"{"b": "b"}"#,
        ),
        (
            r#"{"type": "object", "x-parser": "json", "additionalProperties": {"type": "number"},
                "properties": {"z": {"default": []}, "a": {}, "r": {"const": 1}}}"#,
            r#"{"x": 1, "a": null}"#,
            r#"{"z": [], "a": null, "r": 1, "x": 1.0}"#,
        ),
        (r#"{"type": "object", "x-parser": "json", "additionalProperties": false}"#, r#"{"x": 1}"#, "{}"),
        (r#"{"type": "object"}"#, "b", "node $"),
        (r#"{"type": "object", "x-parser": "json"}"#, "[]", "type $"),
        (r#"{"type": "object", "properties": {}, "required": ["a"]}"#, "b", "required $"),
        // Arrays.
        (r#"{"type": "array", "x-parser": "json"}"#, "0", "[]"),
        (r#"{"type": "array", "x-parser": "json"}"#, "[1]", "node $"),
        (r#"{"type": "array", "prefixItems": [{"type": "integer"}]}"#, "5", "[5]"),
        (r#"{"type": "array", "x-parser": "json", "prefixItems": [{}, {}]}"#, "[1]", "count $"),
        (
            r#"{"type": "object", "properties": {"calls": {"type": "array", "x-parser": "json", "items": {"type": "string"}}}}"#,
            "[1]",
            "type $.properties.calls.items",
        ),
    ] {
        assert_eq!(answer(schema, text), want, "{schema} on {text:?}");
    }
}

#[test]
fn expressions_evaluate_like_python_jmespath() {
    let value = r#"{"a": {"b": [1, 2.5, "x", null, [3]], "c": "é"}, "n": [3, 1, 2], "o": [{"k": 2, "v": "p"}, {"k": 1}], "big": 123456789012345678901}"#;
    for (expression, want) in [
        ("a.b[0]", "1"),
        ("a.b[-1][0]", "3"),
        ("n[::-1]", "[2, 1, 3]"),
        ("n[1:][0]", "[]"),
        ("a.b[]", r#"[1, 2.5, "x", 3]"#),
        ("o[*].v", r#"["p"]"#),
        ("o[?k > `1`].k | [0]", "2"),
        ("a.*", r#"[[1, 2.5, "x", null, [3]], "é"]"#),
        ("{y: n[0], x: a.c}", r#"{"y": 3, "x": "é"}"#),
        ("sum(n)", "6"),
        ("abs(`-3`)", "3"),
        ("avg(n)", "2.0"),
        ("ceil(`1.2`)", "2"),
        ("big", "123456789012345678901"),
        ("sort_by(o, &k)[0].k", "1"),
        ("max_by(o, &k).v", r#""p""#),
        ("to_string(a.c)", r#""é""#),
        ("to_string(o[0])", r#""{\"k\":2,\"v\":\"p\"}""#),
        ("to_number('1e2')", "1e2"),
        ("length(a.c)", "1"),
        ("keys(@)", r#"["a", "n", "o", "big"]"#),
        ("`1` == `true`", "false"),
        ("!n", "false"),
        ("a.c && n[5]", "null"),
        ("n[?@ != `1`]", "[3, 2]"),
        ("map(&k, o)", "[2, 1]"),
        ("merge(o[0], o[1])", r#"{"k": 1, "v": "p"}"#),
        ("type(&a)", "null"),
        ("not_null(x, a.c)", r#""é""#),
        ("n[0", "transform $"),
        ("nope(n)", "transform $"),
        ("sort(a.b)", "transform $"),
        ("length(`1`)", "transform $"),
        ("n[::0]", "transform $"),
        ("", "transform $"),
    ] {
        let node = json::Value::from([
            ("x-parser", "json".into()),
            ("x-parser-args", json::Value::from([("transform", expression.into())])),
        ]);
        assert_eq!(answer(&node.to_string(), value), want, "{expression}");
    }
}

#[test]
fn an_unusable_schema_is_rejected_at_its_position() {
    for (schema, want) in [
        ("[]", "$: a node of a response schema must be an object, not a list"),
        (r#"{"properties": []}"#, "properties: `properties` must be an object, not a list"),
        (r#"{"x-regex": 1}"#, "x-regex: `x-regex` must be a string, not a number"),
        (
            r#"{"x-regex-substitutions": "a"}"#,
            "x-regex-substitutions: `x-regex-substitutions` must be a list, not a string",
        ),
        (r#"{"x-regex-substitutions": [["a"]]}"#, "x-regex-substitutions[0]: a substitution must be two strings"),
        (r#"{"items": true, "type": "array"}"#, "items: a node of a response schema must be an object, not a bool"),
    ] {
        let found = Schema::load(schema).unwrap_err();
        let place = found[0].place.clone().unwrap();
        assert_eq!(format!("{}: {}", place.path.unwrap(), found[0].message), want);
        assert!(place.line_column.is_some(), "{schema}");
    }
    let deep = format!("{}{{}}{}", r#"{"items": "#.repeat(300), "}".repeat(300));
    assert!(Schema::load(&deep).unwrap_err()[0].message.contains("nested more than"));
}

#[test]
fn a_pattern_that_explodes_ends_in_an_error() {
    for pattern in ["(a+)+$", "((a|a)*)*b", "(.*)(.*)(.*)(.*)(.*)x"] {
        let schema = json::Value::from([("x-regex", pattern.into())]).to_string();
        let answer = answer(&schema, &"a".repeat(20_000));
        assert!(matches!(answer.as_str(), "pattern $" | "null" | "groups $") || answer.starts_with('"'), "{pattern}");
    }
    let growing = r#"{"x-regex-substitutions": [["a", "aaaaaaaaaa"], ["a", "aaaaaaaaaa"], ["a", "aaaaaaaaaa"], ["a", "aaaaaaaaaa"]]}"#;
    assert_eq!(answer(growing, &"a".repeat(20_000)), "pattern $");
}

#[test]
fn an_expression_that_multiplies_its_value_ends_in_an_error() {
    let doubling = vec!["[@, @]"; 40].join(" | ");
    let node = json::Value::from([
        ("x-parser", "json".into()),
        ("x-parser-args", json::Value::from([("transform", doubling.into())])),
    ]);
    assert_eq!(answer(&node.to_string(), "[1, 2, 3]"), "transform $");
}
