use super::slots::CellSlots;
use super::*;
use crate::layout::{BURNED, Cells, ChunkSummary, ChunkTable, Forward, Layout};
use crate::wire::Cursor;
use proptest::prelude::*;
use siltstone_core::ChunkId;
use siltstone_core::bitmap::RowSet;
use std::collections::BTreeSet;

/// A layout of chunks, each given as the cell of each offset; `None` burns it.
fn layout(chunks: &[Vec<Option<u16>>]) -> Layout {
    let mut table = ChunkTable::default();
    let mut cells = Cells::default();
    let mut columns = Vec::new();
    for (id, chunk) in (0..).zip(chunks) {
        let offsets: Vec<u16> = (0..).zip(chunk).filter(|(_, cell)| cell.is_some()).map(|(offset, _)| offset).collect();
        let numbers: BTreeSet<u16> = chunk.iter().flatten().copied().collect();
        let place = |cell: &Option<u16>| cell.map_or(BURNED, |cell| numbers.range(..cell).count() as u16);
        table.push(ChunkSummary { id: ChunkId(id), rows: offsets.len() as u32, first_ns: 0, last_ns: 0 }, &offsets);
        cells.push_chunk(numbers.iter().map(|cell| (u32::from(*cell), chunk.iter().filter(|other| **other == Some(*cell)).count() as u16)));
        columns.push(chunk.iter().map(place).collect());
    }
    Layout { chunks: table, cells, forward: Forward::from_columns(columns) }
}

/// A chunk whose last offset has a row.
fn chunk() -> impl Strategy<Value = Vec<Option<u16>>> {
    let cell = prop_oneof![9 => (0_u16..6).prop_map(Some), 1 => Just(None)];
    (proptest::collection::vec(cell, 0..600), 0_u16..6).prop_map(|(mut cells, last)| {
        cells.push(Some(last));
        cells
    })
}

/// Which rows a posting has: scattered, whole cells, all, or a run.
#[derive(Clone, Debug)]
enum Choice {
    Every(u32),
    Cells(u16),
    All,
    Run(u32, u32),
    Few(u32),
}

fn choice() -> impl Strategy<Value = Choice> {
    prop_oneof![
        (1_u32..40).prop_map(Choice::Every),
        (0_u16..64).prop_map(Choice::Cells),
        Just(Choice::All),
        (0_u32..600, 1_u32..600).prop_map(|(start, length)| Choice::Run(start, length)),
        (0_u32..700).prop_map(Choice::Few),
    ]
}

fn rows(chunks: &[Vec<Option<u16>>], choices: &[Choice]) -> Vec<u32> {
    let mut rows = Vec::new();
    for (ordinal, (chunk, choice)) in (0_u32..).zip(chunks.iter().zip(choices.iter().cycle())) {
        for (offset, cell) in (0_u32..).zip(chunk) {
            let is_chosen = cell.is_some_and(|cell| match choice {
                Choice::Every(step) => offset % step == step / 2,
                Choice::Cells(mask) => mask >> cell & 1 == 1 || offset % 97 == 3,
                Choice::All => true,
                Choice::Run(start, length) => (*start..start + length).contains(&offset),
                Choice::Few(only) => offset == *only,
            });
            if is_chosen {
                rows.push(ordinal << 11 | offset);
            }
        }
    }
    rows
}

