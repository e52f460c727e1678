//! Collects the variables and constants of a template from its tree, without rendering it.

mod aliases;

use std::collections::{HashMap, HashSet};

use indexmap::{IndexMap, IndexSet};

use crate::builtins::functions::FUNCTIONS;
use crate::jinja::arithmetic::{NUMERIC, constant, literal, solved};
use crate::jinja::syntax::tree::{
    Argument, BinaryOp, Body, CompareOp, Expr, ExprKind, Literal, Parameters, StatementKind, Target,
};
use aliases::{Computed, Passed};
use backchat_core::text::slice;
use backchat_core::{json, push_new};

/// The variables and constants of a template.
#[derive(Debug, Default)]
pub(crate) struct Survey<'s> {
    /// Names read before any statement has bound them: variables of the context.
    pub(crate) variables: IndexSet<&'s str>,
    /// The paths below a variable that are read: `format.style`, `agents[].name`.
    pub(crate) members: IndexSet<String>,
    /// Constants that a value is compared with, by the expression of the value: `reasoning_effort`, `message.role`.
    pub(crate) compared: IndexMap<String, Vec<json::Value>>,
    /// The values of these that are keys of a table, so that others say nothing.
    pub(crate) looked_up: HashSet<String>,
    /// The string constants of its expressions, in the order they are first written.
    pub(crate) literals: IndexSet<String>,
    /// The texts between its tags.
    pub(crate) texts: IndexSet<&'s str>,
    scopes: Vec<HashSet<&'s str>>,
    /// Own names of the template, and fields of its namespaces, that stand for a variable: `effort` for
    /// `reasoning_effort | default('low')`, or for a member of one. Nothing for those that are given several things: the
    /// settings of all of them would take more renders than an examination has.
    aliases: HashMap<String, Option<Computed>>,
    /// Constants that a name of the template stands for one after another: `x`, or `x.id` for a member, while it loops over
    /// `x[]`.
    constants: HashMap<String, Vec<json::Value>>,
    /// The literal keys of the dictionaries that a name is set to, in whatever scope.
    tables: HashMap<String, Vec<json::Value>>,
    /// What the calls of macros gave to parameters in the survey before this one, and what they give in this one.
    given: Passed<'s>,
    passed: Passed<'s>,
}

/// Names that Jinja2 itself binds.
const SPECIAL: &[&str] = &["loop", "caller", "self", "super", "varargs", "kwargs"];

