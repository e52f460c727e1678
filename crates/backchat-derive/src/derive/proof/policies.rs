//! Tests the recovery policies on the conversations of a proof: they must leave conforming turns unchanged, and recover
//! from the deviations that they handle.
//!
//! A policy that changes a conforming turn is refused: servers do not use it for this response template.

use super::case::{self, Case};
use super::deviants::{Deviant, Regions, replaced_once};
use super::judge::{BYTES_PER_STEP, Judge};
use super::reading::{arguments_of, name_of};
use super::tolerance::{Cuts, PolicyRounds};
use super::verdict::Fate;
use backchat_chat::{charge, ended};
use backchat_core::json::{Object, Value};
use backchat_core::text::slice;
use backchat_parser::parser::{Options, Parser, Policies, Problem, RecoveryPolicy};
use backchat_probe::probe::Answer;

/// Reads the conforming turns with every policy, then deviations with their policies; with `thorough`, also every cut.
pub(super) fn find(judge: &Judge<'_, '_>, cases: &[Case], thorough: bool) -> PolicyRounds {
    let mut rounds = PolicyRounds::default();
    for case in cases.iter().take_while(|_| ended().is_none()) {
        for text in [Some(&case.text), case.unstopped.as_ref()].into_iter().flatten() {
            judge.conform(case, text, &mut rounds);
        }
    }
    for case in shortest(cases) {
        judge.mention(case, &mut rounds);
        judge.deviate(case, &mut rounds);
    }
    if thorough {
        let mut cuts = Cuts::default();
        cases.iter().for_each(|case| judge.cut(case, &mut cuts));
        rounds.cuts = Some(cuts);
    }
    rounds
}

/// The shortest turn of each kind of answer, and of each kind of argument that may be misspelled.
fn shortest(cases: &[Case]) -> Vec<&Case> {
    let sign = |answer: &Answer| {
        let texts = answer.calls.iter().take(1).flat_map(|call| call.arguments.values().filter_map(Value::as_str));
        texts.flat_map(str::chars).find(|c| matches!(c, '"' | '\'' | '\n'))
    };
    case::shortest(cases, |answer| (case::parts(answer), sign(answer)))
}

type ParseResult = (Object, Vec<Problem>);

impl Judge<'_, '_> {
    fn recover(&self, case: &Case, text: &str, policies: Policies) -> Option<ParseResult> {
        charge((case.prefix.len() + text.len()) / BYTES_PER_STEP);
        let options = Options::default().tools(self.tools.clone()).recover(policies);
        let mut parser = Parser::new(self.template, &case.prefix, options).ok()?;
        parser.feed_into(text, &mut |_| {}).ok()?;
        let finished = parser.finish_into(&mut |_| {}).ok()?;
        Some((finished.message, finished.problems))
    }

    /// Whether a text gives the expected message.
    fn recovers(&self, case: &Case, text: &str, policies: Policies, expected: &Answer) -> bool {
        self.recover(case, text, policies).is_some_and(|(message, _)| self.is_same(case, expected, &message))
    }

    /// A conforming turn has no problems, and every policy leaves it unchanged.
    fn conform(&self, case: &Case, text: &str, rounds: &mut PolicyRounds) {
        let Some((message, problems)) = self.recover(case, text, Policies::every()) else { return };
        rounds.conforming += 1;
        if problems.is_empty() {
            return;
        }
        let (count, example) = &mut rounds.with_problems;
        *count += 1;
        keep_shorter(example, text);
        let Some((untouched, _)) = self.recover(case, text, Policies::none()) else { return };
        if message == untouched {
            return;
        }
        // A policy may recover what the wire format loses.
        let is_lost = matches!(self.fate(case), Fate::Lost(_));
        let recovers_loss = |message: &Object| is_lost && self.is_same(case, &case.expected, message);
        for policy in Policies::every().iter() {
            let alone = self.recover(case, text, policy.into());
            if alone.is_some_and(|(message, _)| message != untouched && !recovers_loss(&message)) {
                keep_shortest(&mut rounds.refused, policy, text);
            }
        }
    }

    /// The same for content that mentions closing markers.
    fn mention(&self, case: &Case, rounds: &mut PolicyRounds) {
        let Some(content) = case.expected.content.as_deref().filter(|_| case.expected.calls.is_empty()) else { return };
        let closes = self.template.fields().iter().filter_map(|field| field.close.as_ref());
        for mark in closes.filter_map(|close| close.literals()).flatten() {
            let said = format!("{content} It writes `{}` there.", mark.trim());
            let Some(text) = replaced_once(&case.text, content, &said) else { continue };
            let mut expected = case.expected.clone();
            expected.content = Some(said);
            // Content cannot mention a marker that ends it anywhere.
            if self.recovers(case, &text, Policies::none(), &expected) {
                self.conform(case, &text, rounds);
            }
        }
    }

    /// Each deviation is read by its policy.
    fn deviate(&self, case: &Case, rounds: &mut PolicyRounds) {
        let Some(regions) = Regions::read(self, case) else { return };
        for Deviant { policy, text, expected } in regions.deviants(case) {
            // A text that parses without policies is not a deviation.
            if self.recovers(case, &text, Policies::none(), &expected) {
                continue;
            }
            rounds.deviations += 1;
            match self.recovers(case, &text, policy.into(), &expected) {
                true => rounds.recovered += 1,
                false => keep_shortest(&mut rounds.missed, policy, &text),
            }
        }
    }

