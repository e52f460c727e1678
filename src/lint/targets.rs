//! Who reads response templates, and what each of them refuses: one table, and the rules that read it.

use super::rule::{Page, Rule, Source};
use super::subject::{Side, Subject};
use crate::diagnostic::{Diagnostic, Severity};
use crate::json::{Path, Value};
use crate::pattern::{Construct, Pattern};
use crate::template::{ContentSpec, Field};

/// A program that reads response templates.
#[derive(Debug, PartialEq)]
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// The release that the table describes.
    pub version: &'static str,
    /// The fields it takes; all where absent.
    fields: Option<&'static [&'static str]>,
    /// What it calls a field that others call otherwise.
    renames: &'static [(&'static str, &'static str)],
    /// The keys of `defaults` it takes; all where absent.
    defaults: Option<&'static [&'static str]>,
    /// Fields that must be plain text, without `transform` and `join`.
    plain: &'static [&'static str],
    /// What its patterns may not use.
    refuses: &'static [Construct],
}

/// The names other programs use for the model's reasoning.
const REASONING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

/// What each reader refuses.
pub static TARGETS: [Target; 4] = [
    Target {
        name: "transformers",
        version: "5.23.0",
        fields: None,
        renames: &[],
        defaults: None,
        plain: &[],
        refuses: &[],
    },
    Target {
        name: "vllm",
        version: "0.33",
        fields: Some(&["thinking", "content", "tool_calls"]),
        renames: &[("reasoning_content", "thinking"), ("reasoning", "thinking")],
        defaults: Some(&["role"]),
        plain: &["thinking", "content"],
        refuses: &[],
    },
    Target {
        name: "smg",
        version: "0.1.0",
        fields: None,
        renames: &[],
        defaults: None,
        plain: &[],
        refuses: &[
            Construct::LookAhead,
            Construct::LookBehind,
            Construct::Backreference,
            Construct::Conditional,
            Construct::Recursion,
            Construct::Keep,
            Construct::FullFolding,
            Construct::Possessive,
            Construct::Atomic,
            Construct::DigitClass,
            Construct::CountedRepeat,
        ],
    },
    Target {
        name: "trl",
        version: "1.16.0",
        fields: Some(&["reasoning_content", "content", "tool_calls"]),
        renames: &[("thinking", "reasoning_content"), ("reasoning", "reasoning_content")],
        defaults: None,
        plain: &[],
        refuses: &[],
    },
];

/// What engines of other languages have not: those without backtracking (Rust's `regex`, RE2 in Go and C++), and
/// JavaScript's.
const ENGINES: [(&str, &[Construct]); 2] = [
    (
        "engines without backtracking (Rust, Go, RE2)",
        &[
            Construct::LookAhead,
            Construct::LookBehind,
            Construct::Backreference,
            Construct::Conditional,
            Construct::Recursion,
            Construct::Keep,
            Construct::FullFolding,
            Construct::Possessive,
            Construct::Atomic,
            Construct::SearchStart,
        ],
    ),
    (
        "JavaScript",
        &[
            Construct::Conditional,
            Construct::Recursion,
            Construct::Keep,
            Construct::FullFolding,
            Construct::Possessive,
            Construct::Atomic,
            Construct::SearchStart,
            Construct::InlineFlags,
        ],
    ),
];

impl Target {
    /// The target of a name.
    pub fn named(name: &str) -> Option<&'static Target> {
        TARGETS.iter().find(|target| target.name == name)
    }

    fn title(&self) -> String {
        format!("{} {}", self.name, self.version)
    }
}

pub(super) static TARGET_FIELD: Rule = Rule {
    id: "RT050",
    name: "target-field",
    severity: Severity::Error,
    page: Page {
        what: "A target (`--target`) does not take a field or a default of this name.",
        why: "It refuses the whole template when it starts, or leaves the field out of its answers.",
        example: "\"reasoning_content\": {…} with `--target vllm`, which knows `thinking`",
        fix: "Rename the field as the target does; keep one file for each target where their names differ.",
    },
    source: Source::Check(target_field),
};

