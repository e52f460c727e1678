//! Reads the chat templates and special tokens in the metadata of a GGUF file. Never touches the tensors after it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::{Candidates, DEFAULT, Named, SourceError};
use backchat_core::diagnostic::LARGEST_FILE;
use backchat_core::json::{Object, Value};

/// The first bytes of every GGUF file.
pub(super) const MAGIC: [u8; 4] = *b"GGUF";

const TEMPLATE: &str = "tokenizer.chat_template";
const TOKENS: &str = "tokenizer.ggml.tokens";
/// Keys that hold a token's id, and the token's name in templates.
const TOKEN_IDS: &[(&str, &str)] = &[
    ("tokenizer.ggml.bos_token_id", "bos_token"),
    ("tokenizer.ggml.eos_token_id", "eos_token"),
    ("tokenizer.ggml.unknown_token_id", "unk_token"),
    ("tokenizer.ggml.padding_token_id", "pad_token"),
    ("tokenizer.ggml.separator_token_id", "sep_token"),
    ("tokenizer.ggml.seperator_token_id", "sep_token"),
    ("tokenizer.ggml.cls_token_id", "cls_token"),
    ("tokenizer.ggml.mask_token_id", "mask_token"),
];

/// The longest key that the format allows.
const LONGEST_KEY: u64 = 65_535;
/// The most metadata that is read, in bytes: ten times the largest vocabulary with its merges.
const LONGEST_METADATA: u64 = 256 << 20;
/// How deep arrays may nest.
const DEEPEST: usize = 8;

const STRING: u32 = 8;
const ARRAY: u32 = 9;

/// Why a file cannot be read, with the offset of the byte if its format is wrong.
enum Problem {
    Format(String, u64),
    Io(io::Error),
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Problem::Io(error)
    }
}

type Result<T> = std::result::Result<T, Problem>;

/// Reads the templates and special tokens of a GGUF file.
pub(super) fn read(path: &Path, name: &str) -> std::result::Result<Candidates, SourceError> {
    let opened = || -> Result<File> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(MAGIC.len() as u64))?;
        Ok(file)
    };
    let result = opened().and_then(GgufReader::new).and_then(|mut reader| reader.metadata(name));
    let found = result.map_err(|problem| match problem {
        Problem::Io(error) => super::unreadable(name, &error),
        Problem::Format(message, at) => {
            let message = format!("{message} (at byte {at})");
            SourceError::about(name, "invalid-gguf", message, "check that the download is complete")
        }
    })?;
    if found.templates.is_empty() {
        let message = format!("the metadata has no key `{TEMPLATE}`");
        let help = "name the original model's folder, or its chat_template.jinja";
        return Err(SourceError::about(name, "no-chat-template", message, help));
    }
    Ok(found)
}

struct GgufReader {
    input: BufReader<File>,
    at: u64,
    len: u64,
    /// Version 1 counts with 32 bits.
    narrow: bool,
}

impl GgufReader {
    fn new(file: File) -> Result<Self> {
        let len = file.metadata()?.len();
        Ok(Self { input: BufReader::with_capacity(1 << 18, file), at: MAGIC.len() as u64, len, narrow: false })
    }

