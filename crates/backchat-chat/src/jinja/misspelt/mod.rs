//! Finds keys and variables that a template probably misspells: one edit away from what transformers passes, or from a name
//! that the template itself binds.
//!
//! Messages may have keys of their own, so this is a suspicion and never an error. It follows values from `messages` and
//! `tools` through assignments, loops and macros. A value that it cannot follow may have any key.

mod value_kinds;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::survey::Survey;
use super::syntax;
use super::syntax::tree::{Argument, Body, CompareOp, Expr, ExprKind, Literal, Parameters, StatementKind, Target};
use super::typo::typo;
use super::value_kind::{ROLES, ValueKind};
use backchat_core::diagnostic::one_edit_from;
use value_kinds::{ValueKinds, pairs};

/// A key or a variable that is probably misspelt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misspelt {
    /// The name as it is written.
    pub name: String,
    /// The name that was probably meant.
    pub meant: String,
    /// The object whose key it is, or [`A_ROLE`], in words; `None` for a variable.
    pub of: Option<&'static str>,
    /// The bytes of the expression in the normalized source.
    pub span: Range<usize>,
}

/// The variables that transformers passes to every template, and those that clients commonly add.
const VARIABLES: [&str; 11] = [
    "messages",
    "tools",
    "documents",
    "add_generation_prompt",
    "bos_token",
    "eos_token",
    "continue_final_message",
    "date_string",
    "enable_thinking",
    "reasoning_effort",
    "thinking_budget",
];

/// A role that is compared with a name, in words.
pub const A_ROLE: &str = "a role";

/// A method that is called, in words.
pub const A_METHOD: &str = "a method";

/// The methods of Python's texts, lists and dicts that templates call.
const METHODS: [&str; 34] = [
    "append",
    "capitalize",
    "count",
    "endswith",
    "extend",
    "find",
    "format",
    "get",
    "index",
    "insert",
    "isalpha",
    "isdigit",
    "isspace",
    "items",
    "join",
    "keys",
    "lower",
    "lstrip",
    "partition",
    "pop",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "title",
    "update",
    "upper",
];

/// The names that a normalized source probably misspells, in its order; none if it does not parse.
pub fn misspelt(source: &str) -> Vec<Misspelt> {
    let Ok(body) = syntax::parse(source) else { return Vec::new() };
    let survey = Survey::new(&body);
    let mut walk = Walk { unbound: survey.variables.iter().copied().collect(), ..Walk::default() };
    // A macro's parameters are what any call passes, and calls may be anywhere.
    for _ in 0..PASSES {
        walk.found.clear();
        walk.scopes = vec![HashMap::new()];
        walk.body(&body);
    }
    walk.found.retain(|found| found.of.is_some() || !walk.bound.contains(&found.name.as_str()));
    walk.found.sort_by_key(|found| (found.span.start, found.span.end));
    walk.found.dedup();
    walk.found.truncate(MOST);
    walk.found
}

/// The shortest name that the template binds of which another one may be a typo.
const SHORTEST: usize = 5;

/// How many are reported of one template.
const MOST: usize = 100;

/// How often the tree is walked: macros that call macros need more than two.
const PASSES: usize = 3;

/// A walk over the tree that knows what each name may be.
#[derive(Default)]
struct Walk<'s> {
    scopes: Vec<HashMap<&'s str, ValueKinds>>,
    /// What calls pass to the parameters of each macro, by position and by name.
    passed: HashMap<&'s str, Passed<'s>>,
    unbound: HashSet<&'s str>,
    /// The names that some statement binds.
    bound: HashSet<&'s str>,
    found: Vec<Misspelt>,
}

#[derive(Default)]
struct Passed<'s> {
    positional: Vec<ValueKinds>,
    named: HashMap<&'s str, ValueKinds>,
}

impl<'s> Walk<'s> {
    fn bind(&mut self, target: &Target<'s>, kinds: ValueKinds) {
        let names = target.names();
        self.bound.extend(&names);
        for (index, name) in names.iter().enumerate() {
            let kinds = match target {
                Target::Name(_) => kinds,
                // A pair of a name and a schema.
                _ if index == 1 => {
                    kinds.map(|kind| if kind == ValueKind::Pairs { ValueKind::Schema } else { ValueKind::Unknown })
                }
                _ => ValueKinds::UNKNOWN,
            };
            if let Some(scope) = self.scopes.last_mut() {
                let known = scope.entry(name).or_default();
                *known = known.or(kinds);
            }
        }
    }

