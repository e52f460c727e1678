//! The result of a derivation, and its report.

use super::Job;
use super::choose::Chosen;
use super::findings::{Findings, ReportData};
use super::needed::Missing;
use super::proof::{Proof, Tried};
use super::readers::{self, ReaderVerdict};
use super::{Attempt, Explained, Options, Target, Verdict, evidence, inexpressible};
use crate::wire::structure::{FoundBy, WireFormat};
use backchat_chat::ended;
use backchat_chat::source::Source;
use backchat_core::diagnostic::{Diagnostic, Severity, shortened};
use backchat_core::json::Value;
use backchat_core::{distinct, push_new};
use backchat_parser::template::Template;
use backchat_probe::doctor;

/// How far a derivation got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// Every conversation parses back exactly.
    Proved,
    /// Some do.
    Partial,
    /// No response template can express the format.
    Inexpressible,
    /// There is no draft.
    Failed,
}

impl Status {
    /// The word of the machine-readable report.
    pub fn name(self) -> &'static str {
        match self {
            Status::Proved => "proved",
            Status::Partial => "partial",
            Status::Inexpressible => "inexpressible",
            Status::Failed => "failed",
        }
    }
}

/// Options with which the draft reads everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Another name for the reasoning that the chat template also reads. It is applied.
    ReasoningField(String),
    /// No target. It is only reported, because the user requested the target.
    NoTarget,
    /// The target with this name. It is only reported, because other readers refuse the draft.
    Target(&'static str),
}

/// The result of a derivation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Derivation {
    /// How far it got.
    pub status: Status,
    /// The draft, in the key order a person would write.
    pub response_template: Option<Value>,
    /// The findings, with their evidence.
    pub findings: Findings,
    /// The verdict of the proof.
    pub verdict: Verdict,
    /// How the draft reads the samples.
    pub explained: Explained,
    /// The verdict of each reader of response templates on the draft.
    pub readers: Vec<ReaderVerdict>,
    /// The diagnostics.
    pub diagnostics: Vec<Diagnostic>,
    /// The candidates that were refuted before the draft was chosen.
    pub(super) tried: Vec<Tried>,
    /// A missing value that the model's turn needs.
    pub(super) missing: Option<Missing>,
    /// The requested readers that refuse the draft, each with what a draft that it accepts reads.
    pub(super) refused: Vec<String>,
    /// A target whose draft reads more, but is refused by other readers.
    pub(super) fuller: Option<&'static Target>,
    /// The remedy that improves the draft.
    pub(super) remedy: Option<Remedy>,
}

impl Derivation {
    /// A derivation without a draft, and the reason.
    pub fn failed(diagnostic: Diagnostic) -> Self {
        Self {
            status: Status::Failed,
            response_template: None,
            findings: Findings::default(),
            verdict: Verdict::default(),
            explained: Explained::default(),
            readers: Vec::new(),
            diagnostics: vec![diagnostic],
            tried: Vec::new(),
            missing: None,
            refused: Vec::new(),
            fuller: None,
            remedy: None,
        }
    }

    /// Reports the special tokens that came from files next to the chat template.
    pub fn with_tokens_of(mut self, source: &Source) -> Self {
        let found = source.tokens_beside().iter().map(|(name, file)| {
            let token = source.special_tokens.get(name).map_or_else(String::new, Value::to_string);
            format!("`{name}` = {token} from {file}")
        });
        let found: Vec<String> = found.collect();
        if !found.is_empty() {
            self.diagnostics.insert(0, Diagnostic::new(Severity::Note, "derive-took", found.join(", ")));
        }
        self
    }

    /// Reports that the examination ended early, if it did.
    pub(super) fn noting_the_end(mut self, why: Option<&'static str>) -> Self {
        if let Some(why) = why.filter(|_| self.status != Status::Failed) {
            self.diagnostics.insert(0, ended_early(why));
        }
        self
    }

    /// The remedy that improves the draft.
    pub fn remedy(&self) -> Option<&Remedy> {
        self.remedy.as_ref()
    }

