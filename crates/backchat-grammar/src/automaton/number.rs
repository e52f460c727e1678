//! Numbers within bounds as regular text.

use std::cmp::Ordering;
use std::sync::LazyLock;

use super::Automaton;
use backchat_core::text::slice;
use backchat_parser::pattern::Regular;

/// A schema's bounds of a number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Bounds {
    /// The least value, and whether it is excluded.
    pub least: Option<(Decimal, bool)>,
    pub most: Option<(Decimal, bool)>,
    /// The divisor of whole numbers.
    pub multiple: Option<u64>,
}

/// A decimal number as its digits, without leading or trailing zeros.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Decimal {
    negative: bool,
    whole: String,
    fraction: String,
}

/// The most digits of a bound.
const MOST_DIGITS: u64 = 400;

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
        if exponent.unsigned_abs() > MOST_DIGITS
            || !format!("{whole}{fraction}").bytes().all(|byte| byte.is_ascii_digit())
        {
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

    pub fn is_whole(&self) -> bool {
        self.fraction.is_empty()
    }

    /// Its value if it is whole and not negative; the largest one if it is larger.
    pub fn as_u64(&self) -> Option<u64> {
        (self.is_whole() && !self.negative).then(|| self.whole.parse().unwrap_or(u64::MAX))
    }

    /// Its spellings without sign and exponent.
    fn spellings(&self) -> Regular {
        let zeros = class('0', '0');
        let fraction = match self.is_whole() {
            true => maybe(Regular::Concat(vec![class('.', '.'), zeros.repeat(1, None)])),
            false => Regular::Concat(vec![Regular::text(&format!(".{}", self.fraction)), zeros.repeat(0, None)]),
        };
        Regular::Concat(vec![Regular::text(&self.whole), fraction])
    }

    fn is_zero(&self) -> bool {
        self.whole == "0" && self.fraction.is_empty()
    }

    fn size(&self) -> (usize, &str, &str) {
        (self.whole.len(), &self.whole, &self.fraction)
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_sign = other.negative.cmp(&self.negative);
        let by_size = if self.negative { other.size().cmp(&self.size()) } else { self.size().cmp(&other.size()) };
        by_sign.then(by_size)
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Bounds {
    pub fn is_free(&self) -> bool {
        *self == Self::default()
    }

    /// Keeps the tighter lower bound.
    pub fn at_least(&mut self, value: Decimal, excluded: bool) {
        self.least = self.least.take().max(Some((value, excluded)));
    }

    /// Keeps the tighter upper bound.
    pub fn at_most(&mut self, value: Decimal, excluded: bool) {
        if self.most.as_ref().is_none_or(|(known, was)| (&value, *was) < (known, excluded)) {
            self.most = Some((value, excluded));
        }
    }

    /// Whether a number satisfies the bounds.
    pub fn hold(&self, number: &str) -> bool {
        let Some(value) = Decimal::read(number) else { return true };
        let above = self.least.as_ref().is_none_or(|(least, excluded)| (least, *excluded) <= (&value, false));
        let below = self.most.as_ref().is_none_or(|(most, excluded)| (&value, *excluded) <= (most, false));
        let fits = self.multiple.is_none_or(|multiple| {
            value.fraction.is_empty()
                && value.whole.bytes().fold(0, |rest, digit| (rest * 10 + u64::from(digit - b'0')) % multiple) == 0
        });
        above && below && fits
    }

    /// The numbers within the bounds: the nonnegative ones, and the negative ones without their sign.
    pub fn automata(&self, whole: bool) -> Option<(Automaton, Automaton)> {
        let zero = Decimal { negative: false, whole: "0".to_owned(), fraction: String::new() };
        let plain = Automaton::from_pattern(&digits(whole))?;
        let side = |least: Option<(&Decimal, bool)>, most: Option<(&Decimal, bool)>| -> Option<Automaton> {
            let mut all = plain.clone();
            if let Some((least, excluded)) = least {
                all = all.both(&Automaton::from_pattern(&at_least(least, excluded, whole))?)?;
            }
            if let Some((most, excluded)) = most {
                // A number that is not above the bound is at most the bound.
                all = all.both(&Automaton::from_pattern(&at_least(most, !excluded, whole))?.complement())?;
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
    Regular::class(&[(low, high)])
}

fn any_digits(min: u32) -> Regular {
    class('0', '9').repeat(min, None)
}

fn maybe(node: Regular) -> Regular {
    node.repeat(0, Some(1))
}

/// A number without sign.
fn digits(whole: bool) -> Regular {
    let plain = Regular::Alternate(vec![class('0', '0'), Regular::Concat(vec![class('1', '9'), any_digits(0)])]);
    Regular::Concat(vec![plain, any_fraction(whole)])
}

/// The text allowed after the whole part of a number.
fn any_fraction(whole: bool) -> Regular {
    if whole { Regular::Empty } else { maybe(Regular::Concat(vec![class('.', '.'), any_digits(1)])) }
}

/// The numbers without sign that are greater than a bound, or equal to it unless that is excluded.
fn at_least(bound: &Decimal, excluded: bool, whole: bool) -> Regular {
    let mut ways = with_higher_digit(&bound.whole, whole);
    ways.push(Regular::Concat(vec![any_digits(count(&bound.whole) + 1), any_fraction(whole)]));
    let same = Regular::text(&bound.whole);
    if whole {
        if bound.fraction.is_empty() && !excluded {
            ways.push(same);
        }
        return Regular::Alternate(ways);
    }
    let mut fractions = with_higher_decimal(&bound.fraction);
    let more = Regular::Concat(vec![any_digits(0), class('1', '9'), any_digits(0)]);
    let equal = Regular::text(&bound.fraction);
    fractions.push(Regular::Concat(vec![class('.', '.'), equal.clone(), more]));
    if !excluded {
        fractions.push(match bound.fraction.is_empty() {
            true => any_fraction(whole),
            false => Regular::Concat(vec![class('.', '.'), equal, any_digits(0)]),
        });
    }
    ways.push(Regular::Concat(vec![same, Regular::Alternate(fractions)]));
    Regular::Alternate(ways)
}

/// The numbers with as many whole digits as the given ones that first differ from them in a higher digit.
fn with_higher_digit(digits: &str, whole: bool) -> Vec<Regular> {
    let way = |(at, digit)| {
        let (head, rest) = (slice(digits, ..at), count(digits) - at as u32 - 1);
        let rest = class('0', '9').repeat(rest, Some(rest));
        Some(Regular::Concat(vec![Regular::text(head), higher(digit)?, rest, any_fraction(whole)]))
    };
    digits.char_indices().filter_map(way).collect()
}

/// The same for the digits after the point, followed by any digits.
fn with_higher_decimal(digits: &str) -> Vec<Regular> {
    let way = |(at, digit)| {
        let head = Regular::text(slice(digits, ..at));
        Some(Regular::Concat(vec![class('.', '.'), head, higher(digit)?, any_digits(0)]))
    };
    digits.char_indices().filter_map(way).collect()
}

fn higher(digit: char) -> Option<Regular> {
    Some(class(char::from_digit(digit.to_digit(10)? + 1, 10)?, '9'))
}

fn count(digits: &str) -> u32 {
    u32::try_from(digits.len()).unwrap_or(u32::MAX)
}

/// Every text but the spellings of these numbers that are negative, or that are not, without their sign; `None` if there
/// are too many states.
pub(crate) fn other_than(numbers: &[&str], negative: bool) -> Option<Automaton> {
    let numbers = numbers.iter().filter_map(|number| Decimal::read(number));
    let spellings = numbers.filter(|number| number.negative == negative).map(|number| number.spellings());
    Some(Automaton::from_pattern(&Regular::Alternate(spellings.collect()))?.complement())
}

/// The multiples of a number, without sign.
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

/// JSON numbers in any spelling that fit a double: parsers read larger ones as text or infinity. Built once, because
/// most numbers of requests are unconstrained.
pub(crate) static ANY_NUMBER: LazyLock<Automaton> = LazyLock::new(|| {
    let minus = || class('-', '-');
    let e = Regular::class(&[('E', 'E'), ('e', 'e')]);
    // Up to 199 leaves room for a hundred digits before the point.
    let digits_of_power = class('0', '9').repeat(1, Some(2));
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

/// Numbers whose value is whole, without an exponent.
pub(crate) static WHOLE_VALUE: LazyLock<Automaton> = LazyLock::new(|| {
    let zeros = maybe(Regular::Concat(vec![class('.', '.'), class('0', '0').repeat(1, None)]));
    let number = Regular::Concat(vec![maybe(class('-', '-')), digits(true), zeros]);
    Automaton::from_pattern(&number).unwrap_or_else(Automaton::nothing)
});

/// Every text but whole numbers that a double does not hold exactly, as a strict parser refuses them.
pub(crate) static EXACT: LazyLock<Automaton> = LazyLock::new(|| {
    let largest = Decimal { negative: false, whole: "9007199254740991".to_owned(), fraction: String::new() };
    let larger = Regular::Concat(vec![maybe(class('-', '-')), at_least(&largest, true, true)]);
    Automaton::from_pattern(&larger).map_or_else(Automaton::nothing, |larger| larger.complement())
});
