"""``rocdoctor estimate``: memory and speed of one training configuration."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import yaml

from rocdoctor.cli import UsageError
from rocdoctor.commands.common import print_json, wants
from rocdoctor.recommend.estimate import SpecError, estimate


def run(options: argparse.Namespace) -> int:
    """Read the specification, print the answer."""
    try:
        text = sys.stdin.read() if options.spec == "-" else Path(options.spec).read_text(encoding="utf-8")
        spec = yaml.safe_load(text)
        answer = estimate(spec)
    except OSError as error:
        raise UsageError(f"{options.spec}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{options.spec}: not readable as YAML: {str(error).splitlines()[0]}") from None
    except SpecError as error:
        raise UsageError(f"{options.spec}: {error}") from None
    if wants(options) == "json":
        print_json(answer)
        return 0
    memory = answer["memory_gib"]
    sys.stdout.write(f"fits: {answer['fits']} ({memory['low']} to {memory['high']} GiB a GPU)\n")
    sys.stdout.write(f"about {answer['tokens_per_s_per_gpu']:.0f} tokens/s a GPU\n")
    sys.stdout.write("".join(f"  {reason}\n" for reason in answer["why"]))
    return 0
