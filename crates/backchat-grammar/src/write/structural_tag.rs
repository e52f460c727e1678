//! Writes grammars as structural tags of xgrammar: its own formats wherever they are exactly equivalent, and rules as
//! text for the rest.

use crate::automaton::regex::of_automaton;
use crate::grammar::Grammar;
use crate::rules::{Node, Rules};
use backchat_core::json::Value;
use backchat_core::text::common_end;

/// How many formats a tag may have: a format that is used twice is written twice.
const MOST_FORMATS: usize = 4000;

/// How deeply objects and lists of a tag may nest: vLLM refuses 80 levels, xgrammar 100 formats.
const MOST_DEPTH: usize = 64;

impl Grammar {
    /// For xgrammar in vLLM, SGLang and others: a structural tag of its own formats, with rules as text where no format
    /// is equivalent, or if there would be too many.
    pub fn to_structural_tag(&self) -> Value {
        let mut writer =
            TagWriter { rules: &self.rules, open: Vec::new(), circles: Vec::new(), left: MOST_FORMATS, depth: 0 };
        let tag = tag(writer.format(&self.root));
        if writer.left == 0 || !nests_within(&tag, MOST_DEPTH) { self.to_grammar_tag() } else { tag }
    }

    /// A structural tag with one format: the whole grammar as text.
    pub fn to_grammar_tag(&self) -> Value {
        tag(grammar(&self.rules, &self.root))
    }
}

fn tag(format: Value) -> Value {
    Value::from([("type", "structural_tag".into()), ("format", format)])
}

/// Whether objects and lists nest no deeper than this.
fn nests_within(value: &Value, depth: usize) -> bool {
    let within = |value: &Value| depth.checked_sub(1).is_some_and(|depth| nests_within(value, depth));
    match value {
        Value::Object(entries) => entries.values().all(within),
        Value::List(items) => items.iter().all(within),
        _ => true,
    }
}

fn grammar(rules: &Rules, root: &Node) -> Value {
    Value::from([("type", "grammar".into()), ("grammar", super::gbnf::ebnf(rules, root).into())])
}

fn constant(text: &str) -> Value {
    Value::from([("type", "const_string".into()), ("value", text.into())])
}

fn regex(pattern: String) -> Value {
    Value::from([("type", "regex".into()), ("pattern", pattern.into())])
}

fn between(begin: &str, content: Value, end: &str) -> Value {
    Value::from([("type", "tag".into()), ("begin", begin.into()), ("content", content), ("end", end.into())])
}

fn many(kind: &str, elements: Vec<Value>) -> Value {
    Value::from([("type", kind.into()), ("elements", Value::List(elements))])
}

/// One or more parts between the same markers, as rules write calls: the part and its end or, if there are more parts,
/// the end, the next part, and so on.
struct Repeated<'n> {
    before: &'n str,
    begin: &'n str,
    end: &'n str,
    separator: &'n str,
}

impl<'n> Repeated<'n> {
    /// The markers, if the first part is followed by the end alone, or by more of the same parts and the end.
    fn find(first: &'n str, part: &Node, rest: &'n [Node]) -> Option<Self> {
        let [Node::Literal(end), Node::Sequence(more)] = rest else { return None };
        let [Node::Repeat(next, 1, None), Node::Literal(last)] = more.as_slice() else { return None };
        let Node::Sequence(next) = next.as_ref() else { return None };
        let [Node::Literal(between), another] = next.as_slice() else { return None };
        let between = between.strip_prefix(end.as_str()).filter(|_| last == end && another == part)?;
        // The next part begins as the first one does.
        let begin = common_end(first, between);
        let (before, separator) = (first.strip_suffix(begin)?, between.strip_suffix(begin)?);
        (!begin.is_empty() && !end.is_empty()).then_some(Self { before, begin, end, separator })
    }
}

struct TagWriter<'r> {
    rules: &'r Rules,
    /// The rules being written, and those that refer to themselves.
    open: Vec<usize>,
    circles: Vec<usize>,
    left: usize,
    depth: usize,
}

