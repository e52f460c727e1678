//! What went wrong in the output: the way from problem to problem, and what policies make of it, side by side.

use super::playback::Showing;
use super::session::Session;
use crate::replay::Recording;
use backchat_parser::parser::{Mode, Problem, RecoveryPolicy};

impl Session {
    /// Shows the output without policies and with all of them, side by side; or again as it was read.
    pub fn switch_recovery(&mut self) {
        if self.playback.showing == Showing::Recovery {
            self.playback.showing = Showing::One(Mode::Stable);
            self.record();
            self.notice = Some("stable: one answer however the output is cut".to_owned());
            return;
        }
        self.playback.showing = Showing::Recovery;
        self.record();
        let problems = self.playback.sides.last().map_or(&[][..], |side| side.recording.problems());
        let recovered: Vec<String> = problems.iter().filter(|problem| problem.is_recovered).map(described).collect();
        self.notice = Some(match (problems.len(), recovered.as_slice()) {
            (0, _) => "nothing went wrong: policies leave this output as it is".to_owned(),
            (_, []) => "no policy reads what went wrong here; P goes to it".to_owned(),
            (_, recovered) => format!("{}; x goes to where the sides part", recovered.join("; ")),
        });
    }

    /// Goes to the next problem of the output, and from the last to the first.
    pub fn show_problem(&mut self) {
        let Some(side) = self.side() else { return };
        let (recording, moment) = (&side.recording, side.moment);
        let place = |problem: &Problem| {
            let end = recording.problem_span(problem).end.max(recording.output_start());
            recording.moment_at(end).min(recording.end())
        };
        let problems: Vec<_> =
            recording.problems().iter().map(|problem| (place(problem), described(problem))).collect();
        let next = problems.iter().find(|(place, _)| *place > moment).or(problems.first()).cloned();
        let Some((place, words)) = next else {
            self.notice = Some("nothing went wrong in this output".to_owned());
            return;
        };
        self.set_moment(|_: &Recording, _| place);
        self.notice = Some(words);
    }
}

/// A problem in a line: its kind, its field, why, and the policies that read it.
fn described(problem: &Problem) -> String {
    let mut words = problem.kind.as_str().to_owned();
    if let Some(field) = &problem.field {
        words.push_str(&format!(" of `{field}`"));
    }
    if let Some(reason) = &problem.reason {
        words.push_str(&format!(": {reason}"));
    }
    let policies: Vec<&str> = problem.policies.iter().map(RecoveryPolicy::as_str).collect();
    if !policies.is_empty() {
        let verb = if problem.is_recovered { "recovered by" } else { "could be recovered by" };
        words.push_str(&format!(", {verb} {}", policies.join(", ")));
    }
    words
}
