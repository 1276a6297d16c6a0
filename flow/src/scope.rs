//! The variables of one user, and what of them is secret.

use std::borrow::Cow;
use std::sync::Arc;

use measure::foreign::Foreign;

use crate::filters::{base64_encode, html_escape, url_encode};
use crate::model::Slot;
use crate::value::Value;

/// The most bytes of a value that a capture keeps.
pub(crate) const CAPTURED_MAX: usize = 64 << 10;
/// The most characters of a value that a message shows.
const SHOWN_MAX: usize = 120;
/// Captured texts of so many bytes are hidden in messages.
const CAPTURED_HIDDEN_MIN: usize = 8;
/// What stands where a secret was.
pub(crate) const HIDDEN: &str = "***";

/// Whether a name is that of a secret.
pub type Hides = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// The variables of a flow, in the order of their slots.
#[derive(Default)]
pub(crate) struct Variables {
    pub names: Box<[Box<str>]>,
    /// What all users begin with.
    pub initial: Box<[Option<Value>]>,
    pub secrecy: Box<[Secrecy]>,
    /// What answers have under such a name is secret, too.
    pub hides: Option<Hides>,
}

/// Whether messages may hold a variable's values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Secrecy {
    #[default]
    Plain,
    /// It's captured: what is too long to be a number or a word may be a token.
    Captured,
    /// The file, or whoever runs it, says so.
    Secret,
}

/// The variables of a user at one moment.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub known: &'a Variables,
    /// What is the user's own; the rest is as it was for all.
    pub own: &'a [Option<Value>],
    /// User and password of the request, which are secrets in any case.
    pub basic: Option<&'a str>,
}

impl<'a> Scope<'a> {
    /// The value of a variable.
    ///
    /// # Errors
    /// It has none yet.
    pub(crate) fn value(&self, slot: Slot) -> Result<&'a Value, String> {
        self.find(slot).ok_or_else(|| {
            let name = Foreign::new(&*self.known.names[usize::from(slot)]);
            format!("the variable {name} has no value yet: nothing has captured it so far")
        })
    }

    /// The same of one that may have none.
    pub(crate) fn find(&self, slot: Slot) -> Option<&'a Value> {
        let slot = usize::from(slot);
        let own = self.own.get(slot).and_then(Option::as_ref);
        own.or_else(|| self.known.initial.get(slot).and_then(Option::as_ref))
    }

    /// A value as a message shows it: without secrets, and not too long.
    pub(crate) fn shown(&self, value: &Value) -> String {
        if let Value::Bytes(bytes) = value {
            // Of bytes only the first are shown, which might be a part of a secret.
            let is_within = |form: &String| memchr::memmem::find(bytes, form.as_bytes()).is_some();
            if self.secrets().iter().any(is_within) {
                return format!("{} bytes, among them {HIDDEN}", bytes.len());
            }
        }
        let whole = value.shown();
        let shown = self.redacted(&whole);
        match shown.char_indices().nth(SHOWN_MAX) {
            Some((end, _)) => format!("{}…", &shown[..end]),
            None => shown.into_owned(),
        }
    }

    /// A text without the values of secret variables, in any form in which requests have them.
    pub(crate) fn redacted<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut forms = self.secrets();
        // What holds another goes first.
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        let mut text = Cow::Borrowed(text);
        for form in forms {
            if text.contains(&form) {
                text = Cow::Owned(text.replace(&form, HIDDEN));
            }
        }
        text
    }

    fn secrets(&self) -> Vec<String> {
        let mut forms = Vec::new();
        for (slot, secrecy) in self.known.secrecy.iter().enumerate() {
            let own = self.own.get(slot).and_then(Option::as_ref);
            match secrecy {
                Secrecy::Plain => {}
                Secrecy::Captured => {
                    let forms = &mut forms;
                    own.into_iter()
                        .for_each(|value| push_forms(value, CAPTURED_HIDDEN_MIN, forms));
                }
                // The value that all users began with stays one when a user has another.
                Secrecy::Secret => {
                    let all = own.into_iter().chain(self.known.initial[slot].as_ref());
                    all.for_each(|value| push_forms(value, 1, &mut forms));
                }
            }
        }
        if let Some(basic) = self.basic {
            forms.push(base64_encode(basic.as_bytes(), false));
            let password = basic.split_once(':').map_or("", |(_, password)| password);
            push_forms(&Value::text(password), 1, &mut forms);
        }
        forms
    }
}

/// A value of so many bytes or more, and such values in it, as requests and answers have them.
fn push_forms(value: &Value, bytes_min: usize, forms: &mut Vec<String>) {
    if let Value::List(items) = value {
        items
            .iter()
            .for_each(|item| push_forms(item, bytes_min, forms));
    }
    if let Value::Object(members) = value {
        members
            .iter()
            .for_each(|(_, is)| push_forms(is, bytes_min, forms));
    }
    if let Value::Bytes(bytes) = value
        && bytes.len() >= bytes_min
    {
        forms.push(crate::filters::hex(bytes));
    }
    let mut plain = String::new();
    if !value.write(&mut plain) || plain.len() < bytes_min {
        return;
    }
    for also in [&b""[..], b"/"] {
        let mut encoded = String::new();
        url_encode(plain.as_bytes(), also, &mut encoded);
        forms.push(encoded);
    }
    let escaped = html_escape(&plain);
    if escaped != plain {
        let decimal = escaped
            .replace("&#x27;", "&#39;")
            .replace("&quot;", "&#34;");
        forms.extend([escaped.replace("&#x27;", "'"), decimal, escaped]);
    }
    let quoted = serde_json::Value::String(plain.clone()).to_string();
    forms.push(quoted[1..quoted.len() - 1].to_owned());
    forms.push(base64_encode(plain.as_bytes(), false));
    forms.push(base64_encode(plain.as_bytes(), true));
    forms.push(plain);
}
