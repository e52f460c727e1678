//! How a schema reads calls: the delimiters of a call, the position of its name, and the form of its arguments.

mod write;

pub(super) use write::json_text;

use super::Loss;
use super::marks::{self, Context, Mark, Surrounded};
use super::typed::{self, Change};
use crate::schema::{Additional, Node, Parser, STRING_MARK, Substitution, parse_node};
use backchat_core::json::{Object, Value};
use backchat_core::text::slice;
use backchat_parser::pattern::{Pattern, PatternPart, escape_literal, source_of};

/// How calls are written, and the shape of the result.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls {
    pub open: Vec<Mark>,
    /// The first of them as written in outputs, with white space.
    pub lead: String,
    /// The pattern after the opening mark, up to the arguments; `{name}` is its group.
    pub header: Option<String>,
    pub close: Vec<Mark>,
    pub body: Body,
    /// The shape of a call; `None` if the JSON is the call.
    pub shape: Option<Value>,
    /// The opening and closing of the list around the calls, if the schema has them.
    pub section: Option<(Mark, Mark)>,
    /// Whether the end of the list alone closes the last call.
    pub is_last_bare: bool,
    /// Whether one region holds a list of calls.
    pub each: bool,
    /// Whether the schema reads one call only.
    pub single: bool,
    /// How a call is written.
    pub written: CallSyntax,
    /// Changes to the JSON of a call, or to its arguments if only these are a value.
    pub changes: Vec<Change>,
}

/// How arguments become a value.
#[derive(Clone, Debug, Default)]
pub(super) enum Body {
    Json(Value),
    Tags {
        pattern: String,
        value_parser: Option<Value>,
    },
    /// The arguments stay text.
    #[default]
    Text,
}

/// How a call is written between its marks.
#[derive(Clone, Debug)]
pub(super) enum CallSyntax {
    /// A JSON object with the name and the arguments under these paths of keys.
    Object { name: String, arguments: String },
    /// The text before the name, between it and the arguments, and after these.
    Parts { before: String, between: String, after: String },
}

impl Default for CallSyntax {
    fn default() -> Self {
        Self::Parts { before: String::new(), between: String::new(), after: String::new() }
    }
}

/// Whether a node reads a list of calls.
pub(super) fn is_list(node: &Node) -> bool {
    node.type_name() == Some("array")
}

/// Arguments of the content parser `json` that reads as the node's parser does.
pub(super) fn json_args(parser: &Parser) -> Value {
    let mut args = Object::new();
    if parser.name.as_str() != Some("json") {
        let pair = Value::List(vec![STRING_MARK.into(), STRING_MARK.into()]);
        args.extend([("unquoted_keys", true.into()), ("string_delims", Value::List(vec![pair]))]);
    }
    if parser.allow_non_json {
        args.insert("allow_non_json", true.into());
    }
    if args.is_empty() { Value::Null } else { Value::Object(args) }
}

