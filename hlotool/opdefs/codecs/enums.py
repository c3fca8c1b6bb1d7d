"""Codecs for enums, with one row for each enum."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hlotool.errors import Violation, nearest
from hlotool.opdefs.codecs.base import WriteStyle, codec
from hlotool.record import Record

__all__ = ["ENUMS", "PRECISION", "EnumKind"]


class EnumKind(Record):
    """The words of an enum, as they are printed.

    With `folds_case`, XLA accepts these words in any case. The keys of `synonyms` are printed only
    by other builds of XLA; the values are the words of the enum with the same meaning.
    """

    words: tuple[str, ...]
    folds_case: bool = False
    synonyms: Mapping[str, str] = {}


_ALGORITHMS = (
    "dot_any_f8_any_f8_f32 dot_any_f8_any_f8_f32_fast_accum dot_f16_f16_f16 dot_f16_f16_f32 dot_bf16_bf16_bf16 dot_bf16_bf16_f32"
    " dot_bf16_bf16_f32_x3 dot_bf16_bf16_f32_x6 dot_bf16_bf16_f32_x9 dot_tf32_tf32_f32 dot_tf32_tf32_f32_x3 dot_f32_f32_f32 dot_f64_f64_f64"
)
ENUMS: dict[str, EnumKind] = {
    "ComparisonDirection": EnumKind(("EQ", "NE", "GE", "GT", "LE", "LT")),
    "ComparisonType": EnumKind(("FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")),
    "FusionKind": EnumKind(("kLoop", "kInput", "kOutput", "kCustom")),
    "RandomDistribution": EnumKind(("rng_uniform", "rng_normal", "rng_invalid"), folds_case=True),
    "RandomAlgorithm": EnumKind(("rng_default", "rng_three_fry", "rng_philox"), folds_case=True),
    "PrecisionAlgorithm": EnumKind(tuple(_ALGORITHMS.split()), folds_case=True),
    "FftType": EnumKind(("FFT", "IFFT", "RFFT", "IRFFT")),
    "TransposeOption": EnumKind(("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT", "TRANSPOSE_INVALID")),
    # The XLA builds used by PyTorch/XLA and Neuron print the unset value, API_VERSION_UNSPECIFIED.
    # It means the same as leaving out the attribute, so it is read as the default.
    "ApiVersion": EnumKind(
        ("API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING", "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"),
        synonyms={"API_VERSION_UNSPECIFIED": "API_VERSION_ORIGINAL"},
    ),
    "PaddingType": EnumKind(("PADDING_INVALID", "PADDING_VALID", "PADDING_SAME")),
    "CustomCallSchedule": EnumKind(("SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST")),
    "ConvolutionKind": EnumKind(("fprop", "wgrad", "dgrad", "unset")),
    "CollectiveMode": EnumKind(("cross_replica", "cross_partition", "cross_replica_and_partition", "flattened_id")),
}
PRECISION = EnumKind(("default", "high", "highest"), folds_case=True)


def _choose(token: Any, kind: EnumKind) -> str:
    word = token.lower() if kind.folds_case else str(token)
    if word in kind.words:
        return word
    if word in kind.synonyms:
        return kind.synonyms[word]
    suggestion = nearest(word, kind.words)
    allowed = ", ".join(kind.words)
    raise Violation("S018", token.start_pos, f"'{token[:60]}' is not one of {allowed}", f"did you mean '{suggestion}'?" if suggestion else None)


def _write_precisions(value: tuple[str, ...], style: WriteStyle) -> str:
    return "{" + ",".join(value) + "}"


def _write_word(value: str, style: WriteStyle) -> str:
    return value


def _chooser(kind: EnumKind) -> Callable[[Any], str]:
    return lambda token: _choose(token, kind)


for _name, _kind in ENUMS.items():
    codec(_name, "enum", _write_word, _chooser(_kind))


def _precisions(tokens: list[Any]) -> tuple[str, ...]:
    """Returns the precisions, or () if all of them are the default, which XLA does not print."""
    words = tuple(_choose(token, PRECISION) for token in tokens)
    return words if any(word != "default" for word in words) else ()


codec("OperandPrecision", "enums", _write_precisions, _precisions)
