//! A template as a text that is equal for two templates only if they are one program: white space control applied, own
//! names as numbers, literals joined, comments, quotes, dead branches and other spellings of one relation gone.

mod constant;
mod uses;

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use super::survey::Survey;
use super::syntax;
use super::syntax::tree::{
    Argument, Body, CompareOp, Expr, ExprKind, Literal, Parameters, StatementKind, Target, UnaryOp,
};
use constant::{constant_text, constant_truth};
use uses::Uses;

/// The canonical text of a normalized source; none if it does not parse. `is_method` says whether some type has a method
/// of a name, so that looking it up as an attribute is not looking it up as a key.
pub(crate) fn canonical(source: &str, is_method: fn(&str) -> bool) -> Option<String> {
    let body = syntax::parse(source).ok()?;
    let mut kept: HashSet<&str> = Survey::new(&body).variables.into_iter().collect();
    let mut uses = Uses::default();
    uses.body(&body);
    kept.extend(uses.kept);
    let mut writer = Writer { kept, bound: uses.bound, numbers: HashMap::new(), out: String::new(), is_method };
    writer.body(&body);
    Some(writer.out)
}

struct Writer<'s> {
    kept: HashSet<&'s str>,
    bound: HashSet<&'s str>,
    numbers: HashMap<&'s str, usize>,
    out: String,
    is_method: fn(&str) -> bool,
}

impl<'s> Writer<'s> {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn quoted(&mut self, text: &str) {
        // Writing to a string cannot fail.
        let _ = write!(self.out, "{text:?}");
    }

    fn name(&mut self, name: &'s str) {
        if self.kept.contains(name) || !self.bound.contains(name) {
            return self.put(name);
        }
        let next = self.numbers.len();
        let number = *self.numbers.entry(name).or_insert(next);
        let _ = write!(self.out, "#{number}");
    }

    /// What is written meanwhile.
    fn apart(&mut self, write: impl FnOnce(&mut Self)) -> String {
        let before = std::mem::take(&mut self.out);
        write(self);
        std::mem::replace(&mut self.out, before)
    }

    fn body(&mut self, body: &Body<'s>) {
        let mut text = String::new();
        self.statements(body, &mut text);
        self.flush(&mut text);
    }

    fn flush(&mut self, text: &mut String) {
        if !text.is_empty() {
            self.quoted(&std::mem::take(text));
            self.put(";");
        }
    }

    /// Writes statements; texts that are printed one after the other are one.
    fn statements(&mut self, body: &Body<'s>, text: &mut String) {
        for statement in body {
            match &statement.kind {
                StatementKind::Text(own) => text.push_str(own),
                StatementKind::Output(value) => self.output(value, text),
                StatementKind::If { branches, otherwise } => self.conditional(branches, otherwise, text),
                kind => {
                    self.flush(text);
                    self.statement(kind);
                    self.put(";");
                }
            }
        }
    }

    fn output(&mut self, value: &Expr<'s>, text: &mut String) {
        if let Some(constant) = constant_text(value) {
            return text.push_str(&constant);
        }
        if let ExprKind::Concat(parts) = &value.kind {
            return parts.iter().for_each(|part| self.output(part, text));
        }
        self.flush(text);
        self.put("print ");
        self.expression(value);
        self.put(";");
    }

    /// Branches whose tests are constants are taken or gone.
    fn conditional(&mut self, branches: &[(Expr<'s>, Body<'s>)], otherwise: &Body<'s>, text: &mut String) {
        let mut open = Vec::new();
        let mut last = otherwise;
        for (test, body) in branches {
            match constant_truth(test) {
                Some(false) => {}
                Some(true) => {
                    last = body;
                    break;
                }
                None => open.push((test, body)),
            }
        }
        if open.is_empty() {
            return self.statements(last, text);
        }
        self.flush(text);
        for (test, body) in open {
            self.put("if ");
            self.expression(test);
            self.put("{");
            self.body(body);
            self.put("}else ");
        }
        self.put("{");
        self.body(last);
        self.put("};");
    }

