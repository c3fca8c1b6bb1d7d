"""Converts the options of `hlotool opt` to requests.

This module imports the optimizer, so the command imports this module only to optimize modules and
to list rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hlotool.cli.opt.opt_session import Job
from hlotool.cli.opt.opt_tables import list_passes, list_rules
from hlotool.cli.run.memory_option import memory_limit_of
from hlotool.optimizer.opt_options import OptimizeOptions
from hlotool.optimizer.pass_list import PassError, parse_passes
from hlotool.optimizer.pipeline import DEFAULT_LEVEL, PIPELINES, pass_of
from hlotool.optimizer.registry import fast_math_flags
from hlotool.workspace.optimizing import OptimizeRequest

__all__ = ["job_of", "listing"]


def listing(options: Mapping[str, Any]) -> str:
    """Returns the output of --list-passes and --list-rules."""
    as_json: bool = options["as_json"]
    passes = list_passes(as_json=as_json) if options["list_passes"] else ""
    return passes + (list_rules(as_json=as_json) if options["list_rules"] else "")


def job_of(options: Mapping[str, Any]) -> Job:
    """Returns the job, which contains the request and the options for output.

    Raises HlotoolError for unknown passes and flags.
    """
    level = DEFAULT_LEVEL if options["level"] is None else int(options["level"])
    passes = parse_passes(PIPELINES[level] if options["passes"] is None else options["passes"])
    for name in (*(spec.name for spec in passes), *options["print_after"]):
        pass_of(name)
    names = [spec.name for spec in passes]
    for name in options["print_after"]:
        if name not in names:
            raise PassError(
                f"pass '{name}' does not run, so --print-after shows nothing; the passes are: {', '.join(dict.fromkeys(names)) or 'none'}"
            )
    limits = {"max_constant_bytes": options["max_constant_size"], "max_unrolled_iterations": options["max_unrolled_iterations"]}
    fields: dict[str, Any] = {name: limit for name, limit in limits.items() if limit is not None}
    request = OptimizeRequest(
        passes,
        OptimizeOptions(
            fast_math=fast_math_flags(options["fast_math"]),
            only=frozenset(name.removeprefix("%") for name in options["only"]),
            bisect_limit=options["bisect_limit"],
            explain=options["explain"],
            explain_why_not=options["explain_why_not"],
            measures_time=options["stats"] or options["as_json"],
            **fields,
        ),
        options["print_options"],
        options["form"],
        verify=options["verify"],
        verify_each=options["verify_each"],
        check=options["check"] or 0,
        seed=options["seed"],
        timeout=options["timeout"],
        max_memory=memory_limit_of(options["max_memory"]),
        print_after=frozenset(options["print_after"]),
        print_changed=options["print_changed"],
    )
    return Job(request=request, **{name: options[name] for name in Job._fields if name in options})
