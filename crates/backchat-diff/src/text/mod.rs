//! A comparison as text for a terminal of 80 columns: the verdict first, one screen, white space visible, nothing that
//! could affect the terminal. The same texts as Markdown.

mod changes;
mod chat;
mod conversation;
mod lines;
mod markdown;
mod response;
