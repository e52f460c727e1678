//! The short report: findings, assumptions, losses, readers. The evidence has the rest.

use super::ReaderVerdict;
use super::report::{Derivation, Status};
use backchat_core::diagnostic::{Diagnostic, shortened};
use backchat_core::distinct;

/// How many entries of one subject are shown.
const MOST: usize = 2;

/// How much of a line is shown: two lines of a terminal.
const LONGEST: usize = 130;

/// The same if it ends with a command.
const LONGEST_WITH_CODE: usize = 230;

impl Derivation {
    /// The first line of the short report: the status, or the missing input.
    pub fn verdict_line(&self) -> String {
        let verdict = &self.verdict;
        let (cases, read) = (verdict.cases, verdict.passed + verdict.lost());
        match (self.status, &self.missing) {
            (_, Some(missing)) => format!("{}: {}", self.status.name(), missing.describe()),
            (Status::Proved, None) if verdict.lost() > 0 => {
                let sides = verdict.branching.describe();
                format!(
                    "proved: {read} of {cases} generated conversations parse back, {} exactly{sides}",
                    verdict.passed
                )
            }
            (Status::Proved, None) => {
                let sides = verdict.branching.describe();
                format!("proved: {read} of {cases} generated conversations parse back exactly{sides}")
            }
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
        let is_refused = |part: &str| scope.refused.iter().any(|refused| refused.part == part);
        let is_unread = |part: &str| part == "calls" && self.status == Status::Inexpressible;
        let is_never = |part: &&str| !is_refused(part) && !is_unread(part);
        let never: Vec<&str> = scope.not_shown.iter().copied().filter(is_never).collect();
        if !never.is_empty() {
            let why = match scope.is_open {
                true => "no conversation of the proof has them",
                false => "the chat template never writes them",
            };
            lines.push(("without", format!("{}: {why}", never.join(", "))));
        }
        for part in &scope.refused {
            lines.push(("without", format!("{}: the chat template {} them", part.part, part.verb())));
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
                // An assumption is a note.
                let losses = self.verdict.losses.iter().filter(|loss| !loss.is_assumed);
                texts.extend(losses.map(|loss| shortened(&loss.message, LONGEST).into_owned()));
            }
            let texts = distinct(texts);
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
            // The first line reports missing values and broken parts, and losses have a list of their own.
            "derive-token-unknown"
            | "derive-value-unknown"
            | "derive-broken"
            | "derive-loss"
            | "derive-tolerance"
            | "derive-name-in-id" => None,
            "derive-misspelt" if self.is_named_first(diagnostic) => None,
            "derive-types-lost" | "derive-quotes" | "derive-sandboxed" => Some("lost"),
            "derive-unproved" | "derive-sample" | "derive-calls-unknown" | "derive-reasoning-unknown" => {
                // The missing value comes first.
                self.missing.is_none().then_some("unread")
            }
            _ => Some("note"),
        }
    }
}

impl Derivation {
    /// Whether the first line names the same misspelling.
    fn is_named_first(&self, misspelt: &Diagnostic) -> bool {
        let broken = self.verdict.scope.broken().map(|part| part.describe());
        let meant = misspelt.message.find("did you mean").and_then(|at| misspelt.message.get(at..));
        broken.zip(meant).is_some_and(|(broken, meant)| broken.contains(meant))
    }
}

/// A diagnostic in one line, with its help if that names an option.
fn one_line(label: &str, diagnostic: &Diagnostic) -> String {
    match (label, &diagnostic.help) {
        ("took", Some(help)) => format!("{}; {help}", diagnostic.message),
        _ => whole_code(&diagnostic.message),
    }
}

/// A message of at most this length, unless that ends within a command to copy: then it may be longer, or ends before it.
fn whole_code(message: &str) -> String {
    let short = shortened(message, LONGEST);
    let is_within = short.matches('`').count() % 2 == 1;
    match message.rsplit_once("; `") {
        _ if !is_within => short.into_owned(),
        Some((before, _)) if message.chars().count() > LONGEST_WITH_CODE => shortened(before, LONGEST).into_owned(),
        Some(_) => message.to_owned(),
        None => short.into_owned(),
    }
}

/// The readers that accept the draft, and those that refuse it with the target to try.
fn readers(readings: &[ReaderVerdict]) -> impl Iterator<Item = String> {
    let line = |verb: &str, names: Vec<String>| (!names.is_empty()).then(|| format!("{verb} by {}", names.join(", ")));
    [line("accepted", accepting(readings)), line("refused", refusing(readings))].into_iter().flatten()
}

/// The programs that accept the draft, each with the release that does so first if an older one refuses it.
fn accepting(readings: &[ReaderVerdict]) -> Vec<String> {
    let (accepting, refusing): (Vec<&ReaderVerdict>, Vec<_>) =
        readings.iter().partition(|reading| reading.refusals.is_empty());
    let programs = distinct(accepting.iter().map(|reading| reading.reader.program()));
    let named = programs.into_iter().map(|program| {
        let is_of = |reading: &&&ReaderVerdict| reading.reader.program() == program;
        // The newest release comes first.
        match (accepting.iter().rfind(is_of), refusing.iter().find(is_of)) {
            (Some(first), Some(_)) => format!("{program} from {}", first.reader.version()),
            _ => program.to_owned(),
        }
    });
    named.collect()
}

