//! Finds out which occurrences of a name are one name.

pub(super) mod collect;

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;

use super::kinds;
use super::{Literal, Lookup};
use crate::jinja::syntax::tree::{Argument, Expr, ExprKind};
use crate::jinja::value_kind::ValueKind;
use collect::{Collector, From, Read};

/// What binds a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindingKind {
    Variable,
    /// The target of a loop.
    Loop,
    Macro,
    Parameter,
    /// An attribute of a namespace.
    Field,
}

/// A name that the template binds, in one scope or in several that pass its value on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    pub name: String,
    pub kind: BindingKind,
    /// Its first binding.
    pub declared: Range<usize>,
    pub scope: usize,
    /// What its values are.
    pub value: ValueKind,
    /// Whether it may be read before it is bound, so that it also has the value of a variable of the conversation.
    pub may_be_given: bool,
    /// Whether it is bound to `namespace(…)` and nothing else.
    pub is_namespace: bool,
    /// The namespace of an attribute, or the macro of a parameter.
    pub of: Option<usize>,
    /// Whether it is used as a value, so that who reads its attributes or names its parameters is unknown.
    pub escapes: bool,
}

/// How a name is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Bound,
    Read,
    /// Something is looked up in it.
    Holder,
    Called,
    /// The name of an argument of a call.
    Argument,
}

/// An occurrence of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    pub span: Range<usize>,
    pub name: String,
    /// What binds it; nothing does if it comes from outside.
    pub binding: Option<usize>,
    pub role: Role,
    pub scope: usize,
    /// Whether it is a test of whether it is there.
    pub is_guard: bool,
}

/// A part of the template with names of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    pub span: Range<usize>,
    pub around: Option<usize>,
    /// Whether it runs when it is called.
    pub is_function: bool,
    /// Whether it sees only the names of the whole template.
    pub is_isolated: bool,
    pub bindings: Vec<usize>,
}

pub(super) struct Resolved {
    pub(super) scopes: Vec<Scope>,
    pub(super) bindings: Vec<Binding>,
    pub(super) mentions: Vec<Mention>,
    pub(super) lookups: Vec<Lookup>,
    pub(super) literals: Vec<Literal>,
}

/// Names that Jinja2 itself binds.
const SPECIAL: [&str; 6] = ["loop", "caller", "self", "super", "varargs", "kwargs"];

/// How deep the values of names are followed.
const DEEPEST: usize = 12;

type Key<'s> = (usize, &'s str);

struct Resolver<'t, 's> {
    found: Collector<'t, 's>,
    /// The number of each name of each scope, before names are joined.
    numbers: HashMap<Key<'s>, usize>,
    keys: Vec<Key<'s>>,
    /// The stores of each.
    stores: Vec<Vec<usize>>,
    /// What each is joined with.
    joined: Vec<usize>,
    given: Vec<bool>,
    /// The kinds of joined names at each depth: names of a long template use each other again and again.
    kinds: RefCell<HashMap<(usize, usize), ValueKind>>,
}

impl<'t, 's> Resolver<'t, 's> {
    fn new(found: Collector<'t, 's>) -> Self {
        let (mut numbers, mut keys, mut stores): (HashMap<Key<'s>, usize>, Vec<Key<'s>>, Vec<Vec<usize>>) =
            Default::default();
        for (at, store) in found.stores.iter().enumerate() {
            let key = (store.scope, store.name);
            let number = *numbers.entry(key).or_insert_with(|| {
                keys.push(key);
                stores.push(Vec::new());
                keys.len() - 1
            });
            if let Some(list) = stores.get_mut(number) {
                list.push(at);
            }
        }
        let joined = (0..keys.len()).collect();
        let given = vec![false; keys.len()];
        Self { found, numbers, keys, stores, joined, given, kinds: RefCell::default() }
    }

    fn around(&self, scope: usize) -> Option<usize> {
        let scope = self.found.scopes.get(scope)?;
        if scope.is_isolated { scope.around.map(|_| 0) } else { scope.around }
    }

    /// The number of the name that a scope sees, and whether a function lies between.
    fn owner(&self, name: &'s str, scope: usize) -> Option<(usize, bool)> {
        let mut here = Some(scope);
        let mut is_later = false;
        while let Some(scope) = here {
            if let Some(number) = self.numbers.get(&(scope, name)) {
                return Some((*number, is_later));
            }
            is_later |= self.found.scopes.get(scope).is_some_and(|scope| scope.is_function);
            here = self.around(scope);
        }
        None
    }

