//! Where builds are kept, and whether what lies there can be trusted: it is started without being
//! built again, so nobody else may be able to put anything there.

use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use crate::outside;

/// Permissions to write for the group and for everybody, and the bit that lets only owners remove
/// (chmod(2)).
const OTHERS_WRITE: u32 = 0o022;
const EVERYBODY_WRITES: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// The folder of builds: one that the caller names, or `ringside/builds` in the user's cache.
#[derive(Clone, Debug)]
pub struct Cache(Result<PathBuf, String>);

impl Cache {
    /// The one that is named, or the user's own (XDG Base Directory Specification).
    pub fn new(named: Option<&Path>) -> Cache {
        Cache::of(named, |name| env::var_os(name))
    }

    fn of(named: Option<&Path>, variable: impl Fn(&str) -> Option<OsString>) -> Cache {
        if let Some(named) = named {
            return Cache(Ok(named.to_owned()));
        }
        let absolute = |name: &str| {
            let path = variable(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let cache = absolute("XDG_CACHE_HOME");
        let cache = cache.or_else(|| absolute("HOME").map(|home| home.join(".cache")));
        Cache(match cache {
            Some(cache) => Ok(cache.join("ringside").join("builds")),
            None => Err(
                "there's no place to keep builds: neither HOME nor XDG_CACHE_HOME is set to an \
                 absolute path. Set one of them, such as `XDG_CACHE_HOME=$PWD/.cache`"
                    .to_owned(),
            ),
        })
    }

    /// The folder, without a link in its path, made where it is not there yet. The error says who
    /// else could have put something there, and what to do.
    ///
    /// # Errors
    /// That sentence.
    pub fn open(&self) -> Result<PathBuf, String> {
        let named = self.0.clone()?;
        if let Some(link) = outside::link() {
            return link.open(&named);
        }
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&named)
            .map_err(|error| format!("can't keep builds in {}: {error}", named.display()))?;
        trusted(&named)
    }

    /// The folder, if it is there and can be trusted.
    pub fn there(&self) -> Option<PathBuf> {
        let named = self.0.as_ref().ok()?;
        match outside::link() {
            Some(link) => link.there(named),
            None => trusted(named).ok(),
        }
    }
}

/// The folder without a link in its path, if nobody but us and the system's own user can put
/// something into it, or something else in its place.
fn trusted(named: &Path) -> Result<PathBuf, String> {
    let complain = |path: &Path, what: String| {
        format!(
            "builds in {} can't be trusted: {} {what}",
            named.display(),
            path.display()
        )
    };
    let unreadable = |error| complain(named, format!("can't be read: {error}"));
    let own = geteuid().as_raw();
    // Links are followed once and for all, and what they lead to is what is judged.
    let folder = fs::canonicalize(named).map_err(unreadable)?;
    for (above, path) in folder.ancestors().enumerate() {
        let facts = fs::symlink_metadata(path).map_err(unreadable)?;
        if facts.uid() != own && facts.uid() != 0 {
            let what = format!(
                "belongs to user {}, but you are user {own}; set XDG_CACHE_HOME to a folder of \
                 your own",
                facts.uid()
            );
            return Err(complain(path, what));
        }
        let writable = match above {
            0 => facts.mode() & OTHERS_WRITE != 0,
            // There they can't remove or rename what is ours.
            _ => facts.mode() & EVERYBODY_WRITES != 0 && facts.mode() & STICKY == 0,
        };
        if writable {
            let what = format!(
                "is writable by others; check who wrote there, remove what isn't yours, and run \
                 `chmod go-w {}`",
                path.display()
            );
            return Err(complain(path, what));
        }
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use tempfile::TempDir;

    struct Folder(TempDir);

    impl Folder {
        /// Under its true name: what a cache trusts is named so.
        fn new() -> Folder {
            let all = fs::canonicalize(env::temp_dir()).expect("it is there");
            Folder(tempfile::tempdir_in(all).expect("a folder"))
        }

        fn cache(&self, path: &str) -> Cache {
            Cache::new(Some(&self.0.path().join(path)))
        }
    }

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    }

    #[test]
    fn without_a_home_builds_are_not_kept_where_everybody_may_put_them() {
        let nothing = Cache::of(None, |_| None);
        let error = nothing.open().expect_err("there is no place");
        assert!(
            error.contains("HOME") && error.contains("XDG_CACHE_HOME"),
            "{error}"
        );
        assert_eq!(nothing.there(), None);
        let relative = Cache::of(None, |_| Some("cache".into()));
        assert!(relative.open().is_err());
        let home = Cache::of(None, |name| (name == "HOME").then(|| "/home/me".into()));
        assert_eq!(home.0, Ok("/home/me/.cache/ringside/builds".into()));
        let both = Cache::of(None, |name| Some(format!("/{name}").into()));
        assert_eq!(both.0, Ok("/XDG_CACHE_HOME/ringside/builds".into()));
    }

    #[test]
    fn a_folder_that_is_made_is_for_nobody_else() {
        let folder = Folder::new();
        let cache = folder.cache("a/b");
        assert_eq!(cache.there(), None);
        let made = cache.open().expect("it can be made");
        assert_eq!(made, folder.0.path().join("a/b"));
        for path in [&made, &folder.0.path().join("a")] {
            let mode = fs::metadata(path).expect("it is there").mode();
            assert_eq!(mode & 0o777, 0o700);
        }
        assert_eq!(cache.there(), Some(made.clone()));
        assert_eq!(cache.open(), Ok(made));
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused() {
        let folder = Folder::new();
        let cache = folder.cache("a/b");
        let made = cache.open().expect("it can be made");
        for others in [0o770, 0o707] {
            mode(&made, others);
            let error = cache.open().expect_err("others may write");
            assert!(error.contains("chmod go-w"), "{error}");
            assert_eq!(cache.there(), None);
        }
        mode(&made, 0o755);
        assert_eq!(cache.there(), Some(made.clone()));
        // Who may write above it can put another in its place, unless the sticky bit forbids it.
        mode(&folder.0.path().join("a"), 0o777);
        assert!(cache.open().is_err());
        mode(&folder.0.path().join("a"), 0o1777);
        assert_eq!(cache.open(), Ok(made));
    }

    #[test]
    fn what_a_link_leads_to_is_judged() {
        let folder = Folder::new();
        let behind = folder.cache("behind").open().expect("it can be made");
        symlink(&behind, folder.0.path().join("link")).expect("a link");
        assert_eq!(folder.cache("link").open(), Ok(behind.clone()));
        mode(&behind, 0o777);
        assert!(folder.cache("link").open().is_err());
        mode(&behind, 0o700);
        // A file is no folder.
        fs::write(folder.0.path().join("file"), "").expect("a file");
        assert!(folder.cache("file").open().is_err());
    }

    #[test]
    fn a_folder_of_somebody_else_is_refused() {
        let folder = Folder::new();
        let cache = folder.cache("a");
        let made = cache.open().expect("it can be made");
        if chown(&made, Some(65_534), None).is_err() {
            crate::skip::not_permitted("only the system's own user can give folders away");
            return;
        }
        let error = cache.open().expect_err("it is theirs");
        assert!(error.contains("user 65534"), "{error}");
        assert_eq!(cache.there(), None);
        // Whoever owns a folder above can put another one in its place.
        let above = made.parent().expect("it has one");
        chown(&made, Some(geteuid().as_raw()), None).expect("it was possible before");
        assert!(cache.open().is_ok());
        chown(above, Some(65_534), None).expect("it was possible before");
        let error = cache.open().expect_err("the one above is theirs");
        assert!(error.contains("user 65534"), "{error}");
    }
}
