//! Turns under settings that have them written differently: values of every kind where the syntax of arguments is another
//! one, and several settings at once, which may be in one mark.

use super::conversations::{Reach, TestAnswer};
use super::{Case, MOST_CASES, Proof, conversations};
use backchat_core::json::{Object, Value};
use backchat_core::{distinct, push_new};
use backchat_probe::probe::Setting;

/// How many combinations of settings are tried at most.
const MOST_TRIED: usize = 24;

/// How many more are only asked about. A draft reads the words of a mark as a whole: if it misreads any combination, then
/// most likely one of these.
const MOST_ASKED: usize = 24;

impl Proof<'_> {
    /// Adds calls with values of every kind under each setting that has arguments written in another syntax.
    pub(super) fn add_syntaxes(&self, cases: &mut Vec<Case>) {
        let mut known: Vec<&str> = Vec::new();
        let mut settings: Vec<Setting> = Vec::new();
        for (syntax, case) in cases.iter().filter_map(|case| Some((syntax(case)?, case))) {
            if !known.contains(&syntax) {
                known.push(syntax);
                settings.push(case.setting.clone());
            }
        }
        settings.retain(|setting| !setting.is_empty());
        let said = conversations::rewritten(self.request.calls.named_ids);
        let new = self.under(settings, &said, cases);
        cases.extend(new);
    }

    /// Adds the turns of these answers under several settings that are written as under none of them alone. Returns those for
    /// which the proof has no room.
    pub(super) fn add_together(&self, said: &[TestAnswer], cases: &mut Vec<Case>) -> Vec<Case> {
        let mut tried = combinations(cases);
        let asked = tried.split_off(MOST_TRIED.min(tried.len()));
        let new = self.under(tried, said, cases);
        cases.extend(new);
        let mut rest = cases.split_off(MOST_CASES.min(cases.len()));
        rest.extend(self.under(asked, said, cases));
        rest
    }

    /// The turns of these answers under these settings that are not among the cases, setting by setting.
    pub(super) fn under(&self, settings: Vec<Setting>, said: &[TestAnswer], cases: &[Case]) -> Vec<Case> {
        if settings.is_empty() {
            return Vec::new();
        }
        let said = said.iter().filter(|said| matches!(said.reach, Reach::Settings | Reach::Rewritten));
        let said: Vec<TestAnswer> = said.map(|said| TestAnswer { reach: Reach::Rewritten, ..said.clone() }).collect();
        let mut found = self.cut_under(settings.clone(), |cutter| cutter.with_openings().cases(&said));
        found.retain(|case| !cases.iter().any(|known| known.text == case.text && known.said == case.said));
        found.sort_by_key(|case| settings.iter().position(|setting| *setting == case.setting));
        found
    }
}

/// What a turn with the plainest call alone has between its first key and the value.
fn syntax(case: &Case) -> Option<&str> {
    let plain = conversations::plain_call();
    let [call] = case.said.calls.as_slice() else { return None };
    if case.said.content.is_some() || (&call.name, &call.arguments) != (&plain.name, &plain.arguments) {
        return None;
    }
    let (key, value) = call.arguments.iter().next()?;
    let (_, rest) = case.text.split_once(key)?;
    Some(rest.split_once(value.as_str()?)?.0)
}

/// Combinations of settings, each of which has the same turn written differently. Those that only leave text out, as a value does
/// for which a mark has no word, come last.
fn combinations(cases: &[Case]) -> Vec<Setting> {
    let (usual, set): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|case| case.setting.is_empty());
    let changes = |case: &Case, writes: bool| {
        let is_same = |other: &&&Case| other.said == case.said && other.history == case.history;
        let changed = set.iter().filter(is_same).filter(|other| other.text != case.text);
        let changed = changed.filter(|other| !writes || !leaves_out(&other.text, &case.text));
        changed.map(|other| &other.setting).collect::<Vec<_>>()
    };
    let mut found = Vec::new();
    for writes in [true, false] {
        for case in &usual {
            for combination in combined(&changes(case, writes)) {
                push_new(&mut found, combination);
            }
        }
    }
    found.truncate(MOST_TRIED + MOST_ASKED);
    found
}