    fn root(&self, number: usize) -> usize {
        let mut at = number;
        while let Some(next) = self.joined.get(at).copied().filter(|next| *next != at) {
            at = next;
        }
        at
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        let (first, second) = (one.min(other), one.max(other));
        if let Some(slot) = self.joined.get_mut(second) {
            *slot = first;
        }
    }

    /// Whether a name may be read at a byte before its scope binds it.
    fn is_early(&self, number: usize, byte: usize, is_later: bool) -> bool {
        let stores = self.stores.get(number).into_iter().flatten().filter_map(|at| self.found.stores.get(*at));
        !stores.into_iter().any(|store| store.is_certain && (is_later || store.since <= byte))
    }

    /// Joins a name with the one around it whose value it may have, and notes whether it may come from outside.
    fn follow(&mut self, number: usize, byte: usize, is_later: bool) {
        if !self.is_early(number, byte, is_later) {
            return;
        }
        let Some((scope, name)) = self.keys.get(number).copied() else { return };
        let start = self.found.scopes.get(scope).map_or(0, |scope| scope.span.start);
        match self.around(scope).and_then(|around| self.owner(name, around)) {
            Some((outer, is_later)) => {
                self.join(number, outer);
                self.follow(outer, start, is_later);
            }
            None => self.given.get_mut(number).into_iter().for_each(|given| *given = true),
        }
    }

    fn kind_of(&self, number: usize, deep: usize) -> ValueKind {
        if deep == 0 {
            return ValueKind::Unknown;
        }
        let root = self.root(number);
        if let Some(known) = self.kinds.borrow().get(&(root, deep)) {
            return *known;
        }
        let kind = self.kind_of_stores(root, deep);
        self.kinds.borrow_mut().insert((root, deep), kind);
        kind
    }

    fn kind_of_stores(&self, root: usize, deep: usize) -> ValueKind {
        let numbers = (0..self.keys.len()).filter(|number| self.root(*number) == root);
        let stores = numbers.flat_map(|number| self.stores.get(number).into_iter().flatten());
        let mut candidates = stores.filter_map(|at| self.found.stores.get(*at)).map(|store| {
            let here = |expression: &Expr<'s>, scope: usize| {
                kinds::of(expression, &|name| self.kind_of_name(name, scope, deep - 1))
            };
            match store.from {
                From::Nothing => ValueKind::Unknown,
                From::Value(value) => here(value, store.scope),
                From::Item(over) => {
                    let around = self.found.scopes.get(store.scope).and_then(|scope| scope.around).unwrap_or(0);
                    kinds::of_item(over, &|name| self.kind_of_name(name, around, deep - 1))
                }
                From::Argument(place) => self.kind_of_argument(store.scope, place, deep),
            }
        });
        let found = candidates.find(|kind| *kind != ValueKind::Unknown);
        found.unwrap_or_else(|| self.keys.get(root).map_or(ValueKind::Unknown, |(_, name)| kinds::by_name(name)))
    }

    fn kind_of_name(&self, name: &str, scope: usize, deep: usize) -> ValueKind {
        // The name is one of the source, but for those of a text that is looked at alone.
        let known = self.keys.iter().find(|(_, known)| *known == name).map(|(_, known)| *known);
        match known.and_then(|name| self.owner(name, scope)) {
            Some((number, _)) => self.kind_of(number, deep),
            None => kinds::of_free(name),
        }
    }

    /// What the calls of the macro whose scope this is pass at a place.
    fn kind_of_argument(&self, scope: usize, place: usize, deep: usize) -> ValueKind {
        let Some(name) = self.macro_of(scope).and_then(|number| self.keys.get(number)).map(|(_, name)| *name) else {
            return ValueKind::Unknown;
        };
        let calls = self.found.calls.iter().filter(|call| call.name == name);
        let mut candidates = calls.filter_map(|call| match call.arguments.get(place)? {
            Argument::Positional(value) => {
                Some(kinds::of(value, &|name| self.kind_of_name(name, call.scope, deep - 1)))
            }
            _ => None,
        });
        candidates.find(|kind| *kind != ValueKind::Unknown).unwrap_or_default()
    }

    /// The name of the macro whose body a scope is.
    fn macro_of(&self, scope: usize) -> Option<usize> {
        let span = self.found.scopes.get(scope)?.span.clone();
        let is_it = |number: &usize| {
            let mut stores = self.stores.get(*number).into_iter().flatten().filter_map(|at| self.found.stores.get(*at));
            stores.any(|store| store.kind == BindingKind::Macro && store.since == span.start)
        };
        (0..self.keys.len()).find(is_it)
    }

    /// Whether every value of a name is a namespace.
    fn is_namespace(&self, root: usize) -> bool {
        let numbers = (0..self.keys.len()).filter(|number| self.root(*number) == root);
        let mut stores = numbers
            .flat_map(|number| self.stores.get(number).into_iter().flatten())
            .filter_map(|at| self.found.stores.get(*at))
            .peekable();
        let is_it = |from: &From<'_, '_>| {
            let From::Value(value) = from else { return false };
            matches!(&value.kind, ExprKind::Call(callee, _) if matches!(callee.kind, ExprKind::Name("namespace")))
        };
        stores.peek().is_some() && stores.all(|store| is_it(&store.from))
    }
}

