//! The bodies of requests: bounded in size, in time, and all together.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use hyper::body::{Body, Bytes};
use tokio::time::sleep;

use backchat_serve::api_error::ApiError;

const IDLE: Duration = Duration::from_secs(30);
const WHOLE: Duration = Duration::from_secs(300);
/// How many bytes beyond the limit of a body are read, so that its client sees the answer.
const DISCARDED: u64 = 16 << 20;
/// How many of the largest bodies may be in memory at once while they are read.
const AT_ONCE: u64 = 8;

/// The bodies that are being read.
#[derive(Debug)]
pub struct Uploads {
    /// The largest body.
    limit: u64,
    /// How long a client may be silent inside a body, and how long the whole may take.
    idle: Duration,
    whole: Duration,
    /// How many bytes of all of them are in memory.
    held: Cell<u64>,
}

/// The bytes of one body that are in memory, until it is read or given up.
struct Share<'u> {
    uploads: &'u Uploads,
    bytes: u64,
}

impl Share<'_> {
    fn grow(&mut self, bytes: u64) -> Result<(), ApiError> {
        let most = self.uploads.limit.saturating_mul(AT_ONCE);
        let held = self.uploads.held.get() + bytes;
        if held > most {
            let message = format!("the server is already reading {most} bytes of requests: try again soon");
            return Err(ApiError { retry_after: Some("1".to_owned()), ..ApiError::new(503, message) });
        }
        self.uploads.held.set(held);
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.uploads.held.set(self.uploads.held.get().saturating_sub(self.bytes));
    }
}

impl Uploads {
    pub fn new(limit: u64) -> Self {
        Self { limit, idle: IDLE, whole: WHOLE, held: Cell::default() }
    }

    /// Reads a body.
    pub async fn read<B: Body<Data = Bytes>>(&self, body: B) -> Result<Bytes, ApiError> {
        let limit = self.limit;
        let mut body = pin!(body);
        let mut whole = pin!(sleep(self.whole));
        let mut idle = pin!(sleep(self.idle));
        let mut share = Share { uploads: self, bytes: 0 };
        let mut bytes = Vec::new();
        let mut length = 0;
        loop {
            let next = poll_fn(|context| match body.as_mut().poll_frame(context) {
                Poll::Ready(frame) => Poll::Ready(Ok(frame)),
                Poll::Pending if idle.as_mut().poll(context).is_ready() => Poll::Ready(Err(self.idle)),
                Poll::Pending if whole.as_mut().poll(context).is_ready() => Poll::Ready(Err(self.whole)),
                Poll::Pending => Poll::Pending,
            });
            let next = next.await.map_err(|patience| {
                ApiError::new(408, format!("the body did not arrive within {} seconds", patience.as_secs()))
            })?;
            let frame = match next {
                None if length <= limit => return Ok(bytes.into()),
                Some(Ok(frame)) if length <= limit.saturating_add(DISCARDED) => frame,
                Some(Err(_)) => return Err(ApiError::new(400, "the body ends early")),
                _ => return Err(ApiError::new(413, format!("the body is larger than {limit} bytes (`--max-body`)"))),
            };
            idle.set(sleep(self.idle));
            let Ok(more) = frame.into_data() else { continue };
            length += more.len() as u64;
            // The excess is read and dropped: a client that is still writing would not see the answer.
            if length <= limit {
                share.grow(more.len() as u64)?;
                bytes.extend_from_slice(&more);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::body::Frame;
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::Context;

    /// A body of pieces; after them it ends, or its client is silent.
    struct Pieces(Vec<&'static [u8]>, bool);

    impl Body for Pieces {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            match self.0.pop() {
                Some(piece) => Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(piece))))),
                None if self.1 => Poll::Pending,
                None => Poll::Ready(None),
            }
        }
    }

    fn run<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(work)
    }

    #[test]
    fn a_body_has_a_limit() {
        let uploads = Uploads::new(4);
        assert_eq!(run(uploads.read(Pieces(vec![b"cd", b"ab"], false))).unwrap(), "abcd");
        assert_eq!(run(uploads.read(Pieces(vec![b"cde", b"ab"], false))).unwrap_err().status, 413);
        assert_eq!(uploads.held.get(), 0);
    }

    #[test]
    fn a_client_that_falls_silent_is_given_up() {
        let uploads = Uploads { idle: Duration::from_millis(5), ..Uploads::new(4) };
        assert_eq!(run(uploads.read(Pieces(vec![b"ab"], true))).unwrap_err().status, 408);
        let uploads = Uploads { whole: Duration::from_millis(5), ..Uploads::new(4) };
        assert_eq!(run(uploads.read(Pieces(vec![b"ab"], true))).unwrap_err().status, 408);
        assert_eq!(uploads.held.get(), 0);
    }

    #[test]
    fn unfinished_bodies_have_a_limit_together() {
        run(async {
            let uploads = Uploads::new(4);
            let begun = (0..AT_ONCE).map(|_| Box::pin(uploads.read(Pieces(vec![b"abcd"], true))));
            let mut unfinished: Vec<_> = begun.collect();
            poll_fn(|context| {
                assert!(unfinished.iter_mut().all(|reading| reading.as_mut().poll(context).is_pending()));
                Poll::Ready(())
            })
            .await;
            let refused = uploads.read(Pieces(vec![b"abcd"], false)).await.unwrap_err();
            assert_eq!((refused.status, refused.retry_after.as_deref()), (503, Some("1")));
            // A client that goes away makes room.
            unfinished.pop();
            assert_eq!(uploads.read(Pieces(vec![b"abcd"], false)).await.unwrap(), "abcd");
        });
    }
}
