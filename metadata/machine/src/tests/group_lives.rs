//! Lives of the group: what a restored one keeps, and that no two give out the same.

use super::*;
use siltstone_format::manifest::{LIVES_MAX, Lane};
use std::collections::BTreeSet;

impl Group {
    /// The group as a new life of it, from its present state. The old one may go on.
    fn restored(&self, incarnation: u64, life: u32) -> Self {
        let mut machine = Machine::restore(&self.machine.snapshot().unwrap()).unwrap();
        machine.begin_life(Incarnation(incarnation), life).unwrap();
        let again = Machine::restore(&machine.snapshot().unwrap()).unwrap();
        assert_eq!(again.manifest(), machine.manifest());
        Self { machine, now_ms: self.now_ms }
    }

    fn manifest(&self) -> &Manifest {
        self.machine.manifest()
    }
}

#[test]
fn a_new_life_closes_what_was_open_and_fences_every_epoch_before_it() {
    let mut old = Group::new();
    let (writer, job, shop) = (old.writer(1), old.job("seal"), old.namespace("shop"));
    let (open, empty) = (old.chunk(writer), old.chunk(writer));
    old.commit(writer, vec![keyed(slice(shop, open, 0, 10), "p", 1)]);
    let burned = old.batch(writer, vec![keyed(slice(shop, empty, 0, 5), "p", 1)]);
    old.apply(CommandBody::CommitBatch(burned));
    let late = old.batch(writer, vec![slice(shop, open, 10, 1)]);
    let position = old.manifest().version;

    let mut new = old.restored(10, 1);
    let manifest = new.manifest();
    assert_eq!((manifest.incarnation, manifest.lives.number(), manifest.version), (Incarnation(10), 1, CommitIndex(position.0 + 1)));
    let former = manifest.lives.former();
    assert_eq!((former.len(), former[0].incarnation, former[0].number, former[0].until), (1, Incarnation(9), 0, position));
    assert!(manifest.epochs.is_empty() && manifest.writers.is_empty() && manifest.jobs.is_empty());
    assert_eq!(manifest.namespace(shop).unwrap().open_chunks().count(), 0);
    let sealable: Vec<_> = manifest.sealable().map(|(_, id, chunk)| (id, chunk.next_offset)).collect();
    assert_eq!(sealable, [(open, 10)], "closed at the committed length; the one without rows is gone");
    assert_eq!(manifest.totals, manifest.namespace(shop).unwrap().count_totals());

    for epoch in [writer, job] {
        let fenced = Reply::Rejected(Rejection::FencedEpoch { epoch });
        assert_eq!(new.apply(CommandBody::AllocateIds { epoch, count: 1 }), fenced, "EP-1");
    }
    assert_eq!(new.apply(CommandBody::CommitBatch(late)), Reply::Rejected(Rejection::FencedEpoch { epoch: writer }), "EP-1");
    let unborn = Epoch((1 << 32) - 1);
    assert_eq!(
        new.apply(CommandBody::AllocateIds { epoch: unborn, count: 1 }),
        Reply::Rejected(Rejection::FencedEpoch { epoch: unborn }),
        "EP-1: the former life may have given it since"
    );

    // It goes on: the chunk is sealed, and what a producer sends again is a duplicate.
    let (job, writer) = (new.job("seal"), new.writer(1));
    let seal = new.seal(job, shop, &[open]);
    assert_eq!(new.apply(CommandBody::CommitSeal(seal)), Reply::Done);
    let chunk = new.chunk(writer);
    let again = new.commit(writer, vec![keyed(slice(shop, chunk, 0, 10), "p", 1)]).1;
    assert_eq!(again, Reply::BatchCommitted { outcomes: vec![SliceOutcome::Duplicate] }, "AK-2");
    assert_eq!((chunk, writer), (ChunkId(1 << 40), Epoch((1 << 32) + 1)));
    assert_eq!(new.namespace("bank"), NamespaceId(1 << 22));
}

#[test]
fn objects_stay_under_the_life_that_made_them() {
    let mut old = Group::new();
    let (writer, shop) = (old.writer(1), old.namespace("shop"));
    let chunk = old.closed(writer, shop, 10);
    let batch = *old.manifest().batches.keys().next().unwrap();
    let mut new = old.restored(12, 3);
    assert_eq!(new.manifest().incarnation_of(writer), Incarnation(9));
    let job = new.job("seal");
    assert_eq!(new.manifest().incarnation_of(job), Incarnation(12));
    let seal = new.seal(job, shop, &[chunk]);
    let object = seal.object.id;
    new.apply(CommandBody::CommitSeal(seal));
    assert_eq!(new.manifest().batch_fate(writer, batch), Fate::Foreign, "its slices were sealed, yet a backup may name it");
    assert_eq!(new.manifest().object_fate(job, object), Fate::Named);
    let third = new.restored(13, 4);
    assert_eq!((third.manifest().incarnation_of(writer), third.manifest().incarnation_of(job)), (Incarnation(9), Incarnation(12)));
    assert_eq!(third.manifest().object_fate(job, object), Fate::Named);
}

