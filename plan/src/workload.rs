//! What is sent where requests differ: steps, and which of them is next.

mod flow;
mod users;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::expect::{self, Expect};
use crate::invalid::Invalid;
use crate::method::Methods;
use crate::redaction::Redaction;
use crate::request::Request;
use crate::target::Target;

pub(crate) use self::flow::of_messages;
pub use self::flow::{ANSWERS_MAX, Flow, REST_S_MAX, Turn};
pub use self::users::{Journey, Users, WHOLE};

/// The most steps of one workload.
pub const STEPS_MAX: usize = 65_535;
/// So many names have figures of their own; what has other names is counted together.
pub const NAMES_MAX: usize = 64;
/// The most servers that one workload goes to.
pub const ORIGINS_MAX: usize = 64;
/// What the others are called together.
pub const OTHERS: &str = "(others)";
/// The highest weight.
pub const WEIGHT_MAX: u32 = 1_000_000;

/// Requests that differ. Without a flow they are independent: which is next doesn't depend on any
/// answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Workload {
    /// Where it was read, if anywhere; [`PIPED`] is standard input.
    pub file: Option<PathBuf>,
    /// The steps; of a record the first 64.
    #[serde(with = "shown")]
    #[schemars(with = "Vec<Step>")]
    pub steps: Vec<Step>,
    /// Further steps that a record leaves out.
    #[serde(default)]
    pub left_out: u32,
    /// Which is next.
    pub pick: Pick,
    /// Rows for the variables of templates; null: none.
    pub data: Option<Data>,
    /// What the steps call, where they are gRPC calls.
    #[serde(skip)]
    pub methods: Methods,
    /// The steps follow each other on each connection by itself; null: they're independent.
    #[serde(default)]
    pub flow: Option<Flow>,
    /// The steps are the requests of a flow, through which each connection goes as a user of its
    /// own; null: they aren't.
    #[serde(default)]
    pub users: Option<Users>,
}

/// A request among others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Step {
    /// What its figures are listed under; steps of one name have theirs together.
    pub name: String,
    /// How often it is picked, beside the weights of the others.
    pub weight: u32,
    /// Where it goes. The path may have `{{variables}}`.
    #[serde(with = "Target")]
    pub target: Target,
    /// What is sent. The values of fields may have `{{variables}}`.
    #[serde(with = "Request")]
    pub request: Request,
    /// Whether the body may have them, too.
    pub body_is_template: bool,
    /// What its answers must be besides what the plan expects of all; a status that is expected
    /// here counts instead of that.
    #[serde(default)]
    pub expect: Vec<Expect>,
    /// Where it stands, as `FILE:LINE`; null where it stands in no file.
    pub at: Option<String>,
}

/// Which step is next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pick {
    /// One after the other, and then from the beginning.
    #[default]
    InTurn,
    /// At random, by weight.
    Weighted,
    /// At random, each as often.
    Random,
}

/// The name of standard input, where a file is named.
pub const PIPED: &str = "-";
/// The same in messages and reports.
pub const STDIN: &str = "stdin";

/// A file of rows, of which each request takes one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// CSV with a header, or JSON lines (`.jsonl`, `.ndjson`).
    pub file: PathBuf,
    /// Which row is next.
    pub order: Order,
}

/// Which row of a data file is next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// One after the other, and then from the beginning.
    #[default]
    InTurn,
    /// At random, each as often.
    Random,
    /// At random, the n-th with a probability of n to the power of minus this.
    Zipf(f64),
    /// One after the other; the run ends when they are used up.
    Once,
}

impl FromStr for Order {
    type Err = Invalid;

    /// `in-turn`, `random`, `zipf:1.1` or `once`.
    fn from_str(text: &str) -> Result<Order, Invalid> {
        let exponent = text.strip_prefix("zipf:").map(str::parse::<f64>);
        match (text, exponent) {
            ("in-turn", _) => Ok(Order::InTurn),
            ("random", _) => Ok(Order::Random),
            ("once", _) => Ok(Order::Once),
            (_, Some(Ok(exponent))) => Ok(Order::Zipf(exponent)),
            _ => Err(Invalid(
                "use in-turn, random, once, or zipf with an exponent, such as zipf:1.1".into(),
            )),
        }
    }
}

