"""Reading files: compression, limits, and one-line errors."""

from __future__ import annotations

import gzip
import importlib
import io
import lzma
import sys
import zlib
from random import Random

import pytest
import zstandard

import hlotool
from hlotool.text.source.files import MAX_BYTES, InputError, read_beginning, read_stream, read_text

TEXT = "HloModule m\n\nENTRY e {\n  ROOT p = f32[2] parameter(0)\n}\n"
DATA = TEXT.encode()


def zstd(data):
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


COMPRESSED = {"gz": gzip.compress, "xz": lzma.compress, "zst": zstd, "hlo": bytes}


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_parse_file(tmp_path, suffix):
    path = tmp_path / f"m.{suffix}"
    path.write_bytes(COMPRESSED[suffix](DATA))
    assert hlotool.parse_file(path).name == "m"
    assert hlotool.parse_file(str(path), strict=False).source.filename == str(path)
    assert read_beginning(path, 9) == b"HloModule"


def test_compression_is_detected_by_content(tmp_path):
    path = tmp_path / "m.gz"
    path.write_bytes(DATA)
    assert read_text(path) == TEXT
    path.write_bytes(lzma.compress(DATA))
    assert read_text(path) == TEXT


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_several_compressed_members_are_one_text(tmp_path, suffix):
    compress = COMPRESSED[suffix]
    path = tmp_path / "m"
    path.write_bytes(compress(DATA[:20]) + compress(DATA[20:]))
    assert read_text(path) == TEXT


@pytest.mark.parametrize("suffix", ["gz", "xz", "zst"])
def test_damage(tmp_path, suffix):
    data = COMPRESSED[suffix](Random(0).randbytes(5000).hex().encode())
    path = tmp_path / "m"
    for damaged in (data[:-20], data[: len(data) // 2], data[:40] + b"damage" * 20 + data[160:]):
        path.write_bytes(damaged)
        with pytest.raises(hlotool.HlotoolError, match="damaged"):
            read_text(path)


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_decompression_bombs_are_rejected(tmp_path, suffix):
    path = tmp_path / "m"
    path.write_bytes(COMPRESSED[suffix](b" " * 5_000_000))
    assert len(read_text(path, max_bytes=5_000_000)) == 5_000_000
    with pytest.raises(hlotool.HlotoolError, match="more than 4,999,999 bytes"):
        read_text(path, max_bytes=4_999_999)


def test_the_default_limit():
    assert MAX_BYTES == 4 * 1024**3


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_binary_files_are_rejected(tmp_path, suffix):
    path = tmp_path / "m"
    path.write_bytes(COMPRESSED[suffix](b"HloModule m\0"))
    with pytest.raises(hlotool.HlotoolError, match="NUL bytes"):
        read_text(path)


class Endless:
    """An endless device: every read returns as many bytes as requested."""

    def __init__(self, byte):
        self.byte = byte

    def read(self, size=-1, /):
        assert size > 0, "the whole device was requested"
        return self.byte * size


def test_an_endless_device_of_zeros_is_rejected():
    with pytest.raises(hlotool.HlotoolError, match="NUL bytes"):
        read_stream(Endless(b"\0"), "device")


def test_an_endless_device_of_text_is_rejected():
    with pytest.raises(hlotool.HlotoolError, match="more than 5,000,000 bytes"):
        read_stream(Endless(b" "), "device", max_bytes=5_000_000)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf16_is_named(tmp_path, encoding):
    path = tmp_path / "m"
    path.write_bytes(("\ufeff" + TEXT if encoding.endswith("be") else TEXT).encode(encoding))
    with pytest.raises(hlotool.HlotoolError, match="UTF-16"):
        read_text(path)


def test_byte_order_mark_and_stray_bytes(tmp_path):
    path = tmp_path / "m"
    path.write_bytes(b"\xef\xbb\xbf// \xff\n")
    assert read_text(path) == "// \udcff\n"


def test_missing_zstandard_names_the_extra(tmp_path, monkeypatch):
    path = tmp_path / "m.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd....")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(hlotool.HlotoolError, match=r"pip install 'hlotool\[zstd\]'") as caught:
        read_text(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing", "No such file"),
        (".", "directory"),
        ("a/b", "No such file"),
        ("x" * 5000, "too long"),
        ("nul\0", "null byte"),
        ("\ud800", "surrogates"),
    ],
)
def test_system_errors_are_one_line(tmp_path, name, message):
    with pytest.raises(InputError, match=message) as caught:
        hlotool.parse_file(f"{tmp_path}/{name}")
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_pipes_with_short_reads():
    class Trickle(io.RawIOBase):
        def __init__(self):
            self.data = io.BytesIO(gzip.compress(DATA))

        def read(self, size=-1):
            return self.data.read(min(size, 3) if size >= 0 else 3)

    assert read_stream(Trickle(), "pipe") == TEXT


def test_empty_file(tmp_path):
    path = tmp_path / "m"
    path.touch()
    assert read_text(path) == ""
    with pytest.raises(hlotool.ParseError):
        hlotool.parse_file(path)


def test_other_errors_of_decompression(tmp_path, monkeypatch):
    path = tmp_path / "m"
    path.write_bytes(gzip.compress(DATA))
    files = importlib.import_module("hlotool.text.source.files")
    for error, message in ((zlib.error("bad"), "damaged"), (MemoryError(), "not enough memory")):

        def fail(*_, error=error, **__):
            raise error

        monkeypatch.setattr(files.gzip, "GzipFile", fail)
        with pytest.raises(InputError, match=message):
            read_text(path)
