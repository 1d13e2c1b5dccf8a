"""What the models of the YAML have in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
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
