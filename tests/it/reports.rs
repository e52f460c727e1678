//! The reports for other programs are valid by the schemas in `tests/schemas`.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use backchat::json::{self, Value};
use roxmltree::{Document, Node};

use crate::support::integer;

/// What `check` and `lint` write in a format, of files in which about everything is wrong.
fn reports(format: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let template = "{\"start_anchor\": \"Bot:\", \"fields\": {\n\"a\": {\"open\": \"<é>\", \"close\": \"</é>\", \"content\": \"json\"},\n\
                    \"b\": {\"open\": \"<é>\"}, \"content\": {\"close_pattern\": \"<end>|$\"}}}";
    write("t &.json", template);
    write("broken.json", "{\"fields\": 1, \"x\": 2}");
    write(
        "a.fixture",
        "template: t &.json\n=== prefix none\n=== case one <&\"'>\n=== output\n\u{1b}[31m<é>{</é>\u{feff}\n=== message\n{\"a\": 1}\n\
         === case two\n=== output\nx\ny\n=== message\n{\"content\": \"x\\ny\"}\n=== case two\n",
    );
    write("b.fixture", "template: broken.json\n=== prefix none\n=== output\n=== message\n{}\n");
    let runs = [&["check"][..], &["lint", "t &.json", "broken.json"]];
    let reports = runs.map(|arguments| {
        let output = Command::new(env!("CARGO_BIN_EXE_backchat"))
            .args(arguments)
            .args(["-q", "--format", format])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stdout).unwrap()
    });
    reports.to_vec()
}

fn schema(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemas").join(name)).unwrap()
}

#[test]
fn sarif_is_valid() {
    let schema = json::read(&schema("sarif.schema.json")).unwrap();
    for report in reports("sarif") {
        let log = json::read(&report).unwrap();
        assert!(log.get("runs").unwrap().as_list().unwrap()[0].get("results").unwrap().as_list().unwrap().len() > 3);
        let problems = json_problems(&log, &schema, &schema, "$");
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }
    let wrong = json::read(
        r#"{"version": "2.1.0", "runs": [{"tool": {"driver": {}}, "results": [{"level": "bad", "message": {"text": ""}}]}]}"#,
    );
    assert_eq!(json_problems(&wrong.unwrap(), &schema, &schema, "$").len(), 2);
}

/// In what a value breaks a JSON Schema, of which these keywords are known.
fn json_problems(value: &Value, schema: &Value, root: &Value, at: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for (keyword, rule) in schema.as_object().unwrap() {
        let holds = match keyword {
            "$schema" | "title" | "description" | "definitions" => true,
            "$ref" => {
                let name = rule.as_str().unwrap().strip_prefix("#/definitions/").unwrap();
                problems.extend(json_problems(value, root.get("definitions").unwrap().get(name).unwrap(), root, at));
                true
            }
            "const" => value == rule,
            "enum" => rule.as_list().unwrap().contains(value),
            "type" => match rule.as_str().unwrap() {
                "object" => value.as_object().is_some(),
                "array" => value.as_list().is_some(),
                "string" => value.as_str().is_some(),
                "integer" => matches!(value, Value::Number(number) if number.is_integer()),
                other => panic!("the test does not know the type {other}"),
            },
            "minLength" => value.as_str().unwrap().len() as i64 >= integer(rule),
            "minItems" => value.as_list().unwrap().len() as i64 >= integer(rule),
            "minimum" => integer(value) >= integer(rule),
            "required" => rule.as_list().unwrap().iter().all(|key| value.get(key.as_str().unwrap()).is_some()),
            "additionalProperties" => {
                let known = schema.get("properties").unwrap().as_object().unwrap();
                value.as_object().unwrap().keys().all(|key| known.contains_key(key))
            }
            "properties" => {
                for (key, rule) in rule.as_object().unwrap() {
                    let inner = value.get(key).map(|value| json_problems(value, rule, root, &format!("{at}.{key}")));
                    problems.extend(inner.into_iter().flatten());
                }
                true
            }
            "items" => {
                for (index, item) in value.as_list().unwrap().iter().enumerate() {
                    problems.extend(json_problems(item, rule, root, &format!("{at}[{index}]")));
                }
                true
            }
            other => panic!("the test does not know the keyword {other}"),
        };
        if !holds {
            problems.push(format!("{at}: {keyword} does not hold"));
        }
    }
    problems
}

