//! The syntax tree as a list of nodes with their places, for programs that edit a template by its structure.

use std::ops::Range;

use super::syntax;
use super::syntax::tree::{
    Argument, BinaryOp, Body, CompareOp, Expr, ExprKind, Literal, Statement, StatementKind, Target, UnaryOp,
};

/// A statement or an expression of a template, and its bytes in the normalized source.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub kind: NodeKind,
    pub span: Range<usize>,
    /// The node directly around it, by its number.
    pub parent: Option<usize>,
    /// Whether only its truth matters: the test of a condition, or an operand of one.
    pub is_condition: bool,
}

/// One branch of an `if`; the last one has no test if it is the `else`.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    pub test: Option<Range<usize>>,
    /// From its first statement to its last one, if it has any.
    pub body: Option<Range<usize>>,
}

/// What a node is, with the places of the parts that edits need.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeKind {
    Text,
    Output,
    /// An assignment to a name, or to `namespace.name`.
    Set(String),
    If(Vec<Branch>),
    For {
        target: Option<String>,
        over: Range<usize>,
        body: Option<Range<usize>>,
    },
    Macro,
    /// Any other statement.
    Statement,
    Name(String),
    Str(String),
    /// `of.key` or `of['key']`
    Lookup {
        of: Range<usize>,
        key: String,
    },
    /// `left == right` or `left != right`
    Equals {
        left: Range<usize>,
        right: Range<usize>,
        negated: bool,
    },
    /// `item in of` or `item not in of`
    Member {
        item: Range<usize>,
        of: Range<usize>,
        negated: bool,
    },
    Test {
        of: Range<usize>,
        name: String,
    },
    Not,
    And,
    Or,
    /// `a if test else b`
    Choice,
    Filter {
        of: Option<Range<usize>>,
        name: String,
    },
    Call {
        name: Option<String>,
    },
    List,
    /// Any other expression.
    Expression,
}

/// The nodes of a normalized source, each after the one around it; none if it does not parse.
pub fn nodes(source: &str) -> Vec<Node> {
    let mut list = NodeList::default();
    if let Ok(body) = syntax::parse(source) {
        list.body(&body, None);
    }
    list.nodes
}

#[derive(Default)]
struct NodeList {
    nodes: Vec<Node>,
}

fn extent(body: &Body<'_>) -> Option<Range<usize>> {
    Some(body.first()?.span.start..body.last()?.span.end)
}

/// What an assignment sets, if that has one name.
fn assignment(target: &Target<'_>) -> NodeKind {
    match target {
        Target::Name(name) => NodeKind::Set((*name).to_owned()),
        Target::Field(namespace, name) => NodeKind::Set(format!("{namespace}.{name}")),
        Target::Tuple(_) => NodeKind::Statement,
    }
}

/// The branches of an `if`, in their order.
fn branches_of(branches: &[(Expr<'_>, Body<'_>)], otherwise: &Body<'_>) -> Vec<Branch> {
    let branch = |(test, body): &(Expr<'_>, Body<'_>)| Branch { test: Some(test.span.clone()), body: extent(body) };
    let last = (!otherwise.is_empty()).then(|| Branch { test: None, body: extent(otherwise) });
    branches.iter().map(branch).chain(last).collect()
}

/// A loop, with its variable if that has one name.
fn loop_over(target: &Target<'_>, over: &Expr<'_>, body: &Body<'_>) -> NodeKind {
    let target = match target.names().as_slice() {
        [name] => Some((*name).to_owned()),
        _ => None,
    };
    NodeKind::For { target, over: over.span.clone(), body: extent(body) }
}

impl NodeList {
    fn push(
        &mut self,
        kind: NodeKind,
        span: &Range<usize>,
        parent: Option<usize>,
        is_condition: bool,
    ) -> Option<usize> {
        self.nodes.push(Node { kind, span: span.clone(), parent, is_condition });
        Some(self.nodes.len() - 1)
    }

