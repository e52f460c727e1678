//! Properties by name.
//!
//! Each part of `names.txt` is a property with its values, a line each: the value in line *n* behind the property's own names has the
//! number *n* in the table. The general categories are numbered from 0, and a name before a colon stands for several. The last part
//! has the properties that characters have or lack.

use super::set::CharSet;
use super::tables::{differing, with_value};

static NAMES: &str = include_str!("../../data/names.txt");

// The parts of the names, and with them the chunks of the tables.
const CATEGORY: usize = 0;
const SCRIPT: usize = 1;
const AGE: usize = 2;
const VALUED: usize = 6;

/// A property by name, such as `Lu`, `Greek`, `Script=Greek` or `xdigit`; `None` if the name is unknown. Case, spaces, `_` and `-`
/// do not matter.
pub fn property(name: &str) -> Option<CharSet> {
    let name: String = name.chars().filter(|c| !matches!(c, ' ' | '_' | '-')).collect();
    let name = name.to_ascii_lowercase().replace(':', "=");
    match name.split_once('=') {
        Some((property, value)) => value_of(property, value),
        None => posix(name.strip_prefix("posix").unwrap_or(&name)).or_else(|| named(&name)),
    }
}

/// The characters of `\w`.
pub(super) fn word() -> CharSet {
    union(&["Alphabetic", "M", "Nd", "Pc", "Join_Control"])
}

/// The members of several properties.
pub fn union(names: &[&str]) -> CharSet {
    let mut union = CharSet::default();
    for set in names.iter().filter_map(|name| property(name)) {
        union.union(&set);
    }
    union
}

/// The classes of POSIX, where they are no properties.
fn posix(name: &str) -> Option<CharSet> {
    let without = |names: &[&str]| {
        let mut set = union(names);
        set.negate();
        set
    };
    let unseen = ["White_Space", "Cc", "Cn"];
    Some(match name {
        "alnum" => union(&["Alphabetic", "Nd"]),
        "blank" => {
            let mut set = union(&["Zs"]);
            set.add('\t', '\t');
            set
        }
        "graph" => without(&unseen),
        "print" => {
            let mut set = without(&unseen);
            set.union(&union(&["Zs"]));
            set
        }
        "word" => word(),
        "xdigit" => union(&["Hex_Digit"]),
        "l&" => union(&["LC"]),
        _ => return None,
    })
}

fn value_of(property: &str, value: &str) -> Option<CharSet> {
    if is_one_of("scriptextensions scx", property) {
        return extended(line_of(SCRIPT, value)?);
    }
    let part = (CATEGORY..VALUED).find(|&part| lines(part).next().is_some_and(|names| is_one_of(names, property)))?;
    match part {
        CATEGORY => category(value),
        AGE => line_of(AGE, value).map(|line| with_value(AGE, |age| (1..=line).contains(&(age as usize)))),
        _ => line_of(part, value).map(|line| with_value(part, |value| value as usize == line)),
    }
}

fn named(name: &str) -> Option<CharSet> {
    if let Some(at) = lines(VALUED).position(|names| is_one_of(names, name)) {
        let scripts = lines(SCRIPT).count() - 1;
        return Some(differing(VALUED + scripts + at, |numbers| categories(numbers.next().unwrap_or_default())));
    }
    category(name).or_else(|| value_of("script", name))
}

/// The characters of a script, and those that it shares with others.
fn extended(line: usize) -> Option<CharSet> {
    Some(differing(VALUED + line - 1, |_| with_value(SCRIPT, |script| script as usize == line)))
}

/// A general category, or several by one name.
fn category(name: &str) -> Option<CharSet> {
    let everything = CharSet::of('\0', char::MAX);
    match name {
        "any" => return Some(everything),
        "ascii" => return Some(CharSet::of('\0', '\x7f')),
        "assigned" => {
            let mut set = everything;
            set.subtract(&category("cn")?);
            return Some(set);
        }
        _ => {}
    }
    let line = line_of(CATEGORY, name)?;
    let members = lines(CATEGORY).nth(line)?.split_once(": ").map(|(_, members)| members);
    Some(categories(match members {
        None => 1 << (line - 1),
        Some(members) => {
            members.split(' ').filter_map(|name| line_of(CATEGORY, name)).fold(0, |all, line| all | 1 << (line - 1))
        }
    }))
}

/// The general categories whose bits are set.
fn categories(mask: u32) -> CharSet {
    with_value(CATEGORY, |category| mask >> category & 1 == 1)
}

fn lines(part: usize) -> impl Iterator<Item = &'static str> {
    NAMES.split("\n\n").nth(part).into_iter().flat_map(str::lines)
}

/// The line of a value behind the names of its property, from 1 on.
fn line_of(part: usize, value: &str) -> Option<usize> {
    let named = |line: &str| is_one_of(line.split(':').next().unwrap_or_default(), value);
    lines(part).skip(1).position(named).map(|at| at + 1)
}

/// Whether a name is one of those in a line. It may begin with "is".
fn is_one_of(names: &str, name: &str) -> bool {
    let bare = name.strip_prefix("is").unwrap_or(name);
    names.split(' ').any(|known| known == name || known == bare)
}

#[cfg(test)]
mod tests {
    use super::property;

    #[test]
    fn names_of_posix_are_sets_of_properties() {
        for (name, members, others) in [
            ("alnum", "aé7٣", "_ -"),
            ("posix_blank", "\t \u{3000}", "\n\u{2028}"),
            ("graph", "a!\u{e000}", " \n\u{a0}\0\u{378}"),
            ("Print", "a! \u{a0}\u{3000}", "\n\t\0\u{2028}"),
            ("cntrl", "\0\u{85}", "a "),
            ("xdigit", "09afAF０Ｆ", "gG／"),
            ("word", "a_é\u{200d}", "-"),
            ("l&", "aÀǅ", "ªא1"),
            ("any", "\0\u{10ffff}", ""),
            ("assigned", "a", "\u{378}"),
            ("Surrogate", "", "a\u{d7ff}\u{e000}"),
            ("gc: Cs", "", "a"),
            ("is greek", "α", "a"),
            ("Script: Greek", "α", "a"),
        ] {
            let set = property(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(members.chars().filter(|c| !set.contains(*c)).collect::<String>(), "", "{name}");
            assert_eq!(others.chars().filter(|c| set.contains(*c)).collect::<String>(), "", "{name}");
        }
        assert!(["", "{", "a}b", r"\w", "posix", "Klingon"].iter().all(|name| property(name).is_none()));
    }
}
