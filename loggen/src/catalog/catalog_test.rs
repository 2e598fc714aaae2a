use super::*;
use std::collections::HashSet;

fn all_sections() -> Vec<Sections> {
    services().iter().map(|service| Sections::read(service.messages).unwrap_or_else(|what| panic!("{}: {what}", service.name))).collect()
}

const REQUEST_SECTIONS: [Section; 2] = [Section::Request, Section::Failed];

#[test]
fn all_messages_are_read_and_there_are_many() {
    let mut distinct = HashSet::new();
    for (service, sections) in services().iter().zip(all_sections()) {
        assert!(sections.has(Section::Background) || REQUEST_SECTIONS.iter().any(|section| sections.has(*section)), "{} is silent", service.name);
        for section in (0..=Section::Evicted as u8).filter_map(section) {
            for message in sections.all(section) {
                distinct.insert(format!("{:?}", sections.message(message).body));
                let is_request = REQUEST_SECTIONS.contains(&section);
                assert!(is_request || !sections.message(message).body.needs_request(), "{} {section:?}", service.name);
            }
        }
    }
    assert!(distinct.len() >= 300, "{}", distinct.len());
}

fn section(number: u8) -> Option<Section> {
    use Section::*;
    let all = [
        Background, Request, Failed, Startup, Shutdown, Burst, Pool, Rollout, Disk, Cert, Redis, Kafka, CertFixed, RolledBack, DiskFixed, PodNew,
        PodGone, Evicted,
    ];
    all.into_iter().find(|section| *section as u8 == number)
}

#[test]
fn every_hop_and_every_storm_has_its_messages() {
    let sections = all_sections();
    for request in requests() {
        for hop in request.hops {
            assert!(sections[hop.service].has(Section::Request), "{}", services()[hop.service].name);
        }
    }
    for incident in incidents() {
        for storm in incident.storms {
            assert!(sections[storm.service].has(storm.section), "{} {:?}", services()[storm.service].name, storm.section);
        }
        for script in incident.script {
            if let ScriptLines::All(section) = script.lines {
                assert!(sections[script.service].has(section), "{} {section:?}", services()[script.service].name);
            }
        }
        assert!(incident.evidence.len() >= 3);
    }
}
