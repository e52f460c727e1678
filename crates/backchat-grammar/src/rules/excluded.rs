//! Excluded texts, as engines call them: literals that free text must not contain. They are exact, because they are
//! compared with the patterns that they replace.

use super::spelling::in_json;
use crate::automaton::Automaton;
use backchat_parser::pattern::Regular;

/// A pattern that a text must not match, and whether it matches at the beginning alone.
pub(crate) type Forbidden = (Regular, bool);

/// Text without markers, and the markers as literals.
#[derive(Clone, Debug)]
pub(crate) struct Excluded {
    pub free_texts: Automaton,
    pub texts: Vec<String>,
    /// The literals are exact only inside a JSON string: the other matches of the patterns contain a quote, which is
    /// escaped there.
    pub in_json_only: bool,
}

impl Excluded {
    /// The literals that exclude the same texts as the patterns; `None` if there are none.
    pub fn find(patterns: &[&Forbidden], free_texts: &Automaton) -> Option<Self> {
        let anywhere = patterns.iter().filter(|(_, is_at_start)| !is_at_start);
        let mut texts: Vec<String> = anywhere.filter_map(|(pattern, _)| shortest_texts(pattern)).flatten().collect();
        texts.sort();
        texts.dedup();
        // A text that contains another one is redundant.
        let all = texts.clone();
        texts.retain(|text| !all.iter().any(|other| other != text && text.contains(other.as_str())));
        let plain: Vec<Forbidden> = texts.iter().map(|text| (Regular::text(text), false)).collect();
        let plain = without(&plain.iter().collect::<Vec<_>>())?;
        let in_json_only = plain != *free_texts;
        if in_json_only && in_json(&plain)? != in_json(free_texts)? {
            return None;
        }
        Some(Self { free_texts: free_texts.clone(), texts, in_json_only })
    }
}

/// The texts without matches of these patterns; `None` if there are too many states.
pub(crate) fn without(patterns: &[&Forbidden]) -> Option<Automaton> {
    let pick = |at_start: bool| -> Vec<&Regular> {
        patterns.iter().filter(|(_, anchored)| *anchored == at_start).map(|(pattern, _)| pattern).collect()
    };
    Automaton::without(&pick(false), &pick(true))
}

/// How many texts a pattern may expand to.
const MOST_TEXTS: usize = 16;

fn items(pattern: &Regular) -> &[Regular] {
    if let Regular::Concat(items) = pattern { items } else { std::slice::from_ref(pattern) }
}

/// A pattern without the optional items at its ends: a text that contains the rest contains a match.
fn trimmed(pattern: &Regular) -> &[Regular] {
    let items = items(pattern);
    let from = items.iter().position(|item| item.least() > 0).unwrap_or(items.len());
    let to = items.iter().rposition(|item| item.least() > 0).map_or(from, |last| last + 1);
    items.get(from..to).unwrap_or(&[])
}

/// Texts such that every match of a pattern contains one; each is a match without the optional parts at its ends.
fn shortest_texts(pattern: &Regular) -> Option<Vec<String>> {
    let items = trimmed(pattern);
    if let [Regular::Alternate(ways)] = items {
        let all = ways.iter().map(shortest_texts).collect::<Option<Vec<_>>>()?.concat();
        return (all.len() <= MOST_TEXTS).then_some(all);
    }
    joined(items).filter(|texts| texts.iter().all(|text| !text.is_empty()))
}

/// All texts of a sequence of patterns, if they are few.
fn joined(items: &[Regular]) -> Option<Vec<String>> {
    items.iter().try_fold(vec![String::new()], |texts, item| {
        let own = exact_texts(item)?;
        let all = texts.iter().flat_map(|text| own.iter().map(move |own| format!("{text}{own}")));
        Some(all.collect()).filter(|all: &Vec<String>| all.len() <= MOST_TEXTS)
    })
}

/// All texts of a pattern, if they are few.
fn exact_texts(pattern: &Regular) -> Option<Vec<String>> {
    match pattern {
        Regular::Empty => Some(vec![String::new()]),
        Regular::Alternate(items) => {
            let all = items.iter().map(exact_texts).collect::<Option<Vec<_>>>()?.concat();
            (all.len() <= MOST_TEXTS).then_some(all)
        }
        Regular::Concat(items) => joined(items),
        Regular::Class(ranges) => {
            let size: u32 = ranges.iter().map(|(low, high)| high - low + 1).fold(0, u32::saturating_add);
            let all = ranges.iter().flat_map(|(low, high)| (*low..=*high).filter_map(char::from_u32));
            (size <= 8).then(|| all.map(String::from).collect())
        }
        Regular::Never | Regular::Repeat { .. } => None,
    }
}

/// The literals that matches of a pattern begin with: those of its optional first items, and of the rest.
pub(crate) fn openings(pattern: &Regular) -> Vec<String> {
    let optional = items(pattern).iter().take_while(|item| item.least() == 0);
    let optional =
        optional.filter_map(|item| if let Regular::Repeat { node, .. } = item { Some(&**node) } else { None });
    optional.chain([pattern]).map(literal_start).filter(|text| !text.is_empty()).collect()
}

fn literal_start(pattern: &Regular) -> String {
    let texts = trimmed(pattern).iter().map_while(|item| match exact_texts(item).as_deref() {
        Some([only]) => Some(only.clone()),
        _ => None,
    });
    texts.collect()
}
