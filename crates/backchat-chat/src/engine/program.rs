//! A compiled chat template: names are resolved to slots, filters and tests to functions, constants to values.
//!
//! Chains such as `message.content | trim + '\n'` are flat, so that evaluating a long chain does not recurse.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use minijinja::Value;

use crate::builtins::filters::Filter;
use crate::builtins::functions;
use crate::builtins::tests::Test;
use crate::jinja::syntax::tree::{CompareOp, Spanned};
use crate::values::Result;

/// Functions of a program, by number; the first one is the template itself.
pub(crate) type FunctionId = usize;

#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) functions: Vec<Arc<Function>>,
    /// The variables it may look up in the context.
    pub(crate) context_names: Vec<Box<str>>,
    /// Its blocks, which `self` can call.
    pub(crate) blocks: Arc<HashMap<Box<str>, FunctionId>>,
    pub(crate) has_generation_blocks: bool,
}

impl Program {
    /// The name of a variable that it may look up in the context.
    pub(crate) fn context_name(&self, number: usize) -> &str {
        self.context_names.get(number).map_or("", |name| name)
    }
}

/// The template itself, a macro, the body of a call block, a block, or a recursive loop: anything with its own
/// variables in each run. The parameters are its first variables.
#[derive(Debug, Default)]
pub(crate) struct Function {
    /// The name of a macro or block.
    pub(crate) name: Option<Box<str>>,
    pub(crate) parameters: Vec<Parameter>,
    /// The variables for the arguments beyond its parameters, if it uses them.
    pub(crate) varargs: Option<Slot>,
    pub(crate) kwargs: Option<Slot>,
    pub(crate) caller: Option<Slot>,
    /// How many variables it has.
    pub(crate) slots: usize,
    /// Whether it declares functions: these see its variables, even after it has returned.
    pub(crate) declares: bool,
    /// Whether it is inside an `autoescape` block.
    pub(crate) may_escape: bool,
    pub(crate) body: Body,
}