impl<'s> Survey<'s> {
    fn bind(&mut self, names: impl IntoIterator<Item = &'s str>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.extend(names);
        }
    }

    fn scoped(&mut self, visit: impl FnOnce(&mut Self)) {
        self.scopes.push(HashSet::new());
        visit(self);
        self.scopes.pop();
    }

    fn body(&mut self, body: &Body<'s>) {
        for statement in body {
            self.statement(&statement.kind);
        }
    }

    fn function(&mut self, parameters: &Parameters<'s>, body: &Body<'s>) {
        self.scoped(|survey| {
            for (name, default) in parameters {
                default.iter().for_each(|default| survey.expression(default));
                survey.bind([*name]);
            }
            survey.body(body);
        });
    }

    fn statement(&mut self, statement: &StatementKind<'s>) {
        match statement {
            StatementKind::Text(text) => drop(self.texts.insert(text)),
            StatementKind::Load(_) | StatementKind::Break | StatementKind::Continue => {}
            StatementKind::Output(value) => self.expression(value),
            StatementKind::Set(target, value) => {
                self.expression(value);
                self.alias(target, value);
                if let Target::Name(name) = target {
                    let listed = self.listed(value);
                    self.note_listed(&format!("{name}[]"), listed);
                    if let ExprKind::Dict(entries) = &value.kind {
                        let keys = entries.iter().filter_map(|(key, _)| literal(key));
                        self.tables.entry((*name).to_owned()).or_default().extend(keys);
                    }
                }
                self.bind(target.names());
            }
            StatementKind::SetBlock { target, filter, body } => {
                self.scoped(|survey| survey.body(body));
                filter.iter().for_each(|filter| self.expression(filter));
                self.bind(target.names());
            }
            StatementKind::If { branches, otherwise } => {
                for (test, body) in branches {
                    self.expression(test);
                    // A name that one branch binds may still be unbound after the condition.
                    self.scoped(|survey| survey.body(body));
                }
                self.scoped(|survey| survey.body(otherwise));
            }
            StatementKind::For { target, over, only, body, otherwise, .. } => {
                self.expression(over);
                target.names().iter().for_each(|name| drop(self.aliases.remove(*name)));
                self.note_looped(target, over);
                self.alias_items(target, over);
                self.scoped(|survey| {
                    survey.bind(target.names());
                    only.iter().for_each(|only| survey.expression(only));
                    survey.body(body);
                });
                self.scoped(|survey| survey.body(otherwise));
            }
            StatementKind::Macro { name, parameters, body } => {
                self.bind([*name]);
                let own: Vec<&str> = parameters.iter().map(|(name, _)| *name).collect();
                let shadowed = self.shadow(&own);
                self.alias_parameters(name, parameters);
                self.function(parameters, body);
                self.restore(shadowed);
            }
            StatementKind::CallBlock { parameters, call, body } => {
                self.expression(call);
                self.function(parameters, body);
            }
            StatementKind::Generation(body) | StatementKind::Block { body, .. } => {
                self.scoped(|survey| survey.body(body));
            }
            StatementKind::With { bindings, body } => {
                bindings.iter().for_each(|(_, value)| self.expression(value));
                let own: Vec<&str> = bindings.iter().flat_map(|(target, _)| target.names()).collect();
                let shadowed = self.alias_bindings(bindings, &own);
                self.scoped(|survey| {
                    survey.bind(own);
                    survey.body(body);
                });
                self.restore(shadowed);
            }
            StatementKind::FilterBlock { filter: head, body } | StatementKind::AutoEscape { enabled: head, body } => {
                self.expression(head);
                self.scoped(|survey| survey.body(body));
            }
        }
    }

    /// Whether a name is a variable of the context here.
    fn is_variable(&self, name: &str) -> bool {
        let is_known = SPECIAL.contains(&name) || FUNCTIONS.has(name);
        !is_known && !self.scopes.iter().any(|scope| scope.contains(name))
    }

    fn expression(&mut self, expression: &Expr<'s>) {
        match &expression.kind {
            ExprKind::Name(name) if self.is_variable(name) => drop(self.variables.insert(name)),
            ExprKind::Attribute(..) => self.member(expression),
            ExprKind::Item(table, key) => {
                self.member(expression);
                self.look_up(table, key);
            }
            ExprKind::Call(called, arguments) => {
                if let ExprKind::Name(name) = called.kind
                    && !FUNCTIONS.has(name)
                {
                    self.pass(name, arguments);
                }
                if let ExprKind::Attribute(of, _) = &called.kind {
                    // The attribute is a method.
                    self.member(expression);
                    let text = arguments.first().map(|argument| &argument.value().kind);
                    if let (ExprKind::Attribute(_, "startswith" | "endswith"), Some(ExprKind::Literal(text))) =
                        (&called.kind, text)
                    {
                        self.note(of, constant(text));
                    }
                    if let (ExprKind::Attribute(_, "get"), Some(key)) = (&called.kind, arguments.first()) {
                        self.look_up(of, key.value());
                    }
                    self.expression(of);
                    arguments.iter().for_each(|argument| self.expression(argument.value()));
                    return;
                }
            }
            ExprKind::Literal(Literal::Str(text)) => {
                self.literals.insert(text.clone());
            }
            ExprKind::Compare(first, rest) => {
                let mut left: &Expr<'s> = first;
                for (operator, right) in rest {
                    match operator {
                        CompareOp::Eq | CompareOp::Ne => {
                            self.compare(left, right);
                            self.compare(right, left);
                        }
                        CompareOp::In | CompareOp::NotIn => {
                            if let ExprKind::List(items) | ExprKind::Tuple(items) = &right.kind {
                                items.iter().for_each(|item| self.compare(left, item));
                            } else if let (ExprKind::Literal(literal), Some(path)) = (&left.kind, self.path(right)) {
                                self.note_at(format!("{path}[]"), constant(literal));
                            }
                        }
                        CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge => {
                            self.compare(left, right);
                            self.compare(right, left);
                        }
                    }
                    left = right;
                }
            }
            ExprKind::Filter(Some(of), name, arguments) if name == "select" => {
                let [Some(test), Some(item)] =
                    [0, 1].map(|at| arguments.get(at).map(|argument| &argument.value().kind))
                else {
                    return expression.children(&mut |child| self.expression(child));
                };
                let is_equal = matches!(test, ExprKind::Literal(Literal::Str(test)) if ["equalto", "eq", "=="].contains(&test.as_str()));
                if let (true, ExprKind::Literal(item), Some(path)) = (is_equal, item, self.path(of)) {
                    self.note_at(format!("{path}[]"), constant(item));
                }
            }
            ExprKind::Filter(Some(of), name, arguments) => self.member_of_items(of, name, arguments),
            ExprKind::Test(subject, name, arguments) => match (name.as_str(), arguments.first()) {
                ("true", None) => self.note(subject, json::Value::Bool(true)),
                ("false", None) => self.note(subject, json::Value::Bool(false)),
                ("mapping", None) => self.note(subject, json::Object::new().into()),
                ("eq" | "equalto" | "sameas" | "ne" | "in", Some(argument)) => match &argument.value().kind {
                    ExprKind::List(items) | ExprKind::Tuple(items) => {
                        items.iter().for_each(|item| self.compare(subject, item));
                    }
                    _ => self.compare(subject, argument.value()),
                },
                _ => {}
            },
            _ => {}
        }
        expression.children(&mut |child| self.expression(child));
    }

    /// Remembers the constants of what a loop iterates over by the names of its target: of pairs, each has those at its place.
    fn note_looped(&mut self, target: &Target<'s>, over: &Expr<'s>) {
        let listed = self.listed(over);
        if let Some(name) = target.names().first() {
            self.note_listed(name, listed.clone());
        }
        for (at, name) in target.names().into_iter().enumerate().filter(|_| matches!(target, Target::Tuple(_))) {
            let place = format!("[{at}]");
            let own = listed.iter().filter(|(rest, _)| *rest == place).map(|(_, value)| (String::new(), value.clone()));
            self.note_listed(name, own.collect());
        }
    }

    fn note_listed(&mut self, name: &str, listed: Vec<(String, json::Value)>) {
        for (rest, value) in listed {
            push_new(self.constants.entry(format!("{name}{rest}")).or_default(), value);
        }
    }

    /// The constants in a list, in the members of its items, at the places of its pairs, or in the keys of a dictionary: each
    /// with the path to it from an item.
    fn listed(&self, list: &Expr<'s>) -> Vec<(String, json::Value)> {
        match &list.kind {
            ExprKind::List(items) | ExprKind::Tuple(items) => items.iter().flat_map(constants_of_item).collect(),
            ExprKind::Dict(entries) => {
                entries.iter().filter_map(|(key, _)| Some((String::new(), literal(key)?))).collect()
            }
            ExprKind::Name(of) => {
                let of = format!("{of}[]");
                let known = self.constants.iter().filter_map(|(path, values)| Some((path.strip_prefix(&of)?, values)));
                known.flat_map(|(rest, values)| values.iter().map(|value| (rest.to_owned(), value.clone()))).collect()
            }
            ExprKind::Call(method, _) => match &method.kind {
                ExprKind::Attribute(of, "items" | "keys") => self.listed(of),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    fn member(&mut self, expression: &Expr<'s>) {
        let Some(path) = self.path(expression) else { return };
        let root = slice(&path, ..path.find(['.', '[']).unwrap_or(path.len()));
        if root.len() < path.len() && self.is_setting(root) {
            self.members.insert(path);
        }
    }

    /// The member of each item of a list that a filter takes, as `map(attribute='id')` does.
    fn member_of_items(&mut self, list: &Expr<'s>, filter: &str, arguments: &[Argument<'s>]) {
        let is_named = |argument: &&Argument<'s>| matches!(argument, Argument::Keyword("attribute", _));
        let is_first = ["selectattr", "rejectattr", "groupby"].contains(&filter);
        let named = arguments.iter().find(is_named).or_else(|| arguments.first().filter(|_| is_first));
        let Some(ExprKind::Literal(Literal::Str(member))) = named.map(|argument| &argument.value().kind) else {
            return;
        };
        let root = self.path(list).filter(|root| self.is_setting(root));
        self.members.extend(root.map(|root| format!("{root}[].{member}")));
    }

    fn compare(&mut self, subject: &Expr<'s>, with: &Expr<'s>) {
        if let Some(constant) = literal(with) {
            self.note(subject, constant);
        } else if let Some(known) = path(with).and_then(|path| self.constants.get(&path).cloned()) {
            known.into_iter().for_each(|constant| self.note(subject, constant));
        }
    }

    /// Notes the keys of a table as constants that the value looked up in it is compared with.
    fn look_up(&mut self, table: &Expr<'s>, key: &Expr<'s>) {
        let keys = match &table.kind {
            ExprKind::Dict(entries) => entries.iter().filter_map(|(key, _)| literal(key)).collect(),
            ExprKind::Name(name) => self.tables.get(*name).cloned().unwrap_or_default(),
            _ => Vec::new(),
        };
        if let Some(path) = self.path(key).filter(|_| !keys.is_empty()) {
            keys.into_iter().for_each(|constant| self.note_at(path.clone(), constant));
            self.looked_up.insert(path);
        }
    }

    fn note(&mut self, subject: &Expr<'s>, constant: json::Value) {
        let Some(Computed { path, steps }) = self.computed(subject) else { return };
        for constant in solved(&steps, constant) {
            self.note_at(path.clone(), constant);
        }
    }

    fn note_at(&mut self, path: String, constant: json::Value) {
        push_new(self.compared.entry(path).or_default(), constant);
    }
}

/// The constants in an item of a list, each with the path to it.
fn constants_of_item(item: &Expr<'_>) -> Vec<(String, json::Value)> {
    match &item.kind {
        ExprKind::Dict(entries) => entries
            .iter()
            .filter_map(|(key, value)| match &key.kind {
                ExprKind::Literal(Literal::Str(key)) => Some((format!(".{key}"), literal(value)?)),
                _ => None,
            })
            .collect(),
        ExprKind::List(parts) | ExprKind::Tuple(parts) => {
            let parts = parts.iter().enumerate();
            parts.filter_map(|(at, part)| Some((format!("[{at}]"), literal(part)?))).collect()
        }
        _ => literal(item).into_iter().map(|constant| (String::new(), constant)).collect(),
    }
}

/// The path that a value is read from, such as `message.role`, ignoring filters that only normalize it and what is there
/// instead if it is absent.
fn path(expression: &Expr<'_>) -> Option<String> {
    match &expression.kind {
        ExprKind::Name(name) => Some((*name).to_owned()),
        ExprKind::Attribute(of, name) => Some(format!("{}.{name}", path(of)?)),
        ExprKind::Item(of, key) => match &key.kind {
            ExprKind::Literal(Literal::Str(name)) => Some(format!("{}.{name}", path(of)?)),
            _ => Some(format!("{}[]", path(of)?)),
        },
        ExprKind::Filter(Some(of), name, _) => match name.as_str() {
            name if NUMERIC.contains(&name) => path(of),
            "lower" | "upper" | "trim" | "string" | "default" | "d" | "replace" => path(of),
            "list" | "join" | "selectattr" | "rejectattr" | "sort" | "unique" | "reverse" => path(of),
            "first" | "last" => Some(format!("{}[]", path(of)?)),
            _ => None,
        },
        ExprKind::Binary(BinaryOp::Or, sides) => path(&sides.0),
        ExprKind::Condition { then, otherwise, .. } => path(then).or_else(|| path(otherwise.as_ref()?)),
        ExprKind::Call(of, arguments) => match &of.kind {
            ExprKind::Attribute(of, "lower" | "upper" | "strip") => path(of),
            ExprKind::Attribute(of, "get") => match &arguments.first()?.value().kind {
                ExprKind::Literal(Literal::Str(name)) => Some(format!("{}.{name}", path(of)?)),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::ChatTemplate;
    use backchat_core::json;

    #[test]
    fn variables_are_names_that_may_be_unbound() {
        for (template, variables) in [
            ("{{ a }}{{ b.c }}", vec!["a", "b"]),
            ("{% set a = 1 %}{{ a }}", vec![]),
            ("{{ a }}{% set a = 1 %}", vec!["a"]),
            ("{% if b %}{% set a = 1 %}{% endif %}{{ a }}", vec!["b", "a"]),
            ("{% if a is not defined %}{% set a = 1 %}{% endif %}{{ a }}", vec!["a"]),
            ("{% for x in xs %}{{ x }}{{ loop.index }}{% endfor %}{{ x }}", vec!["xs", "x"]),
            ("{% macro m(p, q=d) %}{{ p }}{{ q }}{{ r }}{% endmacro %}{{ m(1) }}", vec!["d", "r"]),
            ("{% with w = v %}{{ w }}{% endwith %}", vec!["v"]),
            ("{{ range(3) }}{{ raise_exception('x') }}{{ strftime_now('%d') }}", vec![]),
            ("{% set ns = namespace(x=y) %}{% set ns.x = z %}{{ ns.x }}", vec!["y", "z"]),
        ] {
            assert_eq!(ChatTemplate::compile(template).unwrap().variables(), variables, "{template}");
        }
    }

    #[test]
    fn constants_are_listed_by_the_expression_they_are_compared_with() {
        for (template, compared) in [
            ("{% if effort == 'high' %}{% endif %}", r#"{"effort": ["high"]}"#),
            ("{% if 'high' != effort %}{% endif %}", r#"{"effort": ["high"]}"#),
            ("{% if effort in ['low', 'high'] %}{% endif %}", r#"{"effort": ["low", "high"]}"#),
            ("{% if effort not in ('low',) %}{% endif %}", r#"{"effort": ["low"]}"#),
            ("{% if on is false or on == none or on is sameas 1 %}{% endif %}", r#"{"on": [false, null, 1]}"#),
            (
                "{% for m in messages %}{% if m.role == 'tool' or m['role'] == 'user' %}{% endif %}{% endfor %}",
                r#"{"m.role": ["tool", "user"]}"#,
            ),
            ("{% if ms[0].role | lower == 'system' %}{% endif %}", r#"{"ms[].role": ["system"]}"#),
            ("{% if look.get('style', 'plain') == 'rich' %}{% endif %}", r#"{"look.style": ["rich"]}"#),
            ("{% if budget < 10 or 3 >= budget %}{% endif %}", r#"{"budget": [10, 3]}"#),
            ("{% if budget | int < 10 or budget | default(0.5) > 0.7 %}{% endif %}", r#"{"budget": [10, 0.7]}"#),
            ("{% if budget * 2 < 1000 or (budget - 5) / 10 > 2 %}{% endif %}", r#"{"budget": [500, 25]}"#),
            ("{% if 100 * (budget | float) >= 90 or budget % 2 == 0 %}{% endif %}", r#"{"budget": [0.9, 0]}"#),
            ("{% set e = budget | int %}{% if e + 1 > 4 %}{% endif %}", r#"{"budget": [3]}"#),
            ("{% if budget * 0 == 1 or 8 / budget > 2 or budget + other > 3 %}{% endif %}", "{}"),
            ("{% if name + '!' == 'Amber!' %}{% endif %}", "{}"),
            ("{% if a == b %}{% endif %}", "{}"),
            ("{% if (effort or 'low') == 'high' %}{% endif %}", r#"{"effort": ["high"]}"#),
            ("{% set e = effort | default('low') %}{% if e == 'high' %}{% endif %}", r#"{"effort": ["high"]}"#),
            ("{% set e = 'low' if not effort else effort %}{% if e == 'high' %}{% endif %}", r#"{"effort": ["high"]}"#),
            ("{% set e = look or {} %}{% if e.wide == 3 %}{% endif %}", r#"{"look.wide": [3]}"#),
            ("{% set e = look.wide %}{% if e == 3 %}{% endif %}", r#"{"look.wide": [3]}"#),
            ("{% for e in looks or [] %}{% if e == 3 %}{% endif %}{% endfor %}", r#"{"looks[]": [3]}"#),
            ("{% for e in ['low', 'high'] %}{% if e == look %}{% endif %}{% endfor %}", r#"{"look": ["low", "high"]}"#),
            (
                "{% set es = [{'id': 'a'}, {'id': 'b'}] %}{% for e in es %}{% if e.id == look %}{% endif %}{% endfor %}",
                r#"{"look": ["a", "b"]}"#,
            ),
            ("{% for name, e in {'a': 1, 'b': 2}.items() if name == look %}{% endfor %}", r#"{"look": ["a", "b"]}"#),
            ("{% if look.startswith('py') %}{% endif %}", r#"{"look": ["py"]}"#),
            ("{{ looks | select('equalto', 'wide') | list }}", r#"{"looks[]": ["wide"]}"#),
            ("{% if 'wide' in looks | join(' ') %}{% endif %}", r#"{"looks[]": ["wide"]}"#),
            ("{{ {'low': 1, 'high': 2}[effort | default('low')] }}", r#"{"effort": ["low", "high"]}"#),
            ("{% set t = {'low': 1} %}{{ t[effort] }}{{ t.get(look, 0) }}", r#"{"effort": ["low"], "look": ["low"]}"#),
            ("{% set t = ['low'] %}{{ t[at] }}", "{}"),
            ("{% if look is mapping %}{% endif %}", r#"{"look": [{}]}"#),
            ("{% set look = look | default({'wide': 1}) %}{% if look.wide == 3 %}{% endif %}", r#"{"look.wide": [3]}"#),
            ("{% set e = look[0] %}{% if e == 3 %}{% endif %}", r#"{"e": [3]}"#),
            ("{% if 'wide' in (look or []) %}{% endif %}", r#"{"look[]": ["wide"]}"#),
            ("{% set e = look.wide %}{% set e = look %}{% if e == 3 %}{% endif %}", r#"{"e": [3]}"#),
            ("{% set e = 2 %}{% set e = wide %}{% if e == 3 %}{% endif %}", r#"{"wide": [3]}"#),
            ("{% set ns.e = effort %}{% if ns.e == 'high' %}{% endif %}", r#"{"effort": ["high"]}"#),
            (
                "{% set e = effort %}{% for e in es %}{% if e == 'high' %}{% endif %}{% endfor %}",
                r#"{"es[]": ["high"]}"#,
            ),
            ("{% set e = 'low' %}{% if e == 'high' %}{% endif %}", r#"{"e": ["high"]}"#),
        ] {
            let expected = json::read(compared).unwrap();
            assert_eq!(compared_in(template), expected);
        }
    }

    #[test]
    fn what_a_template_hands_on_under_a_name_of_its_own_is_compared_there() {
        let is_high = "{% if e == 'high' %}{% endif %}";
        let macro_e = format!("{{% macro m(x, e) %}}{is_high}{{% endmacro %}}");
        for template in [
            format!("{macro_e}{{{{ m(1, effort | default('low')) }}}}"),
            format!("{macro_e}{{{{ m(e=effort, x=1) }}}}{{{{ m(1, 'low') }}}}"),
            format!("{macro_e}{{% set level = effort or 'low' %}}{{{{ m(1, level) }}}}"),
            format!("{macro_e}{{% macro outer(f) %}}{{{{ m(1, f) }}}}{{% endmacro %}}{{{{ outer(effort) }}}}"),
            format!("{{% macro m(e=effort) %}}{is_high}{{% endmacro %}}{{{{ m() }}}}"),
            "{% set ns = namespace(e=effort) %}{% if ns.e == 'high' %}{% endif %}".to_owned(),
            "{% set ns = namespace({'e': effort}) %}{% if ns.e == 'high' %}{% endif %}".to_owned(),
            "{% set look = {'e': effort or 'low'} %}{% if look['e'] == 'high' %}{% endif %}".to_owned(),
            format!("{{% with e = effort | default('low') %}}{is_high}{{% endwith %}}"),
            format!("{{% set e = effort %}}{{% with e = e %}}{is_high}{{% endwith %}}"),
            format!("{{% macro m(x, e=level) %}}{is_high}{{% endmacro %}}{{{{ m(1, effort) }}}}"),
            format!("{{% for e in [effort] %}}{is_high}{{% endfor %}}"),
            format!("{{% for k, e in [('a', effort)] %}}{is_high}{{% endfor %}}"),
            format!("{{% for k, e in {{'a': effort}}.items() %}}{is_high}{{% endfor %}}"),
            format!("{{% set x, e = 1, effort %}}{is_high}"),
            "{% for k, v in [('high', 'a')] %}{% if k == effort %}{% endif %}{% endfor %}".to_owned(),
            "{% set t = [('high', 'a')] %}{% for k, v in t %}{% if k == effort %}{% endif %}{% endfor %}".to_owned(),
        ] {
            let expected = json::read(r#"["high"]"#).unwrap();
            let found = compared_in(&template);
            assert_eq!(found.as_object().unwrap().get("effort"), Some(&expected), "{template}");
        }
        // The name means something else after the macro, and in another one.
        let other = format!("{{% macro n(e) %}}{is_high}{{% endmacro %}}{macro_e}{{{{ m(1, effort) }}}}{is_high}");
        assert_eq!(compared_in(&other), json::read(r#"{"e": ["high"], "effort": ["high"]}"#).unwrap());
    }

    /// The constants with which a template compares values, by the expression of the value.
    fn compared_in(template: &str) -> json::Value {
        let template = ChatTemplate::compile(template).unwrap();
        let found = template.compared_constants().iter();
        let found = found.map(|(name, constants)| (name.clone(), json::Value::List(constants.clone())));
        json::Value::Object(found.collect())
    }
}