#[test]
fn a_life_that_is_not_later_than_the_one_before_does_not_begin() {
    let group = Group::new().restored(20, 2);
    let before = group.manifest().clone();
    let mut machine = group.machine;
    for (incarnation, life) in [(20, 3), (19, 3), (21, 2), (21, 1), (0, 3)] {
        let error = machine.begin_life(Incarnation(incarnation), life).unwrap_err();
        assert!(matches!(error, LifeError::NotLater { .. }), "{error}");
    }
    assert_eq!(machine.begin_life(Incarnation(21), LIVES_MAX), Err(LifeError::TooMany { life: LIVES_MAX }));
    assert_eq!(machine.manifest(), &before);
    assert_eq!(Machine::new().begin_life(Incarnation(1), 1), Err(LifeError::NotFounded));
}

#[test]
fn a_life_that_has_given_out_all_its_ids_says_so_and_takes_none_of_the_next() {
    let mut group = Group::new();
    let epoch = group.job("j");
    let last = Lane::of(0).unwrap().last();
    let used_up = |what: &str| Reply::Rejected(Rejection::LifeUsedUp { what: what.into(), life: 0 });
    group.machine.manifest.counters.chunk = last.chunk;
    group.machine.manifest.counters.id = last.id;
    assert_eq!(group.apply(CommandBody::AllocateChunkIds { epoch, count: 2 }), used_up("chunk ids"));
    assert_eq!(group.apply(CommandBody::AllocateIds { epoch, count: 2 }), used_up("ids of objects"));
    assert_eq!((group.chunk(epoch), group.id(epoch)), (ChunkId(last.chunk), last.id));
    assert_eq!(group.apply(CommandBody::AllocateChunkIds { epoch, count: 1 }), used_up("chunk ids"));
    group.machine.manifest.counters.namespace = last.namespace;
    assert_eq!(group.namespace("last"), NamespaceId(last.namespace));
    assert_eq!(group.apply(CommandBody::CreateNamespace { name: "more".into() }), used_up("namespace ids"));
    group.machine.manifest.counters.epoch = last.epoch;
    assert_eq!(group.writer(1), Epoch(last.epoch));
    assert_eq!(group.apply(CommandBody::RegisterWriter { writer: WriterId(2) }), used_up("epochs"));

    let mut next = group.restored(10, 1);
    assert_eq!((next.writer(1), next.namespace("more")), (Epoch(1 << 32), NamespaceId(1 << 22)));

    // The very last lane has no number after its last namespace.
    let mut end = group.restored(10, LIVES_MAX - 1);
    end.machine.manifest.counters.namespace = u32::MAX - 1;
    assert_eq!(end.namespace("end"), NamespaceId(u32::MAX - 1));
    let refused = end.apply(CommandBody::CreateNamespace { name: "past".into() });
    assert_eq!(refused, Reply::Rejected(Rejection::LifeUsedUp { what: "namespace ids".into(), life: LIVES_MAX - 1 }));
}

/// All that a life gave out.
#[derive(Default)]
struct Given {
    epochs: BTreeSet<u64>,
    chunks: BTreeSet<u64>,
    ids: BTreeSet<u64>,
    namespaces: BTreeSet<u32>,
}

impl Given {
    fn note(&mut self, reply: &Reply) {
        let is_new = match *reply {
            Reply::Registered { epoch } => self.epochs.insert(epoch.0),
            Reply::ChunkIds { first, count } => (0..u64::from(count)).all(|nth| self.chunks.insert(first.0 + nth)),
            Reply::Ids { first, count } => (0..u64::from(count)).all(|nth| self.ids.insert(first + nth)),
            Reply::Namespace { id, created: true } => self.namespaces.insert(id.0),
            _ => true,
        };
        assert!(is_new, "RA-1: given out twice within a life: {reply:?}");
    }

    fn is_disjoint(&self, other: &Self) -> bool {
        self.epochs.is_disjoint(&other.epochs)
            && self.chunks.is_disjoint(&other.chunks)
            && self.ids.is_disjoint(&other.ids)
            && self.namespaces.is_disjoint(&other.namespaces)
    }
}

