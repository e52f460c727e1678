//! Numbers within bounds as regular text.

use std::sync::LazyLock;

use super::automaton::Automaton;
use backchat_core::text::slice;
use backchat_parser::pattern::Regular;

/// Bounds of a number, as the schema writes them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Bounds {
    /// The least value, and whether it is excluded.
    pub least: Option<(Decimal, bool)>,
    pub most: Option<(Decimal, bool)>,
    /// The divisor of whole numbers.
    pub multiple: Option<u64>,
}

/// A number as its digits, without needless zeros.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Decimal {
    negative: bool,
    whole: String,
    fraction: String,
}

/// How long numbers with bounds may be written out.
const MOST_DIGITS: i64 = 400;

impl Decimal {
    /// Reads a number of JSON; `None` if writing it out would need too many digits.
    pub fn read(text: &str) -> Option<Self> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (digits, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
        let exponent: i64 = exponent.trim_start_matches('+').parse().ok()?;
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if exponent.abs() > MOST_DIGITS || !format!("{whole}{fraction}").bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let mut all = format!("{whole}{fraction}");
        let mut point = i64::try_from(whole.len()).ok()? + exponent;
        while point < 0 {
            all.insert(0, '0');
            point += 1;
        }
        let point = usize::try_from(point).ok()?;
        while all.len() < point {
            all.push('0');
        }
        let (whole, fraction) = all.split_at_checked(point)?;
        let whole = whole.trim_start_matches('0');
        let whole = if whole.is_empty() { "0" } else { whole }.to_owned();
        let fraction = fraction.trim_end_matches('0').to_owned();
        let negative = negative && (whole != "0" || !fraction.is_empty());
        Some(Self { negative, whole, fraction })
    }

    /// Compares by value.
    pub fn compare(&self, other: &Self) -> std::cmp::Ordering {
        let size = |n: &Self, m: &Self| {
            (n.whole.len(), n.whole.as_str(), n.fraction.as_str()).cmp(&(
                m.whole.len(),
                m.whole.as_str(),
                m.fraction.as_str(),
            ))
        };
        match (self.negative, other.negative) {
            (false, false) => size(self, other),
            (true, true) => size(other, self),
            (true, false) => std::cmp::Ordering::Less,
            (false, true) => std::cmp::Ordering::Greater,
        }
    }

    fn is_zero(&self) -> bool {
        self.whole == "0" && self.fraction.is_empty()
    }
}

impl Bounds {
    pub fn is_free(&self) -> bool {
        *self == Self::default()
    }

    /// Keeps the tighter lower bound.
    pub fn at_least(&mut self, value: Decimal, excluded: bool) {
        let tighter = self.least.as_ref().is_none_or(|(known, was)| match value.compare(known) {
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Equal => excluded && !was,
            std::cmp::Ordering::Less => false,
        });
        if tighter {
            self.least = Some((value, excluded));
        }
    }

    /// Keeps the tighter upper bound.
    pub fn at_most(&mut self, value: Decimal, excluded: bool) {
        let tighter = self.most.as_ref().is_none_or(|(known, was)| match value.compare(known) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => excluded && !was,
            std::cmp::Ordering::Greater => false,
        });
        if tighter {
            self.most = Some((value, excluded));
        }
    }

    /// Whether a number keeps them.
    pub fn hold(&self, number: &str) -> bool {
        let Some(value) = Decimal::read(number) else { return true };
        let above = self.least.as_ref().is_none_or(|(least, excluded)| match value.compare(least) {
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Equal => !excluded,
            std::cmp::Ordering::Less => false,
        });
        let below = self.most.as_ref().is_none_or(|(most, excluded)| match value.compare(most) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => !excluded,
            std::cmp::Ordering::Greater => false,
        });
        let fits = self.multiple.is_none_or(|multiple| {
            value.fraction.is_empty()
                && value.whole.bytes().fold(0, |rest, digit| (rest * 10 + u64::from(digit - b'0')) % multiple) == 0
        });
        above && below && fits
    }

    /// The numbers within the bounds: those from zero up, and those below without their sign.
    pub fn automata(&self, whole: bool) -> Option<(Automaton, Automaton)> {
        let zero = Decimal { negative: false, whole: "0".to_owned(), fraction: String::new() };
        let plain = Automaton::from_pattern(&digits(whole))?;
        let side = |least: Option<(&Decimal, bool)>, most: Option<(&Decimal, bool)>| -> Option<Automaton> {
            let mut all = plain.clone();
            if let Some((least, excluded)) = least {
                all = all.both(&Automaton::from_pattern(&at_least(least, excluded, whole))?)?;
            }
            if let Some((most, excluded)) = most {
                all = all.both(&Automaton::from_pattern(&at_most(most, excluded, whole))?)?;
            }
            if let Some(multiple) = self.multiple.filter(|_| whole) {
                all = all.both(&multiples(multiple))?;
            }
            Some(all)
        };
        let least = self.least.as_ref().map(|(value, excluded)| (value, *excluded));
        let most = self.most.as_ref().map(|(value, excluded)| (value, *excluded));
        let up = match most {
            Some((most, excluded)) if most.negative || most.is_zero() && excluded => Automaton::nothing(),
            most => side(least.filter(|(value, _)| !value.negative), most)?,
        };
        let down = match least {
            Some((least, _)) if !least.negative => Automaton::nothing(),
            least => {
                // Zero is written without a sign.
                let upper = match most {
                    Some((most, excluded)) if most.negative => (most, excluded),
                    _ => (&zero, true),
                };
                side(Some(upper), least)?
            }
        };
        Some((up, down))
    }
}

