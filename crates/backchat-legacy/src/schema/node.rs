//! One node of a schema, as it was loaded.

use super::jmespath::Expression;
use super::substitute::Replacement;
use crate::schema::fault::Fault;
use backchat_core::json::{Path, Value};
use backchat_parser::pattern::{Pattern, PatternError};

/// A pattern as written, and compiled. One that does not compile fails when it is reached.
#[derive(Clone, Debug)]
pub struct Regex {
    pub source: String,
    pub pattern: Result<Pattern, PatternError>,
}

impl Regex {
    pub fn new(source: &str) -> Self {
        Self { source: source.to_owned(), pattern: Pattern::in_re(source) }
    }
}

/// One entry of `x-regex-substitutions`.
#[derive(Clone, Debug)]
pub struct Substitution {
    pub regex: Regex,
    pub replacement: Result<Replacement, Fault>,
}

/// `x-parser` and its arguments.
#[derive(Clone, Debug)]
pub struct Parser {
    pub name: Value,
    pub allow_non_json: bool,
    /// The expression as it was written, and compiled.
    pub transform: Option<(String, Result<Expression, Fault>)>,
}

/// The treatment of keys that are not among the properties.
#[derive(Clone, Debug)]
pub enum Additional {
    /// Left out.
    No,
    /// Kept unchanged.
    AsTheyAre,
    /// Parsed.
    Parsed(Box<Node>),
}

/// A node of a schema: its steps on a content, in the order of the fields.
#[derive(Clone, Debug)]
pub struct Node {
    pub path: Path,
    pub constant: Option<Value>,
    /// Whether it has any of the keys with patterns, even null.
    pub has_regex: bool,
    pub substitutions: Vec<Substitution>,
    pub regex: Option<Regex>,
    pub iterator: Option<Regex>,
    pub key_value: Option<Regex>,
    pub parser: Option<Parser>,
    /// The value of `type`; null if there is none.
    pub kind: Value,
    pub default: Option<Value>,
    pub properties: Option<Vec<(String, Node)>>,
    pub additional: Additional,
    pub required: Vec<String>,
    pub items: Option<Box<Node>>,
    pub prefix_items: Option<Vec<Node>>,
    /// The keys that no reader uses.
    pub unread: Vec<String>,
}

impl Node {
    /// The type, if it is a string.
    pub fn type_name(&self) -> Option<&str> {
        self.kind.as_str()
    }

    /// The property of that name.
    pub fn property(&self, name: &str) -> Option<&Node> {
        self.properties.as_ref()?.iter().find(|(key, _)| key == name).map(|(_, node)| node)
    }

    /// The names of its pattern's groups, which give values by name: a property that none gives has its default.
    pub fn value_names(&self) -> Vec<&str> {
        let regex = self.iterator.as_ref().or(self.regex.as_ref()).and_then(|regex| regex.pattern.as_ref().ok());
        regex.into_iter().flat_map(|pattern| pattern.named_groups()).map(|(name, _)| &**name).collect()
    }

    /// The nodes one step below.
    pub fn children(&self) -> Vec<&Node> {
        let additional = match &self.additional {
            Additional::Parsed(node) => Some(&**node),
            _ => None,
        };
        let properties = self.properties.iter().flatten().map(|(_, node)| node);
        let items = self.items.as_deref().into_iter().chain(self.prefix_items.iter().flatten());
        properties.chain(additional).chain(items).collect()
    }

    /// The node and all below it.
    pub fn walk<'n>(&'n self, visit: &mut impl FnMut(&'n Node)) {
        visit(self);
        self.children().into_iter().for_each(|child| child.walk(visit));
    }

    /// The node as a JSON path: `$.properties.content`.
    pub fn json_path(&self) -> String {
        match self.path.to_string() {
            root if root == "$" => root,
            bracket if bracket.starts_with('[') => format!("${bracket}"),
            steps => format!("$.{steps}"),
        }
    }
}
