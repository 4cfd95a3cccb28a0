//! Server-sent events, cut out of a stream of bytes and written again.

/// Takes bytes as they come and gives the data of events as they are complete.
#[derive(Debug, Default)]
pub(crate) struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    id: Option<Vec<u8>>,
    /// Whether the last byte was a carriage return, whose line feed is no line of its own.
    after_return: bool,
    begun: bool,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) data: Vec<u8>,
    pub(crate) id: Option<Vec<u8>>,
}

impl Events {
    /// Takes some bytes, and gives the events that they complete.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        for byte in bytes {
            match byte {
                b'\n' if self.after_return => self.after_return = false,
                b'\n' | b'\r' => {
                    self.after_return = *byte == b'\r';
                    events.extend(self.end_line());
                }
                byte => {
                    self.after_return = false;
                    self.line.push(*byte);
                }
            }
        }
        events
    }

    /// How many bytes wait for the end of their event.
    pub(crate) fn waiting(&self) -> usize {
        self.line.len() + self.data.len()
    }

    fn end_line(&mut self) -> Option<Event> {
        let mut line = std::mem::take(&mut self.line);
        if !std::mem::replace(&mut self.begun, true) && line.starts_with("\u{feff}".as_bytes()) {
            line.drain(..3);
        }
        if line.is_empty() {
            let (data, id) = (std::mem::take(&mut self.data), self.id.take());
            return std::mem::take(&mut self.has_data).then_some(Event { data, id });
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = match colon {
            Some(place) => (&line[..place], line.get(place + 1..).unwrap_or_default()),
            None => (&line[..], &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.has_data = true;
            }
            b"id" => self.id = Some(value.to_vec()),
            _ => {}
        }
        None
    }
}

/// An event as bytes. Messages are JSON without raw line ends, so that one line is enough and nothing can be forged.
pub(crate) fn written(data: &[u8], id: Option<&[u8]>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(data.len() + 16);
    if let Some(id) = id.filter(|id| id.iter().all(|byte| (0x21..0x7f).contains(byte))) {
        bytes.extend_from_slice(b"id: ");
        bytes.extend_from_slice(id);
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(b"event: message\n");
    for line in data.split(|byte| matches!(byte, b'\n' | b'\r')) {
        bytes.extend_from_slice(b"data: ");
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
    }
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_the_same_wherever_the_bytes_are_cut() {
        for end in ["\n", "\r\n", "\r"] {
            let text = [
                "\u{feff}: comment",
                "event: message",
                "id: 7",
                "data: {\"a\":1,",
                "data:  \"b\":2}",
                "",
                "data",
                "",
                "retry: 3",
                "",
            ];
            let text = text.map(|line| format!("{line}{end}")).concat();
            let whole = Events::default().take(text.as_bytes());
            assert_eq!(whole.len(), 2, "{end:?}");
            assert_eq!(whole[0], Event { data: b"{\"a\":1,\n \"b\":2}".to_vec(), id: Some(b"7".to_vec()) });
            for cut in 0..text.len() {
                let mut events = Events::default();
                let mut parts = events.take(&text.as_bytes()[..cut]);
                parts.extend(events.take(&text.as_bytes()[cut..]));
                assert_eq!(parts, whole, "{end:?} {cut}");
            }
        }
    }

    #[test]
    fn what_is_written_is_one_event() {
        let written = written(b"a\r\ndata: x\n\nid: 1", Some(b"1\ndata: forged"));
        assert_eq!(Events::default().take(&written).len(), 1);
    }
}
