"""Chooses the dumps that `hlotool diff --passes` compares."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hlotool.cli.diff.diff_many import ManyRequest, choose_files
from hlotool.cli.inputs import Outcome
from hlotool.cli.output import complain, counted
from hlotool.differ.folders.dumps import DumpSequence, natural_order, sequences
from hlotool.errors import HlotoolError, nearest
from hlotool.workspace.files import is_folder

__all__ = ["NoDumps", "chosen_sequences", "files_of_passes"]


class NoDumps(HlotoolError):
    """Raised if there are no dumps to compare."""

    exit_code = 2


def files_of_passes(files: Sequence[str], request: ManyRequest, outcome: Outcome) -> list[str]:
    """Returns the files that the arguments select."""
    return [name for file in files for name in _files_of(file, request, outcome)]


def _files_of(name: str, request: ManyRequest, outcome: Outcome) -> list[str]:
    """Returns the files that an argument selects; those of a folder are in natural order."""
    files = choose_files(request, [name], outcome)
    return natural_order(files) if is_folder(name) else files


def chosen_sequences(files: Sequence[str], request: ManyRequest, outcome: Outcome) -> list[DumpSequence]:
    """Returns the dumps of each module, or only of the module given by --module.

    Raises NoDumps if there is nothing to compare.
    """
    found = sequences(files)
    if request.choice.module is not None:
        names = {name for sequence in found for name in (sequence.module, sequence.dump) if name}
        found = [sequence for sequence in found if request.choice.module in (sequence.module, sequence.dump)]
        if not found:
            meant = nearest(request.choice.module, names)
            hint = f"did you mean '{meant}'?" if meant else f"known modules: {', '.join(sorted(names)) or 'none'}"
            raise NoDumps(f"no dump contains a module named '{request.choice.module}'; {hint}")
    several = [sequence for sequence in found if len(sequence.files) > 1]
    for sequence in found:
        # The other files are read later; those that cannot be read are reported then.
        if len(sequence.files) == 1:
            with outcome.file(sequence.files[0]):
                Path(sequence.files[0]).stat()
    if not several and not outcome.unreadable:
        flags = "XLA_FLAGS='--xla_dump_to=DIR --xla_dump_hlo_pass_re=.*'"
        raise NoDumps(
            f"need two dumps of the same module, but no module has more than one in {counted(len(files), 'file')}; "
            f"XLA writes one for each pass with {flags}"
        )
    if len(several) < len(found) and not request.base.quiet:
        complain(f"left out {counted(len(found) - len(several), 'module')} with only one dump")
    return several
