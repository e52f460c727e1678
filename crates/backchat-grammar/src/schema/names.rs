//! Decides by the name of a member which schemas it must satisfy.

use super::shape::{Constraints, Schema, types};
use super::texts::texts_of;
use super::{MOST_BRANCHES, Problem, SchemaReader};
use crate::automaton::Automaton;
use crate::notes::Effect;
use backchat_core::json::Value;

/// The members whose names are not listed, but match the same patterns.
pub(crate) struct OtherMembers {
    pub keys: Automaton,
    pub schema: Schema,
    /// For the names of rules.
    pub label: String,
}

/// The names that a pattern of `patternProperties` matches; `None` if it cannot be enforced.
pub(super) type KeyPatterns = Vec<Option<Automaton>>;

impl Constraints {
    /// The listed names, in order.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.properties.iter().map(|(name, _)| name.as_str()).collect();
        let required = self.required.iter().filter(|name| !self.properties.iter().any(|(known, _)| known == *name));
        names.extend(required.map(String::as_str));
        names
    }

    /// The schema of a listed member.
    pub(super) fn member_named(&self, name: &str, patterns: &KeyPatterns) -> Schema {
        let matches = |keys: &Option<Automaton>| keys.as_ref().is_some_and(|keys| keys.accepts(name));
        let matched: Vec<usize> =
            patterns.iter().enumerate().filter(|(_, keys)| matches(keys)).map(|(at, _)| at).collect();
        self.member(Some(name), &matched)
    }

    /// The schema of members that match these patterns; `name` is `None` for those that are not listed.
    fn member(&self, name: Option<&str>, matched: &[usize]) -> Schema {
        let listed = self.properties.iter().find(|(known, _)| Some(known.as_str()) == name);
        let mut schema = listed.map_or_else(Schema::anything, |(_, schema)| schema.clone());
        let patterns: Vec<_> = matched.iter().filter_map(|at| self.pattern_properties.get(*at)).collect();
        for (_, own) in &patterns {
            schema = schema.and(own);
        }
        for additional in &self.additional {
            let is_named = additional.names.iter().any(|known| Some(known.as_str()) == name);
            if !is_named && !patterns.iter().any(|(pattern, _)| additional.patterns.contains(pattern)) {
                schema = schema.and(&additional.schema);
            }
        }
        schema
    }
}

