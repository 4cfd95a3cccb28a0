//! A person at the terminal, who reads events and answers.

use std::fmt;
use std::io::{self, BufRead, Write};
use std::sync::{Mutex, PoisonError};

use lictor_event::labeler::{Inquiry, Labeler, Question};
use lictor_event::{Answer, AnswerValue};

use crate::event_text::write_event_text;

/// The most of a text that is shown.
const MAX_SHOWN_CHARACTERS: usize = 4000;

/// Asks a person: shows the event and reads a letter for each question.
pub struct PersonLabeler {
    version: String,
    terminal: Mutex<Terminal>,
}

struct Terminal {
    input: Box<dyn BufRead + Send>,
    output: Box<dyn Write + Send>,
    /// The person has left: nothing is asked any more.
    is_closed: bool,
}

impl fmt::Debug for PersonLabeler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PersonLabeler").field("version", &self.version).finish_non_exhaustive()
    }
}

impl PersonLabeler {
    /// Returns a labeler that asks on standard error and reads standard input.
    pub fn at_terminal(name: &str) -> PersonLabeler {
        PersonLabeler::new(name, Box::new(io::BufReader::new(io::stdin())), Box::new(io::stderr()))
    }

    /// Returns a labeler that asks and reads elsewhere.
    pub fn new(name: &str, input: Box<dyn BufRead + Send>, output: Box<dyn Write + Send>) -> PersonLabeler {
        let terminal = Mutex::new(Terminal { input, output, is_closed: false });
        PersonLabeler { version: format!("{name}@person"), terminal }
    }
}

impl Labeler for PersonLabeler {
    fn version(&self) -> &str {
        &self.version
    }

    fn answer(&self, inquiry: &Inquiry<'_>) -> Vec<Answer> {
        let mut terminal = self.terminal.lock().unwrap_or_else(PoisonError::into_inner);
        let says = |terminal: &mut Terminal, question: &Question| match terminal.ask(question) {
            Ok(says) => says,
            Err(_) => {
                terminal.is_closed = true;
                AnswerValue::Failed
            }
        };
        if !terminal.is_closed && terminal.show(inquiry).is_err() {
            terminal.is_closed = true;
        }
        let answers = inquiry.questions.iter().map(|question| {
            let says = if terminal.is_closed { AnswerValue::Failed } else { says(&mut terminal, question) };
            let answer = Answer::new(question.fact.clone(), says).by(&self.version);
            if says == AnswerValue::Failed { answer.because("nobody_there") } else { answer }
        });
        answers.collect()
    }
}

impl Terminal {
    fn show(&mut self, inquiry: &Inquiry<'_>) -> io::Result<()> {
        let text = write_event_text(inquiry.event);
        // Control characters of a log must not reach the terminal.
        let shown: String = text
            .chars()
            .take(MAX_SHOWN_CHARACTERS)
            .map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c })
            .collect();
        writeln!(self.output, "\n{}:\n{shown}", inquiry.event.kind)
    }

    /// Asks until the answer is one of the letters; the end of the input is an error.
    fn ask(&mut self, question: &Question) -> io::Result<AnswerValue> {
        loop {
            write!(self.output, "{}: {} [y/n/u] ", question.fact, question.statement)?;
            self.output.flush()?;
            let mut line = String::new();
            if self.input.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            match line.trim().to_lowercase().as_str() {
                "y" | "yes" => return Ok(AnswerValue::Yes),
                "n" | "no" => return Ok(AnswerValue::No),
                "u" | "unclear" => return Ok(AnswerValue::Unclear),
                _ => writeln!(self.output, "answer y for yes, n for no, u for unclear")?,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lictor_event::{Event, Kind};
    use lictor_logic::Fact;

    #[test]
    fn person_answers_until_the_input_ends() {
        let labeler = PersonLabeler::new("me", Box::new(io::Cursor::new("what\ny\n")), Box::new(io::sink()));
        let event = Event { text: Some("pay me".into()), ..Event::new(Kind::UserMessage) };
        let question = Question::new(Fact::new("threatens", []), "the user threatens somebody");
        let says: Vec<AnswerValue> =
            (0..2).map(|_| labeler.answer(&Inquiry::new(&event, std::slice::from_ref(&question)))[0].says).collect();
        assert_eq!(says, [AnswerValue::Yes, AnswerValue::Failed]);
        assert_eq!(labeler.version(), "me@person");
    }
}