    fn scoped(&mut self, visit: impl FnOnce(&mut Self)) {
        self.scopes.push(HashMap::new());
        visit(self);
        self.scopes.pop();
    }

    fn body(&mut self, body: &Body<'s>) {
        for statement in body {
            self.statement(&statement.kind);
        }
    }

    fn statement(&mut self, statement: &StatementKind<'s>) {
        match statement {
            StatementKind::Text(_) | StatementKind::Load(_) | StatementKind::Break | StatementKind::Continue => {}
            StatementKind::Output(value) => {
                self.expression(value);
            }
            StatementKind::Set(target, value) => {
                let kinds = self.expression(value);
                self.bind(target, kinds);
            }
            StatementKind::SetBlock { target, filter, body } => {
                self.scoped(|walk| walk.body(body));
                if let Some(filter) = filter {
                    self.expression(filter);
                }
                self.bind(target, ValueKinds::UNKNOWN);
            }
            StatementKind::If { branches, otherwise } => {
                for (test, body) in branches {
                    self.expression(test);
                    self.body(body);
                }
                self.body(otherwise);
            }
            StatementKind::For { target, over, only, body, otherwise, .. } => {
                let items = self.expression(over).map(|kind| if kind == ValueKind::Pairs { kind } else { kind.item() });
                self.scoped(|walk| {
                    walk.bind(&Target::Name("loop"), ValueKinds::of(ValueKind::Loop));
                    walk.bind(target, items);
                    if let Some(only) = only {
                        walk.expression(only);
                    }
                    walk.body(body);
                });
                self.scoped(|walk| walk.body(otherwise));
            }
            StatementKind::Macro { name, parameters, body } => self.function(Some(name), parameters, body),
            StatementKind::CallBlock { parameters, call, body } => {
                self.expression(call);
                self.function(None, parameters, body);
            }
            StatementKind::Generation(body) | StatementKind::Block { body, .. } => self.scoped(|walk| walk.body(body)),
            StatementKind::With { bindings, body } => {
                let values: Vec<ValueKinds> = bindings.iter().map(|(_, value)| self.expression(value)).collect();
                self.scoped(|walk| {
                    bindings.iter().zip(values).for_each(|((target, _), kinds)| walk.bind(target, kinds));
                    walk.body(body);
                });
            }
            StatementKind::FilterBlock { filter: head, body } | StatementKind::AutoEscape { enabled: head, body } => {
                self.expression(head);
                self.scoped(|walk| walk.body(body));
            }
        }
    }

    fn function(&mut self, name: Option<&'s str>, parameters: &Parameters<'s>, body: &Body<'s>) {
        self.bound.extend(name);
        self.scoped(|walk| {
            for (index, (parameter, default)) in parameters.iter().enumerate() {
                let default = default.as_ref().map_or(ValueKinds::NONE, |default| walk.expression(default));
                let passed = name.and_then(|name| walk.passed.get(name));
                let of_calls = passed.map(|passed| {
                    let positional = passed.positional.get(index).copied().unwrap_or_default();
                    positional.or(passed.named.get(parameter).copied().unwrap_or_default())
                });
                walk.bind(&Target::Name(parameter), default.or(of_calls.unwrap_or(ValueKinds::UNKNOWN)));
            }
            walk.body(body);
        });
    }