/// Reads the node of a list: `own` is the group of its pattern, `outer` that of the root's. `foreign` accepts the
/// markers that close text fields, which open no call.
pub(super) fn read(
    node: &Node,
    own: Option<Surrounded<'_>>,
    outer: Option<Surrounded<'_>>,
    foreign: &dyn Fn(&Mark) -> bool,
) -> Result<Calls, Loss> {
    let cannot = |construct: &str| Loss::new(node, construct, "the calls are not carried over");
    if let Some(args) = &node.parser
        && node.iterator.is_none()
    {
        // One region of JSON, which is a list or is made one.
        let (group, context) = own.or(outer).ok_or_else(|| cannot("x-parser over the whole output"))?;
        return from_json(node, bounded(group, context, false, foreign), args, true);
    }
    let section = section(node, outer.as_ref());
    let item = node.items.as_deref().ok_or_else(|| cannot("list without items"))?;
    let (group, context, single) = match (own, outer) {
        // A pattern that matches all text of the root's group.
        (Some((own, inner)), Some((group, context)))
            if inner.open.is_empty() && inner.close.is_empty() && takes_all(own) =>
        {
            (group, context, true)
        }
        (Some((group, context)), _) if node.iterator.is_some() => (group, context, false),
        (Some((group, context)), _) | (None, Some((group, context))) => (group, context, true),
        (None, None) => return Err(cannot("list that no pattern reads")),
    };
    let is_last_bare = context.at_end && !context.close.is_empty();
    let mut calls = match &item.parser {
        Some(parser) if item.substitutions.is_empty() => {
            from_json(item, bounded(group, context, !single, foreign), parser, false)?
        }
        Some(parser) => match from_substitution(item, context.clone(), parser) {
            Ok(calls) => calls,
            Err(loss) => from_json(item, bounded(group, context, !single, foreign), parser, false).map_err(|_| loss)?,
        },
        None => from_parts(item, group, context)?,
    };
    calls.single = single;
    if let Some((_, close)) = section.as_ref().filter(|_| is_last_bare) {
        calls.close.push(close.clone());
        calls.is_last_bare = true;
    }
    calls.section = section.filter(|(_, close)| !calls.close.contains(close));
    Ok(calls)
}

/// Whether a group takes any text.
fn takes_all(group: &[PatternPart]) -> bool {
    group.iter().all(|part| matches!(part, PatternPart::Run { any: true, .. } | PatternPart::Space))
}

/// The marks around the whole list, if another pattern takes the calls out of it.
fn section(node: &Node, outer: Option<&Surrounded<'_>>) -> Option<(Mark, Mark)> {
    let around = |(group, context): &Surrounded<'_>| {
        let inside = marks::beginning(group).zip(marks::ending(group));
        inside.or_else(|| context.open.first().cloned().zip(context.close.first().cloned()))
    };
    let regex = node.regex.as_ref().filter(|_| node.iterator.is_some());
    let own = regex.and_then(|regex| regex.pattern.as_ref().ok()).map(Pattern::outline);
    let own = own.as_deref().and_then(marks::only).and_then(|own| around(&own));
    own.or_else(|| outer.and_then(around))
}

