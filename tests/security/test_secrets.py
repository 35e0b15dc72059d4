"""No key, token or password in a sentence, a report, a log line, a row or a representation."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from click.testing import CliRunner

from kbapp.adapters.chat_endpoint import ChatOptions
from kbapp.adapters.embedders import EmbeddingOptions
from kbapp.domain.errors import UserError
from kbapp.settings import SECRETS, Settings
from kbapp.surfaces.cli import main
from tests.embedding import TinyEmbedder
from tests.embedding_server import serve_embedder
from tests.knowledge import document, open_for_test, settings_for, write_documents

SECRET = "s3cr3t-K3y-0f-0urs"


@pytest.mark.parametrize(
    "variables",
    [
        {"KBAPP_MILVUS__URI": f"http://root:{SECRET}@127.0.0.1:9"},
        {"KBAPP_MILVUS__URI": f"http://127.0.0.1:9/?token={SECRET}"},
        {"KBAPP_EMBEDDING__MODEL": "openai:m", "KBAPP_EMBEDDING__BASE_URL": f"http://u:{SECRET}@127.0.0.1:9/v1"},
        {"KBAPP_EMBEDDING__MODEL": "openai:m", "KBAPP_EMBEDDING__BASE_URL": f"http://127.0.0.1:9/v1?key={SECRET}"},
    ],
    ids=lambda variables: list(variables.values())[-1].replace(SECRET, "***"),
)
@pytest.mark.parametrize("command", ["doctor", "lookup", "index"])
def test_a_password_in_an_address_is_refused_and_not_repeated(
    tmp_path: Path, variables: dict[str, str], command: str
) -> None:
    write_documents(tmp_path / "kb", {"a.md": document("a", "a", "text")})
    words = ["--root", str(tmp_path / "kb"), "--state-dir", str(tmp_path / "state"), "-v", command]
    result = CliRunner().invoke(main, [*words, *(["a"] if command == "lookup" else [])], env=variables)
    assert result.exit_code == 1
    assert SECRET not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)


def test_doctor_lookup_rows_and_logs_hold_no_key(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    write_documents(tmp_path / "knowledge_base", {"a.md": document("支付", "支付", "超时")})
    with serve_embedder(TinyEmbedder()) as url:
        settings = {"embedding__model": "openai:tiny", "embedding__base_url": url, "embedding__api_key": SECRET}
        with open_for_test(tmp_path, milvus__token=SECRET, llm__api_key=SECRET, **settings) as kb:
            kb.reindex()
            kb.lookup("超时怎么办", session_id="s")
            said = [json.dumps(kb.health().to_dict()), *(json.dumps(row.to_dict()) for row in kb.telemetry())]
    assert SECRET not in caplog.text + "".join(said)
    assert SECRET.encode() not in b"".join(file.read_bytes() for file in tmp_path.rglob("*.sqlite3*"))


def test_no_representation_shows_a_key(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, **{name.replace(".", "__").replace("-", "_"): SECRET for name in SECRETS})
    shown = [settings, settings.model_dump(), settings.model_dump_json(), ChatOptions("http://h", "m", SECRET)]
    assert SECRET not in repr([*shown, EmbeddingOptions("m", api_key=SECRET)])


@pytest.mark.parametrize("text", ["{name}: [{secret}]", "{name}: {{k: {secret}}}", "{name}: '{secret}\\0'"])
@pytest.mark.parametrize("name", sorted(SECRETS))
def test_a_key_of_the_wrong_form_is_refused_and_not_repeated(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / "kbapp.yaml"
    file.write_text(text.format(name=name, secret=SECRET).replace("'", '"'), encoding="utf-8")
    with pytest.raises(UserError) as refused:
        Settings.load(file, environ={})
    assert SECRET not in str(refused.value)
    assert refused.value.__cause__ is None
