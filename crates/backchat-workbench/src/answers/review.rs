//! A repair as a review of a pull request: each change is a suggestion on the lines that it replaces.

use backchat_chats::mending::Repair;
use backchat_core::json::{Object, Value};
use backchat_probe::diff::{DiffTag, lines, operations};

use super::proved;

/// The body of GitHub's request that creates a review of a pull request, for the file at `path`. Suggestions are on the
/// lines of the file before the repair; GitHub takes them only on lines that the pull request shows.
pub fn review(before: &str, repair: &Repair, path: &str) -> Object {
    let (old, new) = (lines(before), lines(&repair.text));
    let mut comments = Vec::new();
    for operation in operations(&old, &new).iter().filter(|operation| operation.tag() != DiffTag::Equal) {
        let (mut from, mut to) = (operation.old_range(), operation.new_range());
        if from.is_empty() {
            // A suggestion replaces lines, so lines that are inserted go with one that stays.
            match from.start.checked_sub(1).zip(to.start.checked_sub(1)) {
                Some((old, new)) => (from.start, to.start) = (old, new),
                None => (from.end, to.end) = (from.end + 1, to.end + 1),
            }
        }
        let text = new.get(to).unwrap_or_default().concat();
        comments.push(comment(path, from.start + 1, from.end, &text));
    }
    let mut body: Vec<String> = repair
        .cured
        .iter()
        .map(|cured| {
            let edits: Vec<&str> = cured.edits.iter().map(|edit| edit.what.as_str()).collect();
            format!("- `{}`: {}", cured.problem.id(), edits.join("; "))
        })
        .collect();
    body.insert(0, "`backchat fix` repairs this chat template. Apply the suggestions together.\n".to_owned());
    body.extend(proved(&repair.proof).into_iter().map(|sentence| format!("\n{sentence}.")));
    Object::from_iter([
        ("event".to_owned(), "COMMENT".into()),
        ("body".to_owned(), body.join("\n").into()),
        ("comments".to_owned(), Value::List(comments)),
    ])
}

/// A suggestion for the lines from `first` to `last`.
fn comment(path: &str, first: usize, last: usize, text: &str) -> Value {
    // A fence that the template does not contain.
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let body = format!("{fence}suggestion\n{text}{end}{fence}");
    let start = (first < last).then(|| [("start_line", Value::from(first)), ("start_side", "RIGHT".into())]);
    let entries = [("path", Value::from(path)), ("line", last.into()), ("side", "RIGHT".into()), ("body", body.into())];
    let entries = entries.into_iter().chain(start.into_iter().flatten());
    Value::Object(entries.map(|(key, value)| (key.to_owned(), value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_chat::ChatTemplate;
    use backchat_chats::mending::repair;
    use backchat_probe::doctor::{Options, Problem};

    /// The source with the suggestions applied, as GitHub does it.
    fn applied(source: &str, review: &Object) -> String {
        let mut kept: Vec<String> = source.split_inclusive('\n').map(str::to_owned).collect();
        for comment in review.get("comments").unwrap().as_list().unwrap().iter().rev() {
            let number = |key| comment.get(key).and_then(Value::as_i64).map(|line| usize::try_from(line).unwrap());
            let last = number("line").unwrap();
            let body = comment.get("body").unwrap().as_str().unwrap();
            let text = body.split_once("suggestion\n").unwrap().1.rsplit_once('`').unwrap().0.trim_end_matches('`');
            kept.splice(number("start_line").unwrap_or(last) - 1..last, [text.to_owned()]);
        }
        kept.concat()
    }

    #[test]
    fn the_suggestions_make_the_repaired_template() {
        let source = "{%- for m in messages %}\n    {%- if m.role == 'system' and not loop.first %}\n        \
                      {{- raise_exception('first') }}\n    {%- endif %}\n    {{- '<' + m.role + '>' + m.content + '```</>\\n' }}\n\
                      {%- endfor %}\n{%- if add_generation_prompt %}\n    {{- '<assistant>' }}\n{%- endif %}\n";
        let template = ChatTemplate::compile(source).unwrap();
        for problems in [vec![Problem::LateSystem], vec![Problem::Parts], vec![]] {
            let repaired = repair(source, &template, &problems, &Options::default());
            let review = review(source, &repaired, "models/a/chat_template.jinja");
            assert!(!repaired.diff.is_empty());
            assert_eq!(applied(source, &review), repaired.text, "{}", Value::Object(review));
        }
    }
}
