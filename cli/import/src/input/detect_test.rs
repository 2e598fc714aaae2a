use super::*;

fn format(name: &str, sample: &[u8]) -> Format {
    format_of(None, name, sample).unwrap()
}

#[test]
fn the_extension_decides_before_the_content() {
    for (name, expected) in [
        ("a.jsonl", Format::Ndjson),
        ("a.ndjson.gz", Format::Ndjson),
        ("A.JSON.ZST", Format::Ndjson),
        ("a.txt", Format::Text),
        ("dir.json/a.txt.gz", Format::Text),
        ("a.log", Format::Text),
        ("a", Format::Text),
        ("stdin", Format::Text),
    ] {
        assert_eq!(format(name, b"plain\n"), expected, "{name}");
    }
    assert_eq!(format_of(Some(Format::Ndjson), "a.txt", b"plain").unwrap(), Format::Ndjson);
}

#[test]
fn the_content_decides_where_the_name_says_nothing() {
    assert_eq!(format("a.log", b"\xef\xbb\xbf\n {\"body\": \"x\"}\nplain"), Format::Ndjson);
    assert_eq!(format("a.log", b"{\"body\": \"x\"}"), Format::Ndjson);
    assert_eq!(format("a.log", b"{not json}\n{}"), Format::Text);
    assert_eq!(format("a.log", b"[1]\n"), Format::Text);
    assert_eq!(format("a.log", b""), Format::Text);
    assert_eq!(format("a.log", b"PAR1...."), Format::Parquet);
    let long = [b"{ \"body\": \"".as_slice(), &vec![b'x'; SAMPLE_BYTES]].concat();
    assert_eq!(format("a.log", &long[..SAMPLE_BYTES]), Format::Ndjson);
    assert_eq!(format("a.log", &vec![b'{'; SAMPLE_BYTES]), Format::Text);
}

#[test]
fn what_is_not_read_is_named() {
    for (sample, named) in [
        (&b"\xfd7zXZ\x00"[..], "xz"),
        (b"BZh91AY&SY", "bzip2"),
        (b"PK\x03\x04", "zip"),
        (b"\x04\x22\x4d\x18", "lz4"),
        (b"\x1f\x8b\x08", "within"),
        (b"\xff\xfea\x00", "UTF-16"),
        (b"abc\x00def", "binary"),
    ] {
        let error = format_of(None, "a.log", sample).unwrap_err();
        assert!(matches!(error, ImportError::Unsupported { what, .. } if what.contains(named)), "{error}");
    }
    for name in ["a.txt", "a.jsonl"] {
        assert!(matches!(format_of(None, name, b"\xff\xfea\x00"), Err(ImportError::Unsupported { what: "UTF-16 text", .. })));
        assert!(format_of(None, name, b"abc\x00def").is_ok());
    }
    let mut tar = vec![b'a'; 512];
    tar[257..262].copy_from_slice(b"ustar");
    assert!(matches!(format_of(None, "a.log", &tar), Err(ImportError::Unsupported { what: "a tar archive", .. })));
    assert!(matches!(format_of(None, "a.parquet", b"x"), Err(ImportError::NotParquet { .. })));
    assert_eq!(format_of(Some(Format::Text), "a.log", b"abc\x00def").unwrap(), Format::Text);
}
