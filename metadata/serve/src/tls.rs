//! Mutual TLS: every side shows a certificate of the cluster's own authority, or there is none of it at all.

use rustls::RootCertStore;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use siltstone_core::with_causes;
use std::path::{Path, PathBuf};
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity, ServerTlsConfig};

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
    /// A file does not hold what it should.
    #[error("read {}: {what}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The files do not fit.
    #[error("set up TLS with {} and {}: {reason}", certificate.display(), key.display())]
    Invalid {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl TlsFiles {
    pub(crate) fn server(&self) -> Result<ServerTlsConfig, TlsError> {
        let authorities = Certificate::from_pem(self.authorities()?);
        Ok(ServerTlsConfig::new().identity(self.identity()?).client_ca_root(authorities))
    }

    /// What a caller connects with.
    ///
    /// # Errors
    /// [`TlsError`] names the file that is not read, or does not hold what it should.
    pub fn client(&self) -> Result<ClientTlsConfig, TlsError> {
        let config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(self.authorities()?)).identity(self.identity()?);
        let config = match &self.server_name {
            Some(name) => config.domain_name(name.clone()),
            None => config,
        };
        // Whether key and certificate belong together is found out here, and not at the first call.
        Endpoint::from_static("https://localhost").tls_config(config.clone()).map_err(|error| self.invalid(&error))?;
        Ok(config)
    }

    pub(crate) fn invalid(&self, error: &tonic::transport::Error) -> TlsError {
        TlsError::Invalid { certificate: self.certificate.clone(), key: self.key.clone(), reason: without_preface(&with_causes(error)) }
    }

    /// Authorities that are none are left out silently by whoever gets them, so they are looked at here.
    fn authorities(&self) -> Result<Vec<u8>, TlsError> {
        let pem = read(&self.authority)?;
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&self.authority, &pem)? {
            let unusable = |error: rustls::Error| TlsError::Content { path: self.authority.clone(), what: format!("it is no authority: {error}") };
            roots.add(certificate).map_err(unusable)?;
        }
        Ok(pem)
    }

    fn identity(&self) -> Result<Identity, TlsError> {
        let (certificate, key) = (read(&self.certificate)?, read(&self.key)?);
        certificates(&self.certificate, &certificate)?;
        let no_key = |error: pem::Error| TlsError::Content { path: self.key.clone(), what: format!("it has no private key in PEM: {error}") };
        PrivateKeyDer::from_pem_slice(&key).map_err(no_key)?;
        Ok(Identity::from_pem(certificate, key))
    }
}

/// The certificates in a file, at least one.
fn certificates(path: &Path, bytes: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let content = |what: String| TlsError::Content { path: path.to_owned(), what };
    let certificates = CertificateDer::pem_slice_iter(bytes).collect::<Result<Vec<_>, _>>();
    let certificates = certificates.map_err(|error| content(format!("it is not in PEM: {error}")))?;
    if certificates.is_empty() { Err(content("it has no certificate in PEM".to_owned())) } else { Ok(certificates) }
}

/// Without what the libraries below say of every error before they say which.
pub(crate) fn without_preface(text: &str) -> String {
    text.replace("transport error: ", "")
}

/// What a failure to connect means where one side speaks TLS and the other does not: each sees bytes that it does not understand.
pub(crate) fn hint(reason: &str, speaks_tls: bool) -> &'static str {
    match speaks_tls {
        true if reason.contains("InvalidContentType") => " (the other side does not seem to speak TLS)",
        // What comes of it depends on who hangs up first.
        false if ["invalid size", "broken pipe", "reset"].iter().any(|text| reason.contains(text)) => " (perhaps the other side wants TLS)",
        _ => "",
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|source| TlsError::File { path: path.to_owned(), source })
}
