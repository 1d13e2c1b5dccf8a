"""What the models of the YAML have in common."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

FORM_ERROR = 'adora_form'
"""Type of the errors whose message completes ``must be ...``."""

DURATION_LIMIT = 1e9
"""Largest duration in seconds, some 30 years: what every clock and timer can represent."""
U32_LIMIT = 2**32 - 1

Seconds = Annotated[float, Field(ge=0, le=DURATION_LIMIT, allow_inf_nan=False)]
PositiveSeconds = Annotated[float, Field(gt=0, le=DURATION_LIMIT, allow_inf_nan=False)]
Natural = Annotated[int, Field(ge=0, le=U32_LIMIT)]


def form_error(expected: str) -> PydanticCustomError:
    """Return the error of a value that must be ``expected``."""
    return PydanticCustomError(FORM_ERROR, '{expected}', {'expected': expected})


class Yaml(BaseModel):
    """Base of every mapping in the file."""

    model_config = ConfigDict(strict=True, extra='forbid', frozen=True, use_attribute_docstrings=True)


def _scalar(value: Any) -> Any:
    if isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    expected = 'text, a number, true or false'
    raise form_error(expected)


def _auto_or_bool(value: Any) -> Any:
    if isinstance(value, bool) or value == 'auto':
        return value
    expected = 'auto, true or false'
    raise form_error(expected)


def _byte_size(value: Any) -> Any:
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    expected = 'a size such as 50MB'
    raise form_error(expected)


AutoOrBool = Annotated[Any, BeforeValidator(_auto_or_bool), WithJsonSchema({'enum': ['auto', True, False]})]
Scalar = Annotated[Any, BeforeValidator(_scalar), WithJsonSchema({'type': ['string', 'number', 'boolean']})]
ByteSize = Annotated[Any, BeforeValidator(_byte_size), WithJsonSchema({'type': ['string', 'integer']})]


def text_or_map(value: Any) -> str:
    """Return which of the forms text and mapping a value is of."""
    return '(text)' if isinstance(value, str) else '(map)'


def list_or_map(value: Any) -> str:
    """Return which of the forms list and mapping a value is of."""
    return '(map)' if isinstance(value, (dict, BaseModel)) else '(list)'


def text_or_list(value: Any) -> str:
    """Return which of the forms text and list a value is of."""
    return '(list)' if isinstance(value, list) else '(text)'
