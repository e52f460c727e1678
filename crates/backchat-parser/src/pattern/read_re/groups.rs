//! The groups of Python's `re`: captures, look-arounds, conditions, flags; and the width of their content.

use super::super::PatternError;
use super::super::class;
use super::super::tree::Node;
use super::{MAX_REPEAT, ReReader, Width};

/// The first group number that `re` refuses in a condition.
const MAX_GROUPS: u32 = 1 << 30;

impl ReReader<'_> {
    /// The item that a parenthesis opens; `None` if it is a comment or sets flags.
    pub(super) fn group(&mut self, start: usize, front: bool) -> Result<Option<Node>, PatternError> {
        if !self.text.eat('?') {
            return self.capture(None, start).map(Some);
        }
        let Some(c) = self.text.bump() else {
            return Err(self.error("the pattern ends inside a group"));
        };
        Ok(Some(match c {
            'P' => match self.text.bump() {
                Some('<') => {
                    let name = self.until('>', "the name of a group")?;
                    self.check_name(name)?;
                    self.capture(Some(name), start)?
                }
                Some('=') => {
                    let name = self.until(')', "the name of a group")?;
                    self.check_name(name)?;
                    let group = self.called(name)?;
                    self.reference(group, start)?
                }
                _ => return Err(self.error("`(?P` is followed by `<name>` or `=name`")),
            },
            ':' => self.closed(start)?,
            '#' => {
                return match self.text.until(')') {
                    Some(_) => Ok(None),
                    None => Err(self.error("the comment `(?#` is not closed: `)` is missing")),
                };
            }
            '=' | '!' => {
                let node = Box::new(self.closed(start)?);
                Node::Look { node, behind: false, negate: c == '!' }
            }
            '<' => {
                let negate = match self.text.bump() {
                    Some('=') => false,
                    Some('!') => true,
                    _ => {
                        let message = "`(?<` is followed by `=` or `!`; a named group is `(?P<name>…)`";
                        return Err(PatternError::new(message, start));
                    }
                };
                let outer = self.behind;
                self.behind = outer.or(Some(self.groups.len()));
                let node = self.closed(start)?;
                self.behind = outer;
                let (least, most) = self.width(&node);
                if least != most {
                    return Err(PatternError::new("a look-behind must have a fixed width", start));
                }
                Node::Look { node: Box::new(node), behind: true, negate }
            }
            '(' => self.condition(start)?,
            '>' => Node::Atomic(Box::new(self.closed(start)?)),
            c => return self.flag_group(c, start, front),
        }))
    }

    fn check_name(&self, name: &str) -> Result<(), PatternError> {
        if class::is_group_name(name) {
            return Ok(());
        }
        Err(self.error(format!("`{name}` cannot be the name of a group")))
    }

    fn called(&self, name: &str) -> Result<u32, PatternError> {
        let group = self.names.get(name).copied();
        group.ok_or_else(|| self.error(format!("there is no group called `{name}` before this")))
    }

    fn capture(&mut self, name: Option<&str>, start: usize) -> Result<Node, PatternError> {
        let index = self.groups.len() as u32;
        self.groups.push(None);
        if let Some(name) = name
            && self.names.insert(name.to_owned(), index).is_some()
        {
            return Err(PatternError::new(format!("there are two groups called `{name}`"), start));
        }
        let node = self.closed(start)?;
        let width = self.width(&node);
        if let Some(group) = self.groups.get_mut(index as usize) {
            *group = Some(width);
        }
        Ok(Node::Group { index, node: Box::new(node) })
    }

    /// The inside of a group up to and with its `)`; flags set inside end there.
    fn closed(&mut self, start: usize) -> Result<Node, PatternError> {
        let flags = self.flags;
        let node = self.alternation(false)?;
        if !self.text.eat(')') {
            return Err(PatternError::new("a group is not closed: `)` is missing", start));
        }
        self.flags = flags;
        Ok(node)
    }

    /// `(?(1)yes|no)` or `(?(name)yes|no)`, after the second parenthesis.
    fn condition(&mut self, start: usize) -> Result<Node, PatternError> {
        let name = self.until(')', "the group of the condition")?;
        let group = if class::is_group_name(name) {
            self.called(name)?
        } else {
            let number: u32 = name
                .strip_prefix('+')
                .unwrap_or(name)
                .parse()
                .ok()
                .filter(|&number| number > 0 && number < MAX_GROUPS)
                .ok_or_else(|| self.error(format!("`{name}` cannot be the group of a condition")))?;
            self.conditions.push((number, start));
            number
        };
        self.check_behind(group, start)?;
        let yes = self.sequence(false)?;
        let no = if self.text.eat('|') { self.sequence(false)? } else { Node::Empty };
        if !self.text.eat(')') {
            return Err(PatternError::new("a condition has two branches at most, and ends in `)`", start));
        }
        Ok(Node::IfGroup { group, yes: Box::new(yes), no: Box::new(no) })
    }

    /// `(?i)` at the front, or `(?i-s:…)`.
    fn flag_group(&mut self, first: char, start: usize, front: bool) -> Result<Option<Node>, PatternError> {
        let (mut on, mut off) = (String::new(), String::new());
        let mut c = Some(first);
        let mut is_off = false;
        loop {
            match c {
                Some(')') if !is_off && !on.is_empty() => break,
                Some(':') if !(is_off && off.is_empty()) => break,
                Some('-') if !is_off => is_off = true,
                Some(letter) if "aLimstux".contains(letter) => {
                    if letter == 'L' || (is_off && "au".contains(letter)) {
                        return Err(self.error(format!("the flag `{letter}` cannot be set here")));
                    }
                    if is_off { &mut off } else { &mut on }.push(letter);
                }
                Some(letter) if letter.is_alphabetic() && !(on.is_empty() && off.is_empty()) => {
                    return Err(self.error(format!("unknown flag `{letter}`")));
                }
                _ => return Err(self.error("this is not a group of Python's `re`")),
            }
            c = self.text.bump();
        }
        if on.contains('a') && on.contains('u') {
            return Err(self.error("the flags `a` and `u` exclude each other"));
        }
        let before = self.flags;
        for (letters, value) in [(&on, true), (&off, false)] {
            for letter in letters.chars() {
                self.flags.set(letter, value);
            }
        }
        if c == Some(')') {
            if !front {
                return Err(PatternError::new("flags for the whole pattern belong at its very front", start));
            }
            return Ok(None);
        }
        if on.contains('t') || off.contains('t') {
            return Err(self.error("the flag `t` is for the whole pattern"));
        }
        if on.chars().any(|letter| off.contains(letter)) {
            return Err(self.error("a flag is both turned on and turned off"));
        }
        let node = self.closed(start)?;
        self.flags = before;
        Ok(Some(node))
    }

    fn width(&self, node: &Node) -> Width {
        let least = |one: Width, other: Width| (one.0.min(other.0), one.1.max(other.1));
        let cap = |width: Width| (width.0.min(MAX_REPEAT), width.1.min(MAX_REPEAT));
        match node {
            Node::Char(_) | Node::Class(_) | Node::Folded(_) => (1, 1),
            Node::Group { node, .. } | Node::Atomic(node) => self.width(node),
            Node::Concat(items) => cap(items
                .iter()
                .map(|item| self.width(item))
                .fold((0, 0), |sum, width| (sum.0.saturating_add(width.0), sum.1.saturating_add(width.1)))),
            Node::Alternate(items) => items.iter().map(|item| self.width(item)).reduce(least).unwrap_or((0, 0)),
            Node::Repeat { node, min, max, .. } => {
                let (low, high) = self.width(node);
                let most = max.map_or(MAX_REPEAT, u64::from);
                cap((low.saturating_mul(u64::from(*min)), high.saturating_mul(most)))
            }
            Node::Backref { group, .. } => {
                self.groups.get(*group as usize).copied().flatten().unwrap_or((0, MAX_REPEAT))
            }
            Node::IfGroup { yes, no, .. } => least(self.width(yes), self.width(no)),
            _ => (0, 0),
        }
    }
}
