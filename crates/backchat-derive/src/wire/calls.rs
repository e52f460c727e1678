//! Infers the form of tool calls from renders of one, two and three calls.

mod counted;
mod cuts;
mod located;

use std::ops::Range;

use super::marks::Segmentation;
use super::pairs;
use super::shapes;
use super::structure::{Arguments, Body, CallPart, Calls, Cut, History, LeftOut, ObjectBody, Pairs, Reasoning};
use super::trace::{Slot, SlotKind, Trace, Whole};
use super::turn::Turns;
use backchat_core::distinct;
use backchat_core::text::{common_end, common_start, slice};
use backchat_probe::probe::{Absent, Answer, Call, Prober, RequestShape, Setting, name_in_id, needle};
use counted::{count, count_alone, push};
use cuts::{cut, own_end};
pub(super) use located::object;
use located::{Located, begin_of_pairs, end_of_pairs, list_with, locate, margins, post_of, pre_of};

/// The longest text in place of missing arguments, in bytes.
const LONGEST_INSTEAD: usize = 40;

/// What is known about the turn around the calls.
pub(crate) struct Around<'w> {
    /// The length of everything before the turn's own text.
    pub header: &'w dyn Fn(&Trace) -> usize,
    pub end: &'w str,
    /// The text that renders write after every turn.
    pub trailing: &'w [String],
    pub thought: Option<&'w Reasoning>,
}

/// Finds how calls are written; `None` if renders do not show them.
pub(crate) fn find(
    prober: &Prober,
    segmentation: Segmentation,
    settings: &[Setting],
    around: &Around<'_>,
) -> Option<Calls> {
    let trailing = around.trailing;
    let mut ways = [false, true].into_iter().flat_map(|named| settings.iter().map(move |setting| (named, setting)));
    let (request_shape, setting, ids_hold_names) = ways.find_map(|(ids_hold_names, setting)| {
        let answer = Answer::calls(shapes::calls_with(1, ids_hold_names));
        let shown = |request_shape: RequestShape| {
            let turns = Turns { prober: &prober.with_shape(request_shape), segmentation, trailing };
            shows(turns, setting, &answer, ids_hold_names)
        };
        let mut best: Option<(usize, RequestShape)> = None;
        for request_shape in prober.accepted(&shapes::conversation(History::User, &answer), setting) {
            let Some((rank, _)) = shown(request_shape) else { continue };
            if best.is_none_or(|(known, _)| rank < known) {
                best = Some((rank, request_shape));
            }
            if rank == 0 {
                break;
            }
        }
        // Some templates write a separate turn for empty content, but not for null.
        let (rank, usual) = best?;
        let same = [usual.absent, Absent::Null, Absent::Missing].map(|absent| RequestShape { absent, ..usual });
        let same = same.into_iter().filter_map(|shape| Some((shown(shape).filter(|(own, _)| *own == rank)?.1, shape)));
        let (_, request_shape) = same.min_by_key(|(length, _)| *length)?;
        Some((request_shape, setting.clone(), ids_hold_names))
    })?;
    let turns = Turns { prober: &prober.with_shape(request_shape), segmentation, trailing };
    Finder { turns, setting, ids_hold_names, around }.find(request_shape)
}

/// How badly calls show in this request shape (lower is better), and the length of the turn; `None` if they do not show.
fn shows(turns: Turns<'_, '_>, setting: &Setting, answer: &Answer, ids_hold_names: bool) -> Option<(usize, usize)> {
    let request_shape = turns.prober.request_shape();
    let trace = turns.trace(History::User, answer, setting)?;
    let named = trace.shows(SlotKind::Name(0)) || ids_hold_names && trace.shows(SlotKind::Id(0));
    if !named {
        return None;
    }
    let rank = match trace.whole(0) {
        Some(Whole::Json) => 0,
        Some(Whole::JsonText) => 1,
        Some(Whole::Python) => 2,
        None => {
            let all = (0..2).all(|at| trace.shows(SlotKind::Key(0, at)) && trace.shows(SlotKind::Value(0, at)));
            if !all {
                return None;
            }
            // Arguments passed as text that show in none of these forms have an extra level of quotes.
            if request_shape.arguments_text { 3 } else { 0 }
        }
    };
    Some((rank, trace.text.len()))
}

