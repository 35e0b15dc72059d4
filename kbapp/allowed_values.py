"""What a setting may be, in words, from its field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel
from pydantic.fields import FieldInfo

_KINDS = {bool: "true or false", int: "a whole number", float: "a number"}


def allowed_values(group: type[BaseModel], place: Sequence[str | int]) -> str | None:
    """Of the field at this place below a group; None where any text will do, or it is no field."""
    field = None
    for name in place:
        field = group.model_fields.get(str(name))
        if field is None:
            return None
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            group = field.annotation
    return _in_words(field) if field else None


def _in_words(field: FieldInfo) -> str | None:
    if get_origin(field.annotation) is Literal:
        *others, last = (str(value) or "nothing" for value in get_args(field.annotation))
        return f"{', '.join(others)} or {last}"
    kind = _KINDS.get(field.annotation) if isinstance(field.annotation, type) else None
    return kind and ", ".join([kind, *filter(None, map(_bound, field.metadata))])


def _bound(bound: object) -> str | None:
    match bound:
        case Ge(ge=value):
            return f"at least {value:,}"
        case Gt(gt=value):
            return f"above {value:,}"
        case Le(le=value):
            return f"at most {value:,}"
        case Lt(lt=value):
            return f"below {value:,}"
    return None
