//! A proxy before a member that can be cut: connections through it stall and new ones are not answered, as with a cable that was pulled.

use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

pub struct Proxy {
    pub port: u16,
    cut: Arc<watch::Sender<bool>>,
}

impl Proxy {
    /// Forwards to a port on this machine.
    pub async fn start(to: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let cut = Arc::new(watch::Sender::new(false));
        let accepted = cut.clone();
        tokio::spawn(async move {
            loop {
                let Ok((inner, _)) = listener.accept().await else { return };
                let cut = accepted.subscribe();
                tokio::spawn(async move {
                    let Ok(outer) = TcpStream::connect(("127.0.0.1", to)).await else { return };
                    let _ = (inner.set_nodelay(true), outer.set_nodelay(true));
                    let ((inner_read, inner_write), (outer_read, outer_write)) = (inner.into_split(), outer.into_split());
                    tokio::join!(pump(inner_read, outer_write, cut.clone()), pump(outer_read, inner_write, cut));
                });
            }
        });
        Self { port, cut }
    }

    /// Cuts it, or heals the cut: what waited goes on then.
    pub fn set_cut(&self, is_cut: bool) {
        self.cut.send_replace(is_cut);
    }
}

async fn pump<R, W>(mut from: R, mut to: W, mut cut: watch::Receiver<bool>)
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut buffer = vec![0; 64 << 10];
    while let Ok(read) = from.read(&mut buffer).await {
        if cut.wait_for(|cut| !*cut).await.is_err() || read == 0 || to.write_all(&buffer[..read]).await.is_err() {
            break;
        }
    }
    // The other side learns of the end; it may have gone before.
    let _ = to.shutdown().await;
}