/// The surroundings of JSON, which its own brackets bound if no marker does.
fn bounded(group: &[PatternPart], mut context: Context, repeats: bool, foreign: &dyn Fn(&Mark) -> bool) -> Context {
    context.open.retain(|mark| !foreign(mark));
    let text = |part: Option<&PatternPart>| match part {
        Some(PatternPart::Text(text)) => text.trim().to_owned(),
        _ => String::new(),
    };
    let mut visible =
        group.iter().filter(|part| !matches!(part, PatternPart::Space | PatternPart::Start | PatternPart::End));
    let last = text(visible.next_back()).chars().next_back().filter(|c| matches!(c, ']' | '}'));
    let json = if last == Some(']') { r"(?=\[\s*(?:\{|\]))" } else { r#"(?=[\[{]\s*["{])"# };
    if context.open.is_empty() {
        let start = if context.at_start || matches!(group.first(), Some(PatternPart::Start)) { r"^\s*" } else { "" };
        context.open = vec![Mark::unwritten(format!("{start}{json}"))];
    } else if context.open_optional {
        let open: Vec<String> = context.open.iter().map(Mark::source).collect();
        let source = format!(r"(?:(?:{})\s*)?{json}", open.join("|"));
        context.open = vec![Mark::Pattern { source, sample: context.lead.clone() }];
    }
    if let Some(last) = last.filter(|_| context.close.is_empty()) {
        context.close = vec![json_end(last, repeats)];
    }
    context
}

/// The end of JSON that no mark closes: the last bracket of the text, or each after which JSON cannot continue.
fn json_end(bracket: char, repeats: bool) -> Mark {
    let after = if repeats { r#"\s*(?:[^\s,\]}"]|\Z)"#.to_owned() } else { format!(r"[^\{bracket}]*\Z") };
    Mark::unwritten(format!(r"(?<=\{bracket})(?={after})"))
}

fn from_json(node: &Node, context: Context, parser: &Parser, is_list: bool) -> Result<Calls, Loss> {
    let around = match (&node.regex, is_list) {
        (Some(_), true) => [context.lead.as_str(), context.close.first().map_or("", Mark::sample)],
        _ => ["", ""],
    };
    let probed = super::shape::probe(node, parser, is_list, around);
    let shape =
        probed.ok_or_else(|| Loss::new(node, "transform", "the shape of a call cannot be determined from it"))?;
    Ok(Calls {
        changes: typed::changes_of_call(node, parser, shape.shape.as_ref(), shape.each),
        open: context.open,
        lead: context.lead,
        close: context.close,
        body: Body::Json(json_args(parser)),
        written: CallSyntax::Object { name: shape.name, arguments: shape.arguments },
        each: shape.each,
        single: is_list && !shape.each,
        shape: shape.shape,
        ..Calls::default()
    })
}

/// Calls that a substitution writes as JSON before they are read: the groups of its pattern are the name and arguments.
fn from_substitution(node: &Node, context: Context, parser: &Parser) -> Result<Calls, Loss> {
    let cannot = || Loss::new(node, "x-regex-substitutions", "calls that are rewritten before they are parsed");
    let [substitution] = node.substitutions.as_slice() else { return Err(cannot()) };
    let pattern = substitution.regex.pattern.as_ref().map_err(|_| cannot())?;
    let replacement = substitution.replacement.as_ref().map_err(|_| cannot())?;
    let outline = pattern.outline();
    let arguments = pattern.group_count();
    let name = arguments.checked_sub(1).filter(|name| *name == 1).ok_or_else(cannot)?;
    let text = replacement.filled(&|group| if group == arguments { "{\"a\": 1}".to_owned() } else { "n".to_owned() });
    let json = backchat_core::json::read(&text).map_err(|_| cannot())?;
    let entries = json.as_object().ok_or_else(cannot)?;
    let key = |wanted: &Value| entries.iter().find(|(_, value)| *value == wanted).map(|(key, _)| key);
    let name_key = key(&"n".into()).ok_or_else(cannot)?;
    let arguments_key = key(&Value::from([("a", 1_i64.into())])).ok_or_else(cannot)?;
    let probed = super::shape::probe(node, parser, false, ["", ""]).ok_or_else(cannot)?;
    let renamed = probed.shape.unwrap_or_else(|| "{content}".into());
    let entries = Value::from([(name_key, "{name}".into()), (arguments_key, "{content}".into())]);
    let shape = super::shape::spelled(&renamed, &entries);
    let is_arguments = |part: &PatternPart| matches!(part, PatternPart::Group { number, .. } if *number == arguments);
    let (_, around) = marks::group(&outline, &|number, _| number == arguments).ok_or_else(cannot)?;
    let place = outline.iter().position(is_arguments).ok_or_else(cannot)?;
    let (head, _) = outline.split_at(place);
    let header = source_of(head, &|group, _| (group == name).then(|| "name".to_owned())).ok_or_else(cannot)?;
    let written = written_parts(head, &|group, _| group == name).ok_or_else(cannot)?;
    let close = if around.close.is_empty() { context.close } else { around.close };
    Ok(Calls {
        header: Some(header),
        close,
        body: Body::Json(json_args(parser)),
        shape: Some(shape),
        written,
        ..Calls::default()
    })
}

/// The texts before and after the name in the text before the arguments.
fn written_parts(head: &[PatternPart], is_name: &dyn Fn(usize, Option<&str>) -> bool) -> Option<CallSyntax> {
    let fill = |group: usize, name: Option<&str>| if is_name(group, name) { "\0" } else { "c1" }.to_owned();
    let written = marks::sample(head, &fill);
    let (before, between) = written.split_once('\0')?;
    Some(CallSyntax::Parts { before: before.to_owned(), between: between.to_owned(), after: String::new() })
}

fn from_parts(item: &Node, inside: &[PatternPart], context: Context) -> Result<Calls, Loss> {
    let function = item
        .children()
        .into_iter()
        .find(|node| node.type_name() == Some("object") && node.property("name").is_some())
        .filter(|_| item.property("name").is_none())
        .unwrap_or(item);
    let taken = TakenApart { item, function, context };
    let arguments = function.property("arguments").ok_or_else(|| taken.cannot("call without arguments"))?;
    let name = function.property("name").ok_or_else(|| taken.cannot("call without a name"))?;
    let is_whole = marks::named(inside, "name").and(marks::named(inside, "arguments")).is_some();
    let own = || outline(function).or_else(|| outline(item));
    let parts = if is_whole { None } else { own() }.unwrap_or_else(|| inside.to_vec());
    let is_arguments =
        |part: &PatternPart| matches!(part, PatternPart::Group { name: Some(name), .. } if name == "arguments");
    match parts.iter().position(is_arguments).filter(|_| marks::named(&parts, "name").is_some()) {
        Some(place) => taken.by_one_pattern(&parts, place, arguments),
        None => taken.by_two_patterns(name, arguments),
    }
}

/// The parts of a list's pattern, with each group replaced by the pattern of the item property that parses it.
pub(super) fn spliced(parts: Vec<PatternPart>, list: &Node) -> Vec<PatternPart> {
    let inner = |part: &PatternPart| match part {
        PatternPart::Group { name: Some(name), .. } => {
            let property = list.items.as_ref()?.property(name)?;
            outline(property).filter(|parts| property.parser.is_none() && marks::named(parts, "name").is_some())
        }
        _ => None,
    };
    let is_text = |part: &PatternPart| !matches!(part, PatternPart::Start | PatternPart::End);
    let splice = |part: PatternPart| match inner(&part) {
        Some(parts) => parts.into_iter().filter(is_text).collect(),
        None => vec![part],
    };
    parts.into_iter().flat_map(splice).collect()
}

/// The parts of a node's pattern, if it has one.
fn outline(node: &Node) -> Option<Vec<PatternPart>> {
    match node.regex.as_ref().map(|regex| &regex.pattern) {
        Some(Ok(pattern)) => Some(pattern.outline()),
        _ => None,
    }
}

/// A call whose name and arguments patterns take apart.
struct TakenApart<'n> {
    item: &'n Node,
    function: &'n Node,
    context: Context,
}

struct NameHeader {
    /// The text before the name, with the name, and its end.
    header: String,
    tail: String,
    is_tail_empty: bool,
    /// The texts around the name as they are written.
    before: String,
    between: String,
    captures: Vec<String>,
}

impl TakenApart<'_> {
    fn cannot(&self, construct: &str) -> Loss {
        Loss::new(self.item, construct, "the calls are not carried over")
    }

    fn calls(&self, header: String, written: CallSyntax, captures: &[String]) -> Calls {
        Calls {
            open: self.context.open.clone(),
            lead: self.context.lead.clone(),
            header: Some(header),
            close: self.context.close.clone(),
            shape: Some(super::shape::written(self.item, self.function, captures)),
            written,
            ..Calls::default()
        }
    }

    /// One pattern with a group for each; the arguments are the part at this place.
    fn by_one_pattern(&self, parts: &[PatternPart], place: usize, arguments: &Node) -> Result<Calls, Loss> {
        let cannot = || self.cannot("x-regex of a call");
        let (head, _) = parts.split_at(place);
        let mut captures = own_texts(self.item, self.function).map(|(name, _)| name.clone()).collect::<Vec<_>>();
        captures.retain(|name| marks::named(head, name).is_some());
        let named = |_: usize, name: Option<&str>| {
            name.filter(|name| *name == "name" || captures.iter().any(|known| known == name)).map(str::to_owned)
        };
        let header = source_of(head, &named).ok_or_else(cannot)?;
        let written = written_parts(head, &|_, name| name == Some("name")).ok_or_else(cannot)?;
        let mut calls = self.calls(header, written, &captures);
        calls.read_arguments(arguments)?;
        let (group, around) = marks::named(parts, "arguments").ok_or_else(cannot)?;
        calls.close_with(group, &around);
        Ok(calls)
    }

    /// A pattern for the name, and one for the arguments.
    fn by_two_patterns(&self, name: &Node, arguments: &Node) -> Result<Calls, Loss> {
        let NameHeader { header, tail, is_tail_empty, before, between, captures } = self.name_header(name)?;
        let Some(parts) = outline(arguments).filter(|_| arguments.key_value.is_none()) else {
            let written = CallSyntax::Parts { before, between, after: String::new() };
            let mut calls = self.calls(header + &tail, written, &captures);
            calls.read_arguments(arguments)?;
            calls.end(&self.context, &[]);
            return Ok(calls);
        };
        let (group, around) = marks::only(&parts).ok_or_else(|| self.cannot("x-regex of the arguments"))?;
        let bracket = marks::beginning(group).filter(|mark| mark.sample().starts_with(['{', '[']));
        let written = format!("{before}n{between}");
        let is_open_behind = |open: &Mark| {
            let found = Pattern::new(&open.source()).ok().and_then(|open| open.find_at(&written, 0).ok()?);
            found.is_some_and(|found| found.span().1 == written.len())
        };
        let not_close = self.not_close();
        let (to_arguments, between) = match (around.open.first(), bracket) {
            // The end of the name opens the arguments.
            (Some(open), _) if is_open_behind(open) => (tail, between),
            (Some(open), _) => {
                let is_spaced =
                    parts.windows(2).any(|pair| matches!(pair, [PatternPart::Space, PatternPart::Group { .. }]));
                let space = if is_spaced { r"\s*" } else { "" };
                let skipped = format!("(?:{not_close}.)*?{}{space}", open.source());
                let skipped = if around.open_optional { format!("(?:{skipped})?") } else { skipped };
                (tail + &skipped, format!("{between}{}", open.sample()))
            }
            // The end of the name may begin the arguments.
            (None, Some(bracket)) => {
                let between = between.strip_suffix(bracket.sample()).unwrap_or(&between).to_owned();
                let ahead = if is_tail_empty { String::new() } else { format!("(?={tail})") };
                (format!("{ahead}(?:{not_close}.)*?(?={})", bracket.source()), between)
            }
            (None, None) => (tail, between),
        };
        let written = CallSyntax::Parts { before, between, after: String::new() };
        let mut calls = self.calls(header + &to_arguments, written, &captures);
        calls.read_arguments(arguments)?;
        calls.close_with(group, &around);
        Ok(calls)
    }

    /// The pattern of the name as one that matches from the start of a call, with the call's other texts.
    fn name_header(&self, name: &Node) -> Result<NameHeader, Loss> {
        let cannot = || self.cannot("x-regex of the name");
        let source = |parts: &[PatternPart]| source_of(parts, &|_, _| None).ok_or_else(cannot);
        let parts = outline(name).ok_or_else(|| self.cannot("name that no pattern reads"))?;
        let place = parts.iter().position(|part| matches!(part, PatternPart::Group { .. })).ok_or_else(cannot)?;
        let (head, from_group) = parts.split_at(place);
        let [PatternPart::Group { parts: taken, .. }, tail @ ..] = from_group else { return Err(cannot()) };
        let taken = source(taken)?;
        let is_bounded = marks::beginning(tail).is_some();
        let taken = match (is_bounded, self.context.close.first()) {
            // A name that only white space ends would run past the end of the call.
            (false, Some(close)) if !taken.starts_with(r"\w") => {
                let first = close.sample().chars().next().map_or(String::new(), |c| escape_literal(&c.to_string()));
                if taken == r"\S+" { format!(r"[^\s{first}]+") } else { format!("(?:(?!{}){taken})", close.source()) }
            }
            _ => taken,
        };
        let mut captures = Vec::new();
        let mut header = String::new();
        let own = own_texts(self.item, self.function);
        for (name, parts) in own.filter_map(|(name, node)| Some((name, outline(node)?))) {
            let number = parts.iter().position(|part| matches!(part, PatternPart::Group { .. }));
            let read = number.and_then(|_| source_of(&parts, &|_, _| Some(name.clone())));
            if let Some(read) = read {
                header.push_str(&format!("(?={}{read})", self.before_mark(&parts)));
                captures.push(name.clone());
            }
        }
        let plain = |parts: &[PatternPart]| marks::sample(parts, &|_, _| String::new());
        Ok(NameHeader {
            header: format!("{header}{}{}(?P<name>{taken})", self.before_mark(head), source(head)?),
            tail: source(tail)?,
            is_tail_empty: tail.is_empty(),
            before: plain(head),
            between: plain(tail),
            captures,
        })
    }

    /// A lookahead that keeps a pattern inside its call.
    fn not_close(&self) -> String {
        self.context.close.first().map_or(String::new(), |close| format!("(?!{})", close.source()))
    }

    /// A pattern of the text before a pattern that may match anywhere in the call.
    fn before_mark(&self, parts: &[PatternPart]) -> String {
        let not_close = self.not_close();
        match parts.first() {
            None | Some(PatternPart::Start) => String::new(),
            Some(_) if not_close.is_empty() => r"\s*".to_owned(),
            Some(_) => format!("(?:{not_close}.)*?"),
        }
    }
}

