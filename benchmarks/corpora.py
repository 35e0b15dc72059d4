"""Corpora of any size out of a real one, with fixed seeds: documents, clustered vectors, and an embedder for them.

The real corpus is the development corpus where it is there (beside the checkout), else the sample. Documents are its
sections, titles and keywords recombined and varied, so that no two texts are equal. Vectors are those of a few hundred
of its sections, each moved by a part of the difference of two others: that keeps the shape of the cloud, and the part
is chosen so that the nearest neighbours of a sample are as near as those of the real vectors (``Space.neighbours``).
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
from measure import percentile

Vectors = npt.NDArray[np.float32]

PROJECT = Path(__file__).resolve().parents[1]
CACHE = PROJECT / "build" / "bench"
DEVELOPMENT = PROJECT.parent / "shared" / "eval" / "dev"
SEED = 20260101
CHUNK_CHARACTERS = 380  # a section of these, its heading and the title of its document are one chunk
SECTIONS = 5  # of a document of one-chunk sections
REAL_VECTORS = 320
NEIGHBOUR_SAMPLE = 320
PLACEHOLDER = re.compile(r"^\s*(```|~~~|#|<!--|[-=*]+\s*$)")


@dataclass(frozen=True, slots=True)
class Section:
    """The text below one heading of a real document."""

    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Source:
    """What a real corpus is made of; ``name`` is fit to be published, unlike its path."""

    name: str
    documents: int
    characters: int
    titles: tuple[str, ...]
    keywords: tuple[str, ...]
    folders: tuple[str, ...]
    sections: tuple[Section, ...]
    queries: tuple[str, ...]


@cache
def real_source() -> Source:
    """The development corpus with its queries, else the sample with those that are shipped."""
    if (DEVELOPMENT / "corpus").is_dir():
        return read_source("development corpus", DEVELOPMENT / "corpus", DEVELOPMENT / "queries.jsonl")
    return read_source("sample", PROJECT / "knowledge_base", PROJECT / "benchmarks" / "sample_queries.jsonl")


def read_source(name: str, root: Path, queries: Path) -> Source:
    texts = {file.relative_to(root): file.read_text(encoding="utf-8") for file in sorted(root.rglob("*.md"))}
    titles, keywords, sections = [], [], []
    for text in texts.values():
        head, body = _parts(text)
        titles += re.findall(r"^title:[ \t]*(\S.*)$", head, re.MULTILINE)
        keywords += _keywords(head)
        sections += _sections(body)
    lines = queries.read_text(encoding="utf-8").splitlines()
    return Source(
        name,
        len(texts),
        sum(map(len, texts.values())),
        tuple(dict.fromkeys(title.strip("'\" ") for title in titles)) or ("Notes",),
        tuple(dict.fromkeys(keywords)) or ("note",),
        tuple(dict.fromkeys(path.parent.as_posix() for path in texts)),
        tuple(dict.fromkeys(sections)),
        tuple(dict.fromkeys(json.loads(line)["query"] for line in lines)),
    )


def documents(
    source: Source, count: int, *, seed: int = SEED, whole_sections: bool = False
) -> Iterator[tuple[str, str]]:
    """``count`` paths and texts; with ``whole_sections`` as long as real ones, else one chunk to a section."""
    some = random.Random(seed)
    limit = 100_000 if whole_sections else CHUNK_CHARACTERS
    for number in range(count):
        sections = [_varied(source, some, f"{number}.{part}", limit) for part in range(SECTIONS)]
        title = f"{some.choice(source.titles)[:40]} {number}"
        keywords = [_varied_keyword(source, some, number, part) for part in range(5)]
        folder = some.choice(source.folders)
        body = "\n\n".join(f"## {section.heading}\n\n{section.text}" for section in sections)
        head = f"title: {json.dumps(title, ensure_ascii=False)}\nkeywords: {json.dumps(keywords, ensure_ascii=False)}"
        yield f"{folder}/document-{number:06}.md", f"---\n{head}\n---\n\n# {title}\n\n{body}\n"


def write_documents(root: Path, made: Iterator[tuple[str, str]]) -> None:
    for path, text in made:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def _parts(text: str) -> tuple[str, str]:
    """Frontmatter and body."""
    match = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    return (match[1], text[match.end() :]) if match else ("", text)


def _keywords(head: str) -> list[str]:
    """Of a list in one line or below one another."""
    flow = re.search(r"^keywords:[ \t]*\[([^\]]*)\]", head, re.MULTILINE)
    block = re.search(r"^keywords:[ \t]*\n((?:[ \t]*-[^\n]*\n?)+)", head, re.MULTILINE)
    words = flow[1].split(",") if flow else [line.strip(" \t-") for line in block[1].split("\n")] if block else []
    return [word.strip("'\" ") for word in words if word.strip("'\" ")]


def _sections(body: str) -> Iterator[Section]:
    """Lines that would begin a block of their own (fences, headings, comments) are left out."""
    parts = re.split(r"^#{1,6}[ \t]+(.+)$", body, flags=re.MULTILINE)
    for heading, text in zip(parts[1::2], parts[2::2], strict=True):
        kept = "\n".join(line.rstrip() for line in text.split("\n") if not PLACEHOLDER.match(line)).strip()
        if sum(map(str.isalnum, kept)) >= 40:
            yield Section(heading.strip(" #*`")[:40] or "Notes", kept)


def _varied(source: Source, some: random.Random, mark: str, limit: int) -> Section:
    """A real section with a line of another one and an identifier of its own in it."""
    section, other = some.choice(source.sections), some.choice(source.sections)
    lines = section.text[:limit].split("\n")
    added = f"{some.choice(other.text.split(chr(10)))[:60]} {some.choice(source.keywords)[:20]}-{mark}"
    while len(lines) > 1 and sum(map(len, lines)) + len(lines) + len(added) > limit:
        lines.pop()
    lines[0] = lines[0][: max(40, limit - len(added))]
    lines.insert(some.randrange(len(lines) + 1), added)
    return Section(section.heading, "\n".join(lines))


def _varied_keyword(source: Source, some: random.Random, number: int, part: int) -> str:
    """One in five stands in this document alone, the others in few; of them a tenth as people wrote them."""
    word = some.choice(source.keywords)
    if part == 0:
        return f"{word}-{number:06}"
    if some.random() < 0.1:
        return word
    return f"{word} {some.choice(some.choice(source.sections).heading.split() or ['x'])}"


@dataclass(frozen=True)
class Space:
    """Real vectors, and how far a made one is moved away from its centre.

    ``passages`` and ``queries`` are ``(n, dimension)`` float32, unit rows; ``query_texts`` names those of ``queries``.
    """

    passages: Vectors
    queries: Vectors
    query_texts: tuple[str, ...]
    model_id: str = "clustered"
    spread: float = field(default=0.0)

    @property
    def dimension(self) -> int:
        return int(self.passages.shape[1])

    @cached_property
    def known(self) -> dict[str, Vectors]:
        return dict(zip(self.query_texts, self.queries, strict=True))

    def drawn(self, count: int, *, seed: int = SEED) -> Vectors:
        """``(count, dimension)`` float32, unit rows."""
        some = np.random.default_rng(seed)
        return _moved(self.passages, some.integers(0, len(self.passages), (3, count)), some.random(count), self.spread)

    def vector_of(self, text: str, *, is_query: bool) -> Vectors:
        """The vector of a text, the same at every call: a query's own where it is known, else one by its hash."""
        if is_query and text in self.known:
            return self.known[text]
        rows = self.queries if is_query else self.passages
        places = np.frombuffer(hashlib.sha256(text.encode("utf-8", "replace")).digest(), dtype="<u8")
        strength = np.array([int(places[3]) / 2**64])
        return _moved(rows, (places[:3] % len(rows)).astype(np.int64)[:, None], strength, self.spread)[0]

    def neighbours(self, vectors: Vectors) -> dict[str, float]:
        """How near (cosine) the nearest neighbour is among these vectors: p10, p50, p90."""
        nearest = _nearest(vectors)
        return {f"p{share}": round(percentile(nearest, share / 100), 4) for share in (10, 50, 90)}


