"""`default-large`: a blend whose fitted weights come with the package, but whose two largest members do not.

A *template* is the folder of a blend in which the places of these members are open: `{mpnet}` and `{smollm2}` stand
for their folders or Hugging Face names. What `setup` writes has a copy of each model.
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
from rejoinder.evaluators.blend.members import load_member, places_of
from rejoinder.evaluators.encoder_cosine import EncoderCosine
from rejoinder.evaluators.pretrained import Pretrained
from rejoinder.learning.saving import check_target, replacing_folder, write_config
from rejoinder.loading.sources import downloads, find_pretrained
from rejoinder.metrics.base import Metric, ScoreWarning
from rejoinder.model_folder import read_config
from rejoinder.registry import TEMPLATES, template_folder

DIGESTS = "digests"
"""The key of config.json with a hash of each model that a template was fitted with."""
OPEN = "open"
"""The key of an open place, with the name of its model."""


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
    listed = config["learned"]["members"]
    _check_found(name, places)
    still_open = [number for number, place in enumerate(listed) if OPEN in place]
    names = [config["parameters"]["members"][number] for number in still_open]
    members = [_checked(load_member(member), config[DIGESTS], places) for member in names]
    with replacing_folder(target) as fresh:
        shutil.copytree(home, fresh, dirs_exist_ok=True)
        for number, place in zip(still_open, places_of(names, members, fresh), strict=True):
            listed[number] = place
        write_config(fresh, {key: value for key, value in config.items() if key not in {"format", DIGESTS}})
    return Blend.load(target)


def _check_found(name: str, places: Mapping[str, str]) -> None:
    """CallError that names all models that are missing; those of the hub are downloaded if it can be reached."""
    missing: dict[str, CallError] = {}
    with downloads():
        for source in places.values():
            try:
                find_pretrained(source, "model")
            except CallError as error:
                missing[source] = error
    if len(missing) == 1:
        raise next(iter(missing.values()))
    if missing:
        options = " ".join(f"--{key} FOLDER" for key, source in places.items() if source in missing)
        raise CallError(
            f"{name} needs {' and '.join(missing)}, which are neither folders nor in the Hugging Face cache, and the "
            f"hub cannot be reached: expected {options}"
        )


def opened(folder: str | Path, output: str | Path, models: Mapping[str, str]) -> None:
    """Write a fitted blend as a template: what names one of the models becomes an open place."""
    text = json.dumps(read_config(Path(folder)))
    for key, source in models.items():
        text = text.replace(json.dumps(source)[1:-1], f"{{{key}}}")
    config: Any = json.loads(text)
    listed, digests = config["learned"]["members"], {}
    for number, member in enumerate(Blend.load(folder).members_):
        if isinstance(member, Pretrained):
            source, digest = member.model_key
            [key] = [key for key, given in models.items() if given == source]
            digests[key] = digest
            listed[number] = {OPEN: key}
        elif "folder" in listed[number]:
            raise CallError(f"{folder} has {member.name} in a folder of its own, which a template cannot have")
    with replacing_folder(Path(output)) as fresh:
        for path in Path(folder).iterdir():
            if path.is_file():
                shutil.copyfile(path, fresh / path.name)
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


def _checked(member: Metric, digests: Mapping[str, str], places: Mapping[str, str]) -> Metric:
    """The member; another encoder is refused, and another form of the language model, of which there are many, is
    told."""
    if not isinstance(member, Pretrained):
        return member
    source, digest = member.model_key
    [key] = [key for key, place in places.items() if place == source]
    expected = TEMPLATES["default-large"][key]
    if digest != digests[key] and isinstance(member, EncoderCosine):
        raise CallError(f"{source} is not the encoder that this blend was fitted with: expected {expected}")
    if digest != digests[key]:
        warnings.warn(
            f"{source} has other weights than the language model that this blend was fitted with (a 4-bit file of "
            f"{expected}): scores may differ slightly",
            ScoreWarning,
            stacklevel=3,
        )
    return member