/// The texts of a call besides its name and arguments, such as its id, with their nodes.
fn own_texts<'n>(item: &'n Node, function: &'n Node) -> impl Iterator<Item = &'n (String, Node)> {
    let is_text = |node: &Node| {
        let is_read = node.parser.is_some() || node.key_value.is_some() || !node.substitutions.is_empty();
        node.constant.is_none() && matches!(node.type_name(), None | Some("string" | "any")) && !is_read
    };
    let inner = (!std::ptr::eq(item, function)).then_some(function);
    let nodes = [Some(item), inner].into_iter().flatten().flat_map(|node| node.properties.iter().flatten());
    nodes.filter(move |(name, node)| !["name", "arguments"].contains(&name.as_str()) && is_text(node))
}

/// How the node of the arguments reads them.
fn body(node: &Node) -> Result<Body, Loss> {
    let cannot = |construct: &str| Loss::new(node, construct, "the arguments are not carried over");
    if let Some(parser) = &node.parser {
        return Ok(node.substitutions.iter().find_map(written_pairs).unwrap_or_else(|| Body::Json(json_args(parser))));
    }
    let Some(regex) = &node.key_value else {
        let is_text = matches!(node.type_name(), None | Some("string" | "any")) && node.substitutions.is_empty();
        return if is_text { Ok(Body::Text) } else { Err(cannot("arguments that no parser reads")) };
    };
    let outline = regex.pattern.as_ref().map(|pattern| pattern.outline()).map_err(|_| cannot("x-regex-key-value"))?;
    let pattern = source_of(&outline, &|_, name| name.map(str::to_owned)).ok_or_else(|| cannot("x-regex-key-value"))?;
    let value_parser = match &node.additional {
        Additional::Parsed(value) => value.parser.as_ref().map(|parser| {
            let mut spec = Object::from([("name", "json".into())]);
            spec.extend(Some(json_args(parser)).filter(|args| !args.is_null()).map(|args| ("args", args)));
            Value::Object(spec)
        }),
        _ => None,
    };
    let quotes: Vec<char> = match &node.additional {
        Additional::Parsed(value) if value.parser.is_none() && !value.substitutions.is_empty() => {
            let strips =
                |quote: &char| parse_node(value, &format!("{quote}a b{quote}")).is_ok_and(|read| read == "a b".into());
            ['"', '\''].into_iter().filter(strips).collect()
        }
        _ => Vec::new(),
    };
    Ok(Body::Tags { pattern: unquoted(&pattern, &quotes), value_parser })
}