impl Workload {
    /// The file as messages and reports have it: [`STDIN`] where it was piped in.
    pub fn shown_file(&self) -> Option<String> {
        let file = self.file.as_ref()?;
        Some(match file.as_os_str() == PIPED {
            true => STDIN.to_owned(),
            false => file.display().to_string(),
        })
    }

    /// Steps by weight where one has a weight other than 1, and else in turn.
    pub fn new(steps: Vec<Step>) -> Workload {
        let is_weighted = steps.iter().any(|step| step.weight != 1);
        Workload {
            file: None,
            steps,
            left_out: 0,
            pick: match is_weighted {
                true => Pick::Weighted,
                false => Pick::InTurn,
            },
            data: None,
            methods: Methods::default(),
            flow: None,
            users: None,
        }
    }

    /// The names that figures are listed under, in the order in which they first stand, at most
    /// [`NAMES_MAX`] and [`OTHERS`]; and for each step which of them is its own. A step that is no
    /// exchange has no figures, and any index. Where there are users, [`WHOLE`] stands behind them,
    /// in either list.
    pub fn names(&self) -> (Vec<String>, Vec<u16>) {
        let mut names: Vec<String> = Vec::new();
        let mut known: BTreeMap<&str, u16> = BTreeMap::new();
        let mut of_steps = Vec::with_capacity(self.steps.len());
        for (index, step) in self.steps.iter().enumerate() {
            if !self.is_exchange(index) {
                of_steps.push(0);
                continue;
            }
            let next = known.len().min(NAMES_MAX) as u16;
            let index = match known.get(&*step.name) {
                Some(index) => *index,
                None if usize::from(next) < NAMES_MAX => {
                    names.push(step.name.clone());
                    known.insert(&step.name, next);
                    next
                }
                None => NAMES_MAX as u16,
            };
            of_steps.push(index);
        }
        if of_steps
            .iter()
            .any(|index| usize::from(*index) == NAMES_MAX)
        {
            names.push(OTHERS.to_owned());
        }
        if self.users.is_some() {
            of_steps.push(names.len() as u16);
            names.push(WHOLE.to_owned());
        }
        (names, of_steps)
    }

    /// Whether templates make secrets, which nobody knows before they are sent: in a field or a
    /// parameter of a name that is hidden, or near such a name in a path, a body or a message.
    pub(crate) fn makes_secrets(&self, redaction: &Redaction) -> bool {
        if self.users.is_some() {
            // Answers may repeat what was captured.
            return true;
        }
        let mut made = self.steps.iter().flat_map(|step| {
            let headers = step.request.headers.iter();
            let headers = headers.map(|(name, value)| (&**name, Cow::Borrowed(&**value)));
            let path = &step.target.path;
            let query = path.split_once('?').map_or("", |(_, query)| query);
            let parameters = query.split('&').filter_map(|one| one.split_once('='));
            let parameters = parameters.map(|(name, value)| (name, Cow::Borrowed(value)));
            let body = step.body_is_template.then_some(&*step.request.body);
            let texts = [Some(path.as_bytes()), body].into_iter().flatten();
            let texts = texts.map(|text| ("", String::from_utf8_lossy(text)));
            headers.chain(parameters).chain(texts)
        });
        made.any(|(name, value)| {
            let named = !name.is_empty() && redaction.is_secret(name);
            value.contains("{{") && (named || redaction.names_secret(&value))
        })
    }

