//! The forms in which chat templates accept conversations, and additions to try if a template refuses all of them.

use backchat_core::distinct;

/// One way of passing a conversation; templates refuse some, or read only some.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestShape {
    /// Content as a list of text parts instead of a string.
    pub content_parts: bool,
    /// Arguments as the text of a JSON object instead of the object.
    pub arguments_text: bool,
    pub absent: Absent,
    /// Tools as bare functions instead of wrapped ones.
    pub bare_tools: bool,
    /// Which tools are offered.
    pub offer: Offer,
    /// A system message first, even if the conversation has none.
    pub system: bool,
    /// Ids longer than those of the conversation.
    pub long_ids: bool,
}

/// The tools that a request offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Offer {
    /// Those that the prober offers or, if it offers none, those that the conversation calls.
    Usual,
    /// The same, plus an uncalled one if there would be none: some templates require tools.
    Always,
    /// These and those that the conversation calls: some templates refuse calls of other tools.
    Called,
    /// None, even if there are calls: some templates refuse tools.
    Never,
}

/// How the absent content of an answer is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Absent {
    Empty,
    Null,
    Missing,
}

impl Absent {
    /// In words that follow "content is".
    pub fn describe(self) -> &'static str {
        match self {
            Absent::Empty => "empty",
            Absent::Null => "null",
            Absent::Missing => "left out",
        }
    }
}

impl RequestShape {
    /// The form that most templates accept.
    pub const USUAL: RequestShape = RequestShape {
        content_parts: false,
        arguments_text: false,
        absent: Absent::Empty,
        bare_tools: false,
        offer: Offer::Usual,
        system: false,
        long_ids: false,
    };

    /// Every form of messages and tools that this request may have, the usual ones first.
    pub fn forms(self) -> impl Iterator<Item = RequestShape> {
        [false, true].into_iter().flat_map(move |bare_tools| {
            [false, true].into_iter().flat_map(move |content_parts| {
                [Absent::Empty, Absent::Null, Absent::Missing].into_iter().flat_map(move |absent| {
                    [false, true].into_iter().map(move |arguments_text| RequestShape {
                        content_parts,
                        arguments_text,
                        absent,
                        bare_tools,
                        ..self
                    })
                })
            })
        })
    }

    /// Requests with additions, for templates that refuse this one in every form: other tools, a system message, other
    /// ids, and two of these.
    pub fn remedies(self) -> Vec<RequestShape> {
        let offers = [Offer::Called, Offer::Never, Offer::Always].map(|offer| RequestShape { offer, ..self });
        let (system, ids) = (RequestShape { system: true, ..self }, RequestShape { long_ids: true, ..self });
        let with_system = offers.map(|shape| RequestShape { system: true, ..shape });
        let with_ids = [offers[0], offers[1], system].map(|shape| RequestShape { long_ids: true, ..shape });
        let all = offers.into_iter().chain([system, ids]).chain(with_system).chain(with_ids);
        distinct(all.filter(|shape| *shape != self))
    }

    /// This request in every form, and then its remedies in every form.
    pub fn ladder(self) -> impl Iterator<Item = RequestShape> {
        std::iter::once(self).chain(self.remedies()).flat_map(RequestShape::forms)
    }

    /// In words, for the report.
    pub fn describe(&self) -> String {
        let mut words = vec![if self.arguments_text { "arguments as JSON text" } else { "arguments as an object" }];
        if self.content_parts {
            words.push("content as a list of parts");
        }
        match self.absent {
            Absent::Empty => {}
            Absent::Null => words.push("absent content as null"),
            Absent::Missing => words.push("absent content left out"),
        }
        if self.bare_tools {
            words.push("tools without the function wrapper");
        }
        match self.offer {
            Offer::Usual => {}
            Offer::Always => words.push("a tool offered in every request"),
            Offer::Called => words.push("every called tool offered"),
            Offer::Never => words.push("no tools offered"),
        }
        if self.system {
            words.push("a system message first");
        }
        if self.long_ids {
            words.push("long call ids");
        }
        words.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: RequestShape = RequestShape::USUAL;

    #[test]
    fn every_request_shape_is_tried_once_the_usual_one_first() {
        let shapes: Vec<RequestShape> = USUAL.ladder().collect();
        assert_eq!(shapes.first(), Some(&USUAL));
        // Two forms each of content, arguments and tools, three of absent content; eleven remedies.
        assert_eq!(shapes.len(), 12 * 24);
        for (at, shape) in shapes.iter().enumerate() {
            assert!(!shapes[..at].contains(shape), "{shape:?} comes twice");
        }
    }

    #[test]
    fn a_request_shape_is_described_by_how_it_differs_from_the_usual_one() {
        let unusual =
            RequestShape { content_parts: true, arguments_text: true, absent: Absent::Null, bare_tools: true, ..USUAL };
        let described = "arguments as JSON text, content as a list of parts, absent content as null, tools without the \
                         function wrapper";
        assert_eq!(unusual.describe(), described);
        assert_eq!(USUAL.describe(), "arguments as an object");
    }
}