def _moved(rows: Vectors, places: npt.NDArray[np.int64], strength: npt.NDArray[np.float64], spread: float) -> Vectors:
    """Row a moved by a part of (row b minus row c): a part of ``spread``, from half of it to one and a half."""
    centre, one, other = (rows[place] for place in places)
    part = (spread * (0.5 + strength)).astype(np.float32)[:, None]
    moved = centre + part * (one - other)
    return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True), dtype=np.float32)


def _nearest(vectors: Vectors) -> list[float]:
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1)
    return [float(value) for value in cosines.max(axis=1)]


def fitted(passages: Vectors, queries: Vectors, query_texts: Sequence[str], model_id: str) -> Space:
    """The space whose drawn vectors have the median nearest neighbour of the real ones, in samples of equal size."""
    wanted = percentile(_nearest(passages[:NEIGHBOUR_SAMPLE]), 0.5)
    low, high = 0.0, 4.0
    for _ in range(12):
        spread = (low + high) / 2
        space = Space(passages, queries, tuple(query_texts), model_id, spread)
        found = percentile(_nearest(space.drawn(min(NEIGHBOUR_SAMPLE, len(passages)))), 0.5)
        low, high = (spread, high) if found > wanted else (low, spread)
    return Space(passages, queries, tuple(query_texts), model_id, spread)


