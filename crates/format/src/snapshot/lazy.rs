//! A snapshot of which only what is asked for is read: some namespaces, and the batches, objects and vectors that they name, with models and
//! settings.
//!
//! What is not here: keeping such a part up to date, and checks across namespaces, which only [`super::assemble()`] can do. Each part that is read is
//! checked against its hash or checksum, and the parts against each other.

use super::assemble::Builder;
use super::directory::StoredDirectory;
use super::encode::namespace_shard;
use super::skim::{self, decode_namespace};
use super::stored::{StoredNamespace, StoredShard};
use super::{ID_SHARD_BITS, OBJECT_SHARD_BITS, SHARD, ShardContent, ShardRef, SnapshotError, SnapshotRoot};
use crate::manifest::Manifest;
use siltstone_core::{BatchId, NamespaceId, ObjectId};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A root, and where each namespace lies.
#[derive(Clone, Debug)]
pub struct LazySnapshot {
    root: SnapshotRoot,
    /// By rising id.
    places: Vec<Place>,
    /// All names, one after the other.
    names: String,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    id: NamespaceId,
    /// Its name's end in `names`; it begins where the name of the place before ends.
    name_end: u32,
    /// The bytes and their checksum; none where the shard has no directory.
    bytes: Option<(u32, u32, u32)>,
}

impl LazySnapshot {
    /// Reads the directories; where there are none, all shards of namespaces, of which nothing but the names is kept.
    ///
    /// `read` gives a shard's bytes, or a range of them.
    ///
    /// # Errors
    /// What `read` says, and [`SnapshotError`] where a shard is not the one that the root names.
    pub fn open<R, E>(root: SnapshotRoot, mut read: R) -> Result<Self, E>
    where
        R: FnMut(&ShardRef, Option<Range<u64>>) -> Result<Vec<u8>, E>,
        E: From<SnapshotError>,
    {
        let mut found = BTreeMap::new();
        for shard in root.shards().iter().filter(|shard| shard.content == ShardContent::Namespaces) {
            let mut add = |id: NamespaceId, name: String, bytes| {
                let in_place = namespace_shard(id) == shard.number && id.0 != 0;
                let is_new = found.insert(id, (name, bytes)).is_none();
                if in_place && is_new { Ok(()) } else { Err(inconsistent(format!("namespace {id} cannot be in shard {shard}"))) }
            };
            let Some(directory) = root.shard(ShardContent::Directories, shard.number) else {
                let bytes = whole(shard, &mut read)?;
                skim::namespaces(&bytes)?.iter().try_for_each(|extent| add(extent.id, extent.name.to_owned(), None))?;
                continue;
            };
            let StoredDirectory { mut offset, places } = match decode(directory, &mut read)? {
                StoredShard::Directory(directory) => directory,
                _ => return Err(SnapshotError::WrongShard { shard: *directory }.into()),
            };
            for place in places {
                let end = offset.checked_add(place.len).filter(|&end| u64::from(end) <= shard.len);
                let end = end.ok_or_else(|| inconsistent(format!("namespace {} lies past the end of shard {shard}", place.id)))?;
                add(place.id, place.name, Some((offset, place.len, place.crc32c)))?;
                offset = end;
            }
        }
        let (mut names, mut places) = (String::new(), Vec::with_capacity(found.len()));
        for (id, (name, bytes)) in found {
            names.push_str(&name);
            let name_end = u32::try_from(names.len()).map_err(|_| inconsistent("names take more than 4 GiB".to_owned()))?;
            places.push(Place { id, name_end, bytes });
        }
        names.shrink_to_fit();
        Ok(Self { root, places, names })
    }

    /// The root.
    #[must_use]
    pub const fn root(&self) -> &SnapshotRoot {
        &self.root
    }

    /// All namespaces by rising id, with their names.
    pub fn namespaces(&self) -> impl ExactSizeIterator<Item = (NamespaceId, &str)> {
        let begin = |at: usize| if at == 0 { 0 } else { self.places[at - 1].name_end as usize };
        self.places.iter().enumerate().map(move |(at, place)| (place.id, &self.names[begin(at)..place.name_end as usize]))
    }

