//! Blocks for spans whose ends are at no position of the source: the text of a turn is captured in a variable, and
//! split where the model's part begins and ends.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::case::Case;
use super::condition::Condition;
use super::pairs::{Pair, Spans, Stretch, cover, marks_only_answers, message_loop};
use super::source::{self, Piece, PieceKind};
use super::traces::Trace;
use backchat_core::json::Value;

/// How far from the ends of a span the captured text may begin and end, in bytes.
const MOST_AROUND: usize = 200;

/// Chooses pairs whose texts always have the model's part at the same distance from their start and end, or after the
/// same text that only some of them have.
pub(super) fn choose(pieces: &[Piece], cases: &[Case], traces: &[Trace]) -> Option<Vec<Pair>> {
    let mut candidates = candidates(pieces, cases, traces);
    add_leads(&mut candidates, cases);
    let candidates: BTreeMap<Pair, Spans> = candidates.into_iter().map(|(pair, around)| (pair, around.spans)).collect();
    let rank = |pair: &Pair| {
        let (before, after) = pair.around;
        (pair.condition, pair.leads.iter().flatten().count(), before + after, pair.to - pair.from)
    };
    cover(cases, &candidates, 0, rank, |pair| marks_only_answers(pieces, pair, cases, traces))
}

/// The spans that a pair encloses.
#[derive(Default)]
struct Around {
    /// The number of the case, and of the span in it.
    spans: Spans,
    /// The text before each span.
    headers: Vec<Stretch>,
}

/// Adds the pairs that exclude text after a header that only some turns have.
fn add_leads(candidates: &mut HashMap<Pair, Around>, cases: &[Case]) {
    let mut alike: HashMap<Pair, Vec<(&Pair, &Around)>> = HashMap::new();
    for (pair, around) in candidates.iter() {
        alike.entry(Pair { around: (0, pair.around.1), ..*pair }).or_default().push((pair, around));
    }
    let mut added: Vec<(Pair, Around)> = Vec::new();
    for pairs in alike.values() {
        for (pair, around) in pairs {
            // Headers that vary, such as numbered ones, have no common beginning.
            let Some(base) = around.headers.first().map(|header| header.text(cases)) else { continue };
            if around.headers.iter().any(|header| header.text(cases) != base) {
                continue;
            }
            let lead = |header: &Stretch| {
                header.text(cases).starts_with(base).then(|| Stretch { start: header.start + base.len(), ..*header })
            };
            let mut longer: Vec<(Stretch, Vec<(usize, usize)>)> = Vec::new();
            for (_, more) in pairs.iter().filter(|(other, _)| other.around.0 > pair.around.0) {
                let Some(first) = more.headers.first().and_then(lead) else { continue };
                let has_it = |header: &Stretch| lead(header).is_some_and(|lead| lead.text(cases) == first.text(cases));
                let spans = more.spans.iter().zip(&more.headers).filter(|(_, header)| has_it(header));
                longer.push((first, spans.map(|(span, _)| *span).collect()));
            }
            longer.sort_by_key(|(lead, _)| (Reverse(lead.end - lead.start), *lead));
            for (at, (first, own)) in longer.iter().enumerate() {
                let spans: Vec<(usize, usize)> = around.spans.iter().chain(own).copied().collect();
                for (second, others) in longer.iter().skip(at + 1) {
                    let leads = [Some(*first), Some(*second)];
                    let spans = spans.iter().chain(others).copied().collect();
                    added.push((Pair { leads, ..**pair }, Around { spans, headers: Vec::new() }));
                }
                let leads = [Some(*first), None];
                added.push((Pair { leads, ..**pair }, Around { spans, headers: Vec::new() }));
            }
        }
    }
    candidates.extend(added);
}

