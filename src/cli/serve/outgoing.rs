//! Response bodies: complete, or written by a future that is polled when the connection is writable, so that a slow
//! client stops reading from the engine, and a disconnected one ends it.

use std::cell::RefCell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use hyper::Response;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderValue};

/// The answer was interrupted: the connection closes without its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenOff;

impl fmt::Display for BrokenOff {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the answer was broken off")
    }
}

impl std::error::Error for BrokenOff {}

/// The outlet of a future.
#[derive(Clone, Debug, Default)]
pub struct Outlet(Rc<RefCell<Option<Bytes>>>);

impl Outlet {
    /// Sends bytes; ready once the connection has taken them.
    pub async fn send(&self, bytes: impl Into<Bytes>) {
        self.0.replace(Some(bytes.into()));
        poll_fn(|_| if self.0.borrow().is_some() { Poll::Pending } else { Poll::Ready(()) }).await;
    }
}

type Work = Pin<Box<dyn Future<Output = Result<(), BrokenOff>>>>;

/// A body.
pub enum Outgoing {
    Whole(Option<Bytes>),
    /// What a future sends.
    Written {
        outlet: Outlet,
        /// The future; `None` once it has finished.
        work: Option<Work>,
        /// Whether it failed, which is reported after the pending output was sent.
        failed: bool,
    },
}

impl Outgoing {
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self::Whole((!bytes.is_empty()).then_some(bytes))
    }

    /// What a future sends through the outlet.
    pub fn written(outlet: Outlet, work: impl Future<Output = Result<(), BrokenOff>> + 'static) -> Self {
        Self::Written { outlet, work: Some(Box::pin(work)), failed: false }
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Written { outlet, work, failed } => {
                if let Some(bytes) = outlet.0.take() {
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
                let Some(running) = work else {
                    return Poll::Ready(failed.then_some(Err(BrokenOff)));
                };
                let result = match running.as_mut().poll(context) {
                    Poll::Pending => match outlet.0.take() {
                        Some(bytes) => return Poll::Ready(Some(Ok(Frame::data(bytes)))),
                        None => return Poll::Pending,
                    },
                    Poll::Ready(result) => result,
                };
                *work = None;
                *failed = result.is_err();
                if *failed {
                    // The connection writes its data before it polls again.
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Poll::Ready(None)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Written { .. } => SizeHint::default(),
        }
    }
}

/// The response of a text of this type.
pub fn whole(kind: &'static str, text: String) -> Response<Outgoing> {
    of_type(kind, Outgoing::whole(text))
}

/// The response of a body of this type.
pub fn of_type(kind: &'static str, body: Outgoing) -> Response<Outgoing> {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
