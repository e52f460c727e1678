//! Which outcomes of a chat template's conditions some conversations have, and conversations for the others.
//!
//! [`Coverage`] collects what renders report. A [`Goal`] is an outcome that none of them had, or a filter that changed
//! nothing. [`suggestions`] are conversations that may reach it, made from the operands of the condition. [`lines`] shows a
//! chat template line by line.

mod goals;
mod lines;
mod listing;
mod places;
mod suggestions;

pub use goals::{Coverage, Goal, Sought};
pub use lines::{CoveredCondition, CoveredLine, lines};
pub use listing::{listing, summary};
pub use places::{Place, places};
pub use suggestions::{
    Form, Likeness, Offers, OtherTools, Suggested, UsualHistories, argument_keys, forms, is_about_kind, is_usual_role,
    mentions, offers, suggestions,
};
