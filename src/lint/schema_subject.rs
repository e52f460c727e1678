//! Response schemas: what the reference will refuse, what it reads otherwise than its author thinks, and that nobody
//! reads them any more.

use super::rule::{Page, Rule, Source};
use crate::diagnostic::{Diagnostic, Place, Severity, shell_word};
use crate::json::{self, Path, Value};
use crate::pattern::{Part, Pattern};
use crate::schema::source::OpenedSchema;
use crate::schema::{Node, Schema};

pub(super) static SCHEMA_IS_IGNORED: Rule = Rule {
    id: "SC001",
    name: "schema-is-ignored",
    severity: Severity::Note,
    page: Page {
        what: "The file has a response schema, which transformers 5.15 and later ignore.",
        why: "The key `response_schema` is dropped without a word: `parse_response` gives the raw text, and no server reads it.",
        example: "\"response_schema\": {\"type\": \"object\", \"properties\": {…}}",
        fix: "Convert it: `backchat convert SOURCE --write` makes a response template of it and reports what changes.",
    },
    source: Source::Schema(ignored),
};
pub(super) static UNREADABLE: Rule = Rule {
    id: "SC010",
    name: "schema-pattern",
    severity: Severity::Error,
    page: Page {
        what: "A pattern, a replacement or a JMESPath expression of a response schema cannot be read.",
        why: "The reference raises when it gets there, which may be on some outputs only.",
        example: "\"x-regex\": \"\\\\p{L}+\"",
        fix: "Write it in the syntax of Python's `re` (flags at the front, look-behinds of fixed width, no `\\p{…}`) or of JMESPath.",
    },
    source: Source::Schema(unreadable),
};

pub(super) static GROUPS: Rule = Rule {
    id: "SC011",
    name: "schema-groups",
    severity: Severity::Error,
    page: Page {
        what: "A pattern of a response schema has groups that its node cannot use.",
        why: "Without named groups there must be exactly one group; `x-regex-key-value` needs the groups `key` and `value`. Otherwise the reference raises on every match.",
        example: "\"x-regex\": \"<think>.*?</think>\"",
        fix: "Put one group around what the node takes, and write the others as `(?:…)`.",
    },
    source: Source::Schema(groups),
};

pub(super) static MISPLACED: Rule = Rule {
    id: "SC012",
    name: "schema-misplaced-iterator",
    severity: Severity::Error,
    page: Page {
        what: "`x-regex-iterator` is on a node that is not an array, or `x-regex-key-value` on one that is not an object.",
        why: "The reference raises on every output that reaches the node.",
        example: "{\"type\": \"object\", \"x-regex-iterator\": \"<call>(.*?)</call>\"}",
        fix: "Give the node the type `array` with `items`, or `object`.",
    },
    source: Source::Schema(misplaced),
};

pub(super) static UNREAD: Rule = Rule {
    id: "SC020",
    name: "schema-unread-key",
    severity: Severity::Warning,
    page: Page {
        what: "A node of a response schema has a key that nothing reads.",
        why: "`anyOf`, `enum` and `pattern` do nothing, `x-mapping` and `x-mapping-regex` do nothing since transformers 5.4, and neither does an `x-` key with a typing mistake.",
        example: "\"x-mapping\": {\"a\": \"b\"}",
        fix: "Remove it; where it should rename something, do so in `x-parser-args.transform`.",
    },
    source: Source::Schema(unread),
};

pub(super) static EXPLODING: Rule = Rule {
    id: "SC030",
    name: "schema-exploding-pattern",
    severity: Severity::Warning,
    page: Page {
        what: "A pattern of a response schema can take exponential time.",
        why: "Python's `re` backtracks: on an output cut short in the wrong place the process hangs. Backchat stops with an error.",
        example: "\"x-regex\": \"(?:\\\\w+\\\\s*)+$\"",
        fix: "Let each character be taken by one part of the pattern only.",
    },
    source: Source::Schema(exploding),
};

pub(super) static KEEPS_STOP: Rule = Rule {
    id: "SC040",
    name: "schema-keeps-stop",
    severity: Severity::Warning,
    page: Page {
        what: "`content` keeps the stop token where the output has one.",
        why: "The next prompt then has it twice. Whether the output has it depends on how it was decoded.",
        example: "\"content\": {\"type\": \"string\", \"x-regex\": \"^(.*)$\"}",
        fix: "End the pattern with the token or the end: `(.*?)(?:<\\|end\\|>|$)`. A converted template ends there as well.",
    },
    source: Source::Schema(keeps_stop),
};

