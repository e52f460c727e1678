//! A repair as JSON.

use super::{Change, Proof, Repair};
use backchat_core::json::{Object, Value};

fn texts(texts: &[String]) -> Value {
    Value::List(texts.iter().map(|text| text.as_str().into()).collect())
}

impl Repair {
    /// The output of `backchat fix --format json`.
    pub fn to_object(&self) -> Object {
        let edit = |edit: &Change| Value::from([("line", edit.line.into()), ("what", edit.what.as_str().into())]);
        let cured = self.cured.iter().map(|cured| {
            Value::from([
                ("ailment", cured.problem.id().into()),
                ("shapes", texts(&cured.shapes)),
                ("edits", Value::List(cured.edits.iter().map(edit).collect())),
            ])
        });
        let left = self.left.iter().map(|left| {
            Value::from([
                ("ailment", left.problem.id().into()),
                ("shapes", texts(&left.shapes)),
                ("reason", left.reason.as_str().into()),
                ("line", left.line.into()),
            ])
        });
        Object::from_iter([
            ("cured".to_owned(), Value::List(cured.collect())),
            ("left".to_owned(), Value::List(left.collect())),
            ("proof".to_owned(), self.proof.to_value()),
            ("lacking".to_owned(), texts(&self.lacking)),
            ("diff".to_owned(), self.diff.as_str().into()),
        ])
    }
}

impl Proof {
    fn to_value(&self) -> Value {
        let branches = &self.branches;
        let not = branches.not.iter().map(|line| (*line).into()).collect();
        let branches =
            [("total", branches.total.into()), ("exercised", branches.exercised.into()), ("not", Value::List(not))];
        let one_turn = self.one_turn.map(|(same, extended)| {
            ("one_turn", Value::from([("same", same.into()), ("extended", Value::from(extended))]))
        });
        let entries = [
            ("tried", self.tried.into()),
            ("same", self.same.into()),
            ("renders_now", self.renders_now.into()),
            ("masks", self.masks.into()),
            ("branches", Value::from(branches)),
        ];
        Value::Object(entries.into_iter().chain(one_turn).map(|(key, value)| (key.to_owned(), value)).collect())
    }
}