    fn body(&mut self, body: &Body<'_>, parent: Option<usize>) {
        for statement in body {
            self.statement(statement, parent);
        }
    }

    fn statement(&mut self, statement: &Statement<'_>, parent: Option<usize>) {
        let span = &statement.span;
        let push = |list: &mut Self, kind| list.push(kind, span, parent, false);
        match &statement.kind {
            StatementKind::Text(_) => {
                let _ = push(self, NodeKind::Text);
            }
            StatementKind::Output(value) => {
                let at = push(self, NodeKind::Output);
                self.expression(value, at, false);
            }
            StatementKind::Set(target, value) => {
                let at = push(self, assignment(target));
                self.expression(value, at, false);
            }
            StatementKind::If { branches, otherwise } => {
                let at = push(self, NodeKind::If(branches_of(branches, otherwise)));
                for (test, body) in branches {
                    self.expression(test, at, true);
                    self.body(body, at);
                }
                self.body(otherwise, at);
            }
            StatementKind::For { target, over, only, body, otherwise, .. } => {
                let at = push(self, loop_over(target, over, body));
                self.expression(over, at, false);
                only.iter().for_each(|only| self.expression(only, at, true));
                self.body(body, at);
                self.body(otherwise, at);
            }
            StatementKind::Macro { parameters, body, .. } => {
                let at = push(self, NodeKind::Macro);
                parameters
                    .iter()
                    .filter_map(|(_, value)| value.as_ref())
                    .for_each(|value| self.expression(value, at, false));
                self.body(body, at);
            }
            StatementKind::CallBlock { call: head, body, .. }
            | StatementKind::FilterBlock { filter: head, body }
            | StatementKind::AutoEscape { enabled: head, body } => self.block(span, parent, Some(head), body),
            StatementKind::With { bindings, body } => {
                self.block(span, parent, bindings.iter().map(|(_, value)| value), body);
            }
            StatementKind::SetBlock { filter, body, .. } => self.block(span, parent, filter, body),
            StatementKind::Generation(body) | StatementKind::Block { body, .. } => self.block(span, parent, None, body),
            StatementKind::Load(_) | StatementKind::Break | StatementKind::Continue => {
                let _ = push(self, NodeKind::Statement);
            }
        }
    }

    /// A statement of expressions and a body.
    fn block<'e, 's: 'e>(
        &mut self,
        span: &Range<usize>,
        parent: Option<usize>,
        heads: impl IntoIterator<Item = &'e Expr<'s>>,
        body: &Body<'_>,
    ) {
        let at = self.push(NodeKind::Statement, span, parent, false);
        heads.into_iter().for_each(|head| self.expression(head, at, false));
        self.body(body, at);
    }

    fn expression(&mut self, expression: &Expr<'_>, parent: Option<usize>, is_condition: bool) {
        let at = self.push(kind(expression), &expression.span, parent, is_condition);
        match &expression.kind {
            ExprKind::Condition { test, then, otherwise } => {
                self.expression(test, at, true);
                self.expression(then, at, is_condition);
                otherwise.iter().for_each(|otherwise| self.expression(otherwise, at, is_condition));
            }
            ExprKind::Binary(BinaryOp::And | BinaryOp::Or, operands) => {
                self.expression(&operands.0, at, is_condition);
                self.expression(&operands.1, at, is_condition);
            }
            ExprKind::Unary(UnaryOp::Not, operand) => self.expression(operand, at, true),
            ExprKind::Call(of, arguments) => {
                self.expression(of, at, false);
                arguments.iter().for_each(|argument: &Argument<'_>| self.expression(argument.value(), at, false));
            }
            _ => expression.children(&mut |child| self.expression(child, at, false)),
        }
    }
}

