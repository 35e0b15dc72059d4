"""What the tests of the evaluation page do on it and read from it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from streamlit.testing.v1 import AppTest

from kbapp.surfaces.ui.context import Page
from kbapp.surfaces.ui.evaluation_run import RESULT, RUN, Evaluated
from tests.surfaces.ui.conftest import open_page_of

ODD = "a*b_[x](javascript:1)<img src=x>:red[x] $x$"
LABELS = [
    {"id": "k1", "query": "ERR_TIMEOUT", "kind": "keyword", "relevant": ["api/payment.md"]},
    {"id": "k2", "query": "Nginx", "kind": "keyword", "relevant": ["api/payment.md"], "note": ODD},  # a wrong label
    {"id": "q1", "query": "反向代理的缓冲区与超时", "kind": "question", "relevant": ["infrastructure/gateway.md"]},
    {"id": "q2", "query": "plain text escalation", "kind": "question", "relevant": ["general.md"]},
    {"id": "o1", "query": "zqxv blorp", "kind": "offtopic", "relevant": []},
    {"id": "o2", "query": ODD, "kind": "offtopic", "relevant": []},
]


def lines(labels: Sequence[Mapping[str, object]]) -> bytes:
    return "\n".join(json.dumps(label, ensure_ascii=False) for label in labels).encode()


def open_page(app: AppTest) -> AppTest:
    page = open_page_of(app, Page.EVALUATION)
    assert not page.exception
    return page


def upload(page: AppTest, data: bytes, name: str = "labels.jsonl") -> AppTest:
    page.file_uploader(key="evaluation_file").set_value((name, data, "application/json")).run()
    assert not page.exception
    return page


def run(page: AppTest) -> AppTest:
    """Press *Run*, and draw the page again when the thread is done."""
    page.button(key="evaluation_start").click().run()
    if RUN in page.session_state:
        assert page.session_state[RUN].job.wait(60)
        page.run()
    assert not page.exception
    return page


def texts(page: AppTest) -> str:
    parts = [*page.markdown, *page.caption, *page.info, *page.error, *page.success, *page.header]
    return "\n".join(str(part.value) for part in parts).replace("\\", "")


def tables(page: AppTest, style: str) -> list[list[list[str]]]:
    """The cells of the HTML tables of this class, markup left out."""
    bodies = [element.proto.body for element in page.get("html") if f'class="{style}"' in element.proto.body]
    return [
        [
            [re.sub(r"<[^>]*>", "", cell).strip() for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
            for row in re.findall(r"<tr>(.*?)</tr>", body)
        ]
        for body in bodies
    ]


def confusion_rows(page: AppTest) -> list[list[str]]:
    return [row[1:] for row in tables(page, "kb-confusion")[0][1:]]


def queries(page: AppTest) -> list[str]:
    (table,) = (frame.value for frame in page.dataframe if "expected" in frame.value)
    return list(table["id"])


def outcome_of(page: AppTest) -> Evaluated:
    result: Evaluated = page.session_state[RESULT]
    return result
