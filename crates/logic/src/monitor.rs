//! A compiled formula: immutable, shareable, deterministic.

use std::sync::Arc;

use crate::compile::{Compiled, compile};
use crate::data::{Data, needs_data};
use crate::formula::{Arena, Formula, Node, Quantifier, Unary};
use crate::probe::{Pattern, Probe};
use crate::refusal::CompileError;
use crate::scope::{has_future, is_free};
use crate::spelling::Spelling;
use crate::term::Value;
use crate::verdict::Verdict;

/// A formula made ready to follow traces.
///
/// ```
/// use lictor_logic::{Arena, Monitor};
/// let mut arena = Arena::new();
/// let formula = arena.parse("G(request -> F answer)").unwrap();
/// let monitor = Monitor::new(&arena, formula).unwrap();
/// assert_eq!(monitor.text(), "G(request -> F answer)");
/// ```
#[derive(Clone, Debug)]
pub struct Monitor {
    pub(crate) compiled: Compiled,
    pub(crate) shape: Shape,
    /// The letter bit that excuses a position, if every position that breaks the formula is told.
    pub(crate) excuse: u64,
    /// For a formula about data, what finds out where it is broken; the rest then only follows whether it ever was.
    pub(crate) data: Option<Arc<Data>>,
    text: String,
    /// The beginning of the hash of the text.
    mark: Arc<str>,
}

/// How many digits of its hash a formula is known by.
const MARK_DIGITS: usize = 32;

/// The fact that excuses a position; no formula and no trace can spell it.
const EXCUSED: &str = "(excused)";

/// The fact that a formula about data is broken at a position.
const BROKEN: &str = "(broken)";

/// How a formula reads positions; asked at every one, so answered once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// There is a state for each binding of values.
    pub(crate) quantified: bool,
    /// Some letter bit needs a look at all facts of a position together, or all values matter.
    pub(crate) whole: bool,
    /// Every pattern binds all variables or none: a fact tells at once which binding it touches.
    pub(crate) sliced: bool,
    /// Sliced, with one variable, and nothing compared.
    pub(crate) single: bool,
    /// Some pattern binds no variable: bindings share facts.
    pub(crate) mixed: bool,
    /// The bits that belong to a binding alone, if there is one variable and bindings share other bits.
    pub(crate) own: Option<u64>,
}

impl Shape {
    fn new(compiled: &Compiled) -> Shape {
        let variables = compiled.prefix.len();
        let all = (1u32 << variables) - 1;
        // No fact ever sets the excuse, so nothing has to look out for it.
        let masks = compiled.probes.iter().filter(|probe| !is_excuse(probe)).map(|probe| match probe {
            Probe::Pattern(pattern) => Some(pattern.mask()),
            Probe::Local { .. } => None,
        });
        let masks: Vec<Option<u32>> = masks.collect();
        let whole = masks.contains(&None) || !compiled.rigid.is_trivial();
        let sliced = !whole && masks.iter().flatten().all(|mask| *mask == 0 || *mask == all);
        let is_own = |probe: &Probe| match probe {
            Probe::Pattern(pattern) => pattern.mask() != 0 || is_excuse(probe),
            Probe::Local { body, .. } => {
                compiled.prefix.iter().any(|variable| is_free(&compiled.arena, *body, variable))
            }
        };
        let own =
            compiled.probes.iter().enumerate().fold(0, |bits, (bit, probe)| bits | u64::from(is_own(probe)) << bit);
        let shares = own.count_ones() < compiled.skeleton.width;
        Shape {
            quantified: variables > 0,
            whole,
            sliced,
            single: sliced && variables == 1,
            mixed: masks.contains(&Some(0)),
            own: (variables == 1 && shares).then_some(own),
        }
    }
}

impl Monitor {
    /// Compiles a formula, or says why it cannot be monitored and what to do about it.
    pub fn new(arena: &Arena, formula: Formula) -> Result<Monitor, CompileError> {
        Monitor::compiled(arena, formula, compile)
    }

