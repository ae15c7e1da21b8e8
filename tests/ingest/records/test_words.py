"""Built-in phrases: causes in English and German are known, symptoms and negations are no causes."""

import pytest

from ingest.records.mapping import RecordMap

MAP = RecordMap(columns={})


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Connector dirty, cleaned", "contamination"),
        ("clnd LC both ends", "contamination"),
        ("Stecker verschmutzt, gereinigt", "contamination"),
        ("viel Staub auf der Ferrule", "contamination"),
        ("Faserbruch im Kabelkanal", "fiber_damage"),
        ("Patchkabel geknickt", "fiber_damage"),
        ("LWL beschädigt", "fiber_damage"),
        ("LWL beschaedigt", "fiber_damage"),
        ("Tx-Pegel zu niedrig", "laser_degradation"),
        ("Sendeleistung zu gering", "laser_degradation"),
        ("Empfänger defekt", "receiver_degradation"),
        ("Modul nicht erkannt", "module_electronics"),
        ("Optik überhitzt", "module_electronics"),
        ("Stecker war locker", "loose_seating"),
        ("Modul saß lose", "loose_seating"),
        ("nicht richtig gesteckt", "loose_seating"),
        ("Kein Fehler gefunden", "no_fault_found"),
        ("ohne Befund geschlossen", "no_fault_found"),
        ("NFF", "no_fault_found"),
    ],
)
def test_what_technicians_write_for_a_cause_is_that_cause(text: str, word: str) -> None:
    found = MAP.phrases("failure_type").strongest(text)

    assert found is not None
    assert word == found.word


@pytest.mark.parametrize(
    "text",
    [
        *(
            "low rx",
            "Rx low on lane 2",
            "LOS",
            "loss of signal",
            "Rx-Pegel niedrig",
            "Link down",
            "flapping",
            "CRC errors",
        ),
        *("not dirty", "no dirt found", "nicht verschmutzt", "keine Verschmutzung", "we lose light at night"),
        *("Empfänger der Mail informiert", "reset by peer", "customer informed"),
    ],
)
def test_a_symptom_or_what_is_not_so_is_no_cause(text: str) -> None:
    """Low light may be dirt, a fibre or the far laser: what is guessed would be learnt from."""
    assert MAP.phrases("failure_type").strongest(text) is None


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("xcvr swapped", "replace_transceiver"),
        ("repl optic", "replace_transceiver"),
        ("Optik getauscht", "replace_transceiver"),
        ("neues Modul verbaut", "replace_transceiver"),
        ("Patchkabel getauscht", "replace_fiber"),
        ("Kabel getauscht", "replace_cable"),
        ("gereinigt und gemessen", "clean_connector"),
        ("SFP neu gesteckt", "reseat"),
        ("Switch neu gestartet", "reset"),
    ],
)
def test_what_technicians_write_for_what_they_did_is_that(text: str, word: str) -> None:
    found = MAP.phrases("action").last(text)

    assert found is not None
    assert word == found.word


def test_a_phrase_that_begins_with_no_is_said() -> None:
    """Only what stands right behind a negation is not."""
    found = MAP.phrases("failure_type").strongest("Not dirty. No fault found")

    assert found is not None
    assert "no_fault_found" == found.word
