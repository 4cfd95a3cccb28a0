//! Commands in their many spellings, and the one that they are read as.

use super::{read_commands, read_word_list};

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(read_commands(text), expected, "{text}");
}

#[test]
fn shell_words_lose_quotes_and_escapes() {
    check(r#"r\m -r"f" '/'"#, &["rm -rf /"]);
    check(r#"git commit -m "rm -rf / is bad; really""#, &["git commit -m rm_-rf_/_is_bad;_really"]);
    check("echo it's", &["echo it's"]);
    check("rm -rf \\\n  /", &["rm -rf /"]);
    check("ls # rm -rf /\nrm a", &["ls", "rm a"]);
    check(r"rd /s C:\ & dir", &[r"rd /s C:\", "dir"]);
    check("", &[]);
}

#[test]
fn shell_wrappers_are_removed() {
    check("sudo -u root /bin/rm -rf /", &["rm -rf /"]);
    check("env -i A=1 nice -n 5 timeout 5 rm x", &["rm x"]);
    check("if true; then rm x; fi", &["true", "rm x", "fi"]);
    check("for f in *; do rm $f; done", &["for f in *", "rm $f", "done"]);
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
    assert_eq!(read_word_list(vec!["sh".into(), "-c".into(), "rm x".into()]), ["rm x", "sh -c rm_x"]);
}

#[test]
fn shell_paths_follow_folder_and_variables() {
    check("cd / && rm -rf *", &["cd /", "rm -rf /*"]);
    check("cd && rm -rf .", &["cd", "rm -rf ~"]);
    check("cd /var/x; cd ../..; rm -rf ./etc", &["cd /var/x", "cd ../..", "rm -rf /etc"]);
    check("rm -rf \"${HOME}\"//. /usr/../", &["rm -rf ~ /"]);
    check("X=/; rm -rf $X", &["rm -rf /"]);
    check("cd C:\\ ; del /s *", &["cd C:\\", "del /s C:\\*"]);
    check("rm -rf node_modules", &["rm -rf node_modules"]);
}

#[test]
fn shell_input_reaches_programs() {
    check("echo cm0gLXJmIC8= | base64 -d | sh", &["echo cm0gLXJmIC8=", "base64 -d", "rm -rf /", "sh"]);
    check("cat > a.sh <<'EOF'\nrm -rf /\nEOF\nls", &["cat >a.sh", "ls"]);
    check("bash <<EOF\nrm -rf /\nEOF", &["rm -rf /", "bash"]);
    check("ls / | xargs rm -rf", &["ls /", "rm -rf /"]);
    check("find / -name x | xargs rm -rf", &["find / -name x", "rm -rf"]);
    check("eval $(echo cm0gYQ== | base64 -d)", &["echo cm0gYQ==", "base64 -d", "rm a", "eval rm_a"]);
    check("cat image > /dev/sda", &["cat image >/dev/sda"]);
    check(":(){ :|:& };:", &[":(){:|:&}", ":", ":", ":"]);
}

#[test]
fn shell_reading_is_bounded() {
    let texts = ["find -exec ", "$(", "sh -c \"", "a(){", "`", "((", "'\"", "<<A\n", "x=1;$x", "run(["];
    for text in texts {
        let commands = read_commands(&text.repeat(20_000));
        assert!(commands.len() <= super::MAX_COMMANDS, "{text}");
    }
}
