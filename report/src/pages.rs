//! The files that a report is written to. Pages can be made again from the records beside them, so
//! that no pack holds one: a page has its name here or none at all.

/// What a gate judged, for pipelines: it stands beside the report of what it measured, and is kept.
pub const GATE_CASES: &str = "gate.xml";

/// A page, by the name of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page(&'static str);

/// Names each page once: what is listed can be written, and what can be written is listed.
macro_rules! pages {
    ($($(#[$says:meta])* $page:ident = $file:literal;)*) => {
        impl Page {
            $($(#[$says])* pub const $page: Page = Page($file);)*
            /// Every page there is.
            pub(crate) const ALL: &[Page] = &[$(Page::$page),*];
        }
    };
}

pages! {
    /// A report, for a browser.
    HTML = "report.html";
    /// A report, for documents.
    MARKDOWN = "report.md";
    /// A comparison's report, for programs.
    JSON = "report.json";
    /// What was measured one by one, for programs.
    CSV = "report.csv";
    /// What was judged, for pipelines.
    JUNIT = "junit.xml";
    /// Figures of which less is better, for github-action-benchmark.
    SMALLER = "smaller-is-better.json";
    /// Figures of which more is better, for github-action-benchmark.
    BIGGER = "bigger-is-better.json";
    /// All figures, for Bencher.
    BENCHER = "bencher.json";
    /// The ledger of claims, for a browser.
    CLAIMS_HTML = "claims.html";
    /// The ledger of claims, for documents.
    CLAIMS_MARKDOWN = "CLAIMS.md";
    /// The ledger of claims in Chinese, for a browser.
    CLAIMS_HTML_ZH = "claims.zh.html";
    /// The ledger of claims in Chinese, for documents.
    CLAIMS_MARKDOWN_ZH = "CLAIMS.zh.md";
}

impl Page {
    /// The name of its file.
    pub const fn file(self) -> &'static str {
        self.0
    }
}

/// A file that a report is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    /// A record, which holds what is known from nowhere else.
    Record(&'static str),
    /// What can be made again.
    Page(Page),
}

impl File {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            File::Record(name) => name,
            File::Page(page) => page.file(),
        }
    }
}