    /// The manifest of these namespaces alone: with what they name, and sums over them. Those that do not exist are not in it.
    ///
    /// # Errors
    /// As [`LazySnapshot::open`].
    pub fn part<R, E>(&self, wanted: &BTreeSet<NamespaceId>, mut read: R) -> Result<Manifest, E>
    where
        R: FnMut(&ShardRef, Option<Range<u64>>) -> Result<Vec<u8>, E>,
        E: From<SnapshotError>,
    {
        let read = &mut read;
        let mut builder = Builder::new(&self.root.stored)?;
        let mut namespaces = self.stored(wanted, read)?;
        let (mut batches, mut objects) = (BTreeSet::new(), BTreeSet::new());
        for (_, namespace) in &namespaces {
            batches.extend(namespace.chunks.iter().flat_map(|chunk| &chunk.slices).map(|slice| slice.batch));
            objects.extend(namespace.packs.iter().map(|pack| pack.object));
            objects.extend(namespace.segments.iter().map(|segment| segment.object));
        }
        let numbers: BTreeSet<u64> = namespaces.iter().map(|(shard, _)| shard.number).collect();
        let beside = |content| numbers.iter().filter_map(move |&number| self.root.shard(content, number));
        let (mut vectors, mut entry_vectors) = (Vec::new(), Vec::new());
        for shard in beside(ShardContent::Vectors).chain(beside(ShardContent::EntryVectors)) {
            match (shard.content, decode(shard, read)?) {
                (ShardContent::Vectors, StoredShard::Vectors(list)) => {
                    vectors.extend(list.into_iter().filter(|(id, _)| wanted.contains(id)).map(|(id, sets)| (shard, id, sets)));
                }
                (ShardContent::EntryVectors, StoredShard::EntryVectors(list)) => {
                    entry_vectors.extend(list.into_iter().filter(|stored| wanted.contains(&stored.namespace)).map(|stored| (shard, stored)));
                }
                _ => return Err(SnapshotError::WrongShard { shard: *shard }.into()),
            }
        }
        objects.extend(vectors.iter().flat_map(|(_, _, sets)| sets).map(|set| set.object));
        objects.extend(entry_vectors.iter().flat_map(|(_, stored)| &stored.indexes).map(|index| index.object));

        for shard in self.root.shards() {
            let ids = |bits: u32| (shard.number << bits)..=(shard.number << bits | ((1 << bits) - 1));
            let is_needed = match shard.content {
                ShardContent::Batches => !shard.is_past(ID_SHARD_BITS) && some_in(&batches, ids(ID_SHARD_BITS), BatchId),
                ShardContent::Objects => {
                    [ID_SHARD_BITS, OBJECT_SHARD_BITS].iter().any(|&bits| !shard.is_past(bits) && some_in(&objects, ids(bits), ObjectId))
                }
                ShardContent::Models | ShardContent::Settings => true,
                _ => false,
            };
            if !is_needed {
                continue;
            }
            match (shard.content, decode(shard, read)?) {
                (ShardContent::Batches, StoredShard::Batches(live, _)) => {
                    let mut wanted = live.into_iter().filter(|batch| batches.contains(&batch.record.id));
                    wanted.try_for_each(|batch| builder.batch(shard, batch))?;
                }
                (ShardContent::Objects, StoredShard::Objects(list)) => {
                    let mut wanted = list.iter().filter(|object| objects.contains(&object.record.id));
                    wanted.try_for_each(|object| builder.object(shard, object))?;
                }
                (ShardContent::Models, StoredShard::Models(list)) => list.into_iter().try_for_each(|model| builder.model(shard, model))?,
                (ShardContent::Settings, StoredShard::Settings(list)) => {
                    list.into_iter().try_for_each(|setting| builder.setting(shard, setting))?;
                }
                _ => return Err(SnapshotError::WrongShard { shard: *shard }.into()),
            }
        }
        namespaces.drain(..).try_for_each(|(shard, namespace)| builder.namespace(shard, namespace))?;
        vectors.into_iter().try_for_each(|(shard, id, sets)| builder.vectors(shard, id, sets))?;
        entry_vectors.into_iter().try_for_each(|(shard, stored)| builder.entry_vectors(shard, stored))?;
        Ok(builder.finish()?)
    }