    fn compiled(
        arena: &Arena,
        formula: Formula,
        compile: impl Fn(&Arena, Formula) -> Result<Compiled, CompileError>,
    ) -> Result<Monitor, CompileError> {
        let text = arena.show(formula, Spelling::Ascii).to_string();
        let made = |compiled: Compiled, data: Option<Data>| {
            let shape = Shape::new(&compiled);
            let excuse = compiled.probes.iter().position(is_excuse).map_or(0, |bit| 1 << bit);
            let mark = blake3::hash(text.as_bytes()).to_hex()[..MARK_DIGITS].into();
            Monitor { compiled, shape, excuse, data: data.map(Arc::new), text, mark }
        };
        let data = |arena: &Arena| -> Result<Option<(Compiled, Data)>, CompileError> {
            let Some(data) = Data::new(arena, formula)? else { return Ok(None) };
            let mut core = Arena::new();
            let broken = core.fact(BROKEN);
            let whole = core.not(broken);
            let never = core.always(whole);
            Ok(Some((compile(&core, never)?, data)))
        };
        if needs_data(arena, formula) {
            return match data(arena)? {
                Some((compiled, data)) => Ok(made(compiled, Some(data))),
                // What is wrong with it, the ordinary way says best.
                None => compile(arena, formula).map(|compiled| made(compiled, None)),
            };
        }
        match compile(arena, formula) {
            // With many variables it is cheaper to ask each position than to follow all their combinations.
            Ok(compiled) if compiled.prefix.len() > 2 => match data(arena) {
                Ok(Some((core, data))) => Ok(made(core, Some(data))),
                Ok(None) | Err(_) => Ok(made(compiled, None)),
            },
            Ok(compiled) => Ok(made(compiled, None)),
            Err(error) => match data(arena) {
                Ok(Some((compiled, data))) => Ok(made(compiled, Some(data))),
                Ok(None) | Err(_) => Err(error),
            },
        }
    }

    /// Compiles a formula of the shape `G f`, with `f` about the past and the present, so that with [`After::Each`]
    /// every position at which `f` fails is told, for every binding that fails there.
    ///
    /// ```
    /// use lictor_logic::{After, Arena, Facts, Monitor, MonitorSet};
    /// let mut arena = Arena::new();
    /// let formula = arena.parse("G(pay -> O approved)").unwrap();
    /// let mut watch = MonitorSet::new();
    /// watch.add(Monitor::each(&arena, formula).unwrap(), After::Each);
    /// let mut standing = watch.start();
    /// assert_eq!(watch.step(&mut standing, &Facts::of(["pay"])).len(), 1);
    /// assert_eq!(watch.step(&mut standing, &Facts::of(["pay"])).len(), 1);
    /// assert_eq!(watch.step(&mut standing, &Facts::of(["approved"])).len(), 1); // satisfied for good
    /// assert_eq!(watch.step(&mut standing, &Facts::of(["pay"])).len(), 0);
    /// ```
    ///
    /// [`After::Each`]: crate::After::Each
    pub fn each(arena: &Arena, formula: Formula) -> Result<Monitor, CompileError> {
        Monitor::compiled(arena, formula, |arena, formula| {
            let mut excusing = Arena::new();
            let copy = excusing.copy(arena, formula);
            let excuse = |arena: &mut Arena, f| {
                let excused = arena.fact(EXCUSED);
                arena.or([f, excused])
            };
            match within_always(&mut excusing, copy, &excuse) {
                Some(excused) => {
                    let compiled = compile(&excusing, excused)?;
                    if compiled.probes.is_empty() || compiled.probes.iter().any(is_excuse) {
                        return Ok(compiled);
                    }
                    Err(CompileError::new(
                        "the comparisons in it keep it from being told position by position",
                        "let the verdict latch or be reset, or compare fewer variables with each other",
                    ))
                }
                None => Err(CompileError::new(
                    "only `always` over the past and the present can be told position by position",
                    "write it as `always f` with no future operator in `f`, or let the verdict latch or be reset",
                )),
            }
        })
    }

