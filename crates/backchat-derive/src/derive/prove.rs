//! Proves a response template that was written or edited by hand against its chat template.

use super::choose::Chosen;
use super::proof::{Conversation, Hunt, Hunted, Proof, ReadableTurns, Verdict};
use super::recorded::Explained;
use super::{Derivation, Job, Options, Status, compiled, derive_once, no_content, remedies, with_proof};
use backchat_chat::{ended, examine};
use backchat_core::diagnostic::Diagnostic;
use backchat_core::json::{Object, Value};
use backchat_parser::template::Template;

/// The result of the proof of a response template.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Proven {
    /// `Proved` or `Partial`; `Failed` if no conversation could be rendered.
    pub status: Status,
    /// The verdict on every conversation.
    pub verdict: Verdict,
    /// How the response template reads the samples.
    pub explained: Explained,
    /// The diagnostics.
    pub diagnostics: Vec<Diagnostic>,
    template: Value,
}

/// Proves a response template against the source of a chat template, with conversations that the proof chooses.
///
/// ```
/// # mod backchat { pub use {backchat_derive::*, backchat_parser::*}; }
/// use backchat::derive::{Options, Status, prove};
/// use backchat::Template;
///
/// let chat_template = "{% for m in messages %}[{{ m.role }}]{{ m.content }}<end>{% endfor %}\
///                      {% if add_generation_prompt %}[assistant]{% endif %}";
/// let text = r#"{"start_anchor": "[assistant]", "fields": {"content": {"close": "<end>"}}}"#;
/// let template = Template::load(text)?.template;
/// let proven = prove(chat_template, &template, &Options::default());
/// assert_eq!(proven.status, Status::Proved);
/// assert!(proven.verdict.holds());
/// # Ok::<(), backchat::LoadError>(())
/// ```
pub fn prove(source: &str, template: &Template, options: &Options) -> Proven {
    prove_and(source, template, options, |_| ()).0
}

/// Proves a response template, and lists the conversations that prove it.
pub fn prove_and_list(source: &str, template: &Template, options: &Options) -> (Proven, Vec<Conversation>) {
    let (proven, listed) = prove_and(source, template, options, |proof| proof.listed(template));
    (proven, listed.unwrap_or_default())
}

/// Proves, and runs a closure on the proof, if there is one.
fn prove_and<T>(
    source: &str,
    template: &Template,
    options: &Options,
    ask: impl FnOnce(&Proof<'_>) -> T,
) -> (Proven, Option<T>) {
    let held = compiled(source).and_then(|chat_template| {
        examine(options.budget, || {
            with_proof(&chat_template, options, |proof, options| {
                Some((hold_against(&proof, template, options), ask(&proof)))
            })
        })
    });
    match held {
        Ok(((mut proven, asked), gaps)) => {
            if gaps.report(None, &mut proven.diagnostics).is_some() {
                proven.status = Status::Partial;
            }
            (proven, Some(asked))
        }
        Err(diagnostic) => {
            let failed = Proven {
                status: Status::Failed,
                verdict: Verdict::default(),
                explained: Explained::default(),
                diagnostics: vec![diagnostic],
                template: template.to_value(),
            };
            (failed, None)
        }
    }
}

/// What the proof of a response template against a chat template comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Held {
    /// The status.
    pub status: Status,
    /// The shortest turn that it misreads.
    pub misread: Option<String>,
}

impl Held {
    fn new(status: Status, verdict: &Verdict) -> Self {
        Self { status, misread: verdict.failures.first().map(|failure| failure.text.clone()) }
    }
}

impl From<&Proven> for Held {
    fn from(proven: &Proven) -> Self {
        Self::new(proven.status, &proven.verdict)
    }
}

/// The drafts of two chat templates, and how each reads the turns of both.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Pair {
    /// The draft of each, if there is one.
    pub drafts: [Option<Value>; 2],
    /// How each reads the turns of the first chat template, and of the second.
    pub reads: [[Option<Held>; 2]; 2],
}