fn kind(expression: &Expr<'_>) -> NodeKind {
    match &expression.kind {
        ExprKind::Name(name) => NodeKind::Name((*name).to_owned()),
        ExprKind::Literal(Literal::Str(text)) => NodeKind::Str(text.clone()),
        ExprKind::Attribute(of, key) => NodeKind::Lookup { of: of.span.clone(), key: (*key).to_owned() },
        ExprKind::Item(of, key) => match &key.kind {
            ExprKind::Literal(Literal::Str(key)) => NodeKind::Lookup { of: of.span.clone(), key: key.clone() },
            _ => NodeKind::Expression,
        },
        ExprKind::Compare(first, rest) => match rest.as_slice() {
            [(op @ (CompareOp::Eq | CompareOp::Ne), second)] => {
                NodeKind::Equals { left: first.span.clone(), right: second.span.clone(), negated: *op == CompareOp::Ne }
            }
            [(op @ (CompareOp::In | CompareOp::NotIn), second)] => {
                NodeKind::Member { item: first.span.clone(), of: second.span.clone(), negated: *op == CompareOp::NotIn }
            }
            _ => NodeKind::Expression,
        },
        ExprKind::Test(of, name, _) => NodeKind::Test { of: of.span.clone(), name: name.clone() },
        ExprKind::Unary(UnaryOp::Not, _) => NodeKind::Not,
        ExprKind::Binary(BinaryOp::And, _) => NodeKind::And,
        ExprKind::Binary(BinaryOp::Or, _) => NodeKind::Or,
        ExprKind::Condition { .. } => NodeKind::Choice,
        ExprKind::Filter(of, name, _) => {
            NodeKind::Filter { of: of.as_ref().map(|of| of.span.clone()), name: name.clone() }
        }
        ExprKind::Call(of, _) => NodeKind::Call {
            name: match &of.kind {
                ExprKind::Name(name) => Some((*name).to_owned()),
                _ => None,
            },
        },
        ExprKind::List(_) | ExprKind::Tuple(_) => NodeKind::List,
        _ => NodeKind::Expression,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sources of the nodes that a test picks.
    fn picked(source: &str, pick: impl Fn(&Node) -> bool) -> Vec<&str> {
        nodes(source).iter().filter(|node| pick(node)).map(|node| &source[node.span.clone()]).collect()
    }

    #[test]
    fn conditions_are_the_tests_and_their_operands() {
        for (source, wanted) in [
            ("{% if a and not b %}{% elif c == 1 %}{% endif %}", vec!["a and not b", "a", "not b", "b", "c == 1"]),
            ("{{ x if y or z else w }}", vec!["y or z", "y", "z"]),
            ("{% for m in messages if m.a %}{% endfor %}", vec!["m.a"]),
            ("{{ a and b }}", vec![]),
        ] {
            assert_eq!(picked(source, |node| node.is_condition), wanted, "{source}");
        }
    }

    #[test]
    fn lookups_have_one_kind_however_they_are_written() {
        let source = "{{ m.role == 'x' }}{{ m['role'] in ['x'] }}{{ m[0] }}";
        let is_lookup = |node: &Node| matches!(&node.kind, NodeKind::Lookup { key, .. } if key == "role");
        assert_eq!(picked(source, is_lookup), ["m.role", "m['role']"]);
        assert_eq!(picked(source, |node| matches!(node.kind, NodeKind::Equals { .. })), ["m.role == 'x'"]);
        assert_eq!(picked(source, |node| matches!(node.kind, NodeKind::Member { .. })), ["m['role'] in ['x']"]);
    }

    #[test]
    fn every_branch_of_a_condition_has_its_extent() {
        let source = "{% if a %}b{% elif c %}{% else %}{{ d }}{% endif %}";
        let nodes = nodes(source);
        let Some(NodeKind::If(branches)) = nodes.first().map(|node| &node.kind) else { panic!("{nodes:?}") };
        let texts: Vec<_> = branches.iter().map(|branch| branch.body.clone().map(|body| &source[body])).collect();
        assert_eq!(texts, [Some("b"), None, Some("{{ d }}")]);
    }
}
