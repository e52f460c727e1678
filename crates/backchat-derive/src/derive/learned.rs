//! The draft that also reads turns which the conversations of its proof show and it misreads: branches of the chat
//! template, and conversations that fail. They teach it as samples with messages do.

use super::proof::{Case, DESCRIPTIONS, Part, Proof, leaves, message_of};
use super::recorded::{self, Sample};
use super::{Attempt, Job, Verdict};
use backchat_chat::{ended, spells};
use backchat_core::json::{self, Object, Value};
use backchat_core::python;
use backchat_parser::template::Template;
use backchat_probe::coverage::places;
use backchat_probe::probe::{Message, needle};

/// The shortest word that is not in a template by chance.
const WORD: usize = 4;

/// How many turns are learned from at a time.
const MOST_TURNS: usize = 8;

/// How many times the draft is asked what it still misreads.
const MOST_ROUNDS: usize = 3;

/// Tests a candidate on the misread turns and on the conversations of the proof.
struct Trial<'a, 't> {
    proof: &'a Proof<'t>,
    turns: &'a [&'a Case],
}

impl recorded::Trial for Trial<'_, '_> {
    fn explained(&self, template: &Template) -> Vec<bool> {
        self.proof.reads(template, self.turns)
    }

    fn prove(&self, template: &Template) -> recorded::Proved {
        let verdict = self.proof.judge(template);
        let reads_calls = verdict.scope.proved.contains(&"calls");
        recorded::Proved { cases: verdict.cases, failed: misread(&verdict), reads_calls }
    }

    fn prompt<'s>(&'s self, sample: &'s Sample) -> &'s str {
        sample.prefix.as_deref().unwrap_or("")
    }
}

/// How many conversations a template misreads, including those that a proof only names, such as a name with a prefix.
fn misread(verdict: &Verdict) -> usize {
    verdict.failed() + verdict.lost()
}

impl Attempt {
    /// The draft that also reads the turns of other branches, and conversations that it failed.
    pub(super) fn with_branches(mut self, job: &Job<'_>) -> Self {
        // What is learned from the shortest turns may leave longer ones.
        for _ in 0..MOST_ROUNDS {
            let Some(better) = self.with_more_branches(job) else { break };
            self = better;
        }
        self
    }

    /// The draft that reads more turns of other branches and conversations that it failed; `None` if none is found.
    fn with_more_branches(&self, job: &Job<'_>) -> Option<Self> {
        let proof = &job.proof;
        let loaded = Template::from_value(&self.draft).ok()?;
        let unread = proof.unread_turns(&loaded.template, self.verdict.holds_without_stray_marks());
        let turns: Vec<&Case> = shortest_of_each(&unread);
        if turns.is_empty() || ended().is_some() {
            return None;
        }
        let tools = proof.branches().tools();
        let sample = |case: &&Case| {
            let message = message_of(&case.expected, super::reasoning_field(&loaded.template));
            Sample::new(case.name.clone(), case.text.clone())
                .prefix(case.prefix.clone())
                .message(message)
                .tools(tools.clone())
        };
        let samples: Vec<Sample> = turns.iter().map(sample).collect();
        let (learned, _) = recorded::learn(&self.draft, &samples, &Trial { proof, turns: &turns });
        let attempt = self.rewritten(without_values(&self.draft, learned?, &turns, proof)?, job)?;
        let is_better = misread(&attempt.verdict) <= misread(&self.verdict)
            && attempt.explained.departures.len() <= self.explained.departures.len()
            && (attempt.refusals.is_empty() || self.requested == 0 || !self.refusals.is_empty());
        let reloaded = Template::from_value(&attempt.draft).ok()?;
        let fewer =
            proof.unread_turns(&reloaded.template, attempt.verdict.holds_without_stray_marks()).len() < unread.len();
        (is_better && fewer).then(|| Self { lessons: self.lessons.clone(), ..attempt })
    }
}

