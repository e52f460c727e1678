//! The short report: findings, assumptions, losses, readers. The evidence has the rest.

use super::ReaderVerdict;
use super::report::{Derivation, Status};
use backchat_core::diagnostic::{Diagnostic, shortened};

/// How many entries of one subject are shown.
const MOST: usize = 2;

/// How much of a line is shown: two lines of a terminal.
const LONGEST: usize = 130;

impl Derivation {
    /// The first line of the short report: the status, or the missing input.
    pub fn verdict_line(&self) -> String {
        let verdict = &self.verdict;
        let (cases, read) = (verdict.cases, verdict.passed + verdict.lost());
        match (self.status, &self.missing) {
            (_, Some(missing)) => format!("{}: {}", self.status.name(), missing.describe()),
            (Status::Proved, None) if verdict.lost() > 0 => {
                format!("proved: {read} of {cases} generated conversations parse back, {} exactly", verdict.passed)
            }
            (Status::Proved, None) => format!("proved: {read} of {cases} generated conversations parse back exactly"),
            (_, None) => self.headline(),
        }
    }

    /// The lines after the first, each with its subject.
    pub fn summary_lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        let scope = &self.verdict.scope;
        if !scope.proved.is_empty() {
            lines.push(("reads", scope.proved.join(", ")));
        }
        if !scope.learned.is_empty() {
            lines.push(("learned", format!("{} (from samples)", scope.learned.join(", "))));
        }
        if !scope.not_shown.is_empty() {
            lines.push(("without", format!("{}: the chat template never writes them", scope.not_shown.join(", "))));
        }
        let is_plain = |text: &str| ["none", "everything outside the markers"].contains(&text);
        lines.extend(self.parts().into_iter().filter(|(_, text)| !is_plain(text)));
        if let Some(samples) = self.samples_line() {
            lines.push(("samples", samples.strip_prefix("samples: ").unwrap_or(&samples).to_owned()));
        }
        for label in ["took", "lost", "unread", "note"] {
            let of_label = self.diagnostics.iter().filter(|diagnostic| self.label(diagnostic) == Some(label));
            let mut texts: Vec<String> = of_label.map(|diagnostic| one_line(label, diagnostic)).collect();
            if label == "lost" {
                texts.extend(self.verdict.losses.iter().map(|loss| shortened(&loss.message, LONGEST).into_owned()));
            }
            let more = texts.len().saturating_sub(MOST);
            lines.extend(texts.into_iter().take(MOST).map(|text| (label, text)));
            if more > 0 {
                lines.push((label, format!("and {more} more: see --explain")));
            }
        }
        lines.extend(readers(&self.readers).map(|line| ("readers", line)));
        lines
    }

    /// The label under which to list a diagnostic; `None` for a detail.
    fn label(&self, diagnostic: &Diagnostic) -> Option<&'static str> {
        match diagnostic.id {
            "derive-filled" | "derive-took" => Some("took"),
            // The first line reports missing values, and losses have a list of their own.
            "derive-token-unknown"
            | "derive-value-unknown"
            | "derive-loss"
            | "derive-tolerance"
            | "derive-name-in-id" => None,
            "derive-types-lost" | "derive-quotes" => Some("lost"),
            "derive-unproved" | "derive-sample" | "derive-calls-unknown" | "derive-reasoning-unknown" => {
                // The missing value comes first.
                self.missing.is_none().then_some("unread")
            }
            _ => Some("note"),
        }
    }
}

/// A diagnostic in one line, with its help if that names an option.
fn one_line(label: &str, diagnostic: &Diagnostic) -> String {
    match (label, &diagnostic.help) {
        ("took", Some(help)) => format!("{}; {help}", diagnostic.message),
        _ => shortened(&diagnostic.message, LONGEST).into_owned(),
    }
}

/// The readers that accept the draft, and those that refuse it with the target to try.
fn readers(readings: &[ReaderVerdict]) -> impl Iterator<Item = String> {
    let line = |verb: &str, accepts: bool| {
        let readings = readings.iter().filter(|reading| reading.refusals.is_empty() == accepts);
        let names = readings.map(|reading| match reading.other {
            Some((target, _)) if !accepts => format!("{} (try `--target {target}`)", reading.reader.name()),
            _ => reading.reader.name().to_owned(),
        });
        let names: Vec<String> = names.collect();
        (!names.is_empty()).then(|| format!("{verb} by {}", names.join(", ")))
    };
    [line("accepted", true), line("refused", false)].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::CHAT;
    use crate::derive::{Options, derive};
    use backchat_core::json::Object;

    fn report(source: &str) -> String {
        let derivation = derive(source, &Options::default());
        let lines = derivation.summary_lines().into_iter().map(|(label, text)| format!("{label}: {text}\n"));
        format!("{}\n{}", derivation.verdict_line(), lines.collect::<String>())
    }

    #[test]
    fn the_report_of_a_success_does_not_sound_like_a_failure() {
        let page = report(CHAT);
        assert!(page.starts_with("proved: "), "{page}");
        assert!(page.contains("\nturn: starts after `<assistant>`, ends with `<end>`\n"), "{page}");
        for word in ["warning", "not ", "refuse", "unread", "tolerates"] {
            assert!(!page.contains(word), "{word}: {page}");
        }
    }

    #[test]
    fn a_special_token_that_the_turn_prints_is_requested_in_the_first_line() {
        let source = CHAT.replace("<end>", "{{ eos_token }}");
        let first = "partial: the model's turn prints `eos_token`, which was not given: add `--set eos_token=TEXT`\n";
        assert!(report(&source).starts_with(first), "{}", report(&source));
        let given = Options::default().variables(Object::from([("eos_token".to_owned(), "<end>".into())]));
        assert_eq!(derive(&source, &given).status, Status::Proved);
    }

    #[test]
    fn a_filled_variable_is_listed_with_the_option_that_sets_it() {
        let page = report(&format!("{{{{ 'Budget: ' ~ (budget + 1) }}}}{CHAT}"));
        assert!(
            page.starts_with("proved: ") && page.contains("\ntook: ") && page.contains("--set budget=NUMBER"),
            "{page}"
        );
    }

    #[test]
    fn a_draft_that_depends_on_a_filled_value_is_not_proved() {
        let page = report(&CHAT.replace("<end>", "<end {{ 'of ' + room }}>"));
        let first = "partial: the model's turn depends on `room`, which was not given: add `--set room=TEXT`\n";
        assert!(page.starts_with(first) && !page.contains("\nunread: "), "{page}");
    }
}