struct Finder<'w, 't> {
    turns: Turns<'w, 't>,
    setting: Setting,
    ids_hold_names: bool,
    around: &'w Around<'w>,
}

/// The text around the calls of a turn.
struct Outside {
    pre: String,
    post: String,
    /// The end of the turn after calls, if it has another marker.
    end: Option<String>,
    /// The text between content and the first call that belongs to the header if there is no content.
    separator: String,
    /// The text between calls and content that follows as a separate turn.
    next: String,
}

impl Finder<'_, '_> {
    /// Calls in the form that this template needs.
    fn calls(&self, count: usize) -> Vec<Call> {
        shapes::calls_with(count, self.ids_hold_names)
    }

    fn trace(&self, answer: &Answer) -> Option<Trace> {
        self.turns.trace(History::User, answer, &self.setting)
    }

    fn find(&self, request_shape: RequestShape) -> Option<Calls> {
        let made = |count: usize| Answer::calls(self.calls(count));
        let one = self.trace(&made(1))?;
        let pairs = match one.whole(0) {
            Some(_) => None,
            None => Some(pairs::find(self.turns, &self.setting, &one, self.around.end)?),
        };
        let mut located = self.locate(&one, 0, pairs.as_ref())?;
        let several: Vec<Trace> =
            [2, 3].iter().filter_map(|count| self.trace(&made(*count)).filter(|t| t.shows_calls(*count))).collect();
        let two = several.first();
        let is_keyed = |object: &ObjectBody| object.name.is_none();
        let is_bare = |two| self.locate(two, 0, pairs.as_ref()).is_some_and(|first| first.object.is_none());
        if located.object.as_ref().is_some_and(is_keyed) && two.is_some_and(is_bare) {
            // All calls are members of one object, under their names.
            located = Located { range: one.range_of(0)?, object: None };
        }
        let Outside { mut pre, mut post, end, separator, next } = self.outside(&one, &located);
        let in_array = match two {
            Some(two) => list_with(two, 2),
            // A template that shows one call may still write a list.
            None => located.object.is_some() && list_with(&one, 1),
        };
        let (mut cuts, mut sections, mut section_closes) = (Vec::new(), Vec::new(), Vec::new());
        match two.and_then(|two| self.around_two(two, pairs.as_ref())) {
            Some([before, mid, after]) => {
                // A single call may lack the marks around several.
                let own = self.before(&one, &located.range);
                section_closes = self.other_closes(&post, &several, pairs.as_ref());
                match before.strip_suffix(own) {
                    Some(section) => {
                        pre.insert_str(0, section);
                        section_closes.retain(|close| !close.contains(post.trim()));
                    }
                    None => sections = self.other_sections(own, &several, pairs.as_ref()),
                }
                let mut after = after.to_owned();
                own_end(self.turns.segmentation, &mut after, &pre, self.around.end);
                if after.len() > post.len() && after.starts_with(&post) {
                    post = after;
                }
                cuts = cut(self.turns.segmentation, &pre, mid, &post);
            }
            None => {
                cuts.push(Cut { separator, ..self.lone_cut([&pre, &post], end.as_deref(), &one, &located) });
            }
        }
        cuts.iter_mut().for_each(|cut| cut.section_close.push_str(&next));
        let mut object = located.object.clone();
        if let Some(object) = &mut object {
            object.in_array = in_array;
        }
        let body = self.body(&one, &several, &located, pairs, object)?;
        Some(Calls {
            cuts,
            sections,
            section_closes,
            body,
            several: two.is_some(),
            end,
            request_shape,
            setting: self.setting.clone(),
            ids_hold_names: self.ids_hold_names,
            margins: margins(&one, &located),
        })
    }