fn refusing(readings: &[ReaderVerdict]) -> Vec<String> {
    let refusing = readings.iter().filter(|reading| !reading.refusals.is_empty());
    let named = refusing.map(|reading| match reading.other {
        Some((target, _)) => format!("{} (try `--target {target}`)", reading.reader.name()),
        None => reading.reader.name().to_owned(),
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::CHAT;
    use crate::derive::{Options, derive};
    use crate::targets::Reader;
    use backchat_chat::source::Source;
    use backchat_core::json::Object;

    #[test]
    fn a_note_is_not_cut_within_a_command() {
        let loss = "assumption: with `parallel_tool_calls` set to false, the template writes turns that the draft does not \
                    read (line 23)";
        let note = format!("{loss}; `--set 'parallel_tool_calls=false'` shows them");
        assert_eq!(whole_code(&note), note);
        let long = format!("{loss}; `--set 'parallel_tool_calls={}'` shows them", "x".repeat(200));
        assert_eq!(whole_code(&long), loss);
        assert_eq!(whole_code(&"word ".repeat(40)), shortened(&"word ".repeat(40), LONGEST));
    }

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
    fn a_draft_that_only_a_new_release_reads_names_that_release() {
        let reading = |reader: Reader, refused: &[&str]| ReaderVerdict {
            reader,
            refusals: refused.iter().map(|words| (*words).to_owned()).collect(),
            costs: Vec::new(),
            other: (!refused.is_empty()).then(|| (reader.target(), "gives a draft that it accepts")),
        };
        let lines = |old: &[&str]| {
            let readings = [Reader::Transformers, Reader::Trl].map(|reader| reading(reader, &[]));
            readers(&[&readings[..], &[reading(Reader::Transformers523, old)]].concat()).collect::<Vec<_>>()
        };
        assert_eq!(lines(&[]), ["accepted by transformers, trl"]);
        assert_eq!(
            lines(&["unknown"]),
            [
                "accepted by transformers from 5.24.0, trl",
                "refused by transformers-5.23 (try `--target transformers-5.23`)"
            ]
        );
    }

    #[test]
    fn a_special_token_that_the_turn_prints_is_requested_in_the_first_line() {
        let source = CHAT.replace("<end>", "{{ eos_token }}");
        let first = "partial: the model's turn prints `eos_token`, which was not given: add `--set eos_token=TEXT`, or \
                     pass the folder with tokenizer_config.json\n";
        assert!(report(&source).starts_with(first), "{}", report(&source));
        let given = Options::default().variables(Object::from([("eos_token".to_owned(), "<end>".into())]));
        assert_eq!(derive(&source, &given).status, Status::Proved);
    }

    #[test]
    fn a_stop_that_no_render_shows_is_named_with_its_origin() {
        let line = |source: &str, options: &Options| {
            let lines = derive(source, options).summary_lines();
            lines.into_iter().find(|(label, _)| *label == "turn").unwrap().1
        };
        let eos = Object::from([("eos_token".to_owned(), "</s>".into())]);
        let given = Options::default().variables(eos.clone());
        let start = "starts after `<assistant>`, ends with";
        assert_eq!(
            line(CHAT, &given),
            format!("{start} `<end>`, or `</s>` (the variable `eos_token`; no render ends with it)")
        );
        let mut source = Source::default();
        (source.file, source.special_tokens) = ("m/tokenizer_config.json".to_owned(), eos);
        assert_eq!(
            line(CHAT, &Options::for_source(&source)),
            format!("{start} `<end>`, or `</s>` (`eos_token` of tokenizer_config.json; no render ends with it)")
        );
        assert_eq!(line(&CHAT.replace("<end>", "{{ eos_token }}"), &given), format!("{start} `</s>`"));
        let page = derive(CHAT, &given).explain("c.jinja");
        assert!(page.contains("no render ends with it"), "{page}");
    }

    #[test]
    fn a_branch_that_fails_on_every_call_is_named_in_the_first_line() {
        let page = report(&CHAT.replace("c.function.arguments", "c.function.argument"));
        let first = "partial: the chat template fails on every turn with calls, at line 1: Object of type Undefined is \
                     not JSON serializable: `c.function` has no `argument`; did you mean `arguments`? 20 of 20 ";
        assert!(page.starts_with(first), "{page}");
        assert!(page.contains("\nwithout: calls: the chat template fails on them\n"), "{page}");
        assert_eq!(page.matches("did you mean `arguments`?").count(), 1, "{page}");
    }

    #[test]
    fn an_assumption_is_listed_once() {
        let page = report(&CHAT.replace("<call>", "{{ mark | default('<call>') }}"));
        let said = page.matches("depends on `mark`; the draft reads it as written without it").count();
        assert!(said == 1 && page.contains("\nnote: assumption: ") && !page.contains("\nlost: "), "{page}");
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
