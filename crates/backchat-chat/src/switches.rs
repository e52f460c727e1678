//! The variables that may switch a chat template's behavior.

use super::ChatTemplate;
use backchat_core::json::{Number, Object, Value};

/// Variables that are not switches: data, and how far to render.
pub(crate) const GIVEN: [&str; 6] =
    ["messages", "tools", "add_generation_prompt", "continue_final_message", "documents", "functions"];

/// The variables that are lists of what clients send beside the messages.
pub const LISTS: [&str; 2] = ["documents", "functions"];

/// A text that a template is not likely to compare a variable with.
const OTHER: &str = "other";

/// Every variable that may be a switch, with the values that may matter: true (or a text, if it is compared with texts), false,
/// and the constants that the template compares it, a member of it or an item of it with. Special tokens and the names in
/// `given` are left out.
pub fn switches<'t>(template: &'t ChatTemplate, given: &Object) -> Vec<(&'t str, Vec<Value>)> {
    let may_switch = |name: &&String| {
        !GIVEN.contains(&name.as_str()) && !name.ends_with("_token") && !given.contains_key(name.as_str())
    };
    let values = |name: &str| {
        let compared = template.compared_constants().get(name);
        if let Some(limits) = compared.and_then(|compared| numbers(compared)) {
            return limits;
        }
        // What is written for other texts than those that it is compared with, another one shows. Where true is written
        // otherwise, it is compared with true.
        let is_text = |compared: &Vec<Value>| compared.iter().any(|constant| constant.as_str().is_some());
        // A table has nothing for another text than its keys.
        let has_others = compared.is_some_and(is_text) && !template.looked_up.contains(name);
        let set = if has_others { OTHER.into() } else { Value::Bool(true) };
        let mut values = vec![set, Value::Bool(false)];
        for constant in compared.into_iter().flatten() {
            if !values.contains(constant) && *constant != Value::Null {
                values.push(constant.clone());
            }
        }
        values.extend(objects(template, name));
        let items = template.compared_constants().get(&format!("{name}[]"));
        values.extend(items.into_iter().flatten().map(|item| Value::List(vec![item.clone()])));
        values
    };
    template.variables().iter().filter(may_switch).map(|name| (name.as_str(), values(name))).collect()
}

/// Objects with one of the members that the template reads of a variable: what it compares the member with, or true.
fn objects<'t>(template: &'t ChatTemplate, name: &'t str) -> impl Iterator<Item = Value> + 't {
    let members = template.members.iter().filter_map(move |path| path.strip_prefix(name)?.strip_prefix('.'));
    let is_inner = move |path: &&str| {
        !path.contains('[') && !template.members.iter().any(|other| other.starts_with(&format!("{name}.{path}.")))
    };
    let inner = move |path: &str, value: Value| path.rsplit('.').fold(value, |inner, key| Value::from([(key, inner)]));
    let values = move |path: &str| {
        let compared = template.compared_constants().get(&format!("{name}.{path}"));
        let values = match compared {
            Some(compared) => numbers(compared).unwrap_or_else(|| compared.clone()),
            None => vec![Value::Bool(true)],
        };
        values.into_iter().filter(|value| *value != Value::Null)
    };
    let members: Vec<&str> = members.filter(is_inner).collect();
    // Two members may matter only together.
    let all = members.iter().filter_map(|path| Some(inner(path, values(path).next()?)));
    let all = all.reduce(merged).filter(|_| members.len() > 1);
    members.into_iter().flat_map(move |path| values(path).map(move |value| inner(path, value))).chain(all)
}

/// How many members of a variable get a value, and the longest path to one of them, in bytes. Hostile templates read thousands.
const MOST_MEMBERS: usize = 64;
const LONGEST_PATH: usize = 256;

/// The value of a variable, with one more in each member of it that the template reads and compares with nothing; `None` if
/// the template reads no members of it.
pub fn with_members(template: &ChatTemplate, name: &str, value: &Value, member: &Value) -> Option<Value> {
    let below = |path: &str| path.starts_with(['.', '[']);
    let is_usual = |path: &&str| below(path) && path.len() <= LONGEST_PATH;
    let paths = template.members.iter().filter_map(|path| path.strip_prefix(name)).filter(is_usual);
    let paths: Vec<&str> = paths.take(MOST_MEMBERS).collect();
    let is_inner = |path: &&str| !paths.iter().filter_map(|other| other.strip_prefix(path)).any(below);
    let with = |path: &str| {
        let compared = template.compared_constants().get(&format!("{name}{path}"));
        let is_plain = |constant: &&Value| !constant.is_null() && constant.as_object().is_none();
        let constant = compared.and_then(|compared| compared.iter().find(is_plain));
        inside(path, constant.unwrap_or(member).clone())
    };
    let all = paths.iter().copied().filter(is_inner).map(with).reduce(merged)?;
    Some(merged(value.clone(), all))
}

