"""gNMI: what a device streams or answers once, over the published protocol, into the rows that SNMP polls give too."""

import os

os.environ.setdefault(
    "GRPC_VERBOSITY", "ERROR"
)  # read when grpc is loaded: else each stream that ends is a line on stderr
