//! Which expressions of a chat template are values of a message, by its source alone: names stand for what they are set to
//! and for the items of what is looped over. Parameters of macros stand for nothing.

use backchat_chat::{Node, NodeKind, nodes};
use backchat_core::{distinct, push_new};
use std::collections::HashMap;
use std::ops::Range;

/// The keys by which a value is looked up in a message; none for the message itself. An item has the keys of its list.
pub(super) type Path = Vec<String>;

/// How often names are resolved: a name may be used before the statement that sets it.
const PASSES: usize = 2;

/// How many keys a path has at most: a name that is set to a member of itself has no end.
const LONGEST: usize = 6;

/// The variable that holds the messages.
const MESSAGES: &str = "messages";

/// The role of the messages that a response template reads.
const OWN_ROLE: &str = "assistant";

/// An expression that is printed.
pub(super) struct PrintedValue {
    /// Its number among the nodes.
    pub at: usize,
    pub span: Range<usize>,
    /// The values of a message that it may be.
    pub paths: Vec<Path>,
}

/// The syntax tree of a chat template, with the message values that its names stand for.
pub(super) struct MessageValues {
    nodes: Vec<Node>,
    children: Vec<Vec<usize>>,
    /// The macro around each node.
    macros: Vec<Option<usize>>,
    /// By the macro in which it is set and the name, which other macros may use for something else.
    names: HashMap<(Option<usize>, String), Vec<Path>>,
}

impl MessageValues {
    pub fn new(source: &str) -> Self {
        let nodes = nodes(source);
        let mut children = vec![Vec::new(); nodes.len()];
        let mut macros: Vec<Option<usize>> = Vec::with_capacity(nodes.len());
        for (at, node) in nodes.iter().enumerate() {
            macros.push(node.parent.and_then(|parent| match nodes.get(parent)?.kind {
                NodeKind::Macro => Some(parent),
                _ => macros.get(parent).copied().flatten(),
            }));
            if let Some(siblings) = node.parent.and_then(|parent| children.get_mut(parent)) {
                siblings.push(at);
            }
        }
        let mut values = Self { nodes, children, macros, names: HashMap::new() };
        (0..PASSES).for_each(|_| values.resolve());
        values
    }

    fn resolve(&mut self) {
        for at in 0..self.nodes.len() {
            let Some((NodeKind::Set(name) | NodeKind::For { target: Some(name), .. }, value)) =
                self.kind(at).zip(self.child(at))
            else {
                continue;
            };
            let (name, paths) = (name.clone(), self.paths(value));
            let known = self.names.entry((self.macros.get(at).copied().flatten(), name)).or_default();
            for path in paths.into_iter().filter(|path| path.len() <= LONGEST) {
                push_new(known, path);
            }
        }
    }

    fn kind(&self, at: usize) -> Option<&NodeKind> {
        self.nodes.get(at).map(|node| &node.kind)
    }

    fn children(&self, at: usize) -> impl Iterator<Item = usize> {
        self.children.get(at).into_iter().flatten().copied()
    }

    fn child(&self, at: usize) -> Option<usize> {
        self.children(at).next()
    }

    /// The values that a name stands for at a node.
    fn named(&self, at: usize, name: &str) -> Option<&Vec<Path>> {
        self.names.get(&(self.macros.get(at).copied().flatten(), name.to_owned()))
    }

    fn is_condition(&self, at: usize) -> bool {
        self.nodes.get(at).is_some_and(|node| node.is_condition)
    }

    fn node_at(&self, span: &Range<usize>) -> Option<usize> {
        self.nodes.iter().position(|node| node.span == *span)
    }

