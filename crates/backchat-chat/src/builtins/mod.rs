//! The built-in filters, tests, functions and methods.

pub(crate) mod filters;
pub(crate) mod functions;
pub(crate) mod methods;
pub(crate) mod names;
pub(crate) mod table;
pub(crate) mod tests;