/// A life with its own random choices.
struct Life {
    group: Group,
    given: Given,
    random: u64,
    /// Epochs of all kinds, fenced ones too.
    epochs: Vec<Epoch>,
    accepted: usize,
}

impl Life {
    fn draw(&mut self, bound: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % bound
    }

    fn apply(&mut self, body: CommandBody) -> Reply {
        let reply = self.group.apply(body);
        self.given.note(&reply);
        if let Reply::Registered { epoch } = reply {
            self.epochs.push(epoch);
        }
        self.accepted += usize::from(!matches!(reply, Reply::Rejected(_)));
        reply
    }

    fn step(&mut self) {
        let writer = WriterId(self.draw(3) as u32);
        let epoch = match self.draw(8) {
            0 => {
                let at = self.draw(self.epochs.len() as u64);
                self.epochs[at as usize]
            }
            _ => self.group.manifest().epochs.keys().next_back().copied().unwrap_or(Epoch(1)),
        };
        let name = format!("n{}", self.draw(5));
        let count = self.draw(6) as u32;
        match self.draw(12) {
            0 => drop(self.apply(CommandBody::RegisterWriter { writer })),
            1 => drop(self.apply(CommandBody::RegisterJob { name })),
            2 => drop(self.apply(CommandBody::DropNamespace { name })),
            3 => drop(self.apply(CommandBody::AllocateIds { epoch, count })),
            4 => drop(self.apply(CommandBody::AllocateChunkIds { epoch, count })),
            5 => drop(self.apply(CommandBody::FenceEpoch { epoch })),
            6 => drop(self.apply(CommandBody::CreateNamespace { name })),
            _ => self.write(writer, &name),
        }
    }

    /// A writer's flush of one slice into a chunk of its own, all ids freshly given.
    fn write(&mut self, writer: WriterId, name: &str) {
        let manifest = self.group.manifest();
        let Some(&epoch) = manifest.writers.get(&writer) else { return };
        let Some(&namespace) = manifest.names.get(name) else { return };
        let Reply::ChunkIds { first: chunk, .. } = self.apply(CommandBody::AllocateChunkIds { epoch, count: 1 }) else { panic!("a live epoch") };
        let Reply::Ids { first: id, .. } = self.apply(CommandBody::AllocateIds { epoch, count: 1 }) else { panic!("a live epoch") };
        let batch = BatchRecord { id: BatchId(id), epoch, len_bytes: 1_000, footer: FOOTER };
        let sequence = self.draw(200);
        let slices = vec![keyed(slice(namespace, chunk, 0, 3), "p", sequence)];
        let close = if self.draw(2) == 0 { vec![chunk] } else { Vec::new() };
        let reply = self.apply(CommandBody::CommitBatch(CommitBatch { epoch, batch, slices, close }));
        assert!(matches!(reply, Reply::BatchCommitted { .. }), "{reply:?}");
    }

    fn run(&mut self, steps: usize) {
        (0..steps).for_each(|_| self.step());
    }

    /// The next life from the present state of this one, which goes on.
    fn begin(&mut self, incarnation: u64, number: u32) -> Self {
        let random = self.draw(1 << 30);
        let group = self.group.restored(incarnation, number);
        for epoch in &self.epochs {
            assert!(group.manifest().is_fenced(*epoch), "EP-1: {epoch}");
        }
        Self { group, given: Given::default(), random, epochs: self.epochs.clone(), accepted: 0 }
    }
}

#[test]
fn no_two_lives_give_out_the_same_whatever_the_older_did_after_the_backup() {
    for seed in 0..12 {
        let group = Group::new();
        let mut first = Life { group, given: Given::default(), random: seed * 77 + 1, epochs: vec![Epoch(1)], accepted: 0 };
        first.run(150);
        // Two lives from one backup, and one from a backup of the second; the older ones go on all the while.
        let mut second = first.begin(10, 1);
        let mut third = first.begin(11, 2);
        first.run(150);
        second.run(150);
        let mut fourth = second.begin(12, 3);
        second.run(100);
        third.run(150);
        fourth.run(150);
        let lives = [&first, &second, &third, &fourth];
        for (at, life) in lives.iter().enumerate() {
            assert!(life.accepted > 30, "seed {seed}: only {} commands of life {at} were accepted", life.accepted);
            for other in &lives[at + 1..] {
                assert!(life.given.is_disjoint(&other.given), "RA-1: seed {seed}");
            }
        }
        let former: Vec<_> = fourth.group.manifest().lives.former().iter().map(|life| life.number).collect();
        assert_eq!(former, [0, 1], "seed {seed}: it knows nothing of the third");
    }
}
