//! Fixtures, recorded outputs with their expected messages, and the results of checking templates against them.

mod causes;
mod chat_case;
mod counterexample;
pub mod fixture;
mod fixture_files;
mod golden;
mod grammar_case;
mod output_case;
mod pending;
mod reading;
mod record_cases;
mod repairs;
mod round_trip;
mod scaffold;
mod splits;
mod suite;
mod truncation;

pub use backchat_diff::messages::{Difference, differences};
pub use causes::{by_cause, cause};
pub use counterexample::counterexample;
pub use fixture_files::{fixture_files, holds_cases};
pub use golden::{Derived, check_derived, derived_files};
// For the command.
pub use output_case::{Settings, Verdict, check_case, check_schema_case};
pub use pending::{Pending, PendingSection, Which, written};
pub use reading::Reading;
pub use record_cases::{RecordCases, RecordNames, record_cases};
pub use repairs::{TemplateRepair, repairs};
pub use round_trip::Chat;
// For the command.
pub use scaffold::{Names, Scaffold, TRUNCATION_IS_KNOWN, errors_of_cases, failing, scaffold};
pub use suite::{Entry, Loaded, Meaning, Report, Status, failing_in, run};