    /// Visits an expression; returns what its value may be.
    fn expression(&mut self, expression: &Expr<'s>) -> ValueKinds {
        match &expression.kind {
            ExprKind::Name(name) => self.name(name, &expression.span),
            ExprKind::Literal(_) => ValueKinds::NONE,
            // What is there instead of a value that is absent.
            ExprKind::List(items) if items.is_empty() => ValueKinds::NONE,
            ExprKind::Dict(entries) if entries.is_empty() => ValueKinds::NONE,
            ExprKind::Attribute(of, key) => {
                let of = self.expression(of);
                self.look_up(of, key, &expression.span)
            }
            ExprKind::Item(of, key) => {
                let of = self.expression(of);
                match &key.kind {
                    ExprKind::Literal(Literal::Str(key)) => self.look_up(of, key, &expression.span),
                    _ => {
                        self.expression(key);
                        of.map(ValueKind::item)
                    }
                }
            }
            ExprKind::Slice(of, bounds) => {
                for bound in bounds.iter().flatten() {
                    self.expression(bound);
                }
                self.expression(of)
            }
            ExprKind::Compare(first, rest) => {
                self.compare(first, rest);
                ValueKinds::NONE
            }
            ExprKind::Binary(_, operands) => {
                let left = self.expression(&operands.0);
                left.or(self.expression(&operands.1))
            }
            ExprKind::Condition { test, then, otherwise } => {
                self.expression(test);
                let then = self.expression(then);
                otherwise.iter().fold(then, |all, otherwise| all.or(self.expression(otherwise)))
            }
            ExprKind::Call(callee, arguments) => self.call(callee, arguments),
            ExprKind::Filter(of, name, arguments) => self.filter(of.as_deref(), name, arguments),
            _ => {
                expression.children(&mut |child| {
                    self.expression(child);
                });
                ValueKinds::UNKNOWN
            }
        }
    }

    fn name(&mut self, name: &'s str, span: &Range<usize>) -> ValueKinds {
        if let Some(kinds) = self.scopes.iter().rev().find_map(|scope| scope.get(name)) {
            return *kinds;
        }
        if self.unbound.contains(name)
            && let Some(meant) = one_edit_from(name, VARIABLES).or_else(|| self.bound_like(name))
        {
            self.found.push(Misspelt { name: name.to_owned(), meant: meant.to_owned(), of: None, span: span.clone() });
        }
        ValueKinds::of(ValueKind::of_variable(name))
    }

