"""S2, S5: a process that follows the files sees what others do to them; `--log-cli-level=INFO` tells how late."""

import logging
import shutil
import subprocess
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.knowledge import write_documents
from tests.processes.follower_process import Process, following_process, sample

logger = logging.getLogger(__name__)


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with following_process(tmp_path_factory.mktemp("followed")) as process:
        yield process


def test_s2_a_new_file_is_found(process: Process) -> None:
    process.write("create/zebra.md")
    process.sees(lambda: process.finds("zebra", "create/zebra.md"))
    assert len(process.embedded("zebra")) == 1


def test_s2_a_new_file_without_frontmatter_is_found_by_its_meaning(process: Process) -> None:
    write_documents(process.root, {"plain/wombat.md": "The wombat digs long tunnels below the hill.\n"})
    query = "The wombat digs long tunnels below the hill"
    process.sees(lambda: process.finds(query, "plain/wombat.md"))


def test_s2_an_edit_is_found_and_the_former_text_is_not(process: Process) -> None:
    process.write("edit/lion.md")
    process.wait(lambda: process.finds("lion", "edit/lion.md"))
    write_documents(process.root, {"edit/lion.md": sample("tiger")})
    process.sees(lambda: process.finds("tiger", "edit/lion.md"))
    assert not process.finds("lion", "edit/lion.md")
    assert len(process.embedded("tiger")) == 1


def test_s2_a_save_by_rename_is_found(process: Process) -> None:
    process.write("save/bear.md")
    process.wait(lambda: process.finds("bear", "save/bear.md"))
    temporary = process.root / "save/bear.md~"
    temporary.write_text(sample("panda"), encoding="utf-8")
    temporary.replace(process.root / "save/bear.md")
    process.sees(lambda: process.finds("panda", "save/bear.md"))
    assert not process.finds("bear", "save/bear.md")
    assert len(process.embedded("panda")) == 1


def test_s2_a_move_is_found_at_its_new_path_and_embeds_nothing(process: Process) -> None:
    process.write("move/otter.md")
    process.wait(lambda: process.finds("otter", "move/otter.md"))
    (process.root / "moved").mkdir()
    (process.root / "move/otter.md").rename(process.root / "moved/otter.md")
    process.sees(lambda: process.finds("otter", "moved/otter.md"))
    assert process.documents("move") == {}
    assert len(process.embedded("otter")) == 1


def test_s2_a_folder_renamed_takes_its_documents_along(process: Process) -> None:
    process.write("former/a/eagle.md", "former/b/falcon.md")
    process.wait(lambda: process.finds("falcon", "former/b/falcon.md"))
    (process.root / "former").rename(process.root / "latter")
    process.sees(lambda: process.finds("falcon", "latter/b/falcon.md"))
    assert process.finds("eagle", "latter/a/eagle.md")
    assert process.documents("former") == {}
    assert len(process.embedded("eagle") + process.embedded("falcon")) == 2


def test_s2_a_deleted_file_is_found_no_more(process: Process) -> None:
    process.write("delete/hyena.md")
    process.wait(lambda: process.finds("hyena", "delete/hyena.md"))
    (process.root / "delete/hyena.md").unlink()
    process.sees(lambda: not process.finds("hyena", "delete/hyena.md"))
    process.wait(lambda: process.documents("delete") == {})


def test_s2_a_folder_deleted_with_all_it_holds_is_found_no_more(process: Process) -> None:
    names = [f"heron{number}" for number in range(10)]
    process.write(*(f"tree/{number % 3}/{name}.md" for number, name in enumerate(names)))
    process.wait(lambda: set(process.documents("tree").values()) == {"INDEXED"})
    shutil.rmtree(process.root / "tree")
    process.sees(lambda: process.documents("tree") == {})
    assert not any(process.finds(name, f"tree/{number % 3}/{name}.md") for number, name in enumerate(names))


def test_s2_two_hundred_files_at_once_are_found_without_a_storm(process: Process, tmp_path: Path) -> None:
    names = [f"shrew{number:03}" for number in range(200)]
    write_documents(tmp_path, {f"source/{name[-1]}/{name}.md": sample(name) for name in names})
    before = process.scans
    shutil.copytree(tmp_path / "source", process.root / "copied")
    paths = {f"copied/{name[-1]}/{name}.md" for name in names}
    process.sees(lambda: process.finds("shrew199", "copied/9/shrew199.md"))
    process.sees(lambda: process.documents("copied") == dict.fromkeys(paths, "INDEXED"))
    assert process.finds("shrew000", "copied/0/shrew000.md")
    assert set(Counter(process.embedded("shrew")).values()) == {1}
    assert len(process.embedded("shrew")) == 200
    process.wait(lambda: process.scans > before)
    logger.info("%d reconciles", process.scans - before)
    assert process.scans - before < 15


def test_k6_changed_synonyms_are_followed(process: Process) -> None:
    process.write("synonyms/gnu.md")
    process.wait(lambda: process.finds("gnu", "synonyms/gnu.md"))
    assert not process.finds("wildebeest", "synonyms/gnu.md")
    write_documents(process.root, {"synonyms.yaml": "- [wildebeest, gnu]\n"})
    process.sees(lambda: process.finds("wildebeest", "synonyms/gnu.md"))
    (process.root / "synonyms.yaml").unlink()
    process.sees(lambda: not process.finds("wildebeest", "synonyms/gnu.md"))


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Test", "-c", "user.email=test@localhost", "-c", "core.autocrlf=false")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def test_s2_a_git_checkout_of_another_tree_is_followed(process: Process) -> None:
    repository = process.root / "git"
    process.write("git/stays.md", "git/guides/goes.md", "git/changes.md")
    git(repository, "init", "--initial-branch=first")
    git(repository, "add", ".")
    git(repository, "commit", "--message=first")
    git(repository, "checkout", "-b", "second")
    git(repository, "rm", "guides/goes.md")
    write_documents(process.root, {"git/changes.md": sample("changed")})
    process.write("git/api/comes.md")
    git(repository, "add", ".")
    git(repository, "commit", "--message=second")
    process.wait(lambda: process.documents("git").keys() == {"git/stays.md", "git/changes.md", "git/api/comes.md"})
    git(repository, "checkout", "first")
    process.sees(lambda: process.finds("goes", "git/guides/goes.md"))
    process.wait(lambda: process.finds("changes", "git/changes.md"))
    assert not process.finds("comes", "git/api/comes.md")
    assert process.finds("stays", "git/stays.md")
    there = {"git/stays.md", "git/guides/goes.md", "git/changes.md"}  # L0 finds a file before it has a record
    process.wait(lambda: process.documents("git").keys() == there)
    for word in ("goes", "changed", "comes", "stays"):
        assert len(process.embedded(word)) == 1


def test_s2_the_two_unicode_forms_of_a_name_are_one_document(process: Process) -> None:
    folder, name = process.root / "unicode", "Café 概要が.md"
    write_documents(folder, {unicodedata.normalize("NFD", name): sample("cafeteria")})
    path = "unicode/" + unicodedata.normalize("NFC", name)
    process.sees(lambda: process.finds("cafeteria", path))
    before = process.scans
    (folder / unicodedata.normalize("NFD", name)).rename(folder / unicodedata.normalize("NFC", name))
    process.wait(lambda: process.scans > before)
    assert process.documents("unicode") == {path: "INDEXED"}
    write_documents(folder, {unicodedata.normalize("NFC", name): sample("bistro")})
    process.wait(lambda: process.finds("bistro", path))
    assert process.documents("unicode") == {path: "INDEXED"}
    assert len(process.embedded("cafeteria")) == 1
