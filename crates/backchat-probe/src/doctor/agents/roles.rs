//! Conversations whose roles come in another order than templates expect.

use super::cases::Cases;
use super::frames::SystemFrame;
use super::problem::Problem::{Alternation, Developer, LateSystem, NoUser};
use super::said::{THIRD, answer, system, user};
use crate::probe::{needle, said};

const U: &str = needle::USER;
const A: &str = needle::CONTENT;
const LATER: &str = needle::LATER;
const S: &str = needle::SYSTEM;
const S2: &str = needle::OTHER;
const A2: &str = needle::ANSWER;

/// Two texts of one role as one message.
fn joined(one: &str, joint: &str, other: &str) -> String {
    format!("{one}{joint}{other}")
}

impl Cases<'_, '_, '_> {
    pub(super) fn roles(&mut self) {
        if self.base.system && self.base.chat {
            self.late_system();
            self.developer();
            self.system_only();
        }
        if self.base.chat {
            self.alternation();
        }
    }

    fn late_system(&mut self) {
        let frames = self.base.frames.clone();
        // With a system turn, that turn in place; without, the same join to the next user message.
        let late = |before: Vec<_>| {
            let chat = |last: &str| before.iter().cloned().chain([user(last)]).collect::<Vec<_>>();
            match &frames.system {
                SystemFrame::Turn { open, close } => {
                    let turn = joined(open, S2, close);
                    frames.before_user(self.base.prompted(chat(LATER)), LATER, &turn)
                }
                SystemFrame::Joined(joint) => self.base.prompted(chat(&joined(S2, joint, LATER))),
                SystemFrame::Unknown => None,
            }
        };
        let (alone, after) = (late(vec![user(U), answer(A)]), late(vec![system(S), user(U), answer(A)]));
        let head = self.two_systems_at_the_head();
        let messages = vec![system(S), user(U), answer(A), system(S2), user(LATER)];
        self.add_prompted(
            (LateSystem, "alone"),
            messages.get(1..).unwrap_or_default().to_vec(),
            [alone],
            &[U, A, S2, LATER],
        );
        self.add_prompted((LateSystem, "after_system"), messages, [after], &[S, U, A, S2, LATER]);
        self.add_prompted((LateSystem, "head"), vec![system(S), system(S2), user(U)], head, &[S, S2, U]);
    }

    fn two_systems_at_the_head(&self) -> Vec<Option<String>> {
        let frames = &self.base.frames;
        let one = self.base.prompted(vec![system(S), user(U)]);
        let both = frames.system_turn(S).zip(frames.system_turn(S2)).and_then(|(turn, other)| {
            let text = one.filter(|text| text.matches(&turn).count() == 1)?;
            Some(text.replace(&turn, &joined(&turn, &other, "")))
        });
        let merged = |joint| self.base.prompted(vec![system(&joined(S, joint, S2)), user(U)]);
        vec![both, merged("\n\n"), merged("\n"), frames.joint().and_then(merged)]
    }

    fn developer(&mut self) {
        let base = self.base;
        let messages = vec![said("developer", S), user(U)];
        let twin = base.prompted(vec![system(S), user(U)]);
        // A role of its own differs from the system's by its name.
        let own = base.prompted(messages.clone()).filter(|text| {
            let elsewhere = text.to_lowercase().replace(&S.to_lowercase(), "");
            text.contains(S) && elsewhere.contains("developer") && Some(text.replace("developer", "system")) == twin
        });
        let as_assistant = base.prompted(vec![answer(S), user(U)]);
        self.add_prompted((Developer, "first"), messages, [twin, own], &[S, U]);
        if let Some(case) = self.found.last_mut() {
            case.as_assistant = as_assistant;
        }
    }

    fn system_only(&mut self) {
        let base = self.base;
        let alone = base.frames.without_user(base.prompted(vec![system(S), user(U)]), U);
        let joined = base.frames.joint().and_then(|_| base.prompted(vec![user(S)]));
        self.add_prompted((NoUser, "system_only"), vec![system(S)], [alone, joined], &[S]);
    }

    fn alternation(&mut self) {
        let (base, frames) = (self.base, &self.base.frames);
        let first = frames.without_user(base.prompted(vec![user(U), answer(A), user(LATER)]), U);
        self.add_prompted((Alternation, "assistant_first"), vec![answer(A), user(LATER)], [first], &[A, LATER]);
        if base.system && frames.joint().is_none() {
            let chat = vec![system(S), user(U), answer(A), user(LATER)];
            let after = frames.without_user(base.prompted(chat), U);
            let messages = vec![system(S), answer(A), user(LATER)];
            self.add_prompted((Alternation, "assistant_after_system"), messages, [after], &[S, A, LATER]);
        }
        let users = self.two_users();
        let messages = vec![user(U), answer(A), user(LATER), user(THIRD)];
        self.add_prompted((Alternation, "two_users"), messages, users, &[U, A, LATER, THIRD]);
        let answers = self.two_assistants();
        let messages = vec![user(U), answer(A), answer(A2), user(LATER)];
        self.add_prompted((Alternation, "two_assistants"), messages, answers, &[U, A, A2, LATER]);
    }

    fn two_users(&self) -> Vec<Option<String>> {
        let (base, frames) = (self.base, &self.base.frames);
        let asked = |last: &str| base.prompted(vec![user(U), answer(A), user(last)]);
        let opening = format!("{}{THIRD}", frames.user_open);
        let both = asked(THIRD).filter(|text| frames.are_known && text.matches(&opening).count() == 1);
        let both = both.map(|text| text.replace(&opening, &joined(&frames.user_turn(LATER), &opening, "")));
        vec![both, asked(&joined(LATER, "\n\n", THIRD)), asked(&joined(LATER, "\n", THIRD))]
    }

    fn two_assistants(&self) -> Vec<Option<String>> {
        let (base, frames) = (self.base, &self.base.frames);
        let answered = |text: &str| base.prompted(vec![user(U), answer(text), user(LATER)]);
        let turn = frames.answer_turn(A);
        let both = answered(A).filter(|text| frames.are_known && text.matches(&turn).count() == 1);
        let both = both.map(|text| text.replace(&turn, &joined(&turn, &frames.answer_turn(A2), "")));
        vec![both, answered(&joined(A, "\n\n", A2)), answered(&joined(A, "\n", A2))]
    }
}