    /// The name of which this one is a typo, among those that the template binds; `None` if a client may pass this one.
    fn bound_like(&self, name: &str) -> Option<&'s str> {
        let mut like =
            self.bound.iter().copied().filter(|bound| bound.len() >= SHORTEST && typo(name, bound).is_some());
        let first = like.next().filter(|_| !VARIABLES.contains(&name))?;
        // Two names that it may mean are a naming scheme.
        like.next().is_none().then_some(first)
    }

    fn look_up(&mut self, of: ValueKinds, key: &str, span: &Range<usize>) -> ValueKinds {
        if let Some((of, meant)) = of.meant(key) {
            let (name, meant) = (key.to_owned(), meant.to_owned());
            self.found.push(Misspelt { name, meant, of: Some(of), span: span.clone() });
        }
        of.map(|kind| kind.under(key))
    }

    /// `'key' in object` looks a key up, too; a role is compared with names of roles.
    fn compare(&mut self, first: &Expr<'s>, rest: &[(CompareOp, Expr<'s>)]) {
        let left = self.expression(first);
        for (operator, right) in rest {
            let of = self.expression(right);
            match (operator, &right.kind) {
                (CompareOp::Eq | CompareOp::Ne, _) => {
                    self.name_of_role(left, right);
                    self.name_of_role(of, first);
                }
                (CompareOp::In | CompareOp::NotIn, ExprKind::List(names) | ExprKind::Tuple(names)) => {
                    names.iter().for_each(|name| self.name_of_role(left, name));
                }
                _ => {}
            }
            if let (CompareOp::In | CompareOp::NotIn, ExprKind::Literal(Literal::Str(key))) = (operator, &first.kind) {
                self.look_up(of, key, &(first.span.start..right.span.end));
            }
        }
    }

    /// Looks at what a value is compared with, if the value is a role.
    fn name_of_role(&mut self, of: ValueKinds, compared: &Expr<'s>) {
        let ExprKind::Literal(Literal::Str(name)) = &compared.kind else { return };
        if of != ValueKinds::of(ValueKind::Role) || ROLES.contains(&name.as_str()) {
            return;
        }
        if let Some(meant) = ROLES.into_iter().find(|role| typo(name, role).is_some()) {
            let (name, meant) = (name.clone(), meant.to_owned());
            self.found.push(Misspelt { name, meant, of: Some(A_ROLE), span: compared.span.clone() });
        }
    }

    fn call(&mut self, callee: &Expr<'s>, arguments: &[Argument<'s>]) -> ValueKinds {
        let values: Vec<ValueKinds> = arguments.iter().map(|argument| self.expression(argument.value())).collect();
        match &callee.kind {
            // A method is not a key.
            ExprKind::Attribute(of, method) => {
                let span = of.span.start..callee.span.end;
                self.method(method, &span);
                let of = self.expression(of);
                match (*method, arguments.first().map(|argument| &argument.value().kind)) {
                    ("get", Some(ExprKind::Literal(Literal::Str(key)))) => self.look_up(of, key, &span),
                    ("items", None) => pairs(of),
                    _ => ValueKinds::UNKNOWN,
                }
            }
            ExprKind::Name(name) => {
                self.name(name, &callee.span);
                self.pass(name, arguments, &values);
                ValueKinds::UNKNOWN
            }
            _ => {
                self.expression(callee);
                ValueKinds::UNKNOWN
            }
        }
    }

    fn method(&mut self, name: &str, span: &Range<usize>) {
        let mut meant = METHODS.into_iter().filter(|method| typo(name, method).is_some());
        let (first, second) = (meant.next(), meant.next());
        if let (Some(meant), None, false) = (first, second, METHODS.contains(&name)) {
            let (name, meant) = (name.to_owned(), meant.to_owned());
            self.found.push(Misspelt { name, meant, of: Some(A_METHOD), span: span.clone() });
        }
    }

    fn pass(&mut self, name: &'s str, arguments: &[Argument<'s>], values: &[ValueKinds]) {
        let passed = self.passed.entry(name).or_default();
        for (index, (argument, kinds)) in arguments.iter().zip(values).enumerate() {
            let known = match argument {
                Argument::Keyword(name, _) => passed.named.entry(name).or_default(),
                _ => {
                    if passed.positional.len() <= index {
                        passed.positional.resize(index + 1, ValueKinds::NONE);
                    }
                    let Some(known) = passed.positional.get_mut(index) else { continue };
                    known
                }
            };
            *known = known.or(*kinds);
        }
    }

    fn filter(&mut self, of: Option<&Expr<'s>>, name: &str, arguments: &[Argument<'s>]) -> ValueKinds {
        let Some(of) = of else { return ValueKinds::UNKNOWN };
        let span = of.span.clone();
        let of = self.expression(of);
        let values: Vec<ValueKinds> = arguments.iter().map(|argument| self.expression(argument.value())).collect();
        match (name, arguments.first().map(|argument| &argument.value().kind)) {
            ("selectattr" | "rejectattr", Some(ExprKind::Literal(Literal::Str(key)))) => {
                self.look_up(of.map(ValueKind::item), key, &span);
                of
            }
            ("default" | "d", _) => values.first().map_or(of, |otherwise| of.or(*otherwise)),
            ("list" | "reverse" | "select" | "reject" | "sort" | "unique", _) => of,
            ("first" | "last" | "random", _) => of.map(ValueKind::item),
            ("items" | "dictsort", None) => pairs(of),
            _ => ValueKinds::UNKNOWN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::misspelt;

    /// What is found, as `name -> meant of whom`.
    fn found(source: &str) -> Vec<String> {
        let found = misspelt(source).into_iter();
        found
            .map(|found| format!("{} -> {} of {}", found.name, found.meant, found.of.unwrap_or("the context")))
            .collect()
    }

    #[test]
    fn near_misses_are_found_wherever_the_object_came_from() {
        let message = "{% for m in messages %}";
        let calls = "{% for m in messages %}{% for c in m.tool_calls or [] %}";
        for (source, wanted) in [
            (format!("{message}{{{{ m.reasoning_contnet }}}}"), "reasoning_contnet -> reasoning_content of a message"),
            (format!("{message}{{{{ m['contnet'] }}}}"), "contnet -> content of a message"),
            (format!("{message}{{{{ m.get('rol') }}}}"), "rol -> role of a message"),
            (format!("{message}{{% if m.rol == 'user' %}}{{% endif %}}"), "rol -> role of a message"),
            (format!("{message}{{% if m.role == 'asistant' %}}{{% endif %}}"), "asistant -> assistant of a role"),
            (format!("{message}{{% if m.role in ['user', 'tol'] %}}{{% endif %}}"), "tol -> tool of a role"),
            (format!("{message}{{% set r = m['role'] %}}{{% if 'uesr' != r %}}{{% endif %}}"), "uesr -> user of a role"),
            (format!("{message}{{% if loop.lst or loop.fisrt %}}{{% endif %}}"), "lst -> last of a loop, fisrt -> first of a loop"),
            (format!("{message}{{{{ m.get('tool_cals', []) }}}}"), "tool_cals -> tool_calls of a message"),
            (format!("{message}{{% if 'tool_cals' in m %}}{{% endif %}}"), "tool_cals -> tool_calls of a message"),
            (format!("{calls}{{{{ c.function.argument }}}}"), "argument -> arguments of the function of a call"),
            (format!("{calls}{{% set c = c.function %}}{{{{ c.nmae }}}}"), "nmae -> name of a call"),
            ("{% set ms = messages[1:] %}{{ ms[0].contnet }}".to_owned(), "contnet -> content of a message"),
            ("{{ (messages | last).contnet }}".to_owned(), "contnet -> content of a message"),
            ("{{ messages | selectattr('rolle', 'equalto', 'user') | list }}".to_owned(), "rolle -> role of a message"),
            // What raises where it is called.
            ("{{ messages[0].content.stirp() }}".to_owned(), "stirp -> strip of a method"),
            ("{% macro write_call(c) %}{% endmacro %}{{ write_cal(1) }}".to_owned(), "write_cal -> write_call of the context"),
            // The template itself binds the name that was meant.
            ("{% set system_text = '' %}{{ sytem_text }}".to_owned(), "sytem_text -> system_text of the context"),
            (
                "{% macro f(x) %}{{ x.contnet }}{% endmacro %}{% for m in messages %}{{ f(m) }}{% endfor %}".to_owned(),
                "contnet -> content of a message",
            ),
            ("{% for t in tools %}{{ t.function.paramters }}{% endfor %}".to_owned(), "paramters -> parameters of the function of a tool"),
            (
                "{% for t in tools %}{% for n, p in t.function.parameters.properties.items() %}{{ p.desciption }}{% endfor %}\
                 {% endfor %}"
                    .to_owned(),
                "desciption -> description of the schema of a tool",
            ),
            ("{% if enable_thinkin %}{% endif %}".to_owned(), "enable_thinkin -> enable_thinking of the context"),
            ("{% if add_generation_promt %}{% endif %}".to_owned(), "add_generation_promt -> add_generation_prompt of the context"),
        ] {
            let closed = source.clone() + &"{% endfor %}".repeat(source.matches("{% for ").count() - source.matches("endfor").count());
            assert_eq!(found(&closed).join(", "), wanted, "{source}");
        }
    }

    #[test]
    fn keys_of_their_own_and_values_that_were_not_followed_are_left_alone() {
        for source in [
            "{% for m in messages %}{{ m.tool_plan }}{{ m.citations }}{{ m.thoughts }}{{ m.content.strip() }}{% endfor %}",
            "{% for m in messages %}{% if m.role in ['tools', 'model', 'users'] or m.content == 'tol' %}{% endif %}{% endfor %}",
            "{% for m in messages %}{% if loop.index0 == loop.length %}{% endif %}{% endfor %}{% set loop = x %}{{ loop.lst }}",
            "{% set ns = namespace(contnet='') %}{{ ns.contnet }}",
            "{% for m in history %}{{ m.contnet }}{% endfor %}",
            "{% for m in messages %}{% set x = f(m) %}{{ x.contnet }}{% endfor %}",
            "{% for m in messages %}{% for k, v in m.tool_calls[0].function.arguments.items() %}{{ v.nmae }}{% endfor %}{% endfor %}",
            "{{ x.trim() }}{{ x.strips() }}{{ x.render() }}{{ x.strip().split() }}",
            // A plural, a word of another length, a scheme of names.
            "{% set tool_text = '' %}{% set text = '' %}{{ tool_texts }}{{ texting }}",
            "{% set part_one = '' %}{% set part_ona = '' %}{{ part_onb }}",
            "{% set message = messages[0] %}{{ message.content }}{% set tool = tools[0] %}{{ tool.name }}",
        ] {
            assert!(found(source).is_empty(), "{source}: {:?}", found(source));
        }
    }
}
