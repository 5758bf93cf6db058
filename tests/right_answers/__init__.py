"""Right answers to every exercise, written in styles its author did not use; one module per lesson."""

import pkgutil
from importlib import import_module

RIGHT_ANSWERS = {
    name: styles
    for module in pkgutil.iter_modules(__path__)
    if module.name.startswith("lesson_")
    for name, styles in import_module(f"{__name__}.{module.name}").RIGHT_ANSWERS.items()
}
