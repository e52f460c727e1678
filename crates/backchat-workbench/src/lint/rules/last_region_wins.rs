//! RT004: a later region of a field replaces an earlier one, found by running it.

use crate::lint::check::{Check, Finder};
use crate::lint::subject::{Markers, Subject};
use crate::lint::trial_parse::read_whole;
use backchat_core::diagnostic::{Diagnostic, Page, Rule, Severity};
use backchat_core::json::Value;
use backchat_derive::targets::{CONTENT, THINKING};
use backchat_parser::template::Field;

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: "RT004",
        name: "last-region-wins",
        severity: Severity::Note,
        page: Page {
            what: "A field can have several regions in one message, and only the last one stays.",
            why: "Words before a call are lost if more words, or only white space, come after it. The format specifies this for a field without `repeats`; servers that stream send every piece. `backchat parse` names the field and what was replaced in the `notes` of the answer.",
            example: "\"tool_calls\": {\"open\": \"<call>\", \"close_pattern\": \"</call>\\\\s*\", \"repeats\": true, \"content\": \"json\"},\n\"content\": {\"close\": \"<|end|>\"}\n\n\"Let me look.<call>{}</call>Done.\" has the content \"Done.\"",
            fix: "Keep every piece with `\"repeats\": true, \"join\": \"\"`. vLLM and SGLang refuse `join` for `content` and `thinking`: for them the field stays as it is, so that these two are reported only with `--target` readers that accept it.",
        },
    },
    finder: Finder::Run(check),
};

/// Words that no marker contains.
const WORDS: [&str; 2] = ["Earlier", "Later"];

fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (field, markers) in subject.fields().filter(|(field, _)| !field.repeats && may_join(subject, field)) {
        let shown = match &field.open {
            Some(_) => reopened(subject, field, markers),
            None => subject.fields().find_map(|(other, markers)| around(subject, field, other, markers)),
        };
        if let Some((text, value)) = shown {
            let message =
                format!("only the last region of `{}` stays: {} gives {value}", field.name, Value::from(text.as_str()));
            let finding = rule.finding(message).at(subject.key_place(&Subject::path(field)));
            found.push(finding.help("to keep every piece write `\"repeats\": true, \"join\": \"\"`"));
        }
    }
    found
}

/// Whether the author can keep every piece. Servers refuse `join` for content and reasoning, so that there it can be had
/// only from named readers that all accept it.
fn may_join(subject: &Subject<'_>, field: &Field) -> bool {
    let readers = subject.readers();
    let is_served = [CONTENT, THINKING].contains(&field.name.as_str());
    !is_served || !readers.is_empty() && readers.into_iter().all(|reader| reader.limits().joins_text)
}

/// A text in which the field opens twice, and the value it then has.
fn reopened(subject: &Subject<'_>, field: &Field, markers: &Markers) -> Option<(String, Value)> {
    let (open, close) = (markers.open.first()?, markers.close.first()?);
    let [earlier, later] = WORDS;
    lost(subject, field, format!("{open}{earlier}{close}{open}{later}{close}"))
}

/// A text with words before and after a region of another field, and the value of the field outside.
fn around(subject: &Subject<'_>, field: &Field, other: &Field, markers: &Markers) -> Option<(String, Value)> {
    if other.name == field.name {
        return None;
    }
    let (open, close) = (markers.open.first()?, markers.close.first()?);
    let [earlier, later] = WORDS;
    lost(subject, field, format!("{earlier}{open}{{}}{close}{later}"))
}

/// The text with the value of the field, if that has only the later words.
fn lost(subject: &Subject<'_>, field: &Field, text: String) -> Option<(String, Value)> {
    let answer = read_whole(subject.template, &text)?;
    let regions = answer.regions.iter().filter(|(name, _)| *name == field.name);
    let has_both = WORDS.iter().all(|word| regions.clone().any(|(_, body)| body.contains(word)));
    let value = answer.message.ok()?.get(&field.name)?.clone();
    let [earlier, later] = WORDS.map(|word| value.to_string().contains(word));
    (has_both && later && !earlier).then_some((text, value))
}
