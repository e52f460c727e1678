//! The parts of a program: the expressions directly inside an expression, a link or a statement, and the assignments
//! to a variable.

use super::program::{
    Argument, Arguments, Body, Expression, ExpressionKind, Link, LinkKind, Slot, Statement, StatementKind, Target,
};

/// The expressions inside an expression.
pub(crate) fn parts(expression: &Expression) -> Vec<&Expression> {
    match &expression.kind {
        ExpressionKind::Constant(_)
        | ExpressionKind::Name(_)
        | ExpressionKind::Loop(..)
        | ExpressionKind::Defined(..)
        | ExpressionKind::Captured => Vec::new(),
        ExpressionKind::List(items) | ExpressionKind::Tuple(items) | ExpressionKind::Concat(items) => {
            items.iter().collect()
        }
        ExpressionKind::Dict(entries) => entries.iter().flat_map(|(key, value)| [key, value]).collect(),
        ExpressionKind::Not(operand) => vec![operand],
        ExpressionKind::And(operands) | ExpressionKind::Or(operands) => operands.iter().collect(),
        ExpressionKind::Compare(first, rest) => {
            std::iter::once(&**first).chain(rest.iter().map(|(_, operand)| operand)).collect()
        }
        ExpressionKind::Condition(condition) => {
            [&condition.test, &condition.then].into_iter().chain(&condition.otherwise).collect()
        }
        ExpressionKind::Chain(first, links) => {
            std::iter::once(&**first).chain(links.iter().flat_map(operands)).collect()
        }
    }
}

/// The expressions inside a link: what its operation takes besides the value before it.
pub(crate) fn operands(link: &Link) -> Vec<&Expression> {
    match &link.kind {
        LinkKind::Unary(_) | LinkKind::Attribute(_) => Vec::new(),
        LinkKind::Binary(_, right) | LinkKind::Add(right) | LinkKind::Item(right) => vec![right],
        LinkKind::Slice(bounds) => bounds.iter().flatten().collect(),
        LinkKind::Call(arguments)
        | LinkKind::Method(_, arguments)
        | LinkKind::Filter(_, _, arguments)
        | LinkKind::Test(_, _, arguments) => values(arguments),
    }
}

fn values(arguments: &Arguments) -> Vec<&Expression> {
    arguments.given.iter().map(value).collect()
}

fn value(argument: &Argument) -> &Expression {
    match argument {
        Argument::Positional(value)
        | Argument::Keyword(_, value)
        | Argument::Spread(value)
        | Argument::KeywordSpread(value) => value,
    }
}

/// The expressions inside a statement, but not inside the statements that it contains.
pub(crate) fn expressions(statement: &Statement) -> Vec<&Expression> {
    match &statement.kind {
        StatementKind::Output(value) | StatementKind::Set(_, value) | StatementKind::Recursive(value, _) => vec![value],
        StatementKind::Capture { filter, .. } => filter.iter().collect(),
        StatementKind::If { branches, .. } => branches.iter().map(|(test, _)| test).collect(),
        StatementKind::For(node) => std::iter::once(&node.over).chain(&node.only).collect(),
        StatementKind::With { bindings, .. } => bindings.iter().map(|(_, value)| value).collect(),
        StatementKind::Filter { filter, .. } => vec![filter],
        StatementKind::AutoEscape { enabled, .. } => vec![enabled],
        StatementKind::Text(_)
        | StatementKind::Macro(..)
        | StatementKind::Generation(_)
        | StatementKind::Block(..)
        | StatementKind::Refuse(_)
        | StatementKind::Break
        | StatementKind::Continue => Vec::new(),
    }
}

/// The bodies inside a statement.
fn bodies(statement: &Statement) -> Vec<&Body> {
    match &statement.kind {
        StatementKind::If { branches, otherwise } => branches.iter().map(|(_, body)| body).chain([otherwise]).collect(),
        StatementKind::For(node) => vec![&node.inside.body, &node.otherwise.body],
        StatementKind::Capture { inside, .. }
        | StatementKind::Generation(inside)
        | StatementKind::With { inside, .. }
        | StatementKind::Filter { inside, .. }
        | StatementKind::AutoEscape { inside, .. } => vec![&inside.body],
        _ => Vec::new(),
    }
}

/// The expressions that statements of a body, and of the bodies inside it, assign to a variable.
pub(crate) fn assigned(body: &Body, slot: Slot) -> Vec<&Expression> {
    let is_slot = |target: &Target| matches!(target, Target::Variable(known) if *known == slot);
    let mut found = Vec::new();
    for statement in body {
        match &statement.kind {
            StatementKind::Set(target, value) if is_slot(target) => found.push(value),
            StatementKind::With { bindings, .. } => {
                found.extend(bindings.iter().filter(|(target, _)| is_slot(target)).map(|(_, value)| value));
            }
            _ => {}
        }
        found.extend(bodies(statement).into_iter().flat_map(|inside| assigned(inside, slot)));
    }
    found
}
