//! Who may depend on whom. What other people's crates may be used, and by whom, stands in `deny.toml`; the order of our own stands here.

use super::{Problem, Tree};
use serde_json::Value;
use std::collections::BTreeMap;

/// The services: each runs in pods of its own, so none is a library of another. They meet through clients and stored formats. (The crate
/// `siltstone-embedder` is the models alone, which whoever has a text may use.)
const SERVICES: [&str; 3] = ["siltstone-metadata", "siltstone-indexer", "siltstone-operator"];

/// Crates that are pure or block: what calls them chooses the threads.
const SYNC_CRATES: [&str; 10] = [
    "siltstone-core",
    "siltstone-disk",
    "siltstone-embedder",
    "siltstone-format",
    "siltstone-import",
    "siltstone-loggen",
    "siltstone-query",
    "siltstone-segment",
    "siltstone-vector",
    "siltstone-wal",
];

/// A crate and what it depends on directly, by kind: normal, build or dev.
struct Package {
    name: String,
    manifest: String,
    is_ours: bool,
    needs: Vec<(String, Vec<Kind>)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Normal,
    Build,
    Dev,
}

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let packages = packages(&tree.metadata);
    let mut problems = check_order(&packages);
    problems.extend(check_bans(&packages, &tree.deny));
    problems
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The packages of the resolved graph.
fn packages(metadata: &Value) -> Vec<Package> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let by_id: BTreeMap<String, &Value> = list(&metadata["packages"]).iter().map(|package| (text(&package["id"]), package)).collect();
    let root = text(&metadata["workspace_root"]);
    let kind = |kind: &Value| match kind["kind"].as_str() {
        Some("build") => Kind::Build,
        Some("dev") => Kind::Dev,
        _ => Kind::Normal,
    };
    let package = |node: &Value| {
        let package = by_id.get(&text(&node["id"]))?;
        let manifest = text(&package["manifest_path"]);
        let needs = list(&node["deps"]).iter().filter_map(|need| {
            let name = text(&by_id.get(&text(&need["pkg"]))?["name"]);
            Some((name, list(&need["dep_kinds"]).iter().map(kind).collect()))
        });
        Some(Package {
            name: text(&package["name"]),
            is_ours: package["source"].is_null(),
            manifest: manifest.strip_prefix(&root).map_or(manifest.clone(), |path| path.trim_start_matches('/').to_owned()),
            needs: needs.collect(),
        })
    };
    list(&metadata["resolve"]["nodes"]).iter().filter_map(package).collect()
}

/// Our own crates among each other.
fn check_order(packages: &[Package]) -> Vec<Problem> {
    let folder_of: BTreeMap<&str, &str> =
        packages.iter().filter(|package| package.is_ours).map(|package| (package.name.as_str(), package.manifest.as_str())).collect();
    let mut problems = Vec::new();
    for package in packages.iter().filter(|package| package.is_ours) {
        let mut problem = |what: String| problems.push(Problem::new(&package.manifest, 0, what));
        for (need, kinds) in &package.needs {
            // Tests may put together what the program does not.
            if kinds.iter().all(|kind| *kind == Kind::Dev) {
                continue;
            }
            if SERVICES.contains(&package.name.as_str()) && SERVICES.contains(&need.as_str()) {
                problem(format!("a service depends on the service {need}: use its client"));
            }
            if package.manifest.starts_with("crates/") && folder_of.get(need.as_str()).is_some_and(|folder| !folder.starts_with("crates/")) {
                problem(format!("a crate that all share depends on {need}, which is above it"));
            }
            if need == "tokio" && SYNC_CRATES.contains(&package.name.as_str()) {
                problem("a crate without async depends on tokio".to_owned());
            }
        }
    }
    problems
}