/// Every pair in one body around a span.
fn candidates(pieces: &[Piece], cases: &[Case], traces: &[Trace]) -> HashMap<Pair, Around> {
    let bodies: Vec<Option<Vec<usize>>> = (0..=pieces.len()).map(|at| source::body_at(pieces, at)).collect();
    let loops: Vec<bool> = (0..=pieces.len()).map(|at| message_loop(pieces, at).is_some()).collect();
    let mut found: HashMap<Pair, Around> = HashMap::new();
    for (case_index, (case, trace)) in cases.iter().zip(traces).enumerate() {
        let characters = |from: usize, to: usize| case.text.get(from..to).map_or(0, |text| text.chars().count());
        for (span_index, span) in case.spans.iter().enumerate() {
            let starts = (trace.iter().enumerate())
                .filter(|(_, (at, _))| *at <= span.start && *at >= span.header && *at + MOST_AROUND >= span.start);
            for (index, (start, from)) in starts {
                let ends = (trace.iter().skip(index + 1))
                    .skip_while(|(at, _)| *at < span.end)
                    .take_while(|(at, place)| *at <= span.end + MOST_AROUND && place != from);
                for (end, to) in ends.filter(|(_, to)| to > from && bodies.get(*to) == bodies.get(*from)) {
                    let around = (characters(*start, span.start), characters(span.end, *end));
                    for condition in [Condition::Always, Condition::Own] {
                        if condition.is_any() && loops.get(*from) != Some(&true) {
                            continue;
                        }
                        let pair = Pair { from: *from, to: *to, condition, around, leads: [None; 2] };
                        let known = found.entry(pair).or_default();
                        if known.spans.last() != Some(&(case_index, span_index)) {
                            known.spans.push((case_index, span_index));
                            known.headers.push(Stretch { case: case_index, start: *start, end: span.start });
                        }
                    }
                }
            }
        }
    }
    found
}

/// The source between the places of a pair, captured and split. The white-space marks of the tags before and after it
/// are given as (outside, inside) and (inside, outside). `None` if no tag can keep the white space after it.
pub(super) fn block(
    pieces: &[Piece],
    pair: &Pair,
    leads: &[&str],
    inside: &str,
    [(left, begins), (ends, right)]: [(&str, &str); 2],
) -> Option<String> {
    let taken = |name: &String| pieces.iter().any(|piece| piece.text.contains(name.as_str()));
    let mut names = std::iter::once(String::new()).chain((2..).map(|number| number.to_string()));
    let name = names.find_map(|number| Some(format!("assistant_turn{number}")).filter(|name| !taken(name)))?;
    let (before, after) = pair.around;
    let mut from = if before > 0 { before.to_string() } else { String::new() };
    let mut divided = String::new();
    if !leads.is_empty() {
        let start = format!("{name}_start");
        let longer = leads.iter().map(|lead| {
            let (length, quoted) = (before + lead.chars().count(), Value::from(*lead));
            format!("{length} if {name}[{before}:].startswith({quoted}) else ")
        });
        divided = format!("{{% set {start} = {}{before} %}}", longer.collect::<String>());
        from = start;
    }
    let head = if from.is_empty() { String::new() } else { format!("{divided}{{{{ {name}[:{from}] }}}}") };
    let until = if after > 0 { format!("-{after}") } else { String::new() };
    let text = format!("{{{{ {name}[{from}:{until}] }}}}");
    let gathered =
        format!("{{%{left} set {name} {begins}%}}{inside}{{%{ends} endset %}}{head}{{% generation %}}{text}");
    if after == 0 {
        return Some(format!("{gathered}{{% endgeneration {right}%}}"));
    }
    // The mark of a block may take a line break from the data after it, which an expression can't.
    let data = pieces.get(pair.to).filter(|piece| piece.kind == PieceKind::Data && !pair.condition.is_any());
    let close = match (data, right) {
        (_, "-") => "-",
        (Some(data), "") if data.text.starts_with(['\r', '\n']) => return None,
        _ => "",
    };
    Some(format!("{gathered}{{% endgeneration %}}{{{{ {name}[-{after}:] {close}}}}}"))
}