/// A learned template in which no value of a setting and no count stands: numbers become any number. `None` if another value
/// stands in it, or a word that was said or that describes a tool, which the conversations chose and the chat template does not.
fn without_values(draft: &Value, learned: Value, turns: &[&Case], proof: &Proof<'_>) -> Option<Value> {
    let (before, mut text) = (marks(draft)?, marks(&learned)?);
    let template = proof.prober.template();
    let said = turns.iter().flat_map(|case| places(&case.said)).map(|(_, text)| text);
    let said: Vec<&str> = said.chain(DESCRIPTIONS).collect();
    let mut words =
        said.iter().flat_map(|said| said.split(|c: char| !c.is_alphabetic())).filter(|word| word.len() >= WORD);
    if words.any(|word| text.contains(word) && !before.contains(word) && !spells(template, word)) {
        return None;
    }
    for value in turns.iter().flat_map(|case| case.setting.values()).flat_map(leaves) {
        if value.as_str() == Some(needle::SETTING) {
            text = with_any_text(&text, needle::SETTING)?;
            continue;
        }
        let spelled = value.as_str().map_or_else(|| python::spelling(value), str::to_owned);
        let is_known = spelled.is_empty() || before.contains(&spelled) || spells(template, &spelled);
        if is_known || !text.contains(&spelled) {
            continue;
        }
        value.as_u64()?;
        text = with_any_number(&text, &spelled);
    }
    // A count, such as the length of what was said.
    let is_digit = |c: char| c.is_ascii_digit();
    let known = text.clone();
    let counts = known.split(|c| !is_digit(c)).filter(|count| !count.is_empty());
    for count in counts.filter(|count| !before.contains(count) && !spells(template, count)) {
        text = with_any_number(&text, count);
    }
    if turns.iter().any(|case| holds_id(&text, case)) {
        return None;
    }
    let mut found = learned.as_object()?.clone();
    for (key, value) in json::read(&text).ok()?.as_object()? {
        found.insert(key, value.clone());
    }
    Some(found.into())
}

/// Whether the text of a template has an id of this conversation in it, in which numbers became any number.
fn holds_id(text: &str, case: &Case) -> bool {
    let of_message = |message: &Message| match message.usual() {
        Message::Assistant(answer) => answer.calls.iter().map(|call| call.id.clone()).collect(),
        Message::Tool { id, .. } => vec![id.clone()],
        _ => Vec::new(),
    };
    let mut ids = case.history.iter().flat_map(of_message).chain(case.said.calls.iter().map(|call| call.id.clone()));
    ids.any(|id| {
        let words: Vec<&str> = id.split(|c: char| c.is_ascii_digit()).filter(|word| !word.is_empty()).collect();
        words.len() > 1 && text.contains(&words.join("\\\\d+"))
    })
}

/// The text of a template without its version, which is a number that no turn has.
fn marks(template: &Value) -> Option<String> {
    let members = template.as_object()?.iter().filter(|(key, _)| *key != "version");
    let members: Object = members.map(|(key, value)| (key.to_owned(), value.clone())).collect();
    Some(Value::from(members).to_string())
}

/// A text of JSON in which a number between other signs is any number, in the dialect of patterns.
fn with_any_number(text: &str, number: &str) -> String {
    let mut made = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(number) {
        let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        let stands_alone = !is_digit(before.chars().next_back()) && !is_digit(after.chars().next());
        made.push_str(before);
        made.push_str(if stands_alone { "\\\\d+" } else { number });
        rest = after;
    }
    made.push_str(rest);
    made
}

/// A text of JSON in which each value of a variable is any text up to the sign after it, in the dialect of patterns. `None` if
/// white space is after one: what an answer ends with may be such words, too.
fn with_any_text(text: &str, value: &str) -> Option<String> {
    let mut made = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(value) {
        made.push_str(before);
        if after.starts_with("\\\\s") {
            return None;
        }
        match after.trim_start_matches('\\').chars().next() {
            Some('"') => made.push_str("[^\\\\n\\\"]+"),
            Some(']') => made.push_str("[^\\\\n\\\\]]+"),
            Some(sign) if "<>/|:'()}".contains(sign) => made.push_str(&format!("[^\\\\n{sign}]+")),
            Some(' ') => made.push_str("[^\\\\n]+?"),
            _ => made.push_str("[\\\\w.-]+"),
        }
        rest = after;
    }
    made.push_str(rest);
    Some(made)
}

/// The shortest turns, two of each kind and setting.
fn shortest_of_each(unread: &[(Part, Case)]) -> Vec<&Case> {
    let mut sorted: Vec<&(Part, Case)> = unread.iter().collect();
    sorted.sort_by_key(|(_, case)| case.text.len());
    let mut kinds: Vec<(Part, &json::Object, bool, bool, usize)> = Vec::new();
    let mut chosen = Vec::new();
    for (part, case) in sorted {
        let expected = &case.expected;
        let kind = (
            *part,
            &case.setting,
            expected.content.is_some(),
            expected.reasoning.is_some(),
            expected.calls.len().min(2),
        );
        if kinds.iter().filter(|known| **known == kind).count() < 2 {
            kinds.push(kind);
            chosen.push(case);
        }
    }
    chosen.truncate(MOST_TURNS);
    chosen
}

#[cfg(test)]
mod tests;
