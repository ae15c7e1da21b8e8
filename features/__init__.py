"""From tables to rows: one a link end and hour, of what had been received by then; and labels.

``pipeline`` is the one way in: training, back-test, batch and ad-hoc scores all call it.

* tiles     ``tiles`` and ``day_tiles`` keep them in the lake; ``tile_maker``, ``day_maker`` are the pure functions,
            ``tile_tables``, ``day_tables`` what a tile says; ``one_lane`` and ``runs`` prepare what they are made of
* arrays    ``cube``, ``day_cube``, ``dense``: tiles as arrays; ``look``: windows and baselines of them, computed once
* features  ``catalogue`` lists them; ``optics``, ``passage``, ``signals`` by what they look at; ``physics`` their
            formulas, ``told`` their words, ``describe`` the page docs/features.md
* records   ``fleet`` as known at a time, ``history`` of each port as numbers
* labels    ``labels``, ``label_reasons``, ``evidence`` (when service suffered), ``mistyped``
* engines   ``engine``, ``dask_engine``; ``pieces`` shares out times, ``shards`` devices
* at hand   ``at_hand``, ``tiles_at_hand``, ``history_at_hand``: the same of readings that no lake holds
* numba     ``kernels``, ``tile_kernels``, ``baseline_kernels``, ``counter_kernels``; ``moments``: windows over
            irregular samples, which benchmarks hold against those of tiles
"""