pub(super) fn resolve(found: Collector<'_, '_>) -> Resolved {
    let mut resolver = Resolver::new(found);
    let reads = std::mem::take(&mut resolver.found.reads);
    let owners: Vec<Option<(usize, bool)>> = reads
        .iter()
        .map(|read| if SPECIAL.contains(&read.name) { None } else { resolver.owner(read.name, read.scope) })
        .collect();
    for (read, owner) in reads.iter().zip(&owners) {
        if let Some((number, is_later)) = owner {
            resolver.follow(*number, read.span.start, *is_later);
        }
    }
    let mut made = Assembler::new(&resolver);
    made.bind(&resolver);
    made.mention(&reads, &owners);
    made.parameters(&resolver);
    made.fields(&resolver);
    let lookups = made.lookups(&resolver);
    let Assembler { bindings, mut mentions, scopes, .. } = made;
    mentions.sort_by_key(|mention| mention.span.start);
    mentions.dedup_by(|one, other| one.span == other.span);
    Resolved { scopes, bindings, mentions, lookups, literals: resolver.found.literals }
}

/// Makes bindings and mentions of what was resolved.
struct Assembler {
    /// The binding of each number.
    of_number: Vec<Option<usize>>,
    bindings: Vec<Binding>,
    mentions: Vec<Mention>,
    scopes: Vec<Scope>,
}

impl Assembler {
    fn new(resolver: &Resolver<'_, '_>) -> Self {
        let of_number = vec![None; resolver.keys.len()];
        Self { of_number, bindings: Vec::new(), mentions: Vec::new(), scopes: resolver.found.scopes.clone() }
    }

    fn bind(&mut self, resolver: &Resolver<'_, '_>) {
        for (number, (scope, name)) in resolver.keys.iter().enumerate() {
            let root = resolver.root(number);
            let known = self.of_number.get(root).copied().flatten();
            let Some(first) = resolver.stores.get(number).and_then(|stores| stores.first()) else { continue };
            let Some(store) = resolver.found.stores.get(*first) else { continue };
            let at = known.unwrap_or_else(|| {
                self.bindings.push(Binding {
                    name: (*name).to_owned(),
                    kind: store.kind,
                    declared: store.span.clone(),
                    scope: *scope,
                    value: resolver.kind_of(number, DEEPEST),
                    may_be_given: false,
                    is_namespace: resolver.is_namespace(root),
                    of: None,
                    escapes: false,
                });
                self.bindings.len() - 1
            });
            if let Some(binding) = self.bindings.get_mut(at) {
                binding.may_be_given |= resolver.given.get(number).copied().unwrap_or(false);
                if store.span.start < binding.declared.start {
                    binding.declared = store.span.clone();
                }
            }
            for slot in [root, number] {
                if let Some(slot) = self.of_number.get_mut(slot) {
                    *slot = Some(at);
                }
            }
            if let Some(scope) = self.scopes.get_mut(*scope) {
                backchat_core::push_new(&mut scope.bindings, at);
            }
        }
        for store in &resolver.found.stores {
            let number = resolver.numbers.get(&(store.scope, store.name)).copied();
            let binding = number.and_then(|number| self.of_number.get(number).copied().flatten());
            self.mentions.push(Mention {
                span: store.span.clone(),
                name: store.name.to_owned(),
                binding,
                role: Role::Bound,
                scope: store.scope,
                is_guard: false,
            });
        }
    }

