"""Network evidence around the optic: is it the optic, the fibre, the switch, the host, or is the network innocent?

This layer stands between ``models`` (whose calibrated risks are its priors) and ``serving``
(which shows its verdicts). It is empty in this release; what it will hold, each a reader of
canonical tables plus a pure analysis function:

* probes, plans and localisation (which link loses packets, and how sure are we?)
* PFC provenance, collective delay matrices, training steps from flows, microsecond gaps
* ``verdict``: one answer from all of it, with its power
"""
