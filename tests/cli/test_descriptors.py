"""Questions, formats and commands: a file with a descriptor is all that help, the manual page,
completion, errors and choices need to know it."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SHELLS = ("bash", "zsh", "fish")


def described(pattern, kind):
    """{name: summary} of the descriptors in the files that match"""
    found = {}
    for path in sorted((ROOT / "src").glob(pattern)):
        text = path.read_text()
        for body in re.findall(r"^const struct %s \w+ = \{\n(.*?)^\};" % kind, text, re.M | re.S):
            name = re.search(r'\.name = "([^"]*)"', body).group(1)
            parts = re.search(r"\.summary =\s*((?:\"[^\"]*\"\s*)+),", body).group(1)
            found[name] = "".join(re.findall(r'"([^"]*)"', parts))
        assert f"const struct {kind} " in text, f"{path} has no descriptor"
    assert found
    return found


QUESTIONS = described("questions/question_*.c", "question")
FORMATS = described("report/format_*.c", "format")
COMMANDS = described("cli/cmd_*.c", "command") | described("cli/help.c", "command")


@pytest.fixture(scope="module")
def said(tidemark):
    """said(*args) -> all that the tool prints, as one line, without the escapes of roff"""
    import subprocess

    def call(*args):
        done = subprocess.run([tidemark, *args], capture_output=True, text=True, timeout=60, check=False)
        text = done.stdout + done.stderr
        for roff, plain in (("\\-", "-"), ("\\(aq", "'"), ("\\fR", ""), ("\\fB", "")):
            text = text.replace(roff, plain)
        return " ".join(text.split())

    return call


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_is_known_wherever_questions_are_named(said, name):
    entry = f" {name} {QUESTIONS[name]}"
    assert entry in said("report", "--help")
    assert entry in said("help", "report", name)
    assert entry in said("man", "report")
    assert re.search(rf"[ ,]{name}[,;]", said("report", "x.tide", "no-such-question"))
    for shell in SHELLS:
        assert re.search(rf"[ '\"(]{name}[ '\")]", said("completion", shell)), shell


def test_all_that_is_known_of_a_question_is_in_the_manual_and_in_its_own_help(said):
    for name in "leaks", "steps", "what-if":
        about = said("help", "report", name).split(" Of ", 1)[-1].removesuffix("'tidemark help report' shows the options.")
        assert len(about) > 300
        assert about[-200:].strip() in said("man", "report")


def test_help_of_what_is_not_there_is_one_sentence(run):
    assert run("help", "report", "leak").stderr == (
        "tidemark: 'leak' is not a question (did you mean 'leaks'?); see 'tidemark help --help'\n")
    assert run("help", "run", "leaks").stderr == (
        "tidemark: 'leaks' is one word too many for help; see 'tidemark help --help'\n")


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_known_wherever_formats_are_named(said, name):
    for page in said("report", "--help"), said("man", "report"):
        assert f" {name} {FORMATS[name]}" in page
        assert name in re.search(r"One of: ((?:[\w-]+ )+)", page).group(1).split()
    assert re.search(rf"[ ,]{name}[,;]", said("report", "x.tide", "-f", "no-such-format"))
    assert "cannot open" in said("report", "/no/such.tide", "-f", name)
    for shell in SHELLS:
        assert re.search(rf"[ '\"(]{name}[ '\")]", said("completion", shell)), shell


@pytest.mark.parametrize("name", FORMATS)
def test_diff_takes_the_formats_of_any_answer(said, name):
    source = (ROOT / "src" / "report" / f"format_{name.replace('-', '_')}.c").read_text()
    special = (".question =" in source or ".stacks = true" in source) and ".pair = true" not in source
    answer = said("diff", "/no/such.tide", "/no/such.tide", "-f", name)
    assert ("is not one of" in answer) == special
    if not special:
        assert "cannot open" in answer


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_known_wherever_commands_are_named(said, build, name):
    assert f"{name} {COMMANDS[name]}" in said("--help")
    assert f"{name} {COMMANDS[name]}" in said("man")
    assert f"tidemark-{name} - {COMMANDS[name]}" in said("man", name)
    assert (build / f"tidemark-{name}.1").exists(), "name its page in meson.build"
    for shell in SHELLS:
        assert re.search(rf"[ '\":]{name}[ '\":]", said("completion", shell)), shell


def last_of(header, macro):
    """The name that stands last in a list of descriptors"""
    text = (ROOT / "src" / header).read_text()
    rows = re.search(rf"^#define {macro}\(X\)((?:.*\\\n)*.*)", text, re.M).group(1)
    return re.findall(r"X\((\w+)\)", rows)[-1].replace("_", "-")


def test_no_list_of_names_is_cut_off(said):
    question = last_of("questions/question.h", "QUESTIONS")
    fmt = last_of("report/formats.h", "FORMATS")
    assert f"{question}; see 'tidemark report --help'" in said("report", "x.tide", "x" * 200)
    assert f"{fmt}; see 'tidemark report --help'" in said("report", "x.tide", "-f", "x" * 200)


KINDS = re.findall(r"^ +X\((\w+), (?:LIBRARY|FILES),", (ROOT / "src/devices/kinds.h").read_text(), re.M)


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_of_device_is_known_wherever_kinds_are_named(said, name):
    for command in "run", "record":
        for page in said(command, "--help"), said("man", command):
            assert name in re.search(r"Such as: ((?:\w+ )+)", page).group(1).split()
        assert re.search(rf"[ ,(]{name}[,)]", said(command, "--device", "no-such-device", "true"))
    assert re.search(rf'[ "]{name}[" ]', said("devices", "-f", "json"))
    for shell in SHELLS:
        assert re.search(rf"[ '\"(]{name}[ '\")]", said("completion", shell)), shell


FACTS = dict(re.findall(r'^#define (FACT_\w+)\s+"(\w+)"', (ROOT / "src/trace/facts.h").read_text(), re.M))
WRITERS = ("watch", "collect", "finish", "import", "cli")


@pytest.mark.parametrize("fact", FACTS)
def test_a_fact_is_written_and_described(fact):
    sources = [p.read_text() for folder in WRITERS for p in (ROOT / "src" / folder).glob("*.c")]
    assert any(re.search(rf"\b{fact}\b", text) for text in sources), "nobody writes it"
    assert f"| `{FACTS[fact]}` |" in (ROOT / "docs" / "FORMAT.md").read_text()


def test_no_fact_is_asked_for_by_a_key_of_its_own():
    for path in (ROOT / "src").rglob("*.c"):
        asked = re.findall(r'(?:names_find|names_number|trace_store_fact)\([^;]*?TRACE_OF_\w+,[^;"]*("\w+")',
                           path.read_text())
        assert all(text == '"sampled"' for text in asked), (path, asked)


def has_text(line):
    """Not an option so long that its text begins on the next line"""
    return not line.lstrip().startswith("-") or re.search(r"\S {2,}\S", line.strip()) is not None


@pytest.mark.parametrize("name", COMMANDS)
def test_texts_of_options_are_wrapped_only_where_a_line_is_full(run, name):
    options = run("help", name).stdout.partition("\nOptions:\n")[2].partition("\n\n")[0].splitlines()
    for line, after in zip(options, options[1:]):
        if has_text(line) and re.match(r" {10,}(?=\S)(?!-|One of:|Such as:)", after):
            assert len(line) + 1 + len(after.split()[0]) > 79, (line, after)


def test_a_format_that_needs_a_trace_is_not_offered_without_one(run):
    assert "html" not in run("devices", "-h").stdout
    assert "html" in run("diff", "-h").stdout
    refused = run("devices", "-f", "html")
    assert refused.returncode == 2 and "'html' is not one of" in refused.stderr
