//! Assumptions about marks that repeat texts of a conversation, such as `# {{ tool.description }}`: that these texts are like
//! those of the proof, and that no answer begins as such a mark does.

use super::{Assumption, Setup};
use crate::derive::proof::case::Case;
use crate::derive::proof::conversations::{DESCRIPTIONS, History, Reach, TestAnswer, quoted};
use backchat_core::text::slice;
use backchat_probe::probe::marks::{Segmentation, is_opening};
use backchat_probe::probe::{Answer, Message, describe};

/// Texts unlike those of the proof that a mark may repeat, and what they are.
const UNUSUAL: [(&str, &str); 2] = [
    ("of several lines", "Some words.\n\nThen others:\n- such as 5b2e"),
    ("with brackets and quotes", "If 5 > 3, <i>so</i> [it] (is) {so}: 'a' or \"b\", 5b2e"),
];

/// The start of a text, in bytes, by which it is known in a turn.
const START: usize = 10;

impl Setup<'_, '_> {
    /// Texts of a conversation unlike those of the proof, if the marks of these cases repeat such texts.
    pub fn other_texts(&self, said: &[TestAnswer], cases: &[Case]) -> Vec<Assumption> {
        let described = cases.iter().find(|case| DESCRIPTIONS.iter().any(|text| repeats(case, text)));
        let described = described.into_iter().flat_map(|shown| UNUSUAL.map(|other| self.described(said, shown, other)));
        let mut found: Vec<Assumption> = described.flatten().collect();
        let mut known = Vec::new();
        for message in self.cutter.histories.iter().flat_map(|history| &history.messages) {
            let Some((kind, text)) = message_text(message).filter(|(kind, _)| !known.contains(kind)) else { continue };
            let mut shown = cases.iter().filter(|case| repeats(case, text) && case.history.contains(message));
            if let Some(shown) = shown.next() {
                known.push(kind);
                found.extend(UNUSUAL.map(|(how, text)| {
                    let cases = self.after(said, shown, message, text);
                    Assumption::new(unread(kind, how), cases)
                }));
            }
        }
        found
    }

    /// Turns with other descriptions of the tools.
    fn described(&self, said: &[TestAnswer], shown: &Case, (how, text): (&str, &str)) -> Option<Assumption> {
        let mut tools = self.cutter.offering.offered()?.clone();
        describe(&mut tools, text);
        let offering = self.cutter.offering.offering(Some(tools));
        let cases = self.cases(said, self.cutter.plain, &offering, shown.setting.clone());
        Some(Assumption::new(unread("a description", how), cases))
    }

    /// Turns after the history of a case, one message of which says another text.
    fn after(&self, said: &[TestAnswer], shown: &Case, message: &Message, text: &str) -> Vec<Case> {
        let mut messages = shown.history.clone();
        messages.iter_mut().filter(|known| *known == message).for_each(|known| known.say(text));
        self.cases_after(said, shown, vec![History::main("after another message".to_owned(), messages)])
    }

    /// Turns of these answers under the setting of a case.
    fn cases_after(&self, said: &[TestAnswer], shown: &Case, histories: Vec<History>) -> Vec<Case> {
        let mut request = self.cutter.request.clone();
        request.usage.settings = vec![shown.setting.clone()];
        let main = said.iter().filter(|said| said.reach == Reach::Settings);
        let main: Vec<TestAnswer> = main.map(|said| TestAnswer { reach: Reach::Histories, ..said.clone() }).collect();
        self.cases_asked(request, &main, [self.cutter.plain, self.cutter.offering], histories)
    }

    /// An answer that begins as other turns do before theirs, with text of the conversation in a mark that prose may have: where
    /// the template does not write that, it is the answer's own.
    pub fn begun(&self, cases: &[Case]) -> Option<Assumption> {
        let (shown, lead, mark) = cases.iter().find_map(|case| {
            let (before, _) = case.text.split_once(case.expected.content.as_deref()?)?;
            let texts = case.history.iter().filter_map(message_text).filter_map(|(_, text)| text.get(..START));
            let at = texts.filter_map(|text| before.find(text)).min()?;
            let lead = slice(before, ..at).trim_start();
            let is_mark = lead.starts_with(is_opening) || Segmentation::Words.is_distinctive(lead);
            (!is_mark && !lead.is_empty()).then(|| (case, lead, before.trim_start()))
        })?;
        let answer = Answer::content(&format!("{mark}So they said."));
        let named_ids = self.cutter.request.calls.named_ids;
        let said = TestAnswer::new("an answer that begins so", answer, Reach::Settings, named_ids);
        let message = format!(
            "{} at the start of an answer is taken for the text that the template writes there after other messages",
            quoted(lead)
        );
        Some(Assumption::new(message, self.cases_after(&[said], shown, self.every_history())))
    }
}

