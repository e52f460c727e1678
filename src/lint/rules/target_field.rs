//! What the readers of `--target` refuse or misread, and which engines of other languages take the patterns.

use super::rule::{Page, Rule, Source};
use super::subject::{Side, Subject};
use crate::diagnostic::{Diagnostic, Severity};
use crate::json::{Path, Value};
use crate::pattern::Pattern;
use crate::targets::{ENGINES, Reason, Refusal, THINKING};
use crate::template::ContentSpec;

/// The names other programs use for the model's reasoning.
const REASONING: [&str; 3] = ["reasoning_content", THINKING, "reasoning"];

pub(super) static TARGET_FIELD: Rule = Rule {
    id: "RT050",
    name: "target-field",
    severity: Severity::Error,
    page: Page {
        what: "A target (`--target`) does not take a field or a default of this name.",
        why: "It refuses the whole template when it starts.",
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
        why: "The template does not load there. What `smg` refuses is asked from its own code, in its release 0.1.0.",
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

pub(super) static TARGET_CAUTION: Rule = Rule {
    id: "RT054",
    name: "target-caution",
    severity: Severity::Warning,
    page: Page {
        what: "A target (`--target`) loads the template and then drops or misreads something.",
        why: "Nothing is said when the server starts: calls are dropped, reasoning never ends, or marks stay in the text.",
        example: "\"thinking\": {\"open\": \"<think>\", \"close_pattern\": \"</think>\\\\s*\"} with `--target vllm`",
        fix: "Write what the finding says; often a literal instead of a pattern.",
    },
    source: Source::Check(target_caution),
};

/// What the readers of the targets refuse, each reader once.
fn refused(subject: &Subject<'_>, reasons: fn(Reason) -> bool) -> Vec<Refusal> {
    let refusals = subject.readers().into_iter().flat_map(|reader| reader.check(subject.template));
    refusals.filter(|refusal| reasons(refusal.reason)).collect()
}

fn target_field(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for Refusal { reader, place, reason, words } in
        refused(subject, |reason| matches!(reason, Reason::Field | Reason::Default))
    {
        let finding = rule.finding(format!("{} refuses this: {words}", reader.title())).at(subject.key_place(&place));
        // Only the name of the reasoning differs from reader to reader.
        let name =
            subject.template.fields().iter().find(|field| Subject::path(field) == place).map(|field| &field.name);
        let is_reasoning = name.is_some_and(|name| REASONING.contains(&name.as_str()));
        let new = reader.limits().reasoning.filter(|new| is_reasoning && subject.template.field(new).is_none());
        found.push(match new {
            Some(new) => {
                let help = format!("rename it to `{new}`");
                let edits = subject.rename_key(&place, new).filter(|_| !has_default(subject, name));
                let finding = finding.help(help.clone());
                match edits {
                    Some(edits) => finding.fix(help, edits),
                    None => finding,
                }
            }
            None if reason == Reason::Default => finding.help("leave this default out for the target"),
            None => finding.help("leave it out for this target, or keep a file for each target"),
        });
    }
    // Of two names for the reasoning only one can become the other.
    let names = subject.template.fields().iter().filter(|field| REASONING.contains(&field.name.as_str()));
    if names.count() > 1 {
        found.iter_mut().for_each(|finding| finding.fix = None);
    }
    found
}

/// Whether a field also stands in `defaults`, where a new name of the field would leave it behind.
fn has_default(subject: &Subject<'_>, name: Option<&String>) -> bool {
    name.is_some_and(|name| subject.template.defaults().contains_key(name))
}

fn target_construct(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let is_ours = |reason| !matches!(reason, Reason::Field | Reason::Default | Reason::Pattern);
    let findings = refused(subject, is_ours).into_iter().map(|Refusal { reader, place, reason, words }| {
        let help = match reason {
            Reason::NeedsOpen => "give the field an `open` with the text that begins a call",
            Reason::EmptyMatch => "let open or close take at least one character",
            Reason::SharedValue => "use each value once, and leave the list out of `defaults`",
            _ => "leave it out for this target",
        };
        let message = format!("{} refuses this: {words}", reader.title());
        rule.finding(message).at(subject.key_place(&place)).help(help)
    });
    findings.collect()
}

fn target_caution(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let cautions = subject.readers().into_iter().flat_map(|reader| reader.cautions(subject.template));
    let findings = cautions.map(|caution| {
        let message = format!("in {} {}", caution.reader.title(), caution.effect);
        rule.finding(message).at(subject.key_place(&caution.place)).help(caution.help)
    });
    findings.collect()
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

fn target_pattern(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let findings = refused(subject, |reason| reason == Reason::Pattern).into_iter().map(|refusal| {
        let message = format!("{} refuses this pattern: {}", refusal.reader.title(), refusal.words);
        rule.finding(message).at(subject.place(&refusal.place)).help("write literals, or the pattern without it")
    });
    findings.collect()
}

fn portable_pattern(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (path, pattern) in patterns(subject) {
        let refusing =
            ENGINES.iter().filter_map(|engine| Some(format!("{} ({})", engine.name, engine.check(pattern)?)));
        let refusing: Vec<String> = refusing.collect();
        if !refusing.is_empty() {
            let message = format!("engines that refuse this pattern: {}", refusing.join("; "));
            let example = Value::from(pattern.source());
            let help = format!("if the format is to be read there, write {example} without what they name");
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
