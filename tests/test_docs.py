"""What the documents say holds: every setting and command is documented, and the README's Python runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from kbapp.settings import setting_names
from kbapp.surfaces.cli import COMMANDS, main
from tests.knowledge import document, write_documents

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_setting_is_documented_with_its_default() -> None:
    rows = (ROOT / "docs/settings.md").read_text(encoding="utf-8").split("\n")
    documented = {row.split("|")[1].strip().strip("`"): row for row in rows if row.startswith("| `")}
    names = {name for name, _, _ in setting_names()}
    assert documented.keys() == names
    for name, _, default in setting_names():
        value = "" if not str(default).strip("*") else str(default)
        if isinstance(default, tuple):
            value = ", ".join(default)
        assert f"| {f'`{value}`' if value else '–'} |" in documented[name], name


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_every_test_that_a_page_names_exists(page: Path) -> None:
    for file, name in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page.read_text(encoding="utf-8")):
        text = (ROOT / file).read_text(encoding="utf-8")
        assert f"def {name}(" in text or not name, (file, name)


def test_the_readme_holds_no_placeholder() -> None:
    assert "BENCH_" not in README


def test_every_command_is_in_the_readme() -> None:
    for name in COMMANDS:
        assert f"`kbapp {name}" in README, name


def test_the_readme_names_no_command_or_option_that_does_not_exist() -> None:
    for line in re.findall(r"`kbapp ([^`]+)`", README):
        words = [word for word in shlex.split(line.replace("[", "").replace("]", "")) if not word.isupper()]
        while words and words[0].startswith("--"):
            del words[:2]
        assert words[0] in COMMANDS, line
        parameters = COMMANDS[words[0]].load().params
        options = {option for each in parameters for option in (*each.opts, *each.secondary_opts)}
        assert {word for word in words if word.startswith("--")} <= options, line


def test_the_readmes_python_block_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_documents(
        tmp_path / "knowledge_base", {"api/payment-errors.md": document("支付网关错误码", "ERR_TIMEOUT", "含义。")}
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KBAPP_EMBEDDING__MODEL", "bundled:use-multilingual")
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(blocks[0], "README.md", "exec"), {})  # the block is ours
    assert "PRECISE 文档: 支付网关错误码" in capsys.readouterr().out


def test_help_of_every_command_is_one_sentence_at_least() -> None:
    for name, command in ((name, command.load()) for name, command in COMMANDS.items()):
        result = CliRunner().invoke(main, [name, "--help"])
        assert result.exit_code == 0
        assert command.help
        assert command.help.rstrip().endswith(".")
