"""Errors of forelight, drawn as the tree they are; each leaf says what to do.

* ForelightError            what every command reports in one line and exit code 1
  + IngestError
    x ConfigError           forelight.toml is wrong: fix the named key
    x ProfileError          a vendor file is wrong: fix the file
    x TransportError        a switch did not answer: retry, then report
      + AuthError           it answered and refused: do not retry
    x ExportError           an operator's export cannot be taken: file and line are named
    x LakeError             a table is missing, locked or of another shape
      + BusyError           somebody else is at the same work: try again when it is done
  + FeatureError            tiles or windows cannot be built as asked
  + ModelError              no model, or one that does not fit this code
  + DiagnosisError          a question about the network names what is not known
  + ServingError            the service cannot answer (see serving.errors)
"""

__all__ = [
    "AuthError",
    "BusyError",
    "ConfigError",
    "DiagnosisError",
    "ExportError",
    "FeatureError",
    "ForelightError",
    "IngestError",
    "LakeError",
    "ModelError",
    "ProfileError",
    "ServingError",
    "TransportError",
]


class ForelightError(Exception):
    """Anything that forelight raises on purpose: its text is one clear line."""


class IngestError(ForelightError):
    """Reading telemetry or an operator's records failed."""


class ConfigError(IngestError):
    """The configuration names something that does not exist or cannot be."""


class ProfileError(IngestError):
    """A vendor profile is missing or malformed."""


class TransportError(IngestError):
    """A device did not answer, or not in a way that can be used."""


class AuthError(TransportError):
    """A device answered and refused the credentials."""


class ExportError(IngestError):
    """A file of an operator's export cannot be taken at all."""


class LakeError(IngestError):
    """A table of the lake is missing, held by someone else, or of another shape."""


class BusyError(LakeError):
    """Somebody else holds the lease for the same work."""


class FeatureError(ForelightError):
    """Tiles or windows cannot be built as asked."""


class ModelError(ForelightError):
    """No usable model: none trained, or one made by other code."""


class DiagnosisError(ForelightError):
    """A question about the network names a link or a device that is not known."""


class ServingError(ForelightError):
    """The service cannot give an honest answer."""
