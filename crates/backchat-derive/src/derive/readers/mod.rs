//! The readers of a draft: their limits, ways to write the draft within them, and the verdict of each.

mod automata;
mod fit;
mod looks;
mod rewrite;
mod verdicts;

pub use rewrite::rewrite;
pub use verdicts::ReaderVerdict;

pub(super) use fit::Fitted;

use super::{Attempt, Options};
use crate::targets::{Limits, Reader, Reason, Refusal, THINKING, Target};
use crate::wire::structure::WireFormat;
use backchat_core::diagnostic::{Diagnostic, Severity};
use backchat_core::json::Value;
use backchat_parser::template::Template;

/// Names of the reasoning that every program copies to one another before it renders a chat.
const ALIASES: [&str; 2] = [THINKING, "reasoning_content"];

/// The readers that a draft is written for: the requested ones, or every reader that one template can serve at no cost.
pub(super) struct ReaderSet {
    readers: Vec<Reader>,
    limits: Limits,
    /// Whether the user requested them: a draft that they do not all accept is then not proved.
    pub is_requested: bool,
}

impl ReaderSet {
    pub fn new(targets: &[&'static Target]) -> Self {
        let everyone = || Target::named("portable").into_iter().collect();
        let is_requested = !targets.is_empty();
        let targets: Vec<&Target> = if is_requested { targets.to_vec() } else { everyone() };
        let mut readers: Vec<Reader> = targets.iter().flat_map(|target| target.readers).copied().collect();
        readers.sort_unstable();
        readers.dedup();
        let mut limits = targets.iter().map(|target| target.limits()).reduce(Limits::and).unwrap_or(Limits::NONE);
        if !is_requested {
            limits = Limits { reasoning: None, open_delims: true, ..limits };
        }
        Self { readers, limits, is_requested }
    }

    /// How many readers were requested.
    pub fn requested(&self) -> usize {
        if self.is_requested { self.readers.len() } else { 0 }
    }

    /// Whether the reasoning may have a name that the chat template does not read.
    pub fn renames(&self) -> bool {
        self.limits.reasoning.is_some()
    }

    /// The name for the reasoning field, given the keys that the chat template reads.
    pub fn reasoning_field(&self, options: &Options, keys: &[&str]) -> String {
        let asked = options.reasoning_field.as_deref();
        let alias = || keys.iter().any(|key| ALIASES.contains(key)).then_some(THINKING);
        let name = asked.or(self.limits.reasoning).or_else(alias);
        name.or_else(|| keys.first().copied()).unwrap_or(THINKING).to_owned()
    }

    /// Why the readers refuse a template. Unless readers were requested, the chat template decides the name of the reasoning
    /// and how values are read.
    pub fn refusals(&self, template: &Template) -> Vec<Refusal> {
        let mut refusals: Vec<Refusal> = self.readers.iter().flat_map(|reader| reader.check(template)).collect();
        refusals.retain(|refusal| self.is_requested || !matches!(refusal.reason, Reason::Field | Reason::Argument));
        refusals
    }

    /// Other ways to write a draft for its readers, the closest first.
    pub fn ways(&self, draft: &Value) -> Vec<Fitted> {
        let mut ways = fit::within(draft, &self.readers, &self.limits);
        ways.retain(|way| way.template != *draft);
        ways
    }

    /// A draft that keeps every piece of a text, if that makes a difference and the requested readers accept it.
    pub fn joined(&self, draft: &Value) -> Option<Value> {
        fit::joined(draft).filter(|_| self.is_requested && self.limits.joins_text)
    }
}

/// The verdict of each reader on a draft whose reasoning field has this name, and the cost of the target.
pub(super) fn report(
    readers: &ReaderSet,
    wire: &WireFormat,
    name: &str,
    attempt: &Attempt,
) -> (Vec<ReaderVerdict>, Vec<Diagnostic>) {
    let Ok(loaded) = Template::from_value(&attempt.draft) else { return Default::default() };
    let is_read = |key: &str| key == name || ALIASES.contains(&key) && ALIASES.contains(&name);
    let keys = || wire.reasoning.iter().flat_map(|reasoning| reasoning.keys());
    let renamed = keys().next().filter(|_| readers.renames() && !keys().any(is_read));
    let renamed = renamed.map(|key| (name, key)).filter(|_| loaded.template.field(name).is_some());
    let diagnostics = verdicts::diagnostics(readers, &attempt.refusals, &attempt.avoided, &attempt.dropped, renamed);
    (verdicts::all(&loaded.template, readers), diagnostics)
}

/// The target of the first reader that accepts a draft which others refuse, and a note that offers it.
pub(super) fn fuller(attempt: &Attempt) -> Option<(&'static Target, Diagnostic)> {
    let template = Template::from_value(&attempt.draft).ok()?.template;
    let reader = Reader::ALL.into_iter().find(|reader| reader.check(&template).is_empty())?;
    let target = Target::named(reader.target())?;
    let message = format!(
        "`--target {}` gives a draft for {} that reads {} of {} conversations exactly",
        target.name,
        reader.title(),
        attempt.verdict.passed,
        attempt.verdict.cases
    );
    let help = "other readers and older releases refuse that draft";
    Some((target, Diagnostic::new(Severity::Note, "derive-fuller", message).help(help)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::template;

    fn readers(name: &str) -> ReaderSet {
        ReaderSet::new(&[Target::named(name).unwrap()])
    }

    #[test]
    fn without_a_target_a_draft_suits_all_readers_at_no_cost() {
        let unasked = ReaderSet::new(&[]);
        assert!(!unasked.is_requested && !unasked.renames());
        assert_eq!(unasked.readers, readers("portable").readers);
        // The name of the reasoning is the chat template's own, unless a reader that knows others was requested.
        let named = template(
            r#"{"start_anchor": "<b>", "fields": {"notes": {"open": "<n>", "close": "</n>"}, "content": {}}}"#,
        );
        assert_eq!(unasked.refusals(&named), []);
        assert!(readers("vllm").refusals(&named).iter().any(|refusal| refusal.reason == Reason::Field));
        // A word for null that keeps its call is worth more than one reader, unless that reader was requested.
        let empty = template(
            r#"{"start_anchor": "<b>", "fields": {"tool_calls": {"open": "<c>", "close": "</c>", "content": "json",
                "content_args": {"string_delims": [["None", ""]]}}, "content": {}}}"#,
        );
        assert_eq!(unasked.refusals(&empty), []);
        assert!(readers("smg").refusals(&empty).iter().any(|refusal| refusal.reason == Reason::Argument));
    }