    /// The machine-readable report.
    pub fn to_value(&self) -> Value {
        let diagnostics = self.diagnostics.iter().map(diagnostic_value);
        Value::from([
            ("status", self.status.name().into()),
            ("response_template", self.response_template.clone().into()),
            ("findings", self.findings.to_value()),
            ("verification", self.verdict.to_value()),
            ("readers", Value::List(self.readers.iter().map(ReaderVerdict::to_value).collect())),
            ("diagnostics", Value::List(diagnostics.collect())),
        ])
    }
}

/// What to do about an examination that ended early.
pub(super) const AFTER_THE_END: &str = "find out what makes the chat template so slow or its renders so long";

/// Reports why an examination ended early.
pub(super) fn ended_early(why: &str) -> Diagnostic {
    let message = format!("the examination ended early: {why}; what comes later was neither rendered nor proved");
    Diagnostic::warning("derive-ended-early", message).help(AFTER_THE_END)
}

/// A diagnostic in the machine-readable report.
pub(super) fn diagnostic_value(diagnostic: &Diagnostic) -> Value {
    Value::from([
        ("id", diagnostic.id.into()),
        ("severity", diagnostic.severity.name().into()),
        ("message", diagnostic.message.as_str().into()),
        ("help", diagnostic.help.as_deref().into()),
    ])
}

/// One line: the status, and the parts that it covers.
pub(super) fn headline(status: Status, verdict: &Verdict) -> String {
    let (passed, cases) = (verdict.passed, verdict.cases);
    let lost = match verdict.lost() {
        0 => String::new(),
        lost => format!("; {lost} lose something to the wire format"),
    };
    match status {
        Status::Proved => {
            format!(
                "proved: {}. {passed} of {cases} generated conversations parse back exactly{lost}{}",
                verdict.scope.describe(),
                verdict.branching.describe()
            )
        }
        Status::Partial => {
            let ended = verdict.ended.map(|why| sentence(format!("the examination ended early: {why}")));
            let broken = verdict.scope.broken().map(|part| sentence(part.describe()));
            let unread = verdict.unread_setting.as_ref().map(|with| format!("proved for turns without {with} only. "));
            let reason = ended.or(broken).or(unread).unwrap_or_default();
            format!("partial: {reason}{passed} of {cases} generated conversations parse back exactly{lost}")
        }
        Status::Inexpressible => {
            "inexpressible: no response template was found for the form in which calls are written".to_owned()
        }
        Status::Failed => "failed: no draft".to_owned(),
    }
}

/// A sentence before another one.
fn sentence(text: String) -> String {
    if text.ends_with(['.', '?', '!']) { format!("{text} ") } else { format!("{text}. ") }
}

impl Verdict {
    /// Every failure, loss and unverified claim.
    pub(super) fn diagnostics(&self) -> Vec<Diagnostic> {
        let mut diagnostics = Vec::new();
        let mut add = |severity: Severity, id: &'static str, message: String, help: String| {
            diagnostics.push(Diagnostic::new(severity, id, message).help(help));
        };
        for refused in &self.scope.refused {
            let (severity, id) = match (refused.is_broken(), refused.part) {
                (true, _) => (Severity::Warning, "derive-broken"),
                _ if refused.is_sandboxed() => (Severity::Warning, "derive-sandboxed"),
                (false, "calls") => (Severity::Note, "derive-calls-refused"),
                (false, _) => (Severity::Note, "derive-reasoning-refused"),
            };
            let help = format!("if the model writes {}, correct the chat template and derive again", refused.part);
            add(severity, id, refused.describe(), help);
        }
        for failure in &self.failures {
            let help = failure.hint().unwrap_or_else(|| format!("the text: {:?}", shortened(&failure.text, 160)));
            add(Severity::Warning, "derive-unproved", failure.describe(), help);
        }
        let smallest = |example: &str| format!("the smallest example: {:?}", shortened(example, 160));
        // An assumption may be about several parts.
        let mut known: Vec<String> = Vec::new();
        for loss in &self.losses {
            let (id, message) = match loss.is_assumed {
                true => ("derive-assumed", loss.describe()),
                false => ("derive-loss", format!("the wire format loses {}", loss.describe())),
            };
            if push_new(&mut known, message.clone()) {
                let help = match loss.example.as_str() {
                    "" => "if the model writes them, pass such outputs with --samples".to_owned(),
                    example => smallest(example),
                };
                add(Severity::Note, id, message, help);
            }
        }
        for claim in &self.unverified {
            let message = format!("not verified: {}", claim.message);
            add(
                Severity::Note,
                "derive-unverified",
                message,
                "check it with recorded outputs: --samples FILE".to_owned(),
            );
        }
        if let (Some(tolerance), Some(example)) = (self.tolerance.describe(), self.tolerance.example()) {
            let example = shortened(example, 160);
            let help = format!("if the model writes such outputs, pass them with --samples, for example {example:?}");
            add(Severity::Note, "derive-tolerance", tolerance, help);
        }
        for (policy, example) in &self.policies.refused {
            let message = format!("the policy `{policy}` changes turns that conform: leave it out");
            add(Severity::Warning, "derive-policy", message, smallest(example));
        }
        diagnostics
    }
}

