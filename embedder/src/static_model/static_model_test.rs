use super::*;

/// A model of four pieces and three dimensions, as the training script writes it.
fn tiny() -> Vec<u8> {
    let vocabulary = "refused\nconnect\n##ed\nlog\n";
    let mut bytes = b"SILTSTAT".to_vec();
    for word in [1_u32, 3, 4, vocabulary.len() as u32, 16, 0] {
        bytes.extend(word.to_le_bytes());
    }
    for number in [0.5_f32, 0.0, 0.0, 0.01, 0.02, 0.01, 0.01, 1.0, 2.0, 1.0, 0.5] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend([100_i8, 0, 0, 0, 50, 0, 0, 0, -100, 10, 10, 10].map(|number| number as u8));
    bytes.extend(vocabulary.as_bytes());
    seal(&mut bytes);
    bytes
}

fn seal(bytes: &mut Vec<u8>) {
    let sum = xxhash_rust::xxh3::xxh3_64(bytes);
    bytes.extend(sum.to_le_bytes());
}

fn error(bytes: Vec<u8>) -> String {
    StaticModel::from_bytes("tiny", bytes).err().expect("it is refused").to_string()
}

#[test]
fn a_text_is_the_weighted_mean_of_its_pieces_plus_the_bias_at_length_one() {
    let model = StaticModel::from_bytes("tiny", tiny()).unwrap();
    assert_eq!((model.id().as_str(), model.dimension()), ("tiny+p1", 3));
    // "connect" and "##ed": (0, 0.02 · 50, 0.01 · −100) / (2 + 1) + (0.5, 0, 0).
    let raw = [0.5_f32, 1.0 / 3.0, -1.0 / 3.0];
    let length = raw.iter().map(|number| number * number).sum::<f32>().sqrt();
    let vector = model.embed(&["Connected"]).unwrap();
    for (found, wanted) in vector.iter().zip(raw) {
        assert!((found - wanted / length).abs() < 1e-6, "{vector:?}");
    }
}

#[test]
fn a_text_without_a_known_word_has_the_zero_vector_and_neighbours_do_not_matter() {
    let model = StaticModel::from_bytes("tiny", tiny()).unwrap();
    let together = model.embed(&["", "zzz 12", "log refused"]).unwrap();
    assert_eq!(together[..6], [0.0; 6]);
    assert_eq!(together[6..], model.embed(&["log refused"]).unwrap());
    assert!(model.embed(&[]).unwrap().is_empty());
}

#[test]
fn every_flipped_bit_and_every_cut_is_an_error() {
    let whole = tiny();
    for bit in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(StaticModel::from_bytes("tiny", bytes).is_err(), "bit {bit}");
    }
    for length in 0..whole.len() {
        assert!(StaticModel::from_bytes("tiny", whole[..length].to_vec()).is_err(), "{length} bytes");
    }
    assert!(error([whole.clone(), vec![0]].concat()).contains("cut off or written over"));
}

#[test]
fn the_built_in_model_notices_damage_anywhere() {
    let mut bytes = BUILT_IN.to_vec();
    let last = bytes.len() - 1;
    for place in (0..64).map(|part| part * last / 63) {
        bytes[place] ^= 0x40;
        assert!(StaticModel::from_bytes("damaged", bytes.clone()).is_err(), "byte {place}");
        bytes[place] ^= 0x40;
    }
}

#[test]
fn foreign_later_and_senseless_files_say_what_they_are() {
    assert!(error(b"{\"version\":\"1.0\"}".to_vec()).contains("no static model"));
    assert!(error(Vec::new()).contains("no static model"));
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = tiny();
        bytes.truncate(bytes.len() - 8);
        change(&mut bytes);
        seal(&mut bytes);
        error(bytes)
    };
    assert!(changed(&|bytes| bytes[8] = 2).contains("of version 2"));
    assert!(changed(&|bytes| bytes[32..36].copy_from_slice(&f32::NAN.to_le_bytes())).contains("its bias cannot be"));
    assert!(
        changed(&|bytes| {
            let last = bytes.len() - 2;
            bytes[last] = b'\n'
        })
        .contains("its vocabulary cannot be")
    );
    assert!(
        changed(&|bytes| {
            let last = bytes.len() - 2;
            bytes[last] = 0xff
        })
        .contains("its vocabulary cannot be")
    );
    // A head that promises more than memory holds must not be believed.
    assert!(changed(&|bytes| bytes[12..20].fill(0xff)).contains("where its head says"));
    assert!(matches!(StaticModel::from_bytes("no/name", tiny()), Err(EmbedError::Model { .. })));
}

#[test]
fn the_built_in_model_is_whole_small_and_knows_that_related_lines_are_related() {
    assert!(BUILT_IN.len() <= 8 << 20, "{} bytes", BUILT_IN.len());
    let model = StaticModel::built_in();
    assert_eq!(model.id().as_str(), "siltstone-static-1+p1");
    let vectors =
        model.embed(&["the database refuses connections", "could not connect to the database server", "image pulled from registry"]).unwrap();
    let rows: Vec<&[f32]> = vectors.chunks_exact(model.dimension()).collect();
    let cosine = |a: usize, b: usize| rows[a].iter().zip(rows[b]).map(|(a, b)| a * b).sum::<f32>();
    assert!((cosine(0, 0) - 1.0).abs() < 1e-5);
    assert!(cosine(0, 1) > 0.5 && cosine(0, 2) < 0.3, "{} {}", cosine(0, 1), cosine(0, 2));
}
