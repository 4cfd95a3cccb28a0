//! From text to a syntax tree, by the parser of the `cel` crate.
//!
//! That parser is generated and takes a lot of stack for every bracket (some 160 kB in a build without optimisation),
//! so it runs on a thread of its own whose stack is large enough for all that [`bounds`](super::bounds) lets through.
//! Should it panic, the thread ends and the text is refused like any other that cannot be read.

use cel::common::ast::{IdedExpr, SourceInfo};
use cel::parser::{ParseError, Parser};

use super::bounds;
use super::error::{ExpressionError, ExpressionErrors};

/// Enough for the 96 levels at which the parser itself stops.
const PARSER_STACK_BYTES: usize = 32 << 20;

/// Words of other languages, and what to write instead.
const FOREIGN_WORDS: [(&str, &str); 10] = [
    ("and", "write `&&`"),
    ("or", "write `||`"),
    ("not", "write `!`"),
    ("&", "write `&&`"),
    ("|", "write `||`"),
    ("=", "write `==` to compare"),
    ("is", "write `==` to compare"),
    ("<>", "write `!=`"),
    ("if", "write `condition ? value : other`"),
    ("contains", "write `text.contains(\"…\")`"),
];

/// Parses a text and gives the tree to `read`, on a thread with room enough for both.
pub(super) fn parse_with<T: Send>(
    source: &str,
    read: impl FnOnce(&IdedExpr, &SourceInfo) -> Result<T, ExpressionErrors> + Send,
) -> Result<T, ExpressionErrors> {
    bounds::check_bounds(source)?;
    if source.trim().is_empty() {
        return Err(ExpressionError::new(0, "the expression is empty").into());
    }
    std::thread::scope(|threads| {
        let parser = std::thread::Builder::new().stack_size(PARSER_STACK_BYTES).spawn_scoped(threads, || {
            let parser = Parser::new().enable_ident_escape_syntax(true);
            match parser.parse_with_source_info(source) {
                Ok((tree, places)) => read(&tree, &places),
                Err(errors) => Err(explain(source, errors.errors.first()).into()),
            }
        });
        match parser.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(ExpressionError::new(0, "the expression cannot be read").into()),
            Err(error) => {
                Err(ExpressionError::new(0, format!("no thread could be started to read the expression: {error}"))
                    .into())
            }
        }
    })
}

/// Translates a mistake into our words. Only the first counts: later messages are about the parser's guess of how to
/// continue.
fn explain(source: &str, error: Option<&ParseError>) -> ExpressionError {
    let Some(error) = error else { return ExpressionError::new(0, "the expression cannot be read") };
    let offset = byte_offset(source, error.pos);
    let message = error.msg.strip_prefix("Syntax error: ").unwrap_or(&error.msg);
    let between = |start: &str| {
        let rest = message.strip_prefix(start)?;
        Some(rest.split_once("' expecting ").map_or(rest.trim_end_matches('\''), |(found, _)| found))
    };
    if message.contains("Recursion limit") {
        return ExpressionError::new(offset, "the expression is nested too deeply").hint("split it into several facts");
    }
    if let Some(found) = between("mismatched input '").or_else(|| between("extraneous input '")) {
        return unexpected_token(source, offset, found);
    }
    if let Some(found) = between("token recognition error at: '") {
        return unexpected_token(source, offset, found);
    }
    if message.starts_with("no viable alternative at input '") {
        return unexpected_token(source, offset, source.get(offset..).and_then(first_word).unwrap_or("<EOF>"));
    }
    if let Some((missing, _)) = message.strip_prefix("missing ").and_then(|rest| rest.split_once(" at ")) {
        return ExpressionError::new(offset, format!("`{}` is missing here", missing.trim_matches('\'')));
    }
    if let Some(name) = message.strip_prefix("reserved identifier: ") {
        return unexpected_token(source, offset, name);
    }
    match message {
        "invalid argument to has() macro" => ExpressionError::new(offset, "`has` takes a path with a dot")
            .hint("write `has(args.amount)`, or `has(event.tool)` for a field of the event itself"),
        "argument must be a simple name" => {
            ExpressionError::new(offset, "the first argument must be a name").hint("write `list.all(x, x > 0)`")
        }
        "invalid int literal" => ExpressionError::new(offset, "the number does not fit 64 bits"),
        other if other.starts_with("unsupported syntax") => {
            ExpressionError::new(offset, "optional fields are not supported")
                .hint("a field that is absent makes the condition false; `has(args.x)` asks for it")
        }
        other if other.starts_with("invalid") => ExpressionError::new(offset, other.split(':').next().unwrap_or(other)),
        _ => unexpected_token(source, offset, source.get(offset..).and_then(first_word).unwrap_or("<EOF>")),
    }
}

fn unexpected_token(source: &str, offset: usize, found: &str) -> ExpressionError {
    if found == "<EOF>" {
        return ExpressionError::new(source.trim_end().len(), "the expression ends too early");
    }
    // The parser's text may contain many words; the first is the unexpected one.
    let found = first_word(found).unwrap_or(found);
    let error = ExpressionError::new(offset, format!("`{found}` was not expected here"));
    match FOREIGN_WORDS.iter().find(|(foreign, _)| found.eq_ignore_ascii_case(foreign)) {
        Some((_, hint)) => error.hint(*hint),
        None => error,
    }
}

/// Returns the first word or character of a text.
fn first_word(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    let first = text.chars().next()?;
    Some(&text[..end.max(first.len_utf8())])
}

/// Returns the byte at a line and a column, which the parser counts from one, the columns in characters.
fn byte_offset(source: &str, (line, column): (isize, isize)) -> usize {
    let (line, column) = (usize::try_from(line).unwrap_or(1).max(1), usize::try_from(column).unwrap_or(1).max(1));
    let start: usize = source.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let rest = source.get(start..).unwrap_or_default();
    start + rest.char_indices().nth(column - 1).map_or(rest.len(), |(place, _)| place)
}
