//! `cargo xtask tidy`: the rules of the repository that no other tool checks. Each rule is a function from the tree to what is wrong with it.

mod dependencies;
mod invariants;
mod licences;
mod links;
mod manifests;
mod rust;
mod text;

use crate::steps::{cargo, command, output, root, run as run_command};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;

/// What is wrong, and where.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Problem {
    path: String,
    /// Counted from 1; 0 when it is the whole file.
    line: usize,
    what: String,
}

impl Problem {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

/// The files of the repository, those that are new and not ignored included, and what cargo says about its packages.
pub(crate) struct Tree {
    /// Text by path from the root, with `/` between its parts.
    texts: BTreeMap<String, String>,
    /// The paths of all files, also of those that are no text.
    paths: Vec<String>,
    metadata: Value,
    deny: toml::Table,
}

impl Tree {
    fn read() -> Result<Self> {
        let mut list = command("git", &["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
        list.env_remove("GIT_DIR");
        let mut paths: Vec<String> = output(list)?.split_terminator('\0').map(str::to_owned).collect();
        paths.sort();
        paths.dedup();
        let mut texts = BTreeMap::new();
        // A file that was removed and not yet committed is still listed.
        paths.retain(|path| root().join(path).is_file());
        for path in &paths {
            let bytes = fs::read(root().join(path)).with_context(|| format!("read {path}"))?;
            if let Ok(text) = String::from_utf8(bytes) {
                texts.insert(path.clone(), text);
            }
        }
        let metadata = output(cargo(&["metadata", "--format-version", "1", "--filter-platform", &host()?]))?;
        let metadata = serde_json::from_str(&metadata).context("read what cargo says about the packages")?;
        let deny = fs::read_to_string(root().join("deny.toml")).context("read deny.toml")?.parse().context("parse deny.toml")?;
        Ok(Self { texts, paths, metadata, deny })
    }

    fn with_extension<'t>(&'t self, extension: &'t str) -> impl Iterator<Item = (&'t str, &'t str)> {
        let texts = self.texts.iter().map(|(path, text)| (path.as_str(), text.as_str()));
        texts.filter(move |(path, _)| path.rsplit_once('.').is_some_and(|(_, found)| found == extension))
    }
}

/// The platform that we run on, as rustc calls it.
fn host() -> Result<String> {
    let version = output(command(&std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned()), &["-vV"]))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc does not say its host")?;
    Ok(host.to_owned())
}

type Rule = fn(&Tree) -> Vec<Problem>;

const RULES: &[(&str, Rule)] = &[
    ("text", text::check),
    ("rust", rust::check),
    ("links", links::check),
    ("invariants", invariants::check),
    ("manifests", manifests::check),
    ("dependencies", dependencies::check),
    ("licences", licences::check),
];

pub(crate) fn run() -> Result<()> {
    let tree = Tree::read()?;
    let mut problems = Vec::new();
    for (name, rule) in RULES {
        let found = rule(&tree);
        println!("{name:<14} {}", if found.is_empty() { "in order".to_owned() } else { format!("{} problems", found.len()) });
        problems.extend(found);
    }
    problems.sort();
    for problem in &problems {
        println!("{problem}");
    }
    if !problems.is_empty() {
        bail!("{} problems", problems.len());
    }
    if output(cargo(&["deny", "--version"])).is_ok() {
        run_command(cargo(&["deny", "check"]))?;
        println!("{:<14} checked by cargo deny, with the advisories", "deny");
    } else {
        println!("{:<14} cargo deny is not installed: licences and bans were checked above, advisories were not", "deny");
    }
    Ok(())
}