fn class(low: char, high: char) -> Regular {
    Regular::Class(vec![(u32::from(low), u32::from(high))])
}

fn any_digits(min: u32) -> Regular {
    Regular::Repeat { node: Box::new(class('0', '9')), min, max: None }
}

fn maybe(node: Regular) -> Regular {
    Regular::Repeat { node: Box::new(node), min: 0, max: Some(1) }
}

/// A number without sign.
fn digits(whole: bool) -> Regular {
    let plain = Regular::Alternate(vec![class('0', '0'), Regular::Concat(vec![class('1', '9'), any_digits(0)])]);
    if whole {
        plain
    } else {
        Regular::Concat(vec![plain, maybe(Regular::Concat(vec![class('.', '.'), any_digits(1)]))])
    }
}

/// The text allowed after the whole part of a number.
fn any_fraction(whole: bool) -> Regular {
    if whole { Regular::Empty } else { maybe(Regular::Concat(vec![class('.', '.'), any_digits(1)])) }
}

/// Digits above those of a number that has as many, or with more digits.
fn at_least(bound: &Decimal, excluded: bool, whole: bool) -> Regular {
    let count = u32::try_from(bound.whole.len()).unwrap_or(u32::MAX);
    let mut ways = vec![Regular::Concat(vec![any_digits(count + 1), any_fraction(whole)])];
    for (at, digit) in bound.whole.char_indices().filter(|(_, digit)| *digit < '9') {
        let rest = Regular::Repeat {
            node: Box::new(class('0', '9')),
            min: count - at as u32 - 1,
            max: Some(count - at as u32 - 1),
        };
        let head = Regular::text(slice(&bound.whole, ..at));
        ways.push(Regular::Concat(vec![head, class(next(digit), '9'), rest, any_fraction(whole)]));
    }
    let same = Regular::text(&bound.whole);
    if whole {
        if bound.fraction.is_empty() && !excluded {
            ways.push(same);
        }
        return Regular::Alternate(ways);
    }
    let mut fractions = Vec::new();
    for (at, digit) in bound.fraction.char_indices().filter(|(_, digit)| *digit < '9') {
        let head = Regular::text(slice(&bound.fraction, ..at));
        fractions.push(Regular::Concat(vec![class('.', '.'), head, class(next(digit), '9'), any_digits(0)]));
    }
    let more = Regular::Concat(vec![any_digits(0), class('1', '9'), any_digits(0)]);
    let equal = Regular::text(&bound.fraction);
    fractions.push(Regular::Concat(vec![class('.', '.'), equal.clone(), more]));
    if !excluded {
        fractions.push(match bound.fraction.is_empty() {
            true => maybe(Regular::Concat(vec![class('.', '.'), any_digits(1)])),
            false => Regular::Concat(vec![class('.', '.'), equal, any_digits(0)]),
        });
    }
    ways.push(Regular::Concat(vec![same, Regular::Alternate(fractions)]));
    Regular::Alternate(ways)
}