    /// No policy adds a call to a turn that is cut.
    fn cut(&self, case: &Case, cuts: &mut Cuts) {
        let Some((whole, _)) = self.recover(case, &case.text, Policies::none()) else { return };
        let whole = calls(&whole);
        for (at, _) in case.text.char_indices().skip(1) {
            let text = slice(&case.text, ..at);
            let Some((message, _)) = self.recover(case, text, Policies::all()) else { continue };
            cuts.tried += 1;
            let found = calls(&message);
            let added: Vec<&&Value> = found.iter().filter(|call| !whole.contains(call)).collect();
            if added.is_empty() {
                continue;
            }
            cuts.added += 1;
            if added.iter().all(|call| whole.iter().any(|known| lacks_arguments(call, known))) {
                cuts.lacking += 1;
            } else {
                keep_shorter(&mut cuts.example, text);
            }
        }
    }
}

fn calls(message: &Object) -> Vec<&Value> {
    match message.get("tool_calls") {
        Some(Value::List(calls)) => calls.iter().collect(),
        Some(call) => vec![call],
        None => Vec::new(),
    }
}

/// Whether a call equals another one except for missing arguments.
fn lacks_arguments(call: &Value, whole: &Value) -> bool {
    let argument = |call: &'_ Value, key: &str| arguments_of(call).and_then(|arguments| arguments.get(key).cloned());
    let mut own = arguments_of(call).into_iter().flatten();
    name_of(call) == name_of(whole) && own.all(|(key, value)| argument(whole, key).as_ref() == Some(value))
}

fn keep_shorter(example: &mut Option<String>, text: &str) {
    if example.as_ref().is_none_or(|example| text.len() < example.len()) {
        *example = Some(text.to_owned());
    }
}

fn keep_shortest(list: &mut Vec<(RecoveryPolicy, String)>, policy: RecoveryPolicy, text: &str) {
    match list.iter_mut().find(|(known, _)| *known == policy) {
        Some((_, known)) if known.len() <= text.len() => {}
        Some((_, known)) => text.clone_into(known),
        None => list.push((policy, text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{ANSWER, CHAT, template, with_proof};

    #[test]
    fn policies_leave_conforming_turns_unchanged_and_read_their_deviations() {
        with_proof(CHAT, |proof| {
            let rounds = proof.policies(&template(ANSWER), false);
            assert!(rounds.conforming > proof.cases.len(), "{rounds:?}");
            assert_eq!((rounds.with_problems.0, rounds.refused.as_slice()), (0, &[][..]), "{rounds:?}");
            // Nobody can tell the quotes of a text that is JSON itself from those around it, if none is escaped.
            let [(policy, text)] = rounds.missed.as_slice() else { panic!("{rounds:?}") };
            assert!(*policy == RecoveryPolicy::JsonQuotes && text.contains(r#""{"a": [1, "x"]}""#), "{rounds:?}");
            assert_eq!(rounds.recovered, rounds.deviations - 1, "{rounds:?}");
            assert!(rounds.deviations >= 8, "{rounds:?}");
            assert_eq!(rounds.cuts, None);
            let said = rounds.describe().unwrap();
            assert!(said.starts_with("policies change none of "), "{said}");
        });
    }

    #[test]
    fn every_cut_is_tried_on_request() {
        with_proof(CHAT, |proof| {
            let cuts = proof.policies(&template(ANSWER), true).cuts.unwrap();
            assert!(cuts.tried > 1_000, "{cuts:?}");
            assert_eq!((cuts.added, cuts.example), (0, None));
        });
    }

    #[test]
    fn a_policy_that_changes_a_conforming_turn_is_refused() {
        // Every turn ends with a stray closer of calls, which is part of the format.
        let strayed = CHAT.replace("<end>", "</call><end>");
        with_proof(&strayed, |proof| {
            let rounds = proof.policies(&template(ANSWER), false);
            let refused = rounds.refused_policies();
            assert!(refused.contains(RecoveryPolicy::StrayClosers), "{rounds:?}");
            assert!(rounds.with_problems.0 > 0 && rounds.describe().unwrap().contains("stray-closers"));
            let listed = rounds.to_value();
            let first = listed.get("refused").and_then(Value::as_list).and_then(|list| list.first()?.get("policy"));
            assert_eq!(first, Some(&"stray-closers".into()));
        });
    }

    #[test]
    fn a_policy_that_recovers_what_the_wire_format_loses_is_not_refused() {
        let twice = CHAT.replace("c.function.arguments | tojson", "c.function.arguments | tojson | tojson");
        with_proof(&twice, |proof| {
            let template = template(ANSWER);
            let lost = proof.judge(&template).lost();
            let rounds = proof.policies(&template, false);
            assert!(lost > 0 && rounds.with_problems.0 >= lost, "{lost}: {rounds:?}");
            assert_eq!(rounds.refused, [], "{rounds:?}");
        });
    }
}
