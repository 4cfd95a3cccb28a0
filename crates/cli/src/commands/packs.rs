//! `lictor packs`: the policies that come with Lictor.

use std::io::Write;

use anyhow::bail;
use lictor::pack;

use crate::args::PacksArgs;
use crate::exit::Outcome;
use crate::render::paint::Paint;

/// Lists the packs, or shows a pack or a page of one.
pub(crate) fn run(args: &PacksArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    match args.words.as_slice() {
        [] => list(out)?,
        [word] if word == "list" => list(out)?,
        [word, id] if word == "show" => show(id, out)?,
        [id] => show(id, out)?,
        words => bail!("`{}`: unknown arguments; try `lictor packs` or `lictor packs show gdpr`", words.join(" ")),
    }
    Ok(Outcome::Compliant)
}

fn list(out: &mut dyn Write) -> anyhow::Result<()> {
    let paint = Paint::for_stdout();
    for pack in pack::packs() {
        writeln!(out, "{}  {}", paint.bold(&pack.name), pack.about)?;
        for page in &pack.pages {
            writeln!(out, "  {:40} {}", page.id, page.about)?;
        }
        writeln!(out)?;
    }
    writeln!(out, "Use them in a policy as `uses: [gdpr, agent-safety]`, or at once: lictor audit --policy gdpr LOG")?;
    Ok(())
}

fn show(id: &str, out: &mut dyn Write) -> anyhow::Result<()> {
    let (name, page) = id.split_once('/').map_or((id, None), |(pack, page)| (pack, Some(page)));
    let Some(pack) = pack::pack(name) else {
        let known: Vec<&str> = pack::packs().iter().map(|pack| pack.name.as_str()).collect();
        bail!("no pack {name}; available: {}", known.join(", "));
    };
    match page {
        None => out.write_all(pack.prose.as_bytes())?,
        Some(page) => match pack.pages.iter().find(|other| other.id == page) {
            Some(page) => out.write_all(page.prose.as_bytes())?,
            None => {
                let known: Vec<&str> = pack.pages.iter().map(|page| page.id.as_str()).collect();
                bail!("no property {page} in {name}; available: {}", known.join(", "));
            }
        },
    }
    Ok(())
}