    /// The first step of each origin (scheme, host and port; RFC 6454 §4) that steps go to which
    /// are ever sent, in the order in which they first stand; and for each step which of them is
    /// its own.
    pub fn origins(&self) -> (Vec<&Step>, Vec<u16>) {
        let mut firsts: Vec<&Step> = Vec::new();
        let mut known: BTreeMap<(&str, &str, u16), u16> = BTreeMap::new();
        let mut of_steps = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            if !self.sends(step) {
                of_steps.push(0);
                continue;
            }
            let Target {
                scheme, host, port, ..
            } = &step.target;
            let index = known.entry((scheme, host, *port)).or_insert_with(|| {
                firsts.push(step);
                (firsts.len() - 1) as u16
            });
            of_steps.push(*index);
        }
        (firsts, of_steps)
    }

    /// Whether a step, which is one of it, is ever picked.
    pub fn sends(&self, step: &Step) -> bool {
        self.weight_of(step) > 0
    }

    /// How often the steps that are called so are picked together, as a share; 0 where there are
    /// none.
    pub fn share_of(&self, name: &str) -> f64 {
        let (names, of_steps) = self.names();
        let Some(wanted) = names.iter().position(|known| known == name) else {
            return 0.0;
        };
        let (mut own, mut all) = (0, 0);
        for (index, (step, named)) in self.steps.iter().zip(of_steps).enumerate() {
            let weight = self.weight_of(step) * u64::from(self.is_exchange(index));
            all += weight;
            own += weight * u64::from(usize::from(named) == wanted);
        }
        own as f64 / all.max(1) as f64
    }

    /// How many exchanges of a step, or of all, there are for each that the schedule has fall due.
    /// Of users it's flows that do, with each request once, unless a flow says otherwise.
    pub fn for_each_due(&self, step: Option<&str>) -> f64 {
        let named = |name: &str| self.steps.iter().filter(|step| step.name == name).count();
        match (step, &self.users) {
            (None, None) => 1.0,
            (Some(name), None) => self.share_of(name),
            (None, Some(_)) => self.steps.len() as f64,
            (Some(WHOLE), Some(_)) => 1.0,
            (Some(name), Some(_)) => named(name) as f64,
        }
    }

    fn is_exchange(&self, index: usize) -> bool {
        let flow = self.flow.as_ref();
        flow.is_none_or(|flow| flow.is_exchange(index))
    }

    fn weight_of(&self, step: &Step) -> u64 {
        match self.pick {
            Pick::InTurn | Pick::Random => u64::from(step.weight > 0),
            Pick::Weighted => step.weight.into(),
        }
    }

    /// It without its secrets, and of many steps the first.
    pub(crate) fn shown(&self, redaction: &Redaction) -> Workload {
        let steps = self.steps.iter().take(NAMES_MAX);
        let steps: Vec<Step> = steps.map(|step| step.shown(redaction)).collect();
        let left_out = self.left_out + (self.steps.len() - steps.len()) as u32;
        Workload {
            steps,
            left_out,
            flow: self.flow.as_ref().map(Flow::shown),
            users: self.users.as_ref().map(|users| users.shown(redaction)),
            ..self.clone()
        }
    }

    /// Has `redaction` know the secrets that this sends.
    pub(crate) fn tell_secrets(&self, redaction: &Redaction) {
        if let Some(users) = &self.users {
            users.tell_secrets(redaction);
        }
        for step in &self.steps {
            step.request.tell_secrets(&step.target, redaction);
            for rule in &step.expect {
                rule.tell_secrets(redaction);
            }
        }
    }

    /// Whether every step speaks what the first does, and can be picked.
    pub(crate) fn validate(&self) -> Result<(), Invalid> {
        let Some(first) = self.steps.first() else {
            return Err(Invalid("the targets hold no request: add one".into()));
        };
        if self.steps.len() > STEPS_MAX {
            return Err(Invalid(format!(
                "{} targets are too many: at most {STEPS_MAX}; for more, use one template and a \
                 data file (--data)",
                self.steps.len()
            )));
        }
        for step in &self.steps {
            step.validate(first)?;
        }
        let (origins, _) = self.origins();
        if let Some(beyond) = origins.get(ORIGINS_MAX) {
            return Err(Invalid(format!(
                "{}{} is a server too many: a run loads at most {ORIGINS_MAX}, so make several \
                 runs of it",
                beyond.place(),
                beyond.target.origin()
            )));
        }
        if self.steps.iter().all(|step| step.weight == 0) {
            return Err(Invalid(
                "all weights are 0, so there's nothing to send: give one a weight".into(),
            ));
        }
        Ok(())
    }
}

