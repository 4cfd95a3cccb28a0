//! The records of a session, in compact form.

/// How many bytes a distance takes at most.
const MAX_DISTANCE_BYTES: usize = 5;

/// By how many bytes the room for distances grows at least.
const MIN_GROWTH_BYTES: usize = 16;

/// The records that a session consists of. There is a number for every event of the log, so each is kept as its
/// distance from the one before, in as few bytes as it takes.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionRecords {
    /// The files, each with the offset of its first distance.
    files: Vec<(u32, u32)>,
    distances: Vec<u8>,
    last: u32,
    /// How many events they are.
    events: u32,
}

impl SessionRecords {
    /// Adds the record of an event; records of a file come in order.
    pub(super) fn add(&mut self, file: u32, index: u32) {
        self.events = self.events.saturating_add(1);
        let is_first = self.files.last().is_none_or(|(last, _)| *last != file);
        if is_first {
            // Mostly it is the only one.
            if self.files.is_empty() {
                self.files.reserve_exact(1);
            }
            self.files.push((file, self.distances.len() as u32));
            self.last = 0;
        } else if self.last == index {
            return;
        }
        // Records of a file come in order.
        let mut distance = index.wrapping_sub(self.last);
        self.last = index;
        // A large log has many sessions, and room that is doubled would stay unused in most of them.
        if self.distances.capacity() - self.distances.len() < MAX_DISTANCE_BYTES {
            self.distances.reserve_exact(MIN_GROWTH_BYTES + self.distances.len() / 8);
        }
        while distance >= 0x80 {
            self.distances.push(distance as u8 | 0x80);
            distance >>= 7;
        }
        self.distances.push(distance as u8);
    }

    /// Returns how many events they are.
    pub(super) fn events(&self) -> u32 {
        self.events
    }

    /// Returns the records of each file.
    pub(super) fn by_file(&self) -> impl Iterator<Item = (u32, Vec<u32>)> {
        let ends = self.files.iter().skip(1).map(|(_, start)| *start).chain([self.distances.len() as u32]);
        self.files.iter().zip(ends).map(|((file, start), end)| {
            let (mut indices, mut last) = (Vec::new(), 0u32);
            let (mut distance, mut shift) = (0u32, 0);
            for byte in &self.distances[*start as usize..end as usize] {
                distance |= u32::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    last = last.wrapping_add(distance);
                    indices.push(last);
                    (distance, shift) = (0, 0);
                }
            }
            (*file, indices)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_records_round_trip_compactly() {
        let mut records = SessionRecords::default();
        let added = [(0, 0), (0, 0), (0, 5), (0, 200), (0, 4_000_000_000), (2, 7), (2, 8), (3, 0)];
        for (file, index) in added {
            records.add(file, index);
        }
        let kept: Vec<_> = records.by_file().collect();
        assert_eq!(records.events(), 8);
        assert_eq!(kept, [(0, vec![0, 5, 200, 4_000_000_000]), (2, vec![7, 8]), (3, vec![0])]);
    }
}
