//! Problems that concern more than one body, and the policies that hold text until one is decided.
//!
//! Each decision is a function of the text from one position on, independent of how it is cut: it reads more as the
//! text grows, and waits until no continuation could change the answer. Without policies the same functions run where a
//! stretch of text ends.

mod bare_call;
mod call_run;
mod context;
mod gate;
mod growing_json;
mod later_closer;
mod ledger;
mod list;
mod markers;
mod steps;
mod stretch;
mod view;

pub(super) use context::Context;
pub(super) use gate::{Flow, Gate};
pub(super) use later_closer::LaterCloser;
pub(super) use ledger::Ledger;
pub(super) use stretch::Stretch;
pub(super) use view::View;