    /// The values of a message that an expression may be, or be made of.
    fn paths(&self, at: usize) -> Vec<Path> {
        let within = |paths: Vec<Path>, key: &str| -> Vec<Path> {
            paths.into_iter().map(|path| [path, vec![key.to_owned()]].concat()).collect()
        };
        let of_child = |at: Option<usize>| at.map_or_else(Vec::new, |child| self.paths(child));
        match self.kind(at) {
            Some(NodeKind::Name(name)) if name == MESSAGES => vec![Path::new()],
            Some(NodeKind::Name(name)) => self.named(at, name).cloned().unwrap_or_default(),
            Some(NodeKind::Lookup { key, .. }) => {
                let of = self.child(at);
                let field = match of.and_then(|of| self.kind(of)) {
                    Some(NodeKind::Name(of)) => self.named(at, &format!("{of}.{key}")),
                    _ => None,
                };
                field.cloned().unwrap_or_else(|| within(of_child(of), key))
            }
            Some(NodeKind::Call { name: Some(_) }) => Vec::new(),
            Some(NodeKind::Call { name: None }) => {
                let of = of_child(self.child(at).and_then(|method| self.child(method)));
                match self.got(at) {
                    Some(key) => within(of, key),
                    None => of,
                }
            }
            Some(NodeKind::Filter { .. }) => of_child(self.child(at)),
            Some(NodeKind::And | NodeKind::Or | NodeKind::Choice | NodeKind::List | NodeKind::Expression) => {
                let parts = self.children(at).filter(|child| !self.is_condition(*child));
                distinct(parts.flat_map(|child| self.paths(child)))
            }
            _ => Vec::new(),
        }
    }

    /// The key that a call of `get` looks up.
    fn got(&self, call: usize) -> Option<&str> {
        let mut parts = self.children(call);
        match (self.kind(parts.next()?)?, self.kind(parts.next()?)?) {
            (NodeKind::Lookup { key: method, .. }, NodeKind::Str(key)) if method == "get" => Some(key),
            _ => None,
        }
    }

    /// The values of messages that the template prints.
    pub fn printed(&self) -> Vec<PrintedValue> {
        let outputs = (0..self.nodes.len()).filter(|at| matches!(self.kind(*at), Some(NodeKind::Output)));
        let mut found = Vec::new();
        outputs.for_each(|at| self.add_printed(at, &mut found));
        found
    }

    fn add_printed(&self, at: usize, found: &mut Vec<PrintedValue>) {
        let is_value = match self.kind(at) {
            Some(NodeKind::Name(_) | NodeKind::Lookup { .. }) => true,
            Some(NodeKind::Call { name: None }) => self.got(at).is_some(),
            _ => false,
        };
        if is_value {
            let span = self.nodes.get(at).map_or(0..0, |node| node.span.clone());
            found
                .extend(Some(PrintedValue { at, span, paths: self.paths(at) }).filter(|value| !value.paths.is_empty()));
            return;
        }
        match self.kind(at) {
            Some(NodeKind::Call { name: Some(name) }) if name == "raise_exception" => {}
            Some(NodeKind::Equals { .. } | NodeKind::Member { .. } | NodeKind::Test { .. } | NodeKind::Not) => {}
            Some(NodeKind::Call { name: None }) => {
                let receiver = self.child(at).and_then(|method| self.child(method));
                receiver.into_iter().chain(self.children(at).skip(1)).for_each(|part| self.add_printed(part, found));
            }
            Some(_) => {
                let parts = self.children(at).filter(|child| !self.is_condition(*child));
                parts.for_each(|child| self.add_printed(child, found));
            }
            None => {}
        }
    }

    /// Whether a node runs only for messages of other roles than the assistant's.
    pub fn is_of_other_role(&self, at: usize) -> bool {
        let Some((node, parent)) = self.nodes.get(at).and_then(|node| Some((node, node.parent?))) else { return false };
        let is_here = |span: &Range<usize>| span.start <= node.span.start && node.span.end <= span.end;
        let test = |span: &Option<Range<usize>>| span.as_ref().and_then(|span| self.node_at(span));
        let is_other = match self.kind(parent) {
            Some(NodeKind::If(branches)) => {
                let own = branches.iter().position(|branch| branch.body.as_ref().is_some_and(is_here));
                let tests = branches.iter().take(own.map_or(0, |own| own + 1)).map(|branch| test(&branch.test));
                let mut tests = tests.enumerate().filter_map(|(number, test)| Some((number, test?)));
                tests.any(|(number, test)| self.is_other_role(test, Some(number) == own))
            }
            Some(NodeKind::For { .. }) => {
                let mut filters = self.children(parent).filter(|child| self.is_condition(*child));
                filters.any(|filter| self.is_other_role(filter, true))
            }
            Some(NodeKind::Choice) => {
                let is_then = self.children(parent).nth(1) == Some(at);
                self.child(parent).is_some_and(|test| self.is_other_role(test, is_then))
            }
            _ => false,
        };
        is_other || self.is_of_other_role(parent)
    }

