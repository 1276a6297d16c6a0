//! A plan as a coordinator sends it, with the secrets that its requests have, and what is to be
//! hidden of it; and what it needs besides: files, and what the coordinator made of files. All of
//! that is known by its SHA-256.

use std::fmt;
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use cli::Secrets;
use fleet::Text;
use fleet::chain::{Digest, Hasher};
use fleet::message::DataFile;
use load::plan::Invalid;
use load::plan::workload::Users;
use load::schedule::Schedule;
use load::{Redaction, grpc};
use serde::{Deserialize, Serialize};
use workload::hurl::{self, Given};

use crate::store::{BYTES_MAX, Content};
use crate::task::Load;
use crate::traced;

/// A plan with more bytes goes by the store, too: with all else that stands in the message, it has
/// to fit into one.
const PLAN_BYTES: usize = 1 << 19;

/// A plan, and what goes by the store.
#[derive(Debug)]
pub(crate) struct Packet {
    /// What is sealed and sent.
    pub(crate) plan: Vec<u8>,
    /// What is told of the rest.
    pub(crate) data: Vec<DataFile>,
    /// The rest, in the same order.
    pub(crate) contents: Vec<Content>,
}

/// The form on the wire.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope {
    /// Where the files are.
    bucket: String,
    /// None: it's the last of them.
    sent: Option<Sent>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sent {
    load: Load,
    /// Each agent loads a server of its own, on its own machine.
    own_server: bool,
    hidden: Vec<String>,
    shows_bodies: bool,
    /// Variables of users whose values are secrets.
    secrets: Vec<(String, String)>,
    /// What each of the files is, in their order.
    roles: Vec<Role>,
}

/// What a file is to a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Role {
    Rows,
    CaFile,
    Certificate,
    Key,
    Script,
    Flow,
    /// A file that the flow names, in its folder.
    OfFlow(PathBuf),
    /// Requests that were made once, as they were read.
    Trace,
    /// What describes the methods of gRPC calls.
    Methods,
}

/// Packs a plan, whose files will be in this bucket.
///
/// # Errors
/// A sentence: a file can't be read, or there are too many bytes in them.
pub(crate) fn pack(
    (load, own_server): (&Load, bool),
    secrets: &Secrets,
    bucket: &str,
) -> Result<Packet, String> {
    let mut needs = needs(load)?;
    let redaction = load.redaction();
    let sent = Sent {
        load: load.clone(),
        own_server,
        hidden: redaction.names().map(str::to_owned).collect(),
        shows_bodies: redaction.shows_bodies(),
        secrets: secrets.0.clone(),
        roles: needs.iter().map(|(role, _)| role.clone()).collect(),
    };
    let mut envelope = Envelope {
        bucket: bucket.to_owned(),
        sent: Some(sent),
    };
    let failed = |why| format!("the plan can't be sent: {why}");
    let mut bytes = serde_json::to_vec(&envelope).map_err(failed)?;
    if bytes.len() > PLAN_BYTES {
        let whole = serde_json::to_vec(&envelope.sent.take()).map_err(failed)?;
        // It has no role, because it says which the others have.
        needs.push((Role::Rows, Content::Made(whole.into())));
        bytes = serde_json::to_vec(&envelope).map_err(failed)?;
    }
    let mut data = Vec::with_capacity(needs.len());
    let mut left = BYTES_MAX;
    for (role, content) in &needs {
        let (name, digest, length) = known(role, content)?;
        left = left.checked_sub(length).ok_or_else(|| {
            format!(
                "the files of this load have more than {BYTES_MAX} bytes, which is the most that \
                 agents take: give them less"
            )
        })?;
        data.push(DataFile { name, digest });
    }
    Ok(Packet {
        plan: bytes,
        data,
        contents: needs.into_iter().map(|(_, content)| content).collect(),
    })
}