impl Explained {
    /// Every sample that is not explained.
    pub(super) fn diagnostics(&self) -> Vec<Diagnostic> {
        let departures = self.departures.iter().map(|departure| {
            let message = format!("{}: not explained from byte {}: {}", departure.sample, departure.at, departure.why);
            let warning = Diagnostic::new(Severity::Warning, "derive-sample", message);
            match &departure.got {
                Some(got) => warning.help(format!("it was read as {}", shortened(&got.to_string(), 160))),
                None => warning,
            }
        });
        departures.collect()
    }
}

/// Assembles the derivation.
pub(super) fn report(chosen: Chosen, job: &Job<'_>) -> Derivation {
    let Job { proof, options, readers: set } = job;
    let Chosen { wire, reasoning_field, attempt, refused, .. } = chosen;
    let prober = &wire.prober(&proof.prober);
    let (readings, of_readers) = readers::report(set, &wire, &reasoning_field, &attempt);
    let fuller = refused.as_ref().and_then(readers::fuller);
    let meets_readers = attempt.refusals.is_empty() || !set.is_requested;
    let Attempt { draft, mut verdict, mut explained, lessons, .. } = attempt;
    let loaded = Template::from_value(&draft).ok().map(|loaded| loaded.template);
    let unknown = loaded.as_ref().and_then(|loaded| explained.without_unknown_markers(&options.samples, loaded));
    let mut tried = proof.tried();
    tried.retain(|tried| tried.draft != draft);
    let coverage = Coverage::measure(&draft, &wire, proof, &verdict);
    if coverage.lacks_calls() {
        verdict.inexpressible = proof.turns_with_calls();
    }
    let is_explained = explained.departures.is_empty();
    let status = match coverage.lacks_calls() {
        true => Status::Inexpressible,
        false if proof.covers(&verdict) && coverage.is_whole() && is_explained && meets_readers => Status::Proved,
        false => Status::Partial,
    };
    let mut diagnostics = misspelt(prober.template().source());
    diagnostics.extend(loaded.iter().flat_map(|loaded| proof.switched_markers(loaded)));
    diagnostics.extend(unknown);
    diagnostics.extend(inexpressible::find(&wire));
    diagnostics.extend(coverage.diagnostics(&verdict));
    diagnostics.extend(of_readers);
    diagnostics.extend(fuller.as_ref().map(|(_, note)| note.clone()));
    diagnostics.extend(lessons.diagnostics());
    diagnostics.extend(verdict.diagnostics());
    diagnostics.extend(explained.diagnostics());
    let examined = doctor::Options::default().variables(options.variables.clone()).now(options.now.clone());
    let findings = Findings::new(ReportData {
        evidence: evidence::collect(prober, &wire),
        wire,
        reasoning_field,
        stop_origin: options.origin_of("eos_token"),
        special_marks: special_marks(&draft, options),
        source: prober.template().source().to_owned(),
        examined: ended().is_none().then_some(examined),
        request_shape: prober.request_shape().describe(),
        renders: prober.renders(),
        refused: prober.refused(),
    });
    Derivation {
        status,
        response_template: Some(draft),
        findings,
        verdict,
        explained,
        readers: readings,
        diagnostics,
        tried,
        missing: None,
        refused: Vec::new(),
        fuller: fuller.map(|(target, _)| target),
        remedy: None,
    }
}