/// Whether a text is another one without some of its characters.
fn leaves_out(text: &str, other: &str) -> bool {
    let mut rest = other.chars();
    text.chars().all(|c| rest.any(|next| next == c))
}

/// Combinations of settings: first pairs, then three, and so on; of each number, first those with the first value of each variable.
fn combined(settings: &[&Setting]) -> Vec<Setting> {
    let most = MOST_TRIED + MOST_ASKED;
    let place = |at: usize, one: &Setting| {
        settings.iter().take(at).filter(|other| one.keys().any(|name| other.contains_key(name))).count()
    };
    // Each with the place of its last setting, and the sum of the places of its values among those of their variables.
    let single = |(at, one): (usize, &&Setting)| (at, place(at, one), (*one).clone());
    let singles: Vec<(usize, usize, Setting)> = settings.iter().enumerate().map(single).collect();
    let mut found = Vec::new();
    let mut last = singles.clone();
    while !last.is_empty() && found.len() < most {
        let mut longer = Vec::new();
        for (end, places, known) in &last {
            let others = singles.iter().skip(end + 1);
            let joined = |(at, place, one): &(usize, usize, Setting)| Some((*at, places + place, joined(known, one)?));
            longer.extend(others.filter_map(joined));
        }
        longer.sort_by_key(|(_, places, _)| *places);
        longer.truncate(most);
        found.extend(longer.iter().map(|(.., setting)| setting.clone()));
        last = longer;
    }
    found
}

