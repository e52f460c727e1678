//! Groups of the Python dialect: everything that begins with a parenthesis.

use super::PatternError;
use super::class;
use super::read_regex::PatternReader;
use super::tree::Node;

/// What follows the `(?` of a look, whether it looks behind, and whether it is negated.
const LOOKS: [(&str, bool, bool); 4] =
    [("=", false, false), ("!", false, true), ("<=", true, false), ("<!", true, true)];

impl PatternReader<'_> {
    pub(super) fn group(&mut self, start: usize) -> Result<Option<Node>, PatternError> {
        if let Some(verb) = self.text.rest().strip_prefix('*') {
            return Err(if verb.starts_with(|c: char| c.is_ascii_uppercase()) {
                self.refused("a backtracking verb such as `(*SKIP)`", start)
            } else {
                self.error("`*` has nothing to repeat")
            });
        }
        if !self.text.eat('?') {
            return self.capture(None).map(Some);
        }
        if self.text.eat('P') {
            return self.python_group(start);
        }
        let node = if self.text.eat(':') {
            self.scoped()?
        } else if self.text.eat('>') {
            Node::Atomic(Box::new(self.scoped()?))
        } else if let Some(&(_, behind, negate)) = LOOKS.iter().find(|(mark, ..)| self.text.skip(mark)) {
            Node::Look { node: Box::new(self.look(behind)?), behind, negate }
        } else if self.text.eat('<') {
            let name = self.group_name('>')?;
            self.capture(Some(name))?
        } else if self.text.eat('(') {
            self.condition()?
        } else if self.text.eat('|') {
            return Err(self.refused("a branch reset group `(?|…)`", start));
        } else if let Some(call) = self.call(start)? {
            call
        } else {
            return self.flag_group();
        };
        Ok(Some(node))
    }

    /// `(?R)`, `(?1)`, `(?+1)`, `(?-1)` or `(?&name)`, from the character after its `(?` on.
    fn call(&mut self, start: usize) -> Result<Option<Node>, PatternError> {
        let (here, place) = (self.text, self.text.at());
        let name = self.text.take(usize::MAX, |c| c != ')').to_owned();
        let is_number = |digits: &str| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit());
        let number = |digits: &str| digits.parse::<u32>().unwrap_or(u32::MAX);
        let group = match (name.strip_prefix('&'), name.strip_prefix('+'), name.strip_prefix('-')) {
            _ if name == "R" => 0,
            _ if is_number(&name) => number(&name),
            (Some(name), _, _) => return self.named_call(name.to_owned(), start).map(Some),
            (_, Some(ahead), _) if is_number(ahead) => self.groups.saturating_add(number(ahead)).saturating_sub(1),
            (_, _, Some(back)) if is_number(back) => self.groups.checked_sub(number(back)).unwrap_or(u32::MAX),
            _ => {
                self.text = here;
                return Ok(None);
            }
        };
        self.calling(start)?;
        self.numbered_refs.push((group, place));
        Ok(Some(Node::Call(group)))
    }

    fn named_call(&mut self, name: String, start: usize) -> Result<Node, PatternError> {
        self.calling(start)?;
        let group = self.group_called(&name).unwrap_or_else(|| {
            let placeholder = u32::MAX - self.named_tests.len() as u32;
            self.named_tests.push((name, placeholder, start));
            placeholder
        });
        Ok(Node::Call(group))
    }

    /// The end of a call.
    fn calling(&mut self, start: usize) -> Result<(), PatternError> {
        if self.behind > 0 {
            return Err(self.refused("recursion inside a look-behind", start));
        }
        if !self.text.eat(')') {
            return Err(self.error("`)` is missing"));
        }
        Ok(())
    }

    fn python_group(&mut self, start: usize) -> Result<Option<Node>, PatternError> {
        if self.text.eat('<') {
            let name = self.group_name('>')?;
            return self.capture(Some(name)).map(Some);
        }
        if self.text.eat('=') {
            let place = self.text.at();
            let name = self.text.take(usize::MAX, |c| c != ')').to_owned();
            if !self.text.eat(')') {
                return Err(self.error("`)` is missing"));
            }
            return self.reference(&name, place).map(Some);
        }
        if self.text.eat('>') {
            let name = self.text.take(usize::MAX, |c| c != ')').to_owned();
            return self.named_call(name, start).map(Some);
        }
        Err(self.error("`(?P` is followed by `<name>` or `=name`"))
    }

    /// The text of a group again, by its name or number.
    pub(super) fn reference(&mut self, name: &str, place: usize) -> Result<Node, PatternError> {
        let group = match name.parse::<u32>() {
            Ok(number) => number,
            Err(_) => self
                .group_called(name)
                .ok_or_else(|| PatternError::new(format!("there is no group called `{name}` before this"), place))?,
        };
        self.numbered_reference(group, place)
    }

    pub(super) fn numbered_reference(&mut self, group: u32, place: usize) -> Result<Node, PatternError> {
        if group == 0 || self.open.contains(&group) {
            return Err(PatternError::new(format!("group {group} is referred to from inside itself"), place));
        }
        self.numbered_refs.push((group, place));
        Ok(Node::Backref { group, fold: self.flags.ignore_case })
    }

    fn group_name(&mut self, end: char) -> Result<String, PatternError> {
        let place = self.text.at();
        let name = self.text.take(usize::MAX, |c| c != end && c != ')').to_owned();
        if name.is_empty() {
            return Err(PatternError::new("the group has no name", place));
        }
        if !class::is_group_name(&name) {
            return Err(PatternError::new(format!("`{name}` cannot be the name of a group"), place));
        }
        if !self.text.eat(end) {
            return Err(self.error(format!("`{end}` is missing after the name of the group")));
        }
        Ok(name)
    }

    fn capture(&mut self, name: Option<String>) -> Result<Node, PatternError> {
        let known = name.as_ref().and_then(|name| self.group_called(name));
        let index = known.unwrap_or(self.groups);
        if known.is_none() {
            self.groups += 1;
            if let Some(name) = name {
                self.names.insert(name, index);
            }
        }
        self.open.push(index);
        let node = self.scoped()?;
        self.open.pop();
        Ok(Node::Group { index, node: Box::new(node) })
    }

    /// The inside of a look up to and with its `)`.
    fn look(&mut self, behind: bool) -> Result<Node, PatternError> {
        self.behind += usize::from(behind);
        let node = self.scoped()?;
        self.behind -= usize::from(behind);
        Ok(node)
    }

    /// The inside of a group up to and with its `)`; flags set inside end there.
    fn scoped(&mut self) -> Result<Node, PatternError> {
        let flags = self.flags;
        let node = self.alternation()?;
        if !self.text.eat(')') {
            return Err(self.error("a group is not closed: `)` is missing"));
        }
        self.flags = flags;
        Ok(node)
    }

    /// `(?(1)yes|no)`, `(?(name)yes|no)` or `(?(?=look)yes|no)`, from the character after the second parenthesis on.
    fn condition(&mut self) -> Result<Node, PatternError> {
        let place = self.text.at();
        if let Some(&(_, behind, negate)) = LOOKS.iter().find(|(mark, ..)| self.text.skip(&format!("?{mark}"))) {
            let look = Box::new(self.look(behind)?);
            let (yes, no) = self.branches()?;
            let (yes, no) = if negate { (no, yes) } else { (yes, no) };
            return Ok(Node::IfLook { look, behind, yes: Box::new(yes), no: Box::new(no) });
        }
        let name = self.text.take(usize::MAX, |c| c != ')').to_owned();
        if !self.text.eat(')') {
            return Err(self.error("the condition is not closed: `)` is missing"));
        }
        if name == "DEFINE" {
            return Err(self.refused("a `(?(DEFINE)…)` group", place));
        }
        let group = match (name.parse::<u32>(), self.group_called(&name)) {
            (Ok(number), _) if number > 0 => {
                self.numbered_refs.push((number, place));
                number
            }
            (_, Some(number)) => number,
            _ if name.is_empty() => return Err(PatternError::new("the condition names no group", place)),
            _ => {
                // An unused number represents a group that comes later.
                let placeholder = u32::MAX - self.named_tests.len() as u32;
                self.named_tests.push((name, placeholder, place));
                placeholder
            }
        };
        let (yes, no) = self.branches()?;
        Ok(Node::IfGroup { group, yes: Box::new(yes), no: Box::new(no) })
    }

    fn branches(&mut self) -> Result<(Node, Node), PatternError> {
        let flags = self.flags;
        let yes = self.sequence()?;
        let no = if self.text.eat('|') { self.sequence()? } else { Node::Empty };
        if !self.text.eat(')') {
            return Err(self.error("a condition has two branches at most, and ends in `)`"));
        }
        self.flags = flags;
        Ok((yes, no))
    }

    /// `(?i)` for the rest of the group, or `(?i:…)`.
    fn flag_group(&mut self) -> Result<Option<Node>, PatternError> {
        let before = self.flags;
        let on = self.flag_letters()?;
        let mut off = String::new();
        if self.text.eat('-') {
            off = self.flag_letters()?;
            if off.is_empty() {
                return Err(self.error("a flag is missing after the `-`"));
            }
        }
        if on.chars().any(|c| off.contains(c)) {
            return Err(self.error("a flag is both turned on and turned off"));
        }
        for (letters, value) in [(&on, true), (&off, false)] {
            for letter in letters.chars() {
                self.set_flag(letter, value)?;
            }
        }
        if self.text.eat(')') {
            self.skip_layout()?;
            if let Some(c @ ('*' | '+' | '?')) = self.text.peek() {
                return Err(self.error(format!("`{c}` has nothing to repeat")));
            }
            return Ok(None);
        }
        if !self.text.eat(':') {
            return Err(self.error("this is not a group of the dialect"));
        }
        let node = self.scoped()?;
        self.flags = before;
        Ok(Some(node))
    }

    fn flag_letters(&mut self) -> Result<String, PatternError> {
        let mut letters = String::new();
        loop {
            if self.text.skip("V0") {
                continue;
            }
            if self.text.rest().starts_with("V1") {
                return Err(self.refused("version 1 behavior (`(?V1)`)", self.text.at()));
            }
            match self.text.peek() {
                Some(c) if "imsxaufbeprwL".contains(c) => {
                    letters.push(c);
                    self.text.bump();
                }
                Some(c) if c.is_ascii_alphabetic() => return Err(self.error(format!("unknown flag `{c}`"))),
                _ => return Ok(letters),
            }
        }
    }

    fn set_flag(&mut self, letter: char, value: bool) -> Result<(), PatternError> {
        let refused = |what: &str| Err(self.refused(what, self.text.at()));
        match letter {
            'p' => return refused("POSIX matching (`(?p)`)"),
            'r' => return refused("searching in reverse (`(?r)`)"),
            'w' => return refused("the word boundaries of `(?w)`"),
            'L' => return refused("the locale flag `(?L)`"),
            // `b` and `e` steer approximate matching only.
            _ => self.flags.set(letter, value),
        }
        Ok(())
    }
}
