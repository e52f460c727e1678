//! The names that lowering writes and the engine answers to.

/// The variable under which the context answers for itself.
pub(crate) const CONTEXT: &str = "__context__";
/// The context's method that writes a generation block.
pub(crate) const GENERATION: &str = "__generation__";
/// The namespace's method that sets a name.
pub(crate) const ASSIGN: &str = "__assign__";
/// The variable `self` of a template that binds that name itself: the engine does not allow the name.
pub(crate) const BOUND_SELF: &str = "__self__";
/// The variable that holds the text a set block captured for a namespace.
pub(crate) const GATHERED: &str = "__gathered__";

// Filters.

/// `a + b`
pub(crate) const ADD: &str = "__add__";
/// `a - b`
pub(crate) const SUB: &str = "__sub__";
/// `a * b`
pub(crate) const MUL: &str = "__mul__";
/// `a / b`
pub(crate) const DIV: &str = "__div__";
/// `a // b`
pub(crate) const FLOOR_DIV: &str = "__floordiv__";
/// `a % b`
pub(crate) const REM: &str = "__rem__";
/// `a ** b`
pub(crate) const POW: &str = "__pow__";
/// `a == b`
pub(crate) const EQ: &str = "__eq__";
/// `a != b`
pub(crate) const NE: &str = "__ne__";
/// `a < b`
pub(crate) const LT: &str = "__lt__";
/// `a <= b`
pub(crate) const LE: &str = "__le__";
/// `a > b`
pub(crate) const GT: &str = "__gt__";
/// `a >= b`
pub(crate) const GE: &str = "__ge__";
/// `a in b`
pub(crate) const IN: &str = "__in__";
/// `a not in b`
pub(crate) const NOT_IN: &str = "__notin__";
/// `-a`
pub(crate) const NEG: &str = "__neg__";
/// `+a`
pub(crate) const POS: &str = "__pos__";
/// `a ~ b ~ …`
pub(crate) const CONCAT: &str = "__concat__";
/// `a + b`, if it is printed and nothing else.
pub(crate) const ADD_PRINTED: &str = "__add_printed__";
/// `a ~ b ~ …`, if it is printed and nothing else.
pub(crate) const CONCAT_PRINTED: &str = "__concat_printed__";
/// `[…]` with items that are not constant.
pub(crate) const LIST: &str = "__list__";
/// `(…)`
pub(crate) const TUPLE: &str = "__tuple__";
/// `{…}`, from keys and values in turn.
pub(crate) const DICT: &str = "__dict__";
/// `a.name`, if that may be a method.
pub(crate) const ATTRIBUTE: &str = "__attr__";
/// `a[b]`, if that may be a method or a character.
pub(crate) const ITEM: &str = "__item__";
/// `a[b:c:d]`
pub(crate) const SLICE: &str = "__slice__";
/// The items that a loop or an unpacking goes over.
pub(crate) const ITERATE: &str = "__iter__";
/// The items of a loop that unpacks each of them.
pub(crate) const ROWS: &str = "__rows__";
/// `x is defined`, of a variable by its name.
pub(crate) const DEFINED: &str = "__defined__";
/// A value as a bool.
pub(crate) const TRUTH: &str = "__truth__";
/// A value that is charged for with everything in it.
pub(crate) const WEIGHED: &str = "__weighed__";
/// A macro that takes more arguments than it has parameters.
pub(crate) const MACRO_VARARGS: &str = "__variadic__";
/// `self`, from the names of the template's blocks.
pub(crate) const OWN_BLOCKS: &str = "__self__";
/// Fails with the message it is applied to.
pub(crate) const REFUSE: &str = "__refuse__";