pub(super) static TARGET_CONSTRUCT: Rule = Rule {
    id: "RT051",
    name: "target-construct",
    severity: Severity::Error,
    page: Page {
        what: "A target (`--target`) refuses a construct of the format that this field uses.",
        why: "It refuses the whole template when it starts.",
        example: "\"content\": {\"repeats\": true, \"join\": \"\"} with `--target vllm`",
        fix: "Leave the construct out for this target.",
    },
    source: Source::Check(target_construct),
};

pub(super) static TARGET_PATTERN: Rule = Rule {
    id: "RT052",
    name: "target-pattern",
    severity: Severity::Error,
    page: Page {
        what: "A target (`--target`) refuses something in this pattern.",
        why: "Its engine for patterns has no such construct, and the template does not load there.",
        example: "\"close_pattern\": \"</call>(?=\\\\s)\" with `--target smg`",
        fix: "Write literals, or the pattern without the construct.",
    },
    source: Source::Check(target_pattern),
};

pub(super) static PORTABLE_PATTERN: Rule = Rule {
    id: "RT053",
    name: "portable-pattern",
    severity: Severity::Note,
    page: Page {
        what: "The engines of other languages refuse this pattern.",
        why: "The format is read in Python, Rust and JavaScript; a pattern that only one of them takes binds the model to it.",
        example: "\"open_pattern\": \"<call>(?!\\\\s*</call>)\"",
        fix: "Write literals where they do the same, and no look-around, back-references, atomic groups or possessive repeats.",
    },
    source: Source::Check(portable_pattern),
};

fn target_field(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for target in subject.targets {
        for field in subject.template.fields() {
            let Some(known) = target.fields.filter(|known| !known.contains(&field.name.as_str())) else { continue };
            let path = Subject::path(field);
            let names: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
            let message =
                format!("{} does not take a field `{}`: it knows {}", target.title(), field.name, names.join(", "));
            let finding = rule.finding(message).at(subject.key_place(&path));
            let new = target.renames.iter().find(|(old, _)| *old == field.name).map(|(_, new)| *new);
            let new = new.filter(|new| subject.template.field(new).is_none());
            found.push(match new.map(|new| (new, subject.rename_key(&path, new))) {
                Some((new, Some(edits))) => {
                    finding.help(format!("rename it to `{new}`")).fix(format!("rename it to `{new}`"), edits)
                }
                Some((new, None)) => finding.help(format!("rename it to `{new}`")),
                None => finding.help("leave it out for this target, or keep a file for each target"),
            });
        }
        for key in subject.template.defaults().keys() {
            let Some(known) = target.defaults.filter(|known| !known.contains(&key.as_str())) else { continue };
            let names: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
            let message =
                format!("{} does not take a default for `{key}`: only for {}", target.title(), names.join(", "));
            let path = Path::root().key("defaults").key(key);
            found.push(rule.finding(message).at(subject.key_place(&path)).help("leave it out for this target"));
        }
    }
    // What one target wants another may refuse.
    let names = subject.template.fields().iter().filter(|field| REASONING.contains(&field.name.as_str()));
    if names.count() > 1 {
        found.iter_mut().for_each(|finding| finding.fix = None);
    }
    found
}

fn target_construct(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for target in subject.targets {
        let plain = |field: &&Field| target.plain.contains(&field.name.as_str());
        for field in subject.template.fields().iter().filter(plain) {
            let path = Subject::path(field);
            let is_text = matches!(field.content, ContentSpec::Text { .. });
            let uses = [
                (!is_text, "content", "must be plain text"),
                (field.transform.is_some(), "transform", "may have no `transform`"),
                (field.join.is_some(), "join", "may have no `join`"),
            ];
            for (_, key, wants) in uses.into_iter().filter(|(used, ..)| *used) {
                let message = format!("for {} `{}` {wants}", target.title(), field.name);
                let finding = rule.finding(message).at(subject.key_place(&path.key(key)));
                found.push(finding.help("leave it out for this target"));
            }
        }
    }
    found
}