    fn mention(&mut self, reads: &[Read<'_>], owners: &[Option<(usize, bool)>]) {
        for (read, owner) in reads.iter().zip(owners) {
            let binding = owner.and_then(|(number, _)| self.of_number.get(number).copied().flatten());
            if let Some(binding) = binding.and_then(|at| self.bindings.get_mut(at)) {
                binding.escapes |= match binding.kind {
                    BindingKind::Macro => read.role != Role::Called,
                    _ => read.role == Role::Read,
                };
            }
            self.mentions.push(Mention {
                span: read.span.clone(),
                name: read.name.to_owned(),
                binding,
                role: read.role,
                scope: read.scope,
                is_guard: read.is_guard,
            });
        }
    }

    fn number_of(&self, resolver: &Resolver<'_, '_>, name: &str, scope: usize) -> Option<usize> {
        let known = resolver.keys.iter().find(|(_, known)| *known == name).map(|(_, known)| *known)?;
        let (number, _) = resolver.owner(known, scope)?;
        self.of_number.get(number).copied().flatten()
    }

    /// Names the macro of each parameter, and joins keyword arguments with their parameters.
    fn parameters(&mut self, resolver: &Resolver<'_, '_>) {
        let of_macro: Vec<Option<usize>> = (0..self.scopes.len())
            .map(|scope| resolver.macro_of(scope).and_then(|number| self.of_number.get(number).copied().flatten()))
            .collect();
        for binding in &mut self.bindings {
            if binding.kind == BindingKind::Parameter {
                binding.of = of_macro.get(binding.scope).copied().flatten();
            }
        }
        for call in &resolver.found.calls {
            let Some(callee) = self.number_of(resolver, call.name, call.scope) else { continue };
            for argument in call.arguments {
                let Argument::Keyword(name, _) = argument else { continue };
                let Some(span) = backchat_core::text::within(resolver.found.source, name) else { continue };
                let is_it = |binding: &Binding| binding.of == Some(callee) && binding.name == *name;
                let binding = self.bindings.iter().position(is_it);
                let (name, scope) = ((*name).to_owned(), call.scope);
                self.mentions.push(Mention { span, name, binding, role: Role::Argument, scope, is_guard: false });
            }
        }
    }

    /// The attributes of namespaces.
    fn fields(&mut self, resolver: &Resolver<'_, '_>) {
        let mut fields: HashMap<(usize, String), usize> = HashMap::new();
        for field in &resolver.found.fields {
            let Some(of) = self.namespace(resolver, field.of, field.scope) else { continue };
            let at = *fields.entry((of, field.name.to_owned())).or_insert_with(|| {
                self.bindings.push(Binding {
                    name: field.name.to_owned(),
                    kind: BindingKind::Field,
                    declared: field.span.clone(),
                    scope: field.scope,
                    value: ValueKind::Unknown,
                    may_be_given: false,
                    is_namespace: false,
                    of: Some(of),
                    escapes: false,
                });
                self.bindings.len() - 1
            });
            let (span, name, scope) = (field.span.clone(), field.name.to_owned(), field.scope);
            self.mentions.push(Mention { span, name, binding: Some(at), role: Role::Bound, scope, is_guard: false });
        }
        for read in &resolver.found.keys {
            let ExprKind::Name(name) = read.of.kind else { continue };
            let Some(of) = self.namespace(resolver, name, read.scope) else { continue };
            let binding = fields.get(&(of, read.key.clone())).copied();
            let (span, name, scope) = (read.key_span.clone(), read.key.clone(), read.scope);
            self.mentions.push(Mention { span, name, binding, role: Role::Read, scope, is_guard: true });
        }
    }

    fn namespace(&self, resolver: &Resolver<'_, '_>, name: &str, scope: usize) -> Option<usize> {
        let at = self.number_of(resolver, name, scope)?;
        self.bindings.get(at).filter(|binding| binding.is_namespace).map(|_| at)
    }

    fn lookups(&self, resolver: &Resolver<'_, '_>) -> Vec<Lookup> {
        let lookup = |read: &collect::KeyRead<'_, '_>| {
            let name_of = |name: &str| match self.namespace(resolver, name, read.scope) {
                Some(at) => ValueKind::Namespace(at),
                None => resolver.kind_of_name(name, read.scope, DEEPEST),
            };
            Lookup {
                span: read.span.clone(),
                of: read.of.span.clone(),
                key: read.key.clone(),
                key_span: read.key_span.clone(),
                value: kinds::of(read.of, &name_of),
            }
        };
        let mut found: Vec<Lookup> = resolver.found.keys.iter().map(lookup).collect();
        found.sort_by_key(|lookup| lookup.key_span.start);
        found
    }
}
