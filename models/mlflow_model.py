"""The model as MLflow serves it: this code plus the text artefacts; nothing is pickled."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import mlflow
import pandas as pd
from mlflow.pyfunc.model import PythonModel

from models.artifact import Artifact
from models.base import HORIZONS_H

if TYPE_CHECKING:
    from mlflow.pyfunc.model import PythonModelContext

__all__ = ["ServedModel"]


class ServedModel(PythonModel):
    """Feature rows in, risks by horizon out."""

    def load_context(self, context: "PythonModelContext") -> None:
        """Read the artefact; MLflow calls this by keyword."""
        self.artifact = Artifact.load(Path(context.artifacts["forelight_model"]))

    def predict(self, context: Any, model_input: pd.DataFrame, params: Any = None) -> pd.DataFrame:  # noqa: ARG002 - MLflow's signature
        """Risks of feature rows; columns are taken by name."""
        rows = model_input.to_numpy("float32")
        risk = self.artifact.model.predict(rows, list(model_input.columns)).risk
        return pd.DataFrame(risk.astype("float64"), columns=[f"risk_{hours}h" for hours in HORIZONS_H])


mlflow.models.set_model(ServedModel())
