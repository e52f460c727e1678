//! The location of a suite, and the repository around it.

use std::path::{Path, PathBuf};

use crate::input;

/// The file that holds the response template and the special tokens.
pub const CONFIG: &str = "tokenizer_config.json";
/// The file that a chat template from elsewhere is copied to.
pub const CHAT_TEMPLATE: &str = "chat_template.jinja";
/// The folder of the fixtures.
pub const FIXTURES: &str = "fixtures";

/// Generic file names, for which the name of the folder is used.
const NAMELESS: [&str; 3] = [CONFIG, CHAT_TEMPLATE, "chat_template.json"];

/// The folder of a suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// The folder.
    pub folder: PathBuf,
    /// Whether it is that of the model itself.
    pub is_the_models: bool,
}

impl Home {
    /// The folder of a suite: the requested one, the model's own, or a new one named after the model.
    pub fn choose(model: &str, asked: Option<&Path>) -> Self {
        let path = Path::new(model);
        let own = match path.file_name().and_then(|name| name.to_str()) {
            _ if path.is_dir() => Some(path),
            Some(name) if NAMELESS.contains(&name) => path.parent(),
            _ => None,
        };
        let own = own.map(|own| if own == Path::new("") { Path::new(".") } else { own });
        let is_same = |one: &Path, other: &Path| {
            one.canonicalize().ok().zip(other.canonicalize().ok()).is_some_and(|(one, other)| one == other)
        };
        match (asked, own) {
            (Some(asked), own) => {
                Self { folder: asked.to_owned(), is_the_models: own.is_some_and(|own| is_same(own, asked)) }
            }
            (None, Some(own)) => Self { folder: own.to_owned(), is_the_models: true },
            (None, None) => Self { folder: input::model_name(model).into(), is_the_models: false },
        }
    }

    /// The root of its git repository; itself if it is in none.
    pub fn root(&self) -> PathBuf {
        let full = self.folder.canonicalize().unwrap_or_else(|_| self.folder.clone());
        let root = full.ancestors().find(|folder| folder.join(".git").exists());
        root.map_or_else(|| self.folder.clone(), Path::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_suite_lives_in_the_folder_of_its_model() {
        let folder = tempfile::tempdir().unwrap();
        let model = folder.path().join("mine");
        fs::create_dir(&model).unwrap();
        for file in [CONFIG, "other.jinja"] {
            fs::write(model.join(file), "").unwrap();
        }
        let of = |model: &Path, asked: Option<&Path>| Home::choose(model.to_str().unwrap(), asked);
        let own = Home { folder: model.clone(), is_the_models: true };
        assert_eq!(of(&model, None), own);
        assert_eq!(of(&model.join(CONFIG), None), own);
        assert_eq!(of(&model, Some(&model)), own);
        assert_eq!(of(&model.join("other.jinja"), None), Home { folder: "other".into(), is_the_models: false });
        assert_eq!(Home::choose("some/name-1.5", None), Home { folder: "name-1.5".into(), is_the_models: false });
        let elsewhere = of(&model, Some(folder.path()));
        assert_eq!((elsewhere.folder.as_path(), elsewhere.is_the_models), (folder.path(), false));
    }

    #[test]
    fn the_root_is_the_root_of_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("models/mine");
        fs::create_dir_all(&inner).unwrap();
        let home = Home { folder: inner.clone(), is_the_models: true };
        assert_eq!(home.root(), inner);
        fs::create_dir(folder.path().join(".git")).unwrap();
        assert_eq!(home.root(), folder.path().canonicalize().unwrap());
    }
}