    /// Whether a condition with this truth means that the message has another role.
    fn is_other_role(&self, at: usize, truth: bool) -> bool {
        let mut operands = self.children(at);
        match self.kind(at) {
            Some(NodeKind::Not) => operands.any(|operand| self.is_other_role(operand, !truth)),
            Some(NodeKind::And) if truth => operands.any(|operand| self.is_other_role(operand, true)),
            Some(NodeKind::Or) if !truth => operands.any(|operand| self.is_other_role(operand, false)),
            Some(NodeKind::And | NodeKind::Or) => operands.all(|operand| self.is_other_role(operand, truth)),
            Some(NodeKind::Equals { negated, .. } | NodeKind::Member { negated, .. }) => {
                let is_role = |path: &Path| path.last().is_some_and(|key| key == "role");
                let asks = self.children(at).any(|operand| self.paths(operand).iter().any(is_role));
                asks && (truth != *negated) != self.names_own_role(at)
            }
            _ => false,
        }
    }

    fn names_own_role(&self, at: usize) -> bool {
        let is_own = matches!(self.kind(at), Some(NodeKind::Str(text)) if text == OWN_ROLE);
        is_own || self.children(at).any(|child| self.names_own_role(child))
    }

    /// Whether the template prints members of what messages have at a key.
    pub fn prints_members(&self, key: &str) -> bool {
        let has = |path: &Path| path.len() > 1 && path.first().is_some_and(|first| first == key);
        self.printed().iter().any(|value| value.paths.iter().any(has))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the template prints of an assistant's message: `source = keys`.
    fn printed(source: &str) -> Vec<String> {
        let values = MessageValues::new(source);
        let own = values.printed().into_iter().filter(|value| !values.is_of_other_role(value.at));
        let paths = |paths: Vec<Path>| paths.iter().map(|path| path.join(".")).collect::<Vec<_>>().join(" | ");
        own.map(|value| format!("{} = {}", &source[value.span], paths(value.paths))).collect()
    }

    #[test]
    fn names_stand_for_the_values_they_are_set_to_and_the_items_they_loop_over() {
        for (source, expected) in [
            ("{{ m.a }}{{ x }}", &["m.a = a"][..]),
            ("{% for p in m.content %}{{ p['text'] | trim }}{% endfor %}", &["p['text'] = content.text"]),
            (
                "{% for c in (m.calls or [])[:1] %}{{ c.get('name', '') }}{% endfor %}",
                &["c.get('name', '') = calls.name"],
            ),
            ("{% set c = m.one if m.one else m %}{{ c.name }}", &["c.name = one.name | name"]),
            ("{% set ns.note = m.note %}{{ ns.note }}", &["ns.note = note"]),
            ("{{ m.text.strip().upper() }}", &["m.text = text"]),
            ("{{ shown(m.text) }}", &["m.text = text"]),
            ("{{ 'a' if m.a else m.b }}", &["m.b = b"]),
            ("{{ raise_exception(m.a) }}{{ m.a == 'x' }}{{ 'a' if m.a }}", &[]),
            // The parameter of a macro is no name of the same spelling outside it.
            ("{% set p = m.a %}{% macro shown(p) %}{{ p.b }}{% endmacro %}", &[]),
        ] {
            let source = format!("{{% for m in messages[1:] %}}{source}{{% endfor %}}");
            assert_eq!(printed(&source), expected, "{source}");
        }
    }

    #[test]
    fn values_that_only_other_roles_have_are_left_out() {
        for (condition, is_own) in [
            ("m.role == 'assistant'", true),
            ("m.role != 'user'", true),
            ("m.role in ['assistant', 'model']", true),
            ("m.a or m.role == 'user'", true),
            ("m.role == 'user'", false),
            ("m.a and m['role'] == 'tool'", false),
            ("m.role != 'assistant'", false),
            ("not m.role == 'assistant'", false),
            ("m.role in ['user', 'tool']", false),
        ] {
            let loops = [
                "{% for m in messages %}{% if C %}{{ m.a }}{% endif %}{% endfor %}",
                "{% for m in messages if C %}{{ m.a }}{% endfor %}",
            ];
            for source in loops.map(|source| source.replace('C', condition)) {
                assert_eq!(printed(&source).len(), usize::from(is_own), "{source}");
            }
        }
        let source = "{% for m in messages %}{% if m.role == 'assistant' %}{% elif m.b %}{{ m.a }}{% else %}{{ m.b }}{% endif %}\
                      {% set role = m.role %}{{ m.c if role == 'assistant' else m.d }}{% endfor %}";
        assert_eq!(printed(source), ["m.c = c"]);
    }
}