impl Pair {
    /// Derives both drafts, and proves each against the other chat template with the renders of that derivation.
    pub fn derive(sources: [&str; 2], options: [&Options; 2]) -> Self {
        let [first, second] = sources;
        let of_first = |others: Option<&Value>| {
            let (derivation, held) = draft(first, options[0], |chosen, job| Some(proven_beside(others?, chosen, job)));
            let held = held.flatten().map(|proven| derivation.holds_beside(proven));
            (derivation, held)
        };
        examine(options[1].budget, || {
            let (of_second, made) = draft(second, options[1], |chosen, job| {
                let (derivation, held) = of_first(Some(&chosen.attempt.draft));
                let drafted = derivation.response_template.as_ref();
                let proven = drafted.map(|drafted| proven_beside(drafted, chosen, job));
                (derivation, held, proven)
            });
            let (of_first, second_on_first, proven) = made.unwrap_or_else(|| (of_first(None).0, None, None));
            let first_on_second = proven.map(|proven| of_second.holds_beside(proven));
            let own = |derivation: &Derivation| {
                let has_draft = derivation.response_template.is_some();
                has_draft.then(|| Held::new(derivation.status, &derivation.verdict))
            };
            Self {
                reads: [[own(&of_first), first_on_second], [second_on_first, own(&of_second)]],
                drafts: [of_first.response_template, of_second.response_template],
            }
        })
    }
}

impl Derivation {
    /// What another draft comes to that its renders proved; `None` is its own one.
    fn holds_beside(&self, proven: Option<Held>) -> Held {
        match proven {
            Some(held) if self.missing.is_some() => Held { status: Status::Partial, ..held },
            Some(held) => held,
            None => Held::new(self.status, &self.verdict),
        }
    }
}