    fn fail<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(Problem::Format(message.into(), self.at))
    }

    /// Fails if that many bytes would go beyond the end of the file or the limit of metadata.
    fn need(&self, bytes: u64, what: &str) -> Result<()> {
        if bytes > self.len.saturating_sub(self.at) {
            return self
                .fail(format!("the file is cut off: {what} of {bytes} bytes goes beyond its end at {}", self.len));
        }
        if self.at.saturating_add(bytes) > LONGEST_METADATA {
            return self.fail(format!("the metadata is longer than {} MiB", LONGEST_METADATA >> 20));
        }
        Ok(())
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.need(N as u64, "a value")?;
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes)?;
        self.at += N as u64;
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn count(&mut self) -> Result<u64> {
        if self.narrow { self.u32().map(u64::from) } else { self.bytes().map(u64::from_le_bytes) }
    }

    fn skip(&mut self, bytes: u64, what: &str) -> Result<()> {
        self.need(bytes, what)?;
        let offset = i64::try_from(bytes).map_err(|_| Problem::Format(format!("{what} is too long"), self.at))?;
        self.input.seek_relative(offset)?;
        self.at += bytes;
        Ok(())
    }

    fn string(&mut self, what: &str, longest: u64) -> Result<String> {
        let start = self.at;
        let length = self.count()?;
        self.need(length, what)?;
        if length > longest {
            return Err(Problem::Format(format!("{what} of {length} bytes is implausibly long"), start));
        }
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        self.input.read_exact(&mut bytes)?;
        self.at += length;
        String::from_utf8(bytes).map_err(|_| Problem::Format(format!("{what} is not UTF-8"), start))
    }

    fn metadata(&mut self, file: &str) -> Result<Candidates> {
        let version = self.u32()?;
        match version {
            1 => self.narrow = true,
            2 | 3 => {}
            version if version.swap_bytes() <= 3 => return self.fail("a big-endian GGUF file is not supported"),
            version => return self.fail(format!("version {version} of GGUF is not supported")),
        }
        let _tensors = self.count()?;
        let entries = self.count()?;
        let mut templates = Vec::new();
        let mut tokens = None;
        let mut ids = Vec::new();
        for _ in 0..entries {
            let key = self.string("a key", LONGEST_KEY)?;
            let kind = self.u32()?;
            let token = TOKEN_IDS.iter().find(|(name, _)| *name == key).map(|(_, token)| *token);
            if let Some(name) = template_name(&key).filter(|_| kind == STRING) {
                let template = self.string("a chat template", LARGEST_FILE)?;
                templates.push(Named { name: name.to_owned(), template, file: file.to_owned() });
            } else if let (Some(token), 4 | 5) = (token, kind) {
                ids.push((token, u64::from(self.u32()?)));
            } else {
                if key == TOKENS {
                    tokens = Some((self.at, kind));
                }
                self.skip_value(kind, 0)?;
            }
        }
        let special_tokens = match tokens {
            Some((at, ARRAY)) => self.tokens(at, &ids)?,
            _ => Object::new(),
        };
        Ok(Candidates { templates, special_tokens })
    }

    fn skip_value(&mut self, kind: u32, depth: usize) -> Result<()> {
        match kind {
            STRING => {
                let length = self.count()?;
                self.skip(length, "a string")
            }
            ARRAY if depth == DEEPEST => self.fail("arrays nest too deep"),
            ARRAY => {
                let kind = self.u32()?;
                let count = self.count()?;
                match width(kind) {
                    Some(width) => match count.checked_mul(width) {
                        Some(bytes) => self.skip(bytes, "an array"),
                        None => self.fail(format!("an array of {count} elements is longer than any file")),
                    },
                    None if kind == STRING => self.skip_strings(count),
                    None => (0..count).try_for_each(|_| self.skip_value(kind, depth + 1)),
                }
            }
            kind => match width(kind) {
                Some(width) => self.skip(width, "a value"),
                None => self.fail(format!("{kind} is not a value type")),
            },
        }
    }

    /// Skips the strings of an array. A vocabulary is large, so strings inside the buffer are skipped without a seek.
    fn skip_strings(&mut self, count: u64) -> Result<()> {
        let width = if self.narrow { 4 } else { 8 };
        let mut left = count;
        while left > 0 {
            let buffer = self.input.buffer();
            let mut used = 0;
            while left > 0 {
                let Some(prefix) = buffer.get(used..used + width) else { break };
                let length = prefix.iter().rev().fold(0_u64, |length, byte| length << 8 | u64::from(*byte));
                let end = usize::try_from(length).ok().and_then(|length| length.checked_add(used + width));
                let Some(end) = end.filter(|end| *end <= buffer.len()) else { break };
                used = end;
                left -= 1;
            }
            self.input.consume(used);
            self.at += used as u64;
            if left > 0 {
                self.skip_value(STRING, 0)?;
                left -= 1;
            }
        }
        Ok(())
    }

    /// The texts of tokens, by their ids.
    fn tokens(&mut self, at: u64, ids: &[(&str, u64)]) -> Result<Object> {
        self.input.seek(SeekFrom::Start(at))?;
        self.at = at;
        let (kind, count) = (self.u32()?, self.count()?);
        if kind != STRING {
            return self.fail("the tokens are not strings");
        }
        let mut wanted: Vec<u64> = ids.iter().map(|(_, id)| *id).filter(|id| *id < count).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut texts = Vec::new();
        let mut index = 0;
        for id in wanted {
            self.skip_strings(id - index)?;
            texts.push((id, self.string("a token", LONGEST_KEY)?));
            index = id + 1;
        }
        let text = |id: u64| texts.iter().find(|(known, _)| *known == id).map(|(_, text)| Value::from(text.as_str()));
        Ok(ids.iter().filter_map(|(name, id)| Some(((*name).to_owned(), text(*id)?))).collect())
    }
}

/// The name of the template under a key: `tokenizer.chat_template` is the default, a suffix names any other.
fn template_name(key: &str) -> Option<&str> {
    match key.strip_prefix(TEMPLATE)? {
        "" => Some(DEFAULT),
        rest => rest.strip_prefix('.'),
    }
}

/// The bytes of a value of fixed width.
fn width(kind: u32) -> Option<u64> {
    match kind {
        0 | 1 | 7 => Some(1),
        2 | 3 => Some(2),
        4..=6 => Some(4),
        10..=12 => Some(8),
        _ => None,
    }
}