    fn target(&mut self, target: &Target<'s>) {
        match target {
            Target::Name(name) => self.name(name),
            Target::Field(of, name) => {
                self.name(of);
                self.put(".");
                self.put(name);
            }
            Target::Tuple(parts) => {
                self.put("(");
                for part in parts {
                    self.target(part);
                    self.put(",");
                }
                self.put(")");
            }
        }
    }

    fn parameters(&mut self, parameters: &Parameters<'s>) {
        self.put("(");
        for (name, default) in parameters {
            self.name(name);
            if let Some(default) = default {
                self.put("=");
                self.expression(default);
            }
            self.put(",");
        }
        self.put(")");
    }

    fn block(&mut self, body: &Body<'s>) {
        self.put("{");
        self.body(body);
        self.put("}");
    }

    fn statement(&mut self, kind: &StatementKind<'s>) {
        match kind {
            StatementKind::Text(_) | StatementKind::Output(_) | StatementKind::If { .. } => {}
            StatementKind::Set(target, value) => {
                self.put("set ");
                self.target(target);
                self.put("=");
                self.expression(value);
            }
            StatementKind::SetBlock { target, filter, body } => {
                self.put("capture ");
                self.target(target);
                if let Some(filter) = filter {
                    self.expression(filter);
                }
                self.block(body);
            }
            StatementKind::For { target, over, only, recursive, body, otherwise } => {
                self.put(if *recursive { "for recursive " } else { "for " });
                self.target(target);
                self.put(" in ");
                self.expression(over);
                if let Some(only) = only {
                    self.put(" if ");
                    self.expression(only);
                }
                self.block(body);
                self.block(otherwise);
            }
            StatementKind::Load(tag) => {
                self.put("load ");
                self.put(tag);
            }
            StatementKind::Break => self.put("break"),
            StatementKind::Continue => self.put("continue"),
            around => self.around(around),
        }
    }

    /// A statement around others, other than `if` and `for`.
    fn around(&mut self, kind: &StatementKind<'s>) {
        match kind {
            StatementKind::Macro { name, parameters, body } => {
                self.put("macro ");
                self.name(name);
                self.parameters(parameters);
                self.block(body);
            }
            StatementKind::CallBlock { parameters, call, body } => {
                self.put("call ");
                self.parameters(parameters);
                self.expression(call);
                self.block(body);
            }
            StatementKind::Generation(body) => {
                self.put("generation");
                self.block(body);
            }
            StatementKind::With { bindings, body } => {
                self.put("with ");
                for (target, value) in bindings {
                    self.target(target);
                    self.put("=");
                    self.expression(value);
                    self.put(",");
                }
                self.block(body);
            }
            StatementKind::FilterBlock { filter, body } => {
                self.put("filter ");
                self.expression(filter);
                self.block(body);
            }
            StatementKind::AutoEscape { enabled, body } => {
                self.put("autoescape ");
                self.expression(enabled);
                self.block(body);
            }
            StatementKind::Block { name, scoped, required, body } => {
                let _ = write!(self.out, "block {name} {scoped} {required}");
                self.block(body);
            }
            _ => {}
        }
    }

