//! The branches of a template: its conditions and loops, and which part of it runs after which outcome.
//!
//! Outcomes are those that renders report: `a != b` and `a not in b` have the outcome of the positive relation, and
//! the operands of `and` and `or` are conditions of their own.

use std::collections::HashMap;
use std::ops::Range;

use super::syntax;
use super::syntax::tree::{
    BinaryOp, Body, CompareOp, Expr, ExprKind, Literal, Span, Statement, StatementKind, Target, UnaryOp,
};
use backchat_core::text::slice;

/// A condition or a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branching {
    /// Bytes of the normalized source: the condition, or what the loop iterates over.
    pub span: Range<usize>,
    pub is_loop: bool,
    /// Whether only constants of the template decide it.
    pub is_fixed: bool,
    /// Whether renders report the opposite of what is written: `a != b`, `a not in b`, `a is not b`.
    pub is_inverted: bool,
}

/// A part of a template that runs after one outcome of several conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branched {
    /// Bytes of the normalized source.
    pub span: Range<usize>,
    /// Conditions and their outcomes; any of them means that it ran.
    pub after: Vec<(Range<usize>, bool)>,
    /// Whether constants of the template decide that it never runs, or always.
    pub is_fixed: bool,
}

/// The branches of a template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Branches {
    /// In the order of the source.
    pub conditions: Vec<Branching>,
    /// Each after the one around it.
    pub parts: Vec<Branched>,
}

/// The branches of a normalized source; none if it does not parse.
pub fn branches(source: &str) -> Branches {
    let Ok(body) = syntax::parse(source) else { return Branches::default() };
    let mut finder = Finder { source, constants: constants(&body), found: Branches::default() };
    finder.body(&body);
    finder.found
}

/// The names that are bound once, by an outermost `set`, to a constant, and where.
fn constants<'s>(body: &Body<'s>) -> HashMap<&'s str, usize> {
    let mut bound: HashMap<&str, usize> = HashMap::new();
    count_bindings(body, &mut bound);
    let outermost = body.iter().filter_map(|statement| match &statement.kind {
        StatementKind::Set(Target::Name(name), value) if is_constant(value) => Some((*name, statement.span.end)),
        _ => None,
    });
    outermost.filter(|(name, _)| bound.get(name) == Some(&1)).collect()
}

/// Whether a value is written out: a literal, or a list or dictionary of constants.
fn is_constant(value: &Expr<'_>) -> bool {
    let mut constant =
        matches!(value.kind, ExprKind::Literal(_) | ExprKind::List(_) | ExprKind::Tuple(_) | ExprKind::Dict(_));
    value.children(&mut |child| constant &= is_constant(child));
    constant
}

fn count_bindings<'s>(body: &Body<'s>, bound: &mut HashMap<&'s str, usize>) {
    let mut bind = |names: Vec<&'s str>| names.into_iter().for_each(|name| *bound.entry(name).or_insert(0) += 1);
    for statement in body {
        match &statement.kind {
            StatementKind::Set(target, _)
            | StatementKind::SetBlock { target, .. }
            | StatementKind::For { target, .. } => {
                bind(target.names());
            }
            StatementKind::Macro { parameters, name, .. } => {
                bind(parameters.iter().map(|(name, _)| *name).chain([*name]).collect());
            }
            StatementKind::CallBlock { parameters, .. } => bind(parameters.iter().map(|(name, _)| *name).collect()),
            StatementKind::With { bindings, .. } => {
                bindings.iter().for_each(|(target, _)| bind(target.names()));
            }
            _ => {}
        }
    }
    for statement in body {
        bodies(statement).into_iter().for_each(|body| count_bindings(body, bound));
    }
}

/// The bodies directly within a statement.
fn bodies<'b, 's>(statement: &'b Statement<'s>) -> Vec<&'b Body<'s>> {
    match &statement.kind {
        StatementKind::If { branches, otherwise } => branches.iter().map(|(_, body)| body).chain([otherwise]).collect(),
        StatementKind::For { body, otherwise, .. } => vec![body, otherwise],
        StatementKind::SetBlock { body, .. }
        | StatementKind::Macro { body, .. }
        | StatementKind::CallBlock { body, .. }
        | StatementKind::Generation(body)
        | StatementKind::With { body, .. }
        | StatementKind::FilterBlock { body, .. }
        | StatementKind::AutoEscape { body, .. }
        | StatementKind::Block { body, .. } => vec![body],
        _ => Vec::new(),
    }
}

struct Finder<'s> {
    source: &'s str,
    constants: HashMap<&'s str, usize>,
    found: Branches,
}

