//! Flows of users, written as [Hurl](https://hurl.dev) files.
//!
//! A [`Flow`] is a file that was read, once for all users. A [`Session`] is one user who goes
//! through it: [`Session::next`] says what to do, and writes the next request into buffers that
//! serve all users of a worker. [`Session::answer`] is told what came back, keeps cookies and what
//! is captured, and holds the answer against what the file expects.
//!
//! What Hurl can and this can't is refused by its name when the file is read, with file, line and
//! column. What goes wrong with a user is a [`Fault`], whose text never holds the value of a
//! secret, nor a longer one that was captured.
//!
//! Knows neither sockets nor clocks: time is an argument, and so is what is drawn at random. Files
//! that a flow names are read with it. It adds no `Host` and no length: whoever sends a request
//! does. Content codings have to be taken off before an answer comes here.
#![forbid(unsafe_code)]

mod fault;
mod file;
mod filters;
mod flow;
mod judging;
mod model;
mod paths;
mod predicates;
mod reading;
mod render;
mod request;
mod scope;
mod session;
mod showing;
mod url;
mod value;

pub use fault::{Fault, FaultKind};
pub use file::Mistake;
pub use flow::{Flow, Given};
pub use model::Version;
pub use reading::{Answer, Fields};
pub use request::Request;
pub use scope::Hides;
pub use session::{Heard, Now, Outcome, Session, Step};
pub use url::Url;
pub use value::Value;
