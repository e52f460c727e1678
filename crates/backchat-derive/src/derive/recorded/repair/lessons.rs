//! What was learned from samples, what was refused, and which samples taught nothing, each with the reason.

use backchat_core::diagnostic::{Diagnostic, Severity, shortened};

/// The lessons of samples, learned and refused.
#[derive(Clone, Debug, Default)]
pub(in crate::derive) struct Lessons {
    pub learned: Vec<Lesson>,
    pub refused: Vec<String>,
    /// Why samples taught nothing: each reason with their names.
    pub unexplained: Vec<(String, Vec<String>)>,
}

#[derive(Clone, Debug)]
pub(in crate::derive) struct Lesson {
    pub what: String,
    /// How many samples it explains.
    pub samples: usize,
    /// How many were not explained before.
    pub of: usize,
}

impl Lessons {
    pub(super) fn refuse(&mut self, why: String) {
        fn what(text: &str) -> &str {
            text.split_once(": ").map_or(text, |(what, _)| what)
        }
        if !self.refused.iter().any(|known| what(known) == what(&why)) {
            self.refused.push(why);
        }
    }

    /// Records why a sample taught nothing.
    pub(super) fn leave(&mut self, sample: &str, why: String) {
        match self.unexplained.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(sample.to_owned()),
            None => self.unexplained.push((why, vec![sample.to_owned()])),
        }
    }

    /// The parts of a message about which something was learned.
    pub fn parts(&self) -> Vec<&'static str> {
        let is_about = |part: &&str| self.learned.iter().any(|lesson| lesson.what.starts_with(*part));
        ["reasoning", "content", "calls"].into_iter().filter(is_about).collect()
    }

    /// A line for each lesson, refusal and sample that taught nothing.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let note = |id, message: String, help: &str| Diagnostic::new(Severity::Note, id, message).help(help);
        let learned = self.learned.iter().map(|Lesson { what, samples, of }| {
            let what = shortened(what, 240);
            let message =
                format!("learned from samples: {what}: explains {samples} of the {of} samples that were not explained");
            let help = match samples {
                1 => "seen once and tested by this sample only; generalized: white space, numbers",
                _ => "generalized: white space, numbers; not part of the proof, as no render shows it",
            };
            note("derive-learned", message, help)
        });
        let refused = self.refused.iter().map(|why| {
            let help = "pass more samples, or write it by hand and test it with `backchat prove --samples`";
            note("derive-not-learned", format!("not learned: {}", shortened(why, 300)), help)
        });
        let unexplained = self.unexplained.iter().map(|(why, names)| {
            let names: Vec<String> = names.iter().map(|name| format!("`{}`", shortened(name, 120))).collect();
            let help = "fix the message, or write the rule by hand and test it with `backchat prove --samples`";
            note("derive-not-learned", format!("nothing learned from {}: {why}", names.join(", ")), help)
        });
        learned.chain(refused).chain(unexplained).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_kept_once_for_each_lesson() {
        let mut lessons = Lessons::default();
        for why in ["calls: a", "calls: b", "content: a"] {
            lessons.refuse(why.to_owned());
        }
        assert_eq!(lessons.refused, ["calls: a", "content: a"]);
    }

    #[test]
    fn samples_that_teach_nothing_are_grouped_by_reason() {
        let mut lessons = Lessons::default();
        for (sample, why) in [("a", "no message"), ("b", "no match"), ("c", "no message")] {
            lessons.leave(sample, why.to_owned());
        }
        let messages: Vec<String> = lessons.diagnostics().into_iter().map(|note| note.message).collect();
        assert_eq!(messages, ["nothing learned from `a`, `c`: no message", "nothing learned from `b`: no match"]);
    }
}
