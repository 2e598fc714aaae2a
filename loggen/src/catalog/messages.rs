//! The files of messages.
//!
//! A line is `WEIGHT SEVERITY MESSAGE`, optionally with ` @@ name=value name=value` for attributes; `[name]` begins a section, `#` a comment.

use crate::rng::Rng;
use crate::template::Template;

/// The severities, as the files and the entries write them.
const SEVERITIES: [&str; 6] = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"];

/// A message that a workload writes.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) severity: &'static str,
    pub(crate) body: Template,
    pub(crate) attributes: Vec<(&'static str, Template)>,
}

/// When messages are written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Section {
    /// At any time.
    Background,
    /// In a request that succeeds, and in one that fails.
    Request,
    Failed,
    /// When a pod starts and stops: all of them, in order.
    Startup,
    Shutdown,
    /// In a burst of the workload's own.
    Burst,
    /// In each of the incidents.
    Pool,
    Rollout,
    Disk,
    Cert,
    Redis,
    Kafka,
    /// The other ends of incidents.
    CertFixed,
    RolledBack,
    DiskFixed,
    /// Kubernetes' view of a pod: all of them, in order.
    PodNew,
    PodGone,
    Evicted,
}

impl Section {
    fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "background" => Self::Background,
            "request" => Self::Request,
            "failed" => Self::Failed,
            "startup" => Self::Startup,
            "shutdown" => Self::Shutdown,
            "burst" => Self::Burst,
            "pool" => Self::Pool,
            "rollout" => Self::Rollout,
            "disk" => Self::Disk,
            "cert" => Self::Cert,
            "redis" => Self::Redis,
            "kafka" => Self::Kafka,
            "certfixed" => Self::CertFixed,
            "rolledback" => Self::RolledBack,
            "diskfixed" => Self::DiskFixed,
            "podnew" => Self::PodNew,
            "podgone" => Self::PodGone,
            "evicted" => Self::Evicted,
            _ => return None,
        })
    }
}

/// How many there are.
const SECTIONS: usize = Section::Evicted as usize + 1;

/// The messages of one workload.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sections {
    messages: Vec<Message>,
    /// For each section the messages and the sum of the weights up to each.
    weights: [Vec<(u64, usize)>; SECTIONS],
}

impl Sections {
    /// Reads files of messages.
    ///
    /// # Errors
    /// The line that is wrong, and what about it.
    pub(crate) fn read(files: &[&'static str]) -> Result<Self, String> {
        let mut sections = Self::default();
        for file in files {
            let mut section = Section::Background;
            for line in file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
                if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                    section = Section::from_name(name).ok_or_else(|| format!("unknown section {name}"))?;
                } else {
                    sections.add(section, line).map_err(|what| format!("{line}: {what}"))?;
                }
            }
        }
        Ok(sections)
    }

    fn add(&mut self, section: Section, line: &'static str) -> Result<(), String> {
        let mut words = line.splitn(3, ' ');
        let mut word = || words.next().ok_or("WEIGHT SEVERITY MESSAGE expected");
        let weight: u64 = word()?.parse().map_err(|_| "the weight is no number")?;
        let severity = word()?;
        let severity = SEVERITIES.into_iter().find(|known| *known == severity).ok_or("unknown severity")?;
        let (body, attributes) = word()?.split_once(" @@ ").map_or((line.splitn(3, ' ').nth(2).unwrap_or_default(), ""), |parts| parts);
        let attributes = attributes
            .split_ascii_whitespace()
            .map(|attribute| {
                let (name, value) = attribute.split_once('=').ok_or("attributes are name=value")?;
                Ok((name, Template::parse(value)?))
            })
            .collect::<Result<_, String>>()?;
        let weights = &mut self.weights[section as usize];
        weights.push((weights.last().map_or(0, |(sum, _)| *sum) + weight, self.messages.len()));
        self.messages.push(Message { severity, body: Template::parse(body)?, attributes });
        Ok(())
    }

    pub(crate) fn has(&self, section: Section) -> bool {
        !self.weights[section as usize].is_empty()
    }

    /// A message of a section by the weights; `None` if it is empty.
    pub(crate) fn choose(&self, section: Section, rng: &mut Rng) -> Option<usize> {
        let weights = &self.weights[section as usize];
        let chosen = rng.below(weights.last()?.0);
        Some(weights[weights.partition_point(|(sum, _)| *sum <= chosen)].1)
    }

    /// The messages of a section, in order.
    pub(crate) fn all(&self, section: Section) -> impl Iterator<Item = usize> {
        self.weights[section as usize].iter().map(|(_, message)| *message)
    }

    pub(crate) fn message(&self, message: usize) -> &Message {
        &self.messages[message]
    }
}
