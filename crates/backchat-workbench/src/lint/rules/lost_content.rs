//! RT003: white space after a close replaces the content before the region, found by running it.

use crate::lint::check::{Check, Finder};
use crate::lint::subject::{Markers, REASONING, Side, Subject};
use crate::lint::trial_parse::read_whole;
use backchat_core::diagnostic::{Diagnostic, Edit, Page, Rule, Severity};
use backchat_core::json::{Path, Value};
use backchat_parser::pattern::{Construct, Pattern};
use backchat_parser::template::{Field, Template};

pub(in crate::lint) static CHECK: Check = Check {
    rule: Rule {
        id: "RT003",
        name: "lost-content",
        severity: Severity::Warning,
        page: Page {
            what: "White space after a close marker replaces the content before the region.",
            why: "Text outside every region belongs to the field without `open`, and its last region wins, even one of a single newline. Models often write such newlines after calls. `backchat parse` reports it in the `notes` of each answer that lost text this way.",
            example: "\"tool_calls\": {\"open\": \"<call>\", \"close\": \"</call>\", \"repeats\": true, \"content\": \"json\"},\n\"content\": {}\n\n\"Let me look.<call>{}</call>\\n\" has no content.",
            fix: "Let the close take the white space: `\"close_pattern\": \"</call>\\\\s*\"`. Or keep every piece of text: `\"repeats\": true, \"join\": \"\"` for the content.",
        },
    },
    finder: Finder::Run(check),
};

fn check(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let Some(implicit) = subject.template.implicit_field() else { return Vec::new() };
    let mut found = Vec::new();
    for (field, markers) in subject.fields().filter(|(field, _)| field.open.is_some() && field.close.is_some()) {
        // Reasoning comes before the answer, and nothing comes after the marker that ends the turn.
        let comes_last = markers.close.first().is_some_and(|close| ends_the_turn(implicit, close));
        if REASONING.contains(&field.name.as_str()) || comes_last || !loses_after(subject.template, implicit, markers) {
            continue;
        }
        let path = Subject::delimiter_path(field, Side::Close);
        let message = format!("a newline after this close erases `{}`, if there was any before it", implicit.name);
        let finding = rule.finding(message).at(subject.place(&path));
        let mut finding = finding.help("let the close take the white space after it: end the pattern with `\\s*`");
        // An open that looks back at the close before it needs the white space between them: the close cannot take it.
        if field.open.as_ref().is_some_and(|open| open.pattern().shape().constructs.contains(&Construct::LookBehind)) {
            finding.severity = Severity::Note;
            found.push(finding);
            continue;
        }
        found.push(match fix(subject, field, &path, markers, implicit) {
            Some((pattern, edits)) => {
                finding.fix(format!("write `close_pattern` {}", Value::from(pattern.as_str())), edits)
            }
            None => finding,
        });
    }
    found
}

/// Whether a text closes the implicit field, too.
fn ends_the_turn(implicit: &Field, close: &str) -> bool {
    let found = implicit.close.as_ref().map(|delimiter| delimiter.pattern().find_at(close, 0));
    matches!(found, Some(Ok(Some(found))) if found.span() == (0, close.len()))
}

/// Whether content before a region is gone once a newline comes after it.
fn loses_after(template: &Template, implicit: &Field, markers: &Markers) -> bool {
    let (Some(open), Some(close)) = (markers.open.first(), markers.close.first()) else { return false };
    let content =
        |text: &str| read_whole(template, text).and_then(|answer| answer.message.ok()?.get(&implicit.name).cloned());
    let is_kept = |after: &str| {
        let content = content(&format!("Words{open}{{}}{close}{after}"));
        content.is_some_and(|content| content.to_string().contains("Words"))
    };
    is_kept("") && !(is_kept("\n") && is_kept("\n\n"))
}

/// The close with the white space after it, if that helps.
fn fix(
    subject: &Subject<'_>,
    field: &Field,
    path: &Path,
    markers: &Markers,
    implicit: &Field,
) -> Option<(String, Vec<Edit>)> {
    let close = field.close.as_ref()?;
    // A value ends before white space: a close that demands it misses the outputs that lack it.
    let is_value = !field.content.is_text();
    let literals = close.literals().map(|literals| {
        let trimmed = literals.iter().map(|one| if is_value { one.trim_start() } else { one.as_str() });
        trimmed.collect::<Vec<_>>()
    });
    let pattern = match literals.as_deref() {
        Some([one]) => format!("{}\\s*", Pattern::literals(&[one]).source()),
        Some(several) => format!("(?:{})\\s*", Pattern::literals(several).source()),
        None if close.pattern().source().contains('|') => format!("(?:{})\\s*", close.pattern().source()),
        None => format!("{}\\s*", close.pattern().source()),
    };
    let fixed = subject.with_field(field, |written| {
        written.shift_remove("close");
        written.insert("close_pattern", pattern.as_str().into());
    })?;
    if loses_after(&fixed, implicit, markers) {
        return None;
    }
    let edits = subject.replace_entry(path, "close_pattern", &pattern.as_str().into())?;
    Some((pattern, edits))
}
