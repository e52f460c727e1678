//! Readings of a text: paths from frame to frame, the likeliest first, in time linear in the text.

use std::collections::HashMap;

use memchr::memmem;

use super::frames::{Frame, Frames, State};
use super::script::Kind;
use backchat_core::json;

/// The cost of each marker inside a text that could have ended it.
const PASSED_MARKER: i64 = 4;
/// The cost of a frame without visible text: any blank line could be one.
const BLANK_FRAME: i64 = 2;
/// The cost of an empty text that is no result, and of one that the end of the chat cuts off.
const EMPTY: i64 = 1;

/// A frame at a place of the text.
#[derive(Clone, Copy, Debug)]
struct PlacedFrame {
    frame: usize,
    start: usize,
    end: usize,
    /// The end of the JSON value after the frame, if one begins there.
    value_end: usize,
    /// The cost of the best reading from here on.
    cost: i64,
}

/// One text of a reading: its kind and its position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadingStep {
    /// The frame that leads to it.
    pub frame: usize,
    pub start: usize,
    pub end: usize,
}

/// A path through the text.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextReading {
    pub steps: Vec<ReadingStep>,
    /// The state that the text ends in: `End`, `Prompt`, or a text that is cut off.
    pub closed: bool,
}

/// All readings of a text.
pub(crate) struct Walk<'w> {
    frames: &'w [Frame],
    text: &'w str,
    /// Frames from which the end can be reached.
    items: Vec<PlacedFrame>,
    /// The items that leave a state, from the end of the text to the start, each with the best item from there on.
    by_state: HashMap<State, Vec<(usize, usize)>>,
    /// The markers that could end a text of this state, from the end to the start.
    markers: HashMap<State, Vec<usize>>,
    begins: Vec<usize>,
}

/// Whether it is a text that people and models write.
fn is_prose(state: State) -> bool {
    matches!(state.kind, Kind::System | Kind::User | Kind::Content | Kind::Reasoning | Kind::Result)
}

/// Whether it is a text inside a call or a tool's definition.
fn is_value(state: State) -> bool {
    matches!(state.kind, Kind::Value | Kind::Literal | Kind::ToolDescription | Kind::ParameterDescription)
}

impl<'w> Walk<'w> {
    /// Finds the paths through a text. A path may end inside a text of the assistant.
    pub fn new(frames: &'w Frames, text: &'w str) -> Self {
        let mut walk = Self {
            frames: &frames.frames,
            text,
            items: Vec::new(),
            by_state: HashMap::new(),
            markers: HashMap::new(),
            begins: Vec::new(),
        };
        let mut found = walk.occurrences();
        // Of equal frames, those that lead to JSON or continue the same message are added last, and so are chosen
        // first.
        let is_json = |item: &PlacedFrame| walk.frames.get(item.frame).is_some_and(|frame| frame.to.kind.is_json());
        found.sort_by_key(|item| {
            (std::cmp::Reverse(item.start), item.end, is_json(item), std::cmp::Reverse(item.frame))
        });
        for item in &found {
            let Some(frame) = walk.frames.get(item.frame) else { continue };
            if (is_prose(frame.from) || is_value(frame.from)) && frame.gap.trim().len() >= 3 {
                let places = walk.markers.entry(frame.from).or_default();
                if places.last() != Some(&item.start) {
                    places.push(item.start);
                }
            }
        }
        for item in found {
            walk.add(item);
        }
        walk
    }

    /// How many markers from a place on could end a text of this state.
    fn markers_from(&self, state: State, place: usize) -> i64 {
        let Some(places) = self.markers.get(&state) else { return 0 };
        i64::try_from(places.partition_point(|marker| *marker >= place)).unwrap_or(i64::MAX / 8)
    }