    /// The formula, in ASCII.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A short hash of the formula, by which it is known where its text would be said over and over.
    pub(crate) fn mark(&self) -> &Arc<str> {
        &self.mark
    }

    /// The variables whose bindings have a state of their own.
    pub fn variables(&self) -> &[Arc<str>] {
        match &self.data {
            Some(data) => &data.variables,
            None => &self.compiled.prefix,
        }
    }

    /// The facts it asks for, by name.
    pub(crate) fn data_names(&self) -> &[Arc<str>] {
        self.data.as_ref().map_or(&[], |data| &data.names)
    }

    /// The letter bit that says that a formula about data is broken here.
    pub(crate) fn broken_bit(&self) -> u64 {
        let is_broken = |probe: &Probe| matches!(probe, Probe::Pattern(pattern) if &*pattern.name == BROKEN);
        self.compiled.probes.iter().position(is_broken).map_or(0, |bit| 1 << bit)
    }

    /// Is it about data: does it count, or do its values meet across positions? Then it has no automaton; each position is
    /// asked for which values it is broken there.
    pub fn is_about_data(&self) -> bool {
        self.data.is_some()
    }

    /// Is there a time bound in it?
    pub fn is_timed(&self) -> bool {
        !self.compiled.skeleton.clocks.is_empty()
    }

    /// The verdict on the formula, from the verdict on what is run for it.
    pub(crate) fn outward(&self, verdict: Verdict) -> Verdict {
        if self.compiled.negated { verdict.negated() } else { verdict }
    }

    /// The patterns among its letter bits.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = (u8, &Pattern)> {
        self.compiled.probes.iter().enumerate().filter_map(|(bit, probe)| match probe {
            Probe::Pattern(pattern) => Some((bit as u8, pattern)),
            Probe::Local { .. } => None,
        })
    }

    /// The value that the pattern of a letter bit binds, in a formula with one variable.
    pub(crate) fn value_of<'a>(&self, bit: u8, values: &'a [Value]) -> Option<&'a Value> {
        match &self.compiled.probes[usize::from(bit)] {
            Probe::Pattern(pattern) => pattern.single_value(values),
            Probe::Local { .. } => None,
        }
    }

    /// Do values fit the pattern of a letter bit, in a formula without bindings?
    pub(crate) fn fits(&self, bit: u8, values: &[Value]) -> bool {
        match &self.compiled.probes[usize::from(bit)] {
            Probe::Pattern(pattern) => pattern.fits(values, &[]),
            Probe::Local { .. } => false,
        }
    }
}

fn is_excuse(probe: &Probe) -> bool {
    matches!(probe, Probe::Pattern(pattern) if &*pattern.name == EXCUSED)
}

/// `G f` with something else in place of `f`, below the quantifiers in front; none unless `f` is about the past and
/// the present.
pub(crate) fn within_always(
    arena: &mut Arena,
    f: Formula,
    replace: &dyn Fn(&mut Arena, Formula) -> Formula,
) -> Option<Formula> {
    match arena[f].clone() {
        Node::Unary(Unary::Always, interval, g) if interval.is_unbounded() => {
            let g = within_quantifiers(arena, g, replace)?;
            Some(arena.always(g))
        }
        Node::Quantified(Quantifier::Forall, variables, g) => {
            let g = within_always(arena, g, replace)?;
            Some(arena.insert(Node::Quantified(Quantifier::Forall, variables, g)))
        }
        _ => None,
    }
}

fn within_quantifiers(
    arena: &mut Arena,
    f: Formula,
    replace: &dyn Fn(&mut Arena, Formula) -> Formula,
) -> Option<Formula> {
    match arena[f].clone() {
        Node::Quantified(Quantifier::Forall, variables, g) => {
            let g = within_quantifiers(arena, g, replace)?;
            Some(arena.insert(Node::Quantified(Quantifier::Forall, variables, g)))
        }
        _ if has_future(arena, f) => None,
        _ => Some(replace(arena, f)),
    }
}