    /// The text before, between and after the first two calls.
    fn around_two<'r>(&self, two: &'r Trace, pairs: Option<&Pairs>) -> Option<[&'r str; 3]> {
        let [first, second] = [0, 1].map(|index| self.locate(two, index, pairs));
        let (first, second) = (first?.range, second?.range);
        let texts = || [self.before(two, &first), two.get(first.end..second.start), two.rest(second.end)];
        (first.end <= second.start).then(texts)
    }

    /// The marks before several calls, if they have others than one call.
    fn other_sections(&self, own: &str, several: &[Trace], pairs: Option<&Pairs>) -> Vec<String> {
        let before = |trace: &Trace| {
            let first = self.locate(trace, 0, pairs)?;
            Some(self.before(trace, &first.range).to_owned())
        };
        self.other_marks(own, several.iter().filter_map(before))
    }

    /// The marks after several calls, if they have others than one call.
    fn other_closes(&self, own: &str, several: &[Trace], pairs: Option<&Pairs>) -> Vec<String> {
        let after = |trace: &Trace| {
            let last = (0..).take_while(|call| trace.of_call(*call).next().is_some()).last()?;
            let last = self.locate(trace, last, pairs)?;
            let mut after = trace.rest(last.range.end).to_owned();
            own_end(self.turns.segmentation, &mut after, self.before(trace, &last.range), self.around.end);
            Some(after)
        };
        self.other_marks(own, several.iter().filter_map(after))
    }

    /// Those of these texts that are marks in place of another one.
    fn other_marks(&self, own: &str, texts: impl Iterator<Item = String>) -> Vec<String> {
        let is_mark = |text: &str| self.turns.segmentation.is_distinctive(text);
        let texts = texts.map(|text| text.trim().to_owned());
        distinct(texts.filter(|text| is_mark(own) && is_mark(text) && text != own.trim()))
    }

    /// The text of a turn before a call at this place.
    fn before<'t>(&self, trace: &'t Trace, call: &Range<usize>) -> &'t str {
        trace.get((self.around.header)(trace).min(call.start)..call.start)
    }

    /// The text before the first call and after the last one, at any position.
    fn outside(&self, one: &Trace, located: &Located) -> Outside {
        let start = (self.around.header)(one).min(located.range.start);
        let mut pre = self.before(one, &located.range).to_owned();
        let mut post = one.rest(located.range.end).to_owned();
        let end = own_end(self.turns.segmentation, &mut post, &pre, self.around.end);
        let (mut separator, mut next) = (String::new(), String::new());
        let call = self.calls(1);
        let spoken = Answer { calls: call.clone(), ..shapes::content() };
        let thought = Answer { calls: call, ..Answer::default().with_reasoning(needle::REASONING) };
        for answer in [spoken, thought] {
            let Some(trace) = self.trace(&answer) else { continue };
            let Some(own) = trace.range_of(0) else { continue };
            let other = trace.slots.iter().filter(|slot| slot.kind.call().is_none());
            for slot in other {
                if slot.range.end <= own.start {
                    let gap = trace.get(slot.range.end..own.start);
                    let inner = pre_of(one, located, gap);
                    if pre.trim().is_empty() && !inner.trim().is_empty() && one.get(0..start).ends_with(inner) {
                        separator = inner.to_owned();
                    }
                    pre = self.turns.segmentation.shared_end(&pre, inner).to_owned();
                } else if slot.range.start >= own.end {
                    let gap = trace.get(own.end..slot.range.start);
                    let inner = post_of(one, located, gap);
                    let after_end =
                        inner.strip_prefix(post.as_str()).and_then(|rest| rest.strip_prefix(self.around.end));
                    if after_end.is_some_and(|rest| self.turns.segmentation.is_distinctive(rest)) {
                        next = slice(inner, post.len()..).to_owned();
                    }
                    post = self.turns.segmentation.shared_start(&post, inner).to_owned();
                }
            }
        }
        // If every call follows reasoning, even empty reasoning, the close of reasoning is not a mark of the calls.
        let close = self.around.thought.map_or("", |thought| thought.close.as_str());
        let (mark, space) = (close.trim(), slice(close, close.trim_end().len()..));
        // A longer mark that begins with it, such as a fence with a language, is another one.
        let is_whole = |at: &usize| self.turns.segmentation.shared_start(slice(&pre, *at..), mark) == mark;
        let last = pre.rmatch_indices(mark).map(|(at, _)| at).find(is_whole);
        if let Some(at) = last.filter(|_| !mark.is_empty()) {
            pre.drain(..at + mark.len());
            pre = pre.strip_prefix(space).unwrap_or(&pre).to_owned();
        }
        Outside { pre, post, end, separator, next }
    }

    /// The cut for templates that write one call per turn. Text before only the first call of a conversation opens a
    /// section; text after only later calls closes it.
    fn lone_cut(&self, [pre, post]: [&str; 2], end: Option<&str>, one: &Trace, located: &Located) -> Cut {
        let segmentation = self.turns.segmentation;
        let answer = Answer::calls(self.calls(1));
        let later = self.turns.trace(History::ToolResult, &answer, &self.setting);
        let open = later.as_ref().map_or(pre, |later| segmentation.shared_end(pre, pre_of(one, located, later.lead())));
        let section = slice(pre, ..pre.len() - open.len());
        let is_parted = [section, open].iter().all(|text| segmentation.is_distinctive(text));
        let (section, open) = if is_parted { (section, open) } else { ("", pre) };
        let rest = later.as_ref().and_then(|later| {
            let after = post_of(one, located, later.tail());
            after.strip_prefix(post)?.strip_prefix(end.unwrap_or_default())?.strip_suffix(self.around.end)
        });
        let section_close = rest.filter(|rest| segmentation.is_distinctive(rest)).unwrap_or_default();
        Cut::of([section, open, post, "", section_close])
    }

    /// The bytes of one of the calls.
    fn locate(&self, trace: &Trace, index: usize, pairs: Option<&Pairs>) -> Option<Located> {
        locate(trace, index, self.calls(index + 1).last()?, pairs)
    }

    fn body(
        &self,
        one: &Trace,
        several: &[Trace],
        located: &Located,
        pairs: Option<Pairs>,
        object: Option<ObjectBody>,
    ) -> Option<Body> {
        let (mut head, mut tail) = self.pieces(one, 0, located, pairs.as_ref())?;
        // Numbers that go up from call to call are counters.
        if let Some(trace) = several.last() {
            let mut others = (1..3).filter_map(|index| {
                let located = self.locate(trace, index, pairs.as_ref())?;
                self.pieces(trace, index, &located, pairs.as_ref())
            });
            if let Some((second, after)) = others.next() {
                count(&mut head, &second);
                count(&mut tail, &after);
            }
        } else {
            count_alone(&mut head);
        }
        let left_out = self.left_out(one, &head, &tail, located, pairs.as_ref());
        let arguments = match (one.whole(0), pairs) {
            (Some(Whole::Json), _) => Arguments::Json,
            (Some(Whole::JsonText), _) => Arguments::JsonText,
            (Some(Whole::Python), _) => Arguments::Python,
            (None, pairs) => {
                let pairs = pairs?;
                pairs.dialect().unwrap_or_else(|| Arguments::Pairs(Box::new(pairs)))
            }
        };
        Some(Body { head, arguments, tail, object, left_out })
    }

    /// The texts around the arguments that a call without any leaves out, if it writes no empty object.
    fn left_out(
        &self,
        one: &Trace,
        head: &[CallPart],
        tail: &[CallPart],
        located: &Located,
        pairs: Option<&Pairs>,
    ) -> Option<LeftOut> {
        let mut call = shapes::call(0, 0);
        if self.ids_hold_names {
            name_in_id(&mut call, 0);
        }
        let none = self.trace(&Answer::calls(vec![call]))?;
        if none.whole(0).is_some() || tail.iter().any(|piece| !matches!(piece, CallPart::Text(_) | CallPart::NameAgain))
        {
            return None;
        }
        // The name may be written again after the arguments.
        let values = head.iter().filter(|piece| !matches!(piece, CallPart::Text(_) | CallPart::Counter(_))).count();
        let rest = none.rest(none.of_call(0).take(values.max(1)).last()?.range.end);
        let lead = head.last().and_then(CallPart::text).unwrap_or_default();
        let name = one.slot(SlotKind::Name(0)).map_or(0, |slot| slot.range.len());
        let inner: usize = tail.iter().map(|piece| piece.text().map_or(name, str::len)).sum();
        let after = one.rest(located.range.end.checked_sub(inner)?);
        // Marks stay whole if they can.
        let ends = [self.turns.segmentation.shared_end(after, rest), common_end(rest, after)];
        let found = ends.into_iter().find_map(|kept| {
            let before = rest.strip_suffix(kept).filter(|before| lead.starts_with(before))?;
            Some((before, kept))
        });
        if let Some((before, kept)) = found {
            let before = slice(lead, before.len()..).to_owned();
            let after = slice(after, ..after.len() - kept.len()).to_owned();
            // Arguments key by key may be none.
            let is_whole = pairs.is_some() && before.is_empty() && after.is_empty();
            return (!is_whole && after_is_text(tail, &after)).then_some(LeftOut {
                before,
                after,
                instead: String::new(),
            });
        }
        let [kept, _] = ends;
        let from_name = head.iter().rposition(|piece| !matches!(piece, CallPart::Text(_) | CallPart::Counter(_)));
        if head.iter().skip(from_name.unwrap_or(0)).any(|piece| matches!(piece, CallPart::Counter(_))) {
            return None;
        }
        let middle = rest.strip_suffix(kept)?;
        let shared = common_start(middle, lead);
        let instead = slice(middle, shared.len()..).to_owned();
        let is_short = instead.len() <= LONGEST_INSTEAD
            && !instead.trim().is_empty()
            && !needle::BEGINNINGS.iter().any(|beginning| instead.contains(beginning));
        let before = slice(lead, shared.len()..).to_owned();
        is_short.then(|| LeftOut { before, after: slice(after, ..after.len() - kept.len()).to_owned(), instead })
    }

    /// The pieces of a call before and after its arguments.
    fn pieces(
        &self,
        trace: &Trace,
        index: usize,
        located: &Located,
        pairs: Option<&Pairs>,
    ) -> Option<(Vec<CallPart>, Vec<CallPart>)> {
        let slots: Vec<&Slot> = trace.of_call(index).collect();
        let arguments = match pairs {
            None => {
                slots.iter().find(|slot| matches!(slot.kind, SlotKind::Arguments(..))).map(|slot| slot.range.clone())?
            }
            Some(pairs) => begin_of_pairs(trace, index, pairs)?..end_of_pairs(trace, index, pairs)?,
        };
        let mut seen = false;
        let mut cut = |range: Range<usize>| {
            let mut pieces = Vec::new();
            let mut at = range.start;
            for slot in slots.iter().filter(|slot| slot.range.start >= range.start && slot.range.end <= range.end) {
                let piece = match slot.kind {
                    SlotKind::Name(_) if seen => CallPart::NameAgain,
                    SlotKind::Name(_) => {
                        seen = true;
                        CallPart::Name
                    }
                    SlotKind::Id(_) if self.ids_hold_names => CallPart::NamedId,
                    SlotKind::Id(_) => CallPart::Id,
                    _ => continue,
                };
                push(&mut pieces, trace.get(at..slot.range.start));
                pieces.push(piece);
                at = slot.range.end;
            }
            push(&mut pieces, trace.get(at..range.end));
            pieces
        };
        let head = cut(located.range.start..arguments.start);
        let tail = cut(arguments.end..located.range.end);
        Some((head, tail))
    }
}

/// Whether a text that begins the tail of a call has no name in it.
fn after_is_text(tail: &[CallPart], after: &str) -> bool {
    let first: String = tail.iter().map_while(CallPart::text).collect();
    tail.iter().all(|piece| piece.text().is_some()) || first.starts_with(after)
}

impl Trace {
    fn shows_calls(&self, count: usize) -> bool {
        (0..count).all(|call| self.of_call(call).next().is_some())
    }
}

#[cfg(test)]
mod tests;
