//! A comparison whose text isn't in a file.

use supervisor::subject::Subject;

/// A comparison that nobody has written down.
#[derive(Clone, Debug)]
pub struct Made {
    /// What its file would say.
    pub text: String,
    /// The subjects that it names.
    pub subjects: Vec<Subject>,
    /// What a reader has to know of them before the figures, in sentences.
    pub cautions: Vec<String>,
}
