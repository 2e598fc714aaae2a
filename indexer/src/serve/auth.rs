//! Who calls: from credentials to a [`CallerScope`]. The one place where scopes are made.
//!
//! What is deliberately not here: what a scope allows (the core) and transport details (the services).

use serde::Deserialize;
use siltstone_core::{CallerScope, NamespaceSet, Principal};
use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The header in which a caller may narrow its own scope to some namespaces, separated by commas.
pub const NARROW_HEADER: &str = "x-siltstone-namespaces";

/// What came with a call.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// The token of `authorization: Bearer TOKEN`.
    pub bearer: Option<String>,
    /// The value of [`NARROW_HEADER`].
    pub narrow: Option<String>,
}

/// Makes scopes from credentials.
pub trait Authenticator: Send + Sync + 'static {
    /// The scope of a caller, before its own narrowing.
    ///
    /// # Errors
    /// [`AuthError::NoToken`] or [`AuthError::UnknownToken`].
    fn identify(&self, credentials: &Credentials) -> Result<CallerScope, AuthError>;

    /// The scope of a call: what the caller is allowed, narrowed by what it asked to be narrowed to.
    ///
    /// # Errors
    /// As [`identify`](Self::identify).
    fn authenticate(&self, credentials: &Credentials) -> Result<CallerScope, AuthError> {
        let scope = self.identify(credentials)?;
        Ok(match &credentials.narrow {
            None => scope,
            Some(list) => scope.narrow(&list.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()),
        })
    }
}

