//! Rules for the manifests of our crates: one place for versions, lints and the licence.

use super::{Problem, Tree};

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.with_extension("toml") {
        if path.ends_with("/Cargo.toml") {
            match text.parse() {
                Ok(manifest) => problems.extend(check_manifest(path, &manifest)),
                Err(error) => problems.push(Problem::new(path, 0, format!("it is no TOML: {error}"))),
            }
        }
    }
    problems
}

fn check_manifest(path: &str, manifest: &toml::Table) -> Vec<Problem> {
    let mut problems = Vec::new();
    let is_inherited = |value: Option<&toml::Value>| value.and_then(|value| value.get("workspace")).and_then(toml::Value::as_bool) == Some(true);
    let package = manifest.get("package");
    for field in ["version", "edition", "rust-version", "license", "publish"] {
        if !is_inherited(package.and_then(|package| package.get(field))) {
            problems.push(Problem::new(path, 0, format!("package.{field} does not come from the workspace")));
        }
    }
    if !is_inherited(manifest.get("lints")) {
        problems.push(Problem::new(path, 0, "the lints do not come from the workspace"));
    }
    if package.and_then(|package| package.get("description")).is_none() {
        problems.push(Problem::new(path, 0, "the package has no description"));
    }
    for table in ["dependencies", "dev-dependencies", "build-dependencies"] {
        let Some(dependencies) = manifest.get(table).and_then(toml::Value::as_table) else { continue };
        for (name, dependency) in dependencies {
            // A crate that tests itself with more features names itself by its path.
            let is_itself = dependency.get("path").and_then(toml::Value::as_str) == Some(".");
            if !is_inherited(Some(dependency)) && !is_itself {
                problems.push(Problem::new(path, 0, format!("the version of {name} does not come from the workspace")));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_come_from_the_workspace_is_found() {
        let good = "[package]\nname = \"a\"\ndescription = \"a\"\nversion.workspace = true\nedition.workspace = true\nrust-version.workspace = true\n\
            license.workspace = true\npublish.workspace = true\n[lints]\nworkspace = true\n[dependencies]\nb.workspace = true\n\
            c = { workspace = true, features = [\"d\"] }\n[dev-dependencies]\na = { path = \".\", features = [\"e\"] }\n";
        assert_eq!(check_manifest("a", &good.parse().unwrap()), Vec::new());
        let bad =
            good.replace("b.workspace = true", "b = \"1\"").replace("[lints]\nworkspace = true\n", "").replace("license.workspace = true\n", "");
        assert_eq!(check_manifest("a", &bad.parse().unwrap()).len(), 3);
    }
}
