//! `https` to the engine, with the certificates that this system trusts.

use std::fmt;
use std::io;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// The settings of connections to one host.
#[derive(Clone)]
pub struct Tls {
    connector: TlsConnector,
    host: ServerName<'static>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Tls({:?})", self.host)
    }
}

impl Tls {
    /// Fails if the host is neither a name nor an address, or this system has no certificates.
    pub fn new(host: &str) -> Result<Self, String> {
        let host = ServerName::try_from(host.to_owned())
            .map_err(|_| "the host is neither a name nor an address".to_owned())?;
        let found = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        let (known, _) = roots.add_parsable_certificates(found.certs);
        if known == 0 {
            let why = found.errors.first().map(|error| format!(" ({error})")).unwrap_or_default();
            return Err(format!(
                "this system has no certificates to check https with{why}; SSL_CERT_FILE names a file of them"
            ));
        }
        let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        Ok(Self { connector: TlsConnector::from(Arc::new(config)), host })
    }

    /// Starts TLS, if the other side supports it and its certificate is trusted.
    pub async fn connect(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        self.connector.connect(self.host.clone(), stream).await
    }
}