proptest! {
    #[test]
    fn a_posting_gives_its_rows_back(chunks in proptest::collection::vec(chunk(), 1..6), choices in proptest::collection::vec(choice(), 1..6)) {
        let layout = layout(&chunks);
        let rows = rows(&chunks, &choices);
        let mut bytes = Vec::new();
        PostingEncoder::default().encode(&rows, &layout, &mut bytes).expect("rows that exist");
        let posting = PostingView::open(&bytes).expect("our own bytes");
        prop_assert_eq!(posting.len(), rows.len() as u64);
        let set = posting.row_set(&layout, |_| true).expect("our own bytes");
        prop_assert_eq!(&set, &RowSet::from_sorted(rows.iter().map(|row| u64::from(*row))).expect("ascending"));
        let mut given = Vec::new();
        given.extend(posting.flat().map(|row| row.expect("our own bytes")));
        for group in posting.groups().expect("our own bytes") {
            let before = given.len();
            group.for_each(&layout, |offset| given.push(group.chunk << 11 | u32::from(offset))).expect("our own bytes");
            prop_assert_eq!(given.len() - before, group.rows as usize);
            prop_assert_eq!(group.block(&layout).expect("our own bytes").count(), group.rows);
        }
        prop_assert_eq!(given, rows);
    }

    #[test]
    fn slots_of_cells_come_back(
        cells in proptest::collection::vec(0_u16..4, 1..60),
        slots in proptest::collection::vec(proptest::collection::vec(0_u32..200, 1..5), 4..8),
        odd in proptest::collection::vec(any::<bool>(), 60),
        many in 0_usize..300,
    ) {
        // Rows of a cell mostly have the slots of their cell; one may have very many.
        let mut of_row: Vec<Vec<u32>> = cells.iter().zip(&odd).map(|(cell, odd)| slots[if *odd { slots.len() - 1 } else { usize::from(*cell) }].clone()).collect();
        of_row[0] = vec![3; many + 1];
        let mut codes = Vec::new();
        let mut bounds = vec![0];
        for slots in &of_row {
            put_code(&mut codes, slots);
            bounds.push(codes.len());
        }
        let offsets: Vec<u16> = (0..cells.len() as u16).collect();
        let mut rows = CellRows::default();
        rows.fill(&offsets, &cells, 4).expect("cells that exist");
        let mut bytes = Vec::new();
        put_cell_codes(&mut bytes, &rows, |place| &codes[bounds[place]..bounds[place + 1]]);
        let mut read = CellSlots::default();
        read.clear(4);
        read.read(&bytes, &rows).expect("our own bytes");
        for cell in 0..4 {
            for (place, offset) in rows.of(cell).iter().enumerate() {
                prop_assert_eq!(read.of(cell, place), of_row[usize::from(*offset)].as_slice());
            }
        }
        let mut cursor = Cursor::new("slots", &codes);
        for _ in &of_row {
            skip_code(&mut cursor).expect("our own bytes");
        }
        prop_assert!(cursor.is_empty());
    }
}

#[test]
fn each_form_is_chosen_where_it_is_smallest() {
    let mut cells: Vec<Option<u16>> = (0..2048_u32).map(|offset| Some((offset.wrapping_mul(2_654_435_761) >> 29) as u16)).collect();
    cells[100] = None;
    let layout = layout(&[cells.clone()]);
    let rows_where = |keep: &dyn Fn(u32, u16) -> bool| -> Vec<u32> {
        (0..).zip(&cells).filter(|(offset, cell)| cell.is_some_and(|cell| keep(*offset, cell))).map(|(offset, _)| offset).collect()
    };
    for (rows, form) in [
        (rows_where(&|_, _| true), Form::Full),
        (rows_where(&|offset, _| offset % 8 == 0), Form::List),
        (rows_where(&|offset, _| (200..900).contains(&offset)), Form::Runs),
        (rows_where(&|offset, _| offset.wrapping_mul(40_503) >> 3 & 1 == 0), Form::Bits),
        (rows_where(&|_, cell| cell == 2 || cell == 5), Form::Cells),
    ] {
        let mut bytes = Vec::new();
        PostingEncoder::default().encode(&rows, &layout, &mut bytes).expect("rows that exist");
        let groups = PostingView::open(&bytes).expect("our own bytes").groups().expect("our own bytes");
        assert_eq!(groups.iter().map(|group| group.form).collect::<Vec<_>>(), [form]);
    }
}
