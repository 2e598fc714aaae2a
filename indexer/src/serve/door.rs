//! Connections at the door: so many at once, and none that never says anything.
//!
//! A connection holds a descriptor, and the store needs descriptors too: those who come beyond the bound wait in the system's queue, and are let in
//! as others leave. What is deliberately not here: protocols, and what becomes of a connection once it has spoken.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep};
use tonic::transport::server::{Connected, TcpConnectInfo};

/// The pause after a connection could not be taken, as when descriptors run out: trying again at once would keep a core busy.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The log is told of a full house no more often than this.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// A listener with a bound on its connections, which several may share.
pub(super) struct Door {
    listener: TcpListener,
    places: Arc<Semaphore>,
    hello: Hello,
    /// When the log was last told that nobody more is let in.
    told_at: Option<Instant>,
}

/// What a connection must send before it may be silent: the first so many bytes, within this time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hello {
    pub(super) bytes: usize,
    pub(super) wait: Duration,
}

impl Door {
    /// Lets in as many as there are `places`.
    pub(super) const fn new(listener: TcpListener, places: Arc<Semaphore>, hello: Hello) -> Self {
        Self { listener, places, hello, told_at: None }
    }

    /// The next connection. Nothing is lost when the future is dropped.
    pub(super) async fn accept(&mut self) -> Guest {
        loop {
            let place = self.place().await;
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    // Answers are small and waited for. A connection that is gone already says so at its first read.
                    let _ = stream.set_nodelay(true);
                    return Guest { stream, hello: Some((Box::pin(tokio::time::sleep(self.hello.wait)), self.hello.bytes)), _place: place };
                }
                Err(error) => {
                    tracing::warn!(%error, "take a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    async fn place(&mut self) -> OwnedSemaphorePermit {
        if let Ok(place) = self.places.clone().try_acquire_owned() {
            return place;
        }
        if self.told_at.is_none_or(|at| at.elapsed() >= TELL_EVERY) {
            tracing::warn!("as many connections are open as may be: new ones wait until others are closed; raise the limit of open files for more");
            self.told_at = Some(Instant::now());
        }
        self.places.clone().acquire_owned().await.expect("the places are never closed")
    }
}

/// A connection that was let in.
pub(super) struct Guest {
    stream: TcpStream,
    /// Until the first bytes came: when they are given up, and how many are missing.
    hello: Option<(Pin<Box<Sleep>>, usize)>,
    _place: OwnedSemaphorePermit,
}

impl AsyncRead for Guest {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        let Some((deadline, missing)) = &mut self.hello else { return polled };
        let read = buffer.filled().len() - before;
        if read >= *missing {
            self.hello = None;
            return polled;
        }
        *missing -= read;
        match polled {
            Poll::Pending if deadline.as_mut().poll(context).is_ready() => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            polled => polled,
        }
    }
}

impl AsyncWrite for Guest {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, context: &mut Context<'_>, parts: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl Connected for Guest {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> Self::ConnectInfo {
        self.stream.connect_info()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    async fn door(places: usize, bytes: usize) -> (Door, std::net::SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let addr = listener.local_addr().expect("an address");
        (Door::new(listener, Arc::new(Semaphore::new(places)), Hello { bytes, wait: Duration::ZERO }), addr)
    }

    #[tokio::test]
    async fn a_full_house_lets_the_next_one_in_when_one_leaves() {
        let (mut door, addr) = door(1, 1).await;
        let (mut first, mut second) = (TcpStream::connect(addr).await.expect("first"), TcpStream::connect(addr).await.expect("second"));
        first.write_all(b"1").await.expect("write");
        second.write_all(b"2").await.expect("write");
        let guest = door.accept().await;
        assert!(tokio::time::timeout(Duration::from_millis(50), door.accept()).await.is_err(), "the house is full");
        drop(guest);
        let mut guest = door.accept().await;
        guest.stream.readable().await.expect("bytes come");
        assert_eq!(guest.read_u8().await.expect("a byte"), b'2');
    }

    #[tokio::test]
    async fn who_says_half_a_hello_is_shown_out_and_who_said_all_of_it_may_be_silent() {
        let (mut door, addr) = door(2, 2).await;
        for (hello, is_polite) in [(b"x".as_slice(), false), (b"hi", true)] {
            let mut stream = TcpStream::connect(addr).await.expect("a connection");
            stream.write_all(hello).await.expect("a hello");
            let mut guest = door.accept().await;
            guest.stream.readable().await.expect("bytes come");
            let mut bytes = [0; 2];
            assert_eq!(guest.read(&mut bytes).await.expect("what came"), hello.len());
            let more = tokio::time::timeout(Duration::from_millis(50), guest.read_u8()).await;
            match more {
                Err(_) => assert!(is_polite, "the deadline holds for {hello:?}"),
                Ok(read) => assert!(!is_polite && read.is_err_and(|error| error.kind() == io::ErrorKind::TimedOut)),
            }
        }
    }
}