impl SchemaReader<'_> {
    /// The listed members, each with all schemas that it must satisfy.
    pub(crate) fn named_members(
        &mut self,
        shape: &Constraints,
        is_sorted: bool,
    ) -> Result<Vec<(String, Schema)>, Problem> {
        let patterns = self.key_patterns(shape)?;
        let allowed = self.allowed_names(shape)?;
        let refused = Schema::new(&Value::Bool(false), format!("{}/propertyNames", shape.path));
        let member = |name: &str| match allowed.as_ref().is_none_or(|names| names.accepts(name)) {
            true => shape.member_named(name, &patterns),
            false => refused.clone(),
        };
        let mut members: Vec<_> = shape.names().into_iter().map(|name| (name.to_owned(), member(name))).collect();
        if is_sorted {
            members.sort_by(|(a, _), (b, _)| a.cmp(b));
        }
        Ok(members)
    }

    /// The members that an object, or a call, may have in addition to the listed ones.
    pub(crate) fn other_members(&mut self, shape: &Constraints, noun: &str) -> Result<Vec<OtherMembers>, Problem> {
        let has_more = self.allows_more(shape, noun);
        // Most objects have no others, and computing their keys is slow.
        if shape.pattern_properties.is_empty() && !has_more {
            return Ok(Vec::new());
        }
        let names = shape.names();
        let free = if names.is_empty() { Automaton::anything() } else { Automaton::one_of(names).complement() };
        let free = match self.allowed_names(shape)? {
            Some(allowed) => free.both(&allowed).ok_or_else(|| too_many_keys(shape))?,
            None => free,
        };
        let patterns = self.key_patterns(shape)?;
        let (mut classes, rest) = classes(free, &patterns).ok_or_else(|| too_many_keys(shape))?;
        if has_more {
            classes.push((rest, Vec::new()));
        }
        let other = |(keys, matched): Class| {
            let numbers: Vec<String> = matched.iter().map(usize::to_string).collect();
            let label = if matched.is_empty() { "other".to_owned() } else { format!("pattern{}", numbers.join("-")) };
            OtherMembers { keys, schema: shape.member(None, &matched), label }
        };
        Ok(classes.into_iter().map(other).collect())
    }

    /// Whether an object may have unlisted members. If `additionalProperties` is absent, a note states the assumption.
    fn allows_more(&mut self, shape: &Constraints, noun: &str) -> bool {
        if !shape.additional.is_empty() {
            return !shape.additional.iter().any(|additional| additional.schema.is_false());
        }
        let is_closed = shape.names_members && !self.open;
        if is_closed {
            let message = format!("only the {noun} of the schema are allowed: `additionalProperties` is not set");
            if !self.notes.iter().any(|note| note.message == message) {
                self.note(Effect::Tighter, &shape.path, "additionalProperties", &message);
            }
        }
        !is_closed
    }

    pub(super) fn key_patterns(&mut self, shape: &Constraints) -> Result<KeyPatterns, Problem> {
        let mut all = Vec::new();
        for (pattern, _) in &shape.pattern_properties {
            let problem = |problem| Problem::at(&shape.path, &format!("a key of `patternProperties` {problem}"));
            let keys = texts_of(pattern).map_err(problem)?;
            if keys.is_none() {
                let message = "look-around, back-references and very large patterns are not enforced";
                self.note(Effect::Looser, &shape.path, "patternProperties", message);
            }
            all.push(keys);
        }
        Ok(all)
    }

    /// The names that `propertyNames` allows; `None` if it allows all.
    pub(super) fn allowed_names(&mut self, shape: &Constraints) -> Result<Option<Automaton>, Problem> {
        let mut all: Option<Automaton> = None;
        for names in &shape.property_names {
            let mut own: Option<Automaton> = None;
            for branch in self.shapes(names)? {
                let texts = self.branch_names(&branch)?;
                let joined = own.map_or(Some(texts.clone()), |known| known.either(&texts));
                own = Some(joined.ok_or_else(|| too_many_keys(shape))?);
            }
            let own = own.unwrap_or_else(Automaton::nothing);
            let both = all.map_or(Some(own.clone()), |known| known.both(&own));
            all = Some(both.ok_or_else(|| too_many_keys(shape))?);
        }
        Ok(all)
    }

    /// The names that one branch of `propertyNames` allows.
    fn branch_names(&mut self, branch: &Constraints) -> Result<Automaton, Problem> {
        if branch.types & types::STRING == 0 || branch.length.is_never() {
            return Ok(Automaton::nothing());
        }
        match &branch.values {
            Some(values) => {
                let names = self.fitting(branch, values)?;
                Ok(Automaton::one_of(names.into_iter().filter_map(Value::as_str)))
            }
            None => self.texts_of_length(branch),
        }
    }
}

/// Names, and the patterns that all of them match.
type Class = (Automaton, Vec<usize>);

/// The names by the patterns that they match, and those that match none; `None` if there are too many.
fn classes(free: Automaton, patterns: &KeyPatterns) -> Option<(Vec<Class>, Automaton)> {
    let mut classes: Vec<Class> = Vec::new();
    let mut rest = free;
    for (at, keys) in patterns.iter().enumerate() {
        let Some(keys) = keys else { continue };
        let others = keys.complement();
        for (known, matched) in std::mem::take(&mut classes) {
            let both = known.both(keys)?;
            if !both.is_empty() {
                classes.push((known.both(&others)?, matched.clone()));
                classes.push((both, [matched, vec![at]].concat()));
            } else {
                classes.push((known, matched));
            }
        }
        classes.push((rest.both(keys)?, vec![at]));
        rest = rest.both(&others)?;
        classes.retain(|(keys, _)| !keys.is_empty());
        if classes.len() > MOST_BRANCHES {
            return None;
        }
    }
    Some((classes, rest))
}

fn too_many_keys(shape: &Constraints) -> Problem {
    Problem::too_large(&shape.path, "the keys of this object need too many states")
}
