//! Conditions of which no conversation takes one side, and the turns that the chat template writes on that side: renders
//! assume that the condition has the outcome, whatever its operands are.

use super::super::Proof;
use super::super::case::{Case, Cutter, TurnStarts, offering};
use super::super::conversations::{self, History, Reach, TestAnswer};
use super::super::judge::Judge;
use super::super::turn_start::Cut;
use super::super::verdict::{Fate, Loss};
use super::reached::Known;
use backchat_chat::{Assumed, Ran, Relation, branches, ended};
use backchat_core::diagnostic::{line_column, shortened};
use backchat_core::json::Value;
use backchat_core::text::{common_end, common_start, slice};
use backchat_probe::coverage::{Coverage, Goal, Sought, is_about_kind, is_usual_role, mentions, places};
use backchat_probe::probe::{Answer, Message, Prober, Setting};
use std::ops::Range;

/// How many conditions are assumed to go the other way at most.
const MOST_ASSUMED: usize = 24;

/// How many conditions that no conversation ran are assumed to hold for one of them.
const MOST_WITHIN: usize = 2;

/// How many characters of a condition are quoted.
const QUOTED: usize = 60;

/// A side of a condition that no conversation takes, and turns with which the chat template writes what is there.
pub(in crate::derive) struct Untaken {
    condition: String,
    line: usize,
    /// Whether what is written is true on that side.
    holds: bool,
    cases: Vec<Case>,
    /// The same turns without it.
    usual: Vec<Case>,
}

impl Untaken {
    /// The loss of a template that misreads one of the turns, unless another loss names what the condition asks about.
    pub fn loss(&self, judge: &Judge<'_, '_>, known: &[Loss]) -> Option<Loss> {
        let is_known =
            |loss: &Loss| loss.is_assumed && quoted(&loss.message).any(|name| mentions(&self.condition, name));
        if known.iter().any(is_known) {
            return None;
        }
        let is_about = |case: &Case| {
            let mut usual = self.usual.iter().filter(|usual| usual.name == case.name);
            let is_other = |usual: &Case| (&usual.text, &usual.prompted) != (&case.text, &case.prompted);
            let is_twin = |usual: &Case| is_other(usual) && writes_alike(usual, case);
            usual.any(|usual| is_twin(usual) && !matches!(judge.fate(usual), Fate::Failed(_)))
        };
        let misread = self.cases.iter().filter_map(|case| match judge.fate(case) {
            Fate::Failed(failure) if is_about(case) => Some((case, failure)),
            _ => None,
        });
        let (case, failure) = misread.min_by_key(|(case, _)| case.text.len())?;
        let condition = self.condition.split_whitespace().collect::<Vec<_>>().join(" ");
        let message = format!(
            "no conversation of the proof has `{}` {} (line {}); the draft misreads turns that the template writes then",
            shortened(&condition, QUOTED),
            self.holds,
            self.line
        );
        Some(Loss { is_assumed: true, ..Loss::new(failure.part, message, &case.text) })
    }
}

/// Whether two turns have every text of the answer equally often. Otherwise the answer contradicts what is assumed of it, as
/// content without a mark at which the template splits it.
fn writes_alike(usual: &Case, case: &Case) -> bool {
    let count = |case: &Case, said: &str| case.text.matches(said).count();
    places(&case.said).iter().all(|(_, said)| said.is_empty() || count(usual, said) == count(case, said))
}

/// What a message has between backticks.
fn quoted(message: &str) -> impl Iterator<Item = &str> {
    message.split('`').skip(1).step_by(2)
}

/// The sides of conditions that no conversation takes and on which turns are written differently. `before` are those that
/// only turns before an answer take, each with a conversation whose last turn asks about the condition.
pub(super) fn untaken(
    proof: &Proof<'_>,
    coverage: &Coverage,
    known: &[Known],
    before: Vec<(Goal, Known)>,
) -> Vec<Untaken> {
    let source = proof.plain.template().source();
    let described = spans_of_tools(proof);
    let is_varied = |known: &Known, condition: &str| {
        let settings = &proof.request.usage.settings;
        !known.has_answer() && settings.iter().any(|setting| setting.keys().any(|name| mentions(condition, name)))
    };
    let both: Vec<Range<usize>> =
        coverage.conditions().into_iter().filter(|(_, is_both)| *is_both).map(|(span, _)| span).collect();
    // A text of the answer is never empty, and other texts of the condition are.
    let is_met = |goal: &Goal| goal.sought == Sought::Outcome(Relation::Truth) && both.contains(&goal.span);
    let mut asked: Vec<Assumed> = Vec::new();
    let mut found = Vec::new();
    let open = coverage.goals().into_iter().filter(|goal| !is_met(goal)).filter_map(|goal| {
        let witnesses = goal.witnesses.iter().chain(&goal.beside).filter_map(|witness| known.get(*witness));
        // Messages in another form before the answer are no turns of the proof.
        let is_changed = |message: &Message| matches!(message, Message::Changed(..));
        let witnesses = witnesses.filter(|known| !known.history.iter().any(is_changed));
        let known = witnesses.max_by_key(|known| parts(&known.answer))?.clone();
        Some((goal, known))
    });
    for (goal, known) in before.into_iter().chain(open) {
        let condition = source.get(goal.span.clone()).unwrap_or_default();
        if !may_be_assumed(&goal, condition) || described.contains(&goal.span) || is_varied(&known, condition) {
            continue;
        }
        let assumed = Assumed { span: goal.span.clone(), outcome: goal.wanted };
        if asked.contains(&assumed) {
            continue;
        }
        if asked.len() == MOST_ASSUMED || ended().is_some() {
            break;
        }
        asked.push(assumed.clone());
        found.extend(Assuming { proof, known: &known }.untaken(coverage, assumed));
    }
    found
}

