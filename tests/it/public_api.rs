//! `tests/public_api.txt` lists the public items of the library, so that no addition, removal or change goes unnoticed. Each item
//! is documented.
//!
//! The list comes from the source: the items that `crates/backchat/src/lib.rs` re-exports from the crates, with signatures, public fields,
//! variants, methods and manually implemented traits, but without derived traits.
//!
//! `INSTA_UPDATE=always cargo test --test it public_api::` updates the lists; review the change.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use quote::ToTokens;
use syn::{Attribute, Fields, ImplItem, Item, TraitItem, Type, UseTree, Visibility};

type Place = Vec<String>;

/// A module and what its `use` declarations bring in.
struct Module {
    items: Vec<Item>,
    uses: BTreeMap<String, (Place, bool)>,
}

struct Crate {
    modules: BTreeMap<Place, Module>,
    /// Modules that users can reach by name.
    public: BTreeSet<Place>,
}

fn is_hidden(attributes: &[Attribute]) -> bool {
    has(attributes, "#[doc(hidden)]")
}

fn has(attributes: &[Attribute], text: &str) -> bool {
    attributes.iter().any(|attribute| attribute.to_token_stream().to_string().replace(' ', "") == text)
}

fn is_documented(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("doc"))
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn joined(place: &Place, name: &str) -> Place {
    place.iter().cloned().chain([name.to_owned()]).collect()
}

/// Every name that a `use` declaration brings in, and where it comes from.
fn flatten(tree: &UseTree, before: &Place, found: &mut Vec<(String, Place)>) {
    match tree {
        UseTree::Path(path) => flatten(&path.tree, &joined(before, &path.ident.to_string()), found),
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, before, found)),
        UseTree::Name(name) if name.ident == "self" => found.push((before.last().unwrap().clone(), before.clone())),
        UseTree::Name(name) => found.push((name.ident.to_string(), joined(before, &name.ident.to_string()))),
        UseTree::Rename(rename) => {
            found.push((rename.rename.to_string(), joined(before, &rename.ident.to_string())));
        }
        UseTree::Glob(_) => {}
    }
}

