//! Explains an undefined value: the key that its dictionary lacks, and the one that was probably meant.
//!
//! This runs only after a render failed, so that no other render pays for it: the operands of the expression that failed
//! are evaluated again, in the activation in which it failed.

use minijinja::Value;

use super::Evaluator;
use crate::engine::program::{Expression, ExpressionKind, Link, LinkKind, Name, Upvalue};
use crate::engine::walk;
use crate::jinja::syntax::tree::Span;
use crate::values::Kind;
use crate::values::entries::Key;
use crate::values::namespace::Namespace;
use backchat_core::diagnostic::{closest, shortened};

/// How many variables are followed to where they were assigned.
const MOST_VARIABLES: usize = 4;

/// How much of an expression is quoted.
const LONGEST: usize = 60;

/// An expression, or a chain up to one of its links.
#[derive(Clone, Copy)]
struct Operand<'r> {
    first: &'r Expression,
    links: &'r [Link],
}

impl<'r> Operand<'r> {
    fn of(expression: &'r Expression) -> Self {
        match &expression.kind {
            ExpressionKind::Chain(first, links) => Self { first, links },
            _ => Self { first: expression, links: &[] },
        }
    }

    fn span(&self) -> &'r Span {
        self.links.last().map_or(&self.first.span, |link| &link.span)
    }
}

/// The operands of the expression with this span, if it is this one or inside it.
fn operands_at<'r>(expression: &'r Expression, span: &Span) -> Option<Vec<Operand<'r>>> {
    let Operand { first, links } = Operand::of(expression);
    if let Some(at) = links.iter().position(|link| link.span == *span) {
        let (before, rest) = links.split_at(at);
        let right = rest.first().into_iter().flat_map(walk::operands).map(Operand::of);
        return Some(std::iter::once(Operand { first, links: before }).chain(right).collect());
    }
    let parts = walk::parts(expression);
    if expression.span == *span {
        return Some(parts.into_iter().map(Operand::of).collect());
    }
    parts.into_iter().find_map(|part| operands_at(part, span))
}

/// The keys of a dictionary or namespace.
fn keys(value: &Value) -> Option<Vec<Value>> {
    match (Kind::of(value), value.downcast_object_ref::<Namespace>()) {
        (Kind::Dict(dict), _) => Some(dict.keys().collect()),
        (_, Some(namespace)) => Some(namespace.entries().keys().map(Key::value).collect()),
        _ => None,
    }
}

impl<'r> Evaluator<'r> {
    /// The key that an operand of the failed expression looks up and that its dictionary lacks, in words. `source` is the
    /// template's text.
    pub(crate) fn absent_key(&mut self, source: &str) -> Option<String> {
        let (statement, span) = (self.failed_in?, self.failed_at.clone()?);
        let operands =
            walk::expressions(statement).into_iter().find_map(|expression| operands_at(expression, &span))?;
        operands.into_iter().find_map(|operand| self.absence(operand, source, MOST_VARIABLES))
    }

    fn absence(&mut self, operand: Operand<'r>, source: &str, variables: usize) -> Option<String> {
        if !self.value(operand)?.is_undefined() {
            return None;
        }
        let Some((link, before)) = operand.links.split_last() else {
            return self.absence_in(operand.first, source, variables);
        };
        let key = match &link.kind {
            LinkKind::Attribute(attribute) => attribute.name.to_string(),
            LinkKind::Item(key) => self.evaluate(key).ok()?.as_str()?.to_owned(),
            _ => return None,
        };
        let holder = Operand { links: before, ..operand };
        let value = self.value(holder)?;
        if value.is_undefined() {
            return self.absence(holder, source, variables);
        }
        let keys = keys(&value)?;
        let meant = closest(&key, keys.iter().filter_map(Value::as_str));
        let suggestion = meant.map(|known| format!("; did you mean `{known}`?")).unwrap_or_default();
        let holder = shortened(source.get(holder.span().clone())?, LONGEST);
        Some(format!("`{holder}` has no `{key}`{suggestion}"))
    }

    /// Why an undefined value that is not looked up in another one is undefined.
    fn absence_in(&mut self, expression: &'r Expression, source: &str, variables: usize) -> Option<String> {
        let (causes, variables) = match &expression.kind {
            ExpressionKind::Name(name) => (self.assigned(name), variables.checked_sub(1)?),
            _ => (walk::parts(expression), variables),
        };
        causes.into_iter().find_map(|cause| self.absence(Operand::of(cause), source, variables))
    }

