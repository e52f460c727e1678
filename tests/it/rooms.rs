//! The compiler enforces the dependencies between crates. Inside a crate, a room imports only the rooms that its row in
//! `ARCHITECTURE.md` names, and the files of a room form no cycle.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::iter::Peekable;
use std::path::{Path, PathBuf};

use proc_macro2::token_stream::IntoIter;
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;

/// The rooms of one crate, each with those it may import; `None` is everything.
type Plan = BTreeMap<String, Option<BTreeSet<String>>>;

/// Reads the rows `` | `room` | what it holds | `room`, `room` | `` below each heading `` ### `folder` ``. A folder without
/// rows is one room.
fn plans(text: &str) -> BTreeMap<String, Plan> {
    let row = |line: &str| {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let room = cells.first()?.strip_prefix('`')?.strip_suffix('`')?;
        let imports = match *cells.last()? {
            "everything" => None,
            "" => Some(BTreeSet::new()),
            rooms => Some(rooms.split(", ").map(|room| room.trim_matches('`').to_owned()).collect()),
        };
        Some((room.to_owned(), imports))
    };
    let mut plans = BTreeMap::<String, Plan>::new();
    let mut folder = None;
    for line in text.lines() {
        if line.starts_with('#') {
            folder = line.strip_prefix("### `").and_then(|rest| rest.split('`').next());
            plans.extend(folder.map(|folder| (folder.to_owned(), Plan::new())));
        } else if let Some(plan) = folder.and_then(|folder| plans.get_mut(folder)) {
            plan.extend(row(line));
        }
    }
    plans
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The source folders: that of the command, and those below `crates`.
pub fn sources() -> Vec<PathBuf> {
    let crates = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path().join("src"));
    let sources: Vec<PathBuf> = crates.chain([root().join("src")]).collect();
    assert!(sources.len() > 5, "the crates were not found");
    sources
}

fn plans_of_architecture() -> BTreeMap<String, Plan> {
    plans(&fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap())
}

/// The plan of a crate's rooms.
fn plan_of<'p>(source: &Path, plans: &'p BTreeMap<String, Plan>) -> &'p Plan {
    let folder = source.strip_prefix(root()).unwrap().to_str().unwrap();
    plans.get(folder).unwrap_or_else(|| panic!("`{folder}` has no heading in ARCHITECTURE.md"))
}

/// The rooms named by `crate::room` and `crate::{room, room::…}` outside comments.
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

/// All files of Rust in a folder.
pub fn rust_files(folder: &Path) -> Vec<PathBuf> {
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
    named.map(|name| format!("`{room}` imports `{name}`, which its row does not name")).collect()
}

