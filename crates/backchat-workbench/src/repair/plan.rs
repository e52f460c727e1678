//! The repairs of a template with several faults, one after another.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::effect::{fates, name, name_of};
use super::{Draft, Improvements, Repair, with_draft};
use backchat_derive::derive::{Conversation, Failure, Options};
use backchat_parser::template::source;

/// How many faults are repaired one by one at most.
const MOST: usize = 8;

/// Repairs that follow one another: each repairs one fault, and is the cause of the conversations that fail for it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The repairs. The edits of each are bytes of the text after the repairs before it.
    pub steps: Vec<Step>,
    /// The text of the file now.
    pub before: String,
    /// Its text after all of them.
    pub text: String,
}

/// One repair of several.
#[derive(Clone, Debug)]
pub struct Step {
    pub repair: Repair,
    /// The smallest conversation that it fixes, as it is misread without it.
    pub example: Conversation,
    /// The names of all of them.
    fixed: HashSet<String>,
}

impl Plan {
    /// The repair of the conversation that shows a failure.
    pub fn step_of(&self, failure: &Failure) -> Option<&Step> {
        let name = name_of(&failure.case, &failure.setting);
        self.steps.iter().find(|step| step.fixed.contains(&name))
    }
}

/// The repairs of a file that holds a response template: of one fault after another, or else the derived template.
/// `None` if there are none, as for [`repairs`](super::repairs). Conversations may remain that nothing fixes.
pub fn plan(chat_template: &str, file: &str, text: &str, options: &Options) -> Option<Plan> {
    with_draft(chat_template, file, text, options, |draft| {
        let before = text.to_owned();
        let mut plan = Plan { steps: Vec::new(), text: before.clone(), before };
        while plan.steps.len() < MOST
            && let Some((step, text)) = draft.step(&plan.text, false)
        {
            plan.steps.push(step);
            plan.text = text;
        }
        if draft.step(&plan.text, true).is_some() {
            // It takes the place of the repairs so far, too.
            let (step, text) = draft.step(text, true)?;
            plan = Plan { steps: vec![step], text, ..plan };
        }
        (!plan.steps.is_empty() && backchat_chat::ended().is_none()).then_some(plan)
    })
}

impl Draft<'_> {
    /// The best repair of a part of the template, or of the whole, and the text after it.
    fn step(&self, text: &str, is_whole: bool) -> Option<(Step, String)> {
        let Improvements { before, found } = self.improvements(text)?;
        let found = found.into_iter().filter(|(candidate, _)| candidate.is_whole() == is_whole);
        let (_, repair) =
            found.min_by_key(|(candidate, repair)| (Reverse(repair.fixes - repair.breaks), candidate.size))?;
        let text = repair.fix.apply(text);
        let opened = source::from_text(self.file.to_owned(), text.clone()).ok()?;
        let after = fates(&(self.conversations)(&opened.loaded.template));
        let fixed = fates(&before).into_iter().filter(|(name, is_read)| !is_read && after.get(name) == Some(&true));
        let fixed: HashSet<String> = fixed.map(|(name, _)| name).collect();
        let examples = before.into_iter().filter(|conversation| fixed.contains(&name(conversation)));
        let example = examples.min_by_key(|conversation| conversation.text.len())?;
        Some((Step { repair, example, fixed }, text))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{CHAT, draft, proves};
    use super::*;

    #[test]
    fn every_fault_is_repaired_by_its_own_step() {
        let draft = draft();
        for faults in [&[("</think>", "</thinking>")][..], &[("</think>", "</thinking>"), ("<call>", "<calls>")]] {
            let text = faults.iter().fold(draft.clone(), |text, (right, wrong)| text.replace(right, wrong));
            let plan = plan(CHAT, "a.json", &text, &Options::default()).unwrap();
            assert_eq!((plan.steps.len(), plan.text.as_str()), (faults.len(), draft.as_str()), "{faults:?}");
            assert!(plan.steps.iter().all(|step| step.repair.fixes > 0 && step.repair.breaks == 0), "{plan:?}");
        }
    }

    #[test]
    fn two_faults_of_one_field_are_one_step() {
        let text = draft().replace("<think>", "<thinks>").replace("</think>", "</thinking>");
        let plan = plan(CHAT, "a.json", &text, &Options::default()).unwrap();
        let messages: Vec<_> = plan.steps.iter().map(|step| step.repair.fix.message.as_str()).collect();
        assert_eq!(messages, ["write the field `thinking` as derived"]);
        assert!(proves(&plan.text));
    }

    #[test]
    fn faults_that_only_show_together_are_one_step() {
        // Neither to add the field nor to remove the other helps: both open at one marker.
        let text = draft().replace("\"tool_calls\"", "\"calls\"");
        let plan = plan(CHAT, "a.json", &text, &Options::default()).unwrap();
        let messages: Vec<_> = plan.steps.iter().map(|step| step.repair.fix.message.as_str()).collect();
        assert_eq!(messages, ["take the derived template"]);
        assert!(proves(&plan.text));
    }

    #[test]
    fn a_template_with_few_right_parts_gets_the_others() {
        let text = r#"{"start_anchor": "<robot>", "fields": {"tool_calls": {"open": "<f>", "close": "</f>"}}}"#;
        let plan = plan(CHAT, "a.json", text, &Options::default()).unwrap();
        let messages: Vec<_> = plan.steps.iter().map(|step| step.repair.fix.message.as_str()).collect();
        insta::assert_snapshot!(messages.join("\n"), @r#"
        write the field `tool_calls` as derived
        change `start_anchor` from "<robot>" to "<bot>"
        add the field `content`
        add the field `thinking`
        "#);
        assert!(proves(&plan.text));
    }

    #[test]
    fn the_example_is_the_smallest_conversation_that_a_step_fixes() {
        let text = draft().replace("</call>", "</cal>");
        let plan = plan(CHAT, "a.json", &text, &Options::default()).unwrap();
        assert!(plan.steps[0].example.text.contains("</call>"), "{:?}", plan.steps[0].example);
        assert!(super::plan(CHAT, "a.json", &draft(), &Options::default()).is_none());
    }
}
