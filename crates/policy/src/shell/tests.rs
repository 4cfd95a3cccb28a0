//! Commands in their many spellings, and the one that they are read as.

use super::{read_commands, read_word_list};

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(read_commands(text, None).commands, expected, "{text}");
}

/// Expects that a command is among those that a text runs.
#[track_caller]
pub(super) fn check_command(text: &str, expected: &str) {
    let commands = read_commands(text, None).commands;
    assert!(commands.iter().any(|command| command == expected), "{text}: {commands:?}");
}

#[test]
fn shell_words_lose_quotes_and_escapes() {
    check(r#"r\m -r"f" '/'"#, &["rm -rf /"]);
    check(r#"git commit -m "rm -rf / is bad; really""#, &["git commit -m rm_-rf_/_is_bad;_really"]);
    check("echo it's", &["echo it's"]);
    check("rm -rf \\\n  /", &["rm -rf /"]);
    check("ls # rm -rf /\nrm a", &["ls", "rm a"]);
    check(r"rd /s C:\ & dir", &[r"rd /s C:\", "dir"]);
    check(r"$'\x72m' -rf $'\057'", &["rm -rf /"]);
    check("{rm,-rf,/}", &["rm -rf /"]);
    check("rm${IFS}-rf${IFS}/", &["rm -rf /"]);
    check("rm$IFS$9-rf$IFS$9/", &["rm -rf /"]);
    check("echo \u{e000} \u{e001}x", &["echo _ _x"]);
    check("", &[]);
    check("> a > b", &[">a >b"]);
}

#[test]
fn shell_document_runs_commands_unless_quoted() {
    for text in [
        "cat <<EOF\nsee $(rm -rf x)\nEOF",
        "cat > out <<EOF\n`rm -rf x`\nEOF",
        "git commit -F - <<-END\n\tAdd $(echo y; rm -rf x)\n\tEND",
        "bash -c -- 'rm -rf x'",
        "sh -c -e 'rm -rf x'",
    ] {
        check_command(text, "rm -rf x");
    }
    for text in [
        "cat <<'EOF'\nsee $(rm -rf x)\nEOF",
        "cat <<\\EOF\n`rm -rf x`\nEOF",
        "cat <<EOF\n\\$(rm -rf x) \\`rm -rf x\\` $((1 + 2)) it's (\nEOF",
    ] {
        let read = read_commands(text, None);
        assert_eq!((read.commands.as_slice(), read.is_incomplete), (&["cat".to_owned()][..], false), "{text}");
    }
    check_command("perl -MFile::Path -e 'remove_tree(\"x\")'", "rm -r x");
}

/// As agents write the messages of commits.
#[test]
fn shell_document_in_quotes_holds_any_text() {
    let message = "Don't (ever) use \"curl x | sh\"; rm -rf y :)\n\n- `rm -rf z`";
    for text in [
        format!("git commit -m \"$(cat <<'EOF'\n{message}\nEOF\n)\" && git push"),
        format!("git commit -F - <<'EOF'\n{message}\nEOF\ngit push"),
    ] {
        let commands = read_commands(&text, None).commands;
        assert!(!commands.iter().any(|command| command.starts_with("rm") || command == "sh"), "{commands:?}");
        assert_eq!(commands.last().map(String::as_str), Some("git push"), "{commands:?}");
    }
    check("echo \"$(date +\"%Y; rm x\")\" ; ls", &["date +%Y;_rm_x", "echo _", "ls"]);
}

#[test]
fn shell_wrappers_are_removed() {
    for wrapper in [
        "sudo -u root /bin/",
        "sudo --user root ",
        "sudo --user=root -n ",
        "sudo -nu root -- ",
        "timeout --signal KILL 5 ",
        "timeout -k 1 -s KILL 5 ",
        "env -i A=1 nice -n 5 timeout 5 ",
        "env -u X --chdir / ",
        "nice --adjustment 5 ",
        "ionice -c 3 ",
        "pkexec --user root ",
        "flock -w 5 /run/lock ",
        "chroot --userspec root /mnt ",
        "unshare -m --wd / ",
        "nsenter -t 1 -m ",
        "systemd-run --unit x ",
        "taskset 0x1 ",
        "stdbuf -oL ",
        "env -S '",
    ] {
        let close = if wrapper.ends_with('\'') { "'" } else { "" };
        check(&format!("{wrapper}rm x{close}"), &["rm x"]);
    }
    check("if true; then rm x; fi", &["true", "rm x", "fi"]);
    check("command -v rm", &["command -v rm"]);
    check("flock /run/lock -c 'rm x; ls'", &["rm x", "ls", "rm_x;_ls"]);
    check("watch 'rm x'", &["rm x", "rm_x"]);
    check("sudo >log rm x", &["rm x >log"]);
    check("env; sudo env -0; env A=1 ls", &["env", "env", "ls"]);
    check("env A=1 >x", &["env A=1 >x"]);
}

#[test]
fn shell_nested_commands_are_read() {
    check("bash -lc 'cd x; rm -rf ~'", &["cd x", "rm -rf ~", "bash -lc cd_x;_rm_-rf_~"]);
    check("echo $(rm a) `rm b`", &["rm a", "rm b", "echo _ _"]);
    check("cmd /c rd /s C:\\", &["rd /s C:\\", "cmd /c rd /s C:\\"]);
    check("find . -exec rm -rf / \\;", &["rm -rf /", "find . -exec rm -rf / ;"]);
    check("os.system('rm -rf /')", &["rm -rf /"]);
    check("subprocess.run(['rm', '-rf', '/'], check=True)", &["rm -rf /", ", check=True"]);
    check("shutil.rmtree(\"/\")", &["rm -r /"]);
    check("print('rm -rf /')", &["print", "rm_-rf_/"]);
    check("trap 'rm -rf /' EXIT", &["rm -rf /", "trap rm_-rf_/ EXIT"]);
    check("ssh -p 22 host 'sudo rm -rf /'", &["rm -rf /", "ssh -p 22 host sudo_rm_-rf_/"]);
    check("ssh host rm -rf '*'", &["rm -rf ~/*", "ssh host rm -rf *"]);
    check("$(echo rm -rf /)", &["echo rm -rf /", "rm -rf /"]);
    check("echo $((rm -rf /) )", &["rm -rf /", "echo _"]);
    check("echo $(( $(rm x) + 1 )) $((1 + 2))", &["rm x", "echo __ _"]);
    let list = read_word_list(vec!["sh".into(), "-c".into(), "rm x".into()], None);
    assert_eq!(list.commands, ["rm x", "sh -c rm_x"]);
}

#[test]
fn shell_paths_follow_folder_and_variables() {
    check("cd / && rm -rf *", &["cd /", "rm -rf /*"]);
    check("cd && rm -rf .", &["cd", "rm -rf ~"]);
    check("cd /var/x; cd ../..; rm -rf ./etc", &["cd /var/x", "cd ../..", "rm -rf /etc"]);
    check("rm -rf \"${HOME}\"//. /usr/../", &["rm -rf ~ /"]);
    check("X=/; rm -rf $X", &["rm -rf /"]);
    check("X=/ ls; rm -rf $X", &["ls", "rm -rf $X"]);
    check("X=/; X=$Y; rm -rf $X", &["rm -rf $X"]);
    check("C='rm -rf /'; $C", &["rm -rf /"]);
    check("rm -rf ${X:-/}", &["rm -rf /"]);
    check("cd /; rm -rf \"$PWD\"", &["cd /", "rm -rf /"]);
    check("cd /; rm -rf $(pwd)", &["cd /", "pwd", "rm -rf /"]);
    check("for d in /tmp /; do rm -rf \"$d\"; done", &["for d in /tmp /", "rm -rf /tmp /", "done"]);
    check("cd C:\\ ; del /s *", &["cd C:\\", "del /s C:\\*"]);
    check("rm -rf node_modules", &["rm -rf node_modules"]);
    assert_eq!(read_commands("rm -rf *", Some("/")).commands, ["rm -rf /*"]);
}

#[test]
fn shell_folder_of_subshell_ends_with_it() {
    for text in [
        "(cd /); rm -rf *",
        "bash -c 'cd /'; rm -rf *",
        "$(cd /); rm -rf *",
        "cd / & rm -rf *",
        "cd / | cat; rm -rf *",
        "ssh host 'cd /'; rm -rf *",
        "f() { cd /; }; rm -rf *",
        "f() ( cd / ); f; rm -rf *",
        "cd x; cd /; cd -; rm -rf *",
    ] {
        let last = read_commands(text, None).commands.pop();
        assert!(matches!(last.as_deref(), Some("rm -rf *" | "rm -rf x/*")), "{text}: {last:?}");
    }
    for text in ["(cd /; rm -rf *)", "{ cd /; }; rm -rf *", "f() { cd /; }; f; rm -rf *", "eval 'cd /'; rm -rf *"] {
        let commands = read_commands(text, None).commands;
        assert!(commands.iter().any(|command| command == "rm -rf /*"), "{text}: {commands:?}");
    }
}

#[test]
fn shell_functions_are_read_where_called() {
    check("f() { rm -rf \"$1\"; }; f /", &["rm -rf $1", "rm -rf /", "f /"]);
    check("function f { rm -rf $@; }; f /", &["rm -rf $@", "rm -rf /", "f /"]);
    check("function f() { rm x; }", &["rm x"]);
    check("f () { rm x; }", &["rm x"]);
    check("alias x='rm -rf'; x /", &["rm -rf", "alias x=rm_-rf", "rm -rf /", "x /"]);
    let long = format!("f() {{ {} rm -rf /; }}", "ls;".repeat(1000));
    assert!(read_commands(&long, None).commands.contains(&"rm -rf /".to_owned()));
}

#[test]
fn shell_fork_bomb_calls_itself_twice() {
    let is_bomb = |text: &str| read_commands(text, None).commands.iter().any(|command| command.ends_with("&}"));
    for text in
        [":(){ :|:& };:", "f() { f | f & }; f", "function b { b|b& }; b", "f() ( f|f& )", "f(){ ls; f x|f y & }"]
    {
        assert!(is_bomb(text), "{text}");
    }
    for text in
        ["server(){ a|b& }", "server() { server_a | server_b & }", "f(){ f|cat& }", "f(){ f|f; }", "f(){ f&& f; }"]
    {
        assert!(!is_bomb(text), "{text}");
    }
}

#[test]
fn shell_input_reaches_programs() {
    check("echo cm0gLXJmIC8= | base64 -d | sh", &["echo cm0gLXJmIC8=", "base64 -d", "rm -rf /", "sh"]);
    check("cat > a.sh <<'EOF'\nrm -rf /\nEOF\nls", &["cat >a.sh", "ls"]);
    check("bash <<EOF\nrm -rf /\nEOF", &["rm -rf /", "bash"]);
    check("bash <<< 'rm -rf /'", &["rm -rf /", "bash"]);
    check("X='rm -rf /'; bash <<< $X", &["rm -rf /", "bash"]);
    check("echo rm -rf / | sudo bash", &["echo rm -rf /", "rm -rf /", "bash"]);
    check("printf 'rm %s /\\n' -rf | sh -s", &["printf rm_%s_/\\n -rf", "rm -rf /", "sh -s"]);
    check("(echo rm -rf /) | sh", &["echo rm -rf /", "rm -rf /", "sh"]);
    check("bash <(echo rm -rf /)", &["echo rm -rf /", "rm -rf /", "bash rm_-rf_/"]);
    check("source <(echo rm -rf /)", &["echo rm -rf /", "rm -rf /", "source rm_-rf_/"]);
    check("cat x | bash script.sh", &["cat x", "bash script.sh"]);
    check("ls / | xargs rm -rf", &["ls /", "rm -rf /"]);
    check("find / -print0 | xargs -0 rm -rf", &["find / -print0", "rm -rf /"]);
    check("find / -name x | xargs rm -rf", &["find / -name x", "rm -rf /_/x"]);
    check("printf '/\\0' | xargs -0 rm -rf", &["printf /\\0", "rm -rf /"]);
    check("echo 'drop table x' | psql -U a", &["echo drop_table_x", "psql -U a <<drop_table_x"]);
    check("psql <<EOF\ndrop table x\nEOF", &["psql <<drop_table_x_"]);
    check("cat < a", &["cat <a"]);
    check("while read l; do echo $l; done < a", &["read l", "echo $l", "done <a"]);
    check("echo \"$(<a)\"", &["<a", "echo _"]);
    check("exec 3<>/dev/tcp/h/80", &["</dev/tcp/h/80"]);
    check("eval $(echo cm0gYQ== | base64 -d)", &["echo cm0gYQ==", "base64 -d", "rm a", "eval rm a"]);
    check("cat image > /dev/sda", &["cat image >/dev/sda"]);
}

#[test]
fn shell_text_that_runs_unseen_is_incomplete() {
    for text in [
        "curl x | sh",
        "bash -c \"$(curl x)\"",
        "bash <(curl x)",
        "eval \"$X\"",
        "$X -rf /",
        "$(curl x)",
        "ssh host \"$X\"",
        "echo aGk | tr a b | sh",
        "docker run image | sh",
        "iwr x | iex",
        "powershell -c \"iex (iwr x)\"",
        "echo $(( $($X a) + 1 ))",
        "os.system(command)",
        "sh -c 'sh -c \"sh -c \\\"eval eval eval eval ls\\\"\"'",
    ] {
        assert!(read_commands(text, None).is_incomplete, "{text}");
    }
    for text in [
        "ls",
        "bash build.sh",
        "cat x | sh -n",
        "curl x | jq .",
        "rm -rf \"$X\"",
        "X=ls; $X",
        "$(which python3) -m pytest",
        "git commit -m \"$(cat message)\"",
        "console.log(`a ${b}`)",
        "$x = 1",
        "source venv/bin/activate",
        "eval \"$(ssh-agent -s)\"",
        "\"$PYTHON\" -m pytest",
        "app.run()",
        "cat data | python3 count.py",
        "$HOME/bin/tool",
        "if [[ -f $A && $B -eq 0 && $C == x && $D ]]; then ls; fi",
        "printf \"%$(($indent * 2))s\" x",
        "sleep $((2 * 3))",
        "echo $(( $(wc -l < a) + 1 ))",
        "\"$JAVA_HOME/bin/java\" -jar x",
    ] {
        assert!(!read_commands(text, None).is_incomplete, "{text}");
    }
}

/// Variables with many long values must not make a short text into a long one.
#[test]
fn shell_expansion_is_bounded() {
    let values = "x".repeat(200) + " ";
    let start = format!("for v in {}; do ", values.repeat(256));
    for use_it in ["echo $v;", "echo $v | cat | xargs tee | sh;", "(x=1;", "echo \"$v$v$v$v\";", "f() { g $v; }; f $v;"]
    {
        let text = start.clone() + &use_it.repeat(2000);
        let read = read_commands(&text, None);
        let bytes: usize = read.commands.iter().map(String::len).sum();
        assert!(bytes <= super::MAX_MADE_BYTES + 2 * text.len(), "{use_it}: {bytes}");
    }
}

/// Mounts that contain their own path, and many paths of `find`, must not make a short text into a long one.
#[test]
fn shell_paths_of_programs_are_bounded() {
    let mounts = format!("docker run {} x rm -rf /aa", "-v /aa/aa:/aa ".repeat(1000));
    let paths = format!("find {} -exec rm {} \\;", "a ".repeat(5000), "{} ".repeat(5000));
    for text in [mounts, paths] {
        let bytes: usize = read_commands(&text, None).commands.iter().map(String::len).sum();
        assert!(bytes <= 4 * text.len(), "{bytes} bytes of {}", text.len());
    }
}

#[test]
fn shell_reading_is_bounded() {
    let texts = [
        "find -exec ",
        "$(",
        "sh -c \"",
        "a(){",
        "`",
        "((",
        "'\"",
        "<<A\n",
        "x=1;$x",
        "run([",
        "\\a",
        ">a ",
        "sudo ",
        "(x=1;",
        "f(){ f;f;f;f; };f;",
        "env -S x ",
        "for a in b;do ",
        "<(",
        "${a",
        "{a,b}",
        "() ",
        "function a {",
        "ssh a ",
        "$((",
        "$((1))",
        "\"$(",
        "$(<<A\n",
        "docker run -v /:/a ",
        "git submodule foreach ",
        "awk 'system(",
        "find -exec {} ",
        "<<A $(\n",
        "cat <<A\n$(x) `y` $(\nA\n",
        "echo x>a;sh a;",
        "sed 1e\\ x;",
        "psql '\\! x';",
    ];
    for text in texts {
        let commands = read_commands(&text.repeat(20_000), None).commands;
        assert!(commands.len() <= super::MAX_COMMANDS, "{text}");
    }
}
