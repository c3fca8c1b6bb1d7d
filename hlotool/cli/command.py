"""The base class of all subcommands, with groups of options and suggestions for misspellings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

import click

from hlotool.errors import nearest

__all__ = ["GROUPS", "HloCommand"]

GROUPS: Mapping[str, tuple[str, ...]] = {
    "Rules": ("select", "extend_select", "ignore", "preset", "known_custom_calls"),
    "Modes": (
        "stage", "target", "devices", "layout_sensitive", "layouts_kept", "allow_mixed_precision", "reshape_is_bitcast", "no_host_memory",
        "nested_thread_names", "broadcast_dimensions_sorted", "bitcast_may_differ_in_size", "unbounded_dynamic", "collective_deadlocks",
        "check_replica_groups", "names_unchanged",
    ),
    "Thresholds": ("memory_budget", "in_flight_limit", "fusion_operand_limit", "entry_parameter_limit", "constant_size_limit"),
    "Known findings": ("baseline", "no_baseline", "write_baseline", "add_ignore"),
    "Fixes": ("fix", "unsafe_fixes", "show_diff"),
    "Formatting": ("width", "lines", "check", "list_different", "diff", "stdout"),
    "Arguments": ("inputs", "arguments", "seed", "elided"),
    "Comparing": ("compare", "against", "rtol", "atol"),
    "Observing": ("trace", "trace_out", "check_nans", "check_infs", "profile"),
    "Devices": ("replicas", "partitions"),
    "Limits": ("max_input_size", "max_iterations", "max_memory", "timeout", "jobs"),
    "Output": (
        "output_format", "output", "as_json", "statistics", "max_findings", "show_all", "fail_on", "exit_zero", "color", "quiet", "verbose",
    ),
    "Files": (
        "files_from", "changed_since", "legacy", "extract", "stdin_filename", "include", "exclude", "force_exclude", "respect_gitignore", "config",
        "isolated",
    ),
    "Information": ("list_rules", "explain", "show_settings"),
}  # fmt: skip
"""The names of the parameters in each group of options in --help, in the order shown.

Options that are in no group come first.
"""

_OTHER_NAMES = {
    "--format": "--output-format",
    "--disable": "--ignore",
    "--enable": "--extend-select",
    "--rules": "--list-rules",
    "--args": "--inputs",
    "--arg": "--input",
    "--nan": "--check-nans",
    "--inf": "--check-infs",
    "--line-length": "--width",
    "--json": "--output-format",
    "--dry-run": "--diff",
    "--device": "--replicas",
    "--devices": "--replicas",
    "--passes-list": "--list-passes",
    "--pass": "--passes",
    "--print-after-all": "--print-changed",
    "--print-after-change": "--print-changed",
    "--opt-bisect-limit": "--bisect-limit",
    "--ffast-math": "--fast-math",
    "-i": "--in-place",
    "--inplace": "--in-place",
}
"""Option names from other tools, with hlotool's name for each."""

_NOT_A_NUMBER = re.compile(r"(?P<value>'.*' is not a valid )(?P<kind>integer|float) range\.$", re.DOTALL)
_NOT_A_CHOICE = re.compile(r"'(?P<value>.*)' is not one of ", re.DOTALL)


class HloCommand(click.Command):
    """A subcommand. `groups` defines the groups of its options in --help."""

    groups: ClassVar[Mapping[str, Sequence[str]]] = GROUPS

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options in groups."""
        group_of = {name: title for title, names in self.groups.items() for name in names}
        rows: dict[str, list[tuple[str, str]]] = {"Options": [], **{title: [] for title in self.groups}}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and isinstance(param, click.Option):
                rows[group_of.get(param.name or "", "Options")].append(record)
        # Moves --help, the last option, which may be the only one without a group.
        help_option = rows["Options"].pop()
        rows["Information"].append(help_option)
        for title, records in rows.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            known = {option for param in self.get_params(ctx) for option in param.opts}
            meant = _OTHER_NAMES.get(error.option_name)
            if meant not in known:
                raise
            # The message of NoSuchOption leaves out suggestions with a dissimilar spelling.
            raise click.UsageError(f"No such option '{error.option_name}'. Did you mean '{meant}'?", ctx) from error
        except click.BadParameter as error:
            number = _NOT_A_NUMBER.match(error.message)
            if number is not None:
                kind = "integer" if number["kind"] == "integer" else "number"
                raise click.BadParameter(f"{number['value']}{kind}.", ctx, error.param) from error
            match = _NOT_A_CHOICE.match(error.message)
            if match is not None and error.param is not None and isinstance(error.param.type, click.Choice):
                meant = nearest(match["value"], [str(choice) for choice in error.param.type.choices])
                if meant:
                    raise click.BadParameter(f"{error.message} Did you mean '{meant}'?", ctx, error.param) from error
            raise
