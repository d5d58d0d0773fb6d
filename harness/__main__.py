"""`python -m harness` and the console script: run the command line, turn errors into messages and exit codes."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

import click

from harness.cli import cli, print_json
from harness.errors import Fault, HarnessError, Refused

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a verb and exit: 0 done, 1 a check did not hold, 2 wrong input, 3 refused by a rule, 130 interrupted."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a console that lacks a letter should not end a sweep
    sys.exit(_run(arguments, "--json" in arguments))


def _interrupt(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


def _run(arguments: list[str], as_json: bool) -> int:
    try:
        return int(cli.main(arguments, prog_name="harness", standalone_mode=False) or 0)
    except HarnessError as error:
        _show(error.faults, as_json, error.record if isinstance(error, Refused) else {})
        return error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 2
    except click.UsageError as error:
        verb = error.ctx.command_path if error.ctx else "harness"
        _show([Fault(verb, error.format_message().rstrip("."), f"see `{verb} --help`")], as_json, {})
        return 2
    except (KeyboardInterrupt, click.Abort):
        _show([Fault("harness", "interrupted; what was computed is kept", "run the same command again to go on")], as_json, {})
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has gone; so may the rest
        return 0


def _show(faults: Sequence[Fault], as_json: bool, record: dict[str, Any]) -> None:
    if as_json:
        print_json({**record, "errors": [fault.as_json() for fault in faults]})
        return
    for fault in faults:
        click.secho("error: ", fg="red", bold=True, nl=False, err=True)
        click.echo(f"{fault.where}: {fault.what}\n       {fault.fix}", err=True)


if __name__ == "__main__":
    main()