/// That the draft does not read such a text in a mark.
fn unread(what: &str, how: &str) -> String {
    format!("marks repeat {what}; the draft does not read one {how}")
}

/// What a message says, after the kind of the message.
fn message_text(message: &Message) -> Option<(&'static str, &str)> {
    match message.usual() {
        Message::System(text) => Some(("a system message", text)),
        Message::User(text) => Some(("a user's message", text)),
        Message::Tool { content, .. } => Some(("a tool's result", content)),
        Message::Assistant(answer) => Some(("an earlier answer", answer.content.as_deref()?)),
        Message::Changed(..) => None,
    }
}

/// Whether a turn repeats a text.
fn repeats(case: &Case, text: &str) -> bool {
    text.get(..START).is_some_and(|start| case.text.contains(start))
}

#[cfg(test)]
mod tests {
    use super::super::tests::assumed;
    use crate::derive::by_hand::{ANSWER, CHAT};

    /// A chat with this text before each answer.
    fn led(text: &str) -> String {
        let led = format!("{{% if m.role == 'assistant' and m.content %}}{text}{{% endif %}}{{{{ m.content }}}}");
        CHAT.replacen("{{ m.content }}", &led, 1)
    }

    /// A response template that leaves out what this pattern matches before the content.
    fn without(pattern: &str) -> String {
        let open = format!("\"open_pattern\": \"(?:^|(?<=</weigh>))(?:{pattern})?(?=[^<])\"");
        ANSWER.replacen("\"close\": \"<end>\"", &format!("{open}, \"close_pattern\": \"(?:(?=<call>)|<end>)\""), 1)
    }

    #[test]
    fn a_text_in_a_mark_unlike_those_of_the_proof_is_read_or_reported() {
        let unread = |what: &str, how: &str| format!("marks repeat {what}; the draft does not read one {how}");
        let (lines, signs) = ("of several lines", "with brackets and quotes");
        let called = "{% if tools %}<of {{ tools[0].function.description }}>{% endif %}";
        let asked = "{% if loop.previtem.role == 'user' %}<to {{ loop.previtem.content }}>{% endif %}";
        let seen = "{% if loop.previtem.role == 'tool' %}<seen {{ loop.previtem.content }}>{% endif %}";
        let headed = "{% if messages[0].role == 'system' %}<as {{ messages[0].content }}>{% endif %}";
        for (text, pattern, expected) in [
            (called, "<of [^>]*>", vec![unread("a description", signs)]),
            (called, "<of [^\\\\n]*?[.e]>", vec![unread("a description", lines)]),
            (asked, "<to [^>]*>", vec![unread("a user's message", signs)]),
            (asked, "<to [^\\\\n>]*>", vec![unread("a user's message", lines), unread("a user's message", signs)]),
            (asked, "<to (?:.|\\\\n)*?[e?]>", vec![]),
            (seen, "<seen [^>]*>", vec![unread("a tool's result", signs)]),
            (headed, "<as [^>]*>", vec![unread("a system message", signs)]),
        ] {
            assert_eq!(assumed(&led(text), &without(pattern), "{}"), expected, "{text} {pattern}");
        }
    }

    #[test]
    fn an_answer_that_begins_as_other_turns_do_is_read_or_reported() {
        let after_user = |text: &str| led(&format!("{{% if loop.previtem.role == 'user' %}}{text}{{% endif %}}"));
        let named =
            "`Re:` at the start of an answer is taken for the text that the template writes there after other messages";
        let line = "{{ loop.previtem.content.split('\\n')[0] }}\n";
        for (source, pattern, expected) in [
            (after_user(&format!("Re: {line}")), "Re: [^\\\\n]*\\\\n", &[named][..]),
            // Each turn has its own, so that the second one is the answer's.
            (led(&format!("Re: {line}")), "Re: [^\\\\n]*\\\\n", &[]),
            // Prose has no such mark.
            (after_user(&format!("<re {line}")), "<re [^\\\\n]*\\\\n", &[]),
        ] {
            assert_eq!(assumed(&source, &without(pattern), "{}"), expected, "{source}");
        }
    }
}
