//! What a template does to a stream: text held back, content lost.

use super::rule::{Page, Rule, Source};
use super::run::{parser, read_whole};
use super::subject::{Marks, Side, Subject};
use crate::diagnostic::{Diagnostic, Severity};
use crate::json::{Path, Value};
use crate::parser::{Mode, Parser};
use crate::pattern::{Construct, Pattern};
use crate::template::{Field, Template};

pub(super) static HOLDS_MESSAGE: Rule = Rule {
    id: "RT002",
    name: "holds-message",
    severity: Severity::Warning,
    page: Page {
        what: "A pattern holds plain text back for as long as the message goes on. A note if it can only open at the beginning of the text: nothing else tells a region that nothing opens.",
        why: "Nothing is shown before the message is complete: the stream is no stream. The usual cause is a look-ahead for a mark that may come much later, or `.*` in an open pattern.",
        example: "\"reasoning_content\": {\"open_pattern\": \"(?=[\\\\s\\\\S]*</think>)\", \"close\": \"</think>\"}",
        fix: "Open the region with a mark of its own, or let the start anchor end where the region begins: `\"start_anchor\": \"<|assistant|>\"` with an open that the prompt writes.",
    },
    source: Source::Run(holds),
};

pub(super) static LOST_CONTENT: Rule = Rule {
    id: "RT003",
    name: "lost-content",
    severity: Severity::Warning,
    page: Page {
        what: "White space behind a close mark wipes out the content that came before the region.",
        why: "Text outside every region belongs to the field without `open`, and its last region wins, even one of a single newline. Models write such newlines behind calls, and not always. `backchat parse` says so in the `notes` of each answer that lost text this way.",
        example: "\"tool_calls\": {\"open\": \"<call>\", \"close\": \"</call>\", \"repeats\": true, \"content\": \"json\"},\n\"content\": {}\n\n\"Let me look.<call>{}</call>\\n\" has no content.",
        fix: "Let the close take the white space: `\"close_pattern\": \"</call>\\\\s*\"`. Or keep every piece of text: `\"repeats\": true, \"join\": \"\"` for the content.",
    },
    source: Source::Run(loses),
};

/// The names under which readers of the format know reasoning.
const REASONING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

/// Plain text, fed a piece at a time.
const PROSE: &str = "The quick brown fox, no. 7, jumps\nover the lazy dog. It's fine.\n\n";
/// How often the prose is written.
const ROUNDS: usize = 60;

fn holds(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let Some(outside) = parser(subject.template, Mode::Stable) else { return Vec::new() };
    let mut found: Vec<Diagnostic> = Vec::new();
    let insides = subject.fields().filter_map(|(field, marks)| {
        let mut parser = outside.clone();
        parser.feed(marks.open.first()?).ok()?;
        // A mark may wait for what another pattern comes to.
        (parser.current_field() == Some(&field.name)).then_some(parser)
    });
    for mut parser in insides.collect::<Vec<_>>().into_iter().chain([outside.clone()]) {
        for (name, closes) in holders(&mut parser) {
            let Some(field) = subject.template.field(&name) else { continue };
            let side = if closes { Side::Close } else { Side::Open };
            let path = Subject::delimiter_path(field, side);
            let message = "nothing is shown until the message is complete: plain text may go on to match this pattern";
            let finding = rule.finding(message).at(subject.place(&path));
            let mut finding =
                finding.help("use a mark that begins where the region begins, and no look-ahead without end");
            // An open at the beginning of the text that looks ahead for its close is all that tells a region that nothing
            // opens. What it holds is shown once that close has come.
            if side == Side::Open && field.open.as_ref().is_some_and(|open| open.pattern().begins_the_text()) {
                finding.severity = Severity::Note;
            }
            if !found.contains(&finding) {
                found.push(finding);
            }
        }
    }
    found
}

/// The delimiters that hold all of a long plain text back.
fn holders(parser: &mut Parser) -> Vec<(String, bool)> {
    let mut written = 0;
    for piece in std::iter::repeat_n(PROSE, ROUNDS) {
        if parser.feed_into(piece, &mut |_| {}).is_err() {
            return Vec::new();
        }
        written += piece.len();
    }
    let held = parser.held();
    if held.text.len() < written / 2 {
        return Vec::new();
    }
    let pending = held.pending.iter().filter(|pending| pending.start <= held.start);
    pending.map(|pending| (pending.field.to_owned(), pending.closes)).collect()
}

fn loses(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let Some(implicit) = subject.template.implicit_field() else { return Vec::new() };
    let mut found = Vec::new();
    for (field, marks) in subject.fields().filter(|(field, _)| field.open.is_some() && field.close.is_some()) {
        // Reasoning comes before the answer, and nothing comes after the marker that ends the turn.
        let comes_last = marks.close.first().is_some_and(|close| ends_the_turn(implicit, close));
        if REASONING.contains(&field.name.as_str()) || comes_last || !loses_behind(subject.template, implicit, marks) {
            continue;
        }
        let path = Subject::delimiter_path(field, Side::Close);
        let message = format!("a newline behind this close wipes out `{}`, if some came before", implicit.name);
        let finding = rule.finding(message).at(subject.place(&path));
        let mut finding = finding.help("let the close take the white space behind it: end the pattern with `\\s*`");
        // An open that looks back at the close before it needs the white space between them: the close cannot take it.
        if field.open.as_ref().is_some_and(|open| open.pattern().shape().constructs.contains(&Construct::LookBehind)) {
            finding.severity = Severity::Note;
            found.push(finding);
            continue;
        }
        found.push(match fix(subject, field, &path, marks, implicit) {
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
fn loses_behind(template: &Template, implicit: &Field, marks: &Marks) -> bool {
    let (Some(open), Some(close)) = (marks.open.first(), marks.close.first()) else { return false };
    let content =
        |text: &str| read_whole(template, text).and_then(|answer| answer.message.ok()?.get(&implicit.name).cloned());
    let is_kept = |behind: &str| {
        let content = content(&format!("Words{open}{{}}{close}{behind}"));
        content.is_some_and(|content| content.to_string().contains("Words"))
    };
    is_kept("") && !(is_kept("\n") && is_kept("\n\n"))
}

/// The close with white space behind it, where that helps.
fn fix(
    subject: &Subject<'_>,
    field: &Field,
    path: &Path,
    marks: &Marks,
    implicit: &Field,
) -> Option<(String, Vec<crate::diagnostic::Edit>)> {
    let close = field.close.as_ref()?;
    let pattern = match close.literals() {
        Some([one]) => format!("{}\\s*", Pattern::literals(&[one]).source()),
        Some(several) => format!("(?:{})\\s*", Pattern::literals(several).source()),
        None if close.pattern().source().contains('|') => format!("(?:{})\\s*", close.pattern().source()),
        None => format!("{}\\s*", close.pattern().source()),
    };
    let mut value = subject.template.to_value();
    if let Value::Object(entries) = &mut value
        && let Some(Value::Object(fields)) = entries.get_mut("fields")
        && let Some(Value::Object(written)) = fields.get_mut(&field.name)
    {
        written.shift_remove("close");
        written.insert("close_pattern".to_owned(), pattern.as_str().into());
    }
    let fixed = Template::from_value(&value).ok()?.template;
    if loses_behind(&fixed, implicit, marks) {
        return None;
    }
    let edits = subject.replace_entry(path, "close_pattern", &pattern.as_str().into())?;
    Some((pattern, edits))
}