/// The conditions that run only where the prompt describes tools.
fn spans_of_tools(proof: &Proof<'_>) -> Vec<Range<usize>> {
    let question = [Message::User(conversations::QUESTION.to_owned())];
    let ran = |prober: &Prober<'_>| prober.ran(&question, &Setting::new(), true).unwrap_or_default().decisions;
    let usual = ran(&proof.plain);
    let offered = ran(&proof.offering).into_iter().map(|decision| decision.span);
    offered.filter(|span| !usual.iter().any(|decision| decision.span == *span)).collect()
}

/// Whether values may give a condition its other outcome. Clients always send the usual values, and in the usual kinds; what
/// a message says in another role is another conversation.
fn may_be_assumed(goal: &Goal, condition: &str) -> bool {
    let is_absent = goal.operands.iter().all(|(left, _)| left.is_null());
    let is_filled = goal.operands.iter().all(|(left, _)| left.as_list().is_some());
    let is_role = |value: &Value| value.as_str().is_some_and(is_usual_role);
    let is_about_role = || goal.operands.iter().any(|(left, right)| is_role(left) || is_role(right));
    // A variable that is always defined is defined by the template itself.
    let is_definition = condition.ends_with(" is defined") && !goal.wanted;
    // Each render decides about its prompt.
    if mentions(condition, "add_generation_prompt") {
        return false;
    }
    match &goal.sought {
        // A key that the template spells out may be in the message. One that is computed chooses among known ones.
        Sought::Outcome(Relation::Key) => {
            goal.wanted && [".get('", ".get(\""].iter().any(|get| condition.contains(get))
        }
        Sought::Outcome(Relation::Items) | Sought::Member(_) | Sought::Change(..) => false,
        Sought::Outcome(Relation::Test) => !is_about_kind(condition) || is_absent && !is_definition,
        Sought::Outcome(Relation::Truth) => goal.wanted || !is_filled,
        Sought::Outcome(_) => !is_about_role(),
    }
}

/// Whether a text has words where another one has none, or other words.
fn adds_text(usual: &str, text: &str) -> bool {
    let rest = slice(text, common_start(usual, text).len()..);
    let end = common_end(usual, rest).len();
    !slice(rest, ..rest.len() - end).trim().is_empty()
}

fn parts(answer: &Answer) -> usize {
    answer.calls.len() + usize::from(answer.content.is_some()) + usize::from(answer.reasoning.is_some())
}

/// A condition that runs only under these outcomes, with the outcome that it does not have.
fn next_within(coverage: &Coverage, ran: &Ran, assumed: &[Assumed]) -> Option<Assumed> {
    let is_plain = |relation: Relation| !matches!(relation, Relation::Items | Relation::Key);
    let is_assumed = |span: &Range<usize>| assumed.iter().any(|known| known.span == *span);
    let mut new = ran.decisions.iter().filter(|new| is_plain(new.relation) && !coverage.ran(&new.span));
    let within = new.find(|new| !is_assumed(&new.span))?;
    Some(Assumed { span: within.span.clone(), outcome: !within.outcome })
}

/// A conversation in which a condition went one way only.
struct Assuming<'p, 't> {
    proof: &'p Proof<'t>,
    known: &'p Known,
}

impl Assuming<'_, '_> {
    /// The other side of the condition, if the turn of the conversation is written differently there.
    fn untaken(&self, coverage: &Coverage, assumed: Assumed) -> Option<Untaken> {
        let source = self.proof.plain.template().source();
        let Assumed { span, outcome } = assumed.clone();
        let cases = self.cases(coverage, assumed)?;
        let is_inverted = branches(source).conditions.iter().any(|own| own.span == span && own.is_inverted);
        let (line, condition) = (line_column(source, span.start).0, source.get(span)?.to_owned());
        Some(Untaken { condition, line, holds: outcome != is_inverted, cases, usual: self.turns(&[]) })
    }

    /// Turns on the other side.
    fn cases(&self, coverage: &Coverage, assumed: Assumed) -> Option<Vec<Case>> {
        let mut assumed = vec![assumed];
        let prober = self.known.prober(self.proof);
        let usual = self.known.written_by(&prober)?;
        loop {
            let prober = prober.assuming(&assumed);
            let text = self.known.written_by(&prober)?;
            if text != usual {
                return adds_text(&usual, &text).then(|| self.turns(&assumed)).filter(|cases| !cases.is_empty());
            }
            let ran = (assumed.len() <= MOST_WITHIN).then(|| self.known.ran_by(&prober))?;
            assumed.push(next_within(coverage, &ran, &assumed)?);
        }
    }

