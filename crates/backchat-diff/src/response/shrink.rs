//! Takes from a text what its difference does not need.

use super::Text;

/// How many smaller texts are tried.
const MOST_TRIES: usize = 3_000;

/// The smallest text that still differs: runs of characters are taken out, the long ones first, then one and two at a time
/// until nothing can go.
pub(super) fn shrunk(text: Text, differs: &dyn Fn(&Text) -> bool) -> Text {
    let mut smallest = text;
    let mut left = MOST_TRIES;
    let mut size = smallest.text.chars().count().div_ceil(2).max(1);
    loop {
        let before = smallest.text.len();
        let mut at = 0;
        while at < smallest.text.chars().count() {
            if left == 0 {
                return smallest;
            }
            left -= 1;
            let kept = smallest.text.chars().enumerate().filter(|(place, _)| *place < at || *place >= at + size);
            let made = Text { text: kept.map(|(_, c)| c).collect(), ..smallest.clone() };
            if differs(&made) {
                smallest = made;
            } else {
                at += size.div_ceil(2).max(1);
            }
        }
        let is_settled = smallest.text.len() == before;
        if size > 1 {
            size = size.div_ceil(2);
        } else if is_settled {
            return smallest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_what_the_difference_needs() {
        let text = Text { text: "so <a>much</a> text".to_owned(), ..Text::default() };
        let differs = |text: &Text| text.text.contains("<a>") && text.text.contains("</a>");
        assert_eq!(shrunk(text, &differs).text, "<a></a>");
    }
}