    #[test]
    fn the_reasoning_is_named_by_the_user_the_target_or_the_chat_template() {
        let asked = Options::default().reasoning_field("thoughts".to_owned());
        let plain = Options::default();
        for (set, options, keys, name) in [
            (readers("vllm"), &asked, &["plan"][..], "thoughts"),
            (readers("vllm"), &plain, &["plan"], "thinking"),
            (ReaderSet::new(&[]), &plain, &["plan"], "plan"),
            // Programs copy these names to one another.
            (ReaderSet::new(&[]), &plain, &["plan", "reasoning_content"], "thinking"),
            (ReaderSet::new(&[]), &plain, &[], "thinking"),
        ] {
            assert_eq!(set.reasoning_field(options, keys), name, "{keys:?}");
        }
    }

    #[test]
    fn a_draft_is_joined_only_for_requested_readers() {
        let draft = crate::derive::by_hand::value(crate::derive::by_hand::ANSWER);
        assert!(readers("transformers").joined(&draft).is_some());
        assert!(ReaderSet::new(&[]).joined(&draft).is_none(), "it has a cost");
        assert!(readers("vllm").joined(&draft).is_none(), "the reader does not join text");
    }

    #[test]
    fn a_way_that_changes_nothing_is_not_listed() {
        let draft = crate::derive::by_hand::value(crate::derive::by_hand::ANSWER);
        assert!(readers("transformers").ways(&draft).is_empty());
    }
}
