//! The tables are made of those of `regex-syntax`, and every set is compared.

use std::path::Path;
use std::sync::LazyLock;
use std::{env, fs};

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

use super::{CharSet, DIGITS, SPACE, WORD, property};

impl From<&ClassUnicode> for CharSet {
    fn from(class: &ClassUnicode) -> Self {
        Self::ascending(class.iter().map(|range| (range.start() as u32, range.end() as u32 + 1)))
    }
}

/// The other crate's members of a class; nothing where it does not know the name.
fn class(source: &str) -> Option<ClassUnicode> {
    match regex_syntax::parse(source).ok()?.into_kind() {
        HirKind::Class(Class::Unicode(class)) => Some(class),
        HirKind::Class(Class::Bytes(class)) => class.to_unicode_class(),
        HirKind::Literal(literal) => {
            let c = std::str::from_utf8(&literal.0).ok()?.chars().next()?;
            Some(ClassUnicode::new([ClassUnicodeRange::new(c, c)]))
        }
        _ => None,
    }
}

fn reference(property: &str, value: &str) -> CharSet {
    let class = class(&format!(r"\p{{{property}{value}}}")).unwrap_or_else(|| panic!("{property}{value}"));
    CharSet::from(&class)
}

/// The parts of `names.txt`: the names of a property, and a name of each of its values.
fn parts() -> Vec<(&'static str, Vec<&'static str>)> {
    let first = |line: &'static str| line.split(' ').next().unwrap();
    include_str!("../../data/names.txt")
        .split("\n\n")
        .map(|part| (first(part.lines().next().unwrap()), part.lines().skip(1).map(first).collect()))
        .collect()
}

