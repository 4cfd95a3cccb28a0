//! What an interface has to know of its own streams.

use lictor_event::Event;
use lictor_json::Json;

use super::frame::{FrameContent, HeldFrame, SentFrame};
use super::units::Units;
use crate::quoted::QuotedTexts;
use crate::refusal::WireRefusal;
use crate::segment::Edits;

/// The reader and writer of one stream of an interface.
pub(crate) trait VendorStream: std::fmt::Debug + Send {
    /// Returns the edits after which all clients read a payload alike, before it is read.
    fn normalize(&mut self, _payload: &Json) -> Result<Edits, WireRefusal> {
        Ok(Vec::new())
    }

    /// Returns the edits that empty what a payload announces and later frames bring again.
    fn empty_announced(&self, _payload: &Json) -> Edits {
        Vec::new()
    }

    /// Reads the payload of a frame: opens, extends and completes units.
    fn read(&mut self, payload: &Json, name: Option<&str>, units: &mut Units) -> Result<FrameContent, WireRefusal>;

    /// Returns the texts of an error that a payload has beside its content: clients show it as a part of the reply.
    fn read_error(&self, _payload: &Json) -> QuotedTexts {
        QuotedTexts::default()
    }

    /// Completes all units that are open, because the end mark has come or the bytes have ended.
    fn finish(&mut self, units: &mut Units);

    /// Whether the reply has its end.
    fn is_finished(&self) -> bool;

    /// Adds the frames that are sent for a frame: none, the frame unchanged or edited, or several. A change that cannot
    /// be written is refused.
    fn write(&mut self, frame: HeldFrame, units: &Units, sent: &mut Vec<SentFrame>) -> Result<(), WireRefusal>;

    /// Returns the edits of the second of two events that a piece of text is divided into; none if the event carries more
    /// than the piece and must stay whole.
    fn divide(&self, _payload: &Json) -> Option<Edits> {
        None
    }

    /// Takes note that a frame is left out.
    fn skip(&mut self, _frame: &HeldFrame) {}

    /// Adds the frames that are sent after the last one.
    fn write_end(&mut self, _units: &Units, _sent: &mut Vec<SentFrame>) {}

    /// Takes note of a payload that was sent.
    fn record_sent(&mut self, payload: &Json);

    /// Returns the number of the next event, where the interface numbers them.
    fn sequence(&self) -> i64 {
        0
    }

    /// Returns the events of everything that was sent, for each choice.
    fn sent_events(&self) -> Vec<Vec<Event>>;
}
