//! Who calls, and what they may read, write and administer.
//!
//! A [`CallerScope`] is made by an `Authenticator` alone (see the serving crate); a request may narrow it, never widen it.

use std::collections::BTreeSet;
use std::fmt;

/// The name of who calls: part of the key that makes delivery exactly-once.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Principal(pub String);

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A set of namespace names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NamespaceSet {
    /// Every namespace, those that do not exist yet included.
    All,
    /// Just these.
    Only(BTreeSet<String>),
}

impl NamespaceSet {
    /// Whether a name is in the set.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(name),
        }
    }

    fn intersect(self, others: &BTreeSet<String>) -> Self {
        Self::Only(others.iter().filter(|name| self.contains(name)).cloned().collect())
    }
}

/// What a caller may do. Every ingest, query, listing and peer call carries one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallerScope {
    principal: Principal,
    read: NamespaceSet,
    write: NamespaceSet,
    administer: NamespaceSet,
}

impl CallerScope {
    /// A scope, for the use of authenticators alone: any other caller of this function is a hole in the tenant wall.
    #[must_use]
    pub const fn from_authenticator(principal: Principal, read: NamespaceSet, write: NamespaceSet, administer: NamespaceSet) -> Self {
        Self { principal, read, write, administer }
    }

    /// This scope, with nothing outside `names` left in it: what a header may do.
    #[must_use]
    pub fn narrow(self, names: &BTreeSet<String>) -> Self {
        Self {
            read: self.read.intersect(names),
            write: self.write.intersect(names),
            administer: self.administer.intersect(names),
            principal: self.principal,
        }
    }

    /// Who calls.
    #[must_use]
    pub const fn principal(&self) -> &Principal {
        &self.principal
    }

    /// Checks that every one of these namespaces may be read.
    ///
    /// # Errors
    /// [`ScopeError::NoNamespace`] for an empty list, [`ScopeError::Read`] for the first that is not allowed.
    pub fn check_read<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<(), ScopeError> {
        let mut any = false;
        for name in names {
            any = true;
            if !self.read.contains(name) {
                return Err(ScopeError::Read { principal: self.principal.clone(), namespace: name.to_owned() });
            }
        }
        if any { Ok(()) } else { Err(ScopeError::NoNamespace) }
    }

    /// Whether a namespace may be read: the last check before rows leave the process (NS-2).
    #[must_use]
    pub fn may_read(&self, name: &str) -> bool {
        self.read.contains(name)
    }

    /// Whether a namespace may be written.
    #[must_use]
    pub fn may_write(&self, name: &str) -> bool {
        self.write.contains(name)
    }

    /// Whether a namespace may be administered.
    #[must_use]
    pub fn may_administer(&self, name: &str) -> bool {
        self.administer.contains(name)
    }
}

/// Why a scope does not allow a call.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ScopeError {
    /// A query must say where it looks.
    #[error("choose namespaces: a query names at least one (--namespace NAME); there is no default and no \"all\"")]
    NoNamespace,
    /// Not this caller's namespace.
    #[error("read namespace {namespace:?}: {principal} is not allowed to; ask an administrator of that namespace")]
    Read {
        /// Who calls.
        principal: Principal,
        /// What was asked for.
        namespace: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(names: &[&str]) -> CallerScope {
        let set = NamespaceSet::Only(names.iter().map(|name| (*name).to_owned()).collect());
        CallerScope::from_authenticator(Principal("test".into()), set.clone(), set.clone(), set)
    }

    #[test]
    fn a_scope_reads_its_own_namespaces_and_no_other() {
        let scope = scope(&["shop"]);
        assert_eq!(scope.check_read(["shop"]), Ok(()));
        assert!(matches!(scope.check_read(["shop", "bank"]), Err(ScopeError::Read { .. })));
        assert!(!scope.may_write("bank") && !scope.may_administer("bank") && !scope.may_read("bank"));
    }

    #[test]
    fn narrowing_never_widens() {
        let narrowed = scope(&["shop", "bank"]).narrow(&["bank".to_owned(), "secret".to_owned()].into());
        assert!(narrowed.may_read("bank") && !narrowed.may_read("shop"));
        assert!(!narrowed.may_read("secret") && !narrowed.may_write("secret"), "a header may only narrow the scope");
    }

    #[test]
    fn no_namespace_is_an_error_and_not_all() {
        assert_eq!(scope(&["shop"]).check_read([]), Err(ScopeError::NoNamespace));
    }
}