    /// Every frame at every occurrence of its text.
    fn occurrences(&self) -> Vec<PlacedFrame> {
        let mut by_gap: HashMap<&str, Vec<(usize, &Frame)>> = HashMap::new();
        for (index, frame) in self.frames.iter().enumerate() {
            by_gap.entry(&frame.gap).or_default().push((index, frame));
        }
        let mut found = Vec::new();
        let item = |frame, start, end| PlacedFrame { frame, start, end, value_end: end, cost: 0 };
        for (gap, frames) in by_gap {
            let (ends, others): (Vec<_>, Vec<_>) = frames.into_iter().partition(|(_, frame)| frame.to.kind.is_end());
            if let Some(start) = self.text.len().checked_sub(gap.len()).filter(|_| self.text.ends_with(gap)) {
                found.extend(ends.iter().map(|(frame, _)| item(*frame, start, self.text.len())));
            }
            let (begins, inner): (Vec<_>, Vec<_>) =
                others.into_iter().partition(|(_, frame)| frame.from.kind == Kind::Begin);
            if self.text.starts_with(gap) {
                found.extend(begins.iter().map(|(frame, _)| item(*frame, 0, gap.len())));
            }
            if inner.is_empty() || gap.is_empty() {
                continue;
            }
            let finder = memmem::Finder::new(gap);
            let mut from = 0;
            while let Some(at) = self.text.as_bytes().get(from..).and_then(|rest| finder.find(rest)) {
                let start = from + at;
                found.extend(inner.iter().map(|(frame, _)| item(*frame, start, start + gap.len())));
                from = start + 1;
            }
        }
        found
    }

    /// Adds a frame at a position if the end can be reached from there. Later positions come first.
    fn add(&mut self, mut item: PlacedFrame) {
        let Some(frame) = self.frames.get(item.frame) else { return };
        let Some(cost) = self.complete(frame, &mut item) else { return };
        let is_blank = frame.gap.trim().is_empty() && is_prose(frame.from) && !frame.to.kind.is_end();
        item.cost = cost + if is_blank { BLANK_FRAME } else { 0 };
        let index = self.items.len();
        self.items.push(item);
        if frame.from.kind == Kind::Begin {
            self.begins.push(index);
            return;
        }
        let best = self.by_state.get(&frame.from).and_then(|items| items.last()).map(|(_, best)| *best);
        // At equal cost an earlier place goes first, and there a longer frame before a shorter one.
        let best = best.filter(|best| self.key(frame.from, *best) < self.key(frame.from, index)).unwrap_or(index);
        self.by_state.entry(frame.from).or_default().push((index, best));
    }

    /// The key that compares items that leave a state: the cost from there on, and of the markers before it.
    fn key(&self, state: State, index: usize) -> i64 {
        self.items
            .get(index)
            .map_or(i64::MAX / 2, |item| item.cost - PASSED_MARKER * self.markers_from(state, item.start))
    }

    /// The cost of the best path from a frame to the end, if there is one.
    fn complete(&self, frame: &Frame, item: &mut PlacedFrame) -> Option<i64> {
        match frame.to.kind {
            Kind::End | Kind::Prompt => (item.end == self.text.len()).then_some(0),
            kind if kind.is_json() => {
                item.value_end = json::value_at(self.text, item.end)?.1;
                let next = self.at(frame.to, item.value_end).filter_map(|next| self.items.get(next));
                next.map(|next| next.cost).min()
            }
            _ => {
                let closed = self.from(frame.to, item.end).map(|(_, cost)| cost);
                closed.into_iter().chain(self.open_cost(frame.to, item.end)).min()
            }
        }
    }

    /// The cost of a text of the assistant that continues to the end.
    fn open_cost(&self, state: State, place: usize) -> Option<i64> {
        let may = matches!(state.kind, Kind::Content | Kind::Reasoning) && !state.echo && place < self.text.len();
        may.then(|| PASSED_MARKER * self.markers_from(state, place) + EMPTY)
    }

    /// The frames that leave a state at or after a place, the last one first; none if nothing leaves the state.
    fn leaving(&self, state: State, place: usize) -> &[(usize, usize)] {
        let Some(list) = self.by_state.get(&state) else { return &[] };
        let count = list.partition_point(|(index, _)| self.items.get(*index).is_some_and(|item| item.start >= place));
        list.split_at(count).0
    }

