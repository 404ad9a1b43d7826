"""`default-large`: a blend whose fitted weights come with the package, but whose two largest members do not.

A *template* is the folder of a blend in which the places of these members are open: `{mpnet}` and `{smollm2}` stand
for their folders or Hugging Face names.
"""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rejoinder.errors import CallError, UnknownNameError
from rejoinder.evaluators.blend.blend import Blend
from rejoinder.evaluators.blend.members import load_member, unversioned
from rejoinder.evaluators.encoder_cosine import EncoderCosine
from rejoinder.evaluators.likelihood import Likelihood
from rejoinder.learning.saving import check_target, replacing_folder, write_config
from rejoinder.metrics.base import ScoreWarning
from rejoinder.model_folder import read_config
from rejoinder.registry import TEMPLATES, template_folder

DIGESTS = "digests"
"""The key of config.json with a hash of each model that a template was fitted with."""


def setup(name: str, output: str | Path, models: Mapping[str, str], *, template: Path | None = None) -> Blend:
    """Write the named evaluator into a folder with these models as members, and return it.

    `models` has a folder or Hugging Face name for each open place; one that is absent has its name on Hugging Face.
    """
    if template is None and name not in TEMPLATES:
        raise UnknownNameError("evaluator that is set up", name, TEMPLATES)
    places = {**TEMPLATES["default-large"], **models}
    home, target = template or template_folder(name), Path(output)
    check_target(target)
    config = _filled(read_config(home), places)
    for place in config["learned"]["members"]:
        if "pretrained" in place:
            member = load_member(place["pretrained"])
            _check(member, config[DIGESTS], places)
            place["signature"] = unversioned(member)
    with replacing_folder(target) as fresh:
        shutil.copytree(home, fresh, dirs_exist_ok=True)
        write_config(fresh, {key: value for key, value in config.items() if key not in {"format", DIGESTS}})
    return Blend.load(target)


def opened(folder: str | Path, output: str | Path, models: Mapping[str, str]) -> None:
    """Write a fitted blend as a template: what names one of the models becomes an open place."""
    config: Any = read_config(Path(folder))
    text = json.dumps(config)
    for key, source in models.items():
        text = text.replace(json.dumps(source)[1:-1], f"{{{key}}}")
    config = json.loads(text)
    digests = {}
    for place in Blend.load(folder).members_:
        found = _source_of(place)
        if found is not None:
            [key] = [key for key, source in models.items() if source == found[0]]
            digests[key] = found[1]
    with replacing_folder(Path(output)) as fresh:
        shutil.copytree(folder, fresh, dirs_exist_ok=True)
        write_config(fresh, {**{key: value for key, value in config.items() if key != "format"}, DIGESTS: digests})


def _filled(value: Any, places: Mapping[str, str]) -> Any:
    """The value with the open places of all texts in it filled in."""
    if isinstance(value, str):
        for key, source in places.items():
            value = value.replace(f"{{{key}}}", source)
        return value
    if isinstance(value, dict):
        return {key: _filled(each, places) for key, each in value.items()}
    return [_filled(each, places) for each in value] if isinstance(value, list) else value


def _source_of(member: object) -> tuple[str, str] | None:
    """The folder or name of a pretrained member, and a hash of its weights."""
    if isinstance(member, EncoderCosine):
        return member.encoder, member.digest_
    return (member.model, member.model_.weights_digest) if isinstance(member, Likelihood) else None


def _check(member: object, digests: Mapping[str, str], places: Mapping[str, str]) -> None:
    """Refuse another encoder; warn of another form of the language model, of which there are many."""
    found = _source_of(member)
    if found is None:
        return
    source, digest = found
    [key] = [key for key, place in places.items() if place == source]
    if digest == digests[key]:
        return
    if isinstance(member, EncoderCosine):
        raise CallError(
            f"{source} is not the encoder that this blend was fitted with: expected {TEMPLATES['default-large'][key]}"
        )
    warnings.warn(
        f"{source} has other weights than the language model that this blend was fitted with (a 4-bit file of "
        f"{TEMPLATES['default-large'][key]}): scores may differ slightly",
        ScoreWarning,
        stacklevel=3,
    )
