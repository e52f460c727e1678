//! Candidates: small general edits of a template, each of which renders have to confirm.

use std::ops::Range;

use super::branches::Taken;
use super::edit::{Candidate, Edit, literal, removal};
use super::places::Places;
use super::prompts;
use backchat_chat::{Node, NodeKind, RenderError};
use backchat_probe::doctor::agents::{Base, Problem, SystemFrame};

/// How many conditions are tried one by one.
const MOST_CONDITIONS: usize = 240;

/// What a candidate does that removes a refusal.
const NO_REFUSAL: &str = "does not refuse the conversation";

/// What a candidate does that refuses less.
const LESS_REFUSAL: &str = "refuses only what it would drop";

/// What candidates are made from.
pub(super) struct Workshop<'w, 'p, 't> {
    pub places: &'w Places<'w>,
    pub base: &'w Base<'p, 't>,
    pub problem: Problem,
    /// The errors of the conversations to cure.
    pub refusals: Vec<RenderError>,
    /// Which way conditions go in the conversations to change, if that is all there is to change.
    pub taken: Option<Taken>,
}

impl Workshop<'_, '_, '_> {
    /// The candidates for a problem, those that change least first.
    pub fn candidates(&self) -> Vec<Candidate> {
        let mut found = Vec::new();
        self.at_refusals(&mut found);
        match self.problem {
            Problem::Developer => self.roles(&mut found),
            Problem::EmptyCalls => self.truths(&["tool_calls"], &mut found),
            Problem::NullContent | Problem::ReasoningOnly | Problem::NullResult => {
                self.truths(&["content"], &mut found);
                self.contents(&mut found);
            }
            Problem::ArgsText | Problem::ArgsObject => self.arguments(&mut found),
            Problem::Tools => self.schemas(&mut found),
            Problem::LateSystem => {
                let is_refusal = |candidate: &&Candidate| [NO_REFUSAL, LESS_REFUSAL].contains(&candidate.what.as_str());
                let refusals: Vec<Candidate> = found.iter().filter(is_refusal).cloned().collect();
                let mut heads = Vec::new();
                self.loop_heads(&mut heads);
                for head in &heads {
                    let both = |refusal: &Candidate| Candidate {
                        edits: [head.edits.clone(), refusal.edits.clone()].concat(),
                        idle: head.idle + if refusal.what == LESS_REFUSAL { refusal.idle } else { 0 },
                        ..head.clone()
                    };
                    found.extend(refusals.iter().map(both));
                }
                found.extend(heads);
            }
            Problem::GenerationPrompt => self.prompts(&mut found),
            Problem::Prefix | Problem::Stop => self.all_conditions(&mut found),
            _ => {}
        }
        found
    }

    /// Edits where the template raises: without the refusal, with the learned frame, under another condition.
    fn at_refusals(&self, found: &mut Vec<Candidate>) {
        let mut seen: Vec<Range<usize>> = Vec::new();
        for span in self.refusals.iter().filter_map(|error| error.span.clone()) {
            if seen.contains(&span) {
                continue;
            }
            let raises = self.places.enclosing(&span, is_raise).is_some();
            if let Some(output) = self.places.enclosing(&span, |kind| *kind == NodeKind::Output).filter(|_| raises) {
                self.without_refusal(output, found);
                if matches!(self.problem, Problem::Alternation | Problem::LateSystem) {
                    self.less_refusal(output, found);
                }
                self.frame_instead(output, found);
                self.counter_instead(output, found);
            }
            for condition in self.places.conditions_before(&span) {
                let line = self.places.line(condition.span.start);
                for value in ["false", "true"] {
                    let what = format!("the condition of line {line} is {value}");
                    let candidate = Candidate::new(what, vec![Edit::replace(condition.span.clone(), value)]);
                    // What depends on the condition has no purpose any more.
                    found.push(Candidate { idle: 2, ..candidate });
                }
            }
            if !raises {
                self.guards(&span, found);
            }
            seen.push(span);
        }
    }

    /// Removes a refusal, with its condition if nothing else is in it.
    fn without_refusal(&self, output: &Node, found: &mut Vec<Candidate>) {
        let what = NO_REFUSAL;
        let source = self.places.source;
        let mut remove = |span: Range<usize>| {
            found.push(Candidate::new(what, vec![removal(source, span.clone())]));
            found.push(Candidate::new(what, vec![Edit::replace(span, "")]));
        };
        let around = self.places.enclosing(&output.span, |kind| matches!(kind, NodeKind::If(_)));
        let mut idle = 0;
        if let Some(Node { kind: NodeKind::If(branches), span, .. }) = around {
            let alone = branches.iter().position(|branch| self.places.is_alone(branch, &output.span));
            match alone {
                Some(0) if branches.len() == 1 => {
                    remove(span.clone());
                    idle = 2;
                }
                Some(at) if at > 0 && at + 1 == branches.len() => {
                    // The tag before the refusal goes with it.
                    let tag = source.get(..output.span.start).and_then(|before| before.rfind("{%"));
                    remove(tag.unwrap_or(output.span.start)..output.span.end);
                    idle = 1;
                }
                _ => {}
            }
        }
        remove(output.span.clone());
        // Without its refusal the condition has no purpose, so that it should go, too, if that is possible.
        found.iter_mut().rev().take(2).for_each(|candidate| candidate.idle = 2 * idle);
    }

    /// Keeps a refusal for what the template would drop: a role that it does not know, or a system message without a
    /// user message after it, if the user's turn is the place of its text.
    fn less_refusal(&self, output: &Node, found: &mut Vec<Candidate>) {
        let around = self.places.enclosing(&output.span, |kind| matches!(kind, NodeKind::If(_)));
        let Some(Node { kind: NodeKind::If(branches), .. }) = around else { return };
        let branch = branches.iter().find(|branch| self.places.is_alone(branch, &output.span));
        let Some(test) = branch.and_then(|branch| branch.test.as_ref()) else { return };
        let Some((_, target, _)) = self.places.message_loop_around(&output.span) else { return };
        let other = format!("{target}.role not in ['user', 'assistant']");
        let mut conditions = vec![other.clone()];
        if self.base.frames.joint().is_some() {
            let stranded = "messages[0].role == 'system' and messages[1].role != 'user'";
            conditions.extend([stranded.to_owned(), format!("({other} or {stranded})")]);
        }
        for condition in conditions {
            let text = format!("({}) and {condition}", self.places.text(test));
            let candidate = Candidate::new(LESS_REFUSAL, vec![Edit::replace(test.clone(), text)]);
            // The template is simpler without the refusal.
            found.push(Candidate { idle: 4, ..candidate });
        }
    }

    /// Prints the system's frame where the template refuses a system message.
    fn frame_instead(&self, output: &Node, found: &mut Vec<Candidate>) {
        if self.problem != Problem::LateSystem {
            return;
        }
        let SystemFrame::Turn { open, close } = &self.base.frames.system else { return };
        for content in self.contents_at(&output.span) {
            let text = self.places.text(&output.span);
            let (begins, ends) =
                (if text.starts_with("{{-") { "{{-" } else { "{{" }, if text.ends_with("-}}") { "-}}" } else { "}}" });
            let print = format!("{begins} {} + {content} + {} {ends}", literal(open), literal(close));
            let what = "prints the system message in its own turn";
            found.push(Candidate::new(what, vec![Edit::replace(output.span.clone(), print)]));
        }
    }

    /// Sets a counter of the template's, for which no message was found, to one before the first message.
    fn counter_instead(&self, output: &Node, found: &mut Vec<Candidate>) {
        if self.problem != Problem::NoUser {
            return;
        }
        let mut counters: Vec<&str> = Vec::new();
        for node in self.places.nodes.iter().filter(|node| node.span.end <= output.span.start) {
            if let NodeKind::Set(name) = &node.kind
                && name.contains('.')
            {
                backchat_core::push_new(&mut counters, name.as_str());
            }
        }
        let text = self.places.text(&output.span);
        let (begins, ends) =
            (if text.starts_with("{{-") { "{%-" } else { "{%" }, if text.ends_with("-}}") { "-%}" } else { "%}" });
        for counter in counters {
            let set = format!("{begins} set {counter} = -1 {ends}");
            let what = format!("`{counter}` is -1 if there is no user message");
            found.push(Candidate::new(what, vec![Edit::replace(output.span.clone(), set)]));
        }
    }

    /// The expressions for a message's content that are at hand at a place, the most processed first.
    fn contents_at(&self, span: &Range<usize>) -> Vec<String> {
        let Some((message_loop, target, _)) = self.places.message_loop_around(span) else { return Vec::new() };
        let inside = |node: &&Node| node.span.start >= message_loop.span.start && node.span.end <= span.start;
        let lookup = |node: &&Node| match &node.kind {
            NodeKind::Lookup { of, key } => key == "content" && self.places.text(of) == target,
            _ => false,
        };
        let is_of_content = |node: &&Node| {
            let holds = |inner: &&Node| node.span.start <= inner.span.start && inner.span.end <= node.span.end;
            self.places.nodes.iter().filter(|inner| lookup(inner)).any(|inner| holds(&inner))
        };
        let mut found: Vec<String> = Vec::new();
        for node in self.places.nodes.iter().filter(inside).filter(is_of_content) {
            if let NodeKind::Set(name) = &node.kind {
                backchat_core::push_new(&mut found, name.clone());
            }
        }
        let direct =
            self.places.nodes.iter().find(|node| lookup(node)).map(|node| self.places.text(&node.span).to_owned());
        let direct = direct.unwrap_or_else(|| format!("{target}.content"));
        found.extend(forms(&direct));
        found
    }

    /// Edits where an expression fails: it is read only if what it is read from is there.
    fn guards(&self, span: &Range<usize>, found: &mut Vec<Candidate>) {
        let around: Vec<&Node> =
            self.places.around(span).into_iter().filter_map(|at| self.places.nodes.get(at)).collect();
        let Some(innermost) = around.first() else { return };
        let text = self.places.text(&innermost.span);
        let mut subjects = vec![text];
        if let NodeKind::Lookup { of, .. } = &innermost.kind {
            subjects.push(self.places.text(of));
        }
        if let Some(condition) = around.iter().find(|node| node.is_condition) {
            for subject in &subjects {
                let guarded = format!("({subject} and {})", self.places.text(&condition.span));
                found.push(Candidate::new(
                    format!("asks first whether `{subject}` is there"),
                    vec![Edit::replace(condition.span.clone(), guarded)],
                ));
            }
        }
        for empty in ["''", "[]", "{}"] {
            for node in around.iter().take(4).filter(|node| is_expression(&node.kind)) {
                let part = match &node.kind {
                    NodeKind::Filter { of: Some(of), .. } | NodeKind::Test { of, .. } | NodeKind::Lookup { of, .. } => {
                        of
                    }
                    _ => &node.span,
                };
                let value = format!("({} or {empty})", self.places.text(part));
                let what = format!("takes {empty} for what is absent");
                found.push(Candidate::new(what, vec![Edit::replace(part.clone(), value)]));
            }
        }
    }

    /// The role `system` in comparisons stands for `developer`, too: everywhere, or in one place.
    fn roles(&self, found: &mut Vec<Candidate>) {
        let what = "takes developer messages as system messages";
        let edits: Vec<Edit> = self.places.nodes.iter().filter_map(|node| self.role(node)).collect();
        found.extend(edits.iter().map(|edit| Candidate::new(what, vec![edit.clone()])));
        if edits.len() > 1 {
            found.push(Candidate::new(what, edits));
        }
    }

    fn role(&self, node: &Node) -> Option<Edit> {
        let is_system = |span: &Range<usize>| {
            let text = self.places.text(span);
            text == "'system'" || text == "\"system\""
        };
        let both = |of: &Range<usize>, negated: bool| {
            let quote = self.places.text(of).chars().next().unwrap_or('\'');
            let list = format!("[{quote}system{quote}, {quote}developer{quote}]");
            format!("{} {list}", if negated { "not in" } else { "in" })
        };
        match &node.kind {
            NodeKind::Equals { left, right, negated } if is_system(right) => {
                Some(Edit::replace(left.end..right.end, format!(" {}", both(right, *negated))))
            }
            NodeKind::Equals { left, right, negated } if is_system(left) => {
                let text = format!("{} {}", self.places.text(right), both(left, *negated));
                Some(Edit::replace(node.span.clone(), text))
            }
            NodeKind::Member { of, .. } => {
                let inside =
                    |inner: &&Node| of.start < inner.span.start && inner.span.end < of.end && is_system(&inner.span);
                let list = self.places.text(of);
                let item = self.places.nodes.iter().find(inside).filter(|_| !list.contains("developer"))?;
                let quote = self.places.text(&item.span).chars().next().unwrap_or('\'');
                Some(Edit::replace(item.span.end..item.span.end, format!(", {quote}developer{quote}")))
            }
            _ => None,
        }
    }

    /// Tests of whether a key is there become tests of whether it holds something.
    fn truths(&self, keys: &[&str], found: &mut Vec<Candidate>) {
        let what = format!("asks whether `{}` holds something, not whether it is there", keys.join("`, `"));
        let edits: Vec<Edit> = self.places.nodes.iter().filter_map(|node| self.truth(node, keys)).collect();
        found.extend(edits.iter().map(|edit| Candidate::new(what.clone(), vec![edit.clone()])));
        if edits.len() > 1 {
            found.push(Candidate::new(what, edits));
        }
    }

    fn truth(&self, node: &Node, keys: &[&str]) -> Option<Edit> {
        match &node.kind {
            NodeKind::Test { of, name } => {
                let subject = self.places.text(of);
                let is_key = self.places.nodes.iter().any(|inner| {
                    inner.span == *of
                        && matches!(&inner.kind, NodeKind::Lookup { key, .. } if keys.contains(&key.as_str()))
                });
                let is_negated = self.places.text(&(of.end..node.span.end)).contains("is not");
                let text = match (name.as_str(), is_negated) {
                    ("defined", false) | ("none", true) => subject.to_owned(),
                    ("defined", true) | ("none", false) => format!("not {subject}"),
                    _ => return None,
                };
                is_key.then(|| Edit::replace(node.span.clone(), text))
            }
            NodeKind::Not => {
                let inner = self.places.nodes.iter().find(|inner| {
                    inner.span.start == node.span.start
                        && inner.span.end <= node.span.end
                        && matches!(inner.kind, NodeKind::Test { .. })
                })?;
                let edit = self.truth(inner, keys)?;
                let text = edit.text.strip_prefix("not ").map_or_else(|| format!("not {}", edit.text), str::to_owned);
                Some(Edit::replace(node.span.clone(), text))
            }
            NodeKind::Member { item, of, negated } => {
                let key = self.places.text(item).trim_matches(['\'', '"']);
                let not = if *negated { "not " } else { "" };
                let text = format!("{not}{}.{key}", self.places.text(of));
                let is_name =
                    self.places.nodes.iter().any(|inner| inner.span == *of && matches!(inner.kind, NodeKind::Name(_)));
                (keys.contains(&key) && is_name).then(|| Edit::replace(node.span.clone(), text))
            }
            _ => None,
        }
    }

    /// Content that is null counts as empty: in every place, or in one.
    fn contents(&self, found: &mut Vec<Candidate>) {
        let what = "takes content that is null as empty";
        let empty = if self.base.in_parts { "[]" } else { "''" };
        let is_content = |node: &&Node| matches!(&node.kind, NodeKind::Lookup { key, .. } if key == "content");
        let parent = |node: &Node| node.parent.and_then(|at| self.places.nodes.get(at)).map(|node| &node.kind);
        let is_read = |node: &&Node| {
            !matches!(parent(node), Some(NodeKind::Test { .. } | NodeKind::Lookup { .. })) && !node.is_condition
        };
        let reads: Vec<Edit> = self
            .places
            .nodes
            .iter()
            .filter(is_content)
            .filter(is_read)
            .map(|node| Edit::replace(node.span.clone(), format!("({} or {empty})", self.places.text(&node.span))))
            .collect();
        found.extend(reads.iter().map(|edit| Candidate::new(what, vec![edit.clone()])));
        let is_tested = |node: &&Node| node.is_condition || matches!(parent(node), Some(NodeKind::Test { .. }));
        for node in self.places.nodes.iter().filter(is_content).filter(is_tested) {
            let text = format!("({} or {empty})", self.places.text(&node.span));
            found.push(Candidate::new(what, vec![Edit::replace(node.span.clone(), text)]));
        }
        // Where its value is asked for: `is none` for what is absent.
        for node in &self.places.nodes {
            if let NodeKind::Test { of, name } = &node.kind
                && matches!(name.as_str(), "none" | "string")
                && self.places.text(of).contains("content")
            {
                let text = format!("({} or {} is not defined)", self.places.text(&node.span), self.places.text(of));
                found.push(Candidate::new(what, vec![Edit::replace(node.span.clone(), text)]));
            }
        }
        if reads.len() > 1 {
            found.push(Candidate::new(what, reads));
        }
    }

    /// Arguments are printed as they are if they are text, else as JSON.
    fn arguments(&self, found: &mut Vec<Candidate>) {
        let what = "takes arguments as an object and as JSON text";
        let choice = |value: &str| format!("(({value} or '{{}}') if {value} is string else {value} | tojson)");
        for node in &self.places.nodes {
            let value = match &node.kind {
                NodeKind::Filter { of: Some(of), name } if name == "tojson" => self.places.text(of),
                NodeKind::Lookup { key, .. } if matches!(key.as_str(), "arguments" | "parameters") => {
                    self.places.text(&node.span)
                }
                _ => continue,
            };
            found.push(Candidate::new(what, vec![Edit::replace(node.span.clone(), choice(value))]));
            let text = format!("({value} or '{{}}')");
            if !matches!(node.kind, NodeKind::Filter { .. }) {
                found.push(Candidate::new(what, vec![Edit::replace(node.span.clone(), text)]));
            }
        }
    }

    /// What a tool leaves out counts as empty.
    fn schemas(&self, found: &mut Vec<Candidate>) {
        for node in &self.places.nodes {
            if let NodeKind::Test { of, name } = &node.kind
                && matches!(name.as_str(), "iterable" | "sequence")
            {
                let text = format!("({} and {} is not string)", self.places.text(&node.span), self.places.text(of));
                let what = "does not take a text for a list";
                found.push(Candidate::new(what, vec![Edit::replace(node.span.clone(), text)]));
            }
            let NodeKind::Lookup { key, .. } = &node.kind else { continue };
            let empty = match key.as_str() {
                "description" | "type" => "''",
                "parameters" | "properties" => "{}",
                "required" => "[]",
                _ => continue,
            };
            let text = format!("({} or {empty})", self.places.text(&node.span));
            let what = format!("takes a tool without `{key}`");
            found.push(Candidate::new(what, vec![Edit::replace(node.span.clone(), text)]));
        }
    }

    /// At the head of a loop over messages: a branch that prints the system's frame.
    fn loop_heads(&self, found: &mut Vec<Candidate>) {
        let SystemFrame::Turn { open, close } = &self.base.frames.system else { return };
        for (_, target, over) in self.places.message_loops() {
            let Some(end) = self.places.source.get(over.end..).and_then(|rest| rest.find("%}")) else { continue };
            let at = over.end + end + 2;
            let sign = if self.places.text(&(over.end..at)).ends_with("-%}") { "-" } else { "" };
            let contents = forms(&format!("{target}.content"));
            let lates = [" and not loop.first", ""];
            for (late, content) in lates.into_iter().flat_map(|late| contents.iter().map(move |it| (late, it))) {
                let print = format!("{{{{- {} + {content} + {} }}}}", literal(open), literal(close));
                let text = format!(
                    "\n{{%- if {target}.role == 'system'{late} %}}{print}{{%- continue %}}{{%- endif {sign}%}}"
                );
                let what = "prints a system message in its own turn";
                let candidate = Candidate::new(what, vec![Edit::replace(at..at, text)]);
                // The template's own branch for system messages is better than a second one.
                found.push(Candidate { idle: 4, ..candidate });
            }
        }
    }

    /// What opens an answer, at the end of the template or before what a switch writes there.
    fn prompts(&self, found: &mut Vec<Candidate>) {
        let end = self.places.source.len();
        for open in prompts::opens(self.base) {
            let frame = literal(&open);
            let line = format!("{{%- if add_generation_prompt %}}{{{{ {frame} }}}}{{% endif %}}");
            let open_line = line.replacen("{%-", "{%", 1);
            let at_end = [format!("\n{line}"), open_line.clone(), format!("\n{open_line}")].map(|text| (end, text));
            let inside = self.prompt_branches().map(|at| (at, format!("\n  {{{{- {frame} }}}}")));
            for (at, text) in at_end.into_iter().chain(inside) {
                found.push(Candidate::new("adds a generation prompt", vec![Edit::replace(at..at, text)]));
            }
        }
        self.all_conditions(found);
    }

    /// Where the branches of the template begin that ask for a prompt, or whether there is none: the trial tells.
    fn prompt_branches(&self) -> impl Iterator<Item = usize> {
        let tests = self.places.nodes.iter().flat_map(|node| match &node.kind {
            NodeKind::If(branches) => branches.iter().filter_map(|branch| branch.test.clone()).collect(),
            _ => Vec::new(),
        });
        let asks = |test: &Range<usize>| self.places.text(test).contains("add_generation_prompt");
        tests.filter(asks).filter_map(|test| Some(test.end + self.places.source.get(test.end..)?.find("%}")? + 2))
    }

    /// Every condition, one at a time: true, false, or true for answers as well.
    fn all_conditions(&self, found: &mut Vec<Candidate>) {
        let loops = self.places.message_loops();
        let conditions = self.places.nodes.iter().filter(|node| node.is_condition).take(MOST_CONDITIONS);
        for node in conditions {
            // What is never asked changes nothing, and neither does the answer that is always given.
            if self.taken.as_ref().is_some_and(|taken| !taken.asks(&node.span)) {
                continue;
            }
            let is_no_change = |value: &bool| {
                let is_plain = matches!(
                    node.kind,
                    NodeKind::Name(_) | NodeKind::Lookup { .. } | NodeKind::Equals { negated: false, .. }
                );
                is_plain && self.taken.as_ref().is_some_and(|taken| taken.is_always(&node.span, *value))
            };
            let values = [true, false].into_iter().filter(|value| !is_no_change(value));
            let mut values: Vec<String> = values.map(|value| value.to_string()).collect();
            let around = loops
                .iter()
                .rfind(|(around, ..)| around.span.start <= node.span.start && node.span.end <= around.span.end);
            if let Some((_, target, _)) = around.filter(|_| self.problem == Problem::Stop) {
                values.push(format!("({} or {target}.role == 'assistant')", self.places.text(&node.span)));
            }
            for value in values {
                let what = format!("`{}` is {value}", self.places.text(&node.span));
                found.push(Candidate::new(what, vec![Edit::replace(node.span.clone(), value)]));
            }
        }
    }
}

/// How a template may print content: as it is, trimmed, and either with the text of a list of parts.
fn forms(content: &str) -> [String; 4] {
    let text = format!("({content} if {content} is string else {content} | map(attribute='text') | join)");
    let trimmed = |text: &str| format!("({text} | trim)");
    [content.to_owned(), trimmed(content), text.clone(), trimmed(&text)]
}

fn is_raise(kind: &NodeKind) -> bool {
    matches!(kind, NodeKind::Call { name: Some(name) } if name == "raise_exception")
}

fn is_expression(kind: &NodeKind) -> bool {
    use NodeKind::{For, If, Macro, Output, Set, Statement, Text};
    !matches!(kind, For { .. } | If(_) | Macro | Output | Set(_) | Statement | Text)
}
