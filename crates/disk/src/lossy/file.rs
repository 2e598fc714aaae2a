//! An open file of the simulated disk.

use super::node::{Change, FileNode, to_index};
use super::{Fate, Shared, power_lost};
use crate::DiskFile;
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;

pub(super) struct LossyFile {
    pub(super) shared: Arc<Shared>,
    pub(super) file: Arc<Mutex<FileNode>>,
}

impl DiskFile for LossyFile {
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let (mut state, fate) = self.shared.begin()?;
        let mut file = self.file.lock();
        let mut fits = bytes.len();
        if let Some(left) = &mut state.space_left_bytes {
            let growth = (offset + bytes.len() as u64).saturating_sub(file.live.len() as u64);
            let missing = growth.saturating_sub(*left);
            fits = bytes.len().saturating_sub(to_index(missing));
            *left -= growth - missing;
        }
        state.counts.writes += 1;
        state.counts.written_bytes += fits as u64;
        if fits > 0 {
            file.change(state.sequence, Change::Write { offset, bytes: bytes[..fits].to_vec() }, state.now_ms);
        }
        fate.outcome()?;
        if fits < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.shared.powered()?.counts.reads += 1;
        let file = self.file.lock();
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(file.live.len());
        let read = buffer.len().min(file.live.len() - start);
        buffer[..read].copy_from_slice(&file.live[start..start + read]);
        Ok(read)
    }

    fn sync_data(&self) -> io::Result<()> {
        let (stall, up_to) = {
            let mut state = self.shared.alive()?;
            // A sync covers what was written before it began, not what is written while it runs.
            let up_to = state.sequence;
            state.counts.syncs_waiting += 1;
            while state.syncs_held && !state.powered_off {
                self.shared.changed.wait(&mut state);
            }
            state.counts.syncs_waiting -= 1;
            (state.sync_stall, up_to)
        };
        if !stall.is_zero() {
            std::thread::sleep(stall);
        }
        let (mut state, fate) = self.shared.begin().inspect_err(|_| self.file.lock().doom(up_to))?;
        state.counts.syncs += 1;
        match fate {
            Fate::LosesPower => return Err(power_lost()),
            Fate::Fails(kind) => {
                self.file.lock().doom(up_to);
                return Err(kind.error());
            }
            Fate::Lives => {}
        }
        match &mut state.syncs_until_error {
            Some(left) if *left <= 1 => {
                state.syncs_until_error = None;
                self.file.lock().doom(up_to);
                return Err(io::Error::from(rustix::io::Errno::IO));
            }
            Some(left) => *left -= 1,
            None => {}
        }
        self.file.lock().sync(up_to);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let (mut state, fate) = self.shared.begin()?;
        let mut file = self.file.lock();
        if let Some(left) = &mut state.space_left_bytes {
            let growth = len.saturating_sub(file.live.len() as u64);
            *left = left.checked_sub(growth).ok_or(io::ErrorKind::StorageFull)?;
        }
        file.change(state.sequence, Change::SetLen(len), state.now_ms);
        fate.outcome()
    }

    fn len(&self) -> io::Result<u64> {
        let _state = self.shared.powered()?;
        Ok(self.file.lock().live.len() as u64)
    }
}
