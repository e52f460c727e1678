//! Reasoning that no answer follows, under the settings that have reasoning written differently. The proof tries it under one
//! setting: what a setting writes between reasoning and an answer may be lost with the answer in its place, and be read as the
//! answer without one.

use super::super::conversations::{self, Reach, TestAnswer};
use super::super::judge::Judge;
use super::super::request::setting_words;
use super::super::verdict::{Fate, Loss, Verdict};
use super::{Branch, Proof, is_about};
use crate::derive::proof::Case;
use backchat_core::distinct;
use backchat_probe::probe::Setting;

impl Proof<'_> {
    /// Turns with reasoning alone.
    pub(super) fn reasoning_alone(&self) -> Vec<Case> {
        let said = conversations::answers(self.request.calls.named_ids, &[]).into_iter();
        let said = said.filter(TestAnswer::is_reasoning_alone);
        let said: Vec<TestAnswer> = said.map(|said| TestAnswer { reach: Reach::Rewritten, ..said }).collect();
        let settings =
            distinct(self.cases.iter().filter(|case| self.is_thought_rewritten(case)).map(|case| &case.setting));
        self.under(settings.into_iter().cloned().collect(), &said, &self.cases)
    }

    /// Whether a turn with reasoning is written differently without its setting.
    fn is_thought_rewritten(&self, case: &Case) -> bool {
        let is_usual =
            |other: &&Case| other.setting.is_empty() && other.said == case.said && other.history == case.history;
        !case.setting.is_empty()
            && case.said.reasoning.is_some()
            && self.cases.iter().filter(is_usual).any(|usual| usual.text != case.text)
    }

    /// The losses of a template that misreads such turns under settings of which nothing else tells that.
    pub(super) fn lost_alone(&self, judge: &Judge<'_, '_>, failed: &[&Branch], verdict: &Verdict) -> Vec<Loss> {
        let sets_alike = |setting: &Setting| {
            failed.iter().any(|branch| setting.keys().any(|name| branch.case.setting.contains_key(name)))
        };
        let is_told =
            |case: &Case| sets_alike(&case.setting) || verdict.losses.iter().any(|loss| is_about(loss, &case.setting));
        let turns = self.branches().alone.iter().filter(|case| self.is_meant(case) && !is_told(case));
        let lost = turns.filter_map(|case| {
            let Fate::Failed(failure) = judge.fate(case) else { return None };
            let words = setting_words(&case.setting);
            let message = format!("with {words}, the draft does not read reasoning that no answer follows");
            Some(Loss { is_assumed: true, ..Loss::new(failure.part, message, &failure.text) })
        });
        lost.collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::derive::by_hand::{ANSWER, CHAT, losses_beside_null, template, with_proof};

    #[test]
    fn what_a_setting_writes_after_reasoning_alone_is_read_or_reported() {
        // The answer comes in the place of the summary, which is taken for one where no answer follows.
        let source = CHAT.replace(
            "</weigh>{% endif %}{{ m.content }}",
            "</weigh>{% if depth == 3 and not m.tool_calls %}<sum>{{ m.reasoning_content[:5] }}</sum>{% endif %}\
             {% endif %}{% if m.content %}<say>{{ m.content }}{% endif %}",
        );
        let answer =
            ANSWER.replace("\"content\": {\"close\": \"<end>\"", "\"content\": {\"close_pattern\": \"<say>|<end>\"");
        let skips = "\"close_pattern\": \"</weigh>(?:<sum>.*?</sum>)?\"";
        let named = "with `depth` set to 3, the draft does not read reasoning that no answer follows";
        for (answer, losses) in [(&answer, &[named][..]), (&answer.replace("\"close\": \"</weigh>\"", skips), &[])] {
            with_proof(&source, |proof| {
                let template = template(answer);
                let verdict = proof.with_branches(&template, proof.judge(&template));
                assert!(verdict.holds(), "{:?}", verdict.failures);
                assert_eq!(losses_beside_null(&verdict.losses), losses);
            });
        }
    }
}