/// An object or a list with a value at this path.
fn inside(path: &str, value: Value) -> Value {
    match (path.strip_suffix("[]"), path.rsplit_once('.')) {
        (Some(list), _) => inside(list, Value::List(vec![value])),
        (None, Some((object, key))) => inside(object, Value::from([(key, value)])),
        (None, None) => value,
    }
}

/// A value with the members and items of both. Nothing, or true, stands for any value.
fn merged(one: Value, other: Value) -> Value {
    match (one, other) {
        (Value::Null | Value::Bool(true), other) => other,
        (Value::List(one), Value::List(other)) => {
            Value::List(one.into_iter().chain(other).reduce(merged).into_iter().collect())
        }
        (Value::Object(mut one), Value::Object(other)) => {
            for (key, value) in other {
                let known = one.get(&key).cloned();
                one.insert(key, known.map_or_else(|| value.clone(), |known| merged(known, value.clone())));
            }
            Value::Object(one)
        }
        (one, _) => one,
    }
}

/// Values just below and just above each constant, and one far above, of a variable that the template compares with
/// numbers only, or with none: it cannot mean true or a text.
fn numbers(compared: &[Value]) -> Option<Vec<Value>> {
    let given = compared.iter().filter(|constant| **constant != Value::Null);
    let limits: Option<Vec<&Number>> = given
        .map(|constant| match constant {
            Value::Number(limit) => Some(limit),
            _ => None,
        })
        .collect();
    let mut values: Vec<Value> = Vec::new();
    for limit in limits.filter(|limits| !limits.is_empty())? {
        for value in around(limit) {
            backchat_core::push_new(&mut values, value);
        }
    }
    Some(values)
}

/// The most digits after the point of a number next to another one: a third has more than tell it from its neighbors.
const MOST_DIGITS: usize = 6;