/// The names and markers that the chat template probably misspells: the draft may have them.
fn misspelt(source: &str) -> Vec<Diagnostic> {
    let found = doctor::traps::misspelt_names(source).into_iter().chain(doctor::traps::misspelt_marks(source));
    found.map(|found| Diagnostic { id: "derive-misspelt", ..found }).collect()
}

/// The parts of the chat template's turns that the draft reads, and whether the proof exercised them.
struct Coverage {
    shows_calls: bool,
    reads_calls: bool,
    saw_calls: bool,
    knows_reasoning: bool,
    saw_reasoning: bool,
}

impl Coverage {
    fn measure(draft: &Value, wire: &WireFormat, proof: &Proof<'_>, verdict: &Verdict) -> Self {
        let reads_calls = draft.get("fields").is_some_and(|fields| fields.get("tool_calls").is_some());
        // If no render shows reasoning, another note says so.
        let is_rendered = wire.reasoning.as_ref().is_some_and(|reasoning| reasoning.source == FoundBy::Rendered);
        let saw = |what| !verdict.scope.not_shown.contains(&what);
        Self {
            shows_calls: proof.shows_calls(),
            reads_calls,
            // A proof without calls does not cover calls.
            saw_calls: !reads_calls || saw("calls"),
            knows_reasoning: wire.reasoning.is_some() || !proof.shows_reasoning(),
            saw_reasoning: !is_rendered || saw("reasoning"),
        }
    }

    fn lacks_calls(&self) -> bool {
        self.shows_calls && !self.reads_calls
    }

    fn is_whole(&self) -> bool {
        self.saw_calls && self.knows_reasoning
    }

    /// The parts that are not read or not exercised.
    fn diagnostics(&self, verdict: &Verdict) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        let mut warn = |severity: Severity, id: &'static str, message: &str, help: &str| {
            found.push(Diagnostic::new(severity, id, message).help(help));
        };
        if self.lacks_calls() {
            let message = "no response template was found for the form in which the chat template renders tool calls";
            let turns = verdict.inexpressible.iter();
            let turns: Vec<String> =
                turns.map(|turn| format!("{:?} ({})", shortened(&turn.text, 160), turn.case)).collect();
            let help = format!(
                "the draft reads content and reasoning; calls remain text in the content: {}",
                turns.join(" and ")
            );
            warn(Severity::Warning, "derive-calls-unknown", message, &help);
        }
        if !self.knows_reasoning {
            let message = "no response template was found for the form in which the chat template renders reasoning";
            let help = "reasoning remains text in the content, or is lost; write the field by hand, and test it on recorded outputs";
            warn(Severity::Warning, "derive-reasoning-unknown", message, help);
        }
        let unseen = [("calls", Severity::Warning, self.saw_calls), ("reasoning", Severity::Note, self.saw_reasoning)];
        for (what, severity, _) in unseen.into_iter().filter(|(_, _, saw)| !saw) {
            let message = format!("not verified: no turn with {what} could be cut out of a render and parsed");
            warn(severity, "derive-unseen", &message, "test the draft on recorded outputs with --samples");
        }
        found
    }
}

/// Special tokens in the draft, which a server that decodes without them leaves out of the text.
fn special_marks(draft: &Value, options: &Options) -> Vec<String> {
    let given = options.variables.iter().filter(|(name, _)| name.ends_with("_token"));
    let given = given.filter_map(|(_, value)| value.as_str());
    let known = options.special_tokens.iter().map(String::as_str).chain(given);
    let mut text = String::new();
    strings(draft, &mut text);
    let plain = text.replace('\\', "");
    distinct(known.filter(|token| !token.is_empty() && plain.contains(token)).map(str::to_owned))
}

