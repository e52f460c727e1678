//! A room looks only into those that its row in `ARCHITECTURE.md` names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What a room may import; `None` is everything.
type Plan = BTreeMap<String, Option<BTreeSet<String>>>;

/// Reads the rows `` | `src/room/` | what it holds | `room`, `room` | ``.
fn plan(text: &str) -> Plan {
    let row = |line: &str| {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let room = cells.first()?.strip_prefix("`src/")?.strip_suffix("/`")?;
        let imports = match *cells.last()? {
            "everything" => None,
            "nothing of ours" => Some(BTreeSet::new()),
            rooms => Some(rooms.split(", ").map(|room| room.trim_matches('`').to_owned()).collect()),
        };
        Some((room.to_owned(), imports))
    };
    text.lines().filter_map(row).collect()
}

/// The rooms named by `crate::room` and `crate::{room, room::…}`, comments left out.
fn imports(source: &str) -> BTreeSet<String> {
    let code: String =
        source.lines().map(|line| line.split("//").next().unwrap_or_default()).flat_map(|line| [line, "\n"]).collect();
    let mut found = BTreeSet::new();
    for (at, path) in code.match_indices("crate::") {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        let rest = &code[at + path.len()..];
        match rest.strip_prefix('{') {
            None => found.extend(word(rest)),
            Some(group) => found.extend(group_items(group).iter().filter_map(|item| word(item))),
        }
    }
    found
}

fn word(text: &str) -> Option<String> {
    let word: String = text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!word.is_empty()).then_some(word)
}

/// The items of a `use` group, up to its closing brace; groups inside stay part of their item.
fn group_items(group: &str) -> Vec<String> {
    let (mut items, mut depth) = (vec![String::new()], 0);
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => items.push(String::new()),
            c => items.last_mut().unwrap().push(c),
        }
    }
    items
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// A line for each import that the plan does not allow.
fn forbidden(room: &str, source: &str, plan: &Plan) -> Vec<String> {
    let Some(allowed) = plan.get(room) else { return vec![format!("`{room}` has no row in ARCHITECTURE.md")] };
    let Some(allowed) = allowed else { return Vec::new() };
    let named = imports(source);
    let named = named.iter().filter(|name| name.as_str() != room && !allowed.contains(*name));
    named.map(|name| format!("`{room}` looks into `{name}`, which its row does not name")).collect()
}

#[test]
fn no_room_looks_where_it_should_not() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let plan = plan(&fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap());
    assert!(plan.len() > 10, "the table of rooms was not found");
    let source = root.join("src");
    let mut complaints = Vec::new();
    for file in rust_files(&source) {
        let inside = file.strip_prefix(&source).unwrap();
        let mut parts = inside.components().map(|part| part.as_os_str().to_str().unwrap());
        let room = parts.next().unwrap();
        // The front page and `main.rs` stand above the rooms.
        if parts.next().is_none() {
            continue;
        }
        let found = forbidden(room, &fs::read_to_string(&file).unwrap(), &plan);
        complaints.extend(found.into_iter().map(|complaint| format!("{}: {complaint}", inside.display())));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn a_forbidden_door_is_seen() {
    let plan =
        plan("| `src/a/` | holds | `b` |\n| `src/b/` | holds | nothing of ours |\n| `src/c/` | holds | everything |");
    let none = Vec::<String>::new();
    for (room, source, found) in [
        ("a", "use crate::b::Thing;", none.clone()),
        ("a", "use crate::a::Own; // crate::c::Comment", none.clone()),
        ("c", "use crate::{a, b};", none.clone()),
        ("a", "use other_crate::c;", none),
        ("b", "use crate::a::Thing;", vec!["`b` looks into `a`, which its row does not name".to_owned()]),
        ("a", "use crate::{b::{self, c}, c::D};", vec!["`a` looks into `c`, which its row does not name".to_owned()]),
        ("a", "fn f(c: crate::c::D) {}", vec!["`a` looks into `c`, which its row does not name".to_owned()]),
        ("d", "", vec!["`d` has no row in ARCHITECTURE.md".to_owned()]),
    ] {
        assert_eq!(forbidden(room, source, &plan), found, "{room}: {source}");
    }
}