/// The draft of a chat template, with what its caller made of it; no other target is tried.
fn draft<T>(source: &str, options: &Options, make: impl Fn(&Chosen, &Job<'_>) -> T) -> (Derivation, Option<T>) {
    let once = |options: &Options| derive_once(source, options, &make);
    remedies::with_name(once(options), options, &once)
}

/// What the proof of another draft comes to, with the renders of a derivation; `None` if it is the draft of that.
fn proven_beside(other: &Value, chosen: &Chosen, job: &Job<'_>) -> Option<Held> {
    let is_other = chosen.attempt.draft != *other;
    let template = is_other.then(|| Template::from_value(other).ok())??.template;
    Some(Held::from(&hold_against(&job.proof, &template, job.options)))
}

/// How many conversations of a hunt may take the work of one proof.
const HUNTED_PER_PROOF: f64 = 200.0;

/// Tries random conversations with a response template; the first ones are those of the proof, and if they fail, there
/// are no others. `on_tried` is called with the number of conversations so far.
pub fn hunt(
    source: &str,
    template: &Template,
    options: &Options,
    hunt: Hunt,
    on_tried: &mut dyn FnMut(usize),
) -> Result<Hunted, Diagnostic> {
    let chat_template = compiled(source)?;
    let budget = options.budget.scaled(1.0 + hunt.conversations as f64 / HUNTED_PER_PROOF);
    let (hunted, _) = examine(budget, || {
        with_proof(&chat_template, options, |proof, _| {
            let verdict = proof.with_branches(template, proof.judge(template));
            Some(match verdict.holds() {
                true => proof.hunt(template, &verdict, hunt, on_tried),
                false => Hunted::of_proof(hunt, verdict),
            })
        })
    })?;
    Ok(hunted)
}

fn hold_against(proof: &Proof<'_>, template: &Template, options: &Options) -> Proven {
    let mut verdict = proof.with_branches(template, proof.judge(template));
    if verdict.holds() && !options.leaves_policies {
        verdict.policies = proof.policies(template, options.thorough);
        verdict.ended = ended();
    }
    let mut explained = proof.explain(&options.samples, template);
    let unknown = explained.without_unknown_markers(&options.samples, template);
    let is_whole = proof.covers(&verdict) && proof.saw_calls(template, &verdict);
    let status = match is_whole && explained.departures.is_empty() {
        true => Status::Proved,
        false => Status::Partial,
    };
    let mut diagnostics: Vec<Diagnostic> = verdict.ended.map(super::report::ended_early).into_iter().collect();
    diagnostics.extend(verdict.diagnostics());
    diagnostics.extend(explained.diagnostics());
    diagnostics.extend(unknown);
    Proven { status, verdict, explained, diagnostics, template: template.to_value() }
}

impl Proven {
    /// The machine-readable report, in the format of `derive`.
    pub fn to_value(&self) -> Value {
        Value::from([
            ("status", self.status.name().into()),
            ("response_template", self.template.clone()),
            ("findings", Value::Object(Object::new())),
            ("verification", self.verdict.to_value()),
            ("diagnostics", Value::List(self.diagnostics.iter().map(super::report::diagnostic_value).collect())),
        ])
    }

    /// One line: the status, and the parts that it covers.
    pub fn headline(&self) -> String {
        super::report::headline(self.status, &self.verdict)
    }

    /// How many samples are explained, if there are any.
    pub fn samples_line(&self) -> Option<String> {
        self.explained.describe()
    }
}

/// The turns that a chat template writes in an everyday conversation, and the messages that a response template reads in
/// them.
pub fn readable_turns(source: &str, template: &Template, options: &Options) -> Result<ReadableTurns, Diagnostic> {
    let chat_template = compiled(source)?;
    examine(options.budget, || {
        let turns = Proof::without_cases(&chat_template, options).and_then(|proof| proof.readable(template));
        turns.ok_or_else(|| no_content(&chat_template, options))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{ANSWER, CHAT, template};
    use crate::derive::recorded::Sample;

    fn proven(chat_template: &str, answer: &str, options: &Options) -> (Status, Vec<&'static str>) {
        let proven = prove(chat_template, &template(answer), options);
        (proven.status, proven.diagnostics.iter().map(|diagnostic| diagnostic.id).collect())
    }

    #[test]
    fn only_a_template_that_reads_every_conversation_and_sample_is_proved() {
        let plain = Options::default();
        assert_eq!(proven(CHAT, ANSWER, &plain).0, Status::Proved);
        let (status, ids) = proven(CHAT, &ANSWER.replace("<end>", "<stop>"), &plain);
        assert_eq!(status, Status::Partial);
        assert!(ids.contains(&"derive-unproved"));
        let sample = Sample::new("odd", "<call>{\"name\": </call><end>").prefix("<assistant>".to_owned());
        let (status, ids) = proven(CHAT, ANSWER, &plain.samples(vec![sample]));
        assert_eq!(status, Status::Partial);
        assert!(ids.contains(&"derive-sample"));
    }

    #[test]
    fn a_pair_comes_to_what_derivations_and_proofs_come_to() {
        let options = Options::default();
        let ended = CHAT.replace("<end>", "<stop>");
        for sources in [[CHAT, CHAT], [CHAT, &ended], [&ended, CHAT], [CHAT, "{% if"], ["{% if", CHAT]] {
            let pair = Pair::derive(sources, [&options, &options]);
            let drafts = sources.map(|source| crate::derive::derive(source, &options).response_template);
            assert_eq!(pair.drafts, drafts, "{sources:?}");
            for (draft, reads) in drafts.iter().zip(&pair.reads) {
                for (source, held) in sources.into_iter().zip(reads) {
                    let template = draft.as_ref().map(|draft| Template::from_value(draft).unwrap().template);
                    let proven = template.map(|template| prove(source, &template, &options));
                    let proven = proven.filter(|proven| proven.status != Status::Failed);
                    assert_eq!(held, &proven.as_ref().map(Held::from), "{sources:?}");
                }
            }
        }
    }

    #[test]
    fn the_list_matches_the_verdict() {
        let options = Options::default();
        for answer in [ANSWER, &ANSWER.replace("</weigh>", "</other>")] {
            let template = template(answer);
            let (proven, listed) = prove_and_list(CHAT, &template, &options);
            assert_eq!(proven.verdict, prove(CHAT, &template, &options).verdict);
            let alone = crate::derive::conversations(CHAT, &template, &options);
            assert_eq!(format!("{listed:?}"), format!("{alone:?}"));
            assert!(proven.verdict.cases > 0 && listed.len() == proven.verdict.cases);
        }
        let (proven, listed) = prove_and_list("{% if", &template(ANSWER), &options);
        assert!(proven.status == Status::Failed && listed.is_empty());
    }

    #[test]
    fn leaving_policies_to_a_proof_changes_no_draft() {
        let whole = crate::derive::derive(CHAT, &Options::default());
        let left = crate::derive::derive(CHAT, &Options::default().leave_policies(true));
        assert!(whole.verdict.policies.conforming > 0);
        assert_eq!(left.verdict.policies, Default::default());
        assert_eq!((left.status, left.response_template), (whole.status, whole.response_template));
    }

    #[test]
    fn a_draft_for_a_target_is_proved_with_the_name_that_the_target_requires() {
        let plan = CHAT.replace("reasoning_content", "plan");
        let target = crate::targets::Target::named("vllm").unwrap();
        let options = Options::default().targets(vec![target]);
        let derived = crate::derive::derive(&plan, &options);
        assert_eq!(derived.status, Status::Proved);
        let template = Template::from_value(derived.response_template.as_ref().unwrap()).unwrap().template;
        assert_eq!(prove(&plan, &template, &options).status, Status::Proved);
        assert_eq!(prove(&plan, &template, &Options::default()).status, Status::Partial);
    }

    #[test]
    fn calls_that_no_render_shows_are_not_proved() {
        let start = CHAT.find("{% for c in").unwrap();
        let end = start + CHAT[start..].find("{% endfor %}").unwrap() + "{% endfor %}".len();
        let silent = format!("{}{}", &CHAT[..start], &CHAT[end..]);
        let (status, ids) = proven(&silent, ANSWER, &Options::default());
        assert_eq!((status, ids.contains(&"derive-unverified")), (Status::Partial, true));
    }

    #[test]
    fn reasoning_that_no_render_shows_as_it_was_thought_is_not_proved() {
        let changed = CHAT.replace("m.reasoning_content }}", "m.reasoning_content | upper }}");
        let plain = r#"{"start_anchor": "<assistant>", "fields": {
            "tool_calls": {"open": "<call>", "close": "</call>", "repeats": true, "content": "json"},
            "content": {"close": "<end>"}}}"#;
        for answer in [ANSWER, plain] {
            let (status, ids) = proven(&changed, answer, &Options::default());
            assert_eq!((status, ids.contains(&"derive-unverified")), (Status::Partial, true), "{answer}");
        }
        let derived = crate::derive::derive(&changed, &Options::default());
        assert_eq!(derived.status, Status::Partial);
        let without = derived.summary_lines().into_iter().find(|(subject, _)| *subject == "without");
        assert_eq!(without.unwrap().1, "ids: the chat template never writes them");
    }

    #[test]
    fn a_chat_template_that_fails_on_every_call_proves_no_template() {
        let broken = CHAT.replace("c.function.arguments", "c.function.argument");
        let plain = r#"{"start_anchor": "<assistant>", "fields": {
            "reasoning_content": {"open": "<weigh>", "close": "</weigh>"}, "content": {"close": "<end>"}}}"#;
        let proven = prove(&broken, &template(plain), &Options::default());
        assert_eq!((proven.status, proven.verdict.holds()), (Status::Partial, true));
        assert!(proven.headline().starts_with("partial: the chat template fails on every turn with calls, at line "));
        assert!(proven.headline().contains("has no `argument`; did you mean `arguments`?"), "{}", proven.headline());
    }

    #[test]
    fn a_chat_template_that_cannot_prove_anything_is_diagnosed() {
        for (source, id) in [("{% if", "template-failed"), ("{{ messages | length }}", "derive-no-content")] {
            let (status, ids) = proven(source, ANSWER, &Options::default());
            assert_eq!((status, ids.as_slice()), (Status::Failed, &[id][..]), "{source}");
            let turns = readable_turns(source, &template(ANSWER), &Options::default());
            assert_eq!(turns.map_err(|diagnostic| diagnostic.id), Err(id));
        }
    }

    #[test]
    fn a_missing_variable_is_filled_and_reported() {
        let needs = format!("{{% if not policy %}}{{{{ raise_exception('no') }}}}{{% endif %}}{CHAT}");
        let (status, ids) = proven(&needs, ANSWER, &Options::default());
        assert_eq!((status, ids.first()), (Status::Proved, Some(&"derive-filled")));
    }
}