pub(super) static LONE_CALL: Rule = Rule {
    id: "SC050",
    name: "schema-lone-call",
    severity: Severity::Warning,
    page: Page {
        what: "The list of calls can hold one call only.",
        why: "`x-regex` takes the first match. A second call is dropped, or ends up in `content`.",
        example: "{\"type\": \"array\", \"x-parser\": \"json\", \"x-parser-args\": {\"transform\": \"[@]\"}}",
        fix: "Read calls with `x-regex-iterator`. A converted template reads each.",
    },
    source: Source::Schema(lone_call),
};

/// A schema under lint.
pub(super) struct SchemaSubject<'s> {
    opened: &'s OpenedSchema,
}

impl<'s> SchemaSubject<'s> {
    pub fn new(opened: &'s OpenedSchema) -> Self {
        Self { opened }
    }

    fn schema(&self) -> &'s Schema {
        &self.opened.loaded.schema
    }

    fn place(&self, path: &Path) -> Place {
        let text = self.opened.sources.text(Some(&self.opened.file)).unwrap_or("");
        let span = self.opened.places.at(path).map_or(0..0, |places| places.value.clone());
        Place::span(text, span).in_file(&self.opened.file).path(path.below(&self.opened.path).to_string())
    }

    /// Every node of the schema.
    fn nodes(&self) -> Vec<&'s Node> {
        let mut nodes = Vec::new();
        self.schema().root().walk(&mut |node| nodes.push(node));
        nodes
    }

    /// Each pattern that compiles, with its node and its key.
    fn patterns(&self) -> Vec<(&'s Node, &'static str, &'s Pattern)> {
        let keyed = |node: &'s Node| {
            let keys = [
                ("x-regex", &node.regex),
                ("x-regex-iterator", &node.iterator),
                ("x-regex-key-value", &node.key_value),
            ];
            keys.into_iter().filter_map(move |(key, regex)| Some((node, key, regex.as_ref()?.pattern.as_ref().ok()?)))
        };
        self.nodes().into_iter().flat_map(keyed).collect()
    }
}

fn ignored(subject: &SchemaSubject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let file = shell_word(&subject.opened.file);
    let finding = rule.finding("transformers 5.15 and later ignore response schemas").at(subject.place(&Path::root()));
    vec![finding.help(format!("make a response template of it: `backchat convert {file}`"))]
}

fn unreadable(subject: &SchemaSubject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for node in subject.nodes() {
        let keys =
            [("x-regex", &node.regex), ("x-regex-iterator", &node.iterator), ("x-regex-key-value", &node.key_value)];
        for (key, regex) in keys {
            if let Some(Err(error)) = regex.as_ref().map(|regex| &regex.pattern) {
                let message = format!("the pattern does not compile: {error} (at byte {})", error.offset);
                found.push(rule.finding(message).at(subject.place(&node.path.key(key))));
            }
        }
        for (index, substitution) in node.substitutions.iter().enumerate() {
            let path = node.path.key("x-regex-substitutions").index(index);
            let message = match (&substitution.regex.pattern, &substitution.replacement) {
                (Err(error), _) => format!("the pattern does not compile: {error}"),
                (Ok(_), Err(error)) => format!("the replacement cannot be read: {error}"),
                _ => continue,
            };
            found.push(rule.finding(message).at(subject.place(&path)));
        }
        if let Some((_, Err(error))) = node.parser.as_ref().and_then(|parser| parser.transform.as_ref()) {
            let path = node.path.key("x-parser-args").key("transform");
            let message = format!("the JMESPath expression cannot be read: {error}");
            found.push(rule.finding(message).at(subject.place(&path)));
        }
    }
    found.into_iter().map(|finding| finding.help("the reference raises when it gets there")).collect()
}

fn groups(subject: &SchemaSubject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let found = subject.patterns().into_iter().filter_map(|(node, key, pattern)| {
        let named: Vec<&str> = pattern.names().collect();
        let message = match (key, pattern.group_count()) {
            ("x-regex-key-value", _) if ["key", "value"].iter().all(|name| named.contains(name)) => return None,
            ("x-regex-key-value", _) => "the pattern needs the groups `key` and `value`".to_owned(),
            (_, 1) => return None,
            _ if !named.is_empty() => return None,
            (_, 0) => "the pattern has no group that takes the value".to_owned(),
            (_, count) => format!("the pattern has {count} groups without names, and one is needed"),
        };
        let finding = rule.finding(message).at(subject.place(&node.path.key(key)));
        Some(finding.help("put one group around the value; write the others as `(?:…)`"))
    });
    found.collect()
}

