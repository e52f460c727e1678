//! The verdict of each reader on a draft: whether it accepts it, what that costs, and a better target.

use super::ReaderSet;
use crate::targets::{CONTENT, Reader, Refusal, TOOL_CALLS};
use backchat_core::diagnostic::{Diagnostic, Severity};
use backchat_core::json::{Value, texts};
use backchat_parser::template::Template;

/// The verdict of one reader on a draft.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReaderVerdict {
    /// The reader.
    pub reader: Reader,
    /// The reader's reasons to refuse the draft, each with the path of the refused construct; empty if it accepts it.
    pub refusals: Vec<String>,
    /// Problems in this reader with a draft that it accepts.
    pub costs: Vec<String>,
    /// The target whose draft this reader accepts or loses less with, and the effect.
    pub other: Option<(&'static str, &'static str)>,
}

impl ReaderVerdict {
    /// One line: whether it accepts the draft, or why not.
    pub fn describe(&self) -> String {
        let title = self.reader.title();
        match (self.refusals.as_slice(), self.costs.as_slice()) {
            ([], []) => format!("{title} accepts it"),
            ([], costs) => format!("{title} accepts it; {}", costs.join("; ")),
            (refusals, _) => format!("{title} refuses it: {}", refusals.join("; ")),
        }
    }

    /// The machine-readable verdict.
    pub fn to_value(&self) -> Value {
        let other = self.other.map(|(target, effect)| {
            Value::from([("options", format!("--target {target}").into()), ("effect", effect.into())])
        });
        Value::from([
            ("reader", self.reader.name().into()),
            ("version", self.reader.version().into()),
            ("takes", self.refusals.is_empty().into()),
            ("refusals", texts(&self.refusals)),
            ("costs", texts(&self.costs)),
            ("other", other.into()),
        ])
    }
}

/// The verdict of every reader on a draft.
pub(in crate::derive) fn all(template: &Template, readers: &ReaderSet) -> Vec<ReaderVerdict> {
    let verdicts = Reader::ALL.into_iter().map(|reader| {
        let refused = reader.check(template);
        let mut costs: Vec<String> = reader.cautions(template).into_iter().map(|caution| caution.effect).collect();
        let mut other = None;
        let asked = |reader: Reader| readers.is_requested && readers.readers.contains(&reader);
        if !refused.is_empty() {
            other = (!asked(reader)).then_some((reader.target(), "gives a draft that it accepts"));
        } else if loses_pieces(template) && keeps_one_piece(reader) {
            costs.push("if there is text before and after a call, only the last piece is kept".to_owned());
            other = Some((reader.target(), "keeps both pieces"));
        }
        let refusals = refused.iter().map(in_words).collect();
        ReaderVerdict { reader, refusals, costs, other }
    });
    verdicts.collect()
}

fn in_words(refusal: &Refusal) -> String {
    format!("{} (at {})", refusal.words, refusal.place)
}

/// Whether content outside all markers is in pieces that overwrite one another.
fn loses_pieces(template: &Template) -> bool {
    let has_calls = template.field(TOOL_CALLS).is_some();
    has_calls && template.field(CONTENT).is_some_and(|content| content.open.is_none() && content.join.is_none())
}

/// Whether a reader returns the message as a whole. Servers stream each piece, so none is lost.
fn keeps_one_piece(reader: Reader) -> bool {
    matches!(reader, Reader::Transformers | Reader::Transformers523 | Reader::Trl | Reader::Smg)
}

