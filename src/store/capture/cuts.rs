//! A process that dies within an observation: whatever prefix of its writes is on disk, nothing before it is lost.

use super::*;
use crate::ledger::Blobs as _;
use crate::store::objects::blob_id;
use crate::store::oracle::{Eye, Git, see, told};
use std::path::Path;

/// A state directory as it lies on disk: the bytes of every file.
type Image = BTreeMap<PathBuf, Vec<u8>>;

fn image(top: &Path) -> Image {
    let (mut found, mut todo) = (Image::new(), vec![top.to_owned()]);
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(dir).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                todo.push(path);
            } else {
                found.insert(path.strip_prefix(top).unwrap().to_owned(), std::fs::read(path).unwrap());
            }
        }
    }
    found
}

fn write(image: &Image) -> (tempfile::TempDir, StateDir) {
    let dir = tempfile::tempdir().unwrap();
    let state = StateDir::open(dir.path().join("state")).unwrap();
    for (name, bytes) in image {
        let path = state.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    std::fs::create_dir_all(
        state.roots().first().map(|root| state.root_dir(root)).unwrap().join("store.git/refs"),
    )
    .unwrap();
    (dir, state)
}

/// The only file of an image with this ending.
fn only(image: &Image, ending: &str) -> PathBuf {
    let mut named = image.keys().filter(|path| path.to_string_lossy().ends_with(ending));
    let found = named.next().unwrap().clone();
    assert_eq!(named.next(), None);
    found
}

/// What another process finds on a state directory: what it sees; and it holds what was there before.
fn taken_up(git: &Git, eye: &Eye, image: &Image, at: &str) -> Vec<String> {
    let (told, _, _) = opened(git, eye, image, at);
    told
}

/// The same, and that it can pin what it sees.
fn pinned(git: &Git, eye: &Eye, image: &Image, at: &str) -> Vec<String> {
    let (told, mut store, _keep) = opened(git, eye, image, at);
    let tree = store.last.as_ref().unwrap().tree;
    store.pin(&SessionKey::new("s"), &[tree]).unwrap_or_else(|error| panic!("{at}: {error}"));
    told
}

fn opened(git: &Git, eye: &Eye, image: &Image, at: &str) -> (Vec<String>, RootStore, tempfile::TempDir) {
    let (keep, state) = write(image);
    let (mut store, report) = RootStore::open(&state, eye.store.root().clone(), &eye.settings).unwrap();
    assert!(report.skips.is_empty(), "{at}: {:?}", report.skips);
    let seen = see(&mut store, &[]).outcome.unwrap_or_else(|gap| panic!("{at}: {}", gap.reason));
    assert_eq!(seen.tree.to_string(), git.tree(), "{at}");
    for content in ["dirty\n", "dirty and changed\n", "tracked and changed\n"] {
        let id = blob_id(content.as_bytes());
        assert_eq!(store.blobs().bytes(id).as_deref(), Some(content.as_bytes()), "{at}: {content}");
    }
    (told(&seen), store, keep)
}

/// Cuts of a file that grew: at both ends, and at places between.
fn cuts(before: &[u8], after: &[u8]) -> impl Iterator<Item = usize> {
    const APART: usize = 11;
    let (from, to) = (before.len(), after.len());
    (from..to).step_by(APART).chain([to - 1])
}

#[test]
fn an_observation_cut_off_anywhere_is_seen_again_and_nothing_before_it_is_lost() {
    let git = Git::init();
    git.write("tracked", "tracked\n");
    git.commit("one");
    git.write("dirty", "dirty\n");
    let mut eye = Eye::on(&git);
    eye.look();
    let before = image(eye.state.path());
    git.write("dirty", "dirty and changed\n");
    git.write("tracked", "tracked and changed\n");
    let seen = eye.look();
    let after = image(eye.state.path());
    let (segment, chain) = (only(&before, ".seg"), only(&before, "chain.jsonl"));
    // The objects are written first, the record that names them after that.
    for cut in cuts(&before[&segment], &after[&segment]) {
        let mut torn = before.clone();
        torn.insert(segment.clone(), after[&segment][..cut].to_vec());
        let at = format!("objects cut at {cut} of {}", after[&segment].len());
        assert_eq!(taken_up(&git, &eye, &torn, &at), told(&seen), "{at}");
    }
    for cut in cuts(&before[&chain], &after[&chain]) {
        let mut torn = after.clone();
        torn.insert(chain.clone(), after[&chain][..cut].to_vec());
        let at = format!("chain cut at {cut} of {}", after[&chain].len());
        let found = taken_up(&git, &eye, &torn, &at);
        // A record that lacks only its newline is whole.
        let whole = cut + 1 == after[&chain].len() && found.is_empty();
        assert!(whole || found == told(&seen), "{at}: {found:?}");
    }
    assert_eq!(pinned(&git, &eye, &after, "whole"), [""; 0]);
}

#[test]
fn a_packing_cut_off_anywhere_is_done_again() {
    let git = Git::init();
    git.write("tracked", "tracked and changed\n");
    git.write("dirty", "dirty and changed\n");
    git.write("was", "dirty\n");
    let mut eye = Eye::on(&git);
    let seen = eye.look();
    let before = image(eye.state.path());
    eye.store.pin(&SessionKey::new("s"), &[seen.tree]).unwrap();
    eye.store.objects.settle();
    let after = image(eye.state.path());
    let added: Vec<_> = after.keys().filter(|path| !before.contains_key(*path)).collect();
    assert!(added.iter().any(|path| path.extension().is_some_and(|ending| ending == "pack")), "{added:?}");
    // Any of the new files may be there while the segment still is; a pack is renamed into place when it is whole.
    for upto in 0..=added.len() {
        let mut part = before.clone();
        for path in &added[..upto] {
            part.insert((*path).clone(), after[*path].clone());
        }
        part.insert(
            PathBuf::from("roots")
                .join(eye.store.root().id.to_string())
                .join("store.git/objects/pack/pack_git2_x"),
            b"PACK".to_vec(),
        );
        let at = format!("with {:?}", &added[..upto]);
        assert_eq!(pinned(&git, &eye, &part, &at), [""; 0], "{at}");
    }
    assert_eq!(taken_up(&git, &eye, &after, "whole"), [""; 0]);
}
