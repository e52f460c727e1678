//! The engine that renders: a template is compiled to a program, which an evaluator runs within limits.

pub(crate) mod budget;
pub(crate) mod clock;
pub(crate) mod compile;
pub(crate) mod context;
pub(crate) mod detail_recorder;
pub(crate) mod evaluator;
pub(crate) mod limits;
pub(crate) mod outcome_recorder;
pub(crate) mod program;
pub(crate) mod read_recorder;
pub(crate) mod run;
pub(crate) mod strftime;
pub(crate) mod walk;
