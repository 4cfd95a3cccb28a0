//! Watches the files of the policy.
//!
//! A half-written file can still be a valid policy. So the policy is loaded again only when its files have changed and
//! then stayed the same between two polls; several changes in a row are one.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::server::Reloader;

/// The interval between two polls.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The resolved path, modification time and length of a file; none if it is missing.
type FileStamp = Option<(PathBuf, SystemTime, u64)>;

/// Loads the policy again when its files have changed.
pub(crate) async fn watch(files: Vec<PathBuf>, reloader: Reloader) {
    if files.is_empty() {
        return;
    }
    let look = || files.iter().map(|file| look(file)).collect();
    let mut watched = PolicyWatcher::new(look());
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        if watched.has_settled(look()) {
            // Errors of a policy are in the journal; the old policy stays active.
            let _ = reloader.reload().await;
        }
    }
}

fn look(file: &Path) -> FileStamp {
    let path = file.canonicalize().ok()?;
    let metadata = path.metadata().ok()?;
    Some((path, metadata.modified().ok()?, metadata.len()))
}

/// The last known states of the files.
struct PolicyWatcher {
    /// The states when the policy was loaded.
    loaded: Vec<FileStamp>,
    /// The states at the last poll.
    last: Vec<FileStamp>,
}

impl PolicyWatcher {
    fn new(seen: Vec<FileStamp>) -> PolicyWatcher {
        PolicyWatcher { loaded: seen.clone(), last: seen }
    }

    /// Whether the files differ from the loaded ones, and are the same as at the last poll.
    fn has_settled(&mut self, seen: Vec<FileStamp>) -> bool {
        let is_still = seen == self.last;
        self.last = seen;
        if !is_still || self.last == self.loaded {
            return false;
        }
        self.loaded.clone_from(&self.last);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_watcher_waits_until_file_is_stable() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("lictor.yaml");
        std::fs::write(&file, "lictor: 1\n").unwrap();
        let seen = || vec![look(&file)];
        let mut watched = PolicyWatcher::new(seen());
        assert!(!watched.has_settled(seen()), "nothing has changed");
        for more in ["lictor: 1\nname: a\n", "lictor: 1\nname: a\nuses: [gdpr]\n"] {
            std::fs::write(&file, more).unwrap();
            assert!(!watched.has_settled(seen()), "it is still being written");
        }
        assert!(watched.has_settled(seen()));
        assert!(!watched.has_settled(seen()), "it was loaded");
    }

    #[test]
    fn policy_watcher_notices_changed_symlink() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other, link) =
            (folder.path().join("one"), folder.path().join("other"), folder.path().join("lictor.yaml"));
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        for file in [&one, &other] {
            std::fs::write(file, "lictor: 1\n").unwrap();
            std::fs::File::options().write(true).open(file).unwrap().set_modified(time).unwrap();
        }
        std::os::unix::fs::symlink(&one, &link).unwrap();
        let mut watched = PolicyWatcher::new(vec![look(&link)]);
        std::fs::remove_file(&link).unwrap();
        assert!(!watched.has_settled(vec![look(&link)]), "it is not there for a moment");
        std::os::unix::fs::symlink(&other, &link).unwrap();
        assert!(!watched.has_settled(vec![look(&link)]));
        assert!(watched.has_settled(vec![look(&link)]), "the same length and the same time, and another file");
    }
}