impl Step {
    fn shown(&self, redaction: &Redaction) -> Step {
        Step {
            name: redaction.scrub(&self.name).into_owned(),
            target: self.target.shown(redaction),
            request: self.request.shown(redaction),
            expect: self
                .expect
                .iter()
                .map(|rule| rule.shown(redaction))
                .collect(),
            ..self.clone()
        }
    }

    /// Where it stands, for messages: `targets.http:3: `, or nothing.
    pub fn place(&self) -> String {
        let at = self.at.as_deref();
        at.map(|at| format!("{at}: ")).unwrap_or_default()
    }

    fn validate(&self, first: &Step) -> Result<(), Invalid> {
        let place = self.place();
        let [mine, of_first] = [self, first].map(|step| &step.target.scheme);
        if mine != of_first {
            return Err(Invalid(format!(
                "{place}{mine}:// is another protocol than that of the first request, \
                 {of_first}://: a run speaks one, so give each its own run"
            )));
        }
        expect::validate(&self.expect, &place)?;
        if self.weight > WEIGHT_MAX {
            return Err(Invalid(format!(
                "{place}the weight {} is out of range: use 0 to {WEIGHT_MAX}",
                self.weight
            )));
        }
        Ok(())
    }
}

/// Types with secrets have functions of serde's and not its traits; these are for where they stand
/// in others.
pub(crate) mod shown {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Step, Workload};

    macro_rules! with_traits {
        ($lent:ident, $owned:ident, $of:ident) => {
            pub(super) struct $lent<'a>(pub(super) &'a $of);

            impl Serialize for $lent<'_> {
                fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                    $of::serialize(self.0, to)
                }
            }

            pub(super) struct $owned(pub(super) $of);

            impl<'de> Deserialize<'de> for $owned {
                fn deserialize<D: Deserializer<'de>>(from: D) -> Result<$owned, D::Error> {
                    $of::deserialize(from).map($owned)
                }
            }
        };
    }

    with_traits!(LentStep, OwnedStep, Step);
    with_traits!(LentWorkload, OwnedWorkload, Workload);

    pub(crate) fn serialize<S: Serializer>(steps: &[Step], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(steps.iter().map(LentStep))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Step>, D::Error> {
        let steps = Vec::<OwnedStep>::deserialize(from)?;
        Ok(steps.into_iter().map(|OwnedStep(step)| step).collect())
    }

    /// The same for a workload that may not be there.
    pub(crate) mod option {
        use super::{
            Deserialize, Deserializer, LentWorkload, OwnedWorkload, Serialize, Serializer,
        };
        use crate::Workload;

        pub(crate) fn serialize<S: Serializer>(
            workload: &Option<Workload>,
            to: S,
        ) -> Result<S::Ok, S::Error> {
            workload.as_ref().map(LentWorkload).serialize(to)
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
            from: D,
        ) -> Result<Option<Workload>, D::Error> {
            let workload = Option::<OwnedWorkload>::deserialize(from)?;
            Ok(workload.map(|OwnedWorkload(workload)| workload))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &str, url: &str) -> Step {
        Step {
            name: name.to_owned(),
            weight: 1,
            target: Target::parse(url).unwrap(),
            request: Request {
                method: "GET".to_owned(),
                headers: Vec::new(),
                body: Vec::new(),
            },
            body_is_template: false,
            expect: Vec::new(),
            at: Some(format!("a.http:{}", name.len())),
        }
    }

    #[test]
    fn templates_near_the_name_of_a_secret_may_make_one() {
        let makes = |path: &str, (name, value): (&str, &str), body: &str| {
            let step = Step {
                name: String::new(),
                weight: 1,
                target: Target::parse(&format!("http://x{path}")).unwrap(),
                request: Request {
                    headers: vec![(name.to_owned(), value.to_owned())],
                    body: body.into(),
                    method: "GET".to_owned(),
                },
                body_is_template: true,
                expect: Vec::new(),
                at: None,
            };
            let redaction = Redaction::default().naming(["tok"]);
            Workload::new(vec![step]).makes_secrets(&redaction)
        };
        let plain = ("Accept", "*/*");
        for (path, header, body, expected) in [
            (
                "/{{id}}?a={{b}}",
                ("X-Id", "{{uuid}}"),
                "{\"id\": {{id}}}",
                false,
            ),
            (
                "/?token=1",
                ("Authorization", "Bearer x"),
                "{\"password\": 1}",
                false,
            ),
            ("/?token={{a}}", plain, "", true),
            ("/{{api_key}}", plain, "", true),
            ("/", ("Authorization", "Bearer {{a}}"), "", true),
            ("/", ("X-Id", "{{password}}"), "", true),
            ("/", plain, "login {{user}} {{password}}", true),
            ("/", plain, "{\"Password\": \"{{p}}\"}", true),
            ("/", plain, "{{tok}}", true),
        ] {
            assert_eq!(
                makes(path, header, body),
                expected,
                "{path} {header:?} {body}"
            );
        }
    }

    #[test]
    fn steps_of_one_name_have_figures_together_and_those_past_the_bound_have_none_apart() {
        let named = |n: usize| step(&format!("s{n}"), "http://x/");
        let few = Workload::new([1, 2, 1].map(named).into());
        assert_eq!(few.names(), (vec!["s1".into(), "s2".into()], vec![0, 1, 0]));
        let many = Workload::new((0..70).chain([3, 69]).map(named).collect());
        let (names, of_steps) = many.names();
        assert_eq!(names.len(), NAMES_MAX + 1);
        assert_eq!(names.last().map(String::as_str), Some(OTHERS));
        assert_eq!(of_steps[62..], [62, 63, 64, 64, 64, 64, 64, 64, 3, 64]);
    }

    #[test]
    fn shares_are_those_by_which_steps_are_picked() {
        let named = |name: &str, weight| Step {
            weight,
            ..step(name, "http://x/")
        };
        let steps = vec![named("a", 1), named("b", 1), named("a", 1), named("c", 1)];
        let in_turn = Workload::new(steps);
        let of = |workload: &Workload| ["a", "b", "d"].map(|name| workload.share_of(name));
        assert_eq!(of(&in_turn), [0.5, 0.25, 0.0]);
        let weighted = Workload::new(vec![named("a", 6), named("b", 0), named("c", 2)]);
        assert_eq!(of(&weighted), [0.75, 0.0, 0.0]);
        assert!(weighted.sends(&weighted.steps[0]) && !weighted.sends(&weighted.steps[1]));
        let random = Workload {
            pick: Pick::Random,
            ..weighted
        };
        assert_eq!(random.share_of("b"), 0.0);
    }

    #[test]
    fn what_cannot_be_sent_says_where_it_stands() {
        let mut elsewhere = Workload::new(vec![step("a", "http://x/"), step("bc", "https://y/")]);
        let Invalid(text) = elsewhere.validate().unwrap_err();
        assert!(text.starts_with("a.http:2: https:// is another"), "{text}");
        elsewhere.steps.clear();
        assert!(elsewhere.validate().is_err());
        let mut unweighted = Workload::new(vec![step("a", "http://x/")]);
        unweighted.steps[0].weight = 0;
        unweighted.pick = Pick::Weighted;
        let Invalid(text) = unweighted.validate().unwrap_err();
        assert!(text.contains("weights are 0"), "{text}");
    }
}
