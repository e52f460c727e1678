//! The rules, one file each: id, level, page, example and check. To add one, write its file and list it here.

mod schema_exploding_pattern;
mod schema_groups;
mod schema_is_ignored;
mod schema_keeps_stop;
mod schema_lone_call;
mod schema_misplaced_iterator;
mod schema_pattern;
mod schema_unread_key;

use super::subject::Subject;
use backchat_core::diagnostic::{Diagnostic, Rule};

/// What finds what a rule is about.
type Check = fn(&Subject<'_>, &Rule) -> Vec<Diagnostic>;

/// Every rule about response schemas, in the order of the ids.
pub(super) static CHECKS: [(&Rule, Check); 8] = [
    (&schema_is_ignored::RULE, schema_is_ignored::check),
    (&schema_pattern::RULE, schema_pattern::check),
    (&schema_groups::RULE, schema_groups::check),
    (&schema_misplaced_iterator::RULE, schema_misplaced_iterator::check),
    (&schema_unread_key::RULE, schema_unread_key::check),
    (&schema_exploding_pattern::RULE, schema_exploding_pattern::check),
    (&schema_keeps_stop::RULE, schema_keeps_stop::check),
    (&schema_lone_call::RULE, schema_lone_call::check),
];