    fn list(&mut self, open: &str, items: &[Expr<'s>]) {
        self.put(open);
        for item in items {
            self.expression(item);
            self.put(",");
        }
        self.put(")");
    }

    fn arguments(&mut self, arguments: &[Argument<'s>]) {
        self.put("(");
        for argument in arguments {
            match argument {
                Argument::Positional(_) => {}
                Argument::Keyword(name, _) => {
                    self.put(name);
                    self.put("=");
                }
                Argument::Spread(_) => self.put("*"),
                Argument::KeywordSpread(_) => self.put("**"),
            }
            self.expression(argument.value());
            self.put(",");
        }
        self.put(")");
    }

    fn literal(&mut self, literal: &Literal) {
        match literal {
            Literal::None => self.put("none"),
            Literal::Bool(value) => self.put(if *value { "true" } else { "false" }),
            Literal::Int(digits) | Literal::Float(digits) => self.put(digits),
            Literal::Str(text) => self.quoted(text),
        }
    }

    fn expression(&mut self, expression: &Expr<'s>) {
        if let Some(text) = constant_text(expression) {
            return self.quoted(&text);
        }
        match &expression.kind {
            ExprKind::Name(name) => self.name(name),
            ExprKind::Literal(constant) => self.literal(constant),
            ExprKind::List(items) => self.list("list(", items),
            ExprKind::Tuple(items) => self.list("tuple(", items),
            ExprKind::Dict(entries) => {
                self.put("dict(");
                for (key, value) in entries {
                    self.expression(key);
                    self.put(":");
                    self.expression(value);
                    self.put(",");
                }
                self.put(")");
            }
            ExprKind::Unary(operator, operand) => {
                self.put(match operator {
                    UnaryOp::Not => "not(",
                    UnaryOp::Neg => "neg(",
                    UnaryOp::Pos => "pos(",
                });
                self.expression(operand);
                self.put(")");
            }
            ExprKind::Binary(operator, operands) => {
                let _ = write!(self.out, "{operator:?}(");
                self.expression(&operands.0);
                self.put(",");
                self.expression(&operands.1);
                self.put(")");
            }
            ExprKind::Compare(first, rest) => self.comparison(first, rest),
            ExprKind::Concat(parts) => self.list("text(", parts),
            ExprKind::Condition { test, then, otherwise } => {
                match (constant_truth(test), otherwise) {
                    (Some(true), _) => return self.expression(then),
                    (Some(false), Some(otherwise)) => return self.expression(otherwise),
                    _ => {}
                }
                self.put("choose(");
                self.expression(test);
                self.put(",");
                self.expression(then);
                self.put(",");
                if let Some(otherwise) = otherwise {
                    self.expression(otherwise);
                }
                self.put(")");
            }
            operation => self.operation(operation),
        }
    }

    /// An expression that looks into another one, calls, filters or tests it.
    fn operation(&mut self, kind: &ExprKind<'s>) {
        match kind {
            ExprKind::Attribute(of, name) => self.lookup(of, name, true),
            ExprKind::Item(of, key) => match &key.kind {
                ExprKind::Literal(Literal::Str(name)) => self.lookup(of, name, false),
                _ => {
                    self.expression(of);
                    self.put("[");
                    self.expression(key);
                    self.put("]");
                }
            },
            ExprKind::Slice(of, bounds) => {
                self.expression(of);
                self.put("[");
                for bound in bounds.iter() {
                    if let Some(bound) = bound {
                        self.expression(bound);
                    }
                    self.put(":");
                }
                self.put("]");
            }
            ExprKind::Call(of, arguments) => {
                match &of.kind {
                    // A method is no key, however it is called.
                    ExprKind::Attribute(on, name) => {
                        self.expression(on);
                        self.put(".");
                        self.put(name);
                    }
                    _ => self.expression(of),
                }
                self.arguments(arguments);
            }
            ExprKind::Filter(of, name, arguments) => {
                if let Some(of) = of {
                    self.expression(of);
                }
                let _ = write!(self.out, "|{name}");
                self.arguments(arguments);
            }
            ExprKind::Test(of, name, arguments) => {
                let (name, is_negative) = if name == "undefined" { ("defined", true) } else { (name.as_str(), false) };
                self.put(if is_negative { "not((" } else { "(" });
                self.expression(of);
                let _ = write!(self.out, " is {name}");
                self.arguments(arguments);
                self.put(if is_negative { "))" } else { ")" });
            }
            _ => {}
        }
    }

    /// A key is the same by either spelling unless it is also a method.
    fn lookup(&mut self, of: &Expr<'s>, name: &str, is_attribute: bool) {
        self.expression(of);
        let is_special = (self.is_method)(name) || name.starts_with('_');
        self.put(if is_special && is_attribute { "." } else { ":" });
        self.quoted(name);
    }

    /// `a != b` is `not a == b`, `a in ['x']` is `a == 'x'`, and the sides of `==` have no order.
    fn comparison(&mut self, first: &Expr<'s>, rest: &[(CompareOp, Expr<'s>)]) {
        let [(operator, second)] = rest else {
            self.put("compare(");
            self.expression(first);
            for (operator, operand) in rest {
                let _ = write!(self.out, " {operator:?} ");
                self.expression(operand);
            }
            return self.put(")");
        };
        let is_negative = matches!(operator, CompareOp::Ne | CompareOp::NotIn);
        let one_of = match (operator, &second.kind) {
            (CompareOp::In | CompareOp::NotIn, ExprKind::List(items) | ExprKind::Tuple(items)) => {
                match items.as_slice() {
                    [only] if matches!(only.kind, ExprKind::Literal(_)) => Some(only),
                    _ => None,
                }
            }
            _ => None,
        };
        let is_equality = one_of.is_some() || matches!(operator, CompareOp::Eq | CompareOp::Ne);
        self.put(if is_negative { "not((" } else { "(" });
        let second = one_of.unwrap_or(second);
        // Names get their numbers in the order of the source.
        let (left, right) =
            (self.apart(|writer| writer.expression(first)), self.apart(|writer| writer.expression(second)));
        let (relation, swaps) = match operator {
            _ if is_equality => ("==", right < left),
            CompareOp::In | CompareOp::NotIn => ("in", false),
            CompareOp::Gt => ("<", true),
            CompareOp::Ge => ("<=", true),
            CompareOp::Lt => ("<", false),
            _ => ("<=", false),
        };
        let (left, right) = if swaps { (right, left) } else { (left, right) };
        let close = if is_negative { "))" } else { ")" };
        let _ = write!(self.out, "{left} {relation} {right}{close}");
    }
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn one_program_has_one_text_however_it_is_written() {
        let text = |source: &str| canonical(source, |name| name == "items").unwrap();
        for (one, other, is_same) in [
            (
                "{% for m in messages %}{{ m.a }}{% endfor %}",
                "{%- for x in messages -%}\n{{- x['a'] -}}{# note #}{% endfor %}",
                true,
            ),
            ("{{ 'a' + 'b' }}c", "abc", true),
            ("{{ 'a' ~ x }}", "a{{ x }}", true),
            ("{{ 'a' + x }}", "a{{ x }}", false),
            ("{% if a != 'x' %}y{% endif %}", "{% if not 'x' == a %}y{% endif %}", true),
            ("{% if a in ['x'] %}y{% endif %}", "{% if a == 'x' %}y{% endif %}", true),
            ("{% if a is undefined %}y{% endif %}", "{% if a is not defined %}y{% endif %}", true),
            ("{% if false %}x{% endif %}y", "y", true),
            ("{{ m.items }}", "{{ m['items'] }}", false),
            // What a caller may set is not renamed.
            ("{{ a }}", "{{ b }}", false),
            (
                "{% if a is defined %}{% set a = 1 %}{% endif %}",
                "{% if b is defined %}{% set b = 1 %}{% endif %}",
                false,
            ),
            (
                "{% macro f(x) %}{{ x }}{% endmacro %}{{ f(1) }}",
                "{% macro g(y) %}{{ y }}{% endmacro %}{{ g(1) }}",
                true,
            ),
            // A call names the parameter.
            (
                "{% macro f(x) %}{{ x }}{% endmacro %}{{ f(x=1) }}",
                "{% macro f(y) %}{{ y }}{% endmacro %}{{ f(x=1) }}",
                false,
            ),
            ("{% if a %}x{% endif %}", "{% if a %}x{% else %}{% endif %}", true),
            ("{% if a < b %}x{% endif %}", "{% if b > a %}x{% endif %}", true),
            ("{% if a < b %}x{% endif %}", "{% if a > b %}x{% endif %}", false),
        ] {
            assert_eq!(text(one) == text(other), is_same, "{one} / {other}\n{}\n{}", text(one), text(other));
        }
    }
}