fn misplaced(subject: &SchemaSubject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let found = subject.patterns().into_iter().filter_map(|(node, key, _)| {
        let wanted = match key {
            "x-regex-iterator" => "array",
            "x-regex-key-value" => "object",
            _ => return None,
        };
        let message = format!("`{key}` works in a node of type `{wanted}` only");
        let finding = rule.finding(message).at(subject.place(&node.path.key(key)));
        (node.type_name() != Some(wanted)).then(|| finding.help(format!("write `\"type\": \"{wanted}\"`")))
    });
    found.collect()
}

fn unread(subject: &SchemaSubject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for node in subject.nodes() {
        for key in &node.unread {
            let message = format!("nothing reads `{}`", crate::diagnostic::shortened(key, 40));
            found.push(rule.finding(message).at(subject.place(&node.path.key(key))).help("remove it"));
        }
    }
    found
}

fn exploding(subject: &SchemaSubject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let found = subject.patterns().into_iter().filter(|(_, _, pattern)| pattern.shape().explosion.is_some());
    let finding = |(node, key, _): (&Node, &str, &Pattern)| {
        let finding = rule.finding("the pattern may take exponential time").at(subject.place(&node.path.key(key)));
        finding.help("let each character be taken by one part of the pattern only")
    };
    found.map(finding).collect()
}

/// A token that no schema knows, where the file does not name the one that ends a sequence.
const UNKNOWN_STOP: &str = "<|eot|>";

fn keeps_stop(subject: &SchemaSubject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let root = subject.schema().root();
    let Some(content) = root.property("content") else { return Vec::new() };
    let known = stop_token(subject.opened.sources.text(Some(&subject.opened.file)).unwrap_or(""));
    // Where the token is not known, a pattern that has any mark is taken to have the right one.
    let regexes = [&content.regex, &root.regex];
    let pattern = regexes.into_iter().flatten().find_map(|regex| regex.pattern.as_ref().ok());
    if known.is_none() && pattern.is_some_and(|pattern| has_text(&pattern.outline())) {
        return Vec::new();
    }
    let stop = known.unwrap_or_else(|| UNKNOWN_STOP.to_owned());
    let text = format!("Hello.{stop}");
    let keeps =
        |message: &Value| message.get("content").and_then(Value::as_str).is_some_and(|text| text.contains(&stop));
    if !subject.schema().parse(&text).is_ok_and(|message| keeps(&message)) {
        return Vec::new();
    }
    let message = format!("`content` keeps the stop token of an output such as {}", Value::from(text));
    vec![rule.finding(message).at(subject.place(&content.path)).help("end the pattern at the token as well")]
}

fn stop_token(text: &str) -> Option<String> {
    let document = json::read(text).ok()?;
    let token = document.get("eos_token")?;
    token.as_str().or_else(|| token.get("content").and_then(Value::as_str)).map(str::to_owned)
}

fn has_text(parts: &[Part]) -> bool {
    parts.iter().any(|part| match part {
        Part::Text(text) => !text.trim().is_empty(),
        Part::Group { parts, .. } | Part::Maybe(parts) | Part::Many(parts) => has_text(parts),
        Part::Either(branches) => branches.iter().any(|branch| has_text(branch)),
        _ => false,
    })
}

fn lone_call(subject: &SchemaSubject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let is_lone = |node: &&Node| {
        if node.type_name() != Some("array") {
            return false;
        }
        let iterates = node.iterator.as_ref().and_then(|regex| regex.pattern.as_ref().ok());
        let wraps = node.parser.as_ref().and_then(|parser| parser.transform.as_ref()).is_some_and(|(source, _)| {
            let inside = source.trim().strip_prefix('[').unwrap_or("*");
            !inside.trim_start().starts_with(['*', '?', ']', ':', '-'])
                && !inside.starts_with(|c: char| c.is_ascii_digit())
        });
        wraps || iterates.is_some_and(|pattern| !has_text(&pattern.outline()))
    };
    let finding = |node: &Node| {
        let finding = rule.finding("the list can hold one call only").at(subject.place(&node.path));
        finding.help("read calls with `x-regex-iterator`; `backchat convert` reads each")
    };
    subject.nodes().into_iter().filter(is_lone).map(finding).collect()
}