/// A number, the next ones of as many digits, and one far above.
fn around(limit: &Number) -> [Value; 4] {
    if let Some(limit) = limit.as_i64() {
        let far = limit.saturating_mul(10).saturating_add(7);
        return [limit, limit.saturating_add(1), limit.saturating_sub(1), far].map(Value::from);
    }
    let digits = limit.as_str().split_once('.').map_or(MOST_DIGITS, |(_, digits)| digits.len().min(MOST_DIGITS));
    let steps = (0..digits).fold(1.0, |steps, _| steps * 10.0);
    let limit = limit.as_f64();
    let rounded = |value: f64| (value * steps).round() / steps;
    [limit, rounded(limit + 1.0 / steps), rounded(limit - 1.0 / steps), rounded(limit * 10.0 + 7.0)].map(Value::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_whose_members_are_compared_is_an_object() {
        for (source, values) in [
            ("{% if look.style == 'rich' %}{% endif %}", r#"[true, false, {"style": "rich"}]"#),
            (
                "{% if look.get('style') in ['rich', 'bare'] %}{% endif %}",
                r#"[true, false, {"style": "rich"}, {"style": "bare"}]"#,
            ),
            (
                "{% if look['code'].lines < 3 %}{% endif %}",
                r#"[true, false, {"code": {"lines": 3}}, {"code": {"lines": 4}}, {"code": {"lines": 2}}, {"code": {"lines": 37}}]"#,
            ),
            (
                "{% if look.wide and look.name.startswith('a') %}{% endif %}",
                r#"[true, false, {"wide": true}, {"name": "a"}, {"wide": true, "name": "a"}]"#,
            ),
            ("{% if look[0] == 'rich' %}{% endif %}", r#"[true, false, ["rich"]]"#),
            ("{% if look[0].style == 'rich' or look.style is none %}{% endif %}", r#"[true, false, {"style": true}]"#),
            ("{% for look in looks %}{{ look.style }}{% endfor %}{{ look }}", "[true, false]"),
        ] {
            let template = ChatTemplate::compile(source).unwrap();
            let given = Object::new();
            let (_, found) = switches(&template, &given).into_iter().find(|(name, _)| *name == "look").unwrap();
            assert_eq!(Value::List(found).to_string(), values, "{source}");
        }
    }

    #[test]
    fn each_member_that_a_template_reads_may_be_a_text() {
        for (source, value, filled) in [
            ("{{ look.style }}", Value::Null, Some(r#"{"style": "T"}"#)),
            (
                "{{ look.get('style') }}{{ look.size.wide }}",
                Value::Null,
                Some(r#"{"style": "T", "size": {"wide": "T"}}"#),
            ),
            ("{{ look[0].style }}", Value::Null, Some(r#"[{"style": "T"}]"#)),
            (
                "{% set l = look | default([]) %}{{ l[0].style }}{{ l[0].size }}",
                Value::Null,
                Some(r#"[{"style": "T", "size": "T"}]"#),
            ),
            ("{{ look[0] }}", Value::Null, Some(r#"["T"]"#)),
            ("{{ look | map(attribute='style') | join(',') }}", Value::Null, Some(r#"[{"style": "T"}]"#)),
            (
                "{% for l in look | selectattr('on') | sort(attribute='size.wide') %}{{ l.style }}{% endfor %}",
                Value::Null,
                Some(r#"[{"size": {"wide": "T"}, "on": "T", "style": "T"}]"#),
            ),
            (
                "{% if look.kind == 'rich' %}{{ look.style }}{% endif %}",
                Value::Null,
                Some(r#"{"kind": "rich", "style": "T"}"#),
            ),
            (
                "{% if look.kind == 'rich' %}{{ look.style }}{% endif %}",
                Value::from([("kind", "bare".into())]),
                Some(r#"{"kind": "bare", "style": "T"}"#),
            ),
            ("{{ look.style }}", Value::from([("style", true.into())]), Some(r#"{"style": "T"}"#)),
            ("{{ look }}{{ looks.style }}", Value::Null, None),
        ] {
            let template = ChatTemplate::compile(source).unwrap();
            let found = with_members(&template, "look", &value, &"T".into()).map(|value| value.to_string());
            assert_eq!(found.as_deref(), filled, "{source}");
        }
    }

    #[test]
    fn only_some_members_of_a_variable_get_a_value_and_none_far_inside() {
        let source: String = (0..200).map(|at| format!("{{{{ look.a{at} }}}}")).collect();
        let template = ChatTemplate::compile(&source).unwrap();
        let found = with_members(&template, "look", &Value::Null, &"T".into()).unwrap();
        assert_eq!(found.as_object().unwrap().len(), MOST_MEMBERS);
        let deep = ChatTemplate::compile(&format!("{{{{ look{} }}}}", ".abcd".repeat(200))).unwrap();
        let found = with_members(&deep, "look", &Value::Null, &"T".into()).map(|value| value.to_string());
        assert!(found.is_none_or(|text| text.len() < 4 * LONGEST_PATH));
    }

    #[test]
    fn a_variable_that_a_table_is_asked_for_has_no_other_text_than_its_keys() {
        let template = ChatTemplate::compile("{{ {'low': 1, 'high': 2}[effort | default('low')] }}").unwrap();
        let values = vec![Value::Bool(true), Value::Bool(false), "low".into(), "high".into()];
        assert_eq!(switches(&template, &Object::new()), [("effort", values)]);
    }

    #[test]
    fn a_variable_that_is_compared_with_numbers_only_has_numbers_as_values() {
        for (source, values) in [
            ("{% if budget < 1024 %}{% endif %}", "[1024, 1025, 1023, 10247]"),
            ("{% if 0 < budget %}{% endif %}", "[0, 1, -1, 7]"),
            ("{% if budget | int < 1024 %}{% endif %}", "[1024, 1025, 1023, 10247]"),
            ("{% if heat > 0.7 or heat == none %}{% endif %}", "[0.7, 0.8, 0.6, 14.0]"),
            ("{% if heat < 0.25 %}{% endif %}", "[0.25, 0.26, 0.24, 9.5]"),
            ("{% if heat * 8 < 1 %}{% endif %}", "[0.125, 0.126, 0.124, 8.25]"),
            ("{% if heat * 3 < 10 %}{% endif %}", "[3.3333333333333335, 3.333334, 3.333332, 40.333333]"),
            ("{% if -budget < -10 %}{% endif %}", "[10, 11, 9, 107]"),
            ("{% if 9 < 100 - budget %}{% endif %}", "[91, 92, 90, 917]"),
            ("{% if budget | abs > 9 %}{% endif %}", "[9, 10, 8, 97, -9, -8, -10, -83]"),
            ("{% set share = budget / 100 %}{% if share >= 0.5 %}{% endif %}", "[50, 51, 49, 507]"),
            (
                "{% set rest = 8 - budget if budget else 1 %}{% set half = rest / 2 %}{% if half | int < 3 %}{% endif %}",
                "[2, 3, 1, 27]",
            ),
            ("{% set ns.share = budget * 2 %}{% if ns.share < 8 %}{% endif %}", "[4, 5, 3, 47]"),
            ("{% set budget = budget * 2 %}{% if budget < 8 %}{% endif %}", "[4, 5, 3, 47]"),
            ("{% set share = budget * 2 %}{% set share = budget * 4 %}{% if share < 8 %}{% endif %}", "[true, false]"),
            ("{% if budget %}{% endif %}", "[true, false]"),
            ("{% if budget == 'none' or budget > 3 %}{% endif %}", "[\"other\", false, \"none\", 3]"),
            ("{% if budget == true or budget == 'on' %}{% endif %}", "[\"other\", false, true, \"on\"]"),
        ] {
            let template = ChatTemplate::compile(source).unwrap();
            let found = switches(&template, &Object::new()).remove(0);
            assert_eq!(Value::List(found.1).to_string(), values, "{source}");
        }
    }
}
