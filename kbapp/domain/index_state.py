"""What is kept for the index as a whole."""

from __future__ import annotations

MODEL_STATE = "model"  # the model that made the vectors
CONSISTENT_STATE = "vectors_consistent"  # model and fingerprint when vectors and chunks were found equal, else ""
LEVEL_CUTS_STATE = "level_cuts"  # where levels begin here, as JSON (level_cuts.py)
REPEATED_LINES_STATE = "repeated_lines"  # the lines left out of the embedded texts (C8), as JSON
REPEATED_LINES_BEGUN_STATE = "repeated_lines_begun"  # lines that are being left out or put back, as JSON
REPEATED_LINES_OF_STATE = "repeated_lines_of"  # a hash of the documents and settings that they were counted with


def other_model(former: str, current: str) -> str:
    """The sentence that explains a changed model; vectors of two models are never mixed."""
    return (
        f"the vectors were made with {former}, embedding.model is now {current}:"
        " `kbapp index` embeds every chunk anew, or set embedding.model back"
    )