    /// The wanted namespaces and the shards that they lie in.
    fn stored<R, E>(&self, wanted: &BTreeSet<NamespaceId>, read: &mut R) -> Result<Vec<(&ShardRef, StoredNamespace)>, E>
    where
        R: FnMut(&ShardRef, Option<Range<u64>>) -> Result<Vec<u8>, E>,
        E: From<SnapshotError>,
    {
        let (mut found, mut undivided) = (Vec::new(), BTreeMap::<u64, BTreeSet<NamespaceId>>::new());
        for &id in wanted {
            let Ok(at) = self.places.binary_search_by_key(&id, |place| place.id) else { continue };
            let number = namespace_shard(id);
            let Some((offset, len, crc32c)) = self.places[at].bytes else {
                undivided.entry(number).or_default().insert(id);
                continue;
            };
            let shard = self.root.shard(ShardContent::Namespaces, number);
            let shard = shard.ok_or_else(|| inconsistent(format!("namespace {id} has no shard")))?;
            let bytes = read(shard, Some(u64::from(offset)..u64::from(offset) + u64::from(len)))?;
            if bytes.len() != len as usize || crc32c::crc32c(&bytes) != crc32c {
                return Err(SnapshotError::WrongShard { shard: *shard }.into());
            }
            let namespace = decode_namespace(&bytes)?;
            if namespace.id != id {
                return Err(SnapshotError::WrongShard { shard: *shard }.into());
            }
            found.push((shard, namespace));
        }
        for (number, ids) in undivided {
            let Some(shard) = self.root.shard(ShardContent::Namespaces, number) else { continue };
            let bytes = whole(shard, read)?;
            for extent in skim::namespaces(&bytes)?.iter().filter(|extent| ids.contains(&extent.id)) {
                found.push((shard, decode_namespace(extent.bytes)?));
            }
        }
        Ok(found)
    }
}

impl SnapshotRoot {
    /// A manifest of the settings alone. `bytes` is the shard of settings, where the root names one.
    ///
    /// # Errors
    /// [`SnapshotError`] where it is not that shard.
    pub fn settings(&self, bytes: Option<&[u8]>) -> Result<Manifest, SnapshotError> {
        let mut builder = Builder::new(&self.stored)?;
        if let Some(shard) = self.shard(ShardContent::Settings, 0) {
            let bytes = bytes.ok_or(SnapshotError::WrongShard { shard: *shard })?;
            match decode(shard, &mut |_: &ShardRef, _| Ok::<_, SnapshotError>(bytes.to_vec()))? {
                StoredShard::Settings(list) => list.into_iter().try_for_each(|setting| builder.setting(shard, setting))?,
                _ => return Err(SnapshotError::WrongShard { shard: *shard }),
            }
        }
        builder.finish()
    }
}

fn some_in<T>(ids: &BTreeSet<T>, range: std::ops::RangeInclusive<u64>, id: fn(u64) -> T) -> bool
where
    T: Ord,
{
    ids.range(id(*range.start())..=id(*range.end())).next().is_some()
}

fn inconsistent(detail: String) -> SnapshotError {
    SnapshotError::Inconsistent { detail }
}

/// A shard's bytes, with its hash checked.
fn whole<R, E>(shard: &ShardRef, read: &mut R) -> Result<Vec<u8>, E>
where
    R: FnMut(&ShardRef, Option<Range<u64>>) -> Result<Vec<u8>, E>,
    E: From<SnapshotError>,
{
    let bytes = read(shard, None)?;
    shard.check(&bytes)?;
    Ok(bytes)
}

fn decode<R, E>(shard: &ShardRef, read: &mut R) -> Result<StoredShard, E>
where
    R: FnMut(&ShardRef, Option<Range<u64>>) -> Result<Vec<u8>, E>,
    E: From<SnapshotError>,
{
    let bytes = whole(shard, read)?;
    Ok(SHARD.decode(&bytes).map_err(SnapshotError::from)?)
}

#[cfg(test)]
#[path = "lazy_test.rs"]
mod tests;