class ClusteredEmbedder:
    """An ``Embedder`` that costs next to nothing: the vectors of a ``Space`` by the hash of the text. Thread-safe."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self.model_id, self.dimension = space.model_id, space.dimension

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._space.vector_of(text, is_query=True) for text in texts])

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._space.vector_of(text, is_query=False) for text in texts])


@cache
def real_space() -> Space:
    """Of the bundled model, whose name it bears, so that its index is opened by the real model too.

    Embedded once (a minute or two), then read from ``build/bench/``.
    """
    from kbapp.adapters.embedders import EmbeddingOptions, default_model, open_embedder

    source = real_source()
    passages = sample_texts(source, REAL_VECTORS)
    model = default_model()
    file = CACHE / f"vectors-{_fingerprint(model, *passages, *source.queries)}.npz"
    if not file.exists():
        embedder = open_embedder(EmbeddingOptions(model))
        CACHE.mkdir(parents=True, exist_ok=True)
        arrays = {"passages": embedder.embed_passages(passages), "queries": embedder.embed_queries(source.queries)}
        np.savez(file.with_suffix(".new.npz"), **arrays)
        file.with_suffix(".new.npz").replace(file)
    with np.load(file) as stored:
        return fitted(stored["passages"], stored["queries"], source.queries, model)


def sample_texts(source: Source, count: int) -> list[str]:
    """Real sections, as they would be embedded, cut to the length of a chunk."""
    some = random.Random(SEED)
    chosen = some.sample(source.sections, min(count, len(source.sections)))
    return [f"{section.heading}\n{section.text[:CHUNK_CHARACTERS]}" for section in chosen]


def described(source: Source, space: Space) -> Mapping[str, object]:
    """For the results: what was recombined, and how near neighbours are in both."""
    return {
        "corpus": f"{source.name}: {source.documents} documents, {source.characters:,} characters",
        "queries": len(source.queries),
        "vectors": f"{len(space.passages)} of {space.model_id}, {space.dimension} numbers each",
        "spread": round(space.spread, 3),
        "nearest_cosine_real": space.neighbours(space.passages[:NEIGHBOUR_SAMPLE]),
        "nearest_cosine_drawn": space.neighbours(space.drawn(min(NEIGHBOUR_SAMPLE, len(space.passages)))),
        "nearest_cosine_drawn_10000": space.neighbours(space.drawn(10_000)),
    }


def _fingerprint(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8")).hexdigest()[:12]


if __name__ == "__main__":
    print(json.dumps(described(real_source(), real_space()), ensure_ascii=False, indent=2))