/// What is told of a file, and its length.
fn known(role: &Role, content: &Content) -> Result<(Text, Digest, u64), String> {
    match content {
        Content::File(path) => {
            let (digest, length) = digest(path)?;
            Ok((Text::new(&path.display().to_string()), digest, length))
        }
        Content::Made(bytes) => {
            let name = match role {
                Role::Trace => "the requests of --replay",
                Role::Methods => "what describes the methods",
                _ => "the plan",
            };
            Ok((Text::new(name), Digest::of(bytes), bytes.len() as u64))
        }
    }
}

/// What a plan needs where it is carried out. (Steps and bodies were read into it.)
fn needs(load: &Load) -> Result<Vec<(Role, Content)>, String> {
    let mut needs = Vec::new();
    let mut file = |role, path: &Path| needs.push((role, Content::File(path.to_owned())));
    if let Some(tls) = load.tls() {
        for (role, path) in [
            (Role::CaFile, &tls.ca_file),
            (Role::Certificate, &tls.certificate_file),
            (Role::Key, &tls.key_file),
        ] {
            path.iter().for_each(|path| file(role.clone(), path));
        }
    }
    let Load::Run(plan) = load else {
        return Ok(needs);
    };
    if let Some(script) = &plan.script {
        file(Role::Script, &script.file);
    }
    let Some(workload) = &plan.workload else {
        return Ok(needs);
    };
    if let Some(rows) = &workload.data {
        file(Role::Rows, &rows.file);
    }
    if let (Some(users), Some(path)) = (&workload.users, &workload.file) {
        file(Role::Flow, path);
        for (name, path) in of_flow(users, path)? {
            file(Role::OfFlow(name), &path);
        }
    }
    if let Schedule::Trace { trace, .. } = &plan.schedule {
        let bytes = traced::write(&trace.0)?;
        needs.push((Role::Trace, Content::Made(bytes)));
    }
    if let Some(described) = workload.methods.described() {
        needs.push((Role::Methods, Content::Made(Bytes::from(described))));
    }
    Ok(needs)
}

/// The files that a flow names, by their places in its folder.
fn of_flow(users: &Users, file: &Path) -> Result<Vec<(PathBuf, PathBuf)>, String> {
    let own = file.parent().unwrap_or(Path::new(""));
    let root = users.file_root.as_deref().unwrap_or(own);
    let named = users
        .journey
        .0
        .as_ref()
        .map_or(&[][..], |flow| flow.files());
    let mut all: Vec<(PathBuf, PathBuf)> = Vec::new();
    for path in named {
        let name = path.strip_prefix(root).unwrap_or(path);
        if !is_within(name) {
            return Err(format!(
                "{} names {}: agents take files by plain paths, without .. and below the flow's \
                 folder",
                file.display(),
                path.display()
            ));
        }
        if all.iter().all(|(known, _)| known != name) {
            all.push((name.to_owned(), path.clone()));
        }
    }
    Ok(all)
}

/// Whether a path leads nowhere else than below where it begins.
fn is_within(path: &Path) -> bool {
    let is_plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    path.file_name().is_some() && path.components().all(is_plain)
}

/// Of a file's content, and how long it is. Of anything else that a path may name none is taken:
/// a device may have no end.
fn digest(path: &Path) -> Result<(Digest, u64), String> {
    let failed = |why: &dyn fmt::Display| format!("can't read {}: {why}", path.display());
    let meta = fs::metadata(path).map_err(|why| failed(&why))?;
    if !meta.is_file() {
        return Err(failed(&"it isn't a file"));
    }
    let mut file = File::open(path).map_err(|why| failed(&why))?;
    let (mut hash, mut length) = (Hasher::new(), 0);
    let mut part = vec![0; 1 << 16];
    loop {
        match file.read(&mut part) {
            Ok(0) => return Ok((hash.finish(), length)),
            Ok(read) => {
                length += read as u64;
                hash.add(&part[..read]);
            }
            Err(why) if why.kind() == ErrorKind::Interrupted => {}
            Err(why) => return Err(failed(&why)),
        }
    }
}

