//! Writes pictures of tables into a folder.

use std::path::Path;

use anyhow::Context;

/// Writes a picture into a folder, under a name that every file system takes.
pub(crate) fn write_plot(folder: &Path, name: &str, svg: &str) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let name: String = name.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '_' }).collect();
    let path = folder.join(format!("{name}.svg"));
    std::fs::write(&path, svg).with_context(|| format!("cannot write {}", path.display()))
}
