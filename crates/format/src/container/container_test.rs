use super::*;
use proptest::prelude::*;

fn sample(kind: ObjectKind) -> ObjectBytes {
    let mut writer = ObjectWriter::new(kind);
    writer.add(SectionKind::Pack, b"a pack");
    writer.add(SectionKind::Segment, b"");
    writer.add(SectionKind::Slice, b"a slice");
    writer.add(SectionKind::Vectors, b"vectors");
    writer.finish()
}

#[test]
fn sections_come_back_where_they_were_put() {
    for kind in [ObjectKind::Batch, ObjectKind::Object] {
        let object = sample(kind);
        let (found, footer) = verify(&object.bytes).expect("what was written");
        assert_eq!(found, kind);
        let bytes = |range: &crate::manifest::CheckedRange| &object.bytes[range.offset as usize..][..range.len as usize];
        let sections = footer.sections.iter().map(|section| (section.kind, bytes(&section.range))).collect::<Vec<_>>();
        let expected =
            [(SectionKind::Pack, &b"a pack"[..]), (SectionKind::Segment, b""), (SectionKind::Slice, b"a slice"), (SectionKind::Vectors, b"vectors")];
        assert_eq!(sections, expected);
        assert_eq!(read_footer(bytes(&object.footer), &object.footer), Ok(footer));
    }
}

#[test]
fn every_flipped_bit_is_found() {
    let object = sample(ObjectKind::Object).bytes;
    for bit in 0..object.len() * 8 {
        let mut broken = object.clone();
        broken[bit / 8] ^= 1 << (bit % 8);
        assert!(verify(&broken).is_err(), "bit {bit}");
    }
    for length in 0..object.len() {
        assert!(verify(&object[..length]).is_err(), "cut to {length}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(verify(&bytes).is_err());
        let range = crate::manifest::CheckedRange { offset: 16, len: bytes.len() as u32, crc32c: crate::wire::crc(&bytes) };
        if let Ok(footer) = read_footer(&bytes, &range) {
            prop_assert!(footer.sections.len() <= bytes.len());
        }
    }
}