/// Whoever has files.
pub(crate) trait Files {
    /// Has these, out of a bucket: where they are, in their order.
    ///
    /// # Errors
    /// A sentence: which it hasn't.
    fn fetch(&self, bucket: &str, data: &[DataFile]) -> Result<Vec<PathBuf>, String>;

    /// An empty folder in which they may have other names.
    ///
    /// # Errors
    /// A sentence: there's none.
    fn names(&self) -> Result<PathBuf, String>;
}

/// Reads a plan, whose secrets are then known to its redaction, and has its files; and whether each
/// agent is to load a server of its own.
///
/// # Errors
/// A sentence: it's no plan of this version, or what it needs can't be had.
pub(crate) fn unpack(
    bytes: &[u8],
    data: &[DataFile],
    files: &dyn Files,
) -> Result<(Load, bool), String> {
    let unread = |why| format!("the plan that came can't be read: {why}");
    let envelope: Envelope = serde_json::from_slice(bytes).map_err(unread)?;
    let mut paths = match data {
        [] => Vec::new(),
        data => files.fetch(&envelope.bucket, data)?,
    };
    let sent = match (envelope.sent, &paths[..]) {
        (Some(sent), _) => sent,
        (None, []) => return Err("the plan that came has no plan in it".to_owned()),
        (None, [.., last]) => {
            let whole = fs::read(last).map_err(|why| format!("the plan can't be read: {why}"))?;
            paths.pop();
            serde_json::from_slice(&whole).map_err(unread)?
        }
    };
    if sent.roles.len() != paths.len() || paths.len() > data.len() {
        return Err("the plan that came doesn't say what its files are".to_owned());
    }
    let mut load = sent.load;
    check_paths(&load, &sent.roles)?;
    *load.redaction_mut() = Redaction::default()
        .naming(sent.hidden)
        .showing_bodies(sent.shows_bodies);
    if !paths.is_empty() {
        let names = files.names()?;
        let given = sent.roles.iter().zip(data).zip(&paths);
        let mut place = Place::new(names, &mut load);
        for (number, ((role, file), path)) in given.enumerate() {
            place.put(number, role, file, path)?;
        }
        place.finish(sent.secrets)?;
    }
    load.tell_secrets();
    Ok((load, sent.own_server))
}

/// Whether everything that a plan reads came with it: it's no business of whoever wrote the plan
/// what else there is on this machine.
///
/// # Errors
/// A sentence: what didn't.
fn check_paths(load: &Load, roles: &[Role]) -> Result<(), String> {
    let mut read: Vec<(Role, &Path)> = Vec::new();
    if let Some(tls) = load.tls() {
        for (role, path) in [
            (Role::CaFile, &tls.ca_file),
            (Role::Certificate, &tls.certificate_file),
            (Role::Key, &tls.key_file),
        ] {
            read.extend(path.as_deref().map(|path| (role, path)));
        }
    }
    if let Load::Run(plan) = load {
        let script = plan.script.as_ref();
        read.extend(script.map(|script| (Role::Script, &*script.file)));
        let workload = plan.workload.as_ref();
        let rows = workload.and_then(|workload| workload.data.as_ref());
        read.extend(rows.map(|rows| (Role::Rows, &*rows.file)));
        if let Some(workload) = workload.filter(|workload| workload.users.is_some()) {
            let file = workload.file.as_deref();
            read.push((Role::Flow, file.unwrap_or(Path::new("a flow"))));
        }
        if let Schedule::Trace { file, .. } = &plan.schedule {
            read.push((Role::Trace, file));
        }
    }
    match read.into_iter().find(|(role, _)| !roles.contains(role)) {
        Some((_, path)) => Err(format!(
            "the plan names {}, which didn't come with it: agents read no files of their own \
             machines",
            path.display()
        )),
        None => Ok(()),
    }
}

