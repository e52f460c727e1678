//! Bytes to text: invalid UTF-8 is an error with the position of the first bad byte.

use super::{Diagnostic, Place, Sources};

/// The largest template or JSON file that is read as a whole, in bytes: several times the size of any model's config.
pub const LARGEST_FILE: u64 = 32 << 20;

/// Why bytes are not text, and the text before the first bad byte.
#[derive(Clone, Debug)]
pub struct NotText {
    /// The problem and its position.
    pub diagnostic: Diagnostic,
    /// The text before that position, for the excerpt.
    pub sources: Sources,
}

/// The text of a file from its bytes.
///
/// ```
/// # use backchat_core as backchat;
/// use backchat::diagnostic::text;
///
/// assert_eq!(text("a.json", b"{}".to_vec()).unwrap(), "{}");
/// let wrong = text("a.json", b"{\n\xB5".to_vec()).unwrap_err();
/// assert_eq!(wrong.diagnostic.message, "the file is not text: the byte 0xB5 is not UTF-8");
/// ```
pub fn text(file: &str, bytes: Vec<u8>) -> Result<String, NotText> {
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let bytes = error.into_bytes();
        let before = String::from_utf8_lossy(bytes.get(..good).unwrap_or_default()).into_owned();
        let byte = bytes.get(good).copied().unwrap_or_default();
        let message = format!("the file is not text: the byte 0x{byte:02X} is not UTF-8");
        let diagnostic = Diagnostic::error("invalid-utf8", message)
            .at(Place::span(&before, good..good).in_file(file))
            .help("check that it is the file you mean; convert other encodings with `iconv -t utf-8`");
        NotText { diagnostic, sources: Sources::none().with(file, before) }
    })
}
