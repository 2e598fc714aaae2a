//! A proxy that loses what comes after so many bytes of a connection, silently: nobody is told, and nothing is closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[derive(Clone)]
pub struct Proxy {
    pub address: String,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// The next connection that carries so many bytes loses all that comes then. 0: none does.
    lose_after: AtomicU64,
    lost: AtomicU64,
}

impl Proxy {
    pub async fn start(to: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Self { address: listener.local_addr().unwrap().to_string(), state: Arc::default() };
        let state = proxy.state.clone();
        tokio::spawn(async move {
            while let Ok((inner, _)) = listener.accept().await {
                let (state, to) = (state.clone(), to.clone());
                tokio::spawn(async move {
                    let Ok(outer) = TcpStream::connect(to).await else { return };
                    let is_lost = Arc::new(AtomicU64::new(0));
                    let ((inner_read, inner_write), (outer_read, outer_write)) = (inner.into_split(), outer.into_split());
                    tokio::join!(pump(inner_read, outer_write, &state, &is_lost), pump(outer_read, inner_write, &state, &is_lost));
                });
            }
        });
        proxy
    }

    /// Loses the rest of the next connection that carries so many bytes in one direction.
    pub fn lose_after(&self, bytes: u64) {
        self.state.lose_after.store(bytes, Ordering::SeqCst);
    }

    /// How many connections were lost.
    pub fn lost(&self) -> u64 {
        self.state.lost.load(Ordering::SeqCst)
    }
}

async fn pump<R, W>(mut from: R, mut to: W, state: &State, is_lost: &AtomicU64)
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let (mut buffer, mut carried) = (vec![0; 64 << 10], 0);
    while let Ok(read) = from.read(&mut buffer).await {
        if read == 0 {
            break;
        }
        carried += read as u64;
        let limit = state.lose_after.load(Ordering::SeqCst);
        if limit > 0 && carried > limit && state.lose_after.compare_exchange(limit, 0, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            is_lost.store(1, Ordering::SeqCst);
            state.lost.fetch_add(1, Ordering::SeqCst);
        }
        if is_lost.load(Ordering::SeqCst) == 0 && to.write_all(&buffer[..read]).await.is_err() {
            break;
        }
    }
    // One side has gone. The other is not told of it where all is lost.
    if is_lost.load(Ordering::SeqCst) == 0 {
        let _ = to.shutdown().await;
    }
}