/// The recorded outcomes of which any means that an expression has this truth.
fn outcomes(expression: &Expr<'_>, truth: bool, found: &mut Vec<(Range<usize>, bool)>) {
    match &expression.kind {
        ExprKind::Unary(UnaryOp::Not, operand) => outcomes(operand, !truth, found),
        ExprKind::Binary(operator @ (BinaryOp::And | BinaryOp::Or), operands) => {
            // The last operand runs only if the others did not decide.
            let decides_alone = (*operator == BinaryOp::Or) == truth;
            if decides_alone {
                outcomes(&operands.0, truth, found);
            }
            outcomes(&operands.1, truth, found);
        }
        _ => found.push((expression.span.clone(), truth != is_inverted(expression))),
    }
}

/// Whether renders report the opposite of its truth.
fn is_inverted(expression: &Expr<'_>) -> bool {
    match &expression.kind {
        ExprKind::Compare(_, rest) => matches!(rest.as_slice(), [(CompareOp::Ne | CompareOp::NotIn, _)]),
        ExprKind::Test(of, name, _) => name == "undefined" && matches!(of.kind, ExprKind::Name(_)),
        _ => false,
    }
}

impl<'s> Finder<'s> {
    fn body(&mut self, body: &Body<'s>) {
        body.iter().for_each(|statement| self.statement(statement));
    }

    fn part(&mut self, span: Option<Span>, after: Vec<(Range<usize>, bool)>, is_fixed: bool) {
        if let Some(span) = span {
            self.found.parts.push(Branched { span, after, is_fixed });
        }
    }

    fn statement(&mut self, statement: &Statement<'s>) {
        match &statement.kind {
            StatementKind::If { branches, otherwise } => self.conditional(branches, otherwise),
            StatementKind::For { over, only, body, otherwise, .. } => {
                self.expression(over);
                only.iter().for_each(|only| self.condition(only));
                let is_fixed = self.is_fixed(over);
                let span = over.span.clone();
                self.found.conditions.push(Branching { span, is_loop: true, is_fixed, is_inverted: false });
                for (body, outcome) in [(body, true), (otherwise, false)] {
                    self.part(extent(body), vec![(over.span.clone(), outcome)], is_fixed);
                    self.body(body);
                }
            }
            kind => {
                match kind {
                    StatementKind::Output(value) | StatementKind::Set(_, value) => self.expression(value),
                    StatementKind::SetBlock { filter, .. } => {
                        filter.iter().for_each(|filter| self.expression(filter));
                    }
                    StatementKind::Macro { parameters, .. } => {
                        parameters
                            .iter()
                            .filter_map(|(_, value)| value.as_ref())
                            .for_each(|value| self.expression(value));
                    }
                    StatementKind::CallBlock { call: head, .. }
                    | StatementKind::FilterBlock { filter: head, .. }
                    | StatementKind::AutoEscape { enabled: head, .. } => self.expression(head),
                    StatementKind::With { bindings, .. } => {
                        bindings.iter().for_each(|(_, value)| self.expression(value));
                    }
                    _ => {}
                }
                bodies(statement).into_iter().for_each(|body| self.body(body));
            }
        }
    }

    fn conditional(&mut self, branches: &[(Expr<'s>, Body<'s>)], otherwise: &Body<'s>) {
        let mut all_fixed = true;
        for (test, body) in branches {
            self.condition(test);
            all_fixed &= self.is_fixed(test);
            let mut after = Vec::new();
            outcomes(test, true, &mut after);
            self.part(extent(body), after, self.is_fixed(test));
            self.body(body);
        }
        let mut after = Vec::new();
        if let Some((last, _)) = branches.last() {
            outcomes(last, false, &mut after);
        }
        self.part(extent(otherwise), after, all_fixed);
        self.body(otherwise);
    }

    /// An expression whose truth decides.
    fn condition(&mut self, expression: &Expr<'s>) {
        match &expression.kind {
            ExprKind::Unary(UnaryOp::Not, operand) => self.condition(operand),
            ExprKind::Binary(operator @ (BinaryOp::And | BinaryOp::Or), operands) => {
                self.condition(&operands.0);
                self.second(&operands.0, &operands.1, *operator);
                self.condition(&operands.1);
            }
            _ => {
                let is_fixed = self.is_fixed(expression);
                let is_inverted = is_inverted(expression) != self.says_is_not(expression);
                let span = expression.span.clone();
                self.found.conditions.push(Branching { span, is_loop: false, is_fixed, is_inverted });
                self.expression(expression);
            }
        }
    }

    /// Whether a test is written with the `not` around it: `a is not b` is `not (a is b)`, and its span is that of both.
    fn says_is_not(&self, expression: &Expr<'s>) -> bool {
        let ExprKind::Test(of, ..) = &expression.kind else { return false };
        let words = slice(self.source, of.span.end..expression.span.end);
        words.split_whitespace().take(2).eq(["is", "not"])
    }

