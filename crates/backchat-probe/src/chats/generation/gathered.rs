//! Blocks for spans whose ends no place of the source has: the text of a turn is gathered in a variable, and divided where
//! the model's part begins and ends.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::source::{self, Piece, PieceKind};
use super::{Case, Pair, Trace, marks_only_answers, message_loop};

/// How far from the ends of a span the gathered text may begin and end, in bytes.
const MOST_AROUND: usize = 200;
/// How many pairs are tested on every conversation for each choice.
const MOST_CHECKS: usize = 300;

/// Chooses pairs whose texts have the model's part always at the same distance from their start and end.
pub(super) fn choose(pieces: &[Piece], cases: &[Case], traces: &[Trace]) -> Option<Vec<Pair>> {
    let candidates = candidates(pieces, cases, traces);
    let mut left: Vec<(usize, usize)> = (cases.iter().enumerate())
        .flat_map(|(index, case)| (0..case.spans.len()).map(move |span| (index, span)))
        .collect();
    let mut chosen: Vec<Pair> = Vec::new();
    while !left.is_empty() {
        let mut ranked: Vec<(&Pair, usize)> = candidates
            .iter()
            .filter(|(pair, _)| chosen.iter().all(|other| pair.to <= other.from || pair.from >= other.to))
            .map(|(pair, spans)| (pair, spans.iter().filter(|span| left.contains(span)).count()))
            .filter(|(_, covered)| *covered > 0)
            .collect();
        ranked.sort_by_key(|(pair, covered)| {
            let (before, after) = pair.around;
            (Reverse(*covered), pair.conditional, before + after, pair.to - pair.from, **pair)
        });
        let mut fitting = ranked.iter().take(MOST_CHECKS).map(|(pair, _)| **pair);
        let best = fitting.find(|pair| marks_only_answers(pieces, pair, cases, traces))?;
        if let Some(spans) = candidates.get(&best) {
            left.retain(|span| !spans.contains(span));
        }
        chosen.push(best);
    }
    chosen.sort();
    Some(chosen)
}

/// Every pair in one body around a span, with the spans that it is around: the case and the span's number.
fn candidates(pieces: &[Piece], cases: &[Case], traces: &[Trace]) -> HashMap<Pair, Vec<(usize, usize)>> {
    let bodies: Vec<Option<Vec<usize>>> = (0..=pieces.len()).map(|at| source::body_at(pieces, at)).collect();
    let loops: Vec<bool> = (0..=pieces.len()).map(|at| message_loop(pieces, at).is_some()).collect();
    let mut found: HashMap<Pair, Vec<(usize, usize)>> = HashMap::new();
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
                    for conditional in [false, true] {
                        if conditional && loops.get(*from) != Some(&true) {
                            continue;
                        }
                        let spans = found.entry(Pair { from: *from, to: *to, conditional, around }).or_default();
                        if spans.last() != Some(&(case_index, span_index)) {
                            spans.push((case_index, span_index));
                        }
                    }
                }
            }
        }
    }
    found
}

/// The source between the places of a pair, gathered and divided; the white-space marks of the tags before and after it
/// are given as those outside and inside. None if no tag can keep the white space after it.
pub(super) fn block(
    pieces: &[Piece],
    pair: &Pair,
    inside: &str,
    (left, begins): (&str, &str),
    (ends, right): (&str, &str),
) -> Option<String> {
    let taken = |name: &String| pieces.iter().any(|piece| piece.text.contains(name.as_str()));
    let mut names = std::iter::once(String::new()).chain((2..).map(|number| number.to_string()));
    let name = names.find_map(|number| Some(format!("assistant_turn{number}")).filter(|name| !taken(name)))?;
    let (before, after) = pair.around;
    let head = if before > 0 { format!("{{{{ {name}[:{before}] }}}}") } else { String::new() };
    let until = if after > 0 { format!("-{after}") } else { String::new() };
    let from = if before > 0 { before.to_string() } else { String::new() };
    let text = format!("{{{{ {name}[{from}:{until}] }}}}");
    let gathered =
        format!("{{%{left} set {name} {begins}%}}{inside}{{%{ends} endset %}}{head}{{% generation %}}{text}");
    if after == 0 {
        return Some(format!("{gathered}{{% endgeneration {right}%}}"));
    }
    // The mark of a block may take a line break from the data after it, which an expression can't.
    let data = pieces.get(pair.to).filter(|piece| piece.kind == PieceKind::Data && !pair.conditional);
    let close = match (data, right) {
        (_, "-") => "-",
        (Some(data), "") if data.text.starts_with(['\r', '\n']) => return None,
        _ => "",
    };
    Some(format!("{gathered}{{% endgeneration %}}{{{{ {name}[-{after}:] {close}}}}}"))
}
