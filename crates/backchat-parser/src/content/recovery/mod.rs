//! Finds problems of a call's body and applies policies. A policy acts only if strict parsing fails or a problem is
//! found: a body without problems is parsed the same with every policy.

mod call_form;
mod call_keys;
mod kind;
mod policy;
mod reading;
mod tags;
mod tolerant;
mod tool_name;
mod validate;

pub(crate) use call_form::{CallForm, CallPaths, path_of};
pub use kind::ProblemKind;
pub use policy::{Policies, RecoveryPolicy, UnknownPolicy};
pub(crate) use reading::{Deviation, ReadCalls, Request, read};
pub(crate) use tolerant::without_fence;