impl Crate {
    fn read() -> Self {
        let mut all = Self { modules: BTreeMap::new(), public: BTreeSet::new() };
        for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("crates")).unwrap() {
            let folder = entry.unwrap().path();
            let name = folder.file_name().unwrap().to_str().unwrap().replace('-', "_");
            let is_library = name == "backchat";
            let place = if is_library { Vec::new() } else { vec![name] };
            all.read_module(place, &folder.join("src/lib.rs"), &folder.join("src"), is_library);
        }
        all
    }

    fn read_module(&mut self, place: Place, file: &Path, folder: &Path, public: bool) {
        let items = syn::parse_file(&fs::read_to_string(file).unwrap()).unwrap().items;
        self.add_module(place, items, folder, public);
    }

    fn add_module(&mut self, place: Place, mut items: Vec<Item>, folder: &Path, public: bool) {
        let mut uses = BTreeMap::new();
        for item in &mut items {
            match item {
                Item::Use(declaration) => {
                    let mut found = Vec::new();
                    flatten(&declaration.tree, &Vec::new(), &mut found);
                    let public = is_public(&declaration.vis) && !is_hidden(&declaration.attrs);
                    uses.extend(found.into_iter().map(|(name, from)| (name, (from, public))));
                }
                Item::Mod(module) if !has(&module.attrs, "#[cfg(test)]") => {
                    let name = module.ident.to_string();
                    let public = public && is_public(&module.vis) && !is_hidden(&module.attrs);
                    if let Some((_, items)) = module.content.take() {
                        self.add_module(joined(&place, &name), items, &folder.join(&name), public);
                        continue;
                    }
                    let files: [PathBuf; 2] = [folder.join(format!("{name}.rs")), folder.join(&name).join("mod.rs")];
                    let file = files.iter().find(|file| file.is_file()).unwrap();
                    self.read_module(joined(&place, &name), file, &folder.join(&name), public);
                }
                _ => {}
            }
        }
        if public {
            self.public.insert(place.clone());
        }
        self.modules.insert(place, Module { items, uses });
    }

    /// The crate of a module, as a place.
    fn root_of(&self, place: &Place) -> Place {
        place.first().filter(|name| name.starts_with("backchat_")).cloned().into_iter().collect()
    }

    /// The place and name of the item that `path` refers to in the module at `place`.
    fn resolve(&self, place: &Place, path: &[String]) -> Option<(Place, String)> {
        let module = self.modules.get(place)?;
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => return self.resolve(&self.root_of(place), rest),
            "self" => return self.resolve(place, rest),
            name if name.starts_with("backchat_") => return self.resolve(&vec![name.to_owned()], rest),
            "super" => return self.resolve(&place[..place.len() - 1].to_vec(), rest),
            _ => {}
        }
        let inner = joined(place, first);
        if rest.is_empty() && module.items.iter().any(|item| name_of(item).is_some_and(|name| name == *first)) {
            return Some((place.clone(), first.clone()));
        }
        if !rest.is_empty() && self.modules.contains_key(&inner) {
            return self.resolve(&inner, rest);
        }
        let (from, _) = module.uses.get(first).filter(|(from, _)| from.as_slice() != path)?;
        let whole: Place = from.iter().chain(rest).cloned().collect();
        self.resolve(place, &whole).or_else(|| self.resolve(&Vec::new(), &whole))
    }

    fn list(&self) -> BTreeSet<String> {
        let mut lines = BTreeSet::new();
        // Where each public item is defined, and its shortest public name.
        let mut names: BTreeMap<(Place, String), String> = BTreeMap::new();
        let mut known = |home: (Place, String), name: String, lines: &mut BTreeSet<String>| {
            match names.get(&home) {
                Some(other) if *other != name => drop(lines.insert(format!("{name} = {other}"))),
                _ => drop(names.insert(home, name)),
            };
        };
        let mut places: Vec<_> = self.public.iter().collect();
        // Modules export their items, and `lib.rs` re-exports some of them.
        places.sort_by_key(|place| (place.is_empty(), place.len()));
        for place in places {
            let module = &self.modules[place];
            let outside = |name: &str| {
                std::iter::once("backchat")
                    .chain(place.iter().map(String::as_str))
                    .chain([name])
                    .collect::<Vec<_>>()
                    .join("::")
            };
            for name in module.items.iter().filter(|item| is_public_item(item)).filter_map(name_of) {
                known((place.clone(), name.clone()), outside(&name), &mut lines);
            }
            for (name, (from, _)) in module.uses.iter().filter(|(_, (_, public))| *public) {
                match self.resolve(place, from) {
                    Some(home) => known(home, outside(name), &mut lines),
                    None => drop(lines.insert(format!("{} = {}", outside(name), from.join("::")))),
                }
            }
        }
        for ((place, name), outside) in &names {
            let item = self.modules[place].items.iter().find(|item| name_of(item).as_ref() == Some(name)).unwrap();
            describe(item, outside, &mut lines);
        }
        for (place, module) in &self.modules {
            for item in &module.items {
                let Item::Impl(item) = item else { continue };
                let Type::Path(path) = &*item.self_ty else { continue };
                let path: Place = path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
                let Some(outside) = self.resolve(place, &path).and_then(|home| names.get(&home)) else { continue };
                match &item.trait_ {
                    Some(implemented) => {
                        lines.insert(format!("{outside}: impl {}", text(&implemented.0)));
                    }
                    None => {
                        for item in &item.items {
                            match item {
                                ImplItem::Fn(method) if is_public(&method.vis) && !is_hidden(&method.attrs) => {
                                    assert!(
                                        is_documented(&method.attrs),
                                        "{outside}: {}: write what it does",
                                        method.sig.ident
                                    );
                                    lines.insert(format!("{outside}: {}", text(&method.sig)));
                                }
                                ImplItem::Const(constant) if is_public(&constant.vis) => {
                                    lines.insert(format!(
                                        "{outside}: const {}: {}",
                                        constant.ident,
                                        text(&constant.ty)
                                    ));
                                }
                                _ => {}
                            }
                        }
                    }
                }
            }
        }
        lines
    }
}

fn name_of(item: &Item) -> Option<String> {
    Some(match item {
        Item::Struct(item) => item.ident.to_string(),
        Item::Enum(item) => item.ident.to_string(),
        Item::Trait(item) => item.ident.to_string(),
        Item::Type(item) => item.ident.to_string(),
        Item::Const(item) => item.ident.to_string(),
        Item::Static(item) => item.ident.to_string(),
        Item::Fn(item) => item.sig.ident.to_string(),
        _ => return None,
    })
}