/// Why a call has no scope, or why an authenticator can't be set up.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    /// Tokens are in use, and the call had none.
    #[error("identify the caller: the call has no token; send it as \"authorization: Bearer TOKEN\" (--token or SILTSTONE_TOKEN)")]
    NoToken,
    /// The token is not one of ours.
    #[error("identify the caller: the token is not known here; ask the operator of this server for one")]
    UnknownToken,
    /// The bind address is open to others and nobody would be asked who they are.
    #[error(
        "listen on {addr}: that address is reachable by others, and without tokens every caller could read every namespace; give --tokens FILE, or listen on 127.0.0.1"
    )]
    OpenWithoutTokens {
        /// The address that was asked for.
        addr: SocketAddr,
    },
    /// The token file can't be read.
    #[error("read token file {path:?}: {source}")]
    ReadTokens {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The token file has the wrong shape.
    #[error(
        "read token file {path:?}: {reason}; it is a JSON list of {{\"token\", \"principal\", \"read\": [], \"write\": [], \"administer\": []}}, with \"*\" for every namespace"
    )]
    ParseTokens {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

/// Everyone may do everything: only for a server that listens on loopback.
#[derive(Debug)]
pub struct AllowAllOnLoopback(());

impl AllowAllOnLoopback {
    /// Allowed only when every bind address is a loopback address.
    ///
    /// # Errors
    /// [`AuthError::OpenWithoutTokens`] naming the first address that is not.
    pub fn for_binds(binds: &[SocketAddr]) -> Result<Self, AuthError> {
        match binds.iter().find(|addr| !addr.ip().is_loopback()) {
            Some(addr) => Err(AuthError::OpenWithoutTokens { addr: *addr }),
            None => Ok(Self(())),
        }
    }
}

impl Authenticator for AllowAllOnLoopback {
    fn identify(&self, _: &Credentials) -> Result<CallerScope, AuthError> {
        Ok(CallerScope::from_authenticator(Principal("local".to_owned()), NamespaceSet::All, NamespaceSet::All, NamespaceSet::All))
    }
}

/// Tokens from a file, each with what it may do.
pub struct StaticTokens {
    /// By the hash of the token: the lookup's timing then says nothing about the token's characters.
    scopes: HashMap<blake3::Hash, CallerScope>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenRecord {
    token: String,
    principal: String,
    #[serde(default)]
    read: BTreeSet<String>,
    #[serde(default)]
    write: BTreeSet<String>,
    #[serde(default)]
    administer: BTreeSet<String>,
}

/// A token shorter than this could be guessed by trying.
const TOKEN_BYTES_MIN: usize = 16;

impl StaticTokens {
    /// Reads a token file.
    ///
    /// # Errors
    /// [`AuthError::ReadTokens`], [`AuthError::ParseTokens`].
    pub fn from_file(path: &Path) -> Result<Self, AuthError> {
        let text = std::fs::read_to_string(path).map_err(|source| AuthError::ReadTokens { path: path.to_owned(), source })?;
        Self::from_json(&text).map_err(|reason| AuthError::ParseTokens { path: path.to_owned(), reason })
    }

    fn from_json(text: &str) -> Result<Self, String> {
        let records: Vec<TokenRecord> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let mut scopes = HashMap::new();
        for record in records {
            let TokenRecord { token, principal, read, write, administer } = record;
            if token.len() < TOKEN_BYTES_MIN {
                return Err(format!("the token of {principal:?} has fewer than {TOKEN_BYTES_MIN} characters"));
            }
            let scope = CallerScope::from_authenticator(Principal(principal.clone()), set_of(read), set_of(write), set_of(administer));
            if scopes.insert(blake3::hash(token.as_bytes()), scope).is_some() {
                return Err(format!("the token of {principal:?} stands there twice"));
            }
        }
        Ok(Self { scopes })
    }
}

fn set_of(names: BTreeSet<String>) -> NamespaceSet {
    if names.contains("*") { NamespaceSet::All } else { NamespaceSet::Only(names) }
}

impl Authenticator for StaticTokens {
    fn identify(&self, credentials: &Credentials) -> Result<CallerScope, AuthError> {
        let token = credentials.bearer.as_deref().ok_or(AuthError::NoToken)?;
        self.scopes.get(&blake3::hash(token.as_bytes())).cloned().ok_or(AuthError::UnknownToken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bearer(token: &str) -> Credentials {
        Credentials { bearer: Some(token.to_owned()), narrow: None }
    }

    const TOKENS: &str = r#"[
        {"token": "aaaaaaaaaaaaaaaaaaaa", "principal": "alice", "read": ["shop"], "write": ["shop"]},
        {"token": "bbbbbbbbbbbbbbbbbbbb", "principal": "agent", "write": ["*"]}
    ]"#;

    #[test]
    fn a_token_gives_its_own_scope_and_no_other() {
        let tokens = StaticTokens::from_json(TOKENS).expect("tokens");
        let alice = tokens.authenticate(&bearer("aaaaaaaaaaaaaaaaaaaa")).expect("alice");
        assert!(alice.may_read("shop") && !alice.may_read("bank"));
        let agent = tokens.authenticate(&bearer("bbbbbbbbbbbbbbbbbbbb")).expect("agent");
        assert!(agent.may_write("bank") && !agent.may_read("bank"));
        assert!(matches!(tokens.authenticate(&bearer("cccccccccccccccccccc")), Err(AuthError::UnknownToken)));
        assert!(matches!(tokens.authenticate(&Credentials::default()), Err(AuthError::NoToken)));
    }

    #[test]
    fn a_header_narrows_and_never_widens() {
        let tokens = StaticTokens::from_json(TOKENS).expect("tokens");
        let narrowed = Credentials { narrow: Some("bank, shop".to_owned()), ..bearer("aaaaaaaaaaaaaaaaaaaa") };
        let alice = tokens.authenticate(&narrowed).expect("alice");
        assert!(alice.may_read("shop") && !alice.may_read("bank"));
    }

    #[test]
    fn an_open_address_without_tokens_is_refused() {
        let open: SocketAddr = "0.0.0.0:7070".parse().expect("an address");
        let local: SocketAddr = "127.0.0.1:7070".parse().expect("an address");
        assert!(matches!(AllowAllOnLoopback::for_binds(&[local, open]), Err(AuthError::OpenWithoutTokens { addr }) if addr == open));
        assert!(AllowAllOnLoopback::for_binds(&[local]).is_ok());
    }

    #[test]
    fn short_and_repeated_tokens_are_refused() {
        assert!(StaticTokens::from_json(r#"[{"token": "short", "principal": "x"}]"#).is_err());
        let twice = r#"[{"token": "aaaaaaaaaaaaaaaaaaaa", "principal": "x"}, {"token": "aaaaaaaaaaaaaaaaaaaa", "principal": "y"}]"#;
        assert!(StaticTokens::from_json(twice).is_err());
        assert!(
            StaticTokens::from_json(r#"[{"token": "aaaaaaaaaaaaaaaaaaaa", "principal": "x", "raed": []}]"#).is_err(),
            "a misspelt key is no silence"
        );
    }
}
