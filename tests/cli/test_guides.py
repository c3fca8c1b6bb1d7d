"""Tests of the guides: commands print the output shown, options exist, and recipes work.

A recipe for an editor is tested only if the editor is installed.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

import hlotool
from hlotool.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
EDITORS = ROOT / "editors"
NAMES = (
    "comparing.md", "editors.md", "ci.md", "formatter-style.md", "graph.md", "hashing.md", "optimizing.md", "running.md", "verifying.md",
    "writing-a-rewrite.md",
)  # fmt: skip
TEXTS = {name: (ROOT / "docs" / name).read_text(encoding="utf-8") for name in NAMES}
BLOCK = re.compile(r"^```(\w+)\n((?s:.*?))^```$", re.MULTILINE)
MESSY = 'HloModule demo\nENTRY e{\n  p = f32[ 2 ]{0} parameter( 0 )  // in\n\n   ROOT r = f32[2] negate( p ),metadata={op_name="x"}\n}\n'
CLEAN = 'HloModule demo\n\nENTRY e {\n  p = f32[2]{0} parameter(0) // in\n\n  ROOT r = f32[2] negate(p), metadata={op_name="x"}\n}\n'
BROKEN = "HloModule demo\nENTRY e{\n  p = f32[ 2 parameter( 0 )\n}\n"


def blocks(name: str, language: str) -> list[str]:
    return [text for block_language, text in BLOCK.findall(TEXTS[name]) if block_language == language]


@pytest.fixture
def environment(tmp_path):
    """Returns the environment of the child processes.

    The processes find `hlotool` and its Python, but not the settings of the user who runs the tests.
    """
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, command in (("hlotool", "-m hlotool"), ("python3", "")):
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {command} "$@"\n')
        script.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    # Variables that git sets for hooks are removed, so that the commands in the guides never
    # change the user's repository.
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "XDG_"))}
    return {**kept, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "HOME": str(home), "TERM": "dumb"}


def command_of(name: str) -> click.Command:
    command = COMMANDS.get_command(click.Context(COMMANDS), name)
    assert command is not None, name
    return command


def parse(words: list[str]) -> None:
    """Raises UsageError if the words are not a valid command line."""
    # The group's settings are passed because a command keeps the settings of its first context.
    command_of(words[0]).make_context(words[0], words[1:], parent=click.Context(COMMANDS, **COMMANDS.context_settings))


# ---- commands ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_console(name, environment, tmp_path):
    """Runs the commands of a guide in one folder.

    If a guide uses `cat` to show a file that does not exist, the file is created with the content
    shown.
    """
    folder = tmp_path / "guide"
    shutil.copytree(ROOT / "samples", folder / "samples")
    commands = [command for text in blocks(name, "console") for command in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE)]
    assert commands
    for command, shown in commands:
        new_file = re.fullmatch(r"cat (\S+)", command)
        if new_file and not (folder / new_file[1]).exists():
            (folder / new_file[1]).parent.mkdir(exist_ok=True)
            (folder / new_file[1]).write_text(shown)
            continue
        result = subprocess.run(
            command,
            shell=True,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert result.stdout == shown, command


@pytest.mark.parametrize("name", NAMES)
def test_python(name, monkeypatch):
    monkeypatch.chdir(ROOT)
    for text in blocks(name, "python"):
        examples = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
        assert doctest.DocTestRunner().run(examples).failed == 0


EXAMPLES = """
import doctest, sys
examples = doctest.DocTestParser().get_doctest(sys.stdin.read(), {}, "guide", "guide", 0)
assert examples.examples
sys.exit(doctest.DocTestRunner().run(examples).failed)
"""


@pytest.mark.parametrize("name", ["building.md", "kernels.md", "operations.md"])
def test_library_guides(name, environment):
    """Runs each guide in its own process, since examples may register kernels."""
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    code = "\n".join(block for language, block in BLOCK.findall(text) if language == "python")
    result = subprocess.run([sys.executable, "-c", EXAMPLES], cwd=ROOT, env=environment, input=code, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def strings(value: object) -> list[str]:
    """Returns all strings in a JSON value."""
    if isinstance(value, dict):
        value = list(value.values())
    return [text for item in value for text in strings(item)] if isinstance(value, list) else [value] if isinstance(value, str) else []


def command_lines(name: str) -> list[str]:
    """Returns the arguments of each `hlotool` command in a guide.

    Commands are in inline code, and in blocks of shell commands and configuration.
    """
    code = [text for language in ("console", "sh", "yaml", "make") for text in blocks(name, language)]
    code += [text for block in blocks(name, "json") for text in strings(json.loads(block))]
    code += re.findall(r"`(hlotool [^`\n]+)`", BLOCK.sub("", TEXTS[name]))
    line = r"\bhlotool ((?:apply|diff|fmt|verify|print|python|run|opt|canon|hash|graph)\b(?:[^\n|;&<>\"']|\"[^\"\n]*\"|'[^'\n]*')*)"
    return [words.strip() for part in code for words in re.findall(line, part)]


@pytest.mark.parametrize("name", NAMES)
def test_options_exist(name):
    lines = command_lines(name)
    assert lines
    for line in lines:
        words = shlex.split(re.sub(r"\d>.*|\|\||\{\} \+|%:S", "", line))
        words = ["10:20" if word == "FIRST:LAST" else "80" if word == "N" else word for word in words]
        parse(words)


def test_options_in_recipes_exist():
    """Checks options in recipes for editors, which assemble command lines from parts."""
    known = {option for name in ("fmt", "verify") for parameter in command_of(name).params for option in parameter.opts}
    code = [text for language in ("vim", "lua", "elisp", "toml", "json") for text in blocks("editors.md", language)]
    code += [(EDITORS / name).read_text(encoding="utf-8").replace("python -m", "") for name in ("vim/ftplugin/hlo.vim", "emacs/hlo-mode.el")]
    options = {option for text in code for option in re.findall(r"(?<![\w-])(--[a-z][a-z-]*|(?<=[\"' ])-[a-z](?=[\"' ]))", text)}
    assert {"--range", "--stdin-filename", "-q"} <= options
    assert options <= known


def test_names_of_files_are_neither_commands_nor_options():
    """Checks uses of untrusted file names, such as `$(program).hlo` or `--output=m.hlo`."""
    tasks = [task for block in blocks("editors.md", "json") for task in json.loads(block).get("tasks", ())]
    assert [task["type"] for task in tasks] == ["process"]
    assert [task["args"][-2:] for task in tasks] == [["--", "${file}"]]
    vim = (EDITORS / "vim/ftplugin/hlo.vim").read_text(encoding="utf-8")
    for text in (vim.replace("\\ ", " "), *blocks("editors.md", "lua"), *blocks("editors.md", "vim")):
        assert re.findall(r".*%:S", text) == re.findall(r".* -- %:S", text)
    for option in re.findall(r"hlotool diff [^\n]*", "\n".join(blocks("comparing.md", "sh"))):
        assert '"$' not in option or re.search(r' -- "\$\w+" "\$\w+"', option), option


# ---- links ------------------------------------------------------------------------------------------------------------

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Returns the anchors that GitHub generates for the headings of a Markdown file."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_have_targets(page):
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"(?<!\\)\]\(([^)\s]+)\)", text):
        if re.match(r"https?://", target):
            continue
        path, _, anchor = target.partition("#")
        other = (page.parent / path).resolve() if path else page
        assert other.exists(), target
        assert not anchor or anchor in anchors(other), target


# ---- other files in the guides ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_data_can_be_read(name):
    for text in blocks(name, "json"):
        json.loads(text)
    for text in blocks(name, "toml"):
        tomllib.loads(text)


def test_pictures():
    """Checks that the pictures in the guide to pictures are current, except for the layout."""
    module = hlotool.parse_file(ROOT / "samples" / "while_loop.hlo")
    (shown,) = blocks("graph.md", "mermaid")
    assert shown == hlotool.to_graph(module, "mermaid", hlotool.GraphOptions(around="guess", depth=1))
    labels = [re.findall(r"<text[^>]*>([^<]*)", svg) for svg in (hlotool.to_graph(module, "svg"), (ROOT / "docs/images/while_loop.svg").read_text())]
    assert sorted(labels[0]) == sorted(labels[1])


def hooks() -> list[dict[str, str]]:
    """Returns the hooks in .pre-commit-hooks.yaml.

    The file is a list of flat tables of scalars; any other YAML is an error.
    """
    tables: list[dict[str, str]] = []
    for line in (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8").splitlines():
        item = re.fullmatch(r"(- |  )([a-z_]+): (\S.*)", line)
        assert item or not line, line
        if item and item[1] == "- ":
            tables.append({})
        if item:
            assert item[2] not in tables[-1], line
            tables[-1][item[2]] = item[3]
    return tables


def test_hooks():
    for hook in hooks():
        assert {"id", "name", "description", "entry", "language", "files", "types", "minimum_pre_commit_version"} <= hook.keys()
        assert (hook["language"], hook["types"], hook["pass_filenames"]) == ("python", "[text]", "true")
        pattern = re.compile(hook["files"])
        assert [bool(pattern.search(file)) for file in ("a.hlo", "b/a.hlo.txt", "a.txt", "a.hlo.py", "ahlo")] == [True, True, False, False, False]
        program, subcommand, *options = hook["entry"].split()
        assert program == "hlotool"
        parse([subcommand, *options, "a.hlo", "b.hlo"])


def test_guides_name_existing_hooks():
    ids = {hook["id"] for hook in hooks()}
    named = set(re.findall(r"\bid: (hlotool\S*)", TEXTS["ci.md"])) | set(re.findall(r"^\| `(hlotool-\S+)`", TEXTS["ci.md"], re.MULTILINE))
    assert named == ids


def test_patterns_of_messages():
    """Checks that the patterns for VS Code and Vim match the output."""
    (pattern,) = [task["problemMatcher"]["pattern"] for text in blocks("editors.md", "json") for task in json.loads(text).get("tasks", ())]
    match = re.fullmatch(pattern["regexp"], "dir/a b.hlo:1:51: error[S012] unknown-opcode: unknown opcode 'negat'")
    assert match
    assert match.groups() == ("dir/a b.hlo", "1", "51", "error", "S012", "unknown-opcode: unknown opcode 'negat'")


# ---- recipes for editors ----------------------------------------------------------------------------------------------


def recipe(language: str, part: str) -> str:
    (block,) = [text for text in blocks("editors.md", language) if part in text]
    return block


def vim(tmp_path: Path) -> list[str]:
    (tmp_path / "vimrc").write_text("set nocompatible\n" + recipe("vim", "runtimepath").replace("~/src/hlotool/editors", str(EDITORS)))
    return ["vim", "-N", "-n", "-i", "NONE", "-u", str(tmp_path / "vimrc"), "-es", "--not-a-term"]


def neovim(tmp_path: Path) -> list[str]:
    (tmp_path / "init.lua").write_text(recipe("lua", "vim.filetype.add") + recipe("lua", "HlotoolFormatExpr"))
    return ["nvim", "--headless", "-n", "-i", "NONE", "-u", str(tmp_path / "init.lua")]


def run(command: list[str], folder: Path, environment) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)


def works(command: list[str], expected: str) -> bool:
    """Returns whether an editor is installed and has the features that its recipe needs."""
    if shutil.which(command[0]) is None:
        return False
    result = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=60)
    return re.search(expected, result.stdout) is not None


def test_vim_and_neovim(environment, tmp_path):
    if works(["vim", "--version"], r"\+eval\b"):
        try_recipe(vim, tmp_path / "vim", environment)
    if works(["nvim", "--version"], r"NVIM v(0\.[89]|0\.\d\d|[1-9])"):
        try_recipe(neovim, tmp_path / "neovim", environment)


def try_recipe(editor, folder: Path, environment) -> None:
    folder.mkdir()
    command = editor(folder)

    def edit(name: str, text: str, *actions: str) -> str:
        (folder / name).write_text(text, newline="")
        does = [word for action in (*actions, "qall!") for word in ("-c", action)]
        run([*command, name, *does], folder, environment)
        return (folder / name).read_bytes().decode()

    assert edit("good.hlo", MESSY, "write") == CLEAN
    assert edit("dump.txt", MESSY, "write") == CLEAN
    assert edit("crlf.hlo", MESSY.replace("\n", "\r\n"), "write") == CLEAN.replace("\n", "\r\n")
    assert edit("as_xla.hlo", CLEAN + "\n", "write") == CLEAN + "\n"
    assert edit("broken.hlo", BROKEN, "write") == BROKEN
    one_line = MESSY.replace("f32[ 2 ]{0} parameter( 0 )  //", "f32[2]{0} parameter(0) //")
    assert edit("range.hlo", MESSY, "normal 3Ggqq", "noautocmd write") == one_line
    assert edit("range.hlo", BROKEN, "normal 1GgqG", "noautocmd write") == BROKEN
    edit("broken.hlo", BROKEN, "make!", "call writefile(map(getqflist(), {_, d -> join([d.lnum, d.col, d.type])}), 'found')")
    assert (folder / "found").read_text() == "3 14 e\n"


def test_emacs(environment, tmp_path):
    if not works(["emacs", "--version"], r"GNU Emacs (2[6-9]|[3-9]\d)"):
        return
    (tmp_path / "hlotool.el").write_text(recipe("elisp", "(require 'hlo-mode)").replace("~/src/hlotool/editors", str(EDITORS)))
    (tmp_path / "test.el").write_text("""
(load (expand-file-name "hlotool.el"))
(dolist (name '("good.hlo" "dump.txt" "broken.hlo" "crlf.hlo"))
  (find-file name)
  (goto-char (point-min))
  (search-forward "parameter")
  (set-buffer-modified-p t)
  (save-buffer)
  (princ (format "%s %s\\n" major-mode (looking-back "parameter" (point-min)))))
""")
    texts = {"good.hlo": MESSY, "dump.txt": MESSY, "broken.hlo": BROKEN, "crlf.hlo": MESSY.replace("\n", "\r\n")}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, newline="")
    result = run(["emacs", "-Q", "--batch", "-l", "test.el"], tmp_path, environment)
    assert result.stdout == "hlo-mode t\n" * 4, result.stderr
    assert (tmp_path / "good.hlo").read_text() == (tmp_path / "dump.txt").read_text() == CLEAN
    assert (tmp_path / "broken.hlo").read_text() == BROKEN
    assert (tmp_path / "crlf.hlo").read_bytes().decode() == CLEAN.replace("\n", "\r\n")