/// Puts files where a plan finds them.
struct Place<'a> {
    names: PathBuf,
    load: &'a mut Load,
    flow: Option<PathBuf>,
    methods: Option<PathBuf>,
}

impl Place<'_> {
    fn new(names: PathBuf, load: &mut Load) -> Place<'_> {
        Place {
            names,
            load,
            flow: None,
            methods: None,
        }
    }

    /// The folder of what a flow names.
    fn root(&self) -> PathBuf {
        self.names.join("files")
    }

    fn put(
        &mut self,
        number: usize,
        role: &Role,
        file: &DataFile,
        path: &Path,
    ) -> Result<(), String> {
        let name = file.name.to_string();
        let own = Path::new(&name).file_name();
        // Its ending says what is in it.
        let own = own.map_or_else(|| PathBuf::from("file"), PathBuf::from);
        let to = match role {
            Role::OfFlow(name) if is_within(name) => self.root().join(name),
            Role::OfFlow(name) => {
                return Err(format!("{} isn't in the flow's folder", name.display()));
            }
            _ => self.names.join(number.to_string()).join(own),
        };
        let folder = to.parent().unwrap_or(&self.names);
        fs::create_dir_all(folder)
            .and_then(|()| fs::hard_link(path, &to).or_else(|_| fs::copy(path, &to).map(drop)))
            .map_err(|why| format!("{name} can't be put into {}: {why}", to.display()))?;
        let no_place = || format!("the plan has no place for {name}");
        if matches!(role, Role::CaFile | Role::Certificate | Role::Key) {
            let tls = self.load.tls_mut().ok_or_else(no_place)?;
            let file = match role {
                Role::CaFile => &mut tls.ca_file,
                Role::Certificate => &mut tls.certificate_file,
                _ => &mut tls.key_file,
            };
            *file = Some(to);
            return Ok(());
        }
        let Load::Run(plan) = &mut *self.load else {
            return Err(no_place());
        };
        match (role, &mut plan.script, &mut plan.workload) {
            (Role::Script, Some(script), _) => script.file = to,
            (Role::Rows, .., Some(workload)) => {
                let rows = workload.data.as_mut().ok_or_else(no_place)?;
                rows.file = to;
            }
            (Role::Flow, .., Some(_)) => self.flow = Some(to),
            (Role::OfFlow(_), .., Some(_)) => {}
            (Role::Methods, .., Some(_)) => self.methods = Some(to),
            (Role::Trace, .., Some(_)) => match &mut plan.schedule {
                Schedule::Trace { trace, .. } => trace.0 = traced::read(&to)?.into(),
                _ => return Err(no_place()),
            },
            _ => return Err(no_place()),
        }
        Ok(())
    }

    /// All are there: what is made of several is made.
    fn finish(self, secrets: Vec<(String, String)>) -> Result<(), String> {
        let root = self.root();
        let Load::Run(plan) = self.load else {
            return Ok(());
        };
        if let Some(file) = &self.flow {
            for (_, value) in &secrets {
                plan.redaction.learn_secret(value);
            }
            let workload = plan.workload.take();
            let (users, rows) = workload.map_or((None, None), |all| (all.users, all.data));
            let users = users.ok_or("the plan has a flow and no users")?;
            let given = Given {
                variables: users.variables.into_iter().collect(),
                secrets,
                rows,
                file_root: Some(root),
                follow: users.follow,
                redaction: plan.redaction.clone(),
            };
            let read = hurl::read(file, given).map_err(|Invalid(why)| why)?;
            plan.workload = Some(read);
        }
        if let Some(file) = self.methods {
            let described = grpc::describe(plan, &grpc::Source::Protoset(file));
            let methods = described.map_err(|why| why.to_string())?;
            if let Some(workload) = &mut plan.workload {
                workload.methods = methods;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use load::Plan;
    use load::plan::Script;
    use load::plan::workload::{Data, Order, Workload};

    use super::*;

    /// An agent that has what a coordinator sent.
    struct Has {
        folder: tempfile::TempDir,
        contents: Vec<Content>,
        fetched: Cell<usize>,
    }

    impl Files for Has {
        fn fetch(&self, _: &str, data: &[DataFile]) -> Result<Vec<PathBuf>, String> {
            self.fetched.set(data.len());
            let put = |(content, file): (&Content, &DataFile)| {
                let path = self.folder.path().join(file.digest.to_string());
                let bytes = match content {
                    Content::File(path) => fs::read(path).unwrap(),
                    Content::Made(bytes) => bytes.to_vec(),
                };
                assert_eq!(Digest::of(&bytes), file.digest);
                fs::write(&path, bytes).unwrap();
                path
            };
            Ok(self.contents.iter().zip(data).map(put).collect())
        }

        fn names(&self) -> Result<PathBuf, String> {
            Ok(self.folder.path().join("names"))
        }
    }

    /// The plan, how many files came with it, and where they are.
    fn sent(plan: &Plan) -> (Plan, usize, tempfile::TempDir) {
        let packet = pack(
            (&Load::Run(plan.clone()), false),
            &Secrets::default(),
            "a-bucket",
        )
        .unwrap();
        let has = Has {
            folder: tempfile::tempdir().unwrap(),
            contents: packet.contents,
            fetched: Cell::new(0),
        };
        let (Load::Run(plan), false) = unpack(&packet.plan, &packet.data, &has).unwrap() else {
            panic!("it's a run");
        };
        (plan, has.fetched.get(), has.folder)
    }

    #[test]
    fn a_plan_arrives_with_its_secrets_and_hides_them() {
        let mut plan = Plan::new("https://user.example/p?token=canary-q").unwrap();
        let header = |name: &str| (name.to_owned(), "canary-h".to_owned());
        plan.request.headers = ["authorization", "x-mine"].map(header).into();
        plan.request.body = vec![0, 159, 255];
        plan.redaction = Redaction::default().naming(["x-mine"]);
        let (arrived, fetched, _folder) = sent(&plan);
        assert_eq!((&arrived, fetched), (&plan, 0));
        let shown = serde_json::to_string(&arrived.recorded()).unwrap();
        assert!(!shown.contains("canary"), "{shown}");
        assert!(!arrived.redaction.scrub("said canary-h").contains("canary"));
        let nobody = Has {
            folder: tempfile::tempdir().unwrap(),
            contents: Vec::new(),
            fetched: Cell::new(0),
        };
        assert!(unpack(b"{}", &[], &nobody).is_err());
        assert!(unpack(b"{\"bucket\":\"a\",\"sent\":null}", &[], &nobody).is_err());
    }

    #[test]
    fn files_and_plans_that_are_too_long_for_a_message_go_another_way() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let mut plan = Plan::new("https://h/").unwrap();
        plan.request.body = vec![7; PLAN_BYTES];
        plan.tls.as_mut().unwrap().ca_file = Some(put("ca.pem", "an authority"));
        plan.script = Some(Script {
            file: put("a.lua", "-- nothing"),
            args: Vec::new(),
        });
        let mut workload = Workload::new(Vec::new());
        workload.data = Some(Data {
            file: put("rows.csv", "id\n1\n"),
            order: Order::Once,
        });
        plan.workload = Some(workload);
        let (arrived, fetched, _folder) = sent(&plan);
        // The plan is one of them.
        assert_eq!((fetched, arrived.request.body.len()), (4, PLAN_BYTES));
        let text = |path: &Path| fs::read_to_string(path).unwrap();
        let ca = arrived.tls.unwrap().ca_file.unwrap();
        assert_eq!(text(&ca), "an authority");
        assert_ne!(ca, folder.path().join("ca.pem"));
        assert_eq!(text(&arrived.script.unwrap().file), "-- nothing");
        let rows = arrived.workload.unwrap().data.unwrap().file;
        assert_eq!(
            (text(&rows), rows.extension()),
            ("id\n1\n".into(), Some("csv".as_ref()))
        );
        fs::remove_file(folder.path().join("ca.pem")).unwrap();
        let refused = |plan: &Plan| {
            let load = Load::Run(plan.clone());
            pack((&load, false), &Secrets::default(), "a").unwrap_err()
        };
        let said = refused(&plan);
        assert!(said.contains("can't read"), "{said}");
        plan.tls.as_mut().unwrap().ca_file = Some("/dev/zero".into());
        let said = refused(&plan);
        assert!(said.contains("isn't a file"), "{said}");
    }

    /// What becomes of a load to which nothing was sent along.
    fn opened(load: Load) -> Result<(), String> {
        let nobody = Has {
            folder: tempfile::tempdir().unwrap(),
            contents: Vec::new(),
            fetched: Cell::new(0),
        };
        let sent = Sent {
            load,
            own_server: false,
            hidden: Vec::new(),
            shows_bodies: false,
            secrets: Vec::new(),
            roles: Vec::new(),
        };
        let envelope = Envelope {
            bucket: "a".to_owned(),
            sent: Some(sent),
        };
        let bytes = serde_json::to_vec(&envelope).unwrap();
        unpack(&bytes, &[], &nobody).map(drop)
    }

    #[test]
    fn a_plan_reads_nothing_that_did_not_come_with_it() {
        let own = || Some(PathBuf::from("/etc/own"));
        let rows = |workload: &mut Workload| {
            let (file, order) = (PathBuf::from("/etc/own"), Order::InTurn);
            workload.data = Some(Data { file, order });
        };
        let of_workload = |plan: &mut Plan, spoil: &dyn Fn(&mut Workload)| {
            let mut workload = Workload::new(Vec::new());
            spoil(&mut workload);
            plan.workload = Some(workload);
        };
        type Spoil<'a> = &'a dyn Fn(&mut Plan);
        let table: [Spoil<'_>; 7] = [
            &|plan| plan.tls.as_mut().unwrap().ca_file = own(),
            &|plan| plan.tls.as_mut().unwrap().certificate_file = own(),
            &|plan| plan.tls.as_mut().unwrap().key_file = own(),
            &|plan| {
                let (file, args) = ("/etc/own".into(), Vec::new());
                plan.script = Some(Script { file, args });
            },
            &|plan| of_workload(plan, &rows),
            &|plan| {
                of_workload(plan, &|workload| {
                    (workload.users, workload.file) = (Some(Users::default()), own());
                });
            },
            &|plan| {
                plan.schedule = Schedule::Trace {
                    file: "/etc/own".into(),
                    speed: 1.0,
                    passes: 1,
                    requests: 1,
                    seconds: 1.0,
                    left_out: Default::default(),
                    trace: Default::default(),
                };
            },
        ];
        for spoil in table {
            let mut plan = Plan::new("https://h/").unwrap();
            spoil(&mut plan);
            let said = opened(Load::Run(plan)).unwrap_err();
            assert!(said.contains("/etc/own, which didn't come"), "{said}");
        }
        let mut held = load::hold::Plan::new("https://h/").unwrap();
        held.tls.as_mut().unwrap().key_file = own();
        let said = opened(Load::Hold(held)).unwrap_err();
        assert!(said.contains("/etc/own, which didn't come"), "{said}");
        // What steps were read of is only named.
        let mut plan = Plan::new("https://h/").unwrap();
        of_workload(&mut plan, &|workload| workload.file = own());
        opened(Load::Run(plan)).unwrap();
    }

    #[test]
    fn a_flow_names_nothing_beside_its_folder() {
        for (path, expected) in [
            ("a.txt", true),
            ("./b/a.txt", true),
            ("../a.txt", false),
            ("b/../../a.txt", false),
            ("/etc/passwd", false),
            ("", false),
        ] {
            assert_eq!(is_within(Path::new(path)), expected, "{path}");
        }
    }
}