/// The pairs that a substitution writes as members of a JSON object: its first group is the key, its second the value.
fn written_pairs(substitution: &Substitution) -> Option<Body> {
    let pattern = substitution.regex.pattern.as_ref().ok().filter(|pattern| pattern.group_count() == 2)?;
    let written = substitution.replacement.as_ref().ok()?;
    let written = written.filled(&|group| if group == 1 { "k".to_owned() } else { "1".to_owned() });
    let member = written.trim().trim_matches([',', '{', '}']);
    let read = backchat_core::json::read(&format!("{{{member}}}")).ok()?;
    let value = read.as_object().filter(|entries| entries.len() == 1)?.get("k")?;
    let name = |group: usize, _: Option<&str>| Some(if group == 1 { "key" } else { "value" }.to_owned());
    let pattern = source_of(&pattern.outline(), &name)?;
    let json = || Value::from([("name", "json".into()), ("args", Value::from([("allow_non_json", true.into())]))]);
    Some(Body::Tags { pattern, value_parser: value.as_str().is_none().then(json) })
}

/// A tag pattern whose values may be in quotes that are not part of them.
fn unquoted(pattern: &str, quotes: &[char]) -> String {
    let group = "(?P<value>";
    let end = pattern
        .find(group)
        .and_then(|at| Some((at, at + group.len() + group_length(pattern.get(at + group.len()..)?)?)));
    let Some((at, end)) = end.filter(|_| !quotes.is_empty()) else { return pattern.to_owned() };
    let quoted: String = quotes.iter().map(|quote| format!("{quote}(?P<value>[^{quote}]*){quote}|")).collect();
    let (before, value, after) = (slice(pattern, ..at), slice(pattern, at..end), slice(pattern, end..));
    format!("{before}(?:{quoted}{value}){after}")
}

