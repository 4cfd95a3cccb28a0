//! The commands that programs run in containers: `docker exec`, `docker run`, `kubectl exec`.

use std::collections::VecDeque;

use super::spelling::takes_next_word;

/// The options of container programs that take a value as the next word: short ones, and long ones with a blank between.
const SHORT_OPTIONS: &str = "aefhlmnpuvwcH";
const LONG_OPTIONS: &str = "env env-file user workdir detach-keys index volume mount name network entrypoint publish \
    memory cpus hostname label add-host platform restart gpus ipc pid shm-size ulimit cap-add cap-drop device dns tmpfs \
    log-driver log-opt security-opt volumes-from link expose runtime pull namespace container context kubeconfig image \
    file project-name project-directory profile host config log-level";

/// The most mounts that are followed, and the longest word in which they are replaced: a mount may contain its own path.
const MAX_MOUNTS: usize = 8;
const MAX_MOUNTED_BYTES: usize = 4096;

/// Returns the command that a container program runs inside, with the paths of the machine for those that it mounts.
pub(super) fn find_container_command(program: &str, words: &[String]) -> Option<Vec<String>> {
    let mut words = VecDeque::from(words.to_vec());
    let mut verb = take_verb(&mut words)?;
    if matches!(verb.as_str(), "compose" | "container") {
        verb = take_verb(&mut words)?;
    }
    if !matches!(verb.as_str(), "exec" | "run" | "rsh" | "debug") {
        return None;
    }
    if program != "docker" && program != "podman" && program != "nerdctl" {
        let place = words.iter().position(|word| word == "--");
        let skipped =
            place.map_or_else(|| words.iter().take_while(|word| word.starts_with('-')).count() + 1, |place| place + 1);
        return Some(words.into_iter().skip(skipped).collect());
    }
    let options = take_options(&mut words);
    // The container or the image.
    words.pop_front();
    let values = |names: &'static [&'static str]| {
        options.iter().filter(move |(name, _)| names.contains(&name.as_str())).map(|(_, value)| value.as_str())
    };
    let mounts: Vec<(String, String)> = values(&["-v", "--volume"])
        .filter_map(|mount| mount.split_once(':'))
        .map(|(from, to)| (from.to_owned(), to.split(':').next().unwrap_or_default().to_owned()))
        .chain(values(&["--mount"]).filter_map(read_mount))
        .take(MAX_MOUNTS)
        .collect();
    let entry = values(&["--entrypoint"]).map(str::to_owned);
    Some(entry.chain(words).map(|word| replace_mounts(word, &mounts)).collect())
}

fn take_verb(words: &mut VecDeque<String>) -> Option<String> {
    take_options(words);
    words.pop_front()
}

/// Removes the options at the front, and returns them with their values.
fn take_options(words: &mut VecDeque<String>) -> Vec<(String, String)> {
    let mut options = Vec::new();
    while words.front().is_some_and(|word| word.starts_with('-') && word.len() > 1 && word != "--") {
        let option = words.pop_front().unwrap_or_default();
        let has_value = takes_next_word(&option, SHORT_OPTIONS, LONG_OPTIONS);
        match option.split_once('=').filter(|_| !has_value) {
            Some((name, value)) => options.push((name.to_owned(), value.to_owned())),
            None => {
                let value = if has_value { words.pop_front().unwrap_or_default() } else { String::new() };
                options.push((option, value));
            }
        }
    }
    options
}

/// Returns the folder of the machine and the one in the container: `type=bind,source=/,target=/host`.
fn read_mount(mount: &str) -> Option<(String, String)> {
    let find = |names: [&str; 3]| {
        let mut fields = mount.split(',').filter_map(|field| field.split_once('='));
        fields.find(|(name, _)| names.contains(name)).map(|(_, value)| value.to_owned())
    };
    Some((find(["source", "src", "from"])?, find(["target", "dst", "destination"])?))
}

fn replace_mounts(word: String, mounts: &[(String, String)]) -> String {
    let mounts = mounts.iter().filter(|(_, inside)| inside.len() > 1);
    mounts.fold(word, |word, (outside, inside)| {
        match word.len() <= MAX_MOUNTED_BYTES && word.contains(inside.as_str()) {
            true => word.replace(inside.as_str(), outside),
            false => word,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::read_commands;
    use super::super::tests::check_command as check;

    #[test]
    fn container_runs_its_inner_command() {
        for text in [
            "docker exec web rm -rf /srv/x",
            "docker exec -it -u root -w /srv web rm -rf /srv/x",
            "docker --context far exec web sh -c 'rm -rf /srv/x'",
            "docker compose -f a.yml exec -T web rm -rf /srv/x",
            "podman run --rm --name a -e A=1 image rm -rf /srv/x",
            "kubectl exec pod -n prod -- rm -rf /srv/x",
            "kubectl -n prod exec -it pod -c web -- bash -c 'rm -rf /srv/x'",
            "echo rm -rf /srv/x | docker exec -i web sh",
        ] {
            check(text, "rm -rf /srv/x");
        }
        assert_eq!(read_commands("docker run -d -p 80:80 nginx", None).commands, ["docker run -d -p 80:80 nginx"]);
    }

    #[test]
    fn container_mount_is_folder_of_machine() {
        check("docker run -v /:/host alpine rm -rf /host", "rm -rf /");
        check("docker run --volume=/:/host:rw x sh -c 'rm -rf /host/*'", "rm -rf /*");
        check("docker run --mount type=bind,source=/etc,target=/m x rm -rf /m", "rm -rf /etc");
        check("docker run --entrypoint rm -v /:/m x -rf /m", "rm -rf /");
    }
}