    /// The usual answers after its history, and its own.
    fn turns(&self, assumed: &[Assumed]) -> Vec<Case> {
        let Proof { plain, request, tokens, .. } = self.proof;
        let named_ids = request.calls.named_ids;
        let usual = conversations::answers(named_ids, &[]).into_iter();
        let usual = usual.filter(|said| said.reach == Reach::Settings);
        let own = self
            .known
            .has_answer()
            .then(|| TestAnswer::new("the answer", self.known.answer.clone(), Reach::Settings, named_ids));
        let said: Vec<TestAnswer> = usual.chain(own).collect();
        let plain = plain.assuming(assumed);
        let offering = offering(&self.proof.offering.assuming(assumed), self.known.tools.as_ref());
        let mut request = request.clone();
        request.usage.settings = vec![self.known.setting.clone()];
        let histories = vec![History::main("after a question".to_owned(), self.known.history.to_vec())];
        let turn_starts = TurnStarts::default();
        let cutter =
            Cutter { plain: &plain, offering: &offering, request: &request, histories, tokens: *tokens, turn_starts };
        let mut cases = cutter.with_openings().cases(&said);
        cases.retain(|case| case.cut <= Cut::Shared);
        cases
    }
}

#[cfg(test)]
mod tests {
    use crate::derive::by_hand::{ANSWER, CHAT, losses_beside_null, template, with_proof};

    /// What a template is assumed not to meet.
    fn assumed(chat_template: &str) -> Vec<String> {
        with_proof(chat_template, |proof| {
            let template = template(ANSWER);
            let verdict = proof.with_branches(&template, proof.judge(&template));
            assert!(verdict.holds(), "{:?}", verdict.failures);
            let assumed = verdict.losses.iter().filter(|loss| loss.is_assumed);
            losses_beside_null(assumed)
        })
    }

    #[test]
    fn a_branch_that_no_conversation_takes_is_named_if_it_writes_what_the_draft_misreads() {
        for (condition, named) in [
            ("m.weight is defined and m.weight == 0", "`m.weight is defined` true (line 1)"),
            ("m.get('channel') == 'draft'", "`m.get('channel') == 'draft'` true"),
            ("m.get('confidence', 1.0) < 0.5", "`m.get('confidence', 1.0) < 0.5` true"),
            ("(m.metadata or {}).get('source')", "`(m.metadata or {}).get('source')` true"),
            ("m.note is defined and m.note.lang is defined", "`m.note is defined` true"),
            ("loop.length > 90", "`loop.length > 90` true"),
        ] {
            let condition = format!("m.role == 'assistant' and {condition}");
            let marked = format!("{{{{ '<late>' if {condition} }}}}{{{{ m.content }}}}");
            let losses = assumed(&CHAT.replacen("{{ m.content }}", &marked, 1));
            assert!(losses.iter().any(|loss| loss.contains(named)), "{condition}: {losses:?}");
        }
    }

    #[test]
    fn a_branch_is_not_named_if_it_writes_nothing_or_no_client_can_take_it() {
        for condition in [
            // It has no text.
            "'' if m.get('channel') == 'draft'",
            // No message has content of another kind, or another role.
            "'<late>' if m.content and m.content is not string",
            "'<late>' if m.role == 'developer'",
            "raise_exception('no') if m.get('channel') == 'draft'",
        ] {
            let marked = format!("{{{{ {condition} }}}}{{{{ m.content }}}}");
            assert_eq!(assumed(&CHAT.replacen("{{ m.content }}", &marked, 1)), [""; 0], "{condition}");
        }
    }

    #[test]
    fn a_branch_is_not_named_if_the_answer_contradicts_it() {
        let arguments = "{{ c.function.arguments | tojson }}";
        let branch = |other: &str| {
            let other = format!("{{% if c.function.arguments != '' %}}{arguments}{{% else %}}{other}{{% endif %}}");
            assumed(&CHAT.replacen(arguments, &other, 1))
        };
        // These calls have arguments.
        assert_eq!(branch("<none>{}"), [""; 0]);
        let written = branch(&format!("<none>{arguments}"));
        assert!(written.iter().any(|loss| loss.contains("`c.function.arguments != ''` false")), "{written:?}");
    }

    #[test]
    fn a_branch_that_only_turns_before_the_answer_take_is_tried_in_its_own() {
        let error = "{% if loop.previtem is defined and loop.previtem.role == 'tool' and 'error' in loop.previtem.content %}<again>\
                     {% endif %}{% if m.reasoning_content %}";
        let losses = assumed(&CHAT.replacen("{% if m.reasoning_content %}", error, 1));
        assert!(losses.iter().any(|loss| loss.starts_with("with ")), "{losses:?}");
    }
}