/// Digits below those of a number that has as many, or with fewer digits.
fn at_most(bound: &Decimal, excluded: bool, whole: bool) -> Regular {
    let count = u32::try_from(bound.whole.len()).unwrap_or(u32::MAX);
    let fewer = Regular::Repeat { node: Box::new(class('0', '9')), min: 1, max: Some(count.max(2) - 1) };
    let mut ways = Vec::new();
    if count > 1 {
        ways.push(Regular::Concat(vec![fewer, any_fraction(whole)]));
    }
    for (at, digit) in bound.whole.char_indices().filter(|(_, digit)| *digit > '0') {
        let rest = Regular::Repeat {
            node: Box::new(class('0', '9')),
            min: count - at as u32 - 1,
            max: Some(count - at as u32 - 1),
        };
        let head = Regular::text(slice(&bound.whole, ..at));
        ways.push(Regular::Concat(vec![head, class('0', before(digit)), rest, any_fraction(whole)]));
    }
    let same = Regular::text(&bound.whole);
    if whole {
        if !excluded || !bound.fraction.is_empty() {
            ways.push(same);
        }
        return Regular::Alternate(ways);
    }
    let zeros = Regular::Repeat { node: Box::new(class('0', '0')), min: 0, max: None };
    let mut fractions = Vec::new();
    for (at, digit) in bound.fraction.char_indices() {
        let head = Regular::text(slice(&bound.fraction, ..at));
        if at == 0 {
            fractions.push(Regular::Empty);
        } else {
            fractions.push(Regular::Concat(vec![class('.', '.'), head.clone()]));
        }
        if digit > '0' {
            fractions.push(Regular::Concat(vec![class('.', '.'), head, class('0', before(digit)), any_digits(0)]));
        }
    }
    if !excluded {
        fractions.push(match bound.fraction.is_empty() {
            true => maybe(Regular::Concat(vec![class('.', '.'), class('0', '0'), zeros])),
            false => Regular::Concat(vec![class('.', '.'), Regular::text(&bound.fraction), zeros]),
        });
    }
    ways.push(Regular::Concat(vec![same, Regular::Alternate(fractions)]));
    Regular::Alternate(ways)
}

fn next(digit: char) -> char {
    char::from_u32(u32::from(digit) + 1).unwrap_or('9')
}

fn before(digit: char) -> char {
    char::from_u32(u32::from(digit) - 1).unwrap_or('0')
}

/// Whole numbers without sign that a number divides.
fn multiples(of: u64) -> Automaton {
    let mut made = Automaton::default();
    for rest in 0..of {
        for digit in 0..10 {
            let to = usize::try_from((rest * 10 + digit) % of).unwrap_or(0);
            made.edge(u32::from('0') + digit as u32, u32::from('0') + digit as u32, to);
        }
        made.end_state(rest == 0);
    }
    made
}

/// Numbers of JSON in any spelling, up to where a double has no room for them, which parsers take as text or infinity.
/// Most numbers of a request are free, so that these are made once.
pub(crate) static ANY_NUMBER: LazyLock<Automaton> = LazyLock::new(|| {
    let minus = || class('-', '-');
    let e = Regular::Class(vec![(u32::from('E'), u32::from('E')), (u32::from('e'), u32::from('e'))]);
    // Up to 199 leaves room for a hundred digits before the point.
    let digits_of_power = Regular::Repeat { node: Box::new(class('0', '9')), min: 1, max: Some(2) };
    let power = Regular::Concat(vec![maybe(class('+', '+')), maybe(class('0', '1')), digits_of_power]);
    let fraction = Regular::Concat(vec![minus(), any_digits(1)]);
    let exponent = maybe(Regular::Concat(vec![e, Regular::Alternate(vec![power, fraction])]));
    let number = Regular::Concat(vec![maybe(minus()), digits(false), exponent]);
    Automaton::from_pattern(&number).unwrap_or_else(Automaton::nothing)
});

/// Whole numbers of JSON.
pub(crate) static ANY_WHOLE: LazyLock<Automaton> = LazyLock::new(|| {
    let number = Regular::Concat(vec![maybe(class('-', '-')), digits(true)]);
    Automaton::from_pattern(&number).unwrap_or_else(Automaton::nothing)
});
