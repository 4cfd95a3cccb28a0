//! Files that a text writes and then runs: `echo 'rm x' > a.sh; sh a.sh`, `curl -o a.sh …; ./a.sh`.

use super::output::{CommandOutput, OutputRest};
use super::{MAX_FUNCTION_CALLS, ShellReader};

/// The most files that are followed.
const MAX_FILES: usize = 32;

/// A file, and what the text shows of its content.
#[derive(Debug)]
pub(super) struct WrittenFile {
    path: String,
    content: CommandOutput,
}

impl ShellReader {
    /// Notes the files to which a command writes its output.
    pub(super) fn note_written(&mut self, program: &str, words: &[String], output: &CommandOutput) {
        if output.text.is_empty() {
            return;
        }
        let targets = words.iter().filter_map(|word| word.strip_prefix('>'));
        let named = words.iter().skip(1).filter(|word| program == "tee" && !word.starts_with(['-', '>', '<']));
        let paths: Vec<String> = targets.chain(named.map(String::as_str)).map(str::to_owned).collect();
        for path in paths {
            // What is not shown of a file that a program makes is as unknown as any other file.
            let content = CommandOutput { text: output.text.clone(), rest: OutputRest::Nothing };
            self.write_file(path, content);
        }
    }

    /// Notes the content of a file. It comes after what the file holds already: an older content may have run as well.
    pub(super) fn write_file(&mut self, path: String, content: CommandOutput) {
        match self.files.iter().position(|file| is_same_file(&file.path, &path)) {
            Some(place) => self.files[place].content.append(content),
            None if self.files.len() < MAX_FILES => self.files.push(WrittenFile { path, content }),
            None => {}
        }
    }

    /// Returns what a file holds, if the text shows it.
    pub(super) fn find_content(&self, path: &str) -> Option<CommandOutput> {
        self.files.iter().find(|file| is_same_file(&file.path, path)).map(|file| file.content.clone())
    }

    /// Reads a file that runs, as a script or as a program.
    pub(super) fn run_file(&mut self, path: &str) {
        let Some(content) = self.find_content(path) else { return };
        if content.rest == OutputRest::Network {
            self.add_network_script();
        }
        if content.text.is_empty() || self.running.iter().any(|running| running == path) {
            return;
        }
        if self.function_calls >= MAX_FUNCTION_CALLS {
            self.found.is_incomplete = true;
            return;
        }
        self.function_calls += 1;
        self.running.push(path.to_owned());
        self.read_nested(Some(content.text));
        self.running.pop();
    }
}

/// Whether two paths name one file, as far as they show it: a name without a folder may be in any.
fn is_same_file(known: &str, path: &str) -> bool {
    let (known, path) = (known.trim_start_matches("./"), path.trim_start_matches("./"));
    known == path || (!path.contains('/') && known.rsplit('/').next() == Some(path))
}

#[cfg(test)]
mod tests {
    use super::super::read_commands;
    use super::super::tests::check_command as check;

    #[test]
    fn shell_script_that_text_writes_is_read() {
        for text in [
            "echo 'rm -rf /' > x.sh; sh x.sh",
            "echo 'rm -rf /' >> /srv/x.sh && bash /srv/x.sh",
            "printf 'rm -rf /\\n' > x.sh; chmod +x x.sh; ./x.sh",
            "cat > x.sh <<'EOF'\n#!/bin/sh\nrm -rf /\nEOF\nsh ./x.sh",
            "echo 'rm -rf /' | tee x.sh; source x.sh",
            "echo 'rm -rf /' | sudo tee -a x.sh >/dev/null; . ./x.sh",
            "echo 'rm -rf /' > x.sh; cat x.sh | sh",
            "echo 'rm -rf /' > x.sh; sh < x.sh",
            "echo 'sh b.sh' > a.sh; echo 'rm -rf /' > b.sh; sh a.sh",
            "echo \"import os; os.system('rm -rf /')\" > x.py; python3 x.py",
        ] {
            check(text, "rm -rf /");
        }
    }

    #[test]
    fn shell_file_not_run_is_no_script() {
        for text in
            ["echo 'rm -rf /' > notes.md; sh x.sh", "cat > x.sh <<EOF\nrm -rf /\nEOF\ncat x.sh", "echo rm > rm.sh"]
        {
            let read = read_commands(text, None);
            assert!(!read.commands.iter().any(|command| command == "rm -rf /"), "{text}: {:?}", read.commands);
            assert!(!read.is_incomplete, "{text}");
        }
    }

    #[test]
    fn shell_script_that_runs_itself_ends() {
        let many = "sh x.sh; sh y.sh; ".repeat(500);
        let text = format!("echo '{many}' > x.sh; echo '{many}' > y.sh; sh x.sh; sh y.sh");
        read_commands(&text, None);
        check("echo 'sh x.sh; rm -rf /' > x.sh; sh x.sh", "rm -rf /");
    }
}