#[test]
fn rooms_import_only_what_their_rows_name() {
    let plans = plans_of_architecture();
    let mut complaints = Vec::new();
    for source in sources() {
        let plan = plan_of(&source, &plans);
        let mut used = BTreeSet::new();
        for file in rust_files(&source).into_iter().filter(|_| !plan.is_empty()) {
            let inside = file.strip_prefix(&source).unwrap().with_extension("");
            let room = inside.components().next().unwrap().as_os_str().to_str().unwrap();
            // `lib.rs` and `main.rs` belong to no room.
            if matches!(room, "lib" | "main") {
                continue;
            }
            let text = fs::read_to_string(&file).unwrap();
            let found = forbidden(room, &text, plan);
            complaints.extend(found.into_iter().map(|complaint| format!("{}: {complaint}", file.display())));
            used.extend(imports(&text).into_iter().map(|other| (room.to_owned(), other)));
        }
        for (room, allowed) in plan {
            let unused = allowed.iter().flatten().filter(|other| !used.contains(&(room.clone(), (*other).clone())));
            complaints.extend(unused.map(|other| format!("`{room}` does not import `{other}`, which its row names")));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// A file's first line states what the file guarantees.
#[test]
fn every_file_begins_with_its_contract() {
    let files: Vec<PathBuf> = sources().iter().flat_map(|source| rust_files(source)).collect();
    assert!(files.len() > 100, "the sources were not found");
    let silent = files.into_iter().filter(|file| !fs::read_to_string(file).unwrap().starts_with("//! "));
    let silent: Vec<String> = silent.map(|file| file.display().to_string()).collect();
    assert!(silent.is_empty(), "begin these files with `//!` and what they guarantee:\n{}", silent.join("\n"));
}

#[test]
fn files_and_folders_of_architecture_exist() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let folders = sources().into_iter().chain(["tests/it", "python/src"].map(|folder| root().join(folder)));
    let files: Vec<PathBuf> = folders.flat_map(|folder| rust_files(&folder)).collect();
    let named: BTreeSet<&str> = text.split('`').skip(1).step_by(2).filter(|name| name.ends_with(".rs")).collect();
    assert!(named.len() > 20, "the plan names {} files", named.len());
    let missing: Vec<&&str> = named.iter().filter(|name| !files.iter().any(|file| file.ends_with(name))).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names files that are gone: {missing:?}");

    let tree = files.iter().flat_map(|file| file.ancestors().skip(1));
    let tree: BTreeSet<&Path> = tree.filter(|folder| folder.starts_with(root())).collect();
    let folders: Vec<&str> = text.split('`').skip(1).step_by(2).filter_map(|name| name.strip_suffix('/')).collect();
    assert!(folders.len() > 20, "the plan names {} folders", folders.len());
    let is_there = |name: &str| root().join(name).is_dir() || tree.iter().any(|folder| folder.ends_with(name));
    let missing: Vec<&&str> = folders.iter().filter(|name| !is_there(name)).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names folders that are gone: {missing:?}");
}

#[test]
fn forbidden_imports_are_found() {
    let plans = plans(
        "### `x/src`: a crate\n| `a` | holds | `b` |\n| `b` | holds | |\n| `c` | holds | everything |\n## Rules\n| `d` | | |",
    );
    let plan = &plans["x/src"];
    let none = Vec::<String>::new();
    for (room, source, found) in [
        ("a", "use crate::b::Thing;", none.clone()),
        ("a", "use crate::a::Own; // crate::c::Comment", none.clone()),
        ("c", "use crate::{a, b};", none.clone()),
        ("a", "use other_crate::c;", none),
        ("b", "use crate::a::Thing;", vec!["`b` imports `a`, which its row does not name".to_owned()]),
        ("a", "use crate::{b::{self, c}, c::D};", vec!["`a` imports `c`, which its row does not name".to_owned()]),
        ("a", "fn f(c: crate::c::D) {}", vec!["`a` imports `c`, which its row does not name".to_owned()]),
        ("d", "", vec!["`d` has no row in ARCHITECTURE.md".to_owned()]),
    ] {
        assert_eq!(forbidden(room, source, plan), found, "{room}: {source}");
    }
}

/// One file of a room: the modules it names, and what its `use` items bring in.
#[derive(Default)]
struct File {
    /// Paths from the root of the crate, as they are written.
    paths: BTreeSet<Vec<String>>,
    /// The path of each name that a `use` item brings in, so that a re-export leads to the file that defines it.
    names: BTreeMap<String, Vec<String>>,
}

/// The files of the crate by their module paths, without what only tests compile.
struct Files(BTreeMap<Vec<String>, File>);

impl Files {
    fn read(source: &Path) -> Self {
        let texts = rust_files(source).into_iter().map(|path| {
            let inside = path.strip_prefix(source).unwrap().with_extension("");
            let mut module: Vec<String> =
                inside.components().map(|part| part.as_os_str().to_str().unwrap().to_owned()).collect();
            if matches!(module.last().map(String::as_str), Some("mod" | "lib")) {
                module.pop();
            }
            (module, fs::read_to_string(&path).unwrap())
        });
        Self::of(texts.collect())
    }

    fn of(texts: BTreeMap<Vec<String>, String>) -> Self {
        let read = texts.into_iter().map(|(module, text)| (module, syn::parse_file(&text).unwrap().items));
        let mut read: BTreeMap<Vec<String>, Vec<syn::Item>> = read.collect();
        for module in read.iter().flat_map(|(module, items)| modules_for_tests(module, items)).collect::<Vec<_>>() {
            read.retain(|other, _| !other.starts_with(&module));
        }
        let files = read.iter().map(|(module, items)| {
            let start = |first: &str| match first {
                "crate" => Some(Vec::new()),
                "self" => Some(module.clone()),
                "super" => Some(module[..module.len().saturating_sub(1)].to_vec()),
                child => {
                    let path = [module.as_slice(), &[child.to_owned()]].concat();
                    read.contains_key(&path).then_some(path)
                }
            };
            let mut file = File::default();
            for item in items {
                if let syn::Item::Use(item) = item {
                    collect_names(&item.tree, &mut Vec::new(), &start, &mut file.names);
                }
                if !is_only_for_tests(item) {
                    collect_paths(item.to_token_stream(), &start, &mut file.paths);
                }
            }
            (module.clone(), file)
        });
        Self(files.collect())
    }

    /// The file that defines what a path names: re-exports are followed.
    fn target(&self, path: &[String], depth: usize) -> Option<&Vec<String>> {
        let length = (1..=path.len()).rev().find(|length| self.0.contains_key(&path[..*length]))?;
        let (module, file) = self.0.get_key_value(&path[..length])?;
        match path.get(length).and_then(|name| file.names.get(name)) {
            Some(exported) if depth < 8 => {
                self.target(&[exported.as_slice(), &path[length + 1..]].concat(), depth + 1).or(Some(module))
            }
            _ => Some(module),
        }
    }

    /// The files of a room that are in a cycle of files of the room. Imports between a module and the modules inside it do not
    /// count: a parent assembles its children, and they use what it defines.
    fn in_cycles(&self, room: &[String]) -> Vec<String> {
        let inside = |module: &Vec<String>| module.starts_with(room);
        let imported = |module: &Vec<String>| -> BTreeSet<&Vec<String>> {
            let paths = self.0[module].paths.iter().filter_map(|path| self.target(path, 0));
            let family = |target: &Vec<String>| target.starts_with(module) || module.starts_with(target);
            paths.filter(|target| inside(target) && !family(target)).collect()
        };
        let modules = self.0.keys().filter(|module| inside(module));
        let next: BTreeMap<_, _> = modules.map(|module| (module, imported(module))).collect();
        let returns = |module: &&&Vec<String>| {
            let (mut seen, mut open) = (BTreeSet::new(), vec![**module]);
            while let Some(file) = open.pop() {
                open.extend(next[file].iter().filter(|file| seen.insert(**file)));
            }
            seen.contains(**module)
        };
        next.keys().filter(returns).map(|module| module.join("::")).collect()
    }
}

/// The modules with files of their own that a file declares for tests alone.
fn modules_for_tests(module: &[String], items: &[syn::Item]) -> Vec<Vec<String>> {
    let declared = items.iter().filter(|item| is_only_for_tests(item)).filter_map(|item| match item {
        syn::Item::Mod(item) if item.content.is_none() => Some([module, &[item.ident.to_string()]].concat()),
        _ => None,
    });
    declared.collect()
}

fn is_only_for_tests(item: &syn::Item) -> bool {
    let syn::Item::Mod(module) = item else { return false };
    module.attrs.iter().any(|attribute| attribute.to_token_stream().to_string().replace(' ', "") == "#[cfg(test)]")
}

fn collect_names(
    tree: &syn::UseTree,
    before: &mut Vec<String>,
    start: &dyn Fn(&str) -> Option<Vec<String>>,
    names: &mut BTreeMap<String, Vec<String>>,
) {
    let mut name = |name: String, path: &[String]| {
        if let Some((first, rest)) = path.split_first()
            && let Some(root) = start(first)
        {
            names.insert(name, [root, rest.to_vec()].concat());
        }
    };
    match tree {
        syn::UseTree::Path(path) => {
            before.push(path.ident.to_string());
            collect_names(&path.tree, before, start, names);
            before.pop();
        }
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| collect_names(tree, before, start, names)),
        syn::UseTree::Name(last) if last.ident == "self" => name(before.last().unwrap().clone(), before),
        syn::UseTree::Name(last) => {
            name(last.ident.to_string(), &[before.as_slice(), &[last.ident.to_string()]].concat())
        }
        syn::UseTree::Rename(last) => {
            name(last.rename.to_string(), &[before.as_slice(), &[last.ident.to_string()]].concat());
        }
        syn::UseTree::Glob(_) => {}
    }
}

/// Every path that begins in this crate; groups are expanded.
fn collect_paths(stream: TokenStream, start: &dyn Fn(&str) -> Option<Vec<String>>, paths: &mut BTreeSet<Vec<String>>) {
    let mut tokens = stream.into_iter().peekable();
    let mut inside_path = false;
    while let Some(token) = tokens.next() {
        let was_inside =
            std::mem::replace(&mut inside_path, matches!(&token, TokenTree::Punct(sign) if sign.as_char() == ':'));
        match token {
            TokenTree::Group(group) => collect_paths(group.stream(), start, paths),
            TokenTree::Ident(first) if !was_inside => {
                if let Some(root) = start(&first.to_string()) {
                    follow_path(root, &mut tokens, paths);
                }
            }
            _ => {}
        }
    }
}

/// Consumes the rest of a path, `::name::name` or `::{name, name::name}`.
fn follow_path(mut path: Vec<String>, tokens: &mut Peekable<IntoIter>, paths: &mut BTreeSet<Vec<String>>) {
    let is_colon = |token: &TokenTree| matches!(token, TokenTree::Punct(sign) if sign.as_char() == ':');
    // `super` alone is not a path: it is part of `pub(super)`.
    let mut names_something = false;
    while tokens.next_if(is_colon).is_some() && tokens.next_if(is_colon).is_some() {
        names_something = true;
        match tokens.next_if(|token| matches!(token, TokenTree::Group(_) | TokenTree::Ident(_))) {
            Some(TokenTree::Group(group)) => {
                let mut inner = group.stream().into_iter().peekable();
                while let Some(token) = inner.next() {
                    if let TokenTree::Ident(name) = token {
                        paths.insert(step(path.clone(), &name.to_string()));
                        follow_path(step(path.clone(), &name.to_string()), &mut inner, paths);
                    }
                }
                return;
            }
            Some(name) => path = step(path, &name.to_string()),
            None => break,
        }
    }
    if names_something {
        paths.insert(path);
    }
}

fn step(mut path: Vec<String>, name: &str) -> Vec<String> {
    match name {
        "self" => {}
        "super" => drop(path.pop()),
        name => path.push(name.to_owned()),
    }
    path
}

#[test]
fn the_files_of_a_room_form_no_cycle() {
    let plans = plans_of_architecture();
    let mut complaints = Vec::new();
    for source in sources() {
        let files = Files::read(&source);
        // A crate without rooms is one: all its modules.
        let rooms: BTreeSet<&[String]> = match plan_of(&source, &plans).is_empty() {
            true => BTreeSet::from([&[][..]]),
            false => files.0.keys().filter_map(|module| module.get(..1)).collect(),
        };
        complaints.extend(rooms.into_iter().filter_map(|room| {
            let cycle = files.in_cycles(room);
            (!cycle.is_empty()).then(|| format!("{}: {} form a cycle", source.display(), cycle.join(", ")))
        }));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn cycles_of_files_are_found() {
    let cycles = |files: &[(&str, &str)]| {
        let module = |name: &str| name.split("::").map(str::to_owned).collect::<Vec<_>>();
        Files::of(files.iter().map(|(name, text)| (module(name), (*text).to_owned())).collect())
            .in_cycles(&["r".to_owned()])
    };
    let none = Vec::<String>::new();
    for (files, found) in [
        (&[("r", "mod a; mod b;"), ("r::a", "use super::b::B;"), ("r::b", "pub struct B;")][..], none.clone()),
        (
            &[("r", "mod a; mod b;"), ("r::a", "use super::b::B;"), ("r::b", "use crate::r::a;")],
            vec!["r::a".into(), "r::b".into()],
        ),
        // A child may use what its parent defines, and the parent the child.
        (&[("r", "mod a; struct R(a::A);"), ("r::a", "struct A(super::R);")], none.clone()),
        // A facade only re-exports names: the path leads to the file that defines them.
        (&[("r", "mod a; mod b; pub use b::B;"), ("r::a", "use super::B;"), ("r::b", "pub struct B;")], none.clone()),
        (
            &[
                ("r", "mod a; mod b; pub use b::B as C;"),
                ("r::a", "use super::C;"),
                ("r::b", "fn f() { super::a::f() }"),
            ],
            vec!["r::a".into(), "r::b".into()],
        ),
        // A file that is declared for tests only is not part of the room.
        (
            &[
                ("r", "#[cfg(test)] mod a; mod b;"),
                ("r::a", "use super::b::B;"),
                ("r::b", "struct B; fn f() { super::a::f() }"),
            ],
            none.clone(),
        ),
        // Groups are expanded; comments, tests and files of other rooms are ignored.
        (
            &[
                ("r::a", "use super::{b::{self, B}, c};"),
                ("r::b", "/// [`super::a`]\n#[cfg(test)] mod tests { use crate::r::a; }"),
                ("r::c", "use crate::s::a;"),
                ("s::a", "use crate::r::a;"),
            ],
            none,
        ),
    ] {
        assert_eq!(cycles(files), found, "{files:?}");
    }
}
