//! Fixtures, recorded outputs with the messages they mean, and what comes of checking templates against them.

mod chats;
mod compare;
mod constrained;
mod find;
pub mod fixture;
mod golden;
mod pending;
mod reading;
mod round_trip;
mod run;
mod scaffold;
mod slice;
mod splits;
mod suite;
mod truncation;

pub use compare::{Difference, differences};
pub use find::fixture_files;
pub use golden::{Derived, check_derived, derived_files};
// For the command.
#[doc(hidden)]
pub use pending::{Pending, Section, Which, written};
pub use reading::Reading;
pub use round_trip::Chat;
pub use run::{Settings, Verdict, check_case, check_schema_case};
// For the command.
#[doc(hidden)]
pub use scaffold::{Names, Scaffold, scaffold};
pub use suite::{Entry, Loaded, Meaning, Report, Status, run};