/// The length of a group's inside and its closing bracket.
fn group_length(inside: &str) -> Option<usize> {
    let (mut depth, mut is_escaped, mut is_class) = (1_usize, false, false);
    for (at, c) in inside.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            ']' => is_class = false,
            _ if is_class => {}
            '[' => is_class = true,
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

impl Calls {
    fn read_arguments(&mut self, node: &Node) -> Result<(), Loss> {
        self.body = body(node)?;
        self.changes = typed::changes(node, &|path| Some(path.to_vec()));
        Ok(())
    }

    /// Closes a call with the end of its arguments and then its own end.
    fn close_with(&mut self, group: &[PatternPart], around: &Context) {
        let Some(own) = around.close.first().filter(|own| !own.sample().is_empty()) else {
            return self.end(around, group);
        };
        if let CallSyntax::Parts { after, .. } = &mut self.written {
            *after = own.sample().to_owned();
        }
        self.close = match self.close.as_slice() {
            [] => vec![own.clone()],
            closes => closes.iter().map(|close| marks::then(own, close, marks::is_greedy(group))).collect(),
        };
    }

    /// Closes a call without a closing mark: at the bracket of its arguments, or before the next part.
    fn end(&mut self, around: &Context, arguments: &[PatternPart]) {
        if !self.close.is_empty() {
            return;
        }
        let last = marks::ending(arguments).and_then(|end| end.sample().trim_end().chars().next_back());
        match last.filter(|last| matches!(last, '}' | ']')) {
            Some(bracket) => self.close.push(json_end(bracket, true)),
            None if around.ahead.is_empty() => {}
            None => self.close.push(Mark::ahead_of(&around.ahead)),
        }
    }
}
