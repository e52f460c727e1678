//! Lists every conversation of a proof with its result, for reports.

use super::verdict::Fate;
use super::{Proof, reading};
use crate::derive::{Options, with_proof};
use backchat_chat::{ChatTemplate, examine};
use backchat_core::json::{Object, Value};
use backchat_parser::template::Template;

/// One conversation of a proof.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// A description of the answer.
    pub said: String,
    /// A description of its history.
    pub after: String,
    /// The variables it was rendered with, in addition to those of every render.
    pub setting: Object,
    /// The prompt.
    pub prefix: String,
    /// The model's turn.
    pub text: String,
    /// The message that went in.
    pub expected: Value,
    /// Its result.
    pub fate: Fate,
}

/// The conversations that prove a response template against the source of a chat template, in the order of the proof.
/// Renders and judges them again, because a proof keeps only causes. `prove_and_list` gives the verdict as well.
pub fn conversations(source: &str, template: &Template, options: &Options) -> Vec<Conversation> {
    with_conversations(source, options, |of| of(template)).unwrap_or_default()
}

/// Runs a closure with a function that lists the conversations of any response template, for callers that judge many
/// against one chat template, which is prepared once. `None` if the chat template does not compile or shows no answer.
pub fn with_conversations<R>(
    source: &str,
    options: &Options,
    use_them: impl FnOnce(&dyn Fn(&Template) -> Vec<Conversation>) -> R,
) -> Option<R> {
    let chat_template = ChatTemplate::compile(source).ok()?;
    let used = examine(options.budget, || {
        with_proof(&chat_template, options, |proof, _| Some(use_them(&|template| proof.listed(template))))
    });
    used.ok().map(|(used, _)| used)
}

impl Proof<'_> {
    /// Every conversation, judged with a response template.
    pub fn listed(&self, template: &Template) -> Vec<Conversation> {
        let judge = self.judge_with(template);
        let own = self.cases_about(template);
        let cases: Vec<_> = self.cases.iter().chain(&own).collect();
        let fates: Vec<_> = cases.iter().map(|case| judge.fate(case)).collect();
        let (others, other_fates) = self.other_branches(template, &fates);
        let cases: Vec<_> = cases.into_iter().chain(&others).collect();
        let fates: Vec<_> = fates.into_iter().chain(other_fates).collect();
        let has_failed = |fate: &Fate| matches!(fate, Fate::Failed(_));
        let read = cases.iter().zip(&fates).filter(|(_, fate)| !has_failed(fate)).map(|(case, _)| *case);
        let unread = self.unread_name(template, &read.collect::<Vec<_>>());
        let name = reading::reasoning_field(template);
        let listed = cases.into_iter().zip(fates).map(|(case, fate)| {
            let fate = match &unread {
                Some(failure) if !has_failed(&fate) && case.expected.reasoning.is_some() => {
                    Fate::Failed(Box::new(failure.clone()))
                }
                _ => fate,
            };
            let (said, after) = case.name.split_once(" after ").unwrap_or((&case.name, ""));
            // Show the text that fails: with the stop token or without.
            let text = match &fate {
                Fate::Failed(failure) if unread.is_none() => &failure.text,
                _ => &case.text,
            };
            Conversation {
                said: said.to_owned(),
                after: after.to_owned(),
                setting: case.setting.clone(),
                prefix: case.prefix.clone(),
                text: text.clone(),
                expected: reading::message_of(&case.expected, name),
                fate,
            }
        });
        listed.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{ANSWER, CHAT, template, with_proof};

    /// How many conversations passed, lost something and failed.
    fn counted(chat_template: &str, template: &Template) -> [usize; 3] {
        let listed = conversations(chat_template, template, &Options::default());
        let count = |is_it: fn(&Fate) -> bool| listed.iter().filter(|conversation| is_it(&conversation.fate)).count();
        [
            count(|fate| matches!(fate, Fate::Passed)),
            count(|fate| matches!(fate, Fate::Lost(_))),
            count(|fate| matches!(fate, Fate::Failed(_))),
        ]
    }

    #[test]
    fn the_counts_of_the_list_and_the_verdict_agree() {
        // The chat template itself replaces characters in content and in reasoning.
        let lossy = CHAT
            .replace("{{ m.content }}", "{{ m.content | replace('- ', '* ') }}")
            .replace("{{ m.reasoning_content }}", "{{ m.reasoning_content | replace('- ', '* ') }}");
        let renamed = ANSWER.replace("\"reasoning_content\"", "\"notes\"");
        let wrong = ANSWER.replace("</weigh>", "</other>");
        for (chat_template, answer) in
            [(CHAT, ANSWER), (&lossy, ANSWER), (CHAT, &wrong), (CHAT, &renamed), (&lossy, &renamed)]
        {
            let template = template(answer);
            let verdict = with_proof(chat_template, |proof| proof.judge(&template));
            let of_verdict = [verdict.passed, verdict.lost(), verdict.failed()];
            assert_eq!(counted(chat_template, &template), of_verdict, "{chat_template}\n{answer}");
        }
        assert!(counted(&lossy, &template(ANSWER))[1] > 0, "something is lost");
    }

    #[test]
    fn a_conversation_is_named_by_its_answer_and_its_history() {
        let listed = conversations(CHAT, &template(ANSWER), &Options::default());
        let first = listed.first().unwrap();
        assert_eq!(first.after, "a question");
        assert!(listed.iter().all(|conversation| !conversation.after.is_empty()));
        assert!(first.prefix.ends_with("<assistant>") && first.text.ends_with("<end>"));
    }

    #[test]
    fn a_chat_template_without_answers_has_no_conversations() {
        for source in ["{% if", "{{ messages | length }}"] {
            assert!(conversations(source, &template(ANSWER), &Options::default()).is_empty(), "{source}");
        }
    }
}