fn write(out: &mut Vec<u8>, number: u32) {
    let mut rest = number;
    while rest > 0x7f {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

fn changes(set: &CharSet) -> Vec<u32> {
    set.ranges().iter().flat_map(|&(low, high)| [low as u32, high as u32 + 1]).collect()
}

/// The runs of a property that gives each character one value.
fn runs(values: &[CharSet], first: u32) -> Vec<u8> {
    let mut runs: Vec<(u32, u32, u32)> = Vec::new();
    for (set, value) in values.iter().zip(first..) {
        runs.extend(set.ranges().iter().map(|&(low, high)| (low as u32, high as u32 + 1, value)));
    }
    runs.sort_unstable();
    let (mut out, mut at) = (Vec::new(), 0);
    for (low, next, value) in runs {
        assert!(at <= low, "U+{low:x} has two values");
        if at < low {
            write(&mut out, 0);
            write(&mut out, low - at);
        }
        write(&mut out, value);
        write(&mut out, next - low);
        at = next;
    }
    out
}

/// Where a set differs from another.
fn difference(set: &CharSet, base: &CharSet) -> Vec<u8> {
    let (ours, theirs) = (changes(set), changes(base));
    let alone = ours.iter().filter(|at| !theirs.contains(at)).chain(theirs.iter().filter(|at| !ours.contains(at)));
    let mut alone: Vec<u32> = alone.copied().collect();
    alone.sort_unstable();
    let (mut out, mut last) = (Vec::new(), 0);
    for at in alone {
        write(&mut out, at - last);
        last = at;
    }
    out
}

/// A set by its difference from the general categories that make it smallest.
fn by_categories(set: &CharSet, categories: &[CharSet]) -> Vec<u8> {
    let mut mask = 0;
    let mut best = difference(set, &CharSet::default());
    loop {
        let with = |bit: usize| {
            let mut base = CharSet::default();
            for (at, category) in categories.iter().enumerate() {
                if (mask ^ 1 << bit) >> at & 1 == 1 {
                    base.union(category);
                }
            }
            difference(set, &base)
        };
        let next =
            (0..categories.len()).map(|bit| (with(bit), bit)).min_by_key(|(difference, bit)| (difference.len(), *bit));
        match next.filter(|(difference, _)| difference.len() < best.len()) {
            Some((difference, bit)) => (best, mask) = (difference, mask ^ 1 << bit),
            None => break,
        }
    }
    let mut out = Vec::new();
    write(&mut out, mask);
    out.extend(best);
    out
}

fn sets() -> Vec<u8> {
    let parts = parts();
    let mut chunks = Vec::new();
    let mut categories = Vec::new();
    let mut scripts = Vec::new();
    for (property, values) in &parts[..6] {
        let set = |value: &&str| match *value {
            "cs" => CharSet::default(),
            value => reference(&format!("{property}="), value),
        };
        let mut sets: Vec<CharSet> = values.iter().map(set).collect();
        match *property {
            "generalcategory" => {
                sets.truncate(30);
                categories.clone_from(&sets);
            }
            "script" => scripts.clone_from(&sets),
            // A character is of an age and of every later one.
            "age" => {
                for at in (1..sets.len()).rev() {
                    let before = sets[at - 1].clone();
                    sets[at].subtract(&before);
                }
            }
            _ => {}
        }
        chunks.push(runs(&sets, u32::from(*property != "generalcategory")));
    }
    for (name, script) in parts[1].1.iter().zip(&scripts) {
        chunks.push(difference(&reference("scx=", name), script));
    }
    let (first, more) = &parts[6];
    for name in [first].into_iter().chain(more) {
        chunks.push(by_categories(&reference("", name), &categories));
    }
    let mut out = Vec::new();
    for chunk in chunks {
        write(&mut out, chunk.len() as u32);
        out.extend(chunk);
    }
    out
}

/// Each character that differs from others in case only, by the other crate, with those and itself.
static GROUPS: LazyLock<Vec<(char, Vec<char>)>> = LazyLock::new(|| {
    let group = |c: char| {
        let mut class = ClassUnicode::new([ClassUnicodeRange::new(c, c)]);
        class.try_case_fold_simple().unwrap();
        (c, class.iter().flat_map(|range| range.start()..=range.end()).collect::<Vec<char>>())
    };
    ('\0'..=char::MAX).map(group).filter(|(_, group)| group.len() > 1).collect()
});

fn cases() -> Vec<u8> {
    let (mut out, mut last) = (Vec::new(), 0);
    for (c, group) in GROUPS.iter().filter(|(c, group)| group[0] == *c) {
        let mut from = last;
        for (at, &member) in group.iter().enumerate() {
            write(&mut out, (member as u32 - from) << 1 | u32::from(at + 1 < group.len()));
            from = member as u32;
        }
        last = *c as u32;
    }
    out
}

#[test]
fn the_tables_are_those_of_regex_syntax() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    for (file, made) in [("sets.bin", sets()), ("cases.bin", cases())] {
        let path = folder.join(file);
        if env::var("BACKCHAT_UNICODE").is_ok_and(|what| what == "write") {
            fs::write(&path, &made).unwrap();
        }
        assert!(
            fs::read(&path).unwrap() == made,
            "{file} is not up to date: run with BACKCHAT_UNICODE=write, and read in git what changed"
        );
    }
}

/// The ranges of a set, none across the surrogates: the other crate holds the characters around them for neighbors.
fn parted(set: &CharSet) -> Vec<(char, char)> {
    let across = |&(low, high): &(char, char)| match low < '\u{e000}' && high > '\u{d7ff}' {
        true => vec![(low, '\u{d7ff}'), ('\u{e000}', high)],
        false => vec![(low, high)],
    };
    set.ranges().iter().flat_map(across).collect()
}

#[test]
fn every_name_has_the_members_that_it_has_in_regex_syntax() {
    let mut count = 0;
    let parts = include_str!("../../data/names.txt").split("\n\n").map(|part| part.lines().collect::<Vec<_>>());
    for (at, lines) in parts.enumerate() {
        let (keys, values) = if at == 6 { ("", &lines[..]) } else { (lines[0], &lines[1..]) };
        let keys = if at == 1 { "script sc scx script_extensions" } else { keys };
        for name in values.iter().flat_map(|line| line.split(':').next().unwrap().split(' ')) {
            let keys = keys.split(' ').map(|key| if key.is_empty() { String::new() } else { format!("{key}=") });
            for key in keys.chain((at < 2).then(String::new)) {
                let written = format!("{key}{name}");
                let wanted =
                    if matches!(name, "cs" | "surrogate") { CharSet::default() } else { reference(&key, name) };
                assert!(property(&written).is_some_and(|set| parted(&set) == parted(&wanted)), "{written}");
                count += 1;
            }
        }
    }
    assert!(count > 2000, "{count}");
    for (ours, theirs) in [(&WORD, r"\w"), (&DIGITS, r"\d"), (&SPACE, r"\s")] {
        assert!(**ours == CharSet::from(&class(theirs).unwrap()), "{theirs}");
    }
}

/// A script that a newer `regex-syntax` has and `names.txt` lacks would leave characters without one.
#[test]
fn every_assigned_character_has_a_script_and_an_age() {
    let mut assigned = property("assigned").unwrap();
    assigned.subtract(&property("Co").unwrap());
    for part in [1, 2] {
        let mut rest = assigned.clone();
        let (key, values) = &parts()[part];
        for value in values {
            rest.subtract(&property(&format!("{key}={value}")).unwrap());
        }
        assert!(rest.ranges().is_empty(), "{key}: {:x?}", rest.ranges().first());
    }
}

#[test]
fn folding_adds_what_regex_syntax_adds() {
    let turkish = |c: char| "iIİı".contains(c);
    for (c, group) in GROUPS.iter().filter(|(c, _)| !turkish(*c)) {
        let mut set = CharSet::of(*c, *c);
        set.fold();
        let members: Vec<char> = set.ranges().iter().flat_map(|&(low, high)| low..=high).collect();
        assert_eq!(members, *group, "{c:?}");
    }
    let mut others = CharSet::of('\0', char::MAX);
    for c in GROUPS.iter().map(|(c, _)| *c).chain("iIİı".chars()) {
        others.subtract(&CharSet::of(c, c));
    }
    let mut folded = others.clone();
    folded.fold();
    assert!(folded == others);
}
