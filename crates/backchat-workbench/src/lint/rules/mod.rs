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

use super::check::Check;

/// Every rule about templates, in the order of the ids.
pub(super) static CHECKS: &[&Check] = &[
    &history_drops_reasoning::CHECK,
    &broken_tool_loop::CHECK,
    &untrained_stop::CHECK,
    &null_printed_as_none::CHECK,
    &tools_never_shown::CHECK,
    &misspelt_key::CHECK,
    &misspelt_marker::CHECK,
    &chunk_dependent::CHECK,
    &holds_message::CHECK,
    &lost_content::CHECK,
    &last_region_wins::CHECK,
    &text_outside::CHECK,
    &unreachable_field::CHECK,
    &prefix_literal::CHECK,
    &close_in_body::CHECK,
    &stop_token_leaks::CHECK,
    &empty_match::CHECK,
    &close_in_string::CHECK,
    &unused_capture::CHECK,
    &shadowed_capture::CHECK,
    &unfilled_placeholder::CHECK,
    &unfitting_transform::CHECK,
    &misread_braces::CHECK,
    &unusable_argument::CHECK,
    &repeated_key::CHECK,
    &typed_values::CHECK,
    &forgeable_anchor::CHECK,
    &tokenless_marker::CHECK,
    &target_field::CHECK,
    &target_construct::CHECK,
    &target_pattern::CHECK,
    &portable_pattern::CHECK,
    &target_caution::CHECK,
    &exploding_pattern::CHECK,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_has_a_file_of_its_name_and_ids_are_in_order() {
        assert!(CHECKS.is_sorted_by_key(|check| check.rule.id));
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lint/rules");
        for Check { rule, .. } in CHECKS {
            let text = std::fs::read_to_string(folder.join(format!("{}.rs", rule.name.replace('-', "_")))).unwrap();
            assert!(text.starts_with(&format!("//! {}: ", rule.id)), "{}", rule.name);
        }
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), CHECKS.len() + 1);
    }
}