#[test]
fn junit_is_valid() {
    let schema = schema("junit.xsd");
    let schema = Document::parse(&schema).unwrap();
    let elements: HashMap<&str, Node<'_, '_>> = schema
        .root_element()
        .children()
        .filter(|node| node.tag_name().name() == "element")
        .map(|node| (node.attribute("name").unwrap(), node))
        .collect();
    for report in reports("junit") {
        let document = Document::parse(&report).unwrap();
        let problems = xml_problems(document.root_element(), &elements);
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }
    let wrong = Document::parse("<testsuites tests='-1'><testsuite tests='0'><x/></testsuite></testsuites>").unwrap();
    assert_eq!(xml_problems(wrong.root_element(), &elements).len(), 3);
}

fn named<'a, 'i>(node: Node<'a, 'i>, name: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    node.descendants().filter(move |node| node.tag_name().name() == name)
}

/// In what an element breaks the schema: its attributes, its children and their order and number, its text.
fn xml_problems(element: Node<'_, '_>, elements: &HashMap<&str, Node<'_, '_>>) -> Vec<String> {
    let name = element.tag_name().name();
    let Some(declared) = elements.get(name) else { return vec![format!("<{name}> is not known")] };
    let mut problems = Vec::new();
    let attributes: HashMap<_, _> =
        named(*declared, "attribute").map(|node| (node.attribute("name").unwrap(), node)).collect();
    for attribute in element.attributes() {
        let fits = attributes.get(attribute.name()).is_some_and(|declared| match declared.attribute("type").unwrap() {
            "xs:string" => true,
            "xs:nonNegativeInteger" => attribute.value().parse::<u64>().is_ok(),
            "xs:decimal" => attribute.value().parse::<f64>().is_ok_and(f64::is_finite),
            other => panic!("the test does not know the type {other}"),
        });
        if !fits {
            problems.push(format!("<{name} {}=\"{}\"> does not fit", attribute.name(), attribute.value()));
        }
    }
    for (attribute, declared) in attributes {
        if declared.attribute("use") == Some("required") && element.attribute(attribute).is_none() {
            problems.push(format!("<{name}> has no {attribute}"));
        }
    }
    let mut children = element.children().filter(Node::is_element).peekable();
    for allowed in named(*declared, "sequence").flat_map(|sequence| sequence.children()).filter(Node::is_element) {
        let is_allowed = |node: &Node<'_, '_>| node.tag_name().name() == allowed.attribute("ref").unwrap();
        let count = std::iter::from_fn(|| children.next_if(is_allowed)).count();
        let most = allowed.attribute("maxOccurs").and_then(|most| most.parse().ok()).unwrap_or(usize::MAX);
        if count > most {
            problems.push(format!("<{name}> has {count} times <{}>", allowed.attribute("ref").unwrap()));
        }
    }
    if children.next().is_some() {
        problems.push(format!("<{name}> has a child that is out of place"));
    }
    let has_text = element.children().any(|node| node.is_text() && !node.text().unwrap_or("").trim().is_empty());
    let is_mixed = named(*declared, "complexType").any(|node| node.attribute("mixed") == Some("true"));
    if has_text && !is_mixed {
        problems.push(format!("<{name}> has text"));
    }
    let known = element.children().filter(|node| node.is_element() && elements.contains_key(node.tag_name().name()));
    problems.extend(known.flat_map(|child| xml_problems(child, elements)));
    problems
}
