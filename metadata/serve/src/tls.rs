//! Mutual TLS: every side shows a certificate of the cluster's own authority, or there is none of it at all.

use std::path::{Path, PathBuf};
use tonic::transport::{Certificate, ClientTlsConfig, Identity, ServerTlsConfig};

/// The files of mutual TLS, in PEM.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsFiles {
    /// The authorities that certificates of the other side must come from.
    pub authority: PathBuf,
    /// This side's certificate, with those between it and the authority.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// The name that members' certificates carry; where there is none, the host that is dialled.
    pub server_name: Option<String>,
}

/// Why TLS is not set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file is not read.
    #[error("read {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The files do not fit.
    #[error("set up TLS with {}: {source}", path.display())]
    Invalid {
        /// The certificate's file.
        path: PathBuf,
        /// What is wrong.
        source: tonic::transport::Error,
    },
}

impl TlsFiles {
    pub(crate) fn server(&self) -> Result<ServerTlsConfig, TlsError> {
        Ok(ServerTlsConfig::new().identity(self.identity()?).client_ca_root(Certificate::from_pem(read(&self.authority)?)))
    }

    /// What a caller connects with.
    ///
    /// # Errors
    /// [`TlsError::File`].
    pub fn client(&self) -> Result<ClientTlsConfig, TlsError> {
        let config = ClientTlsConfig::new().identity(self.identity()?).ca_certificate(Certificate::from_pem(read(&self.authority)?));
        Ok(match &self.server_name {
            Some(name) => config.domain_name(name.clone()),
            None => config,
        })
    }

    fn identity(&self) -> Result<Identity, TlsError> {
        Ok(Identity::from_pem(read(&self.certificate)?, read(&self.key)?))
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|source| TlsError::File { path: path.to_owned(), source })
}
