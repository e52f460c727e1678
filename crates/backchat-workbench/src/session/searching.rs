//! Searches the output for a text.

use super::session::Session;
use crate::replay::quoted;

impl Session {
    /// Goes to the next or the previous match of the searched text; goes on from the other end after the last.
    pub fn go_to_match(&mut self, forward: bool) {
        let Some(sought) = self.playback.sought.clone() else {
            self.notice = Some("nothing was searched for; / asks for a text".to_owned());
            return;
        };
        let Some(side) = self.side() else { return };
        let recording = &side.recording;
        let output = recording.output_start();
        // A chunk can hold several matches; the moment is the same for all of them.
        let last = self.playback.found.filter(|(moment, _)| *moment == side.moment).map(|(_, at)| at);
        let found = match (forward, last) {
            (true, Some(at)) => find(recording.text(), &sought, at + 1, true),
            (true, None) => {
                let from = (recording.arrived(side.moment) + 1).saturating_sub(sought.len());
                find(recording.text(), &sought, from.max(output), true)
            }
            (false, Some(at)) => {
                let before = (at + sought.len()).saturating_sub(1);
                find(recording.text(), &sought, before, false).filter(|at| *at >= output)
            }
            (false, None) => {
                let before = recording.arrived(recording.previous_feed(side.moment));
                find(recording.text(), &sought, before, false).filter(|at| *at >= output)
            }
        };
        // After the last match the search goes on from the other end.
        let wrapped = || match forward {
            true => find(recording.text(), &sought, output, true),
            false => find(recording.text(), &sought, recording.text().len(), false).filter(|at| *at >= output),
        };
        let has_wrapped = found.is_none();
        let Some(at) = found.or_else(wrapped) else {
            self.notice = Some(format!("{} does not occur", quoted(&sought)));
            return;
        };
        let end = at + sought.len();
        let offset = recording.offset_of(at);
        self.set_moment(|recording, _| recording.moment_at(end).min(recording.before_end()));
        self.playback.found = self.side().map(|side| (side.moment, at));
        if self.side().is_some_and(|side| side.recording.arrived(side.moment) != end) {
            self.notice = Some(format!("{} is at character {offset}, inside this chunk", quoted(&sought)));
        } else if has_wrapped {
            let from = if forward { "start" } else { "end" };
            self.notice = Some(format!("the search went on from the {from}"));
        }
    }
}

/// The first place of a text from `from` on, or the last one that ends by `from`. Case counts only if the text has
/// capital letters.
fn find(text: &str, sought: &str, from: usize, forward: bool) -> Option<usize> {
    let any_case = !sought.chars().any(char::is_uppercase);
    let here = |at: usize| {
        text.get(at..at + sought.len()).is_some_and(|found| match any_case {
            true => found.eq_ignore_ascii_case(sought),
            false => found == sought,
        })
    };
    if sought.is_empty() {
        return None;
    }
    match forward {
        true => (from..=text.len().saturating_sub(sought.len())).find(|at| here(*at)),
        false => (0..=from.checked_sub(sought.len())?).rev().find(|at| here(*at)),
    }
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn a_text_is_found_both_ways() {
        let text = "aé<B> <b> aé";
        for (sought, from, forward, found) in [
            ("<b>", 0, true, Some(3)),
            ("<b>", 4, true, Some(7)),
            ("<B>", 4, true, None),
            ("<b>", 10, false, Some(7)),
            ("<b>", 9, false, Some(3)),
            ("é", 2, true, Some(12)),
            ("", 0, true, None),
            ("longer than the text", 0, true, None),
            ("longer than the text", 5, false, None),
        ] {
            assert_eq!(find(text, sought, from, forward), found, "{sought} {from} {forward}");
        }
    }
}