    /// The second operand of `and` or `or` runs after one outcome of the first.
    fn second(&mut self, first: &Expr<'s>, second: &Expr<'s>, operator: BinaryOp) {
        let mut after = Vec::new();
        outcomes(first, operator == BinaryOp::And, &mut after);
        self.part(Some(second.span.clone()), after, self.is_fixed(first));
    }

    fn expression(&mut self, expression: &Expr<'s>) {
        match &expression.kind {
            ExprKind::Condition { test, then, otherwise } => {
                self.condition(test);
                for (part, truth) in [(Some(then), true), (otherwise.as_ref(), false)] {
                    let Some(part) = part else { continue };
                    let mut after = Vec::new();
                    outcomes(test, truth, &mut after);
                    self.part(Some(part.span.clone()), after, self.is_fixed(test));
                    self.expression(part);
                }
            }
            ExprKind::Binary(operator @ (BinaryOp::And | BinaryOp::Or), operands) => {
                self.condition(&operands.0);
                self.second(&operands.0, &operands.1, *operator);
                self.expression(&operands.1);
            }
            ExprKind::Unary(UnaryOp::Not, operand) => self.condition(operand),
            _ => expression.children(&mut |child| self.expression(child)),
        }
    }

    /// Whether only constants decide the value.
    fn is_fixed(&self, expression: &Expr<'s>) -> bool {
        match &expression.kind {
            ExprKind::Literal(
                Literal::None | Literal::Bool(_) | Literal::Int(_) | Literal::Float(_) | Literal::Str(_),
            ) => true,
            ExprKind::Name(name) => self.constants.get(name).is_some_and(|set| *set <= expression.span.start),
            ExprKind::Call(..) => false,
            ExprKind::List(_) | ExprKind::Tuple(_) | ExprKind::Dict(_) if is_constant(expression) => true,
            _ => {
                let (mut count, mut fixed) = (0, true);
                expression.children(&mut |child| {
                    count += 1;
                    fixed &= self.is_fixed(child);
                });
                count > 0 && fixed
            }
        }
    }
}

fn extent(body: &Body<'_>) -> Option<Range<usize>> {
    Some(body.first()?.span.start..body.last()?.span.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_negated_condition_is_the_opposite_of_what_renders_report() {
        for (condition, is_inverted) in [
            ("a == 1", false),
            ("a != 1", true),
            ("not (a != 1)", true),
            ("a in b", false),
            ("a not in b", true),
            ("not a in b", false),
            ("a is none", false),
            ("a.b is not none", true),
            ("not (a.b is none)", false),
            ("(a is not defined)", true),
            ("a is undefined", true),
            ("a is not undefined", false),
            ("a < 1", false),
        ] {
            let found = branches(&format!("{{% if {condition} %}}x{{% endif %}}"));
            let inverted: Vec<bool> = found.conditions.iter().map(|condition| condition.is_inverted).collect();
            assert_eq!(inverted, [is_inverted], "{condition}");
        }
    }

    #[test]
    fn conditions_are_the_operands_and_parts_run_after_their_outcomes() {
        let shown = |source: &str| {
            let found = branches(source);
            let conditions: Vec<String> = found
                .conditions
                .iter()
                .map(|one| format!("{}{}", &source[one.span.clone()], if one.is_fixed { " fixed" } else { "" }))
                .collect();
            let parts: Vec<String> = found
                .parts
                .iter()
                .map(|part| {
                    let after: Vec<String> = part
                        .after
                        .iter()
                        .map(|(span, outcome)| format!("{} {outcome}", &source[span.clone()]))
                        .collect();
                    format!("{} <- {}", &source[part.span.clone()], after.join(" | "))
                })
                .collect();
            (conditions.join("; "), parts.join("; "))
        };
        for (source, conditions, parts) in [
            ("{% if a %}b{% else %}c{% endif %}", "a", "b <- a true; c <- a false"),
            ("{% if a != 1 and b %}c{% endif %}", "a != 1; b", "b <- a != 1 false; c <- b true"),
            ("{% if not (a or b) %}c{% endif %}", "a; b", "b <- a false; c <- b false"),
            ("{{ x if y else z }}", "y", "x <- y true; z <- y false"),
            ("{{ x or y }}", "x", "y <- x false"),
            ("{% for m in ms %}{{ m }}{% endfor %}", "ms", "{{ m }} <- ms true"),
            ("{% set d = false %}{% if d %}x{% endif %}", "d fixed", "x <- d true"),
            ("{% set d = [] %}{% for x in d %}x{% endfor %}", "d fixed", "x <- d true"),
            (
                "{% set d = false %}{% if q %}{% set d = true %}{% endif %}{% if d %}x{% endif %}",
                "q; d",
                "{% set d = true %} <- q true; x <- d true",
            ),
        ] {
            assert_eq!(shown(source), (conditions.to_owned(), parts.to_owned()), "{source}");
        }
    }
}
