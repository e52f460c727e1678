//! The engine that renders: minijinja with Python's values, the limits, and the state of one render.

pub(crate) mod context;
pub(crate) mod environment;
pub(crate) mod limits;
pub(crate) mod macro_varargs;
pub(crate) mod now;
pub(crate) mod own_blocks;
pub(crate) mod printed;
pub(crate) mod read_recorder;
pub(crate) mod run;
