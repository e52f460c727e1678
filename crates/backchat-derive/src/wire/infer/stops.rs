//! The marks at which a model stops.

use super::super::shapes;
use super::super::structure::{Calls, History, Prompt};
use super::super::trace::SlotKind;
use super::Inference;
use crate::wire::marks::Segmentation;
use backchat_core::text::slice;
use backchat_core::{distinct, push_new};
use backchat_probe::probe::steady::is_varying;
use backchat_probe::probe::{Answer, Prober, Setting};

impl<'t> Inference<'_, 't> {
    /// The marks at which a model stops, and those of them that no render shows.
    pub(super) fn stops(
        &self,
        prober: &Prober<'t>,
        prompts: &[Prompt],
        end: &str,
        calls: Option<&Calls>,
    ) -> (Vec<String>, Vec<String>) {
        let stops_in = |texts: &[Option<&str>]| -> Vec<String> {
            let stops = texts.iter().flatten().flat_map(|text| stops_of(self.segmentation, text.trim()));
            stops.filter(|stop| !stop.is_empty()).map(str::to_owned).collect()
        };
        let mut shown = stops_in(&[Some(end), calls.and_then(|calls| calls.end.as_deref())]);
        let given = stops_in(&[self.usage.eos_token.as_deref()]);
        let mut stops = distinct(shown.iter().chain(&given).cloned());
        let others = match end.trim() {
            "" => self.next_marks(prober, calls),
            _ => {
                let others = self.other_stops(prober, end, calls);
                let before_others = self.ends_before_others(prober, prompts, calls, &[&stops, &others]);
                others.into_iter().chain(before_others).collect()
            }
        };
        for stop in &others {
            push_new(&mut stops, stop.clone());
        }
        shown.extend(others);
        (stops, given.into_iter().filter(|stop| !shown.contains(stop)).collect())
    }

    /// The beginnings of the next turn, if only they end a turn.
    fn next_marks(&self, prober: &Prober<'t>, calls: Option<&Calls>) -> Vec<String> {
        let turns = answers_to_follow(calls).into_iter();
        turns.filter_map(|(answer, setting)| self.turns(prober).next_mark(&answer, &setting)).collect()
    }

    /// The marks that end turns only if other messages follow. At a known stop or a header a turn is over.
    fn ends_before_others(
        &self,
        prober: &Prober<'t>,
        prompts: &[Prompt],
        calls: Option<&Calls>,
        known: &[&[String]],
    ) -> Vec<String> {
        let headers = prompts.iter().filter_map(|prompt| self.segmentation.first(&prompt.header));
        let marks = distinct(headers.chain(known.iter().copied().flatten().map(String::as_str)));
        let is_over = |text: &str| marks.iter().any(|mark| text.contains(mark));
        let turns = answers_to_follow(calls).into_iter();
        turns.filter_map(|(answer, setting)| self.turns(prober).other_end(&answer, &setting, is_over)).collect()
    }

    /// Marks that end turns instead of the usual end: after some histories, under some settings, after reasoning, or with an
    /// answer next to calls.
    fn other_stops(&self, prober: &Prober<'t>, end: &str, calls: Option<&Calls>) -> Vec<String> {
        let turns = self.turns(prober);
        let ends = [Some(end), calls.and_then(|calls| calls.end.as_deref())];
        let is_known = |tail: &str| ends.into_iter().flatten().any(|end| tail.contains(end.trim()));
        let tail = |after| Some(turns.trace(after, &shapes::content(), &Setting::new())?.tail().to_owned());
        let mut tails: Vec<String> = History::ALL.into_iter().filter_map(tail).collect();
        let beside = |calls: &Calls| {
            let called = Answer::calls(shapes::calls(1));
            let both = Answer { content: shapes::content().content, ..called.clone() };
            let [called, both] = [called, both].map(|answer| turns.trace(History::User, &answer, &calls.setting));
            let (called, both) = (called?, both?);
            let shared = self.segmentation.shared_start(both.tail(), called.tail()).len();
            (both.shows(SlotKind::Content) && is_known(called.tail())).then(|| slice(both.tail(), shared..).to_owned())
        };
        let thoughts = shapes::thoughts().into_iter().filter_map(|answer| {
            let trace = turns.trace(History::User, &answer, &Setting::new())?;
            let is_last = trace.slots.last().is_some_and(|slot| slot.kind == SlotKind::Content);
            (is_last && trace.shows(SlotKind::Reasoning)).then(|| trace.tail().to_owned())
        });
        let under = |setting: &Setting| {
            let trace = turns.trace(History::User, &shapes::content(), setting)?;
            Some(turns.end(trace.tail(), setting))
        };
        tails.extend(self.usage.settings.iter().filter_map(under));
        tails.extend(thoughts);
        tails.extend(calls.and_then(beside));
        tails.retain(|tail| !tail.trim().is_empty() && !is_known(tail));
        let marks = tails.iter().flat_map(|tail| self.segmentation.marks(tail));
        marks.filter(|mark| self.segmentation.is_distinctive(mark)).map(|mark| mark.trim().to_owned()).collect()
    }
}

/// Answers that other messages can follow: content and, if there are some, calls, each under the setting that shows it.
fn answers_to_follow(calls: Option<&Calls>) -> Vec<(Answer, Setting)> {
    let called = calls.map(|calls| (Answer::calls(shapes::calls(1)), calls.setting.clone()));
    [Some((shapes::content(), Setting::new())), called].into_iter().flatten().collect()
}

/// The marks of a text that ends turns. An engine may stop at each, except those that vary. A text without marks is one
/// stop.
fn stops_of(segmentation: Segmentation, text: &str) -> Vec<&str> {
    let mut marks = segmentation.marks(text);
    marks.retain(|mark| segmentation.is_distinctive(mark));
    if marks.iter().any(|mark| !mark.contains(is_varying)) {
        marks.retain(|mark| !mark.contains(is_varying));
    }
    if marks.is_empty() { vec![text] } else { marks }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_varying_mark_is_not_a_stop_if_there_are_others() {
        let varying = format!("<|{}|>", backchat_probe::probe::steady::WORD);
        let both = format!("<|eom|>{varying}");
        for (text, stops) in [(both.as_str(), ["<|eom|>"]), (&varying, [&varying]), ("###", ["###"])] {
            assert_eq!(stops_of(Segmentation::Words, text), stops, "{text}");
        }
    }
}