impl TagWriter<'_> {
    fn format(&mut self, node: &Node) -> Value {
        if self.depth > 2 * MOST_DEPTH {
            // A rule and its format count twice, so this is too deep whatever follows.
            self.left = 0;
        }
        // The limit is exceeded, so this tag is discarded.
        let Some(left) = self.left.checked_sub(1) else { return constant("") };
        self.left = left;
        self.depth += 1;
        let format = self.any_format(node);
        self.depth -= 1;
        format
    }

    fn any_format(&mut self, node: &Node) -> Value {
        match node {
            Node::Literal(text) => constant(text),
            Node::Sequence(items) => self.sequence(items),
            Node::Choice(items) => {
                let ways = items.iter().map(|item| self.format(item)).collect();
                many("or", ways)
            }
            Node::Repeat(item, min, max) => {
                let content = self.format(item);
                let kind = match (min, max) {
                    (0, Some(1)) => "optional",
                    (0, None) => "star",
                    (1, None) => "plus",
                    _ => {
                        let max = max.map_or(Value::from(-1), Value::from);
                        let entries =
                            [("type", "repeat".into()), ("min", (*min).into()), ("max", max), ("content", content)];
                        return Value::from(entries);
                    }
                };
                Value::from([("type", kind.into()), ("content", content)])
            }
            Node::Rule(rule) => self.rule(*rule, node),
            Node::Text(text, state) => self.text(*text, *state, node),
        }
    }

    /// A rule that refers to itself can only be text.
    fn rule(&mut self, rule: usize, node: &Node) -> Value {
        if let Some(native) = self.rules.native.get(&rule) {
            return native.clone();
        }
        if self.open.contains(&rule) {
            self.circles.push(rule);
            return constant("");
        }
        let Some(body) = self.rules.node(rule) else { return constant("") };
        let left = self.left;
        self.open.push(rule);
        let format = self.format(body);
        self.open.pop();
        if self.circles.contains(&rule) {
            self.circles.retain(|circle| *circle != rule);
            self.left = left;
            return grammar(self.rules, node);
        }
        format
    }

    fn sequence(&mut self, items: &[Node]) -> Value {
        match items {
            [] => constant(""),
            // A part between two markers.
            [Node::Literal(begin), content @ .., Node::Literal(end)] if !content.is_empty() => {
                let content = self.sequence(content);
                between(begin, content, end)
            }
            [only] => self.format(only),
            [before @ .., Node::Literal(first), part, Node::Choice(rest)]
                if let Some(marks) = Repeated::find(first, part, rest) =>
            {
                self.repeated(before, part, &marks)
            }
            items => {
                let items = items.iter().map(|item| self.format(item)).collect();
                many("sequence", items)
            }
        }
    }

    /// A sequence that ends in one or more parts between the same markers.
    fn repeated(&mut self, before: &[Node], part: &Node, marks: &Repeated<'_>) -> Value {
        let mut items: Vec<Value> = before.iter().map(|item| self.format(item)).collect();
        if !marks.before.is_empty() {
            items.push(constant(marks.before));
        }
        let one = between(marks.begin, self.format(part), marks.end);
        let all = Value::from([
            ("type", "tags_with_separator".into()),
            ("tags", Value::List(vec![one])),
            ("separator", marks.separator.into()),
            ("at_least_one", true.into()),
        ]);
        if items.is_empty() {
            return all;
        }
        items.push(all);
        many("sequence", items)
    }

    fn text(&self, text: usize, state: usize, node: &Node) -> Value {
        let Some(automaton) = self.rules.automaton(text) else { return constant("") };
        if let Some(texts) = self.rules.excludes(automaton).filter(|_| state == 0) {
            let excludes = texts.iter().map(|text| text.as_str().into()).collect();
            return Value::from([("type", "any_text".into()), ("excludes", Value::List(excludes))]);
        }
        of_automaton(automaton, state).map_or_else(|| grammar(self.rules, node), regex)
    }
}
