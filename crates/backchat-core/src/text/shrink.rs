//! The smallest text that keeps a property: what is left is what the property needs.

/// Takes runs of characters out of a text that has a property, the long ones first, then one and two at a time until
/// nothing can go. Each smaller text that is tried takes one from `tries`; at 0 the smallest one so far is returned.
pub fn shrunk(text: &str, tries: &mut usize, holds: &mut dyn FnMut(&str) -> bool) -> String {
    let mut smallest = text.to_owned();
    let mut size = smallest.chars().count().div_ceil(2).max(1);
    loop {
        let before = smallest.len();
        let mut at = 0;
        while at < smallest.chars().count() {
            if *tries == 0 {
                return smallest;
            }
            *tries -= 1;
            let kept = smallest.chars().enumerate().filter(|(place, _)| *place < at || *place >= at + size);
            let made: String = kept.map(|(_, c)| c).collect();
            if holds(&made) {
                smallest = made;
            } else {
                at += size.div_ceil(2).max(1);
            }
        }
        let is_settled = smallest.len() == before;
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
    fn what_is_left_is_what_the_property_needs() {
        let mut holds = |text: &str| text.contains("<a>") && text.contains("</a>");
        assert_eq!(shrunk("so <a>much</a> text", &mut 3_000, &mut holds), "<a></a>");
    }

    #[test]
    fn no_more_texts_are_tried_than_allowed() {
        let (mut tries, mut asked) = (3, 0);
        shrunk("abcdefgh", &mut tries, &mut |_| {
            asked += 1;
            false
        });
        assert_eq!((tries, asked), (0, 3));
    }
}