/// Every pattern that is written as one, with its path.
fn patterns<'t>(subject: &Subject<'t>) -> Vec<(Path, &'t Pattern)> {
    let mut patterns = Vec::new();
    let anchor = subject.template.start_anchor();
    if anchor.literals().is_none() {
        patterns.push((Path::root().key("start_anchor_pattern"), anchor.pattern()));
    }
    for (field, side, delimiter) in subject.delimiters() {
        if delimiter.literals().is_none() {
            patterns.push((Subject::delimiter_path(field, side), delimiter.pattern()));
        }
        if side == Side::Open
            && let ContentSpec::XmlInline(args) = &field.content
        {
            patterns.push((Subject::path(field).key("content_args").key("tag_pattern"), &args.tag_pattern));
        }
    }
    patterns
}

fn names_of(used: &[Construct]) -> String {
    used.iter().map(|construct| construct.name()).collect::<Vec<_>>().join(", ")
}

fn refused(pattern: &Pattern, refuses: &[Construct]) -> Vec<Construct> {
    pattern.shape().constructs.into_iter().filter(|construct| refuses.contains(construct)).collect()
}

fn target_pattern(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for target in subject.targets.iter().filter(|target| !target.refuses.is_empty()) {
        for (path, pattern) in patterns(subject) {
            let used = refused(pattern, target.refuses);
            if !used.is_empty() {
                let message = format!("{} refuses this pattern: {}", target.title(), names_of(&used));
                found.push(
                    rule.finding(message).at(subject.place(&path)).help("write literals, or the pattern without it"),
                );
            }
        }
    }
    found
}

fn portable_pattern(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (path, pattern) in patterns(subject) {
        let refusing: Vec<_> = ENGINES.iter().map(|(engine, refuses)| (engine, refused(pattern, refuses))).collect();
        let refusing: Vec<_> = refusing.iter().filter(|(_, used)| !used.is_empty()).collect();
        if let Some((_, used)) = refusing.first() {
            let engines: Vec<_> = refusing.iter().map(|(engine, _)| **engine).collect();
            let message = format!("{} refuse this pattern: {}", engines.join(" and "), names_of(used));
            let example = Value::from(pattern.source());
            let help = format!("if the format is to be read there, write {example} without it");
            found.push(rule.finding(message).at(subject.place(&path)).help(help));
        }
    }
    found
}

pub(super) static EXPLODING_PATTERN: Rule = Rule {
    id: "RT060",
    name: "exploding-pattern",
    severity: Severity::Warning,
    page: Page {
        what: "A pattern repeats something that can take the same text in many ways.",
        why: "An engine that backtracks, as Python's does, tries them all before it gives up: on an output that is cut short at the wrong place a server stands still. Backchat stops with an error.",
        example: "\"open_pattern\": \"<call(?:\\\\s*\\\\w*)*>\"",
        fix: "Let each character be taken by one part of the pattern only: `<call[\\\\s\\\\w]*>`.",
    },
    source: Source::Check(exploding),
};

fn exploding(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    use crate::pattern::Explosion;
    let found = patterns(subject).into_iter().filter_map(|(path, pattern)| {
        let why = match pattern.shape().explosion? {
            Explosion::Nested => "a repeat inside a repeat can split one text up in endlessly many ways",
            Explosion::Branches => "two branches under a repeat can take the same text",
        };
        let finding = rule.finding(format!("the pattern may take exponential time: {why}")).at(subject.place(&path));
        Some(finding.help("let each character be taken by one part of the pattern only"))
    });
    found.collect()
}
