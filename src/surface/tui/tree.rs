//! The tree of files.

use super::stream::{FileKey, Stream};
use std::collections::BTreeSet;

/// The tree beside the stream.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) rows: Vec<Row>,
    /// Whether keys move in it.
    pub(super) focused: bool,
    /// Whether the person closed or opened it; by the width of the screen otherwise.
    pub(super) wanted: Option<bool>,
}

/// A row of the tree.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) depth: usize,
    pub(super) label: String,
    /// The file; a directory otherwise.
    pub(super) file: Option<FileKey>,
}

/// Columns of the screen from which the tree is shown unasked.
const WIDE: u16 = 120;
/// Columns of the tree.
const COLUMNS: u16 = 32;

impl Tree {
    /// Returns its columns on a screen of a width.
    pub(super) fn columns(&self, screen: u16) -> u16 {
        let shown = self.focused || self.wanted.unwrap_or(screen >= WIDE);
        if shown { COLUMNS.min(screen / 3) } else { 0 }
    }

    /// Lists the files of a stream beneath their directories; a chain of single directories is one row.
    pub(super) fn rebuild(&mut self, stream: &Stream) {
        self.rows.clear();
        let mut told = BTreeSet::new();
        let several = stream.files.iter().any(|file| file.key.root != stream.files[0].key.root);
        let mut files: Vec<&FileKey> =
            stream.files.iter().map(|file| &file.key).filter(|key| told.insert((*key).clone())).collect();
        files.sort();
        let mut open: Vec<String> = Vec::new();
        for key in files {
            let path = if several { key.absolute() } else { key.path.clone() };
            let (directory, name) =
                path.rsplit_once('/').map_or(("", path.as_str()), |(dir, name)| (dir, name));
            while open.last().is_some_and(|last| !is_beneath(directory, last)) {
                open.pop();
            }
            let beneath = open.last().map_or(0, |last| last.len() + 1);
            if directory.len() >= beneath
                && !directory.is_empty()
                && open.last().map(String::as_str) != Some(directory)
            {
                let label = format!("{}/", directory.get(beneath..).unwrap_or(directory));
                self.rows.push(Row { depth: open.len(), label, file: None });
                open.push(directory.to_owned());
            }
            self.rows.push(Row { depth: open.len(), label: name.to_owned(), file: Some(key.clone()) });
        }
    }
}

fn is_beneath(directory: &str, other: &str) -> bool {
    directory == other || directory.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'))
}