/// What the target costs, and why the draft does not meet it.
pub(in crate::derive) fn diagnostics(
    readers: &ReaderSet,
    refusals: &[Refusal],
    avoided: &[Refusal],
    dropped: &[(String, String)],
    renamed: Option<(&str, &str)>,
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut add = |severity: Severity, id: &'static str, message: String, help: &str| {
        found.push(Diagnostic::new(severity, id, message).help(help));
    };
    if readers.is_requested {
        for refusal in refusals {
            let message =
                format!("{} refuses the draft that reads most: {}", refusal.reader.title(), in_words(refusal));
            let help = "derive for its other readers, or write this by hand and test it with `backchat prove`";
            add(Severity::Warning, "derive-target", message, help);
        }
        if let (true, Some(refusal)) = (refusals.is_empty(), avoided.first()) {
            let message = format!(
                "{} refuses the construct that reads these conversations: {}",
                refusal.reader.title(),
                in_words(refusal)
            );
            let help =
                "the draft stays within the target's limits; without `--target` every conversation parses back exactly";
            add(Severity::Warning, "derive-target", message, help);
        }
    }
    for (path, dropped) in dropped {
        let message = format!("`{path}` leaves out {dropped:?} so that every reader accepts it");
        let help = "text that only this delimiter matches is misread; `--target transformers` keeps it";
        add(Severity::Note, "derive-target-cost", message, help);
    }
    if let Some((name, key)) = renamed {
        let message = format!("the target calls the reasoning `{name}`, but the chat template reads `{key}`");
        let help = format!("rename it to `{key}` in messages that you pass to the chat template");
        add(Severity::Note, "derive-renamed", message, &help);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{ANSWER, template};
    use crate::targets::{Reason, Target};
    use backchat_core::json::Path;

    fn refusal(reader: Reader) -> Refusal {
        Refusal { reader, place: Path::default(), reason: Reason::Other, words: "no".to_owned() }
    }

    #[test]
    fn a_reader_accepts_a_draft_accepts_it_at_a_cost_or_refuses_it() {
        let reading = |refusals: &[&str], costs: &[&str]| {
            let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
            ReaderVerdict { reader: Reader::Smg, refusals: owned(refusals), costs: owned(costs), other: None }
        };
        let title = Reader::Smg.title();
        assert_eq!(reading(&[], &[]).describe(), format!("{title} accepts it"));
        assert_eq!(reading(&[], &["slow", "odd"]).describe(), format!("{title} accepts it; slow; odd"));
        assert_eq!(reading(&["no (at x)"], &["slow"]).describe(), format!("{title} refuses it: no (at x)"));
        assert_eq!(reading(&["no"], &[]).to_value().get("takes"), Some(&false.into()));
    }

    #[test]
    fn every_reader_has_a_verdict_and_each_refusal_names_a_target() {
        let looks = template(&ANSWER.replace("\"close\": \"<end>\"", "\"close_pattern\": \"<end>(?=\\\\s)\""));
        let found = all(&looks, &ReaderSet::new(&[]));
        assert_eq!(found.iter().map(|reading| reading.reader).collect::<Vec<_>>(), Reader::ALL);
        let smg = found.iter().find(|reading| reading.reader == Reader::Smg).unwrap();
        assert!(!smg.refusals.is_empty());
        assert_eq!(smg.other, Some(("smg", "gives a draft that it accepts")));
        let asked = all(&looks, &ReaderSet::new(&[Target::named("smg").unwrap()]));
        let smg = asked.iter().find(|reading| reading.reader == Reader::Smg).unwrap();
        assert_eq!(smg.other, None, "it was requested already");
    }

    #[test]
    fn text_around_calls_is_lost_if_the_reader_returns_the_whole_message() {
        assert!(loses_pieces(&template(ANSWER)));
        assert!(!loses_pieces(&template(&ANSWER.replace("\"close\": \"<end>\"", "\"join\": \"\", \"repeats\": true"))));
        assert_eq!(Reader::ALL.map(keeps_one_piece), [true, true, true, false, false, false, true]);
    }

    #[test]
    fn the_cost_of_a_requested_target_is_reported() {
        let asked = ReaderSet::new(&[Target::named("smg").unwrap()]);
        let ids = |readers: &ReaderSet, refusals: &[Refusal], avoided: &[Refusal]| -> Vec<String> {
            diagnostics(readers, refusals, avoided, &[], None).into_iter().map(|found| found.message).collect()
        };
        let one = [refusal(Reader::Smg)];
        assert!(ids(&asked, &one, &[])[0].contains("refuses the draft that reads most: no"));
        assert!(ids(&asked, &[], &one)[0].contains("refuses the construct that reads these conversations: no"));
        assert_eq!(ids(&asked, &one, &one).len(), 1, "the other draft does not help either");
        assert_eq!(ids(&ReaderSet::new(&[]), &one, &one), [""; 0]);
        let dropped = [("fields.x.close".to_owned(), "(?=y)".to_owned())];
        let found = diagnostics(&asked, &[], &[], &dropped, Some(("thinking", "plan")));
        assert_eq!(found.iter().map(|found| found.id).collect::<Vec<_>>(), ["derive-target-cost", "derive-renamed"]);
        assert_eq!(found[0].message, "`fields.x.close` leaves out \"(?=y)\" so that every reader accepts it");
    }
}
