//! The conversations of a proof with the details of their renders, for explanations.

use super::Proof;
use super::case::Case;
use super::verdict::Fate;
use backchat_chat::{Details, Rendered, ended};
use backchat_core::json::Object;
use backchat_core::push_new;
use backchat_parser::template::Template;
use backchat_probe::probe::{Message, Setting};

/// A render with its context and its details.
pub(in crate::derive) type Detailed = (Object, Rendered, Details);

/// How many prompts are rendered.
const MOST_PROMPTS: usize = 16;

impl Proof<'_> {
    /// The conversations that a verdict on a template counts.
    pub(in crate::derive) fn turns(&self, template: &Template) -> Vec<(Case, Detailed)> {
        let judge = self.judge_with(template);
        let own = self.cases_about(template);
        let fates: Vec<Fate> = self.cases.iter().chain(&own).map(|case| judge.fate(case)).collect();
        let (others, _) = self.other_branches(template, &fates);
        let cases = self.cases.iter().chain(&own).chain(&others).take_while(|_| ended().is_none());
        let explained = |case: &Case| {
            let messages = case.with(case.said.clone());
            case.prober(&self.plain, &self.offering).explained(&messages, &case.setting, false)
        };
        cases.filter_map(|case| Some((case.clone(), explained(case)?))).collect()
    }

    /// The prompts for the turns after the proof's histories.
    pub(in crate::derive) fn prompts_of_turns(&self) -> Vec<(String, Detailed)> {
        let mut seen: Vec<(&[Message], &Setting)> = Vec::new();
        let mut found = Vec::new();
        for case in self.cases.iter().take_while(|_| ended().is_none()) {
            if seen.len() == MOST_PROMPTS || !push_new(&mut seen, (&case.history, &case.setting)) {
                continue;
            }
            let prober = case.prober(&self.plain, &self.offering);
            let name = case.name.split_once(" after ").map_or(case.name.as_str(), |(_, after)| after);
            let explained = prober.explained(&case.history, &case.setting, true);
            found.extend(explained.map(|explained| (format!("the prompt after {name}"), explained)));
        }
        found
    }
}
