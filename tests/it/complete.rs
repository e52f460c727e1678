//! What has a name of its own is found by it: `ALL` of an enum lists every variant, so that a new target, policy, reader or engine
//! cannot be left out of options, help, errors and tests, which go through `ALL`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use backchat::grammar::Format;
use backchat::parser::RecoveryPolicy;
use syn::{Expr, ImplItem, Item, Type};

use crate::rooms::{rust_files, sources};

/// The enums of a file whose `ALL` lacks variants, each with these, and how many have an `ALL`.
fn incomplete(text: &str) -> (Vec<String>, usize) {
    let items = syn::parse_file(text).unwrap().items;
    let enums = items.iter().filter_map(|item| match item {
        Item::Enum(item) => Some((item.ident.to_string(), item.variants.iter().map(|one| one.ident.to_string()))),
        _ => None,
    });
    let enums: BTreeMap<String, BTreeSet<String>> = enums.map(|(name, variants)| (name, variants.collect())).collect();
    let (mut complaints, mut seen) = (Vec::new(), 0);
    for item in &items {
        let Item::Impl(item) = item else { continue };
        let Type::Path(of) = item.self_ty.as_ref() else { continue };
        let name = of.path.segments.last().unwrap().ident.to_string();
        let Some(variants) = enums.get(&name) else { continue };
        for constant in &item.items {
            let ImplItem::Const(constant) = constant else { continue };
            if constant.ident != "ALL" {
                continue;
            }
            seen += 1;
            let listed = listed(&constant.expr);
            let missing: Vec<&str> = variants.difference(&listed).map(String::as_str).collect();
            if !missing.is_empty() {
                complaints.push(format!("`{name}::ALL` lacks {}", missing.join(", ")));
            }
        }
    }
    (complaints, seen)
}

/// The names in a list of variants.
fn listed(list: &Expr) -> BTreeSet<String> {
    match list {
        Expr::Reference(list) => listed(&list.expr),
        Expr::Array(list) => list.elems.iter().flat_map(listed).collect(),
        Expr::Path(variant) => variant.path.segments.last().map(|last| last.ident.to_string()).into_iter().collect(),
        _ => BTreeSet::new(),
    }
}

#[test]
fn every_list_of_an_enum_is_complete() {
    let (mut complaints, mut seen) = (Vec::new(), 0);
    for file in sources().iter().flat_map(|source| rust_files(source)) {
        let text = fs::read_to_string(&file).unwrap();
        // Parsing every file would take seconds.
        if !text.contains("const ALL") {
            continue;
        }
        let (found, count) = incomplete(&text);
        complaints.extend(found.into_iter().map(|found| format!("{}: {found}", file.display())));
        seen += count;
    }
    assert!(seen >= 10, "only {seen} lists were found");
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn a_list_without_a_variant_is_found() {
    for (list, complaint) in [
        ("[Self; 2] = [Self::A, Self::B]", None),
        ("&[Self] = &[E::B, E::A]", None),
        ("[Self; 1] = [Self::A]", Some("`E::ALL` lacks B")),
        ("&[Self] = &[]", Some("`E::ALL` lacks A, B")),
    ] {
        let text = format!("enum E {{ A, B }} impl E {{ pub const ALL: {list}; }}");
        assert_eq!(incomplete(&text), (complaint.map(str::to_owned).into_iter().collect(), 1), "{list}");
    }
}

#[test]
fn documents_name_every_option() {
    let names = |names: Vec<&'static str>| names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
    for (document, names) in [
        ("docs/recovery.md", names(RecoveryPolicy::ALL.iter().map(|policy| policy.as_str()).collect())),
        ("docs/grammar.md", names(Format::ALL.map(Format::name).to_vec())),
    ] {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(document)).unwrap();
        let missing: Vec<&String> = names.iter().filter(|name| !text.contains(*name)).collect();
        assert!(missing.is_empty(), "{document} does not name {missing:?}");
    }
}

/// A kind of thing of which there are many, and the files that a new one touches, as ARCHITECTURE.md lists them.
#[test]
fn a_new_thing_touches_five_files_at_most() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("ARCHITECTURE.md")).unwrap();
    for thing in
        ["a content parser", "a lint rule", "a fact", "a reader", "a grammar target", "a recovery policy", "a command"]
    {
        let row = text.lines().find(|line| line.starts_with(&format!("| **{thing}**")));
        let row = row.unwrap_or_else(|| panic!("ARCHITECTURE.md does not say where {thing} begins"));
        // The last cell names what proves it.
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let places = cells[1..cells.len() - 1].join(" ");
        let files: BTreeSet<&str> =
            places.split('`').skip(1).step_by(2).filter(|name| name.ends_with(".rs") || name.ends_with('/')).collect();
        assert!((1..=5).contains(&files.len()), "{thing} touches {files:?}");
    }
}
