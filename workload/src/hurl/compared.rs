//! Flows in a comparison, whose rows are servers of their own: wherever the file says that its
//! requests go, they go to the server of the row.

use std::collections::BTreeMap;
use std::path::Path;

use plan::workload::Data as Rows;
use plan::{Invalid, Redaction, Workload};

use super::{Given, pairs, read};

/// The variable that stands for the server in a file, and needs no value here.
const BASE: &str = "base";
/// What it stands for until the row's server is known.
const ANY: &str = "http://localhost";

/// What of the words of a comparison has no meaning beside a flow.
pub struct Beside {
    /// `method`, `message` or `template` is given.
    pub says_what_is_sent: bool,
    /// `pick` is.
    pub pick: bool,
    /// Another protocol than HTTP/1.1 and HTTP/2 is.
    pub protocol: bool,
    /// `expect` is.
    pub expect: bool,
    /// `cookies` are.
    pub cookies: bool,
    /// `compressed` is.
    pub compressed: bool,
    /// `pipeline` or `streams` is more than 1.
    pub pipeline: bool,
    /// `keep_alive` is false.
    pub closes: bool,
}

impl Beside {
    /// Whether it all goes together.
    ///
    /// # Errors
    /// What doesn't, and what to do.
    pub fn check(&self) -> Result<(), String> {
        let table = [
            (
                self.says_what_is_sent,
                "a flow says what is sent: drop `method`, `message` and `template`",
            ),
            (self.pick, "`pick`: a flow has an order of its own: drop it"),
            (
                self.protocol,
                "`protocol`: flows are sent over HTTP/1.1 or HTTP/2",
            ),
            (
                self.expect,
                "`expect`: what answers must be stands in the flow: write [Asserts], and drop it",
            ),
            (
                self.cookies,
                "`cookies`: each user keeps its cookies anyway: drop it",
            ),
            (
                self.compressed,
                "`compressed` is about `expect`: write an Accept-Encoding header, and drop it",
            ),
            (
                self.pipeline,
                "a user waits for each answer: drop `pipeline` and `streams`, add `connections`",
            ),
            (
                self.closes,
                "`keep_alive = false`: a user keeps its connection: drop it",
            ),
        ];
        match table.iter().find(|(is_given, _)| *is_given) {
            Some((_, why)) => Err((*why).to_owned()),
            None => Ok(()),
        }
    }
}

/// Why flows and replays are compared without an equal rate.
pub const RATED: &str = "`equal_rate` is a share of the requests that servers answer in a closed \
                         loop: flows aren't requests, and a replay is no closed loop. Drop it, and \
                         set the load by `connections`, `rate` or `speed`";

/// The workload of a file for any server, and the values of its secrets, which the environment has;
/// `redaction` knows other ones by their names.
///
/// # Errors
/// What is wrong with the file, or with what it's given.
pub fn of_file(
    file: &Path,
    variables: &BTreeMap<String, String>,
    rows: Option<Rows>,
    (follow, redaction): (u32, &Redaction),
) -> Result<(Workload, Vec<String>), Invalid> {
    let secrets = pairs::of_environment(pairs::SECRETS, std::env::vars_os())?;
    let mut variables = variables.clone();
    let base = variables.entry(BASE.to_owned());
    base.or_insert_with(|| ANY.to_owned());
    let given = Given {
        variables: variables.into_iter().collect(),
        secrets: secrets.clone(),
        rows,
        file_root: None,
        follow,
        redaction: redaction.clone(),
    };
    let values = secrets.into_iter().map(|(_, value)| value).collect();
    Ok((read(file, given)?, values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_for_any_server_until_it_is_sent_to_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("shop.hurl");
        std::fs::write(&file, "GET {{base}}/a/{{id}}\n\nGET {{base}}/b\n").unwrap();
        let variables = BTreeMap::from([("id".to_owned(), "7".to_owned())]);
        let (workload, _) = of_file(&file, &variables, None, (0, &Redaction::default())).unwrap();
        assert_eq!(workload.steps[0].target.origin(), "http://localhost");
        let users = workload.users.unwrap();
        let origin = |users: &plan::Users| {
            let flow = users.journey.0.clone().unwrap();
            let [first] = &flow.origins()[..] else {
                panic!("one server");
            };
            (first.is_secure(), first.authority().to_owned())
        };
        assert_eq!(origin(&users), (false, "localhost".to_owned()));
        let moved = users.sent_to("https://127.0.0.1:8443");
        assert_eq!(origin(&moved), (true, "127.0.0.1:8443".to_owned()));
        assert_eq!(moved.variables, users.variables);
    }

    #[test]
    fn what_a_flow_is_made_of_is_known_by_its_hash() {
        let folder = tempfile::tempdir().unwrap();
        let (file, body) = (folder.path().join("a.hurl"), folder.path().join("a.bin"));
        let hashed = |text: &str, bytes: &str, id: &str| {
            std::fs::write(&file, text).unwrap();
            std::fs::write(&body, bytes).unwrap();
            let variables = BTreeMap::from([("id".to_owned(), id.to_owned())]);
            let (workload, _) =
                of_file(&file, &variables, None, (0, &Redaction::default())).unwrap();
            workload.users.unwrap().contents(&file).unwrap()
        };
        let text = "POST {{base}}/{{id}}\nfile,a.bin;\n";
        let first = hashed(text, "x", "1");
        assert_eq!(first, hashed(text, "x", "1"));
        for (text, bytes, id) in [
            ("PUT {{base}}/{{id}}\nfile,a.bin;\n", "x", "1"),
            (text, "y", "1"),
            (text, "x", "2"),
        ] {
            assert_ne!(first, hashed(text, bytes, id));
        }
    }

    #[test]
    fn what_has_no_meaning_beside_a_flow_is_refused() {
        let none = Beside {
            says_what_is_sent: false,
            pick: false,
            protocol: false,
            expect: false,
            cookies: false,
            compressed: false,
            pipeline: false,
            closes: false,
        };
        assert_eq!(none.check(), Ok(()));
        let why = Beside { pick: true, ..none }.check().unwrap_err();
        assert!(why.contains("`pick`"), "{why}");
    }
}
