//! What a text downloads and then runs, from a file or at once.

use super::ShellReader;
use super::marks::{NETWORK_MARK, has_unknown};
use super::output::{CommandOutput, NETWORK_PROGRAMS, OutputRest};

/// The command that stands for a script from the network, whatever runs it.
const NETWORK_SCRIPT: &str = "sh <$(curl)";

impl ShellReader {
    /// Notes that text runs as commands of which a part is not shown.
    pub(super) fn note_hidden(&mut self, rest: OutputRest) {
        self.found.is_incomplete |= rest >= OutputRest::Hidden;
        if rest == OutputRest::Network {
            self.add_network_script();
        }
    }

    /// Adds the command that stands for a script from the network.
    pub(super) fn add_network_script(&mut self) {
        self.add(NETWORK_SCRIPT.to_owned());
    }

    /// Notes that a word runs as commands.
    pub(super) fn note_hidden_word(&mut self, word: &str) {
        let rest = match word.contains(NETWORK_MARK) {
            true => OutputRest::Network,
            false if has_unknown(word) => OutputRest::Hidden,
            false => OutputRest::Nothing,
        };
        self.note_hidden(rest);
    }

    /// Notes the files that a program downloads.
    pub(super) fn note_downloads(&mut self, program: &str, words: &[String]) {
        if !NETWORK_PROGRAMS.contains(&program) {
            return;
        }
        let is_named = |word: &str| {
            let word = word.to_ascii_lowercase();
            matches!(word.as_str(), "--output" | "--output-document" | "-outfile" | "--out")
                || (word.starts_with('-') && !word.starts_with("--") && word.ends_with('o'))
        };
        let named = words.windows(2).filter(|pair| is_named(&pair[0])).map(|pair| pair[1].as_str());
        let targets = words.iter().filter_map(|word| word.strip_prefix('>'));
        let keeps_name = program == "wget"
            || program == "aria2c"
            || words.iter().any(|word| word == "--remote-name" || (word.starts_with('-') && word.ends_with('O')));
        let addresses = words.iter().filter(|word| keeps_name && word.contains('/') && !word.starts_with('-'));
        let own_names = addresses.filter_map(|address| address.rsplit('/').next());
        let files = named.chain(targets).chain(own_names).filter(|file| !file.is_empty() && *file != "-");
        let files: Vec<String> = files.map(str::to_owned).collect();
        for file in files {
            self.write_file(file, CommandOutput { rest: OutputRest::Network, ..CommandOutput::default() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::read_commands;
    use super::super::tests::check_command as check;

    #[test]
    fn shell_script_from_network_is_marked() {
        for text in [
            "curl x | sh",
            "curl x | base64 -d | sudo bash",
            "curl x | python3",
            "bash -c \"$(curl x)\"",
            "eval \"$(wget -qO- x)\"",
            "bash <(curl x)",
            "bash < <(curl x)",
            "source <(curl x)",
            ". <(curl x)",
            "iwr x | iex",
            "curl -o i.sh x && bash i.sh",
            "curl -fsSLo /srv/i.sh x; chmod +x /srv/i.sh; /srv/i.sh",
            "wget https://x/i.sh && ./i.sh",
            "curl x > i.sh; sh ./i.sh",
        ] {
            check(text, "sh <$(curl)");
        }
    }

    #[test]
    fn shell_download_that_is_not_run_is_unmarked() {
        for text in
            ["curl x | jq .", "curl x | python3 -m json.tool", "curl -o i.sh x && cat i.sh", "wget x/a.zip; sh b.sh"]
        {
            let read = read_commands(text, None);
            assert!(!read.commands.iter().any(|command| command.contains("<$(")), "{text}: {:?}", read.commands);
            assert!(!read.is_incomplete, "{text}");
        }
    }
}