    /// The expressions that the running function assigns to a variable.
    fn assigned(&self, name: &'r Name) -> Vec<&'r Expression> {
        let is_set = |upvalue: &&Upvalue| self.variable(**upvalue).is_some();
        match name.upvalues.iter().find(is_set) {
            Some(Upvalue { out: 0, slot }) => {
                let program = self.program;
                let function = self.activation().and_then(|activation| program.functions.get(activation.function));
                function.map_or_else(Vec::new, |function| walk::assigned(&function.body, *slot))
            }
            _ => Vec::new(),
        }
    }

    fn value(&mut self, operand: Operand<'r>) -> Option<Value> {
        match operand.links {
            [] => self.evaluate(operand.first).ok(),
            links => self.chain(operand.first, links).ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{ChatTemplate, RenderErrorKind, RenderOptions};
    use backchat_core::json;

    /// The message of a render that fails.
    fn message(template: &str) -> String {
        let template = ChatTemplate::compile(template).unwrap();
        let context =
            r#"{"call": {"function": {"name": "add", "arguments": {"a": 1}}}, "calls": [{"id": "c1"}], "n": 1}"#;
        let context = json::read(context).unwrap();
        let error = template.render(context.as_object().unwrap(), &RenderOptions::default()).unwrap_err();
        assert_eq!(error.kind(), RenderErrorKind::Failed);
        error.message
    }

    const NOT_JSON: &str = "Object of type Undefined is not JSON serializable";
    const MEANT: &str = "`call.function` has no `argument`; did you mean `arguments`?";

    #[test]
    fn an_error_about_an_undefined_value_names_the_missing_key_and_the_closest() {
        for (template, failure, absent) in [
            ("{{ call.function.argument | tojson }}", NOT_JSON, MEANT),
            ("{{ 1 + (call.function.argument | tojson) }}", NOT_JSON, MEANT),
            ("{{ (call.function.argument if n else n) | tojson }}", NOT_JSON, MEANT),
            (
                "{{ call['function']['argument'] | tojson }}",
                NOT_JSON,
                "`call['function']` has no `argument`; did you mean `arguments`?",
            ),
            ("{% set key = 'argument' %}{{ call.function[key] | tojson }}", NOT_JSON, MEANT),
            (
                "{% for c in calls %}{{ c.idd + '!' }}{% endfor %}",
                "unsupported operand type(s) for +: 'Undefined' and 'str'",
                "`c` has no `idd`; did you mean `id`?",
            ),
            (
                "{{ '!' + calls[0].idd }}",
                "unsupported operand type(s) for +: 'str' and 'Undefined'",
                "`calls[0]` has no `idd`; did you mean `id`?",
            ),
            ("{{ 1 < call.function.argument }}", "'<' not supported between instances of 'int' and 'Undefined'", MEANT),
            ("{{ call.function.argument.items() }}", "'Undefined' object has no attribute 'items'", MEANT),
            (
                "{{ call.functoin.name }}",
                "`call.functoin.name` looks into an undefined value",
                "`call` has no `functoin`; did you mean `function`?",
            ),
            (
                "{% set ns = namespace(found=1) %}{{ ns.fuond + 1 }}",
                "unsupported operand type(s) for +: 'Undefined' and 'int'",
                "`ns` has no `fuond`; did you mean `found`?",
            ),
            ("{{ call.function.schema | tojson }}", NOT_JSON, "`call.function` has no `schema`"),
        ] {
            assert_eq!(message(template), format!("{failure}: {absent}"), "{template}");
        }
    }

    #[test]
    fn an_undefined_variable_is_followed_to_its_assignment() {
        for (template, absent) in [
            ("{% set given = call.function.argument %}{{ given | tojson }}", MEANT),
            (
                "{% set f = call.function %}{% set a = f.argument %}{{ a | tojson }}",
                "`f` has no `argument`; did you mean `arguments`?",
            ),
            ("{% with a = call.function.argument %}{{ a | tojson }}{% endwith %}", MEANT),
            (
                "{% macro m(call) %}{% set a = call.function.argument %}{{ a | tojson }}{% endmacro %}{{ m(call) }}",
                MEANT,
            ),
        ] {
            assert_eq!(message(template), format!("{NOT_JSON}: {absent}"), "{template}");
        }
    }

    #[test]
    fn only_a_missing_key_that_leaves_an_operand_undefined_is_named() {
        for (template, failure) in [
            ("{{ nothing | tojson }}", NOT_JSON),
            ("{{ calls[7] | tojson }}", NOT_JSON),
            ("{% set a = a %}{{ a | tojson }}", NOT_JSON),
            ("{{ (call.function.argument or []) + 1 }}", "unsupported operand type(s) for +: 'list' and 'int'"),
        ] {
            assert_eq!(message(template), failure, "{template}");
        }
    }
}
