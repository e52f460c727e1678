//! Turns under two settings at once, where each of them alone has turns written differently: they may be in one mark.

use super::conversations::{Reach, TestAnswer};
use super::{Case, Cutter, Proof, TurnStarts, conversations};
use backchat_core::push_new;
use backchat_probe::probe::Setting;

/// How many pairs of settings are tried at most.
const MOST_PAIRS: usize = 9;

impl Proof<'_> {
    /// The turns of these answers under two settings that are written as under neither of the two.
    pub(super) fn together(&self, said: &[TestAnswer], cases: &[Case]) -> Vec<Case> {
        let settings = pairs(cases);
        if settings.is_empty() {
            return Vec::new();
        }
        let Self { plain, offering, request, tokens, .. } = self;
        let mut request = request.clone();
        request.usage.settings = settings;
        let histories = conversations::histories(request.calls.named_ids, request.calls.several);
        let turn_starts = TurnStarts::default();
        let cutter = Cutter { plain, offering, request: &request, histories, tokens: *tokens, turn_starts };
        let said = said.iter().filter(|said| matches!(said.reach, Reach::Settings | Reach::Rewritten));
        let said: Vec<TestAnswer> = said.map(|said| TestAnswer { reach: Reach::Rewritten, ..said.clone() }).collect();
        let mut found = cutter.with_openings().cases(&said);
        found.retain(|case| !cases.iter().any(|known| known.text == case.text && known.said == case.said));
        found
    }
}

/// Pairs of settings of two variables, each of which has the same turn written differently.
fn pairs(cases: &[Case]) -> Vec<Setting> {
    let mut found = Vec::new();
    let (usual, set): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|case| case.setting.is_empty());
    for case in usual {
        let is_same = |other: &&&Case| other.said == case.said && other.history == case.history;
        let others: Vec<&Setting> =
            set.iter().filter(is_same).filter(|other| other.text != case.text).map(|other| &other.setting).collect();
        for (at, one) in others.iter().enumerate() {
            for other in others.iter().skip(at + 1).filter(|other| one.keys().all(|name| !other.contains_key(name))) {
                let mut both = (*one).clone();
                both.extend(other.iter().map(|(name, value)| (name.to_owned(), value.clone())));
                push_new(&mut found, both);
            }
        }
    }
    found.truncate(MOST_PAIRS);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_probe::probe::Answer;

    #[test]
    fn only_settings_of_two_variables_that_change_the_same_turn_are_tried_together() {
        let case = |set: &[(&str, &str)], said: &str, text: &str| {
            let setting = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
            Case { setting, ..Case { text: text.to_owned(), ..Case::by_hand(said, Answer::content(said)) } }
        };
        let cases = [
            case(&[], "Yes.", "<a>Yes."),
            case(&[("x", "1")], "Yes.", "<b>Yes."),
            case(&[("x", "2")], "Yes.", "<c>Yes."),
            case(&[("y", "1")], "Yes.", "<a!>Yes."),
            // This one changes another turn, and that one only its prompt.
            case(&[("z", "1")], "No.", "<d>No."),
            case(&[("w", "1")], "Yes.", "<a>Yes."),
        ];
        let both = |x: &str| Setting::from([("x".to_owned(), x.into()), ("y".to_owned(), "1".into())]);
        assert_eq!(pairs(&cases), [both("1"), both("2")]);
        assert_eq!(pairs(&cases[..3]), []);
    }
}
