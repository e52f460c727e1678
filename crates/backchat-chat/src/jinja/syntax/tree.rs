//! The syntax tree of a template.

use std::ops::Range;

pub(crate) type Span = Range<usize>;

/// A node, and the bytes of the source it was read from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spanned<K> {
    pub(crate) kind: K,
    pub(crate) span: Span,
}

pub(crate) type Expr<'s> = Spanned<ExprKind<'s>>;
pub(crate) type Statement<'s> = Spanned<StatementKind<'s>>;
pub(crate) type Body<'s> = Vec<Statement<'s>>;

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    None,
    Bool(bool),
    /// Its digits, in any base the engine reads.
    Int(String),
    Float(String),
    Str(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Rem,
    Pow,
    And,
    Or,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompareOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    In,
    NotIn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnaryOp {
    Not,
    Neg,
    Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ExprKind<'s> {
    Name(&'s str),
    Literal(Literal),
    List(Vec<Expr<'s>>),
    Tuple(Vec<Expr<'s>>),
    Dict(Vec<(Expr<'s>, Expr<'s>)>),
    Unary(UnaryOp, Box<Expr<'s>>),
    Binary(BinaryOp, Box<(Expr<'s>, Expr<'s>)>),
    Compare(Box<Expr<'s>>, Vec<(CompareOp, Expr<'s>)>),
    /// `a ~ b ~ …`
    Concat(Vec<Expr<'s>>),
    Condition {
        test: Box<Expr<'s>>,
        then: Box<Expr<'s>>,
        otherwise: Option<Box<Expr<'s>>>,
    },
    Attribute(Box<Expr<'s>>, &'s str),
    Item(Box<Expr<'s>>, Box<Expr<'s>>),
    Slice(Box<Expr<'s>>, Box<[Option<Expr<'s>>; 3]>),
    Call(Box<Expr<'s>>, Vec<Argument<'s>>),
    /// The value is absent at the head of a filter block.
    Filter(Option<Box<Expr<'s>>>, String, Vec<Argument<'s>>),
    Test(Box<Expr<'s>>, String, Vec<Argument<'s>>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Argument<'s> {
    Positional(Expr<'s>),
    Keyword(&'s str, Expr<'s>),
    Spread(Expr<'s>),
    KeywordSpread(Expr<'s>),
}

impl<'s> Argument<'s> {
    pub(crate) fn value(&self) -> &Expr<'s> {
        match self {
            Self::Positional(value) | Self::Keyword(_, value) | Self::Spread(value) | Self::KeywordSpread(value) => {
                value
            }
        }
    }
}

/// The target of an assignment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Target<'s> {
    Name(&'s str),
    Tuple(Vec<Target<'s>>),
    /// `namespace.name`
    Field(&'s str, &'s str),
}

impl<'s> Target<'s> {
    /// The names it binds.
    pub(crate) fn names(&self) -> Vec<&'s str> {
        match self {
            Target::Name(name) => vec![name],
            Target::Tuple(parts) => parts.iter().flat_map(Target::names).collect(),
            Target::Field(..) => Vec::new(),
        }
    }
}

/// A macro's or call block's parameters, each with its default.
pub(crate) type Parameters<'s> = Vec<(&'s str, Option<Expr<'s>>)>;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StatementKind<'s> {
    Text(&'s str),
    Output(Expr<'s>),
    Set(Target<'s>, Expr<'s>),
    SetBlock {
        target: Target<'s>,
        filter: Option<Expr<'s>>,
        body: Body<'s>,
    },
    If {
        branches: Vec<(Expr<'s>, Body<'s>)>,
        otherwise: Body<'s>,
    },
    For {
        target: Target<'s>,
        over: Expr<'s>,
        only: Option<Expr<'s>>,
        recursive: bool,
        body: Body<'s>,
        otherwise: Body<'s>,
    },
    Macro {
        name: &'s str,
        parameters: Parameters<'s>,
        body: Body<'s>,
    },
    CallBlock {
        parameters: Parameters<'s>,
        call: Expr<'s>,
        body: Body<'s>,
    },
    Generation(Body<'s>),
    With {
        bindings: Vec<(Target<'s>, Expr<'s>)>,
        body: Body<'s>,
    },
    FilterBlock {
        filter: Expr<'s>,
        body: Body<'s>,
    },
    AutoEscape {
        enabled: Expr<'s>,
        body: Body<'s>,
    },
    Block {
        name: &'s str,
        /// Whether it sees the variables of the loops and macros around it.
        scoped: bool,
        /// Whether another template must override it.
        required: bool,
        body: Body<'s>,
    },
    /// A tag that would load another template; a chat template has none.
    Load(&'s str),
    Break,
    Continue,
}

impl<'s> Expr<'s> {
    /// Calls a visitor with every expression directly below this one.
    pub(crate) fn children<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr<'s>)) {
        match &self.kind {
            ExprKind::Name(_) | ExprKind::Literal(_) => {}
            ExprKind::List(items) | ExprKind::Tuple(items) | ExprKind::Concat(items) => items.iter().for_each(visit),
            ExprKind::Dict(entries) => {
                for (key, value) in entries {
                    visit(key);
                    visit(value);
                }
            }
            ExprKind::Unary(_, operand) | ExprKind::Attribute(operand, _) => visit(operand),
            ExprKind::Binary(_, operands) => {
                visit(&operands.0);
                visit(&operands.1);
            }
            ExprKind::Compare(first, rest) => {
                visit(first);
                rest.iter().for_each(|(_, operand)| visit(operand));
            }
            ExprKind::Condition { test, then, otherwise } => {
                visit(test);
                visit(then);
                otherwise.iter().for_each(|otherwise| visit(otherwise));
            }
            ExprKind::Item(of, key) => {
                visit(of);
                visit(key);
            }
            ExprKind::Slice(of, bounds) => {
                visit(of);
                bounds.iter().flatten().for_each(visit);
            }
            ExprKind::Call(of, arguments) | ExprKind::Test(of, _, arguments) => {
                visit(of);
                arguments.iter().for_each(|argument| visit(argument.value()));
            }
            ExprKind::Filter(of, _, arguments) => {
                of.iter().for_each(|of| visit(of));
                arguments.iter().for_each(|argument| visit(argument.value()));
            }
        }
    }
}