/// Both settings at once; `None` if they set the same variable, unless its values are lists, of which it may have the items of
/// both, or objects with other keys.
fn joined(known: &Setting, other: &Setting) -> Option<Setting> {
    let mut both = known.clone();
    for (name, value) in other.iter() {
        let value = match (known.get(name), value) {
            (None, value) => value.clone(),
            (Some(Value::List(had)), Value::List(new)) if !new.iter().all(|item| had.contains(item)) => {
                Value::List(distinct(had.iter().chain(new).cloned()))
            }
            (Some(Value::Object(had)), Value::Object(new)) if !new.keys().any(|key| had.contains_key(key)) => had
                .iter()
                .chain(new.iter())
                .map(|(key, value)| (key.to_owned(), value.clone()))
                .collect::<Object>()
                .into(),
            _ => return None,
        };
        both.insert(name, value);
    }
    Some(both)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{ANSWER, CHAT, losses_beside_null, template, with_proof};
    use backchat_probe::probe::Answer;

    /// How often the proof of a chat has a call with quotes under a setting, and what its draft loses there.
    fn proved_under_settings(arguments: &str) -> (usize, Vec<String>) {
        let source = CHAT.replace("{{ c.function.arguments | tojson }}", arguments);
        with_proof(&source, |proof| {
            let is_set = |case: &&Case| case.name.starts_with("a call with quotes") && !case.setting.is_empty();
            let template = template(ANSWER);
            let verdict = proof.with_branches(&template, proof.judge(&template));
            let losses = losses_beside_null(&verdict.losses);
            (proof.cases.iter().filter(is_set).count(), losses)
        })
    }

    #[test]
    fn values_of_every_kind_are_tried_under_a_setting_that_has_another_syntax() {
        let usual = "{{ c.function.arguments | tojson }}";
        let other = "{{ '{' }}{% for k, v in c.function.arguments.items() %}\"{{ k }}\":{{ '\"' + v + '\"' if v is string else v | tojson }}\
                     {{ ', ' if not loop.last }}{% endfor %}{{ '}' }}";
        let (tried, losses) = proved_under_settings(&format!("{{% if raw %}}{other}{{% else %}}{usual}{{% endif %}}"));
        assert!(tried > 0);
        assert!(
            losses.iter().any(|loss| loss.starts_with("with `raw` set to true, the template writes")),
            "{losses:?}"
        );
        // Here, the setting writes a mark before the same syntax.
        assert_eq!(proved_under_settings(&format!("{usual}{{{{ ' ' if raw }}}}")), (0, Vec::new()));
    }

    fn setting(set: &[(&str, &str)]) -> Setting {
        set.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect()
    }

    fn case(set: &[(&str, &str)], said: &str, text: &str) -> Case {
        Case { setting: setting(set), text: text.to_owned(), ..Case::by_hand(said, Answer::content(said)) }
    }

    #[test]
    fn only_settings_that_change_the_same_turn_are_combined() {
        let cases = [
            case(&[], "Yes.", "<a>Yes."),
            case(&[("x", "1")], "Yes.", "<b>Yes."),
            case(&[("x", "2")], "Yes.", "<c>Yes."),
            case(&[("y", "1")], "Yes.", "<a!>Yes."),
            // This one changes another turn, and that one only its prompt.
            case(&[("z", "1")], "No.", "<d>No."),
            case(&[("w", "1")], "Yes.", "<a>Yes."),
        ];
        assert_eq!(combinations(&cases), ["1", "2"].map(|x| setting(&[("x", x), ("y", "1")])));
        assert_eq!(combinations(&cases[..3]), []);
    }

    #[test]
    fn items_of_a_list_and_members_of_an_object_are_tried_at_once() {
        let json = |text: &str| backchat_core::json::read(text).unwrap();
        let of = |text: &str| json(text).as_object().unwrap().clone();
        for (one, other, both) in [
            (r#"{"x": ["a"]}"#, r#"{"x": ["b"]}"#, Some(r#"{"x": ["a", "b"]}"#)),
            (r#"{"x": ["a", "b"]}"#, r#"{"x": ["b"]}"#, None),
            (r#"{"x": {"a": 1}}"#, r#"{"x": {"b": 2}}"#, Some(r#"{"x": {"a": 1, "b": 2}}"#)),
            (r#"{"x": {"a": 1}}"#, r#"{"x": {"a": 2, "b": 2}}"#, None),
            (r#"{"x": 1}"#, r#"{"x": 2}"#, None),
            (r#"{"x": 1}"#, r#"{"y": 2}"#, Some(r#"{"x": 1, "y": 2}"#)),
        ] {
            assert_eq!(joined(&of(one), &of(other)), both.map(of), "{one} {other}");
        }
    }

    #[test]
    fn the_mark_of_each_item_of_a_list_is_read_beside_that_of_another() {
        let marks = "{{ '<cite/>' if 'citations' in features }}{{ '<box>' if 'boxed' in features }}";
        let source = CHAT.replace(
            "{{ m.content }}",
            &format!("{{% if m.role == 'assistant' %}}{marks}{{% endif %}}{{{{ m.content }}}}"),
        );
        let has_both = |case: &Case| case.text.contains("<cite/><box>");
        assert!(with_proof(&source, |proof| proof.cases.iter().any(has_both)), "{source}");
    }

    #[test]
    fn values_that_leave_out_a_word_are_tried_after_three_settings_at_once() {
        let cases = [
            case(&[], "Yes.", "<a b c>Yes."),
            case(&[("x", "no")], "Yes.", "< b c>Yes."),
            case(&[("x", "1")], "Yes.", "<d b c>Yes."),
            case(&[("y", "1")], "Yes.", "<a e c>Yes."),
            case(&[("z", "1")], "Yes.", "<a b f>Yes."),
        ];
        let all = [("x", "1"), ("y", "1"), ("z", "1")];
        let pairs = [[all[0], all[1]], [all[0], all[2]], [all[1], all[2]]];
        let mut expected: Vec<Setting> = pairs.iter().map(|pair| setting(pair)).collect();
        expected.push(setting(&all));
        let found = combinations(&cases);
        assert_eq!(found[..4], expected);
        assert_eq!(found.len(), 7);
        assert!(found[4..].iter().all(|setting| setting.get("x").and_then(|x| x.as_str()) == Some("no")), "{found:?}");
    }

    #[test]
    fn each_pair_of_variables_is_tried_before_a_second_value_of_one() {
        let values = ["1", "2", "3", "4", "5"];
        let settings: Vec<Setting> =
            ["x", "y", "z"].iter().flat_map(|name| values.map(|value| setting(&[(name, value)]))).collect();
        let found = combined(&settings.iter().collect::<Vec<_>>());
        let first = [["x", "y"], ["x", "z"], ["y", "z"]].map(|pair| setting(&pair.map(|name| (name, "1"))));
        assert_eq!(found[..3], first);
        assert_eq!(found.len(), MOST_TRIED + MOST_ASKED);
    }
}