/// Other people's crates, by the list in `deny.toml`.
fn check_bans(packages: &[Package], deny: &toml::Table) -> Vec<Problem> {
    let mut problems = Vec::new();
    let bans = deny.get("bans").and_then(|bans| bans.get("deny")).and_then(toml::Value::as_array);
    for ban in bans.into_iter().flatten() {
        let text = |key: &str| ban.get(key).and_then(toml::Value::as_str).unwrap_or_default();
        let (banned, reason) = (text("crate"), text("reason"));
        if banned.is_empty() || reason.is_empty() {
            problems.push(Problem::new("deny.toml", 0, format!("a ban needs a crate and a reason: {ban:?}")));
            continue;
        }
        let wrappers = ban.get("wrappers").and_then(toml::Value::as_array);
        let may = |name: &str| wrappers.is_some_and(|wrappers| wrappers.iter().any(|wrapper| wrapper.as_str() == Some(name)));
        for package in packages.iter().filter(|package| package.needs.iter().any(|(need, _)| need == banned) && !may(&package.name)) {
            problems.push(Problem::new("deny.toml", 0, format!("{} depends on {banned}: {reason}", package.name)));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, manifest: &str, needs: &[(&str, Kind)]) -> Package {
        let needs = needs.iter().map(|(need, kind)| ((*need).to_owned(), vec![*kind])).collect();
        Package { name: name.to_owned(), manifest: manifest.to_owned(), is_ours: !manifest.is_empty(), needs }
    }

    #[test]
    fn our_crates_keep_their_order() {
        let packages = [
            package("siltstone-core", "crates/core/Cargo.toml", &[("tokio", Kind::Dev), ("siltstone-indexer", Kind::Dev)]),
            package("siltstone-indexer", "indexer/Cargo.toml", &[("siltstone-metadata-client", Kind::Normal), ("siltstone-metadata", Kind::Dev)]),
            package("siltstone-metadata", "metadata/Cargo.toml", &[("siltstone-core", Kind::Normal)]),
            package("siltstone-metadata-client", "metadata/client/Cargo.toml", &[]),
        ];
        assert_eq!(check_order(&packages), Vec::new());
        let packages = [
            package("siltstone-core", "crates/core/Cargo.toml", &[("tokio", Kind::Normal), ("siltstone-indexer", Kind::Build)]),
            package("siltstone-indexer", "indexer/Cargo.toml", &[("siltstone-metadata", Kind::Normal)]),
        ];
        assert_eq!(check_order(&packages).len(), 3);
    }

    #[test]
    fn bans_hold_but_for_their_wrappers() {
        let deny: toml::Table =
            "[bans]\ndeny = [{ crate = \"a\", wrappers = [\"w\"], reason = \"r\" }, { crate = \"b\", reason = \"r\" }]".parse().unwrap();
        assert_eq!(check_bans(&[package("w", "", &[("a", Kind::Normal)]), package("x", "", &[("c", Kind::Normal)])], &deny), Vec::new());
        let found = check_bans(&[package("w", "", &[("b", Kind::Normal)]), package("x", "", &[("a", Kind::Dev)])], &deny);
        assert_eq!(found.iter().map(|problem| problem.what.as_str()).collect::<Vec<_>>(), ["x depends on a: r", "w depends on b: r"]);
        let unreasoned: toml::Table = "[bans]\ndeny = [{ crate = \"a\" }]".parse().unwrap();
        assert_eq!(check_bans(&[], &unreasoned).len(), 1);
    }

    #[test]
    fn packages_are_read_from_what_cargo_says() {
        let metadata = serde_json::json!({
            "workspace_root": "/r",
            "packages": [
                {"id": "1", "name": "a", "source": null, "manifest_path": "/r/a/Cargo.toml"},
                {"id": "2", "name": "b", "source": "registry", "manifest_path": "/c/b/Cargo.toml"},
                {"id": "3", "name": "unused", "source": "registry", "manifest_path": "/c/c/Cargo.toml"},
            ],
            "resolve": {"nodes": [
                {"id": "1", "deps": [{"pkg": "2", "dep_kinds": [{"kind": null}, {"kind": "dev"}]}]},
                {"id": "2", "deps": []},
            ]},
        });
        let packages = packages(&metadata);
        assert_eq!(packages.len(), 2);
        assert_eq!((packages[0].manifest.as_str(), packages[0].is_ours, packages[1].is_ours), ("a/Cargo.toml", true, false));
        assert_eq!(packages[0].needs, [("b".to_owned(), vec![Kind::Normal, Kind::Dev])]);
    }
}