    /// The best frame that leaves a state at or after a place, and the cost of the path through it.
    fn from(&self, state: State, place: usize) -> Option<(usize, i64)> {
        let paid = |index: usize| self.key(state, index) + PASSED_MARKER * self.markers_from(state, place);
        // A tool may well print nothing.
        let empty = if state.kind == Kind::Result { 0 } else { EMPTY };
        let at_once = self.at(state, place).map(|index| (index, paid(index) + empty));
        let later = self.leaving(state, place + 1).last().map(|(_, best)| (*best, paid(*best)));
        // Of frames at the place, the longest comes first; a non-empty text comes before an empty one.
        later.into_iter().chain(at_once).min_by_key(|(_, cost)| *cost)
    }

    /// The frames that leave a state at a place.
    fn at(&self, state: State, place: usize) -> impl Iterator<Item = usize> {
        let last = self.leaving(state, place).iter().rev().map(|(index, _)| *index);
        last.take_while(move |index| self.items.get(*index).is_some_and(|item| item.start == place))
    }

    /// The possible successors of an item, the best first.
    fn choices(&self, item: &PlacedFrame, most: usize) -> Vec<usize> {
        let Some(frame) = self.frames.get(item.frame) else { return Vec::new() };
        if frame.to.kind.is_json() {
            let mut next: Vec<usize> = self.at(frame.to, item.value_end).collect();
            self.rank(&mut next);
            next.truncate(most);
            return next;
        }
        let Some((best, _)) = self.from(frame.to, item.end) else { return Vec::new() };
        let near = self.leaving(frame.to, item.end).iter().rev().take(most * 2);
        let mut next = vec![best];
        next.extend(near.map(|(index, _)| *index).filter(|index| *index != best));
        next.truncate(most);
        next
    }

    /// The best continuation of an item; `None` if the text ends before the next frame.
    fn next(&self, item: &PlacedFrame) -> Option<usize> {
        let frame = self.frames.get(item.frame)?;
        if frame.to.kind.is_json() {
            return self.choices(item, 1).first().copied();
        }
        let closed = self.from(frame.to, item.end);
        match (closed, self.open_cost(frame.to, item.end)) {
            (Some((_, cost)), Some(open)) if open < cost => None,
            (closed, _) => closed.map(|(index, _)| index),
        }
    }

    fn rank(&self, items: &mut [usize]) {
        items.sort_by_key(|index| self.items.get(*index).map(|item| (item.cost, item.start, usize::MAX - item.end)));
    }

    /// The likeliest readings: the best one, and those that deviate from it at one position.
    pub fn readings(&self, most: usize) -> Vec<TextReading> {
        let mut begins = self.begins.clone();
        self.rank(&mut begins);
        let mut found: Vec<Vec<usize>> = begins.iter().take(4).map(|begin| self.follow(vec![*begin])).collect();
        let Some(best) = found.first().cloned() else { return Vec::new() };
        // Choices near the end are tried first: they change the least.
        for at in (0..best.len()).rev() {
            if found.len() >= most {
                break;
            }
            let Some(item) = best.get(at).and_then(|index| self.items.get(*index)) else { continue };
            for other in self.choices(item, 4) {
                if best.get(at + 1) == Some(&other) {
                    continue;
                }
                let path = best.iter().take(at + 1).copied().chain([other]).collect();
                found.push(self.follow(path));
            }
        }
        found.truncate(most);
        found.into_iter().map(|path| self.reading(&path)).collect()
    }

    /// The best continuation of a path.
    fn follow(&self, mut path: Vec<usize>) -> Vec<usize> {
        while let Some(item) = path.last().and_then(|index| self.items.get(*index)) {
            let Some(next) = self.next(item) else { break };
            path.push(next);
        }
        path
    }

    fn reading(&self, path: &[usize]) -> TextReading {
        let mut reading = TextReading::default();
        for (at, index) in path.iter().enumerate() {
            let Some(item) = self.items.get(*index) else { continue };
            let next = path.get(at + 1).and_then(|next| self.items.get(*next)).map(|next| next.start);
            reading.closed = self.frames.get(item.frame).is_some_and(|frame| frame.to.kind.is_end());
            let end = next.unwrap_or(self.text.len());
            reading.steps.push(ReadingStep { frame: item.frame, start: item.end, end });
        }
        reading
    }
}
