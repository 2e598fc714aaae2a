use super::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const LEASE_MS: u64 = 10_000;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A holder in a history.
struct Holder {
    epoch: Epoch,
    /// When it renews next; none once it has died.
    renews_at: Option<u64>,
    /// When its last renewal was heard by the table, or its epoch was registered.
    last: u64,
    died_at: Option<u64>,
}

/// What a history ends with.
#[derive(Default)]
struct Seen {
    fenced: usize,
    leads: usize,
    pauses: usize,
}

/// One history: a table that leads and does not, looks more or less often, is stopped for a while; holders that come, renew and die.
fn history(seed: u64) -> Seen {
    let mut random = StdRng::seed_from_u64(seed);
    let mut leases = Leases::new(ms(LEASE_MS));
    let mut holders: Vec<Holder> = Vec::new();
    let (mut now, mut leads, mut seen) = (1_000, false, Seen::default());
    // Since when the table has led and was never stopped.
    let mut undisturbed_since = None;
    let mut next_epoch = 1;
    let (look_ms_max, pause_permille) = (random.random_range(1..=2_000), random.random_range(0..10));
    while now < 400_000 {
        let is_paused = random.random_range(0..1_000) < pause_permille;
        let step = if is_paused { random.random_range(5_000..60_000) } else { random.random_range(1..=look_ms_max) };
        let until = now + step;
        if is_paused {
            seen.pauses += 1;
            undisturbed_since = None;
        }
        // Renewals are heard while the table's process runs, or when it runs again.
        for holder in &mut holders {
            while let Some(at) = holder.renews_at.filter(|at| *at <= until) {
                let dies = random.random_range(0..40) == 0;
                holder.renews_at = (!dies).then(|| at + random.random_range(1..=LEASE_MS / 3));
                if dies {
                    holder.died_at = Some(at);
                } else if leads {
                    // One that was queued may be heard after the look that follows the pause.
                    let heard = if is_paused && random.random_range(0..2) == 0 { until + 1 } else { at.max(now) };
                    leases.renew(ms(heard), &[holder.epoch]);
                    holder.last = heard;
                }
            }
        }
        now = until;
        if random.random_range(0..8) == 0 {
            holders.push(Holder { epoch: Epoch(next_epoch), renews_at: Some(now + random.random_range(1..=LEASE_MS / 3)), last: now, died_at: None });
            next_epoch += 1;
        }
        if random.random_range(0..60) == 0 {
            leads = !leads;
            undisturbed_since = None;
            seen.leads += usize::from(leads);
        }
        let out = leases.look(ms(now), leads, holders.iter().map(|holder| holder.epoch));
        let since = *undisturbed_since.get_or_insert(now);
        assert!(leads || out.is_empty(), "seed {seed}: who does not lead fences nobody");
        for epoch in &out {
            let holder = holders.iter().find(|holder| holder.epoch == *epoch).unwrap();
            assert!(now - holder.last > LEASE_MS, "seed {seed}: {epoch} renewed {} ms ago", now - holder.last);
            assert!(now - since > LEASE_MS, "seed {seed}: {epoch} is fenced {} ms after this member began to hear", now - since);
            assert!(holder.died_at.is_some(), "seed {seed}: {epoch} lives and renews in time");
            seen.fenced += 1;
        }
        // Fenced by the log, which may take its time.
        holders.retain(|holder| !out.contains(&holder.epoch) || random.random_range(0..3) == 0);
        if leads {
            for holder in holders.iter().filter(|holder| !out.contains(&holder.epoch)) {
                let stopped = holder.died_at.unwrap_or(now).max(since);
                assert!(now - stopped <= 2 * LEASE_MS, "seed {seed}: {} stopped {} ms ago and lives", holder.epoch, now - stopped);
            }
        }
    }
    seen
}

#[test]
fn nobody_is_fenced_who_renewed_within_a_lease_and_who_stopped_is_fenced_within_two() {
    let mut all = Seen::default();
    for seed in 0..400 {
        let Seen { fenced, leads, pauses } = history(seed);
        all = Seen { fenced: all.fenced + fenced, leads: all.leads + leads, pauses: all.pauses + pauses };
    }
    assert!(all.fenced > 1_000 && all.leads > 400 && all.pauses > 400, "{} {} {}", all.fenced, all.leads, all.pauses);
}

#[test]
fn a_new_leader_waits_one_lease_and_so_does_one_that_was_stopped() {
    let mut leases = Leases::new(ms(LEASE_MS));
    let live = [Epoch(1), Epoch(2)];
    let mut out_at = Vec::new();
    let mut run = |leases: &mut Leases, from: u64, until: u64| {
        for now in (from..=until).step_by(500) {
            let out = leases.look(ms(now), true, live);
            out_at.extend((!out.is_empty()).then_some(now));
        }
    };
    // It begins to lead long after both were registered.
    leases.look(ms(99_900), false, live);
    run(&mut leases, 100_000, 109_000);
    // Stopped just before the lease is over.
    run(&mut leases, 170_000, 180_000);
    leases.renew(ms(180_100), &[Epoch(2)]);
    run(&mut leases, 180_500, 180_500);
    assert_eq!(out_at, [180_500]);
    assert_eq!((leases.has_run_out(ms(180_500), Epoch(1)), leases.has_run_out(ms(180_500), Epoch(2))), (true, false));
    assert_eq!((leases.len(), leases.lease()), (2, ms(LEASE_MS)));
    leases.look(ms(181_000), false, live);
    assert_eq!(leases.len(), 0);
    leases.renew(ms(181_100), &[Epoch(2)]);
    assert_eq!(leases.len(), 0, "who does not lead keeps no leases");
}
