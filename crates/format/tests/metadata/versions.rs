//! Versions of commands: each is written under the one that brought it.

use crate::{changes, check_commands, check_damage, check_forged_command, command, golden_lines, sample, settings};
use proptest::prelude::*;
use siltstone_format::command::{COMMAND_VERSION, Command, CommandBody};

fn raise(version: u16) -> Command {
    Command { proposed_at_ms: 1_700_000_000_000, body: CommandBody::RaiseVersion { version } }
}

#[test]
fn raises_of_the_version_have_the_bytes_of_that_version_and_come_back() {
    check_commands("command-raise-v2.hex", &[raise(2)]);
    check_damage(&raise(2).encode().unwrap(), command);
}

#[test]
fn a_command_is_written_under_the_version_that_brought_it() {
    for bytes in golden_lines("command-v1.hex") {
        assert_eq!((Command::version_of(&bytes), command(&bytes).unwrap().body.since_version()), (Some(1), 1));
    }
    for sample in settings::commands() {
        assert_eq!((Command::version_of(&sample.encode().unwrap()), sample.body.since_version()), (Some(2), 2));
    }
    assert!(sample::commands().iter().all(|sample| Command::version_of(&sample.encode().unwrap()) == Some(1)));
    assert_eq!((Command::version_of(b"SLcm\x01"), Command::version_of(&[0; 20])), (None, None));
}

#[test]
fn a_raise_to_a_version_that_is_not_known_is_not_read_whatever_it_is_written_under() {
    let newer = raise(COMMAND_VERSION + 1).encode().unwrap();
    assert!(command(&newer).unwrap_err().contains("is not known to this program"));
    let body = CommandBody::RaiseVersion { version: COMMAND_VERSION + 1 }.encode().unwrap();
    assert!(CommandBody::decode(&body).unwrap_err().to_string().contains("is not known to this program"));
    // The newest version that is known, and behind it another number.
    let mut forged = raise(COMMAND_VERSION).encode().unwrap();
    *forged.last_mut().unwrap() = 9;
    let sum = crc32c::crc32c_append(crc32c::crc32c(&forged[..10]), &forged[14..]);
    forged[10..14].copy_from_slice(&sum.to_le_bytes());
    assert!(command(&forged).unwrap_err().contains("version 9 is not known"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_forged_raise_is_refused_or_is_another_command(changes in changes()) {
        check_forged_command(&raise(2), &changes);
    }
}