impl Function {
    /// Its name in messages.
    pub(crate) fn described(&self) -> String {
        match &self.name {
            Some(name) => format!("the macro '{name}'"),
            None => "the body of the call block".to_owned(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: Box<str>,
    pub(crate) default: Option<Expression>,
}

/// A variable of a function.
pub(crate) type Slot = usize;
/// The variables of a scope, which are unset on entry.
pub(crate) type Scope = Range<Slot>;

/// A name: the variables it may refer to, innermost first, and what it refers to if none of them is set.
#[derive(Debug)]
pub(crate) struct Name {
    pub(crate) upvalues: Box<[Upvalue]>,
    pub(crate) otherwise: Otherwise,
}

/// A variable of an enclosing function, declared this many functions further out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Upvalue {
    pub(crate) out: usize,
    pub(crate) slot: Slot,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Otherwise {
    /// A variable of the context, by its number in [`Program::context_names`].
    Context(usize),
    /// A built-in function, unless the context has a variable of that name.
    Function(usize, functions::Function),
    /// `self`
    Blocks,
    /// Undefined: a variable of the template hides whatever the context has under this name.
    Nothing,
}

pub(crate) type Expression = Spanned<ExpressionKind>;

#[derive(Debug)]
pub(crate) enum ExpressionKind {
    Constant(Value),
    Name(Name),
    List(Box<[Expression]>),
    Tuple(Box<[Expression]>),
    Dict(Box<[(Expression, Expression)]>),
    Not(Box<Expression>),
    And(Vec<Expression>),
    Or(Vec<Expression>),
    Compare(Box<Expression>, Box<[(CompareOp, Expression)]>),
    /// `a ~ b ~ …`
    Concat(Box<[Expression]>),
    Condition(Box<Condition>),
    /// A field such as `loop.index`, of the loop at this depth inside its function.
    Loop(usize, LoopField),
    /// `name is defined`, or not.
    Defined(Name, bool),
    /// The text that a filter or set block captured.
    Captured,
    /// A value and the operations applied to it in order.
    Chain(Box<Expression>, Vec<Link>),
}

#[derive(Debug)]
pub(crate) struct Condition {
    pub(crate) test: Expression,
    pub(crate) then: Expression,
    pub(crate) otherwise: Option<Expression>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoopField {
    Index,
    Index0,
    RevIndex,
    RevIndex0,
    First,
    Last,
    Length,
    Depth,
    Depth0,
    PrevItem,
    NextItem,
}

impl LoopField {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "index" => Self::Index,
            "index0" => Self::Index0,
            "revindex" => Self::RevIndex,
            "revindex0" => Self::RevIndex0,
            "first" => Self::First,
            "last" => Self::Last,
            "length" => Self::Length,
            "depth" => Self::Depth,
            "depth0" => Self::Depth0,
            "previtem" => Self::PrevItem,
            "nextitem" => Self::NextItem,
            _ => return None,
        })
    }
}

/// One step of a chain; its span is that of the expression up to here.
pub(crate) type Link = Spanned<LinkKind>;

#[derive(Debug)]
pub(crate) enum LinkKind {
    Unary(fn(&Value) -> Result<Value>),
    Binary(fn(&Value, &Value) -> Result<Value>, Expression),
    /// `a + b`, whose parts are printed one by one if nothing else is done with the sum.
    Add(Expression),
    Attribute(Attribute),
    Item(Expression),
    Slice(Box<[Option<Expression>; 3]>),
    Call(Arguments),
    Method(Attribute, Arguments),
    Filter(Option<Filter>, Box<str>, Arguments),
    Test(Option<Test>, Box<str>, Arguments),
}

#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) name: Box<str>,
    /// Whether some type has a method with this name.
    pub(crate) is_method: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Arguments {
    pub(crate) given: Box<[Argument]>,
    /// The body of the call block that this call belongs to.
    pub(crate) caller: Option<FunctionId>,
}

#[derive(Debug)]
pub(crate) enum Argument {
    Positional(Expression),
    Keyword(Box<str>, Expression),
    Spread(Expression),
    KeywordSpread(Expression),
}

#[derive(Debug)]
pub(crate) enum Target {
    Variable(Slot),
    Tuple(Box<[Target]>),
    /// `namespace.name`
    Field(Name, Box<str>),
}

pub(crate) type Statement = Spanned<StatementKind>;
pub(crate) type Body = Vec<Statement>;

#[derive(Debug)]
pub(crate) enum StatementKind {
    Text(Box<str>),
    Output(Expression),
    Set(Target, Expression),
    /// Captures what its body prints, passes it through the filter, and assigns it.
    Capture {
        target: Target,
        filter: Option<Expression>,
        inside: Scoped,
    },
    If {
        branches: Box<[(Expression, Body)]>,
        otherwise: Body,
    },
    For(Box<For>),
    /// A recursive loop, which is a function of the iterated value.
    Recursive(Expression, FunctionId),
    Macro(Slot, FunctionId),
    Generation(Scoped),
    With {
        bindings: Box<[(Target, Expression)]>,
        inside: Scoped,
    },
    Filter {
        filter: Expression,
        inside: Scoped,
    },
    AutoEscape {
        enabled: Expression,
        inside: Scoped,
    },
    /// A block, and whether it sees the variables around it.
    Block(FunctionId, bool),
    /// A tag that chat templates cannot use.
    Refuse(Box<str>),
    Break,
    Continue,
}

/// A body with its own variables.
#[derive(Debug)]
pub(crate) struct Scoped {
    pub(crate) scope: Scope,
    pub(crate) body: Body,
}

#[derive(Debug)]
pub(crate) struct For {
    pub(crate) target: Target,
    pub(crate) over: Expression,
    pub(crate) only: Option<Expression>,
    /// The variable `loop`, if it is used as a whole or from another function.
    pub(crate) object: Option<Slot>,
    /// The function that `loop(…)` calls, in the loop of that function.
    pub(crate) recursive: Option<FunctionId>,
    pub(crate) inside: Scoped,
    pub(crate) otherwise: Scoped,
}