fn strings(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => {
            out.push_str(text);
            out.push('\n');
        }
        Value::List(items) => items.iter().for_each(|item| strings(item, out)),
        Value::Object(entries) => entries.values().for_each(|value| strings(value, out)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{CHAT, value};
    use crate::derive::{Part, derive};
    use backchat_core::json::Object;

    #[test]
    fn the_headline_counts_conversations_and_never_calls_a_loss_a_success() {
        let mut verdict = Verdict { cases: 10, passed: 10, ..Verdict::default() };
        verdict.scope.proved.push("content");
        let line = |status, verdict: &Verdict| headline(status, verdict);
        assert_eq!(
            line(Status::Proved, &verdict),
            "proved: content. 10 of 10 generated conversations parse back exactly"
        );
        verdict.passed = 8;
        assert_eq!(
            line(Status::Partial, &verdict),
            "partial: 8 of 10 generated conversations parse back exactly; 2 lose something to the wire format"
        );
        assert_eq!(line(Status::Failed, &Verdict::default()), "failed: no draft");
        for status in [Status::Proved, Status::Partial, Status::Inexpressible, Status::Failed] {
            assert!(headline(status, &verdict).starts_with(&format!("{}: ", status.name())));
        }
    }

    #[test]
    fn each_outcome_has_a_status() {
        let status = |source: &str| {
            let derivation = derive(source, &Options::default());
            (derivation.status, derivation.diagnostics.iter().map(|diagnostic| diagnostic.id).collect::<Vec<_>>())
        };
        assert_eq!(status(CHAT).0, Status::Proved);
        // A refusal on purpose, or of the sandbox, is no defect; an expression that fails is one.
        for (call, outcome, id) in [
            ("{{ raise_exception('no calls') }}<call>", Status::Proved, "derive-calls-refused"),
            ("{% set _ = [].append(c) %}<call>", Status::Proved, "derive-sandboxed"),
            ("{{ c.functoin.name }}<call>", Status::Partial, "derive-broken"),
        ] {
            let (status, ids) = status(&CHAT.replace("<call>", call));
            assert_eq!((status, ids.contains(&id)), (outcome, true), "{call}");
        }
        // Words of a sentence are not split at delimiters.
        let (start, end) = (CHAT.find("<call>").unwrap(), CHAT.find("</call>").unwrap() + "</call>".len());
        let words = "{% for key, value in c.function.arguments.items() %}{{ value }} is the {{ key }}, {% endfor %}\
                     so run {{ c.function.name }}.";
        let (unread, ids) = status(&format!("{}{words}{}", &CHAT[..start], &CHAT[end..]));
        assert_eq!((unread, ids.contains(&"derive-calls-unknown")), (Status::Inexpressible, true));
        assert_eq!(status("{{ messages | length }}").0, Status::Failed);
    }

    #[test]
    fn each_entry_of_a_verdict_is_a_diagnostic_with_help() {
        let failure = super::super::Failure {
            count: 1,
            case: "signs".to_owned(),
            setting: Object::new(),
            part: Part::Content,
            what: "content".to_owned(),
            boundary: None,
            is_malformed: false,
            prefix: String::new(),
            text: "Yes.".to_owned(),
            expected: Value::Null,
            got: Value::Null,
        };
        let verdict = Verdict { failures: vec![failure], ..Verdict::default() };
        let [found] = verdict.diagnostics().try_into().unwrap();
        assert_eq!((found.id, found.severity), ("derive-unproved", Severity::Warning));
        assert_eq!(found.help.as_deref(), Some("the text: \"Yes.\""), "without a boundary the text has to do");
        assert!(Verdict::default().diagnostics().is_empty());
    }

    #[test]
    fn marks_that_a_server_may_leave_out_are_listed_once() {
        let draft = value(r#"{"fields": {"content": {"close_pattern": "<\\|end\\|>", "open": ["<s>"]}}}"#);
        let variables = [("eos_token", "<|end|>"), ("bos_token", ""), ("name", "<s>")];
        let variables = variables.into_iter().map(|(name, token)| (name.to_owned(), token.into())).collect();
        let tokens = ["<s>", "<|end|>", "<unused>"].map(str::to_owned).to_vec();
        let plain = Options::default().variables(variables);
        assert_eq!(special_marks(&draft, &plain.clone().special_tokens(tokens)), ["<s>", "<|end|>"]);
        // Only variables that are tokens.
        assert_eq!(special_marks(&draft, &plain), ["<|end|>"]);
    }

    #[test]
    fn a_failed_derivation_has_no_draft_in_its_report() {
        let report = derive("{% if", &Options::default()).to_value();
        assert_eq!(report.get("status"), Some(&"failed".into()));
        assert_eq!(report.get("response_template"), Some(&Value::Null));
        assert_eq!(report.get("diagnostics").and_then(Value::as_list).map(<[Value]>::len), Some(1));
    }
}
