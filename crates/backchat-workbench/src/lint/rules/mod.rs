//! The rules, one file each: id, level, page, example, check and fix. To add one, write its file and list it here.

mod broken_tool_loop;
mod chunk_dependent;
mod close_in_body;
mod close_in_string;
mod empty_match;
mod exploding_pattern;
mod forgeable_anchor;
mod history_drops_reasoning;
mod holds_message;
mod last_region_wins;
mod lost_content;
mod misread_braces;
mod misspelt_key;
mod misspelt_marker;
mod null_printed_as_none;
mod portable_pattern;
mod prefix_literal;
mod repeated_key;
mod schema_exploding_pattern;
mod schema_groups;
mod schema_is_ignored;
mod schema_keeps_stop;
mod schema_lone_call;
mod schema_misplaced_iterator;
mod schema_pattern;
mod schema_unread_key;
mod shadowed_capture;
mod stop_token_leaks;
mod target_caution;
pub(super) mod target_construct;
pub(super) mod target_field;
pub(super) mod target_pattern;
mod text_outside;
mod tokenless_marker;
mod tools_never_shown;
mod typed_values;
mod unfilled_placeholder;
mod unfitting_transform;
mod unreachable_field;
mod untrained_stop;
mod unusable_argument;
mod unused_capture;

use super::rule::Rule;

/// Every rule, in the order of the ids.
pub static RULES: &[&Rule] = &[
    &history_drops_reasoning::RULE,
    &broken_tool_loop::RULE,
    &untrained_stop::RULE,
    &null_printed_as_none::RULE,
    &tools_never_shown::RULE,
    &misspelt_key::RULE,
    &misspelt_marker::RULE,
    &chunk_dependent::RULE,
    &holds_message::RULE,
    &lost_content::RULE,
    &last_region_wins::RULE,
    &text_outside::RULE,
    &unreachable_field::RULE,
    &prefix_literal::RULE,
    &close_in_body::RULE,
    &stop_token_leaks::RULE,
    &empty_match::RULE,
    &close_in_string::RULE,
    &unused_capture::RULE,
    &shadowed_capture::RULE,
    &unfilled_placeholder::RULE,
    &unfitting_transform::RULE,
    &misread_braces::RULE,
    &unusable_argument::RULE,
    &repeated_key::RULE,
    &typed_values::RULE,
    &forgeable_anchor::RULE,
    &tokenless_marker::RULE,
    &target_field::RULE,
    &target_construct::RULE,
    &target_pattern::RULE,
    &portable_pattern::RULE,
    &target_caution::RULE,
    &exploding_pattern::RULE,
    &schema_is_ignored::RULE,
    &schema_pattern::RULE,
    &schema_groups::RULE,
    &schema_misplaced_iterator::RULE,
    &schema_unread_key::RULE,
    &schema_exploding_pattern::RULE,
    &schema_keeps_stop::RULE,
    &schema_lone_call::RULE,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_has_a_file_of_its_name_and_ids_are_in_order() {
        assert!(RULES.is_sorted_by_key(|rule| rule.id));
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lint/rules");
        for rule in RULES {
            let text = std::fs::read_to_string(folder.join(format!("{}.rs", rule.name.replace('-', "_")))).unwrap();
            assert!(text.starts_with(&format!("//! {}: ", rule.id)), "{}", rule.name);
        }
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), RULES.len() + 1);
    }
}
