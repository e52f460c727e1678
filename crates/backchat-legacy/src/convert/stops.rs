//! Infers the end of a turn from its beginning: chat formats pair the two.

use super::marks::Mark;
use backchat_core::json::Value;

/// The markers that pair with those of an anchor: `<|x_start|>` with `<|x_end|>`, `<|x>` with `<x|>`.
pub(super) fn of_anchor(anchor: &Value) -> Vec<Mark> {
    let anchors: Vec<&str> = match anchor {
        Value::String(anchor) => vec![anchor],
        Value::List(anchors) => anchors.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let mut stops = Vec::new();
    for token in anchors.into_iter().filter_map(first_token) {
        let stop = pairs(token);
        stops.extend(stop.into_iter().filter(|stop| stop != token).map(Mark::Literal));
    }
    // If `<x|>` closes `<|x>`, an opening token at the end of the output belongs to the next turn.
    if stops.iter().any(|stop| stop.sample().ends_with("|>") && !stop.sample().starts_with("<|")) {
        stops.push(Mark::Pattern { source: r"<\|[^<>|\s]+>\s*\Z".to_owned(), sample: "<|next>".to_owned() });
    }
    stops
}

/// The first text between angle brackets.
fn first_token(anchor: &str) -> Option<&str> {
    let start = anchor.find('<')?;
    let end = start + anchor.get(start..)?.find('>')?;
    anchor.get(start..=end)
}

fn pairs(token: &str) -> Option<String> {
    for (opens, closes) in [("start", "end"), ("START", "END"), ("begin", "end"), ("BEGIN", "END")] {
        if token.contains(opens) {
            return Some(token.replacen(opens, closes, 1));
        }
    }
    let name = token.strip_prefix("<|")?.strip_suffix('>')?;
    (!name.ends_with('|')).then(|| format!("<{name}|>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_pairs_with_the_anchor() {
        for (anchor, want) in [
            ("<|im_start|>assistant\n", Some("<|im_end|>")),
            ("<start_of_turn>model\n", Some("<end_of_turn>")),
            ("<|turn>model\n", Some("<turn|>")),
            ("<|assistant|>", None),
            ("[/INST]", None),
            ("<|turn>\n", Some("<turn|>")),
        ] {
            let stops = of_anchor(&anchor.into());
            assert_eq!(stops.first().map(Mark::sample), want, "{anchor}");
        }
    }
}