fn is_public_item(item: &Item) -> bool {
    let attributes = match item {
        Item::Struct(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Const(item) => &item.attrs,
        _ => &Vec::new(),
    };
    if is_hidden(attributes) {
        return false;
    }
    match item {
        Item::Struct(item) => is_public(&item.vis),
        Item::Enum(item) => is_public(&item.vis),
        Item::Trait(item) => is_public(&item.vis),
        Item::Type(item) => is_public(&item.vis),
        Item::Const(item) => is_public(&item.vis),
        Item::Static(item) => is_public(&item.vis),
        Item::Fn(item) => is_public(&item.vis),
        _ => false,
    }
}

/// The lines of one item.
fn describe(item: &Item, name: &str, lines: &mut BTreeSet<String>) {
    let mut documented = |attributes: &[Attribute], text: String| {
        assert!(is_documented(attributes), "{text}: write what it is, for those who use the library");
        lines.insert(text);
    };
    match item {
        Item::Struct(item) => {
            documented(&item.attrs, format!("{name}: struct{}", text(&item.generics)));
            for field in item.fields.iter().filter(|field| is_public(&field.vis) && !is_hidden(&field.attrs)) {
                match &field.ident {
                    Some(field_name) => documented(&field.attrs, format!("{name}: .{field_name}: {}", text(&field.ty))),
                    // The struct's own documentation says what it wraps.
                    None => documented(&item.attrs, format!("{name}: .0: {}", text(&field.ty))),
                }
            }
        }
        Item::Enum(item) => {
            documented(&item.attrs, format!("{name}: enum{}", text(&item.generics)));
            for variant in &item.variants {
                let fields = match &variant.fields {
                    Fields::Unit => String::new(),
                    Fields::Unnamed(fields) => {
                        let types: Vec<_> = fields.unnamed.iter().map(|field| text(&field.ty)).collect();
                        format!("({})", types.join(", "))
                    }
                    Fields::Named(fields) => {
                        let named = fields.named.iter();
                        let named = named.map(|field| format!("{}: {}", text(&field.ident), text(&field.ty)));
                        format!(" {{ {} }}", named.collect::<Vec<_>>().join(", "))
                    }
                };
                documented(&variant.attrs, format!("{name}::{}{fields}", variant.ident));
            }
        }
        Item::Trait(item) => {
            documented(&item.attrs, format!("{name}: trait{}", text(&item.generics)));
            for item in &item.items {
                if let TraitItem::Fn(method) = item {
                    documented(&method.attrs, format!("{name}: {}", text(&method.sig)));
                }
            }
        }
        Item::Type(item) => documented(&item.attrs, format!("{name}: type = {}", text(&item.ty))),
        Item::Const(item) => documented(&item.attrs, format!("{name}: const {}", text(&item.ty))),
        Item::Static(item) => documented(&item.attrs, format!("{name}: static {}", text(&item.ty))),
        Item::Fn(item) => documented(&item.attrs, format!("{name}: {}", text(&item.sig))),
        _ => {}
    }
}

/// Tokens as a person would write them.
fn text(tokens: &impl ToTokens) -> String {
    let spaced = tokens.to_token_stream().to_string();
    let words: Vec<_> = spaced.split_whitespace().collect();
    let mut out = String::new();
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", |before| words[before]);
        let closes = word.starts_with([',', ';', ':', ')', '>', '.', '?', ']']);
        let opens = before.ends_with(['(', '<', '&', '\'', '[']) || before == "::";
        let is_name = !before.starts_with('\'') && before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let applies = word.starts_with(['(', '<', '[']) && is_name || word.starts_with('(') && before == ">";
        if !(out.is_empty() || closes || opens || applies) {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

fn compare(file: &str, lines: &BTreeSet<String>) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if crate::blesses() {
        fs::write(&file, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    let known: BTreeSet<String> = written.lines().map(str::to_owned).collect();
    let gone: Vec<_> = known.difference(lines).collect();
    let new: Vec<_> = lines.difference(&known).collect();
    let help = "run INSTA_UPDATE=always cargo test --test it public_api:: and read the change";
    assert!(gone.is_empty() && new.is_empty(), "{}: gone: {gone:#?}\nnew: {new:#?}\n{help}", file.display());
}

#[test]
fn the_public_items_are_those_of_the_lists() {
    let lines = Crate::read().list();
    assert!(lines.len() > 100, "{lines:?}");
    compare("tests/public_api.txt", &lines);
    // Every item is a promise: raise this limit only for items that users need.
    assert!(lines.len() <= 900, "{} public lines are too many to keep stable", lines.len());
}
