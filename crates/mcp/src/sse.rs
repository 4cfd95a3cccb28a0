//! Server-sent events: an incremental parser and a writer.

/// An incremental parser of server-sent events.
#[derive(Debug, Default)]
pub(crate) struct EventParser {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    id: Option<Vec<u8>>,
    /// Whether the last byte was a carriage return; a following line feed belongs to it.
    after_return: bool,
    has_begun: bool,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerSentEvent {
    pub(crate) data: Vec<u8>,
    pub(crate) id: Option<Vec<u8>>,
}

impl EventParser {
    /// Parses more bytes and returns the events that they complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<ServerSentEvent> {
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

    /// Returns how many bytes of an incomplete event are buffered.
    pub(crate) fn buffered_bytes(&self) -> usize {
        self.line.len() + self.data.len()
    }

    fn end_line(&mut self) -> Option<ServerSentEvent> {
        let mut line = std::mem::take(&mut self.line);
        if !std::mem::replace(&mut self.has_begun, true) && line.starts_with("\u{feff}".as_bytes()) {
            line.drain(..3);
        }
        if line.is_empty() {
            let (data, id) = (std::mem::take(&mut self.data), self.id.take());
            return std::mem::take(&mut self.has_data).then_some(ServerSentEvent { data, id });
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

/// Returns an event as bytes. Every line of the data becomes a data line, so a message cannot forge other fields.
pub(crate) fn write_event(data: &[u8], id: Option<&[u8]>) -> Vec<u8> {
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
    fn parser_gives_same_events_for_any_chunks() {
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
            let whole = EventParser::default().push(text.as_bytes());
            assert_eq!(whole.len(), 2, "{end:?}");
            assert_eq!(whole[0], ServerSentEvent { data: b"{\"a\":1,\n \"b\":2}".to_vec(), id: Some(b"7".to_vec()) });
            for cut in 0..text.len() {
                let mut events = EventParser::default();
                let mut parts = events.push(&text.as_bytes()[..cut]);
                parts.extend(events.push(&text.as_bytes()[cut..]));
                assert_eq!(parts, whole, "{end:?} {cut}");
            }
        }
    }

    #[test]
    fn written_data_is_one_event() {
        let written = write_event(b"a\r\ndata: x\n\nid: 1", Some(b"1\ndata: forged"));
        assert_eq!(EventParser::default().push(&written).len(), 1);
    }
}
