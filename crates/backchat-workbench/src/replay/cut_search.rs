//! The cut at which the reference's answer changes.

use std::sync::Arc;
use std::time::Duration;

use backchat_core::json::Object;
use backchat_parser::content::coerce::Tools;
use backchat_parser::parser::{Mode, Options, ParseError, Parser};
use backchat_parser::template::Template;

use super::recording::Recording;
use backchat_core::text::slice;

/// How many cuts are tried at most.
const MOST: usize = 50_000;

/// A search for the cut at which the reference's answer is not the one it gives for the uncut text.
///
/// Every way to cut the text in two is tried, those at delimiters first; then one character at a time, removing cuts as
/// long as the answer still differs. For a long text, which has too many, the search ends after a while and says how
/// many it tried.
#[derive(Clone, Debug)]
pub struct CutSearch {
    template: Template,
    tools: Option<Arc<Tools>>,
    text: Arc<str>,
    output: usize,
    whole: Answer,
    /// Places to cut at, the best last.
    untried: Vec<u32>,
    tried: usize,
    possible: usize,
    /// Cuts that together give another answer, and the next one to try without.
    fewer: Option<(Vec<usize>, usize)>,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CutSearchResult {
    /// Cutting at these places of the text gives another answer.
    Cuts(Vec<usize>),
    /// No cut that was tried does.
    Nothing {
        /// How many ways to cut the text in two were tried.
        tried: usize,
        /// How many there are.
        possible: usize,
    },
}

type Answer = Result<Object, ParseError>;

impl CutSearch {
    /// Begins a search for the text of a recording.
    pub fn new(recording: &Recording, tools: Option<Arc<Tools>>) -> Self {
        let text = recording.text().clone();
        let output = recording.output_start();
        let (mut places, possible) = nearest_first(recording);
        places.truncate(MOST);
        places.reverse();
        let mut hunt = Self {
            template: recording.template().clone(),
            tools,
            text,
            output,
            whole: Ok(Object::new()),
            untried: places,
            tried: 0,
            possible,
            fewer: None,
        };
        hunt.whole = hunt.answer(&[]);
        hunt
    }

    /// Tries one more cut. Returns the result once the search is finished.
    pub fn step(&mut self) -> Option<CutSearchResult> {
        if let Some((cuts, next)) = self.fewer.take() {
            return self.leave_one_out(cuts, next);
        }
        let Some(cut) = self.untried.pop() else { return self.one_by_one() };
        self.tried += 1;
        let cut = cut as usize;
        self.differs(&[cut]).then(|| CutSearchResult::Cuts(vec![cut]))
    }

    /// How many ways to cut the text in two were tried, and how many there are.
    pub fn progress(&self) -> (usize, usize) {
        (self.tried, self.possible)
    }

    /// An upper bound on the remaining steps, as far as known.
    pub fn left(&self) -> usize {
        match &self.fewer {
            Some((_, next)) => next + 1,
            None => self.untried.len() + 1,
        }
    }

    fn one_by_one(&mut self) -> Option<CutSearchResult> {
        let nothing = CutSearchResult::Nothing { tried: self.tried, possible: self.possible };
        if self.tried < self.possible {
            return Some(nothing);
        }
        let output = slice(&self.text, self.output..self.text.len());
        let cuts: Vec<usize> = output.char_indices().skip(1).map(|(at, _)| self.output + at).collect();
        if cuts.is_empty() || !self.differs(&cuts) {
            return Some(nothing);
        }
        let last = cuts.len() - 1;
        self.fewer = Some((cuts, last));
        None
    }

    fn leave_one_out(&mut self, mut cuts: Vec<usize>, next: usize) -> Option<CutSearchResult> {
        if next < cuts.len() {
            let cut = cuts.remove(next);
            if !self.differs(&cuts) {
                cuts.insert(next, cut);
            }
        }
        match next.checked_sub(1) {
            None => Some(CutSearchResult::Cuts(cuts)),
            Some(next) => {
                self.fewer = Some((cuts, next));
                None
            }
        }
    }

    fn differs(&self, cuts: &[usize]) -> bool {
        self.answer(cuts) != self.whole
    }

    fn answer(&self, cuts: &[usize]) -> Answer {
        let prefix = slice(&self.text, 0..self.output);
        let options = Options::default().mode(Mode::Reference).tools(self.tools.clone());
        let mut parser = Parser::new(&self.template, prefix, options)?;
        let mut start = self.output;
        for end in cuts.iter().copied().chain([self.text.len()]) {
            parser.feed_into(slice(&self.text, start..end), &mut |_| {})?;
            start = end;
        }
        parser.finish_into(&mut |_| {}).map(|finished| finished.message)
    }
}

/// An estimate of the remaining time, if the cuts tried so far took this long. `None` before the first.
pub fn remaining(search: &CutSearch, spent: Duration) -> Option<Duration> {
    let each = spent.checked_div(u32::try_from(search.tried).ok()?)?;
    Some(each * u32::try_from(search.left()).unwrap_or(u32::MAX))
}

/// The places at which the output can be cut, those near an event first; and how many there are.
fn nearest_first(recording: &Recording) -> (Vec<u32>, usize) {
    let output = recording.output_start();
    let text = recording.text();
    let mut marks: Vec<usize> = (0..recording.row_count())
        .filter_map(|row| recording.event(recording.row(row).start))
        .flat_map(|event| [event.span.start, event.span.end])
        .collect();
    marks.sort_unstable();
    let distance = |place: usize| {
        let at = marks.partition_point(|mark| *mark < place);
        let after = marks.get(at).map_or(usize::MAX, |mark| mark - place);
        let before = at.checked_sub(1).and_then(|at| marks.get(at)).map_or(usize::MAX, |mark| place - mark);
        after.min(before)
    };
    let all = slice(text, output..text.len()).char_indices().skip(1);
    let mut places: Vec<(usize, u32)> =
        all.filter_map(|(at, _)| Some((distance(output + at), u32::try_from(output + at).ok()?))).collect();
    places.sort_unstable();
    let possible = places.len();
    (places.into_iter().map(|(_, place)| place).collect(), possible)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::Run;

    #[test]
    fn the_time_left_follows_from_the_cuts_tried() {
        let template = Template::load(r#"{"start_anchor": "<a>", "fields": {"content": {}}}"#).unwrap().template;
        let run = Run {
            template: &template,
            prefix: "",
            mode: Default::default(),
            tools: None,
            recovery: Default::default(),
        };
        let recording = Recording::new(&run, ["0123456789"]).unwrap();
        let mut search = CutSearch::new(&recording, None);
        assert_eq!(remaining(&search, Duration::ZERO), None, "nothing was tried yet");
        assert_eq!(search.step(), None);
        assert_eq!(remaining(&search, Duration::from_secs(2)), Some(Duration::from_secs(18)));
    }
}
